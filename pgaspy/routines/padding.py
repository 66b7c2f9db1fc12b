"""Arrays with elements around them, by assignments of whole sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.creation import as_operand
from pgaspy.dispatch import implements
from pgaspy.manipulation import empty_like_result
from pgaspy.reductions import NO_VALUE
from pgaspy.routines.rearranging import moveaxis
from pgaspy.small_calls import MAX_PASSED, by_numpy
from pgaspy.values import told

__all__ = ["pad"]


@implements(np.pad)
@by_numpy(np.pad, max_elements=MAX_PASSED)
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = NO_VALUE,
        end_values: Any = NO_VALUE, stat_length: Any = NO_VALUE, reflect_type: Any = NO_VALUE) -> pg.GlobalArray:
    """An array with elements around it. Collective.

    Parameters
    ----------
    array
        What is in the middle.
    pad_width
        How many elements come before and after it along dimensions: one integer for all, a pair of integers for both
        ends of each, a pair for each dimension, or a dict from dimensions to integers or pairs.
    mode
        What these elements are: "constant", "edge" (the nearest), "linear_ramp" (from the nearest to an end value),
        "maximum", "mean", "median" and "minimum" (along the dimension), "reflect" (mirrored at the nearest),
        "symmetric" (mirrored beyond it), "wrap" (periodic), "empty" (arbitrary).
    constant_values, end_values
        The values of "constant", and those at which a "linear_ramp" ends, given as `pad_width` is: 0 by default.
    stat_length
        How many elements at each end a maximum, mean, median or minimum is of, given as `pad_width` is: all by default.
    reflect_type
        "even" (default), or "odd": those that are mirrored are also subtracted from twice the nearest.

    Returns
    -------
    A new array, dealt out over the grid as the array is.

    Raises
    ------
    ValueError
        For another mode, an argument of another mode, negative widths, or a dimension without elements that is to
        have more, in other modes than "constant" and "empty".
    TypeError
        If widths are no integers; for a function as the mode, which NumPy calls for each vector of elements.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.pad(pg.arange(1, 4), (1, 2), constant_values=9).gather()
    array([9, 1, 2, 3, 9, 9])
    >>> pg.pad(pg.arange(1, 4), 2, "reflect").gather()
    array([3, 2, 1, 2, 3, 2, 1])
    """
    a = as_operand(array)
    widths = _widths(pad_width, a.ndim)
    if callable(mode):
        raise TypeError("a function as the mode of pad is not supported for global arrays: assign to the sections of "
                        'what pad(A, width, "empty") returns')
    if mode not in _OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    keyword, default = _OPTIONS[mode]
    values = {"constant_values": constant_values, "end_values": end_values, "stat_length": stat_length,
              "reflect_type": reflect_type}
    given = {name: value for name, value in values.items() if value is not NO_VALUE}
    if given.keys() - {keyword}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {given.keys() - {keyword}}")
    options = _options(keyword, given.get(keyword, default), a.ndim)
    for d, n in enumerate(a.shape):
        if not n and any(widths[d]) and mode not in ("constant", "empty"):
            raise ValueError(f"can't extend empty axis {d} using modes other than 'constant' or 'empty'")
    padded = empty_like_result(a, tuple(n + sum(w) for n, w in zip(a.shape, widths, strict=True)), a.dtype)
    middle = tuple(slice(left, left + n) for n, (left, _) in zip(a.shape, widths, strict=True))
    padded[middle] = a
    if padded.size and mode in _FILLS:
        for d, n in enumerate(a.shape):
            section = padded[(slice(None),) * (d + 1) + middle[d + 1:]]
            _FILLS[mode](moveaxis(section, d, 0), *widths[d], n, options[d])
    return padded


# Arguments -----------------------------------------------------------------------------------------------------------


_OPTIONS: dict[str, tuple[str, Any]] = {
    "constant": ("constant_values", 0), "edge": ("", None), "empty": ("", None), "linear_ramp": ("end_values", 0),
    "maximum": ("stat_length", None), "mean": ("stat_length", None), "median": ("stat_length", None),
    "minimum": ("stat_length", None), "reflect": ("reflect_type", "even"), "symmetric": ("reflect_type", "even"),
    "wrap": ("", None),
}
"""The keyword that a mode takes, and its default."""


def _widths(pad_width: Any, ndim: int) -> list[Any]:
    """How many elements come before and after, along each dimension."""
    if isinstance(pad_width, dict):
        of_dims: list[Any] = [(0, 0)] * ndim
        for d, width in pad_width.items():
            of_dims[d] = width if isinstance(width, tuple) else (width, width)
        pad_width = of_dims
    widths = np.asarray(told(pad_width))
    if widths.size and widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return _indices(widths, ndim)


def _options(keyword: str, value: Any, ndim: int) -> list[Any]:
    if keyword == "stat_length" and value is not None:
        return _indices(np.round(np.asarray(told(value))).astype(int), ndim)
    return [value] * ndim if value is None or isinstance(value, str) else _pairs(np.asarray(told(value)), ndim)


def _indices(x: Any, ndim: int) -> list[Any]:
    if x.size and x.min() < 0:
        raise ValueError("index can't contain negative values")
    return np.broadcast_to(x, (ndim, 2)).tolist()


def _pairs(x: Any, ndim: int) -> Any:
    """A pair of numbers for each dimension; of NumPy's numbers if there is only one pair, as NumPy has it."""
    pairs = np.broadcast_to(x, (ndim, 2))
    return pairs if x.size <= 2 else pairs.tolist()


