"""Random orders, and what is chosen: by sorting random keys, or by indices."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.creation import AnyLayout, Shape, as_operand
from pgaspy.job.defaults import layout_for
from pgaspy.random.drawing import LEAST, Drawing, joint_size
from pgaspy.scheduling.floating_point import silently
from pgaspy.values import told

__all__ = ["Rearranging"]

FEW_OF = 64
"""Of so many times as many elements, those that are chosen once are drawn one by one."""


class Rearranging(Drawing):
    """The draws of elements of what there is."""

    def choice(self, a: Any, size: Shape | None = None, replace: bool = True, p: Any = None, axis: int = 0,
               shuffle: bool = True, *, layout: AnyLayout = None, onenode: int | None = None) -> Any:
        """Elements of an array, or integers below one. Collective.

        Parameters
        ----------
        a
            An array, or how many integers from 0 on there are.
        size
            The shape of the choice, which takes the place of dimension `axis`; None for one element.
        replace
            Whether an element may be chosen again. If not, each element of `a` has a random key, and the least are
            chosen; but few of many are drawn until they differ, on every process.
        p
            The probability of each element, shape (n,), the same for all by default; it comes to every process.
        axis
            The dimension whose elements are chosen.
        shuffle
            For NumPy's sake; all orders of what is chosen are possible.

        Raises
        ------
        ValueError
            For nothing to choose from, more elements than there are, or no probabilities.
        """
        array = None if _is_integer(a) else as_operand(a)
        if array is not None and not array.ndim:
            raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
        n = operator.index(a) if array is None else array.shape[normalize_axis_index(axis, array.ndim)]
        shape = joint_size(size)
        if n <= 0 and 0 not in shape:
            raise ValueError("a must be a positive integer unless no samples are taken" if array is None else
                             "a cannot be empty unless no samples are taken")
        weights = None if p is None else _probabilities(p, n)
        where: dict[str, Any] = {"layout": layout, "onenode": onenode}
        if replace:
            which = self._chosen_again(n, None if size is None else shape, weights, where)
        else:
            which = self._chosen_once(n, shape, weights)
            if layout is not None or onenode is not None:
                which = which.redistribute(layout_for(shape, layout, onenode))
            which = which[()] if size is None else which
        return which if array is None else pg.take(array, which, axis=axis)

    def _chosen_again(self, n: int, size: Shape | None, p: NDArray[Any] | None,
                      where: dict[str, Any]) -> pg.GlobalArray:
        if p is None:
            return self._draw("integers", size, np.int64, "l", low=0, high=max(n, 1), **where)
        edges = p.cumsum()
        return pg.searchsorted(edges / edges[-1], self._draw("random", size, float, "d", **where), side="right")

    def _chosen_once(self, n: int, shape: tuple[int, ...], p: NDArray[Any] | None) -> pg.GlobalArray:
        k = math.prod(shape)
        if k > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if p is None and 0 < k <= n // FEW_OF:
            return pg.array(self._distinct(n, k)).reshape(shape)
        if p is None:
            return self._order(n)[:k].reshape(shape)
        if np.count_nonzero(p) < k:
            raise ValueError("Fewer non-zero entries in p than size")
        x = self._draw("random", n, float, "d", None, None)
        waits = np.log(-np.log(np.maximum(x, LEAST))) - silently(np.log, p)
        return pg.argsort(waits)[:k].reshape(shape)

    def _distinct(self, n: int, k: int) -> NDArray[np.int64]:
        """So many integers below n that differ, in the order in which they are drawn; the same on every process."""
        found = np.empty(0, np.int64)
        while found.size < k:
            drawn = self._draw("integers", k, np.int64, "l", pg.Distribution("*"), None, 0, n).gather()
            found = np.concatenate([found, drawn])
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        return found[:k]

    def permutation(self, x: Any, axis: int = 0) -> pg.GlobalArray:
        """The elements of an array along a dimension, or the integers below one, in a random order. Collective."""
        if _is_integer(x):
            return self._order(operator.index(x))
        x = as_operand(x)
        return pg.take(x, self._order(x.shape[normalize_axis_index(axis, x.ndim)]), axis=axis)

    def permuted(self, x: Any, axis: int | None = None, out: pg.GlobalArray | None = None) -> pg.GlobalArray:
        """The elements along a dimension, each row of them in a random order of its own; of all, if None. Collective.

        With `out`, which may be `x`, they are assigned to that array, and it is returned.
        """
        x = as_operand(x)
        if out is not None and out.shape != x.shape:
            raise ValueError("out must have the same shape as x")
        if axis is None:
            found = pg.take(x.reshape(-1), self._order(x.size)).reshape(x.shape)
        else:
            axis = normalize_axis_index(axis, x.ndim)
            found = pg.take_along_axis(x, pg.argsort(self._keys(x.shape), axis), axis)
        if out is None:
            return found
        out[...] = found
        return out

    def shuffle(self, x: pg.GlobalArray, axis: int = 0) -> None:
        """Put the elements of a global array along a dimension in a random order, in place. Collective."""
        if not isinstance(x, pg.GlobalArray):
            raise TypeError(f"shuffle takes a global array, not a {type(x).__name__}: use permutation")
        x[...] = self.permutation(x, axis)

    def bytes(self, length: int) -> bytes:
        """Random bytes, the same on every process. Collective."""
        return self._draw("integers", length, np.uint8, "B", pg.Distribution("*"), None, 0, 256).gather().tobytes()

    def _order(self, n: int) -> pg.GlobalArray:
        return pg.argsort(self._keys(n))

    def _keys(self, shape: Shape) -> pg.GlobalArray:
        """Integers of 64 bits; where two are the same, the order is that of the indices."""
        return self._draw("integers", shape, np.int64, "l", None, None, -(2**63), 2**63)


def _is_integer(x: Any) -> bool:
    return isinstance(x, int | np.integer) or (isinstance(x, pg.GlobalArray) and not x.ndim and x.dtype.kind in "iu")


def _probabilities(p: Any, n: int) -> NDArray[Any]:
    p = np.asarray(told(p)).astype(float)
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if len(p) != n:
        raise ValueError("a and p must have same size")
    if np.isnan(p.sum()):
        raise ValueError("Probabilities contain NaN")
    if (p < 0).any():
        raise ValueError("Probabilities are not non-negative")
    if abs(p.sum() - 1) > np.sqrt(np.finfo(float).eps):
        raise ValueError("Probabilities do not sum to 1.")
    return p
