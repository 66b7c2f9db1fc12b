"""Views against NumPy: a view of an array of indices says which elements a view has."""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgaspy.caches import kept
from pgaspy.dims import BlockDim, CyclicDim
from pgaspy.distribution import Distribution, default_layout
from pgaspy.planning.local_parts import lie_alike, local_part, place
from pgaspy.planning.view import ArrayInKey, View, joint_shape, whole
from tests.randomly import random_key, random_layout, random_shape, random_view


def flat_indices(view: View) -> NDArray[np.int64]:
    """The flat base indices of the elements of a view, from its fields alone."""
    extents = view.layout.shape
    strides = np.cumprod([1, *extents[:0:-1]])[::-1] if extents else np.empty(0, int)
    flat = np.full(view.shape, sum(o * s for o, s in zip(view.origin, strides.tolist(), strict=True)))
    for d, (p, step, n) in enumerate(zip(view.base_dims, view.steps, view.shape, strict=True)):
        if p is not None:
            along = np.arange(n) * step * strides[p]
            flat += along.reshape([-1 if e == d else 1 for e in range(view.ndim)])
    return flat


@pytest.mark.parametrize("seed", [*range(150), *(pytest.param(k, marks=pytest.mark.long) for k in range(150, 400))])
def test_chains_of_indices(seed: int) -> None:
    rng = random.Random(seed)
    shape = random_shape(rng, 4)
    layout = random_layout(rng, shape, 4)
    model = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    view, model = random_view(rng, whole(layout), model)
    for _ in range(2):
        assert (view.shape, view.ndim, view.size) == (model.shape, model.ndim, model.size)
        np.testing.assert_array_equal(flat_indices(view), model)
        extents = tuple(rng.choice((0, 2, 3)) if n == 1 else n for n in view.shape)
        view = view.broadcast_to((*rng.choice(((), (2,), (1, 3))), *extents))
        model = np.broadcast_to(model, view.shape)
    if model.size:
        assert view.unstretched.size == np.unique(model).size
    view, model = random_view(rng, view, model)
    np.testing.assert_array_equal(flat_indices(view), model)


def test_equal_views_are_one() -> None:
    view = whole(default_layout((9, 8), 4))
    a = view.index((slice(1, 5), slice(None, None, 2)))
    assert view.index((slice(1, 5), slice(None, None, 2))) is a
    assert view.index((slice(-8, -4), slice(0, 8, 2))) == a
    assert hash(view.index((slice(-8, -4), slice(0, 8, 2)))) == hash(a)
    assert view.index(...) == view == view.transpose((1, 0)).transpose((1, 0))
    assert view.index(...).is_whole
    assert not a.is_whole
    assert view.broadcast_to((9, 8)) is view


AXES, SHAPE = (1, 0), (2, 9, 8)
DERIVED: list[Callable[[View], View]] = [
    lambda view: view.index((slice(1, 5), 2)), lambda view: view.index(7), lambda view: view.index((None, ...)),
    lambda view: view.transpose(AXES), lambda view: view.broadcast_to(SHAPE)]


@pytest.mark.parametrize("derived", DERIVED, ids=range(5))
def test_what_is_derived_is_found_again_in_the_older_generation(derived: Callable[[View], View]) -> None:
    view = whole(default_layout((9, 8), 4)).index((slice(None), slice(None)))
    found = derived(view)
    kept.turn()
    assert derived(view) is found
    assert not found.is_read_only
    assert derived(view.read_only).is_read_only
    assert derived(view.read_only) == found


@pytest.mark.parametrize("key", [slice(3, 4, -5), slice(5, 5, 3), slice(8, 3, -9), slice(2, 3)], ids=repr)
def test_one_element_has_no_distance(key: slice) -> None:
    view = whole(default_layout((9, 8), 4)).index((slice(None, None, -2), key))
    assert view.steps == (-2, -1 if key.step and key.step < 0 else 1)


def test_nothing_begins_at_the_first_index() -> None:
    assert whole(default_layout((9, 8), 4)).index((slice(5, 5), slice(7, 2, 3))).origin == (0, 0)


