"""Bits in bytes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.creation import as_global
from pgaspy.dispatch import implements

__all__ = ["packbits", "unpackbits"]


def _shifts(bitorder: str) -> range:
    """By how much the bits of a byte are shifted, the first one first."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return range(8) if bitorder == "little" else range(7, -1, -1)


@implements(np.packbits)
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
    rows = _along(a, axis)
    result = pg.empty((*rows.shape[:-1], -(-rows.shape[-1] // 8)), np.uint8)
    result[...] = 0
    for k, shift in enumerate(_shifts(bitorder)):
        bits = (rows[..., k::8] != 0).astype(np.uint8) << shift
        result[..., :bits.shape[-1]] |= bits
    return result if axis is None else pg.moveaxis(result, -1, axis)


@implements(np.unpackbits)
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
    rows = _along(a, axis)
    n_bits = 8 * rows.shape[-1]
    wanted = n_bits if count is None else operator.index(count) + (n_bits if count < 0 else 0)
    if wanted < 0:
        raise ValueError(f"-count larger than number of elements: {count} of {n_bits}")
    result = pg.zeros((*rows.shape[:-1], max(n_bits, wanted)), np.uint8)
    for k, shift in enumerate(_shifts(bitorder)):
        result[..., k:n_bits:8] = (rows >> shift) & 1
    result = result[..., :wanted]
    return result if axis is None else pg.moveaxis(result, -1, axis)


def _along(a: pg.GlobalArray, axis: int | None) -> pg.GlobalArray:
    """The view with the dimension as its last one; of all elements, a vector."""
    return a.ravel() if axis is None else pg.moveaxis(a if a.ndim else a.reshape(1), axis, -1)
