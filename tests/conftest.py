"""The suite runs under MPI as well: `mpirun -n N python -m pytest -m mpi`.

Every process runs the same tests in the same order; process 0 reports. Tests compare with `collectively` (see
`tests/together.py`), which decides on all processes together, so that a failure is one everywhere. Any other exception
ends the job: the other processes may be waiting for this one.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest

import pgaspy as pg
from tests.together import NotTogether


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if pg.SIZE > 1 and config.option.basetemp is None:  # pytest's own folder is cleaned by all processes at once
        config.option.basetemp = tempfile.mkdtemp(prefix="pgaspy-tests-")
        config.add_cleanup(functools.partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))
    config.addinivalue_line("markers", "mpi: runs on any number of processes, also under a launcher")
    if pg.RANK > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  (for the life of the process)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = sys.stdout


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    except (NotTogether, pytest.skip.Exception):
        raise
    except BaseException as error:
        if pg.SIZE > 1:
            import traceback

            print(f"rank {pg.RANK} of {pg.SIZE}, {item.nodeid}:", file=sys.stderr)
            traceback.print_exception(error)
            sys.stderr.flush()
            pg.COMM.Abort(1)
        raise
