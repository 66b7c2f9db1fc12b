"""Small arrays that come to all processes: each computes all of a function's results, and keeps its part.

That takes a message per array; a function that sorts, or counts first, takes several, and some hundred microseconds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pgaspy.alone import small
from pgaspy.arguments import NotTaken, taken
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


def called(numpys: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The results of NumPy's function, in their default layouts; None if it is not called here. Collective.

    What decides that is the same on all processes.
    """
    if world().size == 1 or not recording.is_executing() or recording.are_errors_asked():
        return None
    arrays: list[Any] = []
    sizes: list[int] = []

    def noted(x: Any, _: int) -> Any:
        if x.__class__ not in small.kinds and x.__class__ not in small.OF_NUMPY:
            return None
        sizes.append(x.size)
        return x

    try:
        for x in (*given, *options.values()):
            taken(x, arrays, 0, noted)
    except NotTaken:
        return None
    if not arrays or sum(sizes) > MAX_ELEMENTS:
        return None
    named = {name: taken(x, arrays, 0, _elements) for name, x in options.items()}
    operands = [taken(x, arrays, 0, _elements) for x in given]
    found = small.called(functools.partial(numpys, **named), *operands)
    if found is None:
        return None
    return tuple(map(_dealt_out, found)) if isinstance(found, tuple) else _dealt_out(found)


def _elements(x: Any, _: int) -> Any:
    """All elements of an array, on each process."""
    return x.gather() if x.__class__ in small.kinds else x


def _dealt_out(found: Any) -> GlobalArray:
    """A global array of what every process has."""
    elements = np.asarray(found)
    elements = np.asarray(elements, np.dtype(elements.dtype.str))
    layout = default_for(elements.shape) if elements.ndim else replicated((), world().size)
    return made(wrap(layout, np.array(own_part(elements, layout), order="C")), whole(layout))
