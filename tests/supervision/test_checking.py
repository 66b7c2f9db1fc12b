"""Programs whose processes do not do the same, with `PGASPY_CHECK=1`: what is found, and programs that are right."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.layout import replicated
from pgaspy.scheduling.base import Base
from pgaspy.supervision import checking
from pgaspy.supervision.journal import MAX_ENTRIES, Journal
from tests.jobs import run_job

START = """
import os, time
import numpy as np
import pgaspy as pg

A, B = pg.ones((12, 12)), pg.zeros((12, 12))
is_last = pg.RANK == pg.SIZE - 1
"""

# The message names the lines that are marked, and the words; processes wait for one another at the end of each.
MISTAKES = {
    "a statement on one rank only": ("""
if is_last:
    A += 1  #!
""", "the end of the program"),
    "an assignment to a part on one rank only": ("""
C = A + 1j
if is_last:
    C.imag += 1  #!
B += 1  #!
""", "imag"),
    "a reduction on one rank only": ("""
if pg.RANK == 0:
    print(float(A.sum()))  #!
B += 1  #!
""", "sum()"),
    "a gather on one rank only": ("""
if is_last:
    print(A.gather(root=1))  #!
""", "the end of the program"),
    "an element that one rank reads": ("""
if pg.RANK == 0:
    print(float(A[11, 11]))  #!
""", "the end of the program"),
    "a creation on one rank only": ("""
if is_last:
    C = pg.empty(3)  #!
D = pg.zeros(4)  #!
""", "shapes (4,)"),
    "a linear system that one rank solves": ("""
if is_last:
    pg.linalg.solve(A + pg.eye(12), B)  #!
pg.sync()
""", "the end of the program"),
    "a file that one rank writes": ("""
if pg.RANK == 0:
    pg.save("one.npy", A)  #!
pg.COMM
A += 1  #!
""", "save"),
    "files of other names": ("""
pg.save(f"rank{pg.RANK}.npy", A)  #!
""", "values 'rank0.npy'"),
    "a seed that one rank asks for": ("""
if is_last:
    pg.random.default_rng()  #!
""", "default_rng"),
    "another shape": ("""
C = pg.ones(10 + is_last)  #!
""", "shapes (10,)"),
    "another shape of the same size": ("""
C = A.reshape((3, 48) if is_last else (48, 3))  #!
""", "(48, 3)"),
    "another dtype": ("""
C = pg.zeros(5, np.float32 if is_last else np.float64)  #!
""", "dtypes float32"),
    "another dtype of a copy": ("""
C = A.astype(np.int64 if is_last else np.int32)  #!
""", "dtypes int32"),
    "another scalar": ("""
A *= 1 + is_last  #!
""", "values 2"),
    "another scalar, in the last bit": ("""
A += np.nextafter(0.1, 1) if is_last else 0.1  #!
""", "values 0.1"),
    "another value that is assigned": ("""
A[2:, 3] = pg.RANK  #!
""", "values 0"),
    "the time as a scalar": ("""
A *= time.time() + pg.RANK  #!
""", "values 1"),
    "another limit": ("""
C = pg.clip(A, 0, 5 + is_last)  #!
""", "values"),
    "another parameter": ("""
C = pg.interp(A, [0, 2], [5, 7], left=is_last)  #!
""", "interp(True, None, None)"),
    "another way to search": ("""
C = pg.searchsorted(B[0], A, side="left" if is_last else "right")  #!
""", "'left'"),
    "another triangle": ("""
C = pg.tril(A, int(is_last))  #!
""", "(less, 1)"),
    "other places of a partition": ("""
C = pg.partition(A, 3 + is_last)  #!
""", "places (3,)"),
    "other segments": ("""
C = np.add.reduceat(A, [0, 3 + is_last])  #!
""", "segments"),
    "another parameter of random numbers": ("""
C = pg.random.default_rng(1).poisson(1 + is_last, 12)  #!
""", "values np.float64(2.0)"),
    "another section that is written": ("""
A[int(is_last):] = 1  #!
""", "sections from (1, 0)"),
    "another section that is read": ("""
B[1:] = A[:-1] if is_last else A[1:]  #!
""", "sections"),
    "another step": ("""
B[::2 + is_last].sum()  #!
""", "sections"),
    "a transposed operand": ("""
B[...] = A.T if is_last else A  #!
""", "sections"),
    "operands exchanged": ("""
