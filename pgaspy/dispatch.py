"""NumPy's functions that work on global arrays: `numpy.sum(A)` finds `pgaspy.sum` here.

So do operators and methods of arrays what is made of arrays in its turn, as the product of matrices is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["HANDLED", "implements"]

HANDLED: dict[Any, Callable[..., Any]] = {}


def implements(*numpy_functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as what these functions of NumPy do for global arrays."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for numpy_function in numpy_functions:
            HANDLED[numpy_function] = function
        return function
    return register
