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
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import pgaspy as pg
from pgaspy import brought
from pgaspy.alone import small
from pgaspy.execution import loops, recording
from pgaspy.execution.queue import Queue
from pgaspy.scheduling import floating_point
from tests.together import NotTogether

SMALL, LARGE = (2, 3), (4, 4, 4, 6)
"""A test is run on 1 process, on one of these numbers and on one of those. With 2 and 3 processes, grids have one axis,
and parts are even or not; with 4 and 6 they have two, of one length or not. A test takes twice as long on 6 as on 4."""

DEAL = (2, 3, 1, 4, 1, 2, 3, 6, 2, 1, 3, 4, 1, 2, 3)
"""Numbers to which the other cases of a test are dealt: the fewer processes, the less time a case takes."""

N_CASES = 35
"""How many cases of a test are run, unless all are asked for."""


RECORDED = {"campaign", "execution", "job", "planning", "scheduling", "showing", "supervision"}
"""The folders of tests of what becomes of operations that are recorded."""


@pytest.fixture(autouse=True)
def _records(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything recorded, where tests look at schedules: in these folders, and where they are marked so."""
    if request.path.parent.name in RECORDED or request.node.get_closest_marker("recorded") is not None:
        monkeypatch.setattr(Queue, "computes_at_once", False)


@pytest.fixture(autouse=True)
def _stay(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small arrays stay where they are, in every other test of several processes, and where it is marked so."""
    if request.node.get_closest_marker("stay") is not None or _number(request.node) % 2:
        monkeypatch.setattr(brought, "MAX_ELEMENTS", -1)


@pytest.fixture(autouse=True)
def _errstate() -> Iterator[None]:
    """See that NumPy's state of errors is again what it was, also where a test interrupts something."""
    before = floating_point.state()
    yield
    assert floating_point.state() is before


@pytest.fixture
def by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is small is computed by kernels on one process, too."""
    monkeypatch.setattr(small, "is_on", False)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if pg.SIZE > 1 and config.option.basetemp is None:  # pytest's own folder is cleaned by all processes at once
        config.option.basetemp = tempfile.mkdtemp(prefix="pgaspy-tests-")
        config.add_cleanup(functools.partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))
    config.addinivalue_line("markers", "mpi: runs on any number of processes, also under a launcher")
    config.addinivalue_line("markers", "jobs: of a file whose tests start jobs, and mostly wait for them")
    config.addinivalue_line("markers", "slurm: inside an allocation of two nodes, by `make test-slurm` only")
    config.addinivalue_line("markers", "hosts: starts two hosts on this machine, by `make test-hosts` only")
    config.addinivalue_line("markers", "long: takes seconds, and is run with --all only")
    config.addinivalue_line("markers", "recorded: looks at schedules, and so at what is not executed at once")
    config.addinivalue_line("markers", "stay: is of small arrays that stay where they are, and do not come to all")
    config.addinivalue_line("markers", "every: all of its cases are run, on each number of processes")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell has it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pg.RANK > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  (for the life of the process)
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = sys.stdout


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="leave out no case, and no test marked long")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Several processes do not read the modules of which they run nothing: it would take them as long as the tests."""
    is_of_one = collection_path.suffix == ".py" and "mark.mpi" not in collection_path.read_text(encoding="utf-8")
    return True if pg.SIZE > 1 and is_of_one else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if any(getattr(value, "__module__", "") == "tests.jobs" for value in vars(item.module).values()):
            item.add_marker("jobs")
    takes_all = config.option.all or any("::" in argument for argument in config.args)
    left_out = {item for item in items if _is_for_another_place(item, config.option.markexpr)}
    if not takes_all:
        left_out |= _left_to_all(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_for_another_place(item: pytest.Item, chosen: str) -> bool:
    return any(item.get_closest_marker(name) is not None and name not in chosen for name in ("slurm", "hosts"))


def _left_to_all(items: list[pytest.Item]) -> set[pytest.Item]:
    """The tests that are run with --all only, or on other numbers of processes."""
    left_out = {item for item in items if item.get_closest_marker("long") is not None}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item not in left_out and item.get_closest_marker("every") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, of_one_test in cases.items():
        in_random_order = sorted(of_one_test, key=_number)
        left_out.update(in_random_order[N_CASES:])
        if of_one_test[0].get_closest_marker("mpi") is not None and pg.SIZE in (1, *SMALL, *LARGE):
            left_out.update(_dealt_to_others(name, in_random_order[:N_CASES]))
    return left_out


def _number(item: pytest.Item) -> int:
    """A random number, always the same."""
    return zlib.crc32(item.nodeid.encode())


def _dealt_to_others(name: str, cases: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of a test that are not run on this number of processes: the first is on three, the others on one."""
    first, *others = cases
    number = _number(first)
    numbers = 1, SMALL[number % len(SMALL)], LARGE[number // len(SMALL) % len(LARGE)]
    start = zlib.crc32(name.encode()) % len(DEAL)
    dealt = [*zip(others, itertools.islice(itertools.cycle(DEAL), start, None), strict=False)]
    for case, n in dealt:
        if n == pg.SIZE and any(True in mark.args for mark in case.iter_markers("skipif")):
            raise pytest.UsageError(f"{case.nodeid} would be run nowhere: it is dealt to {n} processes, where it is "
                                    "skipped. Mark it `every`")
    return [case for case, n in dealt if n != pg.SIZE] + ([] if pg.SIZE in numbers else [first])


@pytest.fixture
def one_flush(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Execute a test's operations in one flush, which is planned from nothing."""
    before = recording.queue.max_operations
    monkeypatch.setattr(loops, "MIN_REPEATED", sys.maxsize)  # no loop is found
    pg.sync()
    recording.forget()
    recording.queue.max_operations = 1000
    yield
    pg.sync()
    recording.queue.max_operations = before
    recording.forget()


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
