"""Random numbers that are a function of the seed and the global index alone.

Each element is one block of a counter-based generator, Philox4x32-10 (Salmon, Moraes, Dror & Shaw, *Parallel Random
Numbers: As Easy as 1, 2, 3*, SC 2011), keyed by the seed, with the element's row-major global index and the number of
the call as its counter. So every number of processes and every layout gives the same array.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from pgaspy.array import GlobalArray, made
from pgaspy.creation import AnyLayout, Shape, empty
from pgaspy.execution.recording import record, sync
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.planning.segments import global_ranges
from pgaspy.planning.transfers import strides_from_shape
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.kinds.generation import generate
from pgaspy.supervision.recorder import announce

__all__ = ["Generator", "default_rng"]


def default_rng(seed: int | Sequence[int] | np.random.SeedSequence | None = None) -> Generator:
    """A generator of random global arrays; the same on every process. Collective, without a seed.

    Parameters
    ----------
    seed
        As for NumPy's `default_rng`; the operating system's entropy, the same for all processes, if None.
    """
    if seed is None:
        seed = np.random.SeedSequence().entropy
        if world().size > 1:
            sync()
            announce("default_rng", meets=True)
            seed = world().communicator.bcast(seed)
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return Generator(int(sequence.generate_state(1, np.uint64)[0]))


class Generator:
    """Draws random global arrays. Every draw is collective and takes its own numbers.

    The draws take `layout=` and `onenode=` as the creation functions do; `size` is the shape, None for a number.
    """

    def __init__(self, key: int) -> None:
        self._key = key
        self._n_draws = 0

    def random(self, size: Shape | None = None, dtype: DTypeLike = float, *, layout: AnyLayout = None,
               onenode: int | None = None) -> GlobalArray:
        """Uniform numbers in [0, 1), of dtype float64 (53 random bits) or float32 (24). Collective."""
        return self._draw("random", size, dtype, "fd", layout, onenode)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                onenode: int | None = None) -> GlobalArray:
        """Uniform float64 numbers in [low, high). Collective.

        Raises
        ------
        OverflowError
            If the range is not finite.
        """
        low, high = float(low), float(high)
        if not np.isfinite(high - low):
            raise OverflowError(f"uniform: the range from {low} to {high} is not finite")
        return self._draw("uniform", size, float, "d", layout, onenode, low, high)

    def standard_normal(self, size: Shape | None = None, dtype: DTypeLike = float, *, layout: AnyLayout = None,
                        onenode: int | None = None) -> GlobalArray:
        """Normal numbers of mean 0 and variance 1 (by Box and Muller), of dtype float64 or float32. Collective."""
        return self._draw("standard_normal", size, dtype, "fd", layout, onenode)

    def integers(self, low: int, high: int | None = None, size: Shape | None = None, dtype: DTypeLike = np.int64,
                 endpoint: bool = False, *, layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """Integers in [low, high), or [0, low) if high is None; with `endpoint`, high is among them. Collective.

        Every integer is equally likely. Dtypes: int64, int32, uint8, bool.

        Raises
        ------
        ValueError
            If the range is empty, or goes beyond the dtype's.
        """
        if high is None:
            low, high = 0, low
        high = int(high) + endpoint
        low, dtype = int(low), np.dtype(dtype)
        if low >= high:
            raise ValueError(f"low >= high: no integers in [{low}, {high})")
        if dtype.char in "liB?":
            first, last = (0, 1) if dtype.char == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            if low < first or high - 1 > last:
                raise ValueError(f"[{low}, {high}) goes beyond the range of {dtype}, {first} to {last}")
        return self._draw("integers", size, dtype, "liB?", layout, onenode, low, high)

    def _draw(self, kind: str, size: Shape | None, dtype: DTypeLike, chars: str, layout: AnyLayout,
              onenode: int | None, low: Any = 0, high: Any = 1) -> GlobalArray:
        dtype = np.dtype(dtype)
        if dtype.char not in chars:
            raise TypeError(f"Unsupported dtype {dtype} for {kind}: use one of {[np.dtype(c).name for c in chars]}")
        array = empty(() if size is None else size, dtype, layout=layout, onenode=onenode)
        fill = functools.partial(_fill, kind=kind, key=self._key, call=self._n_draws, low=low, high=high)
        self._n_draws += 1
        record(generate(array._view.layout), (array._base.storage,), (fill,))
        return made(array._base, array._view) if size is None else array

    if not TYPE_CHECKING:  # to which every name would be right, then

        def __getattr__(self, name: str) -> Any:
            advice = f": use {_INSTEAD.get(name, _BY_NUMPY)}" if hasattr(np.random.Generator, name) else ""
            raise AttributeError(f"a Generator has no attribute {name!r}{advice}", name=name, obj=self)


_INSTEAD = {
    "exponential": "-scale * pg.log(1 - rng.random(size))",
    "lognormal": "pg.exp(mean + sigma * rng.standard_normal(size))",
    "normal": "loc + scale * rng.standard_normal(size)",
    "standard_exponential": "-pg.log(1 - rng.random(size))",
}
"""What to call instead of draws of NumPy's generators."""

_BY_NUMPY = "pg.array of what NumPy's default_rng(seed) draws, with one seed for all processes"


def _fill(storage: Storage, kind: str, key: int, call: int, low: Any, high: Any) -> None:
    """Fill the local part of an array; the other side of its ranges is the global index."""
    layout = storage.layout
    coords = layout.coords_from_rank(world().rank)
    if not layout.holds(coords) or not storage.local.size:
        return
    ranges = [global_ranges(dim, layout.dim_coord(d, coords)) for d, dim in enumerate(layout.dims)]
    bindings.fill_random(kind, storage.dtype.char, storage.address, storage.local.strides, bindings.OWN,
                        strides_from_shape(layout.shape), bindings.OTHER, ranges,
                        key=key, call=call, low=low, high=high)


if not TYPE_CHECKING:  # to which every name would be right, then

    def __getattr__(name: str) -> Any:
        advice = ": use the generator that default_rng(seed) returns" if hasattr(np.random, name) else ""
        raise AttributeError(f"module 'pgaspy.random' has no attribute {name!r}{advice}", name=name,
                             obj=sys.modules[__name__])
