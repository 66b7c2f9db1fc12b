"""Statements with the functions that are composed of others."""

from __future__ import annotations

import numpy as np

from tests.campaign.rows import Row
from tests.campaign.writing import ANY, Writer

__all__ = ["ROWS"]


def _compare(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick()
    y = rng.choice((x, writer.operand(writer.value(x).shape), writer.pick()))
    given = f"{x}, {y}" if name in ("isclose", "allclose", "array_equal", "array_equiv") else x
    text = f"{rng.choice(('pg', 'np')) if name != 'isscalar' else 'pg'}.{name}({given})"
    if name in ("allclose", "array_equal", "array_equiv", "isrealobj", "iscomplexobj", "isscalar"):
        text = f"pg.array({text})"
    writer.bind(f"{text}.copy()" if name == "real_if_close" else text)


def _join(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(int(name in ("concat", "append")), kinds=ANY, exact=False)
    value = writer.value(x)
    axis = rng.randrange(value.ndim) if name in ("concat", "append") else {"vstack": 0, "dstack": 2}.get(name, 1)
    shape = tuple(rng.randint(0, 4) if d == axis else n for d, n in enumerate(value.shape))
    dtype = writer.dtype("mM") if value.dtype.kind in "mM" else None
    y = rng.choice((x, f"pg.array({writer.values(shape, dtype)}{writer.layout(len(shape))[0]})"))
    given = {"concat": f"({x}, {y}), {axis}", "append": f"{x}, {y}, {rng.choice((axis, None))}",
             "block": rng.choice((f"[{x}, {y}]", f"[[{x}, {y}], [{y}, {x}]]"))}.get(name, f"({x}, {y})")
    writer.bind(f"{rng.choice(('pg', 'np'))}.{name}({given})", writer.tolerance(x))


def _extend(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds=ANY, exact=False)
    if name == "broadcast_arrays":
        writer.bind(f"pg.broadcast_arrays({x}, {writer.operand(writer.value(x).shape)})[0].copy()", writer.tolerance(x))
    elif writer.value(x).ndim:
        writer.bind(f"{rng.choice(('pg', 'np'))}.{name}({x})", None)
    else:
        writer.bind(f"pg.{name}({x}).copy()", writer.tolerance(x))  # of a number it is a copy


def _split(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick({"vsplit": 2, "dsplit": 3}.get(name, 1), kinds=ANY, exact=False)
    value = writer.value(x)
    axis = {"vsplit": 0, "dsplit": 2, "hsplit": int(value.ndim > 1)}.get(name, rng.randrange(value.ndim))
    n = value.shape[axis]
    where = rng.choice((rng.randint(1, 4), sorted(rng.randint(0, n) for _ in range(2))))
    which = rng.randint(0, len(where) if isinstance(where, list) else where - 1)
    options = f", axis={axis}" if name in ("split", "array_split", "unstack") else ""
    if name == "unstack":
        text = f"pg.unstack({x}{options})[{rng.randrange(n) if n else 0}]"
    else:
        text = f"{rng.choice(('pg', 'np'))}.{name}({x}, {where}{options})[{which}]"
    writer.bind(text, None)


def _turn(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(2 if name in ("matrix_transpose", "array.mT", "fliplr", "rot90") else 1, kinds=ANY, exact=False)
    n = writer.value(x).ndim
    d, e = rng.randrange(-n, n), rng.randrange(n)
    given = {"moveaxis": f", {d}, {e}", "rollaxis": f", {d}, {e}", "rot90": f", {rng.randint(-1, 4)}"}.get(name, "")
    writer.bind(f"{x}.mT" if name == "array.mT" else f"{rng.choice(('pg', 'np'))}.{name}({x}{given})", None)


def _pad(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick()
    value = writer.value(x)
    module = rng.choice(("pg", "np"))
    if name == "trim_zeros":
        writer.bind(f"{module}.trim_zeros({writer.pick(1, max_ndim=1)}, {rng.choice(('f', 'b', 'fb'))!r})", None)
    elif name == "resize":
        writer.bind(f"{module}.resize({x}, {rng.choice(((2, 3), (17,), (0, 2), (3, 1, 4)))})")
    else:
        mode = rng.choice(("constant", "edge", "wrap", "reflect", "symmetric", *(
            () if value.dtype.kind == "c" or not np.isfinite(value).all() else ("maximum", "minimum"))))
        widths = tuple((rng.randint(0, 9), rng.randint(0, 2)) for _ in value.shape)
        writer.bind(f"{module}.pad({x}, {widths if value.ndim else 1}, {mode!r})")


ROWS = (
    Row(_compare, ("isclose", "allclose", "array_equal", "array_equiv", "isposinf", "isneginf", "isreal", "iscomplex",
                   "isrealobj", "iscomplexobj", "isscalar", "real_if_close"), 1),
    Row(_join, ("concat", "append", "hstack", "vstack", "dstack", "column_stack", "block"), 1.5),
    Row(_extend, ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"), 0.7),
    Row(_split, ("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"), 1),
    Row(_turn, ("moveaxis", "rollaxis", "matrix_transpose", "array.mT", "fliplr", "flipud", "rot90"), 1),
    Row(_pad, ("pad", "pad", "resize", "trim_zeros"), 1),
)
