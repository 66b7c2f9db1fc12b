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
import zlib
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
    config.addinivalue_line("markers", "slurm: inside an allocation of two nodes, by `make test-slurm` only")
    config.addinivalue_line("markers", "hosts: starts two hosts on this machine, by `make test-hosts` only")
    config.addinivalue_line("markers", "long: takes seconds, and is run with --all only")
    config.addinivalue_line("markers", "many: one of many, run on 1 process, and on 2, 3, 4 or 6")
    if pg.RANK > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  (for the life of the process)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = sys.stdout


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="leave out none of the tests marked many or long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    takes_all = config.option.all or any("::" in argument for argument in config.args)
    left_out = [item for item in items if _is_for_another_place(item, config.option.markexpr)
                or (not takes_all and _is_left_to_others(item))]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def _is_for_another_place(item: pytest.Item, chosen: str) -> bool:
    return any(item.get_closest_marker(name) is not None and name not in chosen for name in ("slurm", "hosts"))


def _is_left_to_others(item: pytest.Item) -> bool:
    """Whether a test is run with --all only, or on another number of processes."""
    if item.get_closest_marker("long") is not None:
        return True
    counts = (2, 2, 2, 3, 3, 3, 4, 4, 6)  # the more processes, the longer a test takes
    return (item.get_closest_marker("many") is not None and pg.SIZE in counts
            and counts[zlib.crc32(item.nodeid.encode()) % len(counts)] != pg.SIZE)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Let process 0 report first: where a test failed, the first process that ends then ends the job."""
    pg.COMM.Barrier()


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
