"""QR factorisation by blocks of Householder reflections, with the next panel factored ahead; and of tall matrices.

With the leading block column of b columns, and the rest A2 of the matrix,

    [R11]   Q1^H [A11]                                               by the processes of one grid column
    [ 0 ] =      [A21]     Q1 = I - V T V^H                          (V below R, with a diagonal of 1; T is b x b)
    [R12]   Q1^H [A12]                   H      H
    [A22] =      [A22]        = A2 - V (T  (V  A2))                  by all; then the same for this A22

The blocks are dealt out in turn over the grid (`cyclic(b)`), so that all processes have work to the end. Everything is
recorded, and nobody waits: while the processes multiply, the next panel is factored and travels (lookahead).

J. Choi, J. J. Dongarra, L. S. Ostrouchov, A. P. Petitet, D. W. Walker and R. C. Whaley, *Design and Implementation of
the ScaLAPACK LU, QR, and Cholesky Factorization Routines*, Scientific Programming 5, 1996. V and T: R. Schreiber and
C. Van Loan, *A Storage-Efficient WY Representation for Products of Householder Transformations*, SIAM J. Sci. Stat.
Comput. 10, 1989. Tall matrices: P. G. Constantine and D. F. Gleich, *Tall and Skinny QR Factorizations in MapReduce
Architectures*, MapReduce 2011.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product, solve_triangle
from pgaspy.lapack import factor_qr

from ._program import Parser, check_blocks, in_blocks, matrices, norm, report, timed

__all__ = ["apply_q", "form_q", "qr", "tsqr"]


def qr(A: pg.GlobalArray) -> pg.GlobalArray:
    """Overwrite A with R on and above the diagonal, and V below it (its diagonal is 1). Collective.

    Parameters
    ----------
    A
        Shape (m, n), float32, float64, complex64 or complex128, dealt out by square blocks on a grid of two axes:
        `Distribution("cyclic(b)", "cyclic(b)")`. With one row of processes, `grid=(1, pg.SIZE)`, panels are factored by
        LAPACK; with more, column by column.

    Returns
    -------
    T, shape (b, min(m, n)): the triangle of each panel, above each other's columns, as the columns of A lie. With A as
    it is left, `apply_q` and `form_q` take it. R's diagonal is real, of any sign, as LAPACK's.

    Raises
    ------
    ValueError
        If A is no matrix in square blocks.
    """
    check_blocks(A)
    b, n = A.layout.block[1], min(A.shape)
    T = pg.align(np.zeros((b, n), A.dtype), A[:, :n], 1)
    W = pg.align(np.zeros((b, A.shape[1]), A.dtype), A, 1)
    factor_panel(A[:, :min(b, n)], T[:, :min(b, n)])
    for k in range(0, n, b):
        end = min(k + b, n)
        V, T1 = reflections(A, T, k)
        ahead = slice(end, min(end + b, n))
        for columns in (ahead, slice(ahead.stop, None)):
            reflect(V, T1, A[k:, columns], W[:, columns], adjoint=True)
            if columns is ahead and end < n:
                factor_panel(A[end:, ahead], T[:, ahead])
    return T


def apply_q(A: pg.GlobalArray, T: pg.GlobalArray, C: pg.GlobalArray, adjoint: bool = False) -> None:
    """C := Q C, or Q^H C. Collective.

    Parameters
    ----------
    A, T
        As `qr` leaves and returns them.
    C
        Shape (m, r), of A's dtype: its rows lie as those of A, its columns are dealt out over axis 1 of the grid.
    adjoint
        Apply Q^H.

    Raises
    ------
    ValueError
        If the shapes, dtypes or layouts do not go together.
    """
    check_rows(A, C)
    W = pg.align(np.zeros((len(T), C.shape[1]), C.dtype), C, 1)
    panels = range(0, T.shape[1], len(T))
    for k in panels if adjoint else reversed(panels):
        reflect(*reflections(A, T, k), C[k:], W, adjoint)


def form_q(A: pg.GlobalArray, T: pg.GlobalArray, k: int) -> pg.GlobalArray:
    """The first k columns of Q, shape (m, k), in blocks as A, with A and T as `qr` leaves them. Collective."""
    Q = pg.eye(len(A), k, dtype=A.dtype, layout=dealt_as(A))
    W = pg.align(np.zeros((len(T), k), A.dtype), Q, 1)
    for start in reversed(range(0, T.shape[1], len(T))):
        if start < k:                                                  # left of it, these rows are zero still
            reflect(*reflections(A, T, start), Q[start:, start:], W[:, start:], adjoint=False)
    return Q


def reflections(A: pg.GlobalArray, T: pg.GlobalArray, k: int) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """V and T of the panel that begins with column k, with a copy in every grid column."""
    here = slice(k, min(k + len(T), T.shape[1]))
    V = pg.replicate(A[k:, here], axis=1)
    pg.schedule(set_unit_lower, pg.update(V), V.global_indices(0))
    return V, pg.replicate(T[:here.stop - k, here], axis=1)


def reflect(V: pg.GlobalArray, T: pg.GlobalArray, C: pg.GlobalArray, W: pg.GlobalArray, adjoint: bool) -> None:
    """C := (I - V T V^H) C, or (I - V T^H V^H) C; W is space for one row per column of V, as the columns of C lie."""
    W = W[:len(T)]
    pg.schedule(multiply_adjoint, pg.write(W), V, C)                   # W = V^H C, of the rows that are here
    pg.combine(np.add, W)                                              # of all rows
    pg.schedule(subtract_product, pg.update(C), V, T, W, adjoint)      # C -= V (T W)


def set_unit_lower(v: NDArray[Any], rows: NDArray[np.int64]) -> None:
    """Set what is above the diagonal to 0, and the diagonal to 1; `rows` are the indices of the rows that are here."""
    rows = rows[rows < v.shape[1], None]
    columns = np.arange(v.shape[1])
    v[:len(rows)][rows < columns] = 0
    v[:len(rows)][rows == columns] = 1


def multiply_adjoint(w: NDArray[Any], v: NDArray[Any], c: NDArray[Any]) -> None:
    """W = V^H C."""
    add_product(w, v.conj().T, c, beta=0)


def subtract_product(c: NDArray[Any], v: NDArray[Any], t: NDArray[Any], w: NDArray[Any], adjoint: bool) -> None:
    """C -= V (T W), or V (T^H W)."""
    tw = np.empty_like(w)
    add_product(tw, t.conj().T if adjoint else t, w, beta=0)
    add_product(c, v, tw, -1)


# A panel -------------------------------------------------------------------------------------------------------------


def factor_panel(panel: pg.GlobalArray, T: pg.GlobalArray) -> None:
    """Factor some columns, at least as many rows, and write the triangle of their reflections into T's first rows."""
    T = T[:panel.shape[1]]
    if panel.layout.grid[0] == 1:
        pg.schedule(factor_here, pg.update(panel), pg.write(T))
    else:
        factor_by_columns(panel, T)


