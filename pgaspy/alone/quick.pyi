"""Most statements on small arrays, in C; see quick.c."""

from collections.abc import Callable
from contextvars import Context, ContextVar
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

def begin(array: type, number: type, kinds: set[type], view: type, like: type, max_elements: int, max_products: int,
          max_depth: int, recording: ModuleType, small: ModuleType, borrowers: set[Any], state: ContextVar[Any],
          silent: Context, of_number: Any, functions: ModuleType, likeness: ModuleType, attempts: object,
          elementwise: int, reduction: int, by_itself: int, /) -> None:
    """Say what is what in Python: the classes of arrays, of numbers, and of what their layouts follow from; the most
    elements of an array, products of numbers, and of what follows one from another; what is under way, who borrows
    elements, NumPy's floating-point state, and a context in which it ignores errors; where numbers come from; the
    modules that say how calls are done; what methods attempt in jobs of several processes, or of large arrays; and the
    addresses of the kernels' functions.
    """

def chosen(condition: Any, x: Any, y: Any, /) -> Any:
    """See `functions.chosen`; the array itself."""

def computed(ufunc: np.ufunc, x: Any, y: Any, is_first: bool, /) -> Any:
    """See `functions.computed`; the array itself."""

def is_assigned(x: Any, key: Any, value: Any, /) -> bool:
    """See `sections.is_assigned`."""

def is_clear() -> bool:
    """See `small.is_clear`."""

def is_computed_into(ufunc: np.ufunc, out: Any, where: Any, x: Any, y: Any, /) -> bool:
    """See `functions.is_computed_into`."""

def is_plain(x: Any, /) -> bool:
    """Whether something may be the elements of an array as it is, in memory of its own."""

class Method:
    """What `method` makes: its name, documentation and signature are its definition's."""

    __wrapped__: Any

def method(kind: str, ufunc: np.ufunc | None, definition: F, /) -> F:
    """A method that is done here where `computed` ("unary", "binary", "reflected" with a Python number, "function"),
    `is_computed_into` ("in place", and "function" with `out`), `product`, `section` or `is_assigned` take it, and else
    by its definition.
    """

def product(x: Any, y: Any, /) -> Any:
    """See `functions.product`; the array itself."""

def ready(x: Any, /) -> Any:
    """See `small.ready`."""

def reduced(ufunc: np.ufunc, x: Any, /) -> Any:
    """See `functions.reduced`, of all elements; the number itself."""

def section(x: Any, key: Any, /) -> Any:
    """See `sections.section`; the array itself."""

def taken(given: tuple[Any, ...], arrays: list[Any], max_elements: int, /) -> Any:
    """See `arguments.taken`, of all arguments: what NumPy takes, in a tuple; None if that is not certain, or
    anything is recorded, whatever has been noted then.
    """
