"""LU factorisation without pivoting, by blocks.

With the leading block A11 of b x b elements, and the rest of its block row and block column,

    [A11 A12]   [L11    ] [U11 U12]     A11 = L11 U11            by the process that owns it
    [A21 A22] = [L21 L22] [    U22]     A12 = L11 U12            by the processes of one grid row
                                        A21 = L21 U11            by the processes of one grid column
                                        A22 - L21 U12 = L22 U22  by all; then the same for this matrix

The blocks are dealt out in turn over the grid (`cyclic(b)`), so that all processes have work to the end.

Without pivoting this is stable for matrices that are diagonally dominant by rows or by columns: they have such a
factorisation, and no element grows to more than twice the largest of A (N. J. Higham, *Accuracy and Stability of
Numerical Algorithms*, 2nd ed., SIAM 2002, section 9.5). For other matrices the residual tells.

M. R. B. Kristensen, Y. Zheng and B. Vinter, *PGAS for Distributed Numerical Python Targeting Multi-core Clusters*,
IPDPS 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

import pgaspy as pg

from ._program import Parser, matrices, norm, report, timed

__all__ = ["lu"]


def lu(A: pg.GlobalArray) -> None:
    """Overwrite A with its factors: U on and above the diagonal, L below it (its diagonal is 1). Collective.

    Parameters
    ----------
    A
        Shape (n, n), floating-point, dealt out by square blocks: `Distribution("cyclic(b)", "cyclic(b)")`.

    Raises
    ------
    ValueError
        If A is not square, or its blocks are not.
    """
    check_operand(A)
    b, n_blocks = A.layout.block[0], A.layout.n_blocks[0]
    for k in range(n_blocks):
        here, rest = slice(k * b, (k + 1) * b), slice((k + 1) * b, None)
        A12, A21, A22 = A[here, rest], A[rest, here], A[rest, rest]

        for A11 in A.blocks(((k, k + 1), (k, k + 1))):  # on the one process that owns it
            factor(A11)
        LU11 = pg.replicate(pg.replicate(A[here, here], axis=0), axis=1).local()
        if A21.local().size:                            # L21 = A21 U11^-1
            A21.local()[...] = solve_triangular(LU11, A21.local().T, trans="T", check_finite=False).T
        if A12.local().size:                            # U12 = L11^-1 A12
            A12.local()[...] = solve_triangular(LU11, A12.local(), lower=True, unit_diagonal=True, check_finite=False)

        L21 = pg.replicate(A21, axis=1)                 # a copy in every grid column
        U12 = pg.replicate(A12, axis=0)                 # a copy in every grid row
        A22.local()[...] -= L21.local() @ U12.local()


def factor(a: NDArray[Any]) -> None:
    """Overwrite one block with its factors, as `lu` does a matrix."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a zero pivot shows in the residual
        for j in range(len(a) - 1):
            a[j + 1:, j] /= a[j, j]
            a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j], a[j, j + 1:])


def check_operand(A: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if A is not a square matrix in square blocks."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"lu takes a square matrix, not one of shape {A.shape}")
    dims = A.layout.dims
    b = A.layout.block[0]
    if A.layout.block != (b, b) or A.layout.n_blocks != (-(-A.shape[0] // b),) * 2 or len(A.layout.grid) != 2 or (
            [dim.axis for dim in dims] != [0, 1]):
        raise ValueError(f"lu takes square blocks on a grid of two axes, not {A.layout}: use "
                         'redistribute(pg.Distribution("cyclic(128)", "cyclic(128)"))')


def residual(A: pg.GlobalArray, F: pg.GlobalArray) -> float:
    """||L (U x) - A x|| / (||A|| ||x|| n eps) for a random x, with L and U as `lu` leaves them in F. Collective."""
    n = A.shape[0]
    i, j = F.global_indices(0), F.global_indices(1)
    U = F.copy()
    U.local()[i[:, None] > j] = 0
    x = pg.random.default_rng(seed=1).random(n)
    y = U @ x
    return norm(y + (F - U) @ y - A @ x) / (norm(A) * norm(x) * n * np.finfo(F.dtype).eps or 1)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.lu",
                    description="A = L U without pivoting, for diagonally dominant matrices.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="LU.npy", help="where to write U, and L below the diagonal")
    parser.add_argument("--block", type=int, default=128, help="rows and columns of a block (default: 128)")
    arguments = parser.parse_args(argv)
    try:
        block = f"cyclic({arguments.block})"
        (A,) = matrices(arguments.problem, 1)
        A = A.redistribute(pg.Distribution(block, block))
        check_operand(A)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    n = A.shape[0]
    if arguments.problem[0].isdigit():
        i, j = A.global_indices(0), A.global_indices(1)
        A.local()[i[:, None] == j] += n  # each row of the others adds up to less than n
    F = A.copy()
    _, seconds = timed(lu, F)
    if arguments.output:
        pg.save(arguments.output, F)
    flop = (8 if A.dtype.kind == "c" else 2) * n**3 / 3
    report(f"lu: n = {n}, {A.dtype}, blocks of {arguments.block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||L (U x) - A x|| / (||A|| ||x|| n eps)": (residual(A, F), 4)})


if __name__ == "__main__":
    main()
