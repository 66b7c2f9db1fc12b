"""Statements with the functions that are composed of others."""

from __future__ import annotations

import numpy as np

from tests.campaign.rows import Row
from tests.campaign.writing import ANY, Refused, Writer

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


def _make(writer: Writer, name: str) -> None:
    rng = writer.rng
    x, y = writer.pick(1, max_ndim=1), writer.pick(1, max_ndim=1)
    k = rng.randint(-2, 2)
    slices = ", ".join(rng.choice(("0:3", "1:9:2", "-1:1:5j", "0:1:0.3")) for _ in range(2))
    texts = {
        "meshgrid": f"pg.meshgrid({x}, {y}, indexing={rng.choice(('xy', 'ij'))!r})[{rng.randint(0, 1)}]",
        "mgrid": f"pg.mgrid[{slices}]", "ogrid": f"pg.ogrid[{slices}][{rng.randint(0, 1)}]",
        "indices": f"pg.indices({tuple(rng.randint(0, 4) for _ in range(3))})",
        "tri": f"pg.tri(4, {rng.randint(1, 6)}, {k})",
        "diag": f"pg.diag({x}, {k})", "diagflat": f"pg.diagflat({x}, {k})",
        "ix_": f"pg.arange(12).reshape(3, 4)[pg.ix_([0, 2], [{rng.randint(0, 3)}, 1])]",
        "vander": f"pg.vander(pg.arange({rng.randint(0, 5)}), {rng.randint(0, 4)}).copy()",
        "r_": f"pg.r_[{x}, 0:{rng.randint(0, 3)}, {y}, 2]", "c_": f"pg.c_[{x}, {x}, {x}[::-1]]",
    }
    writer.bind(texts[name])


