"""Medians, quantiles and percentiles: elements at some places of what is sorted, and what lies between two of them.

Where these places are follows from the extent alone, so that all is recorded, and nothing is waited for; but of a long
vector, those elements that are not NaN are counted before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import NDArray

from pgaspy.array import Axis, GlobalArray, into, made
from pgaspy.concatenation import stack
from pgaspy.creation import arange, as_global
from pgaspy.deferred import warn_later
from pgaspy.dispatch import implements
from pgaspy.global_assign import everywhere
from pgaspy.host.call_sites import warn
from pgaspy.job.procgrid import world
from pgaspy.manipulation import broadcast_to, clip, where
from pgaspy.numpy_names import floor, isnan
from pgaspy.order import sort
from pgaspy.selecting import take_along_axis
from pgaspy.small_calls import as_new, by_numpy
from pgaspy.sorting import with_places
from pgaspy.values import told
from pgaspy.weights import fitting, in_order

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

MAX_SLICES = 8
"""Of small arrays, whose quantiles without NaN are NumPy's."""

_ALL_NAN = "All-NaN slice encountered"

MIN_COUNTED = 1 << 15
"""Of a vector of so many elements per process, those that are not NaN are chosen before, so that it is not sorted."""


@implements(np.median)
@by_numpy(np.median, lying="by default", overwrite_input=False)
def median(a: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
           keepdims: bool = False) -> GlobalArray:
    """The middle element along dimensions, or the mean of the two in the middle. Collective.

    Parameters
    ----------
    a
        An array of real numbers.
    axis
        A dimension, or several; all by default.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.
    overwrite_input
        As in NumPy, and without effect: the array stays as it is.
    keepdims
        Keep the dimensions that are reduced, with an extent of 1.

    Returns
    -------
    The other dimensions; NaN where there is one, or no element. Without other dimensions a number, which every process
    holds.

    Raises
    ------
    ValueError
        If there is no such dimension, or one comes twice; or if `out` has another shape.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.median(pg.array([3, 1, 2, 9])))
    2.5
    """
    a = as_global(a)
    rows = _in_rows(a, axis)
    n = rows.shape[-1]
    middle = rows
    if n:
        rows, at = _with_places(rows, {(n - 1) // 2, n // 2})
        middle = rows[..., at[(n - 1) // 2]:at[n // 2] + 1]
    return into(_shaped(_or_nan(middle.mean(-1), rows), a, axis, keepdims), (out,))


@implements(np.quantile)
@by_numpy(np.quantile, lying="by default", overwrite_input=False)
def quantile(a: Any, q: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> GlobalArray:
    """What parts of the elements along dimensions are not above. Collective.

    Parameters
    ----------
    a
        An array of real numbers, dates or times.
    q
        The parts, from 0 to 1: a number, or an array that is the same on every process.
    axis, out, overwrite_input, keepdims
        As for `median`.
    method
        As in NumPy: how to choose, or interpolate, where a part ends between two elements.
    weights
        How much each element counts, for the method "inverted_cdf": of the shape of `a`, or of its dimensions `axis`
        in their order; by default all count the same.

    Returns
    -------
    The dimensions of `q`, and the other ones of `a`; NaN where there is one.

    Raises
    ------
    ValueError
        If a part is not between 0 and 1, for an unknown method, or if there is no such dimension. For weights of
        another shape or for another method, and those that are negative, not finite, or all zero; every process waits
        for that.
    IndexError
        If there are no elements.
    TypeError
        For complex numbers; for weights of another shape, if no `axis` is given.

    Notes
    -----
    Hyndman and Fan, *Sample quantiles in statistical packages* (1996), define nine of the methods.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.quantile(pg.arange(11), [0.1, 0.25]).gather()
    array([1. , 2.5])
    """
    return into(_quantiles(as_global(a), _told(q), type(q) in (int, float), axis, method, keepdims, weights), (out,))


@implements(np.percentile)
@by_numpy(np.percentile, lying="by default", overwrite_input=False)
def percentile(a: Any, q: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> GlobalArray:
    """The same for parts in hundredths, from 0 to 100: see `quantile`. Collective."""
    is_weak = type(q) in (int, float)
    return into(_quantiles(as_global(a), _hundredths(q), is_weak, axis, method, keepdims, weights), (out,))


def _in_few_slices(numpys: Callable[..., Any], n_operands: int) -> Callable[..., Any]:
    """NumPy's function of what is not NaN, which refuses slices without that, of which it warns, and more slices than a
    few, as it goes through them in Python; axes come after so many operands.
    """
    def call(*given: Any, axis: Any = None, **options: Any) -> Any:
        operands, axis = given[:n_operands], given[n_operands] if len(given) > n_operands else axis
        has_any = ~np.isnan(operands[0]).all(axis)
        if has_any.size > MAX_SLICES or not has_any.all() or not np.size(operands[0]) or options.get("weights"):
            raise ValueError
        return numpys(*operands, axis=axis, **options)
    return call


@implements(np.nanmedian)
@by_numpy(_in_few_slices(np.nanmedian, 1), like=as_new)
def nanmedian(a: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> GlobalArray:
    """The median of what is not NaN; NaN where all is. Collective; of a long vector, waits for how much that is.

    All else is as for `median`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.nanmedian(pg.array([3, pg.nan, 1, 2])))
    2.0
    """
    a = as_global(a)
    _check_no_dates(a, "nanmedian")
    if a.dtype.kind not in "fc":
        return median(a, axis, out, keepdims=keepdims)
    if _is_counted_first(a, axis):
        middle = median(_known(a))
        return into(middle.reshape((1,) * a.ndim) if keepdims else middle, (out,))
    rows = sort(_in_rows(a, axis))
    n = _number_of_known(rows)
    middle = stack([_element_at(rows, (n - 1) // 2), _element_at(rows, n // 2)], -1).mean(-1)
    return into(_shaped(_where_any(n, middle), a, axis, keepdims), (out,))


@implements(np.nanquantile)
@by_numpy(_in_few_slices(np.nanquantile, 2), like=as_new)
def nanquantile(a: Any, q: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> GlobalArray:
    """Quantiles of what is not NaN; NaN where all is. Collective; of a long vector, waits for how much that is.

    All else is as for `quantile`.

    Parameters
    ----------
    a, q, axis, out, overwrite_input, method, keepdims, weights
        As for `quantile`.

    Examples
    --------
    >>> import pgaspy as pg
    >>> float(pg.nanquantile(pg.array([3, pg.nan, 1, 2]), 0.75))
    2.5
    """
    return into(_nanquantiles(as_global(a), _told(q), type(q) in (int, float), axis, method, keepdims, weights), (out,))


@implements(np.nanpercentile)
@by_numpy(_in_few_slices(np.nanpercentile, 2), like=as_new)
def nanpercentile(a: Any, q: Any, axis: Axis = None, out: GlobalArray | None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> GlobalArray:
    """The same for parts in hundredths, from 0 to 100: see `nanquantile`. Collective."""
    is_weak = type(q) in (int, float)
    return into(_nanquantiles(as_global(a), _hundredths(q), is_weak, axis, method, keepdims, weights), (out,))


def _nanquantiles(a: GlobalArray, q: Any, is_weak: bool, axis: Axis, method: str, keepdims: bool,
                  weights: Any) -> GlobalArray:
    _check_no_dates(a, "nanquantile")
    _check_quantiles(a, q, method)
    if not a.size:
        _number_of_known(_in_rows(a, axis))
        return a.mean(axis, keepdims=keepdims)  # as NumPy has it: NaN, whatever the parts are
    if a.dtype.kind != "f":
        return _quantiles(a, q, is_weak, axis, method, keepdims, weights)
    if weights is not None:
        return _weighted(a, q, axis, method, keepdims, weights, leaves_nan_out=True)
    if _is_counted_first(a, axis):
        results = _quantiles(_known(a), q, is_weak, None, method, False)
        return results.reshape((*q.shape, *(1,) * a.ndim)) if keepdims else results
    rows = sort(_in_rows(a, axis))
    n = _number_of_known(rows)
    dtype = rows.dtype if is_weak else np.result_type(rows.dtype, q.dtype)

    def found(part: Any) -> GlobalArray:
        if method == "linear" and isinstance(part, np.integer):
            return _where_any(n, _element_at(rows, (n - 1) * part)).astype(rows.dtype, copy=False)
        place = _METHODS[method](n, float(part))
        before = floor(place)
        low, high = (_element_at(rows, clip(k, 0, n - 1)) for k in (before, before + 1))
        if method in _DISCRETE:
            return _where_any(n, low).astype(rows.dtype, copy=False)
        weight = place - before
        if method in _WEIGHTS:
            weight = where(weight == 0, *_WEIGHTS[method])
        between = where(weight < 0.5, low + (high - low) * weight, high - (high - low) * (1 - weight))
        return _where_any(n, between).astype(dtype, copy=False)
    return _of_parts(found, q, a, axis, keepdims)


def _is_counted_first(a: GlobalArray, axis: Axis) -> bool:
    """Whether what is not NaN is counted first, as for the places that are looked for then."""
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return len(axes) == a.ndim and a.size >= MIN_COUNTED * world().size and a.dtype.kind == "f"


def _known(a: GlobalArray) -> GlobalArray:
    """What is not NaN, as a vector; of NaN alone, that, with a warning."""
    vector = a.reshape(-1)
    found = vector[vector == vector]
    if not found.size:
        warn(_ALL_NAN, RuntimeWarning)
    return found if found.size else vector


def _number_of_known(rows: GlobalArray) -> GlobalArray:
    """How many elements of each row are not NaN; where none is, it is warned of."""
    n: GlobalArray = (~isnan(rows)).sum(-1)
    warn_later(n, np.less_equal, _ALL_NAN if rows.size else "Mean of empty slice")
    return n


def _check_no_dates(a: GlobalArray, name: str) -> None:
    """Refuse dates and times, which may be NaT."""
    if a.dtype.kind in "mM":
        raise TypeError(f"{name} of dates and times is not supported: choose those that are not NaT, as by A[A == A]")


def _element_at(rows: GlobalArray, place: Any) -> GlobalArray:
    """Of each row, the element at a place of its own; zero, where there is no such place."""
    return where(arange(rows.shape[-1]) == place[..., None], rows, 0).sum(-1)


def _where_any(n: GlobalArray, result: GlobalArray) -> GlobalArray:
    """The result, but NaN for rows without elements."""
    return where(n > 0, result, np.nan)


def _quantiles(a: GlobalArray, q: Any, is_weak: bool, axis: Axis, method: str, keepdims: bool,
               weights: Any = None) -> GlobalArray:
    _check_quantiles(a, q, method)
    if weights is not None:
        return _weighted(a, q, axis, method, keepdims, weights)
    rows = _rows_with_elements(a, axis)
    n = rows.shape[-1]
    rows, at = _with_places(rows, {k for part in _each(q) for k in _ends(_place(method, n, part), n)})

    def found(part: Any) -> GlobalArray:
        place = _place(method, n, part)
        low, high = (rows[..., at[k]] for k in _ends(place, n))
        return _or_nan(_between(low, high, place, is_weak, method), rows)
    return _of_parts(found, q, a, axis, keepdims)


def _weighted(a: GlobalArray, q: Any, axis: Axis, method: str, keepdims: bool, weights: Any,
              leaves_nan_out: bool = False) -> GlobalArray:
    """The elements up to which the weights of what is sorted are these parts of all."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = None if axis is None else normalize_axis_tuple(axis, a.ndim)
    fitted = broadcast_to(as_global(fitting(weights, a, axes)), a.shape)
    rows = _rows_with_elements(a, axis)
    if leaves_nan_out:
        _number_of_known(rows)
    rows, shares = in_order(rows, _in_rows(fitted, axis), leaves_nan_out)
    if q.dtype.kind == "f":
        shares = shares.astype(q.dtype, copy=False)

    def found(part: Any) -> GlobalArray:
        place = clip((shares < part).sum(-1), None, rows.shape[-1] - 1)
        element = take_along_axis(rows, place[..., None], -1)[..., 0]
        return element if leaves_nan_out else _or_nan(element, rows)
    return _of_parts(found, q, a, axis, keepdims)


def _of_parts(found: Callable[[Any], GlobalArray], q: Any, a: GlobalArray, axis: Axis,
              keepdims: bool) -> GlobalArray:
    """What is found for each part, in the shape of the parts; nothing, where there are none."""
    results = [_shaped(found(part), a, axis, keepdims) for part in _each(q)]
    if not q.ndim:
        return results[0]
    return stack(results)[:q.size].reshape((*q.shape, *results[0].shape))


def _each(q: NDArray[Any]) -> NDArray[Any]:
    """The parts one after the other; of none, one that tells shape and dtype."""
    return q.reshape(-1) if q.size else np.full(1, 0.5, q.dtype)


def _check_quantiles(a: GlobalArray, q: Any, method: str) -> None:
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if not _are_parts(q):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join(_METHODS)}")


def _told(q: Any) -> NDArray[Any]:
    return np.asarray(told(q))


def _hundredths(q: Any) -> Any:
    parts = np.asarray(_told(q) / 100)
    if not _are_parts(parts):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return parts


def _are_parts(q: Any) -> bool:
    return bool(((q >= 0) & (q <= 1)).all())


def _in_rows(a: GlobalArray, axis: Axis) -> GlobalArray:
    """The elements, the given dimensions as one, the last."""
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    others = [d for d in range(a.ndim) if d not in axes]
    n = math.prod(a.shape[d] for d in axes)
    return a.transpose((*others, *axes)).reshape((*[a.shape[d] for d in others], n))


def _rows_with_elements(a: GlobalArray, axis: Axis) -> GlobalArray:
    """The same, where there are some."""
    rows = _in_rows(a, axis)
    if not rows.shape[-1]:
        raise IndexError("there are no elements to take quantiles of")
    return rows


def _with_places(rows: GlobalArray, places: set[int]) -> tuple[GlobalArray, Mapping[int, int]]:
    """Rows with what they would have at these places if they were sorted, and at the last one, where NaN would be; and
    where that is. It is last.
    """
    wanted = sorted({*places, rows.shape[-1] - 1})
    found, at = with_places(rows._base, rows._view, wanted)
    return GlobalArray(*found), dict(zip(wanted, at, strict=True))


def _shaped(result: GlobalArray, a: GlobalArray, axis: Axis, keepdims: bool) -> GlobalArray:
    """The result with the reduced dimensions, where they are kept; without dimensions, a number on every process."""
    if not keepdims:
        found = result._base, result._view
        return made(*(found if result.ndim else everywhere(*found)))
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return result.reshape([1 if d in axes else n for d, n in enumerate(a.shape)])


def _or_nan(result: GlobalArray, rows: GlobalArray) -> GlobalArray:
    """The result; where there is NaN or NaT, which come last, that."""
    if rows.dtype.kind not in "fcmM" or not rows.shape[-1]:
        return result
    last = rows[..., -1]
    return where(last == last, result, last).astype(result.dtype, copy=False)  # NaN differs from itself


def _between(low: GlobalArray, high: GlobalArray, place: Any, is_weak: bool, method: str) -> GlobalArray:
    """The element at a place, or what is interpolated between the two that it is between."""
    if isinstance(place, int) or (method == "linear" and isinstance(place, np.integer)):
        return low.copy()
    weight = place - int(np.floor(place))
    if method in _WEIGHTS:
        weight = type(weight)(_WEIGHTS[method][bool(weight)])
    return _interpolated(low, high, float(weight) if is_weak else weight)


def _ends(place: Any, n: int) -> tuple[int, int]:
    """The places of n that one is at, or between: the one before, and the next."""
    before = int(np.floor(place))
    return int(np.clip(before, 0, n - 1)), int(np.clip(before + 1, 0, n - 1))


def _interpolated(low: Any, high: Any, weight: Any) -> Any:
    """From the end that is nearer, so that it lies between the two."""
    difference = high - low
    return low + difference * weight if weight < 0.5 else high - difference * (1 - weight)


def _continuous(alpha: float, beta: float) -> Any:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _nearest_odd(n: Any, q: Any) -> Any:
    place = n * q - 1.5
    before = np.floor(place)
    return before + 1 - ((place == before) & (before % 2 == 1))


def _place(method: str, n: int, q: Any) -> Any:
    """Where a part of n elements ends; an integer of the methods that choose one element."""
    found = _METHODS[method](n, q)
    return int(found) if method in _DISCRETE else found


_METHODS: dict[str, Any] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": _nearest_odd,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
"""The place where a part of n elements (a number, or an array) ends: that of one, or one between two of them."""

_DISCRETE = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}
"""The methods that choose one element."""

_WEIGHTS = {"averaged_inverted_cdf": (0.5, 1.0), "midpoint": (0.0, 0.5)}
"""Of the methods that do not interpolate: what the next element counts, at the place of one, and between two."""
