"""Kinds of statements on slices, and what one that was never made before may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["STATEMENTS", "Statement"]


@dataclass(frozen=True)
class Statement:
    """One kind.

    Attributes
    ----------
    text
        As it is written.
    do
        Called with a square array of pgaspy or NumPy, and a number: another statement for each.
    goals
        Per number of processes, the microseconds that it may take when it was never made before.
    """

    text: str
    do: Callable[[Any, int], Any]
    goals: dict[int, float]


def _scale_row(A: Any, k: int) -> None:
    A[k] *= 0.5


def _add_to_element(A: Any, k: int) -> None:
    A[k, 7 * k % len(A)] += 0.5


def _add_to_corner(A: Any, k: int) -> None:
    A[k:, :k + 1] += 0.5


def _subtract_dot_product(A: Any, k: int) -> None:
    A[k, k] -= A[k, :k] @ A[:k, k]


def _subtract_outer_product(A: Any, k: int) -> None:
    A[k + 1:, k + 1:] -= A[k + 1:, k:k + 1] * A[k, k + 1:]


def _read_element(A: Any, k: int) -> float:
    return float(A[k, 3 * k % len(A)])


STATEMENTS = {
    "row": Statement("A[i] *= s", _scale_row, {1: 20, 2: 30}),
    "element": Statement("A[i, j] += s", _add_to_element, {1: 20, 2: 30}),
    "corner": Statement("A[i:, :i+1] += s", _add_to_corner, {1: 40, 2: 80}),
    "dot": Statement("A[j, j] -= A[j, :j] @ A[:j, j]", _subtract_dot_product, {1: 80, 2: 200}),
    "rank-1": Statement("A[j+1:, j+1:] -= A[j+1:, j:j+1] * A[j, j+1:]", _subtract_outer_product, {1: 80, 2: 250}),
    "read": Statement("float(A[i, j])", _read_element, {1: 10, 2: 60}),
}
