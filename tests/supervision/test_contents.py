"""NumPy arrays that operations take: a warning says where they are not the same on every process."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from pgaspy.supervision.contents import Contents
from tests.jobs import run_job

PROGRAM = """
import numpy as np
import pgaspy as pg

def seeded(n):
    return np.random.default_rng(n).random(n)

A = pg.array(seeded(90_000).reshape(300, 300))
for k in range(50):
    A[k] *= seeded(300)
{line}
print("sum", float((A @ pg.array(seeded(300))).sum()) > 0)
"""


def assert_told(folder: Path, line: str, n: int, what: str) -> None:
    """Assert that the program with a line comes to its end on n processes, and what differs there is warned of."""
    program = folder / "program.py"
    program.write_text("import random" + PROGRAM.format(line=line))
    done = run_job(n, str(program), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum True") == n
    assert done.stderr.count(f"program.py:11: UserWarning: a {what} is not the same on rank") == min(n - 1, 2)
    assert line in done.stderr


@pytest.mark.jobs
@pytest.mark.parametrize(("line", "n"), [
    ("A += np.random.rand(300)", 2), ("A[:, 1:] = np.random.rand(300, 299)", 3), ("b = pg.array(np.random.rand(5))", 2),
    ("b = pg.array(np.random.rand(400, 400)[:, ::3])", 2), ("x = A @ np.random.rand(300)", 3),
    ("x = A[0][np.random.permutation(300)]", 2), ("x = A[0][np.random.permutation(300).tolist()]", 2),
    ("A[0][pg.arange(9)] = np.random.rand(9)", 2), ("x = pg.searchsorted(pg.arange(9), np.random.rand(9))", 3),
    ("x = pg.searchsorted(pg.arange(90000.), np.random.rand())", 2)])
def test_random_numbers_without_a_seed(tmp_path: Path, line: str, n: int) -> None:
    assert_told(tmp_path, line, n, "NumPy array")


@pytest.mark.jobs
@pytest.mark.parametrize(("line", "n"), [
    ("A *= random.random()", 2), ("A[5, 5] = random.random()", 3), ("A[A > 0.5] = random.random()", 2),
    ("A = pg.where(A > 0.5, A, random.random())", 2), ("a = pg.ones(7) + np.longdouble(random.random())", 2),
    ("a = [pg.full(7, x) for x in random.sample(range(90), 9)]", 3), ("a = pg.linspace(0, random.random(), 90)", 2),
    ("a = pg.arange(random.random(), 90, 100)", 2), ("a = pg.random.default_rng(random.getrandbits(30)).random(90)", 2),
    ("a = pg.random.default_rng(1).poisson(random.random(), 90)", 2), ("a = A[3, 3] * random.random()", 2),
    ("a = pg.random.default_rng(1).dirichlet([1, 1 + random.random()], 9)", 2),
    ("a = pg.random.default_rng(1).integers(0, random.getrandbits(9), 90, 'u2')", 2),
    ("a = pg.percentile(A[0], 100 * random.random())", 2), ("pg.fill_diagonal(A, random.random())", 3),
    ("a = pg.interp(A[0], [0, .5], [0, 1], right=random.random())", 2),
    ("a, b = pg.histogram(A, 10, range=(0, random.random()))", 2), ("a = pg.insert(A[0, :9], 2, random.random())", 2),
    ("a = pg.ones(7, 'g') * (np.longdouble(random.random()) * np.longdouble('1e4000'))", 2)])
def test_numbers_that_differ(tmp_path: Path, line: str, n: int) -> None:
    assert_told(tmp_path, line, n, "number")


@pytest.mark.jobs
def test_equal_numbers_of_other_kinds(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text('''
import numpy as np
import pgaspy as pg

class Other(float):
    __repr__ = object.__repr__

if pg.RANK == 0:
    np.set_printoptions(precision=3, legacy="1.25")
a = pg.linspace(np.array(1/3), 2, 9) + pg.linspace(0 if pg.RANK else 0.0, 2.0, 9) + pg.linspace(Other(1), 2.0, 9)
a += pg.arange(0, 3.0, 0.34)
a *= np.float64("nan") if pg.RANK else -np.float64("nan")
a = pg.full(9, np.longdouble("nan")) + pg.full(9, complex(0.0, -np.nan if pg.RANK else np.nan))
rng = pg.random.default_rng(3)
a = rng.poisson(rng.random(9).sum(), 9) + rng.integers(0, 99, 9, "u2")
print(float(a.sum()))
''')
    done = run_job(3, str(program), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.jobs
def test_a_warning_that_is_an_error_has_the_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import random" + PROGRAM.format(line="A *= random.random()"))
    done = run_job(2, "-W", "error", str(program), cwd=tmp_path)
    assert done.returncode
    assert "on rank 0, at program.py:11: each" in done.stderr


@pytest.mark.jobs
def test_what_is_the_same_is_not_told(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(line=""))
    done = run_job(3, str(program), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def told(*taken: list[tuple[int, float]]) -> list[str]:
    """The warnings of a last rank, as it and the rank before take arrays of numbers, told in some parts."""
    own, other = Contents(1, 2), Contents(0, 2)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for k, part in enumerate(taken):
            for number, value in part:
                (own if k % 2 else other).take(np.full(3, value), number)
            own.heard(other.unsent)
            other.unsent.clear()
        own.end()
        other.end()
        assert own.is_awaited
        own.heard(other.unsent)
    assert not own.is_awaited
    assert not other.is_awaited
    return [str(warning.message) for warning in found]


def test_what_is_taken_twice_by_one_of_them() -> None:
    assert not told([(0, 1.0), (0, 2.0), (7, 3.0), (9, 3.0)], [(0, 1.0), (0, 2.0), (0, 1.0), (7, 3.0), (7, 3.0)])
    assert not told([(0, 1.0)], [(3, 2.0)], [(4, 2.0)], [(4, 2.0)])
    assert len(told([(0, 1.0), (5, 2.0)], [(0, 1.0)], [], [(5, 2.5), (5, 2.0), (6, 3.0)])) == 1
    assert len(told([], [(1, 1.0), (2, 2.0)], [(1, 7.0), (2, 7.0)])) == 1, "once"
    assert not told([], [])


def test_who_ends_after_the_rank_before_compares_what_that_has_told() -> None:
    own, other = Contents(1, 2), Contents(0, 2)
    for contents, value in (own, 1.0), (other, 2.0):
        contents.take(np.full(3, value), 4)
    other.end()
    own.heard(other.unsent)
    with pytest.warns(UserWarning, match="not the same on rank 1 as on rank 0"):
        own.end()
    assert not own.is_awaited


@pytest.mark.parametrize("shape", [(), (0,), (5,), (10**6,), (3, 10**5), (10, 20, 30), (1,) * 10])
def test_a_sample_is_small_and_finds_other_numbers(shape: tuple[int, ...]) -> None:
    own = Contents(0, 2)
    rng = np.random.default_rng(5)
    for _ in range(2):
        own.take(rng.random(shape), 0)
    first, second = own.unsent[1::2]
    assert (first == second) is (0 in shape)


def test_bytes_that_are_not_part_of_a_number() -> None:
    own = Contents(0, 2)
    for fill in 0, 255:
        x = np.frombuffer(bytearray([fill]) * 64, np.longdouble).copy()
        x[...] = 2.5
        own.take(x, 0)
    assert own.unsent[1] == own.unsent[3]