C = A @ B if is_last else B @ A  #!
""", "arrays that of"),
    "another order of statements": ("""
if is_last:
    A += 1  #!
    B += 1
else:
    B += 1  #!
    A += 1
""", "A += 1"),
    "another order of arrays": ("""
for X in (A, B) if is_last else (B, A):
    X += 1  #!
""", "arrays that of"),
    "the order of a set": ("""
arrays = {f"field {k}": pg.zeros(3) for k in range(20)}
for name in set(arrays):
    arrays[name] += 1  #!
""", "arrays that of"),
    "the order of a set of new arrays": ("""
arrays = {f"field {k}": pg.empty(3) for k in range(20)}
for name in set(arrays):
    arrays[name][...] = 1  #!
""", "arrays that of"),
    "another layout": ("""
C = pg.empty((12, 12), layout=pg.Distribution("cyclic(2)" if is_last else "cyclic(3)", "*"))  #!
""", "layouts Layout(shape=(12, 12), (cyclic(2)"),
    "another layout of a copy": ("""
C = A.redistribute(pg.Distribution("*", "block") if is_last else pg.Distribution("block", "*"))  #!
""", "layouts"),
    "another default layout": ("""
pg.empty(4)  #!
""", "layouts"),
    "an array for each rank": ("""
C = pg.ones(4, onenode=pg.RANK)  #!
""", "layouts"),
    "another root": ("""
A.gather(root=pg.RANK)  #!
""", "layouts"),
    "another axis": ("""
C = A.sum(axis=int(is_last))  #!
""", "over (0,)"),
    "another axis of the grid": ("""
C = pg.replicate(A, axis=int(is_last))  #!
""", "the end of the program"),
    "another function": ("""
C = (np.sin if is_last else np.cos)(A)  #!
""", "function sin(float64, float64)"),
    "another reduction": ("""
C = A.max() if is_last else A.min()  #!
""", "maximum"),
    "unseeded numbers of NumPy": ("""
A += np.random.default_rng().random(12)  #!
""", "NumPy operands with checksum"),
    "a large array of unseeded numbers": ("""
C = pg.zeros(100_000)
C += np.random.default_rng().random(100_000)  #!
""", "NumPy operands with checksum"),
    "an unseeded choice": ("""
C = A * np.random.default_rng().integers(1 << 62)  #!
""", "values"),
    "another seed": ("""
C = pg.random.default_rng(pg.RANK).random(5)  #!
""", "values"),
    "another range": ("""
C = pg.arange(pg.RANK, pg.RANK + 5)  #!
""", "values"),
    "another diagonal": ("""
C = pg.eye(6, k=pg.RANK)  #!
""", "values"),
    "another function of the indices": ("""
C = pg.fromfunction(lambda i: i + pg.RANK, (5,))  #!
""", "values"),
    "an early exit from a loop": ("""
for k in range(10 - is_last):
    A += 1  #!
""", "the end of the program"),
    "an early exit from a loop, by what lies here": ("""
epsilon = 0.1 if is_last else 0.001
delta = 1.0
while delta > epsilon:
    B[1:] = A[:-1] / 2  #!
    A[...] = B
    delta /= 2
print(float(A.sum()))  #!
""", "sum"),
    "a loop over what lies here": ("""
for block in list(A.blocks())[:1 + (not is_last)] * (1 + is_last):
    A += 1  #!
""", "the end of the program"),
    "an exception that one rank swallows": ("""
try:
    if is_last:
        raise OSError
    A += 1  #!
except OSError:
    pass
B -= 1  #!
""", "B -= 1"),
    "a branch on a local value": ("""
if A.local().shape[0] * pg.RANK == 0:
    C = A + B  #!
else:
    C = A - B  #!
print(float(C.sum()))
""", "A - B"),
    "a process that goes on by itself": ("""
if is_last:
    float(A.sum())  #!
else:
    time.sleep(1)
    pg.COMM
    A += 1  #!
    time.sleep(1)
""", "A += 1"),
}
OTHER_STARTS = {"another default layout": """
import pgaspy as pg
pg.datalayout(block=2 + (pg.RANK == pg.SIZE - 1))
"""}
SHORT = ("a reduction on one rank only", "an assignment to a part on one rank only", "the order of a set of new arrays",
         "an early exit from a loop", "another parameter")

RIGHT = """
import random
for k in range(300):
    A[1:] = 0.5 * B[:-1]
    if random.random() < 0.1:
        A.local()
    if random.random() < 0.1:
        pg.sync()
    if pg.RANK == 0 and k % 100 == 0:
        time.sleep(0.05)
        pg.schedule(lambda a: None, A)
    if k % 50 == 0:
        total = float(A.sum())
        pg.explain(lambda: A + B) if is_last else None