@pytest.mark.parametrize("fields", [
    ((9, 8), (0,), (1, 1), (0, 0)), ((9,), (0, 1), (1,), (0, 0)), ((9, 8), (0, 1), (1,), (0, 0)),
    ((9, 8), (0, 2), (1, 1), (0, 0)), ((9, 8), (0, -1), (1, 1), (0, 0)), ((9, 8), (0, 1), (1, 1), (0,)),
    ((9, 8), (0, 1), (1, 0), (0, 0))], ids=range(7))
def test_what_is_no_map_is_refused(fields: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"no view of 2 dimensions|dims of a layout"):
        View(default_layout((9, 8), 4), *fields)


def test_hashes_of_numbers_tell_views_apart() -> None:
    rng = random.Random(1)
    of_fields: dict[Any, int] = {}
    for _ in range(5000):
        shape = random_shape(rng, 3)
        view = whole(random_layout(rng, shape, 4)).index(random_key(rng, shape))
        fields = view.shape, view.base_dims, view.steps, view.origin
        assert of_fields.setdefault(fields, view.hash_of_numbers) == view.hash_of_numbers
    assert len({*of_fields.values()}) == len(of_fields) > 2000
    assert whole(default_layout((9, 8), 4)).index((slice(1, 5), 2)).hash_of_numbers == HASH


HASH = -21600229110018028
"""It is the same wherever it is worked out, as processes compare what they have made of it."""


def test_references_are_given_back() -> None:
    layout = random_layout(random.Random(2), (9, 8), 4)
    base = whole(layout)
    objects = [layout, layout.dims, layout.pins, layout.dim_from_axis, layout.axes_of_several, base, base.shape,
               base.base_dims, base.steps, base.origin, AXES, SHAPE, *[k for k in KEYS if isinstance(k, tuple | slice)]]

    def all_calls() -> None:
        view = View(layout, *[(*map(int, numbers),) for numbers in ((9, 8), (0, 1), (1, 1), (0, 0))])
        found = [view, base, *[derived(view) for derived in DERIVED]]
        for other in found:
            for rank in range(4):
                assert local_part(other, rank) is local_part(other, rank)
                assert place(other.index((0,) * other.ndim), rank) is None or rank >= 0
            lie_alike(base, other)
            repr((other.fixed_coords, other.along_axes, other == base, hash(other)))
        for key in (*KEYS, [1], (10 ** 6, 0)):
            with pytest.raises(Exception):  # noqa: B017, PT011
                view.index(key)
        for shape in (7,), (9, 8, 7), ("x", 8), (9, None), (1,) * 63 + (9, 8):
            with pytest.raises((TypeError, ValueError)):
                view.broadcast_to(shape)  # type: ignore[arg-type]
        for axes in (0, 2), (-1, 0), ("x",), (1.5,):
            with pytest.raises((IndexError, TypeError)):
                view.transpose(axes)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^shapes \(2,\) \(3, 1\) \(4,\) do not broadcast to one$"):
            joint_shape((2,), (3, 1), (4,))

    counts, n_blocks = [], []
    for n_times in 100, 1000:
        for _ in range(n_times):
            all_calls()
        kept.turn()
        kept.turn()
        gc.collect()
        counts.append([*map(sys.getrefcount, objects)])
        n_blocks.append(sys.getallocatedblocks())
    assert counts[0] == counts[1]
    assert n_blocks[1] - n_blocks[0] < 700


