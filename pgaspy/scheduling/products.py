"""Products of floating-point numbers, as pairs of a factor and a power of two: they neither over- nor underflow on the
way, so that zeros do not meet what is infinite only because factors are multiplied apart.

Where nothing over- or underflows, factors are the products themselves, and exponents zero. Else a factor is zero,
infinite, NaN, or has its larger part between 1/2 and 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.scheduling.floating_point import is_telling, noting, silenced, silently, unless_noted

__all__ = ["at_once", "dtype_of", "of_elements", "times", "values_of"]

CHUNK = 1 << 14
"""Factors that are made pairs at a time, so that these stay in the cache."""

BLOCKS = 64, 8
"""Factors that are multiplied as they are, where that is possible, before pairs are made of their products."""

LONG = CHUNK * BLOCKS[0]
"""Factors of which either all blocks are, or none."""

LONGEST_BY_COLUMNS, FEWEST_BY_COLUMNS = 16, 256
"""Factors of the longest rows, and the fewest rows, that are multiplied column by column."""

FARTHEST = 1 << 20
"""An exponent beyond those of all dtypes."""


@cached
def dtype_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of the pairs, of the products' dtype."""
    return np.dtype([("factor", dtype), ("exponent", np.int64)])


@silenced
def times(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """The products of pairs."""
    exponent = lower["exponent"] + higher["exponent"]
    found = unless_noted(lambda: lower["factor"] * higher["factor"])
    if found is not None:
        return _as_pairs(found, exponent)
    lower, higher = (_pairs(x["factor"], x["exponent"]) for x in (lower, higher))
    return _pairs(lower["factor"] * higher["factor"], lower["exponent"] + higher["exponent"])


def values_of(pairs: NDArray[Any]) -> NDArray[Any]:
    """What pairs come to, in the dtype of the products."""
    found: NDArray[Any] = noting("reduce", _scaled, pairs["factor"], np.clip(pairs["exponent"], -FARTHEST, FARTHEST))
    return found


def of_elements(local: NDArray[Any], axes: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The products of elements along some dimensions, as pairs."""
    kept = [d for d in range(local.ndim) if d not in axes]
    shape = [local.shape[d] for d in kept]
    if is_telling():
        noting("reduce", np.multiply.reduce, local, axes, dtype)
    found = at_once(local, axes, dtype)
    if found is not None:
        return _as_pairs(found, 0)
    rows = local.transpose(*kept, *axes).reshape(*shape, -1)
    total = _pairs(np.ones(shape, dtype), 0)
    for start in range(0, rows.shape[-1], LONG):
        part = _of_blocks(rows[..., start:start + LONG], dtype)
        for k in range(0, part.shape[-1], CHUNK):
            total = times(total, _of_rows(silently(part[..., k:k + CHUNK].astype, dtype)))
    return total


def at_once(local: NDArray[Any], axes: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """The products themselves; None if one over- or underflows on the way."""
    found = unless_noted(lambda: _multiplied(local, axes, dtype))
    return None if found is None else np.asarray(found)


def _multiplied(local: NDArray[Any], axes: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """As NumPy multiplies, one after the other; of short rows, column by column, which is what NumPy is fast at: the
    bits are the same, but of complex numbers, whose product has others as a reduction, and of float16.
    """
    if dtype.char not in "fd" or len(axes) != 1 or not (
            1 < local.shape[axes[0]] <= LONGEST_BY_COLUMNS and local.size >= FEWEST_BY_COLUMNS * local.shape[axes[0]]):
        return np.multiply.reduce(local, axes, dtype)
    columns = np.moveaxis(local, axes[0], 0)
    found = np.multiply(columns[0], columns[1], dtype=dtype)
    for column in columns[2:]:
        np.multiply(found, column, out=found)
    return found


@silenced
def _of_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """The products along the last dimension, as pairs."""
    n_at_once = _n_at_once(rows.dtype)
    pairs = _pairs(rows, 0)
    exponent = pairs["exponent"].sum(-1)
    while pairs.shape[-1] > 1:
        starts = np.arange(0, pairs.shape[-1], n_at_once)
        pairs = _pairs(np.multiply.reduceat(pairs["factor"], starts, axis=-1), 0)
        exponent += pairs["exponent"].sum(-1)
    return _pairs(pairs["factor"][..., 0], exponent)


def _of_blocks(rows: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The products of blocks along the last dimension, as large as may be where none over- or underflows, or of one."""
    for n in BLOCKS:
        starts = np.arange(0, rows.shape[-1], n)
        found = unless_noted(partial(np.multiply.reduceat, rows, starts, axis=-1, dtype=dtype))
        if found is not None:
            return found
    return rows


def _n_at_once(dtype: np.dtype[Any]) -> int:
    """So many factors are multiplied without underflow."""
    return max(-np.finfo(dtype).minexp // 2, 2)


def _as_pairs(factor: NDArray[Any], exponent: Any) -> NDArray[Any]:
    """The pairs of factors as they are, and exponents."""
    found = np.empty(np.shape(factor), dtype_of(factor.dtype))
    found["factor"], found["exponent"] = factor, exponent
    return found


def _pairs(factor: NDArray[Any], exponent: Any) -> NDArray[Any]:
    """The pairs that are `factor * 2**exponent`, whose factors neither over- nor underflow when some are multiplied."""
    is_complex = factor.dtype.kind == "c"
    own = np.frexp(np.maximum(abs(factor.real), abs(factor.imag)) if is_complex else factor)[1]
    own = np.where(np.isfinite(factor), own, 0)
    return _as_pairs(_scaled(factor, -own), exponent + own)


def _scaled(factor: NDArray[Any], exponent: NDArray[Any]) -> NDArray[Any]:
    """`factor * 2**exponent`."""
    exponent = exponent.astype(np.intc)
    if factor.dtype.kind != "c":
        return np.asarray(np.ldexp(factor, exponent))
    found = np.empty(factor.shape, factor.dtype)
    found.real, found.imag = np.ldexp(factor.real, exponent), np.ldexp(factor.imag, exponent)
    return found