if is_last:
    time.sleep(0.5)
    repr(A), A.layout, A[2:5], pg.stats()
copy = pg.replicate(A[2:4], 1)
A += 1
element = copy[1, 2]
if is_last:
    copy.local()
assert copy.gather()[1, 2] == float(element)
rng = pg.random.default_rng()
C = rng.random(100) @ pg.linspace(0, 1, 100)
pg.save("right.npy", A)
assert float(abs(pg.load("right.npy") - A).max()) == 0
kept = A.local() if is_last else None
try:
    D = A[pg.array(np.array([0, 99]))]
    float(D.sum())
except IndexError:
    A[1:] = A[:-1]
print("right")
"""


def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, program: str) -> tuple[int, str, str]:
    path = tmp_path / "program.py"
    path.write_text(program)
    monkeypatch.setenv("PGASPY_CHECK", "1")
    done = run_job(n, str(path), cwd=tmp_path)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("n", [pytest.param(2, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in MISTAKES])
def test_a_mistake_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n: int) -> None:
    body, words = MISTAKES[name]
    program = OTHER_STARTS.get(name, START) + body
    code, _, stderr = start(tmp_path, monkeypatch, n, program)
    assert code == 1, stderr
    message = stderr[stderr.index("DivergenceError: "):]
    message = message[:re.search(r"\n(?!  on )", message).start()]
    lines = [k for k, line in enumerate(program.splitlines(), 1) if line.endswith("#!")]
    assert lines == sorted({int(line) for line in re.findall(r", at program\.py:(\d+)", message)}), stderr
    assert words in message
    if n == 3:
        assert re.search(r"on ranks 0-1: |on ranks 0,2: |on ranks 1-2: |on rank 2: ", message)


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_what_is_right_is_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    code, stdout, stderr = start(tmp_path, monkeypatch, n, START + RIGHT)
    assert code == 0, stderr
    assert stdout.count("right") == n


def outputs_of_what_diverges(tmp_path: Path, program: str) -> tuple[str, str]:
    """What two processes print of which each does something else, where nothing is asked to be checked."""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = run_job(2, str(path), cwd=tmp_path)
    assert done.returncode == 1
    assert "DivergenceError" in done.stderr
    return done.stdout, done.stderr


def test_functions_of_the_same_arrays_are_told_apart(tmp_path: Path) -> None:
    """Also where these come to all processes, by the same messages, and nothing is asked to be checked."""
    stdout, _ = outputs_of_what_diverges(
        tmp_path, "import pgaspy as pg\nv = pg.array([3.0, 1, 2])\n"
                  "w = pg.unique(v) if pg.RANK else pg.sort(v)\nprint(w.sum())\n")
    assert not stdout


def test_floating_point_errors_that_one_process_alone_asks_for(tmp_path: Path) -> None:
    """It waits for the others, to be told of theirs."""
    _, stderr = outputs_of_what_diverges(
        tmp_path, "import numpy as np\nimport pgaspy as pg\nA = pg.ones(1000)\nif pg.RANK == 1:\n"
                  "    np.seterr(all='raise')\nB = A + 1\nprint(float(B.sum()))\n")
    assert "on rank 1: np.errstate" in stderr


@pytest.mark.parametrize("n", [3, pytest.param(20000, marks=pytest.mark.long)])
def test_an_element_that_is_taken_is_a_section(tmp_path: Path, n: int) -> None:
    """So that other ones are found, with nothing asked to be checked."""
    outputs_of_what_diverges(
        tmp_path, f"import pgaspy as pg\nprint(float(pg.take(pg.arange({n}), 1 + pg.RANK)))\n")


CAUGHT = """
from mpi4py import MPI
for attempt in range(3):
    try:
        if is_last:
            A += 1
        else:
            B += 1
        pg.sync(), A.gather()
    except pg.DivergenceError as error:
        print(f"caught {attempt}: {str(error).count('program.py')} lines\\n", end="", flush=True)
