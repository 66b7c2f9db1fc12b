"""Statements that put elements in order."""

from __future__ import annotations

from tests.campaign.rows import Row
from tests.campaign.writing import ANY, Refused, Writer

__all__ = ["ROWS"]


def _sort(writer: Writer, name: str) -> None:
    rng, plain = writer.rng, name.removeprefix("array.")
    is_in_place = name == "array.sort"
    x = writer.pick_target() if is_in_place else writer.pick(1, kinds=ANY, exact=plain == "argsort")
    value = writer.value(x)
    if not value.ndim or (value.dtype.kind == "c" and writer.tolerance(x)):
        raise Refused
    axis = rng.choice([*range(-value.ndim, value.ndim), *([] if is_in_place else [None])])
    if is_in_place:
        writer.say(f"{x}.sort({axis}, 'stable')")
    elif plain == name:
        writer.bind(f"{rng.choice(('pg', 'np'))}.{name}({x}, {axis}, 'stable')", writer.tolerance(x))
    else:
        writer.bind(f"{x}.{plain}({axis}, 'stable')")


ROWS = (
    Row(_sort, ("sort", "argsort", "array.sort", "array.argsort"), 2),
)
