"""The product of two matrices by SUMMA.

The processes form a grid, and each holds a block of A, B and C. For each panel of columns of A and the panel of rows of
B that goes with it, the panel of A is replicated along the rows of the grid and that of B along the columns, and each
process adds their product to its block of C. The product is scheduled: while it is computed, the next panels travel.

R. van de Geijn and J. Watts, *SUMMA: Scalable Universal Matrix Multiplication Algorithm*, Concurrency: Practice and
Experience 9, 1997.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import pgaspy as pg
from pgaspy.blas import add_product

from ._program import Parser, matrices, norm, report, timed

__all__ = ["summa"]


def summa(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray, panel: int = 512) -> None:
    """C += A B. Collective.

    Parameters
    ----------
    A, B, C
        Shapes (m, n), (n, k) and (m, k), on one grid of two axes: the rows of A and C are dealt out alike over axis 0,
        the columns of B and C alike over axis 1. How n is dealt out does not matter.
    panel
        Columns of A and rows of B that are replicated at a time.

    Raises
    ------
    ValueError
        If the shapes or the layouts do not go together.
    """
    check_operands(A, B, C)
    for k in range(0, A.shape[1], panel):
        A1 = pg.replicate(A[:, k:k + panel], axis=1)  # a copy in every grid column
        B1 = pg.replicate(B[k:k + panel, :], axis=0)  # a copy in every grid row
        pg.schedule(add_product, pg.update(C), A1, B1)


def check_operands(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if C += A B is no product or its operands do not lie for SUMMA."""
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[0] or C.shape != (A.shape[0], B.shape[1]):
        raise ValueError(f"C += A B: shapes {C.shape}, {A.shape} and {B.shape} do not conform")
    a, b, c = A.layout, B.layout, C.layout
    if not (a.grid == b.grid == c.grid and a.dims[0] == c.dims[0] and b.dims[1] == c.dims[1]
            and (c.dims[0].axis, c.dims[1].axis) == (0, 1)):
        raise ValueError(f"C += A B: rows of A ({a}) and columns of B ({b}) have to lie as those of C ({c}), over "
                         "axes 0 and 1 of one grid: redistribute() them")


def residual(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray) -> float:
    """||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps) for a random x: of order 1 or below if C = A B. Collective."""
    x = pg.random.default_rng(seed=1).random(B.shape[1])
    scale = norm(A) * norm(B) * norm(x) * A.shape[1] * np.finfo(C.dtype).eps
    return norm(C @ x - A @ (B @ x)) / (scale or 1)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.summa", description="C = A B by SUMMA.")
    parser.add_argument("problem", nargs="+", help="the size of a random problem, or two .npy files: A and B")
    parser.add_argument("-o", "--output", metavar="C.npy", help="where to write C")
    parser.add_argument("--panel", type=int, default=512, help="columns of A replicated at a time (default: 512)")
    arguments = parser.parse_args(argv)
    if arguments.panel < 1:
        parser.error(f"--panel {arguments.panel} is below 1")
    try:
        A, B = matrices(arguments.problem, 2)
        C = pg.zeros((A.shape[0], B.shape[1]), A.dtype)
        check_operands(A, B, C)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    _, seconds = timed(summa, A, B, C, arguments.panel)
    (m, n), k = A.shape, B.shape[1]
    if arguments.output:
        pg.save(arguments.output, C)
    flop = (8 if C.dtype.kind == "c" else 2) * m * n * k
    report(f"summa: ({m} x {n}) ({n} x {k}), {C.dtype}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps)": (residual(A, B, C), 4)})


if __name__ == "__main__":
    main()
