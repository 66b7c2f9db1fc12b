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

from pgaspy._caches import lazy, untrack

__all__ = ["MAX_BYTES", "Cache", "EvenCache", "acyclic", "cached", "kept", "kept_types", "lazy", "own_sizes", "size_of"]

MAX_BYTES = 64 << 20
"""What all caches take together. One entry that takes more than half of it stays until the next generation is full."""

SAMPLED = 64
"""A walk takes longer than much of what is kept takes to make."""

N_LATELY = 64
"""So many entries come before the collector is told of them, as most of what is worked out about them is there then."""

ENTRY_BYTES = 160
"""Of an entry besides its key and its value: its places in dictionaries, half of which are empty."""

_Class = TypeVar("_Class", bound=type)
_Result = TypeVar("_Result")


class _Kept:
    """The two generations of all caches.

    Attributes
    ----------
    nbytes, nbytes_older
        What the younger generation takes, and the older one, less what has left it.
    younger
        The caches that have entries of the younger generation.
    lately
        The keys and values that the collector still looks at.
    """

    def __init__(self) -> None:
        self.nbytes = self.nbytes_older = 0
        self.younger: list[Cache] = []
        self.lately: list[Any] = []
        self._older: list[Cache] = []

    def turn(self) -> None:
        """Drop the older generation, and begin a younger one."""
        self.nbytes, self.nbytes_older = 0, self.nbytes
        older, self._older, self.younger = self._older, self.younger, []
        self.untrack()
        for cache in older:
            cache.older = {}
        for cache in self._older:
            cache.grow_old()

    def untrack(self) -> None:
        """Tell the collector of what was kept lately."""
        lately, self.lately = self.lately, []
        untrack(lately, _acyclic)


kept = _Kept()

_acyclic: set[type] = set()


def acyclic(kind: _Class) -> _Class:
    """Say of a type, of whose objects many are kept, that none of them leads to itself."""
    _acyclic.add(kind)
    return kind


class Cache(dict[Any, Any]):
    """The younger generation of one cache: `cache[key]` is what is kept of either generation, or None.

    Parameters
    ----------
    size
        What a key and a value take, in bytes.
    units
        How large an entry is, by its key, against others of the cache.
    """

    __slots__ = ("_bytes_per_unit", "_n_kept", "_nbytes_each", "_size", "_units", "older")

    def __init__(self, size: Callable[[Any, Any], int] | None = None,
                 units: Callable[[Any], int] | None = None) -> None:
        super().__init__()
        self._size, self._units = size, units
        self._n_kept, self._bytes_per_unit, self._nbytes_each = 0, 0.0, 0
        self.older: dict[Any, Any] = {}

    def __missing__(self, key: Any) -> Any:
        value = self.older.pop(key, None)
        if value is None:
            return None
        kept.nbytes_older -= self.keep(key, value)
        return value

    def keep(self, key: Any, value: Any) -> int:
        """Have a value found again; what it takes, in bytes."""
        nbytes = self._nbytes_each
        if not nbytes or not self._n_kept % SAMPLED:
            nbytes = self._estimated(key, value)
        self._n_kept += 1
        return self._keep(key, value, nbytes)

    def _keep(self, key: Any, value: Any, nbytes: int) -> int:
        if kept.nbytes + nbytes > MAX_BYTES // 2:
            kept.turn()
        kept.nbytes += nbytes
        if not self:
            kept.younger.append(self)
        self[key] = value
        kept.lately += key, value
        if len(kept.lately) > 2 * N_LATELY:
            kept.untrack()
        return nbytes

    def _estimated(self, key: Any, value: Any) -> int:
        """What an entry takes, in bytes: measured now and then, from which the others follow."""
        if value.__class__ not in kept_types:
            kept_types[value.__class__] = True
        n_units = 1 if self._units is None else self._units(key)
        if self._n_kept % SAMPLED == 0:
            nbytes = ENTRY_BYTES + size_of(key, value) if self._size is None else self._size(key, value)
            before = self._bytes_per_unit if self._n_kept else nbytes / n_units
            self._bytes_per_unit = (before + nbytes / n_units) / 2
        found = int(self._bytes_per_unit * n_units)
        if self._units is None:
            self._nbytes_each = found
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
        self._nbytes_each = nbytes
        self.older = {}

    def keep(self, key: Any, value: Any) -> int:
        """Have a value found again; what it takes, in bytes."""
        return self._keep(key, value, self._nbytes_each)


class _CacheOfFunction(Cache):
    """The results of a function, by its arguments; `functools` finds those of the younger generation by itself."""

    __slots__ = ("_forget_younger",)

    def __init__(self) -> None:
        super().__init__()
        self._forget_younger: Callable[[], None] = lambda: None

    def begin(self, forget_younger: Callable[[], None]) -> None:
        """Take what has `functools` forget."""
        self._forget_younger = forget_younger

    def grow_old(self) -> None:
        super().grow_old()
        self._forget_younger()

    def forget(self) -> None:
        super().forget()
        self._forget_younger()


def cached(function: Callable[..., _Result]) -> functools._lru_cache_wrapper[_Result]:
    """`functools.lru_cache`, for a function whose results are kept in the bound that all caches share.

    It takes no keywords. `cache_clear()` forgets its results; `n_made` counts how often it has computed one.
    """
    cache = _CacheOfFunction()

    def find(*args: Any) -> Any:
        value = cache[args] if cache.older else None
        if value is None:
            value = function(*args)
            found.n_made += 1
            cache.keep(args, value)
        return value

    found: Any = functools.lru_cache(maxsize=None)(functools.update_wrapper(find, function))
    found.n_made = 0
    cache.begin(found.cache_clear)
    found.cache_clear = cache.forget
    result: functools._lru_cache_wrapper[_Result] = found
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
