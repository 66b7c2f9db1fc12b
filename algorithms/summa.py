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

import numpy as np

import pgaspy as pg
from pgaspy.blas import add_product

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
        A1_MC_STAR = pg.align(A[:, k:k + panel], C, 0)
        B1_STAR_MR = pg.align(B[k:k + panel, :], C, 1)
        change = pg.write if k == 0 and beta == 0 else pg.update
        pg.schedule(add_product, change(C), cast(A1_MC_STAR, C), cast(B1_STAR_MR, C), 1, beta if k == 0 else 1)


def stationary_a(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray, panel: int, beta: complex) -> None:
    """The panels of B and C travel."""
    for j in range(0, C.shape[1], panel):
        C1, B1_MR_STAR = C[:, j:j + panel], pg.align(B[:, j:j + panel], A.T, 0)
        sums_MC_STAR = pg.align(np.zeros(C1.shape, C.dtype), A, 0)
        pg.schedule(add_product, pg.update(sums_MC_STAR), cast(A, C), cast(B1_MR_STAR, C))
        pg.combine(np.add, sums_MC_STAR)
        C1[...] = sums_MC_STAR if beta == 0 else beta * C1 + sums_MC_STAR


def stays(A: pg.GlobalArray) -> bool:
    """Whether A is dealt out over all axes of a grid, so that its products can be summed where it lies."""
    try:
        axes = sorted(dim.axis for dim in A.layout.dims if dim.axis is not None)
    except ValueError:  # a view without a layout of its own
        return False
    return axes == [*range(len(A.layout.grid))] != []


def cast(A: pg.GlobalArray, C: pg.GlobalArray) -> pg.GlobalArray:
    """A in the dtype of C."""
    return A.astype(C.dtype, copy=False)


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import summa_program

    summa_program(algorithm=summa)
