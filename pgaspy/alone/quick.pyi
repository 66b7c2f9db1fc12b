"""Most statements on small arrays, in C; see quick.c."""

from collections.abc import Callable
from contextvars import Context, ContextVar
from types import ModuleType
from typing import Any

import numpy as np

def begin(array: type, number: type, kinds: set[type], view: type, like: type, max_elements: int, max_depth: int,
          recording: ModuleType, borrowers: set[Any], state: ContextVar[Any], silent: Context,
          result_dtype: Callable[..., Any], index: Callable[..., Any], index_result: Callable[..., Any],
          likeness: Callable[..., Any], like_of_two: Callable[..., Any], of_number: Any, /) -> None:
    """Say what is what in Python: the classes of arrays, of numbers, and of what their layouts follow from; the most
    elements of an array, and of what follows one from another; what is under way, who borrows elements, NumPy's
    floating-point state, and a context in which it ignores errors; and the functions of `functions` and `likeness`.
    """

def assigned(x: Any, key: Any, value: Any, /) -> bool:
    """See `sections.assigned`."""

def computed(ufunc: np.ufunc, x: Any, y: Any, is_first: bool, /) -> Any:
    """See `functions.computed`; the array itself."""

def computed_in_place(ufunc: np.ufunc, x: Any, y: Any, /) -> bool:
    """See `functions.computed_in_place`."""

def is_clear() -> bool:
    """See `small.is_clear`."""

def ready(x: Any, /) -> Any:
    """See `small.ready`."""

def section(x: Any, key: Any, /) -> Any:
    """See `sections.section`; the array itself."""
