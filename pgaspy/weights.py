"""Weights: how much each element of an array counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.array import GlobalArray
from pgaspy.manipulation import where
from pgaspy.numpy_names import isfinite
from pgaspy.operands import as_numpy, refuse_masked
from pgaspy.order import argsort
from pgaspy.selecting import take_along_axis
from pgaspy.values import is_any

__all__ = ["fitting", "in_order"]


def fitting(weights: Any, a: GlobalArray, axes: tuple[int, ...] | None) -> Any:
    """Weights that broadcast to an array: of its shape, or of its dimensions `axes` in their order.

    Raises
    ------
    TypeError
        If the shapes differ, and no dimensions are given; for a masked array.
    ValueError
        If the weights have another shape.
    """
    refuse_masked(weights)
    w = weights if isinstance(weights, GlobalArray) else as_numpy(weights)
    if w.shape == a.shape:
        return w
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(a.shape[d] for d in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return w.transpose(tuple(np.argsort(axes)))[tuple(slice(None) if d in axes else None for d in range(a.ndim))]


def in_order(rows: GlobalArray, weights: GlobalArray, leaves_nan_out: bool) -> tuple[GlobalArray, GlobalArray]:
    """Rows in ascending order, and for each element the share of the row's weights up to it. Collective.

    What comes before all weight has a share of -1: no part of a row ends there. What is NaN may have no weight.

    Raises
    ------
    ValueError
        If weights are negative, not finite, or all those of a row are zero; all processes wait for that.
    """
    if is_any(weights < 0):
        raise ValueError("Weights must be non-negative.")
    order = argsort(rows)
    rows, weights = (take_along_axis(a, order, -1) for a in (rows, weights))
    is_empty: Any = False
    if leaves_nan_out:
        counts = rows == rows  # NaN is not equal to itself
        weights, is_empty = where(counts, weights, 0), ~counts.any(-1, keepdims=True)
    shares = weights.cumsum(-1, np.float64)
    totals = where(is_empty, 1, shares[..., -1:])
    if is_any(~isfinite(totals) | (totals == 0)):
        raise ValueError("Weights included NaN, inf or were all zero.")
    shares = shares / totals
    return rows, where(shares == 0, -1, shares)
