"""Programs whose processes do not do the same, in any job: an error on all of them, never a wrong number."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.job.procgrid import world
from pgaspy.scheduling import nodes
from pgaspy.scheduling.kinds.assignment import assign
from pgaspy.scheduling.recorded import Recorded
from pgaspy.supervision.digests import Digests
from tests.jobs import run_job
from tests.layouts import layout_of
from tests.together import collectively

START = "import time\nimport pgaspy as pg\nA, B = pg.ones((8, 8)), pg.zeros((8, 8)) + 2\n"

# The lines, what the error names, and what may be printed: what a process has without the others.
MISTAKES = {
    "a sum that one process prints": (
        "if pg.RANK == 0: print(f'value {A.sum()}')\npg.print_once('value', A.max())", "reduce", ()),
    "the same of other arrays": ("x = (A if pg.RANK == 0 else B) + 1\nprint('value', float(x.sum()))", "add", ()),
    "a statement on one process": ("if pg.RANK == 1: A += 1", "the end of the program", ()),
    "one process more": (
        "for _ in range(100 + pg.RANK): A += 1\nprint('value', float(A[0, 0]))", "add", ("value 101.0",)),
    "an element": (
        "if pg.RANK == 1: print('value', float(A[7, 7]))\nx = float(B[7, 7])\nif pg.RANK == 0: print('rank 0', x)",
        "copy", ("value 1.0",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(tmp_path: Path, name: str) -> None:
    lines, words, may_be_printed = MISTAKES[name]
    (tmp_path / "program.py").write_text(START + lines)
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode != 0
    assert set(done.stdout.splitlines()) <= {*may_be_printed}, done.stdout
    assert "DivergenceError: the processes do not do the same. Operation" in done.stderr
    assert words in done.stderr
    assert "program.py:4" in done.stderr


def test_what_a_row_of_the_grid_gets(tmp_path: Path) -> None:
    """The other row does the same on all its processes, and may print it before it learns of the rest."""
    lines = "x = A if pg.RANK == 0 else B\nprint('value', {*pg.replicate(x, axis=1).local().flat} <= {2.0})"
    (tmp_path / "program.py").write_text(START + lines)
    done = run_job(4, "program.py", cwd=tmp_path)
    assert done.returncode != 0
    assert set(done.stdout.splitlines()) <= {"value True"}
    assert "DivergenceError: the processes do not do the same. Operation" in done.stderr


@pytest.mark.parametrize("gathers", [
    "x.gather(0)", pytest.param("gathered(x)", marks=pytest.mark.long)])
def test_what_one_process_gets(tmp_path: Path, gathers: str) -> None:
    """Each part tells of which array it is, so that no mixture is printed."""
    (tmp_path / "program.py").write_text(f"""{START}
def gathered(x):
    C = pg.zeros(x.shape, onenode=0)
    C[...] = x
    return C.local()
x = A if pg.RANK == 0 else B
found = {gathers}
if pg.RANK == 0:
    print("value", len({{*found.flat}}) == 1)
""")
    done = run_job(3, "program.py", cwd=tmp_path)
    assert done.returncode != 0
    assert set(done.stdout.splitlines()) <= {"value True"}
    assert "DivergenceError: the processes do not do the same. Operation" in done.stderr


def test_what_a_process_has_not_come_to_does_not_differ(tmp_path: Path) -> None:
    """It learns of the difference while it does what all have done."""
    (tmp_path / "program.py").write_text(f"""{START}
for _ in range(10):
    A += 1
    if pg.RANK == 2: time.sleep(0.1)
if pg.RANK == 0: print("value", float(A.sum()))
""")
    done = run_job(3, "program.py", cwd=tmp_path)
    assert "rank 0: reduce, shapes (), (8, 8), at program.py:8" in done.stderr, done.stderr
    assert "the end of the program" in done.stderr


RIGHT = """
if pg.RANK == 0:
    A.local()[...] += 1
    repr(A), pg.explain(lambda: A + 1)
    pg.schedule(lambda x: None, A)
def task(x):
    x += 1
if pg.RANK == 1:
    time.sleep(0.2)
    pg.sync()
    pg.schedule(task, pg.update(B))
