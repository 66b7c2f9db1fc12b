"""Statements of linear algebra: products, triangles, and what is factored."""

from __future__ import annotations

import numpy as np

from tests.campaign.rows import Row
from tests.campaign.writing import Refused, Writer

__all__ = ["ROWS"]

EXTENTS = (0, 1, 2, 3, 5, 8)
REGULAR = (1, 2, 3, 5, 8, 13)


def _error(writer: Writer, text: str, *operands: str) -> float:
    """Of a product of operands: of sums of at most as many terms as an operand has elements."""
    try:
        result = np.asarray(writer.peek(text))
    except Exception:
        return 0.0
    if result.dtype.kind in "biu":
        return 0.0
    values = [writer.value(x) for x in operands]
    with np.errstate(all="ignore"):
        sizes = [float(np.abs(x.astype(complex)).max(initial=1.0)) for x in values]
    if not np.isfinite(sizes).all():
        raise Refused
    eps = float(np.finfo(result.dtype).eps)
    return 64 * eps * max(1, *(x.size for x in values)) * float(np.prod(sizes))


def _product(writer: Writer, name: str) -> None:
    rng = writer.rng
    plain = name.removeprefix("linalg.")
    call = f"{rng.choice(('pg', 'np'))}.{plain}" if not name.startswith("linalg") else f"pg.{name}"
    x = writer.pick(1, kinds="fciu", max_ndim=1 if plain == "outer" else 2)
    n = writer.value(x).shape[-1]
    shapes = {"outer": (rng.choice(EXTENTS),), "kron": (rng.choice((1, 2, 3)), 2), "vecdot": (n,)}
    shape = shapes.get(plain, (n,) if rng.random() < 0.4 else (n, rng.choice(EXTENTS)))
    y = f"pg.array({writer.values(shape, rng.choice('dfliD'))}{writer.layout(len(shape))[0]})"
    if plain == "array.__matmul__":
        text = f"{x} @ {y}"
    elif plain == "array.__rmatmul__":
        text = f"{[0.5] * writer.value(x).shape[0]} @ {x}"
    else:
        text = f"{call}({x}, {y}{', axes=1' if plain == 'tensordot' else ''})"
    writer.bind(text, _error(writer, text, x, y), is_ambiguous=True)


def _triangle(writer: Writer, name: str) -> None:
    rng, plain = writer.rng, name.removeprefix("linalg.")
    x = writer.pick(2)
    k = rng.randint(-2, 2)
    offset = f", offset={k}" if name.startswith("linalg") else f", {k}"
    text = f"pg.{name}({x}{offset if rng.random() < 0.7 else ''})"
    if plain == "diagonal":
        text += ".copy()"
    writer.bind(text, _error(writer, text, x) if plain == "trace" else 0.0, is_ambiguous=plain == "trace")


def _matrix(writer: Writer, n: int | None = None, dtype: str = "") -> str:
    n = n or writer.rng.choice(REGULAR)
    return (f"pg.array(regular({writer.rng.randrange(1000)}, {n}, {dtype or writer.rng.choice('ddfD')!r})"
            f"{writer.layout(2)[0]})")


def _factored(writer: Writer, name: str) -> None:
    """Of matrices far from singular; where factors have free signs, what they give together."""
    rng = writer.rng
    n = rng.choice(REGULAR)
    found = writer.name("m")
    writer.say(f"{found} = {_matrix(writer, n)}")
    shape = (n,) if rng.random() < 0.5 else (n, 3)
    b = f"pg.array({writer.values(shape, 'd')}{writer.layout(len(shape))[0]})"
    plain = name.removeprefix("linalg.")
    call = f"pg.linalg.{plain}"
    texts = {
        "solve": f"{call}({found}, {b})", "inv": f"{call}({found})", "det": f"pg.asarray({call}({found}))",
        "slogdet": f"pg.asarray({call}({found})[1])", "cholesky": f"{call}({found})",
        "norm": f"pg.asarray({call}({found}{rng.choice(('', ', 1', ', np.inf', ', 2', ', None, 0'))}))",
        "cond": f"pg.asarray({call}({found}))", "qr": f"pg.matmul(*{call}({found}))",
        "svd": f"{call}({found})[1].copy()", "svdvals": f"{call}({found})", "eigvalsh": f"{call}({found})",
        "eigh": f"{call}({found})[0].copy()", "eig": f"pg.sort({call}({found})[0].real)",
        "eigvals": f"pg.sort({call}({found}).real)", "tensorinv": f"{call}({found}, ind=1)",
        "tensorsolve": f"{call}({found}, {b}{'[:, 0]' if len(shape) > 1 else ''})",
        "pinv": f"{call}({found})", "matrix_power": f"{call}({found}, 2)",
        "matrix_rank": f"pg.asarray({call}({found}))", "lstsq": f"{call}({found}, {b}, None)[0].copy()",
        "lu": f"pg.matmul(*{call}({found}, permute_l=True))", "lu_factor": f"{call}({found})[0].copy()",
        "lu_solve": f"{call}(pg.linalg.lu_factor({found}), {b})",
        "cho_factor": f"pg.tril({call}({found}, lower=True)[0])",
        "cho_solve": f"{call}(pg.linalg.cho_factor({found}), {b})",
        "solve_triangular": f"{call}({found}, {b}, lower={rng.random() < 0.5})",
    }
    text = texts[plain]
    with np.errstate(all="ignore"):
        result = np.asarray(writer.peek(text))
        largest = float(np.abs(writer.value(found)).max())
    single = writer.value(found).dtype.char in "fF"
    eps = float(np.finfo(np.float32 if single else float).eps)
    scale = max(1.0, float(np.abs(result).max(initial=0.0)), largest)
    writer.bind(text, 1e4 * n * n * eps * scale, is_ambiguous=True)
    writer.say(f"del {found}")


ROWS = (
    Row(_product, ("dot", "matmul", "outer", "kron", "tensordot", "vecdot", "array.__matmul__", "array.__rmatmul__",
                   "linalg.dot", "linalg.matmul", "linalg.outer", "linalg.tensordot", "linalg.vecdot"), 2.5),
    Row(_triangle, ("tril", "triu", "diagonal", "trace", "linalg.diagonal", "linalg.trace"), 1.5),
    Row(_factored, tuple(f"linalg.{x}" for x in (
        "solve", "inv", "det", "slogdet", "cholesky", "norm", "cond", "qr", "svd", "svdvals", "eig", "eigvals",
        "eigvalsh", "eigh", "tensorinv", "tensorsolve", "pinv", "matrix_power", "matrix_rank", "lstsq", "lu",
        "lu_factor", "lu_solve", "cho_factor", "cho_solve", "solve_triangular")), 0.7),
)
