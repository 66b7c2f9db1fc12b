"""Attributes that are worked out when they are first asked for, in C; see _lazy.c."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Result = TypeVar("_Result")

class lazy(Generic[_Result]):  # noqa: N801  (it is a decorator)
    """An attribute that is worked out when it is first asked for: `functools.cached_property`, without its lock."""

    __wrapped__: Callable[[Any], _Result]

    def __init__(self, function: Callable[[Any], _Result]) -> None: ...
    def __get__(self, instance: Any, owner: type) -> _Result: ...
