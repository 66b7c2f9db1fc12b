"""Statements that put elements in order."""

from __future__ import annotations

import numpy as np

from tests.campaign.elementwise import rounding
from tests.campaign.rows import Row
from tests.campaign.writing import ANY, Refused, Writer

__all__ = ["ROWS"]

MOST_COLUMNS = 4
"""Of what distinct rows are looked for in, each sorted by itself: a statement takes less time than there is between
interrupts."""


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


def _distinct(writer: Writer, name: str) -> None:
    x = writer.pick()
    rng = writer.rng
    module = rng.choice(("pg", "np"))
    if name == "unique":
        position = rng.randint(0, 3)
        value = writer.value(x)
        axis = rng.choice([None, *(d for d, n in enumerate(value.shape) if value.size <= MOST_COLUMNS * n)])
        text = f"({x}, {', '.join(str(k == position) for k in (1, 2, 3))}, {axis}){'[1]' if position else ''}"
    elif name == "isin":
        text = f"({x}, {writer.pick()}, invert={rng.choice((True, False))})"
    elif name == "intersect1d":
        part = rng.choice(("", "[0]", "[1]", "[2]"))
        text = f"({x}, {writer.pick()}, return_indices={bool(part)}){part}"
    else:
        text = f"({x}, {writer.pick()})"
    writer.bind(f"{module}.{name}{text}")


def _median(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(1, kinds="fiu")
    value = writer.value(x)
    axis = rng.choice([*range(value.ndim), None])
    if 0 in value.shape or not np.isfinite(value).all() or np.abs(value).max() > 1e6:
        raise Refused
    text = f"{rng.choice(('pg', 'np'))}.{name}({x}, axis={axis})"
    writer.bind(text, 4 * rounding(value.astype(float) if value.dtype.kind != "f" else value))


def _partition(writer: Writer, name: str) -> None:
    """At one place, where the result does not depend on how the others are ordered."""
    x = writer.pick(1)
    value = writer.value(x)
    if not value.shape[-1]:
        raise Refused
    kth = writer.rng.randrange(value.shape[-1])
    if name == "lexsort":
        writer.bind(f"{writer.rng.choice(('pg', 'np'))}.lexsort(({x}.ravel(),))")
    elif name == "partition":
        writer.bind(f"pg.partition({x}, {kth})[..., {kth}].copy()")
    else:
        writer.bind(f"pg.argpartition(pg.sort({x}, -1), {value.shape[-1] - 1})[..., :0].copy()")


ROWS = (
    Row(_sort, ("sort", "argsort", "array.sort", "array.argsort"), 2),
    Row(_distinct, ("unique", "union1d", "intersect1d", "setxor1d", "setdiff1d", "isin"), 1),
    Row(_median, ("median", "nanmedian"), 1),
    Row(_partition, ("partition", "argpartition", "lexsort"), 0.5),
)
