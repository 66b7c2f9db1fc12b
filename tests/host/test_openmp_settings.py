"""How long threads spin, as OpenMP says that it was told, and where they run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from pgaspy.host import openmp_settings

LOAD = "import os; before = dict(os.environ); import pgaspy.kernels.bindings; " \
       "print(os.environ.get('GOMP_SPINCOUNT') == before.get('GOMP_SPINCOUNT'))"


@pytest.mark.parametrize(("name", "value"), [("GOMP_SPINCOUNT", ""), ("GOMP_SPINCOUNT", "77"),
                                             ("OMP_WAIT_POLICY", "PASSIVE")])
def test_what_threads_spin(name: str, value: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in openmp_settings.VARIABLES}
    environment |= {"OMP_DISPLAY_ENV": "VERBOSE"} | ({name: value} if value else {})
    done = subprocess.run([sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True)
    found = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
    assert found == [{"": str(openmp_settings.SPINS), "77": "77", "PASSIVE": "0"}[value]]
    assert done.stdout.split() == ["True"]


@pytest.mark.parametrize(("name", "value"), [("OMP_PROC_BIND", "true"), ("OMP_PROC_BIND", "spread"),
                                             ("OMP_PLACES", "cores")])
def test_the_program_is_not_bound_to_a_place(name: str, value: str) -> None:
    program = "import os; before = os.sched_getaffinity(0); import pgaspy as pg; " \
              "print(pg.THREADS == len(before), os.sched_getaffinity(0) == before)"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | {name: value}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True,
                          text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
