"""Recording an operation, in C; see appending.c."""

from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, ModuleType
from typing import Any

from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.operations import Recipe

def begin(recording: ModuleType, state: ContextVar[Any] | None, in_python: Callable[..., None], borrowers: set[Any],
          lent: set[Any], /) -> None:
    """Say what is what in Python: where the queue is, and NumPy's floating-point state; the function that records an
    operation that anything is in the way of; and who borrows elements, or has views of them.
    """

def record(recipe: Recipe, storages: tuple[Storage, ...], values: tuple[Any, ...] = ..., /) -> None:
    """Record an operation on arrays. Collective, unless the recipe is not: all record the same, in one order."""

def where() -> tuple[CodeType, int]:
    """Where the program is that has called pgaspy: the code, and the instruction."""

def frames_left() -> int:
    """How many more frames there may be on the stack, up to the interpreter's limit."""
