"""Bits in bytes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dims import whole_dim
from pgaspy.dispatch import implements
from pgaspy.layout import Layout
from pgaspy.small_calls import MAX_PASSED, by_numpy
from pgaspy.tasks import perform

__all__ = ["packbits", "unpackbits"]


def _check_order(bitorder: str) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")


@implements(np.packbits)
@by_numpy(np.packbits, max_elements=MAX_PASSED)
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> pg.GlobalArray:
    """Whether elements are not zero, as bits of bytes. Collective.

    Parameters
    ----------
    a
        An array of integers or booleans.
    axis
        The dimension along which eight elements become one; by default they are taken in row-major order.
    bitorder
        "big": the first element is the highest bit; or "little".

    Returns
    -------
    Unsigned bytes; the last ones are filled with zeros.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If there is no such dimension, or no such order.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.packbits(pg.array([0, 0, 0, 0, 0, 1, 0, 1, 1])).gather()
    array([  5, 128], dtype=uint8)
    """
    a = as_global(a)
    if a.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    _check_order(bitorder)
    rows = _along(a, axis)
    n_bytes = -(-rows.shape[-1] // 8)
    result = _transformed(partial(_pack, bitorder), rows, 8, n_bytes, 1)
    return result if axis is None else pg.moveaxis(result, -1, axis)


@implements(np.unpackbits)
@by_numpy(np.unpackbits, max_elements=MAX_PASSED)
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> pg.GlobalArray:
    """The bits of bytes, as zeros and ones. Collective.

    Parameters
    ----------
    a
        An array of unsigned bytes.
    axis
        The dimension along which one element becomes eight; by default they are taken in row-major order.
    count
        How many bits along the dimension; if negative, how many of the last are left out.
    bitorder
        As for `packbits`.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If there is no such dimension or order, or if more are left out than there are.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.unpackbits(pg.array([6], pg.uint8)).gather()
    array([0, 0, 0, 0, 0, 1, 1, 0], dtype=uint8)
    """
    a = as_global(a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    _check_order(bitorder)
    rows = _along(a, axis)
    n_bits = 8 * rows.shape[-1]
    wanted = n_bits if count is None else operator.index(count) + (n_bits if count < 0 else 0)
    if wanted < 0:
        raise ValueError(f"-count larger than number of elements: {count} of {n_bits}")
    result = _transformed(partial(_unpack, bitorder), rows, 1, n_bits, 8)
    if wanted != n_bits:
        bits, n = result, min(wanted, n_bits)
        result = pg.zeros((*rows.shape[:-1], wanted), np.uint8)
        result[..., :n] = bits[..., :n]
    return result if axis is None else pg.moveaxis(result, -1, axis)


def _transformed(function: Callable[[Any, Any], None], rows: pg.GlobalArray, unit: int, n: int,
                 result_unit: int) -> pg.GlobalArray:
    """What a function of local parts makes of each `unit` elements of a row: `result_unit` ones, n in all."""
    shape = *rows.shape[:-1], n
    layout = rows._view.own_layout
    if layout is not None and layout.dims[-1].n_procs == 1:
        result = pg.empty(shape, np.uint8, layout=Layout(layout.grid, [*layout.dims[:-1], whole_dim(n)], layout.pins))
        perform(function, pg.write(result), rows)
        return result
    n_units = max(-(-rows.shape[-1] // unit // pg.SIZE), 1)  # that a process has
    source, target = (pg.empty(x, kind, layout=pg.Distribution(*["*"] * (rows.ndim - 1), f"cyclic({size * n_units})"))
                      for x, kind, size in ((rows.shape, rows.dtype, unit), (shape, np.uint8, result_unit)))
    source[...] = rows
    perform(function, pg.write(target), source)
    return target.redistribute()


def _pack(bitorder: Any, target: NDArray[np.uint8], source: NDArray[Any]) -> None:
    target[...] = np.packbits(source, -1, bitorder)


def _unpack(bitorder: Any, target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    target[...] = np.unpackbits(source, -1, None, bitorder)


def _along(a: pg.GlobalArray, axis: int | None) -> pg.GlobalArray:
    """The view with the dimension as its last one; of all elements, a vector."""
    return a.ravel() if axis is None else pg.moveaxis(a if a.ndim else a.reshape(1), axis, -1)