def factor_here(panel: NDArray[Any], t: NDArray[Any]) -> None:
    """Factor a panel that one process has all of."""
    factor_qr(panel, t)


def factor_by_columns(panel: pg.GlobalArray, T: pg.GlobalArray) -> None:
    """Factor a panel whose rows are dealt out, with one reduction for each column.

    All processes of the grid column have a copy of the first b rows, and do the same to it. The reduction multiplies
    column j, from which v follows, with all columns: with itself for its norm; with those before it, V, for the next
    column of T; and with those after it, so that W = V^H A, of A as it was, grows row by row. So column j needs to be
    brought up to date, A - V T^H W, only when it is its turn.
    """
    b = panel.shape[1]
    top, below = pg.replicate(panel[:b], axis=0), panel[b:]
    sums = pg.align(np.zeros((3, b), panel.dtype), panel, 1)
    W = pg.align(np.zeros((b, b), panel.dtype), panel, 1)
    for j in range(b):
        pg.schedule(multiply_column, pg.write(sums), top, below, j)
        pg.combine(add_scaled, sums)
        pg.schedule(make_reflection, pg.update(top), pg.update(below), pg.update(T), pg.update(W), sums, j)
    panel[:b] = top


def multiply_column(sums: NDArray[Any], top: NDArray[Any], below: NDArray[Any], j: int) -> None:
    """x^H A, ||x||^2 and e for x = 2^-e times column j, of the rows below that are here.

    No element of x is larger than 1: so no square overflows, and none that matters underflows.
    """
    with np.errstate(all="ignore"):
        column = below[:, j]
        largest = max(np.abs(top[j:, j]).max(), np.abs(column).max(initial=0))
        e = math.frexp(largest)[1] if math.isfinite(largest) else 0
        x = scaled(column, -e)
        sums[0] = x.conj() @ below
        sums[1] = np.vdot(x, x).real
        sums[2] = e


