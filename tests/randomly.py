"""Random layouts, keys and views, the same on every process for the same seed; and what may be cast to what."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.dims import Dim
from pgaspy.distribution import Distribution, default_layout
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.planning.view import View, whole

__all__ = ["DTYPES", "LARGEST", "SMALL_EXTENTS", "castable", "places", "random_distributed_layout",
           "random_fitting_key", "random_key", "random_layout", "random_section", "random_shape", "random_source",
           "random_view", "storages"]

EXTENTS = (0, 1, 2, 3, 5, 7, 8, 13, 20)
SMALL_EXTENTS = (0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 12)
DTYPES = ("d", "d", "d", "f", "l", "i", "B", "?", "D", "F", "e", "h")
LARGEST = 1e4
"""Random programs fill arrays with larger elements anew, so that nothing overflows, and what follows stays exact."""

STEPS = (None, 1, 1, 2, 3, 5, -1, -2, -3)


def random_shape(rng: random.Random, max_ndim: int, extents: tuple[int, ...] = EXTENTS) -> tuple[int, ...]:
    return tuple(rng.choice(extents) for _ in range(rng.randint(0, max_ndim)))


def random_layout(rng: random.Random, shape: tuple[int, ...], n_procs: int) -> Layout:
    """Any layout of the shape: the default, replicated, on one process, or dealt out over any grid."""
    kind = rng.random()
    if kind < 0.1:
        return one_process(shape, n_procs, rng.randrange(n_procs))
    if kind < 0.2:
        return replicated(shape, n_procs)
    if kind < 0.35:
        return default_layout(shape, n_procs)
    return random_distributed_layout(rng, shape, n_procs)


def random_distributed_layout(rng: random.Random, shape: tuple[int, ...], n_procs: int) -> Layout:
    """A layout over any grid of one to three axes; an axis without a dimension holds replicas.

    Some are those of sections of larger arrays.
    """
    before, after, steps = (tuple(rng.randint(low, 3) for _ in shape) for low in (0, 0, 1))
    if rng.random() < 0.7:
        return _fresh_layout(rng, shape, n_procs)
    larger = tuple(map(sum, zip(before, map(operator.mul, shape, steps), after, strict=True)))
    sections = tuple(map(slice, before, map(operator.sub, larger, after), steps))
    section = whole(_fresh_layout(rng, larger, n_procs)).index(sections)
    return section.own_layout or _fresh_layout(rng, shape, n_procs)


def _fresh_layout(rng: random.Random, shape: tuple[int, ...], n_procs: int) -> Layout:
    n_axes = rng.randint(1, 3)
    divisors = [n for n in range(1, n_procs + 1) if n_procs % n == 0]
    grids = [g for g in itertools.product(divisors, repeat=n_axes) if math.prod(g) == n_procs]
    free = rng.sample(range(n_axes), n_axes)
    formats, axes = [], []
    for _ in shape:
        distributed = bool(free) and rng.random() < 0.8
        axes.append(free.pop() if distributed else None)
        formats.append(rng.choice(["block", "cyclic", f"cyclic({rng.randint(1, 5)})"]) if distributed else "*")
    return Distribution(*formats, grid=rng.choice(grids), axes=axes).bind(shape, n_procs)


def random_key(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A basic index: integers, slices of any step and with bounds beyond the array, newaxis."""
    key: list[Any] = []
    for n in shape:
        kind = rng.random()
        if kind < 0.15 and n:
            key.append(rng.randrange(-n, n))
        elif kind < 0.3:
            key.append(slice(None))
        else:
            start, stop = (rng.choice([None, rng.randint(-n - 2, n + 2)]) for _ in range(2))
            key.append(slice(start, stop, rng.choice(STEPS)))
    if rng.random() < 0.2:
        key.insert(rng.randrange(len(key) + 1), None)
    if rng.random() < 0.1:
        at = rng.randrange(len(key) + 1)
        key[at:] = [Ellipsis]
    return tuple(map(_of_numpys_integers, key) if rng.random() < 0.15 else key)


def _of_numpys_integers(k: Any) -> Any:
    """An index, or a slice, with NumPy's integers in the place of Python's."""
    if isinstance(k, slice):
        return slice(*map(_of_numpys_integers, (k.start, k.stop, k.step)))
    return np.int64(k) if isinstance(k, int) else k