KEYS: list[Any] = [
    (0, 0, 0), 9, -10, (0, 8), (..., ...), 1.5, "x", slice(1.5, None), slice(None, None, 0), slice("x"), (0, "x"), {},
    np.float64(1), (None, 9), 1j, 1 << 70, (0, -1 << 70),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_errors_are_numpys(key: Any) -> None:
    with pytest.raises(Exception) as numpys:  # noqa: PT011
        np.empty((9, 8))[key]
    with pytest.raises(numpys.type):
        whole(default_layout((9, 8), 4)).index(key)


@pytest.mark.parametrize("key", [np.int64(3), np.uint8(2), (np.int32(-1), np.int64(2)), slice(np.int64(1), np.int8(7))])
def test_integers_of_numpy(key: Any) -> None:
    model = np.arange(72).reshape(9, 8)
    np.testing.assert_array_equal(flat_indices(whole(default_layout((9, 8), 4)).index(key)), model[key])


@pytest.mark.parametrize("key", [[0, 1], np.array([0, 1]), (0, np.array(1)), np.ones((9, 8), bool), True,
                                 np.True_, (0, [1]), (..., False)], ids=repr)
def test_masks_and_index_arrays_are_told_apart(key: Any) -> None:
    with pytest.raises(ArrayInKey):
        whole(default_layout((9, 8), 4)).index(key)


@pytest.mark.parametrize("shape", [(9, 7), (8,), (2, 3, 8), (1,), (), (9, 1)])
def test_broadcasts_that_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError) as info:  # noqa: PT011  (the message is compared below)
        whole(default_layout((9, 8), 4)).broadcast_to(shape)
    assert f"could not broadcast input array from shape (9, 8) into shape {shape}" in str(info.value)


def test_own_layout() -> None:
    layout = Distribution("cyclic(4)", "block").bind((20, 9), 6)
    view = whole(layout)
    assert view.own_layout == layout
    window = view.index((slice(5, 17), slice(2, None))).own_layout
    assert window is not None
    assert window.dims == (CyclicDim(12, 3, 0, 4, 1, 3), BlockDim(7, 2, 1, 9, 2))
    row = view.index(5).own_layout
    assert row is not None
    assert (row.shape, row.pins) == ((9,), (1, None))
    assert view.index((5, 8)).fixed_coords == (1, 1)
    assert view.transpose((1, 0)).own_layout is not None
    assert view.index((None, ..., None)).own_layout is not None
    assert view.index((None, ...)).index(slice(0, 0)).own_layout is not None
    for key in (slice(None, None, -1), slice(None, None, 3)):
        assert view.index(key).own_layout is None
    assert view.index((slice(None), slice(None, None, 3))).own_layout is not None
    assert view.index(None).broadcast_to((2, 20, 9)).own_layout is None


def test_disjoint_views() -> None:
    view = whole(default_layout((9, 8), 4))
    left, right = view.index((slice(None), slice(0, 4))), view.index((slice(None), slice(4, 8)))
    assert left.disjoint(right)
    assert not left.disjoint(view)
    assert view.index(3).disjoint(view.index(4))
    assert not view.index(slice(None, None, -1)).disjoint(view.index(4))
    assert view.index(slice(4, 0, -1)).disjoint(view.index(0))
    assert view.disjoint(view.index(slice(0, 0)))


@pytest.mark.parametrize("seed", range(200))
def test_disjoint_views_share_no_element(seed: int) -> None:
    rng = random.Random(seed)
    is_disjoint = False
    while not is_disjoint:
        shape = random_shape(rng, 3)
        model = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        (a, a_model), (b, b_model) = (random_view(rng, whole(default_layout(shape, 4)), model) for _ in range(2))
        is_disjoint = a.disjoint(b)
        assert a.shares(b) == bool(set(a_model.ravel().tolist()) & set(b_model.ravel().tolist()))
    assert not set(a_model.ravel().tolist()) & set(b_model.ravel().tolist())


def test_views_that_share_an_element() -> None:
    """Some of them have none, and begin anywhere."""
    view, indices = whole(default_layout((5,), 2)), range(5)
    keys = [slice(start, stop, step) for start in range(5) for stop in range(5) for step in (1, 2, 3, -1, -2)]
    for a, b in itertools.product(keys, repeat=2):
        assert view.index(a).shares(view.index(b)) == bool({*indices[a]} & {*indices[b]}), (a, b)
        assert view.index(a).index(b).shares(view) == bool(indices[a][b]), (a, b)
