"""Indices that are used again, whatever becomes of them in between: what is found again fits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.job.procgrid import world
from pgaspy.scheduling import remembered
from tests.simulated import Job
from tests.together import assert_equal, collectively

mpi = pytest.mark.mpi
pytestmark = pytest.mark.stay

N = 29


def first_indices() -> pg.GlobalArray:
    return pg.array(np.arange(N) * 11 % N)


def reverse(part: Any) -> None:
    part[...] = part[::-1].copy()


def by_blocks(i: pg.GlobalArray) -> None:
    for block in i.blocks():
        reverse(block)


def on_one_process(i: pg.GlobalArray) -> None:
    if pg.RANK == pg.SIZE - 1:
        i.local()[...] = 0


def by_a_copy(i: pg.GlobalArray) -> None:
    j = i.copy()
    j += 1
    i[...] = j % N


def by_a_view(i: pg.GlobalArray) -> None:
    part = i[3::2]
    part[...] = 5


def by_a_replica(i: pg.GlobalArray) -> None:
    i[...] = (pg.replicate(i, 0) + 2) % N


def in_place(i: pg.GlobalArray) -> None:
    i += 4
    i %= N


CHANGES: list[Callable[[pg.GlobalArray], Any]] = [
    lambda i: i.__setitem__(slice(4, 7), 0),
    lambda i: i.__setitem__(..., pg.arange(N)[::-1]),
    lambda i: i.__setitem__(pg.array([1, N - 1]), 3),
    lambda i: i.__setitem__(i > 20, -1),
    lambda i: np.add.at(i, [N - 1, 0], -N // 2),
    lambda i: np.mod(i + 9, N, out=i),
    lambda i: np.copyto(i, 8),
    lambda i: reverse(i.local()),
    lambda i: pg.schedule(reverse, pg.update(i)),
    by_blocks, on_one_process, by_a_copy, by_a_view, by_a_replica, in_place,
]


def uses(a: pg.GlobalArray, i: Any) -> Iterator[tuple[pg.GlobalArray, Callable[[Any, Any], Any]]]:
    """What indices are used for, each with what NumPy gives for an array and for these indices."""
    def stored(x: Any, k: Any) -> Any:
        x[k] = np.arange(N)
        return x

    def added(x: Any, k: Any) -> Any:
        np.add.at(x, k, np.arange(N))
        return x

    yield a[i], lambda x, k: x[k]
    for change in stored, added:
        b = a.copy()
        if change is stored:
            b[i] = pg.arange(N)
        else:
            np.add.at(b, i, pg.arange(N))
        yield b, change


@mpi
@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
@pytest.mark.parametrize("waits", [False, True])
def test_indices_that_are_written_to(change: Callable[[pg.GlobalArray], Any], waits: bool) -> None:
    x = np.arange(N) * 1.5
    a, i = pg.array(x), first_indices()
    before = i.gather()
    old = [use for _ in range(3) for use in uses(a, i)]
    if waits:
        pg.sync()
    change(i)
    new = [use for _ in range(2) for use in uses(a, i)]
    for found, k in (old, before), (new, i.gather()):
        for array, expected in found:
            assert_equal(array, expected(x.copy(), k))


@mpi
def test_numpy_indices_that_are_written_to() -> None:
    x, k = np.arange(N) * 1.5, np.arange(N)[::-1].copy()
    a = pg.array(x)
    found = []
    for step in range(4):
        k[step:] = np.roll(k[step:], step // 2)
        found += [(use, k.copy()) for use in uses(a, k)]
    for (array, expected), then in found:
        assert_equal(array, expected(x.copy(), then))


@mpi
def test_a_local_view_that_is_kept() -> None:
    x = np.arange(N) * 1.5
    a, i = pg.array(x), first_indices()
    part = i.local()
    for step in range(4):
        assert_equal(a[i], x[i.gather()])
        part[step:] = (part[step:] + pg.RANK) % N


@mpi
def test_indices_that_some_processes_cannot_tell_apart() -> None:
    x = np.arange(N) * 1.5
    a, k = pg.array(x), np.arange(N)[::-1].copy()
    other = k.copy()
    other[-1] = 7
    i, j = pg.array(k), pg.array(other)
    for index in i, j, j, i, i, j, i, j, j:
        assert_equal(a[index], x[k if index is i else other])


@mpi
def test_processes_that_forget_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(N) * 1.5
    a, i = pg.array(x), first_indices()
    k = i.gather()
    for step in range(6):
        monkeypatch.setattr(remembered, "MAX_ENTRIES", 0 if (pg.RANK + step) % 3 == 0 else 16)
        assert_equal(a[i], x[k])
        if step == 3 and pg.RANK == 0:
            i.local()[...] = 0
        k = i.gather()


@mpi
def test_indices_beyond_the_array_after_others() -> None:
    a, i = pg.arange(N), first_indices()
    found = a[i], a[i]
    i[N - 1] = N
    with pytest.raises(IndexError, match=f"index {N} is out of bounds"):
        a[i].gather()
    i[N - 1] = -1
    assert_equal(a[i][:-1], found[1].gather()[:-1])
    collectively(int(a[i][N - 1]) == N - 1)


def gathered_again() -> None:
    """Exchanges under way together, between which one process has written to its indices by itself."""
    n = 6 * world().size
    a, b, i = pg.arange(n), pg.arange(n) * 2, pg.arange(n)[::-1]
    i = i + 0
    found = []
    for step in range(3):
        found += [(a[i], 1), (b[i], 2)]
        k = i.gather()
        for array, factor in found:
            assert np.array_equal(array.gather(), factor * k)  # type: ignore[arg-type]
        found = [(b[i], 2), (a[i], 1)]
        for array, factor in found:
            assert np.array_equal(array.gather(), factor * k)  # type: ignore[arg-type]
        found = []
        if world().rank == step % world().size:
            i.local()[...] = (i.local() + 1 + step) % n


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 5])
def test_processes_that_are_flushed_anywhere(size: int, stride: int) -> None:
    job = Job(gathered_again, [lambda k, rank=rank: k % (rank * stride % 4 + 2) == 0 for rank in range(size)])
    assert job.network.n_left == 0


def started_by(n_times: int, is_written: bool) -> int:
    """The messages of gathers of the same elements, on four processes."""
    def program() -> None:
        a, i = pg.zeros(64), pg.arange(63, -1, -1)
        for _ in range(n_times):
            a[i]
            if is_written:
                i += 0 * a[0].astype(int)
        pg.sync()

    return Job(program, [lambda k: False] * 4).network.n_started


def test_only_elements_are_sent_for_indices_that_are_as_before() -> None:
    once, twice, often = (started_by(n, False) - started_by(0, False) for n in (1, 2, 5))
    assert twice - once < once
    assert often - twice == 3 * (twice - once)


@mpi
@pytest.mark.every
@pytest.mark.parametrize("layout", [None, pg.Distribution("cyclic(2)")])
def test_items_that_are_named_again_and_again(layout: pg.Distribution | None) -> None:
    """Each process is brought each of them once, also where only some processes have so many indices."""
    n, rng = 12, np.random.default_rng(2)
    x, k = rng.random((n, 3)), rng.integers(-n, n, 5000)
    a = pg.array(x, layout=None if layout is None else pg.Distribution("cyclic(2)", "*"))
    i = pg.array(k)
    pg.sync()
    before = pg.stats()
    found = a[i, 1]
    pg.sync()
    brought = pg.stats() - before
    collectively(brought.nbytes_received < 4000, f"{brought.nbytes_received} bytes")
    assert_equal(found, x[k, 1])
    for _ in range(2):
        assert_equal(a[i], x[k])
        i[::7] = i[::7] * -1 - 1
        k[::7] = k[::7] * -1 - 1
    assert_equal(a[pg.array(k, onenode=pg.SIZE - 1), ::-1], x[k, ::-1])
    assert_equal(a[:0, :2][i[:0]], x[:0, :2][k[:0]])
    assert_equal(a[:, :0][i], x[:, :0][k])


@mpi
def test_an_index_beyond_among_many() -> None:
    a, i = pg.arange(5), pg.zeros(400, dtype=int)
    i[399] = 5
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        a[i].gather()
    i[399] = -5
    collectively(int(a[i].sum()) == 0)