# Modes: what comes before and after n elements of the first dimension ------------------------------------------------


def _fill_constant(x: pg.GlobalArray, left: int, right: int, n: int, values: Any) -> None:
    _fill(x, left, right, values)


def _fill_edge(x: pg.GlobalArray, left: int, right: int, n: int, _: Any) -> None:
    _fill(x, left, right, _edges(x, left, n))


def _fill_ramp(x: pg.GlobalArray, left: int, right: int, n: int, ends: Any) -> None:
    first, last = _edges(x, left, n)
    if left:
        x[:left] = _ramp(ends[0], first, left)
    if right:
        x[:left + n - 1:-1] = _ramp(ends[1], last, right)


def _fill(x: pg.GlobalArray, left: int, right: int, values: Iterable[Any]) -> None:
    before, after = values
    if left:
        x[:left] = before
    if right:
        x[-right:] = after


def _edges(x: pg.GlobalArray, left: int, n: int) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    return x[left:left + 1], x[left + n - 1:left + n]


def _ramp(start: Any, stop: pg.GlobalArray, width: int) -> pg.GlobalArray:
    """As many values from `start` on, at equal distances, `stop` being the next one; as NumPy's linspace has them."""
    dtype = np.result_type(start, stop.dtype, 1.0)
    change = np.subtract(stop, start, dtype=dtype)
    step = change / width
    i = np.arange(width, dtype=dtype).reshape(-1, *(1,) * (stop.ndim - 1))
    ramp = pg.where((step == 0).any(), i / width * change, i * step) + start
    return np.floor(ramp) if stop.dtype.kind in "iu" else ramp


def _fill_statistic(function: Callable[..., pg.GlobalArray]) -> Callable[..., None]:
    def fill(x: pg.GlobalArray, left: int, right: int, n: int, lengths: Any) -> None:
        before, after = (n if length is None else min(length, n) for length in lengths or (None, None))
        if function in (pg.max, pg.min) and not (before and after):
            raise ValueError("stat_length of 0 yields no value for padding")
        middle = x[left:left + n]
        first = _statistic(function, middle[:before])
        _fill(x, left, right, (first, first if before == after == n else _statistic(function, middle[n - after:])))
    return fill


def _statistic(function: Callable[..., pg.GlobalArray], x: pg.GlobalArray) -> Any:
    found: Any = function(x, axis=0, keepdims=True)
    return np.rint(found) if x.dtype.kind in "iu" and found.dtype.kind == "f" else found


def _fill_mirrored(first: int) -> Callable[..., None]:
    """Mirrored from the element on that comes first after the nearest, or from the nearest itself."""
    def fill(x: pg.GlobalArray, left: int, right: int, n: int, reflect_type: str) -> None:
        if n == 1:
            _fill_edge(x, left, right, n, None)
            return
        period, start, stop = n - first, left, left + n
        while start or stop < len(x):
            length = (stop - start - first) // period * period  # whole periods of what is there
            before, after = min(length, start), min(length, len(x) - stop)
            nearest = x[start:start + 1], x[stop - 1:stop]
            mirrored = x[start + first:start + first + before][::-1], x[stop - first - after:stop - first][::-1]
            if reflect_type == "odd":
                mirrored = 2 * nearest[0] - mirrored[0], 2 * nearest[1] - mirrored[1]
            x[start - before:start], x[stop:stop + after] = mirrored
            start, stop = start - before, stop + after
    return fill


def _fill_periodic(x: pg.GlobalArray, left: int, right: int, n: int, _: Any) -> None:
    start, stop = left, left + n
    while start or stop < len(x):
        length = (stop - start) // n * n  # whole periods of what is there
        before, after = min(length, start), min(length, len(x) - stop)
        x[start - before:start] = x[start + length - before:start + length]
        x[stop:stop + after] = x[stop - length:stop - length + after]
        start, stop = start - before, stop + after


_FILLS: dict[str, Callable[..., None]] = {
    "constant": _fill_constant, "edge": _fill_edge, "linear_ramp": _fill_ramp, "maximum": _fill_statistic(pg.max),
    "mean": _fill_statistic(pg.mean), "median": _fill_statistic(pg.median), "minimum": _fill_statistic(pg.min),
    "reflect": _fill_mirrored(1), "symmetric": _fill_mirrored(0), "wrap": _fill_periodic,
}
