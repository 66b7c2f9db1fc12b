"""What `caches` has in C; see _caches.c."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Result = TypeVar("_Result")

class lazy(Generic[_Result]):  # noqa: N801  (it is a decorator)
    """An attribute that is worked out when it is first asked for: `functools.cached_property`, without its lock."""

    __wrapped__: Callable[[Any], _Result]

    def __init__(self, function: Callable[[Any], _Result]) -> None: ...
    def __get__(self, instance: Any, owner: type) -> _Result: ...

def untrack(objects: list[Any], acyclic: set[type]) -> None:
    """Have the collector of cyclic garbage not look at objects any more, nor at what they are made of.

    These are objects of the types `acyclic`, which lead to themselves in no way, and tuples, lists and dictionaries.
    """