def random_fitting_key(rng: random.Random, shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[Any, ...] | None:
    """An index of an array of a shape, of what broadcasts to another one; None where the array is too small."""
    key: list[Any] = [0] * max(len(shape) - len(target), 0)
    if 0 in shape[:len(key)]:
        return None
    for m, n in zip(shape[len(key):], target[max(len(target) - len(shape), 0):], strict=True):
        if m and (m < n or rng.random() < 0.15):
            i = rng.randrange(m)
            key.append(slice(i, i + 1))
        elif m < n:
            return None
        else:
            key.append(random_section(rng, m, n))
    return tuple(key)


def random_section(rng: random.Random, m: int, n: int) -> slice:
    """n of m indices, at any distance."""
    step = rng.choice([s for s in (1, 1, 1, -1, 2, -2, 3) if (n - 1) * abs(s) < m])
    span = max((n - 1) * abs(step) + 1, 0) if n else 0
    first = rng.randint(0, m - span)
    if not n:
        return slice(first, first)
    if step > 0:
        return slice(first, first + span, None if step == 1 else step)
    return slice(first + span - 1, first - 1 if first else None, step)


def random_view(rng: random.Random, view: View, model: NDArray[Any]) -> tuple[View, NDArray[Any]]:
    """A chain of indices and transpositions, of a view and of a NumPy array that stands for it."""
    for _ in range(rng.randint(0, 3)):
        key = random_key(rng, view.shape)
        view, model = view.index(key), model[(*key, ...) if Ellipsis not in key else key]
        if view.ndim > 1 and rng.random() < 0.3:
            axes = rng.sample(range(view.ndim), view.ndim)
            view, model = view.transpose(axes), model.transpose(axes)
    return view, model


def random_source(rng: random.Random, shape: tuple[int, ...], n_procs: int) -> tuple[View, NDArray[np.int64]]:
    """A view of the given shape, of an array larger than it, and the global (flat) indices of its elements.

    With any steps, dimensions in any order, fixed indices, and new axes.
    """
    order = rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.3 else list(range(len(shape)))
    key: list[Any] = []
    base_shape = []
    for n in (shape[d] for d in order):
        if n == 1 and rng.random() < 0.3:
            key.append(None)
            continue
        step = rng.choice([1, 1, 1, 2, 3, -1, -2, 4, 7])
        before, after = rng.randint(0, 4), rng.randint(0, 4)
        span = (n - 1) * abs(step) + 1 if n else 0
        base_shape.append(before + span + after)
        if step > 0 or not n:
            key.append(slice(before, before + span, abs(step)))
        else:
            key.append(slice(before + span - 1, before - 1 if before else None, step))
        if rng.random() < 0.15:
            extent = rng.randint(1, 6)
            base_shape.append(extent)
            key.append(rng.randrange(extent))
    data = np.arange(math.prod(base_shape)).reshape(base_shape)
    view = whole(random_layout(rng, tuple(base_shape), n_procs))
    back = [order.index(d) for d in range(len(shape))]
    return view.index(tuple(key)).transpose(back), data[tuple(key)].transpose(back)


def storages(layout: Layout, data: NDArray[Any]) -> list[NDArray[Any]]:
    """The local parts of an array on every simulated process, by the meaning of a layout, element for element."""
    parts = []
    for rank in range(layout.n_procs):
        part = np.full(layout.local_shape(rank), -1, data.dtype)
        parts.append(part)
        coords = layout.coords_from_rank(rank)
        if not layout.holds(coords):
            continue
        held, local = [], []
        for d, dim in enumerate(layout.dims):
            owner, place = places(dim)
            i = np.flatnonzero(owner == layout.dim_coord(d, coords))
            held.append(i)
            local.append(place[i])
        part[np.ix_(*local)] = data[np.ix_(*held)]
    return parts


@functools.lru_cache(maxsize=4096)
def places(dim: Dim) -> NDArray[np.int64]:
    """Owner and local index of each index of a dimension: the first by asking, the second by counting."""
    counts: dict[int, int] = {}
    found = np.empty((2, dim.extent), np.int64)
    for i in range(dim.extent):
        owner = int(dim.owner_from_part(dim.part_from_index(i)))
        found[:, i] = owner, counts.get(owner, 0)
        counts[owner] = counts.get(owner, 0) + 1
    return found


def castable(x: Any, dtype: np.dtype[Any]) -> bool:
    """Whether the cast is defined: C leaves numbers open that an integer type cannot hold."""
    x = np.asarray(x)
    if x.dtype == np.float16:
        x = x.astype(float)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        return False  # NumPy warns that the imaginary part is lost
    if dtype.kind not in "iu" or x.dtype.kind not in "fc":
        return True
    info = np.iinfo(dtype)
    return bool(np.isfinite(x).all() and (x > info.min - 1).all() and (x < float(info.max)).all())