C = A + B if pg.RANK == 0 else A + B
for _ in range(300):
    C = C * 0.5 + A
s = float(C.sum())
try:
    A + pg.ones(5)
except ValueError:
    pass
print("value", s == float(C.sum()), C.gather().shape)
"""


def test_a_program_that_is_right(tmp_path: Path) -> None:
    """What a process does by itself, and from which line, is its own affair."""
    (tmp_path / "program.py").write_text(START + RIGHT)
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.stdout.count("value True (8, 8)") == 2, done.stderr
    assert done.returncode == 0


@pytest.mark.mpi
def test_they_do_not_depend_on_flushes() -> None:
    """Nor on tasks, which processes record by themselves."""
    a, b = pg.zeros((5, 3)), pg.zeros((5, 3), layout=layout_of("cyclic(2)", (5, 3)))
    x, y = a._base.storage, b._base.storage
    recipes = [assign(v, w, np.dtype(float), np.dtype(float), False)
               for v, w in ((a._view, b._view), (a[1:]._view, b[1:]._view))]
    fields = [field for k in range(10) for field in (recipes[k % 2], (x, y) if k % 3 else (y, x), (), k, None, 0)]
    together, apart = Digests(), Digests()
    stamps = together.take(Recorded(fields), (3, 9))
    n = Recorded.N_FIELDS
    found = [apart.take(Recorded(fields[k * n:(k + 1) * n]), (0,))[0] for k in range(10)]
    collectively(stamps == {3: found[3], 9: found[9]}, f"{stamps}, {found}")
    collectively(together.rolling == apart.rolling)
    pending = together.take_pending()
    collectively(pending == apart.take_pending() and len(pending) == 2 * 8 * 10)
    collectively(len(set(pg.COMM.allgather(pending))) == 1, "processes have other digests")
    collectively((recording.queue.supervision.digests is None) == (world().size == 1))


def test_buffers_have_room_for_a_stamp() -> None:
    """Also those without bytes."""
    for sizes in ([0, 16, 0, 8, 64, 0], [None, 0, 56, 57]):
        spans = sorted((buffer.address, buffer.address + buffer.bytes.nbytes + nodes.STAMP_BYTES)
                       for buffer in nodes.new_buffers(sizes) if buffer is not None)
        assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(spans)), spans


def numbers_of(*values: Any) -> int:
    """The digest of the numbers of an operation."""
    digests = Digests()
    operation: Any = SimpleNamespace(digest=1, said=("copy", ()))
    digests.take_one(operation, (), values, None, 0)
    return int(np.frombuffer(digests.take_pending(), np.int64)[1])


def test_numbers_have_a_digest_beside_that_of_the_operation() -> None:
    found = [numbers_of(*[nodes.Scalar(x, np.dtype(dtype)) for x, dtype in numbers]) for numbers in (
        [(1, "d")], [(2, "d")], [(1, "f")], [(1, "l")], [(1, "b")], [(0, "b")], [(1, "D")], [(1j, "D")], [(3, "g")],
        [(4, "g")], [(3j, "G")], [(4j, "G")], [(1, "d"), (2, "d")], [(2, "d"), (1, "d")])]
    assert numbers_of() == numbers_of(print, "text", 3.0) == 0, "of Scalars alone"
    assert 0 not in found
    assert len({*found}) == len(found)


def test_bytes_of_long_doubles_that_nobody_sets_are_no_part_of_it() -> None:
    for dtype in map(np.dtype, "gG"):
        found = set()
        for filling in (0, 255):
            scalar = nodes.Scalar(0.1, dtype)
            scalar.bytes[(np.finfo(dtype).nmant + 17) // 8:16] = filling
            assert scalar.array == nodes.Scalar(0.1, dtype).array
            found.add(numbers_of(scalar))
        assert len(found) == 1


def test_an_array_that_is_used_twice_has_one_number() -> None:
    digests = Digests()
    copy: Any = SimpleNamespace(digest=1, said=("copy", ()))
    x: Any = SimpleNamespace(number=-1)
    y: Any = SimpleNamespace(number=-1)
    digests.take_one(copy, (x, x), (), None, 0)
    digests.take_one(copy, (x, y), (), None, 0)
    assert (x.number, y.number) == (0, 1)