def scaled(x: Any, e: int) -> Any:
    """2^e x, where 2^e itself may be too large or too small for the dtype."""
    return x * 2.0**(e // 2) * 2.0**(e - e // 2)


def add_scaled(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """The sums of two processes, for the larger of their exponents."""
    e = max(lower[2, 0].real, higher[2, 0].real)
    result = np.zeros_like(lower)
    with np.errstate(all="ignore"):
        for part in (lower, higher):
            factor = 2.0 ** float(part[2, 0].real - e)
            result[0] += part[0] * factor
            result[1] += part[1] * factor * factor
    result[2] = e
    return result


def make_reflection(top: NDArray[Any], below: NDArray[Any], t: NDArray[Any], w: NDArray[Any], sums: NDArray[Any],
                    j: int) -> None:
    """Make I - tau v v^H, which brings column j to beta times the unit vector, as LAPACK's `larfg`; update column j+1.

    alpha and beta are scaled by 2^-e, as x is; v = (1, x / (alpha - beta)).
    """
    with np.errstate(all="ignore"):
        e = int(sums[2, 0].real)
        x = scaled(top[j:, j], -e)
        alpha, x = x[0].item(), x[1:]
        squares = float(sums[1, 0].real + np.vdot(x, x).real)
        if squares == 0 and alpha.imag == 0:
            beta, tau, factor = alpha, 0.0, 0.0
        else:
            beta = -math.copysign(math.hypot(alpha.real, alpha.imag, math.sqrt(squares)), alpha.real)
            tau, factor = (beta - alpha) / beta, 1 / (alpha - beta)
        products = top[j] + (x.conj() @ top[j + 1:] + sums[0]) * factor.conjugate()         # v^H (V, A)
        t[:j, j] = -tau * (t[:j, :j] @ products[:j].conj())
        t[j, j] = tau
        w[j, j + 1:] = products[j + 1:]
        top[j, j], top[j + 1:, j] = scaled(beta, e), x * factor
        below[:, j] = scaled(below[:, j], -e) * factor
        if j + 1 < top.shape[1]:
            y = t[:j + 1, :j + 1].conj().T @ w[:j + 1, j + 1]
            v = np.tril(top[:, :j + 1], -1)
            np.fill_diagonal(v, 1)
            top[:, j + 1] -= v @ y
            below[:, j + 1] -= below[:, :j + 1] @ y


# Tall matrices -------------------------------------------------------------------------------------------------------

divide_by_upper = functools.partial(solve_triangle, from_right=True)


def tsqr(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """Q and R of a tall matrix with few columns, with two reductions in all. Collective.

    R is that of the R's of each process's rows, two by two; Q = A R^-1, and the same once more for what rounding errors
    leave: Q = Q1 R2^-1, R = R2 R1. The diagonal of R is positive, so that the result does not depend on the number of
    processes (but for rounding errors).

    Parameters
    ----------
    A
        Shape (m, n), m >= n, float32, float64, complex64 or complex128: its rows are dealt out over all processes, and
        its columns are not, as by `Distribution("block", "*")`. A process may have any number of rows.

    Returns
    -------
    Q, shape (m, n), which lies as A does, and R, shape (n, n), on every process.

    Raises
    ------
    ValueError
        If A has other dimensions or another layout.
    numpy.linalg.LinAlgError
        If its columns are so nearly dependent that A R^-1 is not nearly orthogonal, or are not finite: take `qr`.
    """
    if A.ndim != 2 or len(A) < A.shape[1]:
        raise ValueError(f"tsqr takes a matrix with no more columns than rows, not an array of shape {A.shape}")
    rows, columns = A.layout.dims
    if rows.n_procs != pg.SIZE or columns.n_procs != 1:
        raise ValueError(f"tsqr takes a matrix whose rows alone are dealt out, over {pg.SIZE} processes, not "
                         f'{A.layout}: use redistribute(pg.Distribution("block", "*"))')
    R1, R2 = (pg.empty((A.shape[1],) * 2, A.dtype, layout=pg.Distribution("*", "*")) for _ in range(2))
    Q = A.copy()
    for R in (R1, R2):
        pg.schedule(factor_rows, pg.write(R), Q)
        pg.combine(join_triangles, R)
        if not is_well_conditioned(R.local()):
            raise np.linalg.LinAlgError("the columns are so nearly dependent that A R^-1 is not orthogonal: use "
                                        "pgaspy.algorithms.qr.qr")
        pg.schedule(divide_by_upper, pg.update(Q), R)
    pg.schedule(multiply_triangles, pg.update(R1), R2)
    return Q, R1


def factor_rows(r: NDArray[Any], a: NDArray[Any]) -> None:
    """R of some rows, with a positive diagonal."""
    n = len(r)
    f = np.zeros((max(len(a), n), n), a.dtype, order="F")
    f[:len(a)] = a
    factor_qr(f, np.empty_like(r))
    signs = np.copysign(1, np.diagonal(f).real).astype(r.dtype)
    r[...] = np.triu(f[:n]) * signs[:, None]


def join_triangles(lower: NDArray[Any], higher: NDArray[Any]) -> NDArray[Any]:
    """R of two triangles, one above the other."""
    r = np.empty_like(lower)
    factor_rows(r, np.concatenate((lower, higher)))
    return r


def multiply_triangles(r1: NDArray[Any], r2: NDArray[Any]) -> None:
    """R1 = R2 R1."""
    r1[...] = r2 @ r1


def is_well_conditioned(r: NDArray[Any]) -> bool:
    """Whether a division by a triangle leaves orthogonal columns nearly so; how its columns are scaled is no matter."""
    if not r.size:
        return True
    with np.errstate(all="ignore"):
        scaled, inverse = r / np.abs(r).max(axis=0), np.eye(len(r), dtype=r.dtype)
        solve_triangle(inverse, scaled)
        condition = np.abs(scaled).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
        return bool(condition * len(r) * np.finfo(r.dtype).eps < 1)    # not if it is NaN


# The program ---------------------------------------------------------------------------------------------------------


def dealt_as(A: pg.GlobalArray) -> pg.Distribution:
    """The distribution of a matrix in square blocks."""
    block = f"cyclic({A.layout.block[1]})"
    return pg.Distribution(block, block, grid=A.layout.grid)


def check_rows(A: pg.GlobalArray, C: pg.GlobalArray) -> None:
    """Raise ValueError, the same on every process, if C cannot be multiplied by Q where it lies."""
    if C.ndim != 2 or len(C) != len(A) or C.dtype != A.dtype:
        raise ValueError(f"Q of a {A.dtype} matrix of shape {A.shape} is not applied to {C.dtype} of shape {C.shape}")
    a, c = A.layout, C.layout
    if a.grid != c.grid or a.dims[0] != c.dims[0] or c.dims[1].axis != 1:
        raise ValueError(f"the rows of C ({c}) have to lie as those of A ({a}), and its columns over axis 1 of the "
                         "grid: redistribute() it")


def residual(A: pg.GlobalArray, F: pg.GlobalArray, T: pg.GlobalArray) -> float:
    """||Q (R x) - A x|| / (||A|| ||x|| n eps) for a random x, with F and T as `qr` leaves them. Collective."""
    (m, n), k = A.shape, min(A.shape)
    x = pg.random.default_rng(seed=1).random((n, 1))
    y = pg.zeros((m, 1), F.dtype, layout=dealt_as(F))
    y[:k] = pg.triu(F[:k]) @ x
    apply_q(F, T, y)
    return norm(y - A @ x) / (norm(A) * norm(x) * n * np.finfo(F.dtype).eps or 1)


def lost_orthogonality(F: pg.GlobalArray, T: pg.GlobalArray) -> float:
    """||Q^H (Q x) - x|| / (||x|| m eps) for a random x, with F and T as `qr` leaves them. Collective."""
    x = pg.random.default_rng(seed=1).random((len(F), 1)).astype(F.dtype).redistribute(dealt_as(F))
    y = x.copy()
    apply_q(F, T, y)
    apply_q(F, T, y, adjoint=True)
    return norm(y - x) / (norm(x) * len(F) * np.finfo(F.dtype).eps)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.qr", description="A = Q R by Householder reflections.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="R.npy", help="where to write R, and V below the diagonal")
    parser.add_blocks(96)
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        A = in_blocks(A, arguments)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    F = A.copy()
    T, seconds = timed(qr, F)
    if arguments.output:
        pg.save(arguments.output, F)
    (m, n), k = A.shape, min(A.shape)
    flop = (4 if A.dtype.kind == "c" else 1) * 2 * (2 * m * n * k - (m + n) * k**2 + 2 * k**3 / 3)
    report(f"qr: {m} x {n}, {A.dtype}, blocks of {arguments.block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||Q (R x) - A x|| / (||A|| ||x|| n eps)": (residual(A, F, T), 4),
            "||Q^H (Q x) - x|| / (||x|| m eps)": (lost_orthogonality(F, T), 4)})


if __name__ == "__main__":
    main()
