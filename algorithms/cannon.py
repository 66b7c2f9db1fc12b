"""The product of two matrices by Cannon's algorithm.

On a square grid of q x q processes, block row i of A is first shifted left by i blocks and block column j of B up by
j, so that every process holds a pair of blocks that goes together. Then q times: multiply, and shift A left and B up
by one block. Each shift is an assignment between overlapping views of one array.

L. E. Cannon, *A Cellular Computer to Implement the Kalman Filter Algorithm*, PhD thesis, Montana State University,
1969.
"""

from __future__ import annotations

import math

import pgaspy as pg
from pgaspy.blas import add_product

__all__ = ["cannon"]


def cannon(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray) -> None:
    """C += A B. Collective.

    Parameters
    ----------
    A, B, C
        Shape (n, n), one block per process on a square grid of q x q processes, n divisible by q.

    Raises
    ------
    ValueError
        If the grid is not square, the blocks are not equal, or the arrays do not lie alike.
    """
    check_operands(A, B, C)
    q = A.layout.grid[0]
    b = A.shape[0] // q
    A, B = skewed(A, b), skewed(B.T, b).T
    for step in range(q):
        if step:
            first = A[:, :b].copy()
            A[:, :-b] = A[:, b:]
            A[:, -b:] = first
            first = B[:b, :].copy()
            B[:-b, :] = B[b:, :]
            B[-b:, :] = first
        add_product(C.local(), A.local(), B.local())


def skewed(A: pg.GlobalArray, b: int) -> pg.GlobalArray:
    """A copy in which block row i is shifted left by i blocks of size b. Collective."""
    result = pg.empty_like(A)
    for i in range(0, A.shape[0], b):
        result[i:i + b, :A.shape[1] - i] = A[i:i + b, i:]
        result[i:i + b, A.shape[1] - i:] = A[i:i + b, :i]
    return result


def check_operands(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if the operands do not lie for Cannon's algorithm."""
    check_problem(A.shape, B.shape, A.layout.grid)
    q, n = A.layout.grid[0], A.shape[0]
    if C.shape != A.shape or not A.layout == B.layout == C.layout:
        raise ValueError(f"C += A B: A ({A.layout}), B ({B.layout}) and C ({C.layout}) have to lie alike")
    if A.layout.block != (n // q, n // q) or A.layout.n_blocks != (q, q):
        raise ValueError(f"A ({A.layout}) has to have one block of {n // q} x {n // q} per process")


def check_problem(a: tuple[int, ...], b: tuple[int, ...], grid: tuple[int, ...]) -> None:
    """Raise ValueError if matrices of these shapes cannot be multiplied on this grid."""
    if len(grid) != 2 or grid[0] != grid[1]:
        root = math.isqrt(math.prod(grid))
        raise ValueError(f"Cannon's algorithm needs a square grid of processes, this one is {grid}: use "
                         f"{root ** 2} or {(root + 1) ** 2} processes, or summa")
    if len(a) != 2 or a[0] != a[1] or a != b:
        raise ValueError(f"Cannon's algorithm takes two square matrices of one size, not of shapes {a} and {b}: use "
                         "summa")
    if a[0] % grid[0] or not a[0]:
        raise ValueError(f"n = {a[0]} is not a multiple of {grid[0]}, the processes along an axis of the grid: use "
                         f"n = {max(a[0] // grid[0], 1) * grid[0]}, or summa")


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import cannon_program

    cannon_program(algorithm=cannon)