def _average(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(1, kinds="fiu", max_ndim=2 if name in ("cov", "corrcoef") else 9)
    value = writer.value(x)
    if not np.isfinite(value).all() or 0 in value.shape or (name in ("cov", "corrcoef") and min(value.shape) < 3):
        raise Refused
    axis = rng.randrange(value.ndim)
    weights = f", weights=pg.arange(1.0, {value.shape[axis] + 1})"
    given = {"average": f", {axis}{rng.choice((weights, ''))}", "ptp": f", axis={rng.choice((None, axis))}",
             "cov": f", rowvar={rng.choice((True, False))}, bias={rng.choice((True, False))}"}.get(name, "")
    text = f"{rng.choice(('pg', 'np'))}.{name}({x}{given})"
    if name == "ptp":
        writer.bind(text)
        return
    found = np.asarray(writer.peek(text))
    if not np.isfinite(found).all() or (name == "corrcoef" and (np.asarray(writer.peek(f"np.cov({x})")) < 1e-3).any()):
        raise Refused
    eps = float(np.finfo(found.dtype).eps)
    writer.bind(text, 100 * value.size * eps * (1 + float(np.abs(value.astype(float)).max()) ** 2), is_ambiguous=True)


def _without_nan(writer: Writer, name: str) -> None:
    """Of what has numbers in all slices; products and squares of small numbers only."""
    rng = writer.rng
    x = writer.pick(1, kinds="fi")
    value = writer.value(x)
    axis, keeps = rng.choice([None, *range(value.ndim)]), rng.choice((True, False))
    with np.errstate(all="ignore"):
        is_empty = 0 in value.shape or (np.isnan(value) if value.dtype.kind == "f" else value != value).all(axis).any()
        if is_empty or not np.abs(np.nan_to_num(value.astype(float), posinf=1e9, neginf=1e9)).max() < 1e3:
            raise Refused
        text = f"{rng.choice(('pg', 'np'))}.{name}({x}, axis={axis}, keepdims={keeps})"
        found = np.asarray(writer.peek(text))
    tolerance = 0.0
    if name not in ("nanmax", "nanmin", "nanargmax", "nanargmin") and found.dtype.kind == "f":
        eps = float(np.finfo(np.result_type(found.dtype, value.dtype) if value.dtype.kind == "f" else float).eps)
        scale = float(np.abs(found).max()) if name == "nanprod" else 1e6 * value.size
        tolerance = 100 * value.size * eps * (1 + scale)
    writer.bind(text, tolerance, is_ambiguous=True)


def _rounded(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds="fiu" if name in ("fix", "sinc", "unwrap") else "fciu", min_ndim=int(name == "unwrap"))
    value = writer.value(x)
    decimals = rng.randint(-2, 3)
    if name == "array.round":
        writer.bind(f"{x}.round({decimals}).copy()", is_ambiguous=True)
        return
    text = f"{rng.choice(('pg', 'np'))}.{name}({x}{f', {decimals}' if name in ('round', 'around') else ''}).copy()"
    tolerance = 0.0
    if name in ("sinc", "angle"):
        with np.errstate(all="ignore"):
            largest = np.abs(value.astype(complex)).max(initial=1.0)
        if not np.isfinite(largest):
            raise Refused
        tolerance = float(np.finfo(np.asarray(writer.peek(text)).dtype).eps) * 20 * (1 + float(largest))
    writer.bind(text, tolerance, is_ambiguous=True)


def _signal(writer: Writer, name: str) -> None:
    rng = writer.rng
    mode = rng.choice(("full", "same", "valid"))
    x = writer.pick(1, kinds="iu", max_ndim=1)
    module = rng.choice(("pg", "np"))
    if name == "interp":
        points = f"pg.array({sorted(rng.sample(range(-20, 20), 5))})"
        writer.bind(f"{module}.interp({x}, {points}, pg.arange(5.0))", 1e-10)
    elif name == "unwrap":
        writer.bind(f"{module}.unwrap({writer.pick(1, kinds='i')}, period={rng.randint(2, 9)})")
    else:
        y = writer.pick(1, kinds="iu", max_ndim=1)
        writer.bind(f"{module}.{name}({x}, {y}, {mode!r})")


def _sums_of_products(writer: Writer, name: str) -> None:
    """Of integers, whose sums are exact."""
    rng = writer.rng
    x = writer.pick(1, kinds="iu", max_ndim=3)
    shape, module = writer.value(x).shape, rng.choice(("pg", "np"))
    n = shape[-1]
    if name == "cross":
        y = f"pg.array({writer.values((3,), 'l')})"
        writer.bind(f"{module}.cross({x}[..., :1] * {y}, {y} + 1)")
        return
    if name == "linalg.cross":
        y = f"pg.array({writer.values((3,), 'l')})"
        writer.bind(f"pg.linalg.cross({x}[..., :1] * {y}, {y} + 1)")
        return
    m = rng.choice((1, 2, 5))
    shapes = {"vdot": shape, "inner": (m, n), "matvec": (m, n), "vecmat": (n, m), "linalg.multi_dot": (n, m)}
    y = f"pg.array({writer.values(shapes.get(name, (m, n)), 'l')}{writer.layout(len(shapes.get(name, (m, n))))[0]})"
    texts = {
        "vdot": f"{module}.vdot({x}, {y})", "inner": f"{module}.inner({x}, {y})", "matvec": f"pg.matvec({y}, {x})",
        "vecmat": f"pg.vecmat({x}, {y})", "einsum": f"{module}.einsum('...j,kj->k...', {x}, {y})",
        "linalg.multi_dot": f"pg.linalg.multi_dot([{x}.reshape(-1, {n}), {y}, {y}.T])",
        "linalg.matrix_transpose": f"pg.linalg.matrix_transpose({y}).copy()"}
    writer.bind(texts[name])


def _own(writer: Writer, name: str) -> None:
    """Functions of the program's own, and of polynomials with whole coefficients."""
    rng = writer.rng
    x = writer.pick(1, kinds="i")
    value = writer.value(x)
    if not value.size:
        raise Refused
    axis, k, n = rng.randrange(value.ndim), rng.randint(1, 9), rng.randint(0, 9)
    coefficients = f"pg.array({writer.values((rng.randint(1, 4),), 'l')})"
    texts = {
        "apply_along_axis": f"pg.apply_along_axis(lambda v: v[::-{k}] // 2, {axis}, {x})",
        "apply_over_axes": f"pg.apply_over_axes(pg.max, {x}, {axis})",
        "vectorize": f"pg.vectorize(lambda v: v // {k})({x})",
        "piecewise": f"pg.piecewise({x}, [{x} > {k}, {x} < 0], [{k}, lambda v: v // 2, -1])",
        "polyval": f"pg.polyval({coefficients}, {x} % 7)", "polyder": f"pg.polyder({coefficients})",
        **{name: f"pg.{name}({coefficients}, [1, {k}])" for name in ("polyadd", "polysub", "polymul")},
        **{name: f"pg.round(pg.{name}({n}), 9)" for name in ("bartlett", "blackman", "hamming", "hanning")},
        "kaiser": f"pg.round(pg.kaiser({n}, {k}), 9)", "i0": f"pg.round(pg.i0({x} % 5), 9)",
        "logspace": f"pg.logspace(0, {k}, {n}, base=2)", "geomspace": f"pg.geomspace(1, {k}, {n})",
        "sort_complex": f"pg.sort_complex({x})", "diag_indices": f"pg.diag_indices({n}, 3)[2]",
        **{name: f"pg.{name}({n}, {k - 5}, {k})[{n % 2}]" for name in ("tril_indices", "triu_indices")},
        "unravel_index": f"pg.unravel_index({x} % {k}, ({n + 1}, {k}))[{n % 2}].copy()",
        "ravel_multi_index": f"pg.ravel_multi_index(({x} % {k}, {n}), ({k}, {n + 1}))",
    }
    writer.bind(texts[name], 1e-8)


ROWS = (
    Row(_compare, ("isclose", "allclose", "array_equal", "array_equiv", "isposinf", "isneginf", "isreal", "iscomplex",
                   "isrealobj", "iscomplexobj", "isscalar", "real_if_close"), 1),
    Row(_join, ("concat", "append", "hstack", "vstack", "dstack", "column_stack", "block"), 1.5),
    Row(_extend, ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"), 0.7),
    Row(_split, ("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"), 1),
    Row(_turn, ("moveaxis", "rollaxis", "matrix_transpose", "array.mT", "fliplr", "flipud", "rot90"), 1),
    Row(_average, ("average", "ptp", "cov", "corrcoef"), 1),
    Row(_without_nan, ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanargmax",
                       "nanargmin"), 1),
    Row(_rounded, ("round", "around", "array.round", "fix", "nan_to_num", "sinc", "angle"), 1),
    Row(_signal, ("convolve", "correlate", "interp", "unwrap"), 1),
    Row(_sums_of_products, ("einsum", "inner", "vdot", "cross", "matvec", "vecmat", "linalg.cross", "linalg.multi_dot",
                            "linalg.matrix_transpose"), 1),
    Row(_own, ("apply_along_axis", "apply_over_axes", "vectorize", "piecewise", "polyval", "polyder", "polyadd",
               "polysub", "polymul", "bartlett", "blackman", "hamming", "hanning", "kaiser", "i0", "logspace",
               "geomspace", "sort_complex", "diag_indices", "tril_indices", "triu_indices", "unravel_index",
               "ravel_multi_index"), 1),
    Row(_pad, ("pad", "pad", "resize", "trim_zeros"), 1),
    Row(_make, ("meshgrid", "mgrid", "ogrid", "indices", "ix_", "tri", "diag", "diagflat", "vander", "r_",
                 "c_"), 1),
)
