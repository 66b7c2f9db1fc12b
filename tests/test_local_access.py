"""What a process sees of its own part: local views, blocks, global indices."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.layout import replicated
from pgaspy.planning.view import whole
from tests.layouts import NAMES, layout_of
from tests.randomly import random_layout, random_shape, random_view
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi


def numbered(shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.arange(float(np.prod(shape, dtype=int))).reshape(shape)


@pytest.mark.parametrize("name", NAMES)
def test_local_parts_hold_the_elements_of_their_indices(name: str) -> None:
    x = numbered((11, 7))
    a = pg.array(x, layout=layout_of(name, x.shape))
    for array, model in ((a, x), (a[2:9, 1:], x[2:9, 1:]), (a.T, x.T), (a[3], x[3]), (a[None, :, 4], x[None, :, 4])):
        part = array.local()
        held = np.ix_(*[array.global_indices(d) for d in range(array.ndim)])
        collectively(np.array_equal(part, model[held]) if part.size else True, f"{part!r}")
        collectively(not part.size or np.shares_memory(part, array._base.local))


def test_writing_through_local() -> None:
    x = numbered((11, 7))
    a = pg.array(x)
    a.local()[...] *= 2
    assert_equal(a, x * 2)
    part = a[3:, 2:].local()
    part += 1
    x *= 2
    x[3:, 2:] += 1
    assert_equal(a, x)


def test_a_local_view_that_is_kept_stays_right() -> None:
    a = pg.zeros((5, 6))
    part = a.local()
    a += 1
    collectively(bool((part == 1).all()))
    part += 1
    assert_equal(a.sum(), np.float64(60.0))
    b = a[...]
    del a, b
    collectively(bool((part == 2).all()))
    pg.zeros((5, 6))
    collectively(bool((part == 2).all()))


def test_a_local_view_outlives_its_array() -> None:
    """Its memory is not given to another array, however large."""
    a = pg.full((512, 1024), 3.0)
    part = a.local()
    del a
    others = [pg.zeros((512, 1024)) for _ in range(3)]
    collectively(bool((part == 3).all()))
    del others


def test_replicated_parts_are_read_only() -> None:
    a = pg.array(numbered((4, 5)), layout=replicated((4, 5), pg.SIZE))
    part = a.local()
    collectively(np.array_equal(part, numbered((4, 5))))
    collectively(part.flags.writeable == (pg.SIZE == 1))
    collectively(all(block.flags.writeable == (pg.SIZE == 1) for block in a.blocks()))
    collectively(not a.sum().local().flags.writeable)


def test_parts_of_what_is_broadcast_are_read_only() -> None:
    a = np.broadcast_to(pg.zeros((4, 5)), (4, 5))[1:]
    collectively(not any(part.flags.writeable for part in (a.local(), *a.blocks())))


def test_one_process_alone_may_look() -> None:
    a = pg.array(numbered((6, 5)))
    b = a * 2
    if pg.RANK == 0:
        assert b.local().shape == b.layout.local_shape(0)
        assert b[:, 1:].local().size <= b.local().size
        list(b.blocks())
    assert_equal(b, numbered((6, 5)) * 2)


def test_parts_without_elements() -> None:
    a = pg.array(numbered((1, 5)), layout=pg.Distribution("block", "*"))
    collectively(a.local().shape in ((0, 5), (1, 5)))
    collectively(len(list(a.blocks())) == (a.local().shape[0] == 1))
    collectively(a.global_indices(0).tolist() == ([0] if a.local().size else []))
    collectively(pg.empty((0, 4)).local().size == 0)
    alone = pg.array(numbered((3, 4)), onenode=pg.SIZE - 1)
    collectively(alone.local().size == (12 if pg.RANK == pg.SIZE - 1 else 0))
    collectively(len(list(alone.blocks())) == (pg.RANK == pg.SIZE - 1))
    row = pg.array(numbered((6, 5)), layout=pg.Distribution("block", "*"))[2]
    collectively(row.local().size == (5 if row._view.holds(row._view.layout.coords_from_rank(pg.RANK)) else 0))
    total = sum(pg.COMM.allgather(row.local().size))
    collectively(total == 5)


def test_views_without_a_numpy_form() -> None:
    a = pg.array(numbered((24, 5)), layout=pg.Distribution("cyclic(4)", "*"))
    view = a[::3]
    if pg.SIZE > 1:
        raises_everywhere(ValueError, r"blocks\(\), or copy\(\)", view.local)
        raises_everywhere(ValueError, r"copy\(\)", lambda: a[::-1].layout)
    total = sum(float(block.sum()) for block in view.blocks())
    collectively(sum(pg.COMM.allgather(total)) == numbered((24, 5))[::3].sum())
    assert_equal(view.copy(), numbered((24, 5))[::3])
    raises_everywhere(ValueError, "copy", lambda: list(pg.broadcast_to(a[0], (3, 5)).blocks()))


def test_blocks() -> None:
    x = numbered((10, 9))
    a = pg.array(x, layout=pg.Distribution("cyclic(3)", "cyclic(2)"))
    owned = dict(a.blocks(index=True))
    for (i, j), block in owned.items():
        collectively_equal = np.array_equal(block, x[3 * i : 3 * i + 3, 2 * j : 2 * j + 2])
        assert collectively_equal
    collectively(list(owned) == sorted(owned))
    everyones = sorted(b for blocks in pg.COMM.allgather(list(owned)) for b in blocks)
    collectively(everyones == [(i, j) for i in range(4) for j in range(5)])
    some = dict(a.blocks(((1, 3), (2, 5)), index=True))
    collectively(set(some) == {(i, j) for i, j in owned if 1 <= i < 3 and 2 <= j < 5})
    collectively(list(a.blocks(((0, 0), (0, 5)))) == [])
    for block in a.blocks():
        block += 100
    assert_equal(a, x + 100)


def test_blocks_of_views_count_from_the_view() -> None:
    x = numbered((12,))
    a = pg.array(x, layout=pg.Distribution("cyclic(4)"))
    found = pg.COMM.allgather([(k, block.tolist()) for (k,), block in a[2:11].blocks(index=True)])
    collectively(sorted(b for blocks in found for b in blocks) == [
        (0, [2, 3]), (1, [4, 5, 6, 7]), (2, [8, 9, 10])])
    found = pg.COMM.allgather([(k, block.tolist()) for (k,), block in a[::-1].blocks(index=True)])
    collectively(sorted(b for blocks in found for b in blocks) == [
        (0, [11, 10, 9, 8]), (1, [7, 6, 5, 4]), (2, [3, 2, 1, 0])])


@pytest.mark.parametrize("seed", range(60))
def test_views_of_all_kinds(seed: int) -> None:
    """The elements of all parts (or else of all blocks) are those of the view, each once."""
    rng = random.Random(seed)
    owns_once = False
    while not owns_once:
        shape = random_shape(rng, 3)
        layout = random_layout(rng, shape, pg.SIZE)
        view, model = random_view(rng, whole(layout), numbered(shape))
        owns_once = not (layout.replica_axes or view.stretched_dims)
    array: Any = pg.GlobalArray(pg.array(numbered(shape), layout=layout)._base, view)
    parts = list(array.blocks())
    found = [x for values in pg.COMM.allgather([x for p in parts for x in p.ravel().tolist()]) for x in values]
    collectively(sorted(found) == sorted(model.ravel().tolist()))
    try:
        part = array.local()
    except ValueError:
        refused = True
    else:
        refused = False
    collectively(len(set(pg.COMM.allgather(refused))) == 1 or not view.size)
    if not refused and part.size:
        held = np.ix_(*[array.global_indices(d) for d in range(array.ndim)])
        assert np.array_equal(part, model[held])


def test_blocks_of_a_view_without_elements() -> None:
    """Also where it would repeat some."""
    A = pg.ones((4, 3), layout=pg.Distribution("block", "*"))
    collectively(not [*A[0, None][:0].blocks()])
    raises_everywhere(ValueError, "repeats elements", lambda: pg.broadcast_to(A[0], (2, 3)).blocks())


def test_local_views_as_operands_are_read_before_anything_is_written() -> None:
    n = 100
    for key, source in ((np.s_[1:], np.s_[:-1]), (np.s_[::-1], np.s_[:])):
        x, A = np.arange(n), pg.replicate(pg.arange(n), 0)
        A[key] = A.local()[source]
        x[key] = x[source].copy()
        assert_equal(A, x)
        A[key] += A.local()[source]
        x[key] += x[source].copy()
        assert_equal(A, x)
