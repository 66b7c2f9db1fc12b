"""Copies that share storage until it is written to: values as of NumPy's copies, whoever writes, and how."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.scheduling import base
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

GRIDS = [(p, pg.SIZE // p) for p in range(1, pg.SIZE + 1) if pg.SIZE % p == 0]
AXES: list[Any] = [0, (0, 1)]
KEYS = [np.s_[...], np.s_[:, 3:6], np.s_[1::2, 1:], np.s_[4:0:-1], np.s_[4]]


def source(grid: tuple[int, int]) -> tuple[Any, Any]:
    a = np.arange(90.0).reshape(9, 10) + 1
    return pg.array(a, layout=pg.Distribution("cyclic(2)", "cyclic(3)", grid=grid)), a


def each_in_its_own_way(x: Any, n: int = 0) -> None:
    """Multiply an array: each process writes to its own part, by itself."""
    if isinstance(x, np.ndarray):
        multiply(x)
    elif x._view.layout.replica_axes or (pg.RANK + n) % 3 == 0:
        pg.schedule(multiply, pg.update(x))
    elif (pg.RANK + n) % 3 == 1:
        multiply(x.local())
    else:
        for block in x.blocks():
            multiply(block)


def multiply(x: Any) -> None:
    x *= -3


def divide(x: Any) -> None:
    np.divmod(x, 2, out=(x, np.empty_like(x)))


WRITES: dict[str, Callable[[Any], Any]] = {
    "assignment": lambda x: x.__setitem__(..., 7),
    "a section": lambda x: x[1:].__setitem__(..., 5),
    "a section of itself": lambda x: x[1:].__setitem__(..., x[:-1]),
    "an element": lambda x: x.__setitem__((-1,) * x.ndim, -8),
    "in place": multiply,
    "transpose": lambda x: x.T.__setitem__(..., 4),
    "fill": lambda x: x.fill(-1),
    "ufunc": lambda x: np.add(x, 2, out=x[...]),
    "ufunc where": lambda x: np.add(x, 2, out=x, where=x > 20),
    "two outputs": divide,
    "reduction": lambda x: np.sum(x, axis=0, out=x[0]),
    "clip": lambda x: x.clip(10, 40, out=x),
    "alone": each_in_its_own_way,
    "alone, otherwise": lambda x: each_in_its_own_way(x, 1)}


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("name", WRITES)
def test_who_writes_is_not_seen_by_the_others(name: str, grid: tuple[int, int]) -> None:
    write = WRITES[name]
    for axes in AXES:
        for key in KEYS:
            for to in ("source", "section of the source", "result", "view of the result", "copy of the result"):
                A, a = source(grid)
                R, r = pg.replicate(A[key], axes), a[key].copy()
                V, v = R[1:], r[1:]
                C, c = pg.replicate(R, 0), r.copy()
                targets = {"source": (A, a), "section of the source": (A[3:], a[3:]), "result": (R, r),
                           "view of the result": (V, v), "copy of the result": (C, c)}
                for x in targets[to]:
                    if not (x.ndim < 2 and name in ("reduction",)):
                        write(x)
                for found, expected in ((A, a), (R, r), (V, v), (C, c), (R + V[0], r + v[0])):
                    assert_equal(found, expected)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_many_copies_of_copies(seed: int, grid: tuple[int, int]) -> None:
    """Random programs: copies, views and elements come and go, and each is written to in any way."""
    rng = random.Random(seed)
    pairs: list[tuple[Any, Any]] = [source(grid)]
    elements: list[tuple[Any, float]] = []
    for _ in range(60):
        X, x = rng.choice(pairs)
        what = rng.choice(["copy", "copy", "view", "element", "look", "drop", "mix", *["write"] * 4])
        rows = slice(rng.randrange(2), len(x) - rng.randrange(2))
        if what == "copy" and x[rows].size:
            pairs.append((pg.replicate(X[rows], rng.choice(AXES)), x[rows].copy()))
        elif what == "view" and x[rows].size:
            pairs.append((X[rows], x[rows]))
        elif what == "element" and x.size:
            elements.append((X[-1, 2], float(x[-1, 2])))
        elif what == "look" and rng.randrange(pg.SIZE) == pg.RANK:
            X.local()
        elif what == "drop" and len(pairs) > 4:
            pairs.pop(rng.randrange(len(pairs)))
        elif what == "mix" and x.size:
            X *= X[0]
            x *= x[0]
            np.remainder(X, 97, out=X)
            np.remainder(x, 97, out=x)
        elif what == "write" and x.size:
            write = WRITES[rng.choice([*WRITES])]
            write(X)
            write(x)
    for found, expected in pairs:
        assert_equal(found, expected)
    collectively([float(s) for s, _ in elements] == [s for _, s in elements])


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_what_is_made_of_a_copy_lies_as_if_it_did_not_share(grid: tuple[int, int]) -> None:
    for key in (np.s_[...], np.s_[:, 3:6], np.s_[1::2, 1:], np.s_[4], np.s_[:2, :1]):
        for axes in AXES:
            A, a = source(grid)
            R = pg.replicate(A[key], axes)
            own = R.redistribute(R.layout)
            for x, y in zip(made_of(R), made_of(own), strict=True):
                collectively(x.layout == y.layout, f"{x.layout}, and not {y.layout}")
            assert_equal(R.astype("f"), a[key].astype("f"))
            assert_equal(R.cumsum(axis=0), a[key].cumsum(axis=0))


def made_of(x: Any) -> tuple[Any, ...]:
    return (x + 1, x.T * x.T, x.sum(axis=0), x.copy(), x.astype("f"), pg.empty_like(x), pg.empty_like(x.real),
            x.cumsum(axis=0), pg.sort(x, axis=0))


def test_a_view_that_one_process_has() -> None:
    """It may be written to at any time, and nobody else knows."""
    A, a = source((1, pg.SIZE))
    view = A.local() if pg.RANK == 0 else None
    R = pg.replicate(A[2:5], 0)
    own = R.local() if pg.RANK == pg.SIZE - 1 else None
    if view is not None:
        view += 100
    assert_equal(R, a[2:5])
    R *= 2
    assert_equal(R, a[2:5] * 2)
    collectively(own is None or np.array_equal(own, R.local()), "a local view does not follow its array")
    if own is not None:
        own += 1
    C = pg.replicate(R, 0)
    R[...] = 0
    changed = a[2:5] * 2
    changed[:, R.global_indices(1)] += own is not None
    collectively(np.array_equal(C.local(), changed[:, C.global_indices(1)]))


def test_a_copy_of_an_element_that_one_process_has_kept() -> None:
    a = np.arange(12.0).reshape(3, 4)
    A = pg.array(a, layout=pg.Distribution("*", "*", grid=(pg.SIZE,)))
    element = A[1, 1]
    if pg.RANK == 0:
        A.local()
    R = pg.replicate(element, 0)
    A += 1
    assert_equal(R + A[0], a[1, 1] + a[0] + 1)
    R[...] = 7
    assert_equal(A * R, 7 * (a + 1))
    assert float(element) == a[1, 1]


def test_who_writes_to_the_source_does_not_get_what_a_task_on_the_copy_raises() -> None:
    a = np.arange(12.0).reshape(3, 4)
    A = pg.array(a, layout=pg.Distribution("*", "*", grid=(pg.SIZE,)))
    R = pg.replicate(A, 0)

    def fail(_: Any) -> None:
        raise ValueError("bad value")

    pg.schedule(fail, pg.update(R))
    A *= 2
    raises_everywhere(pg.TaskError, "bad value", pg.sync)
    assert_equal(A, 2 * a)


def test_reading_copies_nothing() -> None:
    A, a = source((1, pg.SIZE))
    pg.sync()
    n = pg.stats().n_recorded
    R = pg.replicate(A[2:7], 0)
    part = R[1:].T
    collectively(pg.stats().n_recorded == n, "it was copied")
    assert part._base.storage.lender is A._base.storage
    R + 1, part.sum(), R @ part
    A[:2] = R[:2]
    A[7:] = part.T[:2]
    pg.schedule(np.copyto, pg.write(A[0]), R[0])
    pg.sync()
    collectively(R._base.storage.lender is A._base.storage, "it was copied")
    assert_equal(R, a[2:7])


def test_what_is_not_there_any_more_is_not_copied() -> None:
    before = {*base.borrowers}
    A, a = source((1, pg.SIZE))
    pg.sync()
    for _ in range(3):
        A += pg.replicate(A[2:3], 0)
        a += a[2:3].copy()
        R = pg.replicate(A[5:], 0)
        R *= 0
    assert_equal(A, a)
    del R
    collectively(base.borrowers <= before, f"{base.borrowers - before}")


@pytest.mark.parametrize("dim", [0, 1])
def test_align(dim: int) -> None:
    A, a = source((pg.SIZE, 1) if dim else (1, pg.SIZE))
    X = pg.align(A[2:6] if dim else A[:, 2:6], A, dim)
    x = (a[2:6] if dim else a[:, 2:6]).copy()
    A *= -1
    assert_equal(X, x)
    X[...] = 0
    assert_equal(A, -a)
    R = pg.align(pg.replicate(A, (0, 1)), A, 1 - dim)
    A += 1
    assert_equal(R, -a)
    assert_equal(A, 1 - a)


def test_combine_writes_to_a_copy() -> None:
    A, a = source((1, pg.SIZE))
    R = pg.replicate(A[2:4], (0, 1))
    before = R.copy()
    pg.combine(np.add, R)
    assert_equal(R, a[2:4] * pg.SIZE)
    assert_equal(before, a[2:4])
    assert_equal(A, a)
