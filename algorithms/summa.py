"""The product of two matrices by SUMMA.

The processes form a grid, and each holds a block of A, B and C, of which the largest stays where it is. Where that is
C: for each panel of columns of A and the panel of rows of B that goes with it, the panel of A is replicated along the
rows of the grid and that of B along the columns, and each process adds their product to its block of C. Where it is A:
for each panel of columns of C, the panel of B comes to the columns of A, and the products are summed along the rows of
the grid. The products are scheduled: while they are computed, the next panels travel.

R. van de Geijn and J. Watts, *SUMMA: Scalable Universal Matrix Multiplication Algorithm*, Concurrency: Practice and
Experience 9, 1997; the stationary operands: M. Schatz, R. van de Geijn and J. Poulson, *Parallel Matrix Multiplication:
A Systematic Journey*, SIAM J. Sci. Comput. 38, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import pgaspy as pg
from pgaspy.blas import add_product

from ._program import Parser, matrices, norm, report, timed

__all__ = ["summa"]


def summa(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray, panel: int = 512, beta: complex = 1) -> None:
    """C = beta C + A B. Collective.

    Parameters
    ----------
    A, B, C
        Shapes (m, n), (n, k) and (m, k), arrays or views, in any layouts. Panels travel least where the rows of A and
        the columns of B lie as those of C, which shares no elements with them.
    panel
        Columns of A and rows of B (or columns of C) that travel at a time.
    beta
        A factor; with 0, what C holds before is not read.

    Raises
    ------
    ValueError
        If the shapes do not go together, or the local part of an operand that stays is no NumPy view.
    """
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[0] or C.shape != (A.shape[0], B.shape[1]):
        raise ValueError(f"C += A B: shapes {C.shape}, {A.shape} and {B.shape} do not conform")
    if not A.shape[1]:
        C[...] = beta * C if beta else 0
    elif A.size > max(2 * C.size, B.size) and stays(A):  # as C moves twice, to sum it
        stationary_a(A, B, C, panel, beta)
    elif B.size > 2 * C.size and stays(B):
        stationary_a(B.T, A.T, C.T, panel, beta)
    else:
        stationary_c(A, B, C, panel, beta)


def stationary_c(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray, panel: int, beta: complex) -> None:
    """The panels of A and B travel."""
    for k in range(0, A.shape[1], panel):
        A1 = pg.align(A[:, k:k + panel], C, 0)      # in every grid column, with the rows of C
        B1 = pg.align(B[k:k + panel, :], C, 1)      # in every grid row, with the columns of C
        change = pg.write if k == 0 and beta == 0 else pg.update
        pg.schedule(add_product, change(C), cast(A1, C), cast(B1, C), 1, beta if k == 0 else 1)


def stationary_a(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray, panel: int, beta: complex) -> None:
    """The panels of B and C travel."""
    for j in range(0, C.shape[1], panel):
        B1 = pg.align(B[:, j:j + panel], A.T, 0)    # in every grid row, with the columns of A
        C1 = C[:, j:j + panel]
        sums = pg.align(np.zeros(C1.shape, C.dtype), A, 0)      # in every grid column, with the rows of A
        pg.schedule(add_product, pg.update(sums), cast(A, C), cast(B1, C))
        pg.combine(np.add, sums)
        C1[...] = sums if beta == 0 else beta * C1 + sums


def stays(A: pg.GlobalArray) -> bool:
    """Whether A is dealt out over both axes of a grid, so that its products can be summed where it lies."""
    try:
        return sorted(dim.axis for dim in A.layout.dims if dim.axis is not None) == [0, 1] and len(A.layout.grid) == 2
    except ValueError:  # a view without a layout of its own
        return False


def cast(A: pg.GlobalArray, C: pg.GlobalArray) -> pg.GlobalArray:
    """A in the dtype of C."""
    return A.astype(C.dtype, copy=False)


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
        if A.shape[1] != B.shape[0]:
            raise ValueError(f"the shapes {A.shape} and {B.shape} do not conform")
        C = pg.zeros((A.shape[0], B.shape[1]), A.dtype)
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
