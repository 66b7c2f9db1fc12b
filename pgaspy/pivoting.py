"""Row exchanges, as partial pivoting makes them: which rows is data, and the messages do not depend on it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray, check_array
from pgaspy.caches import cached
from pgaspy.creation import empty
from pgaspy.lapack import permute_rows
from pgaspy.movement import combine, replicate
from pgaspy.tasks import schedule, update, write

__all__ = ["either", "exchange_rows"]


def exchange_rows(A: GlobalArray, pivots: GlobalArray, start: int = 0) -> None:
    """Exchange row `start + j` of a matrix with row `pivots[j]`, for j = 0, 1, … in turn. Collective.

    As LAPACK's `laswp`. All exchanges are done at once. Where rows are dealt out over processes, the rows from `start`
    on are replicated along that axis of the grid, and so are those that take their places: whatever the pivots are, it
    takes the same messages, and nobody waits to learn them.

    Parameters
    ----------
    A
        Shape (m, n): a matrix, or a view of one that has a layout of its own.
    pivots
        Shape (b,), integers, start + b <= m: row indices of `A`, pivots[j] >= start + j. Every process that has a part
        of `A` holds all of them; see `replicate`.
    start
        The first row.

    Raises
    ------
    ValueError
        If the shapes do not go together, or a process with a part of `A` does not hold all pivots.
    TypeError
        If the pivots are no integers, or `A` or they are no global arrays.
    TaskError
        Later, if a pivot is no row from its own one on.
    """
    check_array(A, "exchange_rows")
    check_array(pivots, "exchange_rows")
    start = operator.index(start)
    b = pivots.shape[0] if pivots.ndim == 1 else -1
    if pivots.dtype != np.int64:
        raise TypeError(f"pivots are integers (int64), not {pivots.dtype}")
    if A.ndim != 2 or not 0 <= start <= start + b <= A.shape[0]:
        raise ValueError(f"{pivots.shape} pivots from row {start} on do not go with a matrix of shape {A.shape}")
    pins = [pin for pin in pivots.layout.pins if pin is not None]
    if pivots.layout.dims[0].n_procs > 1 or (pins and pivots.layout.pins != A.layout.pins):
        raise ValueError("exchange_rows takes pivots that every process holds: replicate() them")
    if not A.size or not b:
        return
    axis, rest = A.layout.dims[0].axis, A[start:]
    if axis is None or A.layout.dims[0].n_procs == 1:
        schedule(_exchange, update(rest), pivots, start, A.shape[0])
        return
    before = replicate(rest[:b], axis)
    after = empty(before.shape, before.dtype, layout=before.layout)
    rows = rest.global_indices(0) + start
    schedule(_pick, write(after), rest, pivots, start, rows, A.shape[0])
    combine(either, after)
    schedule(_place, update(rest), pivots, start, rows, before, after)


def _moves(pivots: NDArray[np.int64], start: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(targets, sources): which row comes to which place by the exchanges; first the rows from `start` on."""
    return _moves_of(pivots.tobytes(), start)


@cached
def _moves_of(pivots: bytes, start: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same, found again for the other columns."""
    source_from_row: dict[int, int] = {}
    pivots_ = np.frombuffer(pivots, np.int64).tolist()
    for j, p in enumerate(pivots_, start):
        of_j = source_from_row.get(j, j)
        source_from_row[j] = source_from_row.get(p, p)
        source_from_row[p] = of_j
    n = len(pivots_)
    targets = [*range(start, start + n), *(row for row in source_from_row if row >= start + n)]
    return np.array(targets), np.array([source_from_row[row] for row in targets])


def _check_pivots(pivots: NDArray[np.int64], start: int, n_rows: int) -> None:
    wrong = np.flatnonzero((pivots < np.arange(start, start + len(pivots))) | (pivots >= n_rows))
    if len(wrong):
        j = int(wrong[0])
        raise ValueError(f"pivots[{j}] is {pivots[j]}: row {start + j} of {n_rows} is exchanged with itself or a later "
                         "one")


def _exchange(a: NDArray[Any], pivots: NDArray[np.int64], start: int, n_rows: int) -> None:
    """All rows from `start` on are here; a process that has none is not called."""
    _check_pivots(pivots, start, n_rows)
    targets, sources = _moves(pivots, start)
    order = np.arange(len(a))
    order[targets - start] = sources - start
    permute_rows(a, order)


def _pick(after: NDArray[Any], a: NDArray[Any], pivots: NDArray[np.int64], start: int, rows: NDArray[np.int64],
          n_rows: int) -> None:
    """Of the rows that come to the first places, those that are here; zeros for the others."""
    _check_pivots(pivots, start, n_rows)
    sources = _moves(pivots, start)[1][:len(pivots)]
    local, is_here = _local(sources, rows)
    after[...] = 0
    after[is_here] = a[local[is_here]]


def either(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """Of two arrays, each element from where it is not zero, for `combine`; by bits, as there are negative zeros."""
    shape = lower.shape
    bits = lower.reshape(-1).view(np.uint8) | higher.reshape(-1).view(np.uint8)
    return bits.view(lower.dtype).reshape(shape)


def _place(a: NDArray[Any], pivots: NDArray[np.int64], start: int, rows: NDArray[np.int64], before: NDArray[Any],
           after: NDArray[Any]) -> None:
    """Put the rows that are known now in their places, those that lie here."""
    targets, sources = _moves(pivots, start)
    n = len(pivots)
    local, is_here = _local(targets, rows)
    first, other = is_here[:n], is_here[n:]
    a[local[:n][first]] = after[first]
    a[local[n:][other]] = before[sources[n:][other] - start]


def _local(wanted: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Local indices of global rows, and which of them are here; `rows` are those that are, in ascending order."""
    if not len(rows):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    local = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return local, rows[local] == wanted
