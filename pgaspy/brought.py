"""Small arrays that come to all processes: each computes all of a function's results, and keeps its part.

That takes a message per array; a function that sorts, or counts first, takes several, and some hundred microseconds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pgaspy.alone import small
from pgaspy.array import GlobalArray, made
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import replicated
from pgaspy.operands import own_part
from pgaspy.planning.view import whole
from pgaspy.scheduling.base import wrap

__all__ = ["called"]

MAX_ELEMENTS = 1 << 12
"""Of all arrays together: NumPy takes some ten microseconds to sort so many."""


def called(numpys: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any], refused: str) -> Any:
    """The results of NumPy's function, in their default layouts; None if it is not called here. Collective.

    What decides that is the same on all processes. Arrays whose dtypes are `refused` are left to others.
    """
    if world().size == 1 or not recording.is_executing() or recording.are_errors_asked():
        return None
    arrays: list[Any] = []
    if not all(_is_taken(x, arrays, refused) for x in (*given, *options.values())):
        return None
    if not any(x.__class__ in small.kinds for x in arrays) or sum(x.size for x in arrays) > MAX_ELEMENTS:
        return None
    named = {name: _elements(x) for name, x in options.items()}
    found = small.called(functools.partial(numpys, **named), *map(_elements, given))
    if found is None:
        return None
    return tuple(map(_dealt_out, found)) if isinstance(found, tuple) else _dealt_out(found)


def _is_taken(x: Any, arrays: list[Any], refused: str) -> bool:
    """Whether NumPy takes an argument as it is, or as the elements of arrays, which are noted."""
    if x.__class__ is tuple or x.__class__ is list:
        return all(_is_taken(item, arrays, refused) for item in x)
    if x.__class__ in small.kinds or x.__class__ in small.OF_NUMPY:
        arrays.append(x)
        return x.dtype.char not in refused
    return x.__class__ in small.PLAIN


def _elements(x: Any) -> Any:
    """An argument as NumPy takes it."""
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([_elements(item) for item in x])
    return x.gather() if x.__class__ in small.kinds else x


def _dealt_out(found: Any) -> GlobalArray:
    """A global array of what every process has."""
    elements = np.asarray(found)
    elements = np.asarray(elements, np.dtype(elements.dtype.str))
    layout = default_for(elements.shape) if elements.ndim else replicated((), world().size)
    return made(wrap(layout, np.array(own_part(elements, layout), order="C")), whole(layout))
