"""Caches: what is made once and found again, all of it together in a bounded number of bytes.

Two generations are kept. What is made, and what is found again in the older generation, goes to the younger one; when
that is half of what there may be, the older one is dropped, and the younger becomes the older. So what is not used for
a generation goes, the least recently used first, and to look something up is to look into a dictionary, and no more.

What an entry takes is estimated once, when it comes to a generation: of one entry of a cache in `SAMPLED`, by a walk
through the objects that it alone leads to; of the others it is taken to be as much. What is kept in a cache itself,
such as a view, is counted there, and not where others refer to it. The sum for many operations is between what
`tracemalloc` counts and a quarter more, which does not see what C allocates; `tests/test_caches.py` compares them.

The collector of cyclic garbage does not look at what is kept, as far as it is made of tuples, lists, dictionaries, and
objects of `acyclic` types: what a program keeps of statements that it never makes again is tens of objects each,
and to go through all of them whenever there are a quarter more took a third of the time of such programs.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, TypeVar

import numpy as np

from pgaspy._caches import SAMPLED, Cached, Generation, Generations, begin, lazy

__all__ = ["MAX_BYTES", "Cache", "EvenCache", "acyclic", "cached", "kept", "kept_types", "lazy", "own_sizes", "size_of"]

MAX_BYTES = 64 << 20
"""What all caches take together. One entry that takes more than half of it stays until the next generation is full."""

ENTRY_BYTES = 160
"""Of an entry besides its key and its value: its places in dictionaries, half of which are empty."""

_Class = TypeVar("_Class", bound=type)
_Result = TypeVar("_Result")


class _Kept(Generations):
    """The two generations of all caches."""

    def __init__(self) -> None:
        super().__init__(MAX_BYTES)
        self._older: list[Cache] = []

    def turn(self) -> None:
        """Drop the older generation, and begin a younger one."""
        self.nbytes, self.nbytes_older = 0, self.nbytes
        older, self._older, self.younger = self._older, self.younger, []
        self.untrack()
        for cache in older:
            cache.older = {}
        for cache in self._older:
            if cache:  # else it is here for the second time, as all of it was forgotten meanwhile
                cache.grow_old()


kept = _Kept()
begin(kept)


def acyclic(kind: _Class) -> _Class:
    """Say of a type, of whose objects many are kept, that none of them leads to itself."""
    kept.acyclic.add(kind)
    return kind


class Cache(Generation):
    """The younger generation of one cache: `cache[key]` is what is kept of either generation, or None.

    Parameters
    ----------
    size
        What a key and a value take, in bytes.
    units
        How large an entry is, by its key, against others of the cache.
    """

    __slots__ = ("_bytes_per_unit", "_size", "_units")

    def __init__(self, size: Callable[[Any, Any], int] | None = None,
                 units: Callable[[Any], int] | None = None) -> None:
        super().__init__()
        self._size, self._units, self._bytes_per_unit = size, units, 0.0

    def _estimated(self, key: Any, value: Any) -> int:
        """What an entry takes, in bytes: measured now and then, from which the others follow."""
        if value.__class__ not in kept_types:
            kept_types[value.__class__] = True
        n_units = 1 if self._units is None else self._units(key)
        if self.n_kept % SAMPLED == 0:
            nbytes = ENTRY_BYTES + size_of(key, value) if self._size is None else self._size(key, value)
            before = self._bytes_per_unit if self.n_kept else nbytes / n_units
            self._bytes_per_unit = (before + nbytes / n_units) / 2
        found = int(self._bytes_per_unit * n_units)
        if self._units is None:
            self.nbytes_each = found
        return found

    def grow_old(self) -> None:
        """Become the older generation, and begin a younger one."""
        self.older = self.copy()
        self.clear()

    def forget(self) -> None:
        """Forget everything."""
        kept.untrack()
        self.older = {}
        self.clear()


@acyclic
class EvenCache(Cache):
    """One of which all entries take as many bytes; their class is one of `kept_types`."""

    __slots__ = ()

    def __init__(self, nbytes: int) -> None:
        Generation.__init__(self, nbytes)


def cached(function: Callable[..., _Result]) -> Cached[_Result]:
    """As `functools.cache` does, for a function of a module whose results are kept in the bound that all caches share.

    It takes no keywords, and is no method. `cache_clear()` forgets its results; `n_made` counts how often it has
    computed one.
    """
    cache = Cache()
    found: Any = functools.update_wrapper(Cached(function, cache), function)
    found.cache_clear = cache.forget
    result: Cached[_Result] = found
    return result


_ATOMS = (int, float, complex, str, bool, NoneType, type, np.dtype, np.ufunc, BuiltinFunctionType, ModuleType, CodeType)
"""What many things share, or is of no account."""

kept_types: dict[type, bool] = dict.fromkeys((tuple, dict, list, bool, NoneType), False)
"""The types of what is kept in caches, and whether all objects of the type are: of some, others are part of these."""

own_sizes: dict[type, Callable[[Any], int]] = {}
"""For types whose objects hold memory that `sys.getsizeof` does not know, what they take in all."""


def size_of(*objects: Any) -> int:
    """The bytes of objects and of all that they lead to, without what is kept in caches, or is code."""
    nbytes, seen = 0, set(map(id, objects))
    found = [*objects]
    while found:
        x = found.pop()
        kind = type(x)
        nbytes += own_sizes.get(kind, sys.getsizeof)(x)
        referents = (x.__closure__, x.__defaults__) if kind is FunctionType else gc.get_referents(x)
        for other in referents:
            if id(other) not in seen and not isinstance(other, _ATOMS) and not kept_types.get(type(other)):
                seen.add(id(other))
                found.append(other)
    return nbytes
