"""What `caches` has in C; see _caches.c."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Result = TypeVar("_Result")

SAMPLED: int
"""Of so many entries of a cache, one is measured."""

class lazy(Generic[_Result]):  # noqa: N801  (it is a decorator)
    """An attribute that is worked out when it is first asked for: `functools.cached_property`, without its lock."""

    __wrapped__: Callable[[Any], _Result]

    def __init__(self, function: Callable[[Any], _Result]) -> None: ...
    def __get__(self, instance: Any, owner: type) -> _Result: ...

class Generations:
    """The two generations of all caches.

    Attributes
    ----------
    max_bytes
        What both may take.
    nbytes, nbytes_older
        What the younger generation takes, and the older one, less what has left it.
    younger
        The caches that have entries of the younger generation.
    acyclic
        The types of which no object leads to itself, and of which many are kept.
    """

    max_bytes: int
    nbytes: int
    nbytes_older: int
    younger: list[Any]
    acyclic: set[type]

    def __init__(self, max_bytes: int) -> None: ...
    def untrack(self) -> None:
        """Have the collector of cyclic garbage not look at what was kept lately any more, nor at what it is made of:
        objects of the types `acyclic`, and tuples, lists and dictionaries.
        """

class Generation(dict[Any, Any]):
    """Entries of one cache, those of the younger generation; of as many bytes each, if that is said.

    Attributes
    ----------
    older
        Those of the older generation.
    n_kept
        How many there have been.
    nbytes_each
        What one takes, in bytes; 0 as long as nobody knows.
    """

    older: dict[Any, Any]
    n_kept: int
    nbytes_each: int

    def __init__(self, nbytes: int = 0) -> None: ...
    def keep(self, key: Any, value: Any) -> int:
        """Have a value found again; what it takes, in bytes."""

class Cached(Generic[_Result]):
    """A function, whose results are found again in a cache by its arguments."""

    __wrapped__: Callable[..., _Result]
    n_made: int
    results: Generation

    def __init__(self, function: Callable[..., _Result], results: Generation) -> None: ...
    def __call__(self, *arguments: Any) -> _Result: ...
    def cache_clear(self) -> None: ...

def begin(kept: Generations) -> None:
    """Say which generations all caches share."""
