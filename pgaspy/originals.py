"""Originals: arrays that `reshape` has made copies of, where NumPy makes views.

What is written to such a copy is not seen in the array, as it would be in NumPy. So the copy knows what it was made of,
by weak references, until it is written to for the first time: if that is still there, the program is told.
"""

from __future__ import annotations

import weakref
from typing import Any

from pgaspy.caches import cached
from pgaspy.host.call_sites import warn

__all__ = ["Originals", "is_vector", "is_view", "originals_of", "tell"]

Originals = tuple["weakref.ref[Any]", ...]
"""What a copy was made of, and what that is a copy of, if it is one."""


def originals_of(array: Any, others: Originals | None) -> Originals:
    """What a copy of an array was made of, which may be a copy of others."""
    own = weakref.ref(array)
    return (own, *[other for other in others if other() is not None]) if others else (own,)


def tell(copy: Any) -> None:
    """Warn, once, that a copy is written to, and not what it was made of, if any of that is still there.

    Nothing else depends on that: it differs from process to process when garbage is collected.
    """
    originals, copy.original = copy.original, None
    if any(original() is not None for original in originals):
        warn("what is written to this array is not seen in the one that was reshaped, of which it is a copy here and a "
             "view in NumPy: write to that one, as by A[...] = x or A.flat[...] = x, or make a copy of your own, by "
             "A.reshape(...).copy() or A.flatten()", RuntimeWarning)


@cached
def is_view(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, extents: tuple[int, ...]) -> bool:
    """Whether NumPy's `reshape` makes a view of an array that has elements: where each dimension of the result lies in
    dimensions of the array whose elements follow one on the other.
    """
    own = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n != 1]
    wanted = [n for n in extents if n != 1]
    while own:
        (n, stride), m = own.pop(), wanted.pop()
        while n != m:
            if m < n:
                m *= wanted.pop()
            else:
                extent, outer = own.pop()
                if outer != n * stride:
                    return False
                n *= extent
    return True


@cached
def is_vector(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, extents: tuple[int, ...]) -> bool:
    """Whether NumPy's `ravel` does: where there are no gaps between the elements either."""
    own = [stride for n, stride in zip(shape, strides, strict=True) if n != 1]
    return (not own or own[-1] == itemsize) and is_view(shape, strides, itemsize, extents)