MPI.COMM_WORLD.Barrier()
time.sleep(0.5)  # a launcher may drop what it has not read yet when a process ends without MPI's end
os._exit(0)
"""


def test_it_can_be_caught_and_is_raised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook, where the program goes on: on every process, though one may learn of it with the next call."""
    _, stdout, stderr = start(tmp_path, monkeypatch, 2, START + CAUGHT)
    found = [stdout.count(f"caught {attempt}: 2 lines") for attempt in range(3)]
    assert found in ([1, 2, 2], [2, 2, 2]), stderr


def test_what_a_task_of_one_process_may_not_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that task's own affair, and nothing that processes differ in."""
    status, stdout, stderr = start(tmp_path, monkeypatch, 2, """
import pgaspy as pg
A, B = pg.ones(8), pg.ones(8)
def task(a):
    if pg.RANK == 1:
        pg.zeros(3)
pg.schedule(task, pg.update(A))
try:
    pg.sync()
except pg.TaskError as error:
    print("cannot use global arrays" in str(error), flush=True)
print(float(B.sum()), flush=True)
""")
    assert sorted(stdout.split()) == ["8.0", "8.0", "True"], stderr
    assert status == 0


# The journal ----------------------------------------------------------------------------------------------------------


def test_the_journal_keeps_the_latest() -> None:
    journal = Journal()
    base = Base(replicated((3,), 1), np.dtype(float))
    for k in range(MAX_ENTRIES + 2):
        journal.note("call", (base,), (k,), number=2 * k)
    assert journal.entry(0) is journal.entry(1) is journal.entry(MAX_ENTRIES + 2) is None
    first = journal.entry(2)
    assert first is not None
    assert first.fields()["values"] == "2"
    assert journal.of_number(4) is first
    assert journal.of_number(5) is None
    assert "(call) at " in str(first)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="all bytes of a long double are used here")
@pytest.mark.parametrize("dtype", ["g", "G"])
def test_the_journal_takes_no_bytes_that_are_not_part_of_an_element(dtype: str) -> None:
    """As those are of a long double that it leaves as they were."""
    digests = set()
    for filled_with, last in ((0, 2), (255, 2), (0, 3)):
        x = np.ndarray(3, dtype, bytearray([filled_with]) * 96)
        x[:] = np.sqrt(np.array([1, 2, last], dtype))
        x.view(np.uint8).reshape(-1, 16)[:, 10:] = filled_with
        journal = Journal()
        journal.take(x)
        digests.add(journal.note("call", (), ()).digest())
    assert len(digests) == 2


def test_the_journal_takes_objects() -> None:
    """Which have no bytes that processes have in common."""
    journal, x = Journal(), np.array([None, {}])
    journal.take(x)
    assert "checksum 00000000" in journal.note("call", (), (lambda: x,)).fields()["values"]


def test_the_report_shows_what_differs() -> None:
    said = {k: {"operation": "add", "shapes": "(3,)", "values": f"{k // 2}", "at": "p.py:3"} for k in range(4)}
    assert checking.difference(7, said) == ("the processes do not do the same. Operation 7 is\n"
                                            "  on ranks 0-1: add, values 0, at p.py:3\n"
                                            "  on ranks 2-3: add, values 1, at p.py:3\n" + checking.REMEDY)
    assert checking.difference(7, {k: said[k] for k in range(2)}).splitlines()[1:-2] == [
        "  on ranks 0-1: add, at p.py:3",
        "  but of other arrays, or of other parts of them; with PGASPY_CHECK=1 it is said which"]


def test_digests_are_taken_in_order_and_few_are_kept_that_are_taken() -> None:
    rng = np.random.default_rng(8)
    uncompared, expected, n_moved = checking.Uncompared(), [], 0
    for found in np.split(rng.integers(-1 << 60, 1 << 60, 3000), np.sort(rng.integers(0, 3000, 50))):
        uncompared.digests.extend(found)
        expected += found.tolist()
        n = int(rng.integers(len(uncompared) + 1))
        before = len(uncompared.digests)
        assert (list(uncompared.take(n)), len(uncompared)) == (expected[:n], len(expected) - n)
        del expected[:n]
        n_moved += len(uncompared) if len(uncompared.digests) < before else 0
        assert len(uncompared.digests) <= 2 * len(uncompared) + 1
    assert list(uncompared.take(len(uncompared))) == expected
    assert n_moved <= 3000


@pytest.mark.mpi
def test_off_by_default() -> None:
    from pgaspy.execution import recording

    assert recording.queue.supervision.journal is None
    assert recording._instead is None
    assert issubclass(pg.DivergenceError, RuntimeError)
