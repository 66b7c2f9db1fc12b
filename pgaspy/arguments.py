"""What NumPy's functions take of a call's arguments: numbers as they are, and something in the place of each array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgaspy.alone.small import PLAIN, kinds, operand

__all__ = ["REFUSED", "NotTaken", "taken"]

REFUSED = "mMe"
"""The dtypes of dates and times, of which NumPy takes more than there is on several processes, and float16, which it
(2.4) does not always sort.
"""


class NotTaken(Exception):
    """An argument is no array that is taken, nor what NumPy takes as it is."""


def taken(x: Any, arrays: list[Any], max_elements: int, operand: Callable[[Any, int], Any] = operand) -> Any:
    """An argument as NumPy takes it, with what `operand` gives in the place of arrays; global arrays are noted.

    Raises
    ------
    NotTaken
        If it is not: `operand(array, max_elements)` is None, or of a dtype that is refused.
    """
    if x.__class__ in kinds:
        arrays.append(x)
    elif x.__class__ in PLAIN:
        return x
    elif x.__class__ is tuple or x.__class__ is list:
        return x if PLAIN.issuperset(map(type, x)) else x.__class__(
            [taken(item, arrays, max_elements, operand) for item in x])
    found = operand(x, max_elements)
    if found is None or found.dtype.char in REFUSED:
        raise NotTaken
    return found
