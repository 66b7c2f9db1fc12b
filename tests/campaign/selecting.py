"""Statements that select elements, write to some, add them up one after the other, or count them."""

from __future__ import annotations

import numpy as np

from tests.campaign.rows import Row
from tests.campaign.writing import Refused, Writer

__all__ = ["ROWS"]

NUMBERS = "iu"
"""Kinds whose sums are the same in any order."""


def _indices(writer: Writer, extent: int) -> list[int]:
    if not extent:
        raise Refused
    return [writer.rng.randrange(-extent, extent) for _ in range(writer.rng.randint(1, 6))]


def _select(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(1)
    value = writer.value(x)
    if not value.size and name == "take_along_axis":
        raise Refused  # its indices would be beyond what is flat, which is said later here
    indices, flags = _indices(writer, len(value)), [rng.random() < 0.5 for _ in range(len(value))]
    column = [[k] for k in indices]
    texts = {
        "take": f"{x}, {indices}, axis=0", "compress": f"{flags}, {x}, axis=0", "delete": f"{x}, {indices}, axis=0",
        "insert": f"{x}, {indices[0]}, 1, axis=0", "nonzero": x, "argwhere": x, "flatnonzero": x, "count_nonzero": x,
        "extract": f"{x} != 0, {x}", "select": f"[{x} != 0, {x} == 0], [{x}, {x}]", "choose": f"{x} != 0, [{x}, {x}]",
        "take_along_axis": f"{x}.ravel(), {indices} % pg.array({value.size}), 0",
    }
    methods = {"take": f"{column}", "compress": f"{flags}, 0", "nonzero": "", "choose": f"[{x}, 3]"}
    end = "[0]" if name.endswith("nonzero") and "_" not in name and not name.startswith("flat") else ""
    if name == "array.choose":
        writer.bind(f"({x} != 0).choose({methods['choose']})")
    elif name.startswith("array."):
        writer.bind(f"{x}.{name[6:]}({methods[name[6:]]}){end}", writer.tolerance(x))
    else:
        writer.bind(f"pg.{name}({texts[name]}){end}", writer.tolerance(x))


def _write(writer: Writer, name: str) -> None:
    x = writer.pick_target()
    value = writer.value(x)
    if not value.ndim:
        raise Refused
    indices = _indices(writer, value.size)
    texts = {
        "put": f"pg.put({x}, {indices}, {[*range(len(indices))]})", "array.put": f"{x}.put({indices}, 1)",
        "array.flat": f"{x}.flat[{indices}] = 1", "putmask": f"pg.putmask({x}, {x} != 0, 1)",
        "place": f"pg.place({x}, {x} == 0, [1])", "copyto": f"pg.copyto({x}, 1, where={x} == 0)",
        "put_along_axis": f"pg.put_along_axis({x}, pg.zeros({(1, *value.shape[1:])}, int), 1, 0)",
    }
    writer.say(texts[name])


def _scan(writer: Writer, name: str) -> None:
    x = writer.pick(1, kinds=NUMBERS)
    axis = writer.rng.randrange(writer.value(x).ndim)
    plain = name.removeprefix("array.")
    writer.bind(f"{x}.{plain}({axis})" if plain != name else f"pg.{name}({x}, axis={axis})")


def _differ(writer: Writer, name: str) -> None:
    x = writer.pick(1, kinds=NUMBERS)
    value = writer.value(x)
    if min(value.shape) < 2 or np.abs(value.astype(float)).max() > 1e6:
        raise Refused
    writer.bind(f"pg.{name}({x}{'' if name == 'ediff1d' else ', axis=0'})")


def _count(writer: Writer, name: str) -> None:
    x = writer.pick(1, kinds=NUMBERS)
    value = writer.value(x)
    if not value.size or np.abs(value.astype(float)).max() > 1e6:
        raise Refused
    flat = f"{x}.astype(float).ravel()"
    writer.bind({
        "bincount": f"pg.bincount(abs({x}.astype(int).ravel()) % 7)", "histogram": f"pg.histogram({flat}, 5)[0]",
        "histogram_bin_edges": f"pg.array(pg.histogram_bin_edges({flat}, 5))",
        "histogram2d": f"pg.histogram2d({flat}, {flat}, 3)[0]", "digitize": f"pg.digitize({x}, [-1, 0, 2])",
        "histogramdd": f"pg.histogramdd([{flat}, {flat}], 3)[0]", "searchsorted": f"pg.searchsorted([-1, 0, 2], {x})",
    }[name])


ROWS = (
    Row(_select, ("take", "compress", "delete", "insert", "nonzero", "argwhere", "flatnonzero", "count_nonzero",
                  "extract", "select", "choose", "take_along_axis", "array.take", "array.compress", "array.nonzero",
                  "array.choose"), 2),
    Row(_write, ("put", "array.put", "array.flat", "putmask", "place", "copyto", "put_along_axis"), 2),
    Row(_scan, ("cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "nancumsum", "nancumprod", "array.cumsum",
                "array.cumprod"), 2),
    Row(_differ, ("diff", "ediff1d", "gradient", "trapezoid"), 1),
    Row(_count, ("bincount", "histogram", "histogram_bin_edges", "histogram2d", "histogramdd", "digitize",
                 "searchsorted"), 1),
)
