"""Functions that move, search, count or compare elements, and others of few steps: NumPy's, of small arrays.

What is recorded for them takes some hundred microseconds, where NumPy takes a few. In a job of several processes it is
some of these functions, whose arrays come to all processes (see `brought`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pgaspy import brought
from pgaspy.alone import small
from pgaspy.array import of_elements
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.planning.view import whole

__all__ = ["by_numpy"]

F = TypeVar("F", bound=Callable[..., Any])

_REFUSED = "mMe"
"""The dtypes of dates and times, of which NumPy takes more than there is on several processes, and float16, which it
(2.4) does not always sort.
"""


class _NotTaken(Exception):
    """An argument is no small array, nor what NumPy takes as it is."""


def by_numpy(numpys: Callable[..., Any], *, is_brought: bool = False, **fixed: Any) -> Callable[[F], F]:
    """Have a function be NumPy's where its arrays are small, and nothing is recorded, or to be told.

    So it is for functions whose results are new arrays, and are NumPy's to the bit. `fixed` are options of NumPy's
    function, which it is not called with where they are given. Arrays may be brought for functions that wait in any
    case, and whose results lie in the default layouts where no axis is given.
    """
    def register(function: F) -> F:
        names = list(inspect.signature(function).parameters)
        n_given = names.index("out") if "out" in names else len(names)
        others = {*names} - {"out", *fixed}
        n_brought = min(n_given, names.index("axis") if "axis" in names else n_given)

        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if small.is_on and _are_without_out(given, n_given) and options.keys() <= others and recording.is_clear():
                found = _called(numpys, given, {**options, **fixed})
                if found is not None:
                    return found
            elif is_brought and len(given) <= n_brought and options.keys() <= others - {"axis"}:
                found = brought.called(numpys, given, {**options, **fixed}, _REFUSED)
                if found is not None:
                    return found
            return function(*given, **options)
        return call  # type: ignore[return-value]
    return register


def _are_without_out(given: tuple[Any, ...], n: int) -> bool:
    """Whether arguments by position are the first n, or None comes in the place of `out` after them."""
    return len(given) <= n or given[n] is None


def _called(numpys: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The results; None if they are not computed here."""
    sizes: list[int] = []
    try:
        operands = [_taken(x, sizes) for x in given]
        named = {name: _taken(x, sizes) for name, x in options.items()}
    except _NotTaken:
        return None
    if not sizes or not small.takes((sum(sizes),)):
        return None
    found = small.called(functools.partial(numpys, **named), *operands)
    results = found if isinstance(found, tuple) else (found,)
    if any(x is None or (isinstance(x, np.ndarray) and not x.ndim) for x in results):
        return None
    return tuple(map(_made, results)) if isinstance(found, tuple) else _made(found)


def _taken(x: Any, sizes: list[int]) -> Any:
    """An argument as NumPy takes it; the sizes of global arrays are noted."""
    if x.__class__ in small.PLAIN:
        return x
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([_taken(item, sizes) for item in x])
    found = small.operand(x)
    if found is None or found.dtype.char in _REFUSED:
        raise _NotTaken
    if x.__class__ in small.kinds:
        if x._source is None and x._view.layout != default_for(x._view.layout.shape):
            raise _NotTaken  # results lie as it does
        sizes.append(found.size)
    return found


def _made(found: Any) -> Any:
    """A global array of what NumPy's function has given, in memory of its own."""
    if not np.ndim(found):
        return of_elements(np.asarray(found)[()], small.OF_NUMBER)
    elements = np.array(found, np.dtype(found.dtype.str), order="C")
    return of_elements(elements, (whole(default_for(elements.shape)), None, True))
