"""NumPy's functions that work on global arrays: `numpy.sum(A)` finds `pgaspy.sum` here.

So do operators and methods of arrays what is made of arrays in its turn, as the product of matrices is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["HANDLED", "OTHERS", "implements", "named", "of_numpy_arrays"]

F = TypeVar("F", bound=Callable[..., Any])

HANDLED: dict[Any, Callable[..., Any]] = {}

OTHERS = "others"
"""Stands for the functions that are registered nowhere: its handler takes one of them, and what that is called with."""


def implements(*numpy_functions: Any) -> Callable[[F], F]:
    """Register a function as what these functions of NumPy do for global arrays."""
    def register(function: F) -> F:
        for numpy_function in numpy_functions:
            HANDLED[numpy_function] = function
        return function
    return register


def named(name: str, module: Any = np) -> list[Any]:
    """NumPy's function of a name that not all versions have."""
    return [getattr(module, name)] if hasattr(module, name) else []


def of_numpy_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the program; NumPy's, in the place of that which does the same of global arrays."""
    return next((of_numpy for of_numpy, handler in HANDLED.items() if handler is function), function)
