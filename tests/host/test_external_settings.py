"""Settings of libraries, which have to be there before these start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgaspy.host.external_settings import SETTINGS
from tests.jobs import ROOT, clean_environment

SCRIPT = """
import os, sys
started = {}
def note(event, arguments):
    if event == "import" and arguments[0] in ("numpy", "mpi4py.MPI"):
        started.setdefault(arguments[0], {name: os.environ.get(name) for name in sys.argv[1:]})
sys.addaudithook(note)
import pgaspy
assert started["numpy"] == started["mpi4py.MPI"]
print(started["numpy"])
"""


def found(**own: str) -> str:
    """The settings at the time when MPI starts."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *SETTINGS], env=clean_environment() | own, cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_settings_are_made_before_numpy_and_mpi_start() -> None:
    assert found() == str(SETTINGS)


def test_settings_of_the_user_stay() -> None:
    users = {name: "self" if name == "OMPI_MCA_btl" else "77777" for name in SETTINGS}
    assert found(**users) == str(users)


@pytest.mark.skipif(not (Path(sys.executable).parent / "ompi_info").exists(), reason="asks Open MPI from PyPI")
def test_open_mpi_knows_them() -> None:
    """And prefers them to its own."""
    said = subprocess.run([Path(sys.executable).parent / "ompi_info", "--all", "--parsable"],
                          env={**os.environ, **SETTINGS}, capture_output=True, text=True, check=True).stdout
    for name, value in SETTINGS.items():
        assert not name.startswith("OMPI") or f":{name.removeprefix('OMPI_MCA_')}:value:{value}\n" in said
