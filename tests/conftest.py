"""The suite runs under MPI as well: `mpirun -n N python -m pytest -m mpi`.

Every process runs the same tests in the same order; process 0 reports. Tests compare with `collectively` (see
`tests/together.py`), which decides on all processes together, so that a failure is one everywhere. Any other exception
ends the job: the other processes may be waiting for this one.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator

import pytest

import pgaspy as pg
from tests.together import NotTogether

DEAL = (2, 1, 3, 4, 1, 2, 6, 1, 3)
"""Numbers of processes to which cases are dealt: the fewer, the less time a case takes."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if pg.SIZE > 1 and config.option.basetemp is None:  # pytest's own folder is cleaned by all processes at once
        config.option.basetemp = tempfile.mkdtemp(prefix="pgaspy-tests-")
        config.add_cleanup(functools.partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))
    config.addinivalue_line("markers", "mpi: runs on any number of processes, also under a launcher")
    config.addinivalue_line("markers", "slurm: inside an allocation of two nodes, by `make test-slurm` only")
    config.addinivalue_line("markers", "hosts: starts two hosts on this machine, by `make test-hosts` only")
    config.addinivalue_line("markers", "long: takes seconds, and is run with --all only")
    config.addinivalue_line("markers", "many: a case of many, dealt out: run on 1, 2, 3, 4 or 6 processes")
    if pg.RANK > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  (for the life of the process)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = sys.stdout


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="leave out none of the tests marked many or long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    takes_all = config.option.all or any("::" in argument for argument in config.args)
    left_out = {item for item in items if _is_for_another_place(item, config.option.markexpr)}
    if not takes_all:
        left_out |= _left_to_all(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_for_another_place(item: pytest.Item, chosen: str) -> bool:
    return any(item.get_closest_marker(name) is not None and name not in chosen for name in ("slurm", "hosts"))


def _left_to_all(items: list[pytest.Item]) -> set[pytest.Item]:
    """The tests that are run with --all only, or on other numbers of processes.

    The cases of each test that is marked `many` are dealt out in a random order that is always the same, so that each
    number of processes gets some of them. The first is run on 1 process, too: it may be the only one.
    """
    left_out = {item for item in items if item.get_closest_marker("long") is not None}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("many") is not None and item not in left_out:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, found in cases.items():
        found.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        dealt = itertools.islice(itertools.cycle(DEAL), zlib.crc32(name.encode()) % len(DEAL), None)
        left_out |= {item for item, n in zip(found, dealt, strict=False)
                     if pg.SIZE in DEAL and n != pg.SIZE and not (pg.SIZE == 1 and item is found[0])}
    return left_out


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
