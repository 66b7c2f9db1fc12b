"""Statements that make arrays, view them in other shapes, and move them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.campaign.elementwise import rounding
from tests.campaign.rows import Row
from tests.campaign.writing import ANY, DTYPES, Refused, Writer
from tests.randomly import castable, random_shape

__all__ = ["ROWS"]

SMALL = (0, 1, 2, 3, 4, 5, 7)


def _create(writer: Writer, name: str) -> None:
    rng = writer.rng
    shape = random_shape(rng, 3, SMALL)
    where, n_axes = writer.layout(len(shape))
    dtype = rng.choice(("", f", {rng.choice(DTYPES)!r}"))
    n, k = rng.choice(SMALL), rng.randint(-3, 3)
    flat, flat_axes = writer.layout(1)
    square, square_axes = writer.layout(2)
    texts = {
        "zeros": (f"pg.zeros({shape}{dtype}{where})", n_axes), "ones": (f"pg.ones({shape}{dtype}{where})", n_axes),
        "full": (f"pg.full({shape}, 2{dtype}{where})", n_axes),
        "arange": (f"pg.arange({rng.choice(('5', '2, 9', '0, 4, 0.5', '9, 1, -2'))}{flat})", flat_axes),
        "linspace": (f"pg.linspace({k}, {k + 4}, {n}, {rng.random() < 0.5}{flat})", flat_axes),
        "eye": (f"pg.eye({n}, {rng.choice(SMALL)}, {k}{square})", square_axes),
        "identity": (f"pg.identity({n}{square})", square_axes),
        "fromfunction": (f"pg.fromfunction(lambda i, j: i * 10 + j, ({n}, {rng.choice(SMALL)}){square})", square_axes),
    }
    if name in texts:
        writer.bind(texts[name][0], rounding(np.ones(1)) if name == "linspace" else 0.0, texts[name][1])
        return
    if name == "empty":
        found = writer.name()
        writer.say(f"{found} = pg.empty({shape}{dtype}{where})")
        writer.say(f"{found}[...] = {writer.values(shape, 'B')}" if dtype != ", '?'" else f"{found}[...] = True")
        writer.take(found, n_axes=n_axes)
        return
    x = writer.pick(exact=False)
    where = writer.layout(writer.value(x).ndim)[0] if rng.random() < 0.5 else ""
    if name == "empty_like":
        found = writer.name()
        writer.say(f"{found} = pg.empty_like({x}{where})")
        writer.say(f"{found}[...] = 1")
        writer.take(found)
    elif name.endswith("_like"):
        writer.bind(f"pg.{name}({x}{', 3' if name == 'full_like' else ''}{where})")
    else:
        writer.bind(f"pg.{name}({writer.values(shape)}{writer.layout(len(shape))[0]})" if rng.random() < 0.5 else
                    f"pg.array({x}{where})" if name == "array" else f"pg.asarray({x}).copy()", writer.tolerance(x))


PARAMETERS = {
    "uniform": "-1.0, 2.0, ", "integers": "-5, 9, ", "beta": "2.0, 0.5, ", "binomial": "9, 0.25, ",
    "chisquare": "3.0, ", "exponential": "0.5, ", "f": "3.0, 9.0, ", "gamma": "1.5, 0.5, ", "geometric": "0.25, ",
    "gumbel": "1.0, 0.5, ",
    "hypergeometric": "5, 9, 6, ", "laplace": "1.0, 0.5, ", "logistic": "1.0, 0.5, ", "lognormal": "0.0, 0.5, ",
    "logseries": "0.75, ", "negative_binomial": "3.0, 0.5, ", "noncentral_chisquare": "3.0, 1.0, ",
    "noncentral_f": "3.0, 9.0, 1.0, ", "normal": "1.0, 0.5, ", "pareto": "3.0, ", "poisson": "2.5, ", "power": "2.0, ",
    "rayleigh": "0.5, ", "standard_gamma": "0.5, ", "standard_t": "5.0, ", "triangular": "0.0, 1.0, 4.0, ",
    "vonmises": "0.5, 2.0, ", "wald": "1.0, 2.0, ", "weibull": "1.5, ", "zipf": "3.0, ",
}
"""Of distributions, as the first arguments of a draw."""


def _random(writer: Writer, name: str) -> None:
    rng = writer.rng
    shape = random_shape(rng, 3, SMALL)
    size = f"{shape}" if shape or rng.random() < 0.5 else "None"
    method = name.removeprefix("random.").replace("default_rng", "random")
    arguments = f"{PARAMETERS.get(method, '')}{size}"
    where, n_axes = writer.layout(len(shape))
    writer.bind(f"pg.random.default_rng({rng.randrange(100)}).{method}({arguments}{where})",
                rounding(np.full(1, 8.0)), n_axes)


def _view(writer: Writer, name: str) -> None:
    rng, plain = writer.rng, name.removeprefix("array.")
    x = writer.pick(kinds=ANY, exact=False)
    value = writer.value(x)
    n = value.ndim
    if plain == "__getitem__":
        writer.bind(writer.view_of(x), None)
        return
    if plain == "broadcast_to":
        shape = (*rng.choice([(), (2,)]), *(rng.choice((2, 3)) if m == 1 else m for m in value.shape))
        if math.prod(shape) == value.size:
            raise Refused  # NumPy makes a read-only view
        writer.bind(f"pg.broadcast_to({x}, {shape})", None)
        return
    axes = rng.sample(range(n), n)
    ones = [d for d, m in enumerate(value.shape) if m == 1]
    arguments: dict[str, Any] = {
        "transpose": rng.choice(("", f"{tuple(axes)}")), "T": "", "expand_dims": f"{rng.randint(-n - 1, n)}",
        "swapaxes": f"{rng.randrange(-n, n)}, {rng.randrange(n)}" if n else "0, 0",
        "squeeze": f"{rng.choice(ones)}" if ones and rng.random() < 0.5 else "",
        "flip": f"{rng.randrange(n)}" if n and rng.random() < 0.7 else "",
    }
    given = arguments["transpose" if plain == "permute_dims" else plain]
    if plain == "T":
        text = f"{x}.T"
    elif name.startswith("array"):
        text = f"{x}.{plain}({given})"
    else:
        text = f"{rng.choice(('pg', 'np'))}.{plain}({x}{', ' if given else ''}{given})"
    writer.bind(text, None)


def _reshape(writer: Writer, name: str) -> None:
    x = writer.pick(kinds=ANY, exact=False)
    value, plain = writer.value(x), name.removeprefix("array.")
    shapes = [shape for shape in ((-1,), (1, -1), (2, -1), (-1, 3), value.shape[::-1], (value.size, 1))
              if value.size and value.size % math.prod(n for n in shape if n > 0) == 0] or [(value.size,)]
    shape = writer.rng.choice(shapes) if writer.rng.random() < 0.95 else (7, 7)
    given = f"{shape}" if plain == "reshape" else ""
    text = f"{x}.{plain}({given})" if name.startswith("array") else f"pg.{plain}({x}{', ' if given else ''}{given})"
    writer.bind(f"{text}.copy()", writer.tolerance(x))


def _rearrange(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(1, kinds=ANY, exact=False)
    value = writer.value(x)
    axis, tolerance = rng.randrange(value.ndim), writer.tolerance(x)
    module = rng.choice(("pg", "np"))
    if name in ("concatenate", "stack"):
        n = value.shape[axis] if name == "stack" else rng.randint(0, 4)
        shape = (*value.shape[:axis], n, *value.shape[axis + 1:])
        dtype = writer.dtype("mM") if value.dtype.kind in "mM" else None
        others = [f"pg.array({writer.values(shape, dtype)}{writer.layout(value.ndim)[0]})"
                  for _ in range(rng.randint(0, 2))]
        writer.bind(f"{module}.{name}([{', '.join([x, *others])}], {axis})", tolerance)
        return
    given = {"roll": f"{rng.randint(-9, 9)}, {rng.choice((axis, None))}",
             "tile": f"{rng.choice([0, 1, 2, 3, (2, 1), (1, 2)])}",
             "repeat": rng.choice((f"{rng.randint(0, 3)}, {rng.choice((axis, None))}", (
                 f"{[rng.randint(0, 2) for _ in range(value.shape[axis])] or 0}, {axis}")))}[name]
    writer.bind(f"{module}.{name}({x}, {given})", tolerance)


def _copy(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds=ANY, exact=False)
    value = writer.value(x)
    if name == "array.astype":
        dtype = rng.choice(DTYPES)
        if not castable(value, np.dtype(dtype)) or (writer.tolerance(x) and np.dtype(dtype).kind not in "fc"):
            raise Refused
        tolerance = writer.tolerance(x)
        result = value.astype(dtype)
        writer.bind(f"{x}.astype({dtype!r})", tolerance + (rounding(result) if tolerance else 0.0))
    elif name in ("array.redistribute", "Distribution"):
        where, n_axes = writer.layout(value.ndim)
        where = where.removeprefix(", layout=") if "layout" in where else ""
        writer.bind(f"{x}.redistribute({where})", writer.tolerance(x), n_axes if where else None)
    else:
        writer.bind(f"{x}.copy()" if name == "array.copy" else f"pg.copy({x})", writer.tolerance(x))


def _replicate(writer: Writer, name: str) -> None:
    x = writer.pick_owned(1, ANY)
    value = writer.value(x)
    key = ", ".join(f"{a}:{b}" for a, b in (sorted(writer.rng.randint(0, n) for _ in range(2)) for n in value.shape))
    axis = writer.rng.randrange(writer.n_axes_of(x))
    writer.bind(f"pg.replicate({x}[{key}], {axis})", writer.tolerance(x))


def _align(writer: Writer, name: str) -> None:
    x = writer.pick_owned(1)
    dim = writer.rng.randrange(writer.value(x).ndim)
    shape = (writer.value(x).shape[dim],)
    writer.bind(f"pg.align(pg.array({writer.values(shape)}{writer.layout(1)[0]}), {x}, {dim})")


def _combine(writer: Writer, name: str) -> None:
    found = writer.name()
    shape = random_shape(writer.rng, 2, SMALL)
    stars = ", ".join(['"*"'] * len(shape))
    writer.say(f"{found} = pg.zeros({shape}, {writer.rng.choice('dli')!r}, layout=pg.Distribution({stars}))")
    writer.say(f"pg.schedule(put_ranks, pg.write({found}))")
    writer.say(f"pg.combine(np.add, {found})")
    writer.take(found)


def _exchange_rows(writer: Writer, name: str) -> None:
    rng = writer.rng
    owned = [x for x in writer.holders if writer.is_owned(x) and writer.value(x).ndim == 2]
    if not owned:
        writer.create((rng.choice(SMALL), rng.choice(SMALL)), owned=True)
        return
    x = rng.choice(owned)
    m = writer.value(x).shape[0]
    start = rng.randint(0, m)
    b = rng.randint(0, min(m - start, 4))
    pivots = [rng.randrange(start + j, m) for j in range(b)]
    writer.say(f'pg.exchange_rows({x}, pg.array(np.array({pivots}, int), layout=pg.Distribution("*")), {start})')


def _file(writer: Writer, name: str) -> None:
    x = writer.pick(kinds=ANY, exact=False)
    file = f"FOLDER / 'f{writer.rng.randrange(3)}.npy'"
    where, n_axes = writer.layout(writer.value(x).ndim)
    writer.say(f"pg.save({file}, {x})")
    writer.bind(f"pg.load({file}{where})", writer.tolerance(x), n_axes)


def _schedule(writer: Writer, name: str) -> None:
    """Tasks on whole arrays that lie alike."""
    x = writer.pick_owned()
    if name == "update":
        writer.say(f"pg.schedule(negate, pg.update({x}))")
    elif name == "write":
        writer.say(f"pg.schedule(ones, pg.write({x}))")
    elif writer.value(x).dtype.kind == "b":
        raise Refused
    else:
        found = writer.name()
        writer.say(f"{found} = pg.empty_like({x}, layout={x}.layout)")
        reads = f"pg.read({x})" if name == "read" else x
        writer.say(f"pg.schedule(twice, pg.write({found}), {reads})")
        writer.take(found, 2 * writer.tolerance(x), writer.n_axes_of(x))
        if writer.rng.random() < 0.5:
            writer.say(f"pg.schedule(swap, pg.update({found}), pg.update({x}))")
            writer.join_tolerances(found, x)


ROWS = (
    Row(_create, ("zeros", "ones", "full", "arange", "linspace", "eye", "identity", "fromfunction", "empty",
                  "empty_like", "zeros_like", "ones_like", "full_like", "array", "asarray"), 3),
    Row(_random, ("random.default_rng", "random.random", "random.standard_normal", "random.standard_cauchy",
                  "random.standard_exponential", *(f"random.{name}" for name in PARAMETERS)), 0.7),
    Row(_view, ("array.__getitem__", "array.__getitem__", "broadcast_to", "transpose", "permute_dims",
                "array.transpose", "array.T",
                "expand_dims", "swapaxes", "array.swapaxes", "squeeze", "array.squeeze", "flip"), 4),
    Row(_reshape, ("reshape", "array.reshape", "ravel", "array.ravel", "array.flatten"), 1.5),
    Row(_rearrange, ("roll", "concatenate", "stack", "tile", "repeat"), 3),
    Row(_copy, ("array.copy", "copy", "array.astype", "array.redistribute", "Distribution"), 3),
    Row(_replicate, ("replicate",), 1),
    Row(_align, ("align",), 1),
    Row(_combine, ("combine",), 0.7),
    Row(_exchange_rows, ("exchange_rows",), 0.7),
    Row(_file, ("save", "load"), 0.3),
    Row(_schedule, ("schedule", "read", "update", "write"), 3),
)
