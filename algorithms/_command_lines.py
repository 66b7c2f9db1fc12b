"""The programs: what their command lines take, how right their results are, and what they report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.algorithms._columns import check_operand, dealt_by_columns
from pgaspy.algorithms._program import Parser, in_blocks, matrices, norm, report, timed
from pgaspy.algorithms.cannon import cannon, check_operands
from pgaspy.algorithms.cholesky import cholesky
from pgaspy.algorithms.eigh import eigh, mirror
from pgaspy.algorithms.lu import lu
from pgaspy.algorithms.qr import apply_q, dealt_as, qr
from pgaspy.algorithms.summa import summa
from pgaspy.algorithms.svd import svd
from pgaspy.algorithms.triangular_solve import solve_triangular

__all__ = ["cannon_program", "cholesky_program", "jacobi_program", "lu_program", "qr_program", "summa_program",
           "triangular_solve_program"]


def product_residual(A: pg.GlobalArray, B: pg.GlobalArray, C: pg.GlobalArray) -> float:
    """||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps) for a random x: of order 1 or below if C = A B. Collective."""
    x = pg.random.default_rng(seed=1).random(B.shape[1])
    scale = norm(A) * norm(B) * norm(x) * A.shape[1] * np.finfo(C.dtype).eps
    return norm(C @ x - A @ (B @ x)) / (scale or 1)


def summa_program(argv: Sequence[str] | None = None, algorithm: Callable[..., Any] = summa) -> None:
    """The command line of `summa`."""
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

    _, seconds = timed(algorithm, A, B, C, arguments.panel)
    (m, n), k = A.shape, B.shape[1]
    if arguments.output:
        pg.save(arguments.output, C)
    flop = (8 if C.dtype.kind == "c" else 2) * m * n * k
    report(f"summa: ({m} x {n}) ({n} x {k}), {C.dtype}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps)": (product_residual(A, B, C), 4)})


def cannon_program(argv: Sequence[str] | None = None, algorithm: Callable[..., Any] = cannon) -> None:
    """The command line of `cannon`."""
    parser = Parser(prog="python -m pgaspy.algorithms.cannon", description="C = A B by Cannon's algorithm.")
    parser.add_argument("problem", nargs="+", help="the size of a random problem, or two .npy files: A and B")
    parser.add_argument("-o", "--output", metavar="C.npy", help="where to write C")
    arguments = parser.parse_args(argv)
    try:
        A, B = matrices(arguments.problem, 2)
        C = pg.zeros(A.shape, A.dtype)
        check_operands(A, B, C)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    _, seconds = timed(algorithm, A, B, C)
    if arguments.output:
        pg.save(arguments.output, C)
    n = A.shape[0]
    flop = (8 if C.dtype.kind == "c" else 2) * n**3
    report(f"cannon: n = {n}, {C.dtype}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps)": (product_residual(A, B, C), 4)})


def _factored(parser: Parser, argv: Sequence[str] | None, algorithm: Callable[..., Any]) -> tuple[
        pg.GlobalArray, pg.GlobalArray, Any, float, int]:
    """The matrix that a command line asks for, its factors, what the algorithm returns, its seconds, and the block."""
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        A = in_blocks(A, arguments)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    F = A.copy()
    found, seconds = timed(algorithm, F)
    if arguments.output:
        pg.save(arguments.output, F)
    return A, F, found, seconds, arguments.block


def lu_residual(A: pg.GlobalArray, F: pg.GlobalArray, pivots: pg.GlobalArray) -> float:
    """||L (U x) - P A x|| / (||A|| ||x|| n eps) for a random x, with F and pivots as `lu` leaves them. Collective."""
    m, n = A.shape
    k = min(m, n)
    L, U = pg.tril(F[:, :k], -1), pg.triu(F[:k])
    L += pg.eye(m, k, dtype=F.dtype, layout=L.layout)
    x = pg.random.default_rng(seed=1).random((n, 1))
    y = (A @ x).redistribute(pg.Distribution("*", "*"))
    pg.exchange_rows(y, pivots.redistribute(pg.Distribution("*")))
    return norm(L @ (U @ x) - y) / (norm(A) * norm(x) * n * np.finfo(F.dtype).eps or 1)


def lu_program(argv: Sequence[str] | None = None, algorithm: Callable[..., Any] = lu) -> None:
    """The command line of `lu`."""
    parser = Parser(prog="python -m pgaspy.algorithms.lu", description="P A = L U with partial pivoting.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="LU.npy", help="where to write U, and L below the diagonal")
    parser.add_blocks(192)
    A, F, pivots, seconds, block = _factored(parser, argv, algorithm)
    (m, n), k = A.shape, min(A.shape)
    flop = (4 if A.dtype.kind == "c" else 1) * (2 * m * n * k - (m + n) * k**2 + 2 * k**3 / 3)
    report(f"lu: {m} x {n}, {A.dtype}, blocks of {block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||L (U x) - P A x|| / (||A|| ||x|| n eps)": (lu_residual(A, F, pivots), 4)})


def cholesky_residual(A: pg.GlobalArray, F: pg.GlobalArray) -> float:
    """||U^H (U x) - A x|| / (||A|| ||x|| n eps) for a random x, with F as `cholesky` leaves it. Collective."""
    U = pg.triu(F)
    x = pg.random.default_rng(seed=1).random(len(A))
    return norm(U.T.conj() @ (U @ x) - A @ x) / (norm(A) * norm(x) * len(A) * np.finfo(F.dtype).eps or 1)


def cholesky_program(argv: Sequence[str] | None = None, algorithm: Callable[..., Any] = cholesky) -> None:
    """The command line of `cholesky`."""
    parser = Parser(prog="python -m pgaspy.algorithms.cholesky", description="A = U^H U.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="U.npy", help="where to write U, on and above the diagonal")
    parser.add_blocks(192, grid_rows=pg.SIZE)
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        A = in_blocks(A, arguments)
        n = len(A)
        if arguments.problem[0].isdigit():
            A = A + A.T + pg.eye(n, layout=A.layout) * (2 * n)
        F = A.copy()
        _, seconds = timed(algorithm, F)
    except (OSError, ValueError, np.linalg.LinAlgError) as error:
        parser.error(str(error))

    if arguments.output:
        pg.save(arguments.output, F)
    flop = (4 if A.dtype.kind == "c" else 1) * n**3 / 3
    report(f"cholesky: n = {n}, {A.dtype}, blocks of {arguments.block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||U^H (U x) - A x|| / (||A|| ||x|| n eps)": (cholesky_residual(A, F), 4)})


def qr_residual(A: pg.GlobalArray, F: pg.GlobalArray, T: pg.GlobalArray) -> float:
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


def qr_program(argv: Sequence[str] | None = None, algorithm: Callable[..., Any] = qr) -> None:
    """The command line of `qr`."""
    parser = Parser(prog="python -m pgaspy.algorithms.qr", description="A = Q R by Householder reflections.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="R.npy", help="where to write R, and V below the diagonal")
    parser.add_blocks(96)
    A, F, T, seconds, block = _factored(parser, argv, algorithm)
    (m, n), k = A.shape, min(A.shape)
    flop = (4 if A.dtype.kind == "c" else 1) * 2 * (2 * m * n * k - (m + n) * k**2 + 2 * k**3 / 3)
    report(f"qr: {m} x {n}, {A.dtype}, blocks of {block}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||Q (R x) - A x|| / (||A|| ||x|| n eps)": (qr_residual(A, F, T), 4),
            "||Q^H (Q x) - x|| / (||x|| m eps)": (lost_orthogonality(F, T), 4)})


def triangular_solve_program(argv: Sequence[str] | None = None,
                             algorithm: Callable[..., Any] = solve_triangular) -> None:
    """The command line of `triangular_solve`."""
    parser = Parser(prog="python -m pgaspy.algorithms.triangular_solve", description="L X = B, or U X = B.")
    parser.add_argument("problem", nargs="+", help="the size of a random problem, or two .npy files: T and B")
    parser.add_argument("-o", "--output", metavar="X.npy", help="where to write X")
    parser.add_argument("--upper", action="store_true", help="take the upper triangle of T")
    parser.add_argument("--columns", type=int, default=1, help="of B, of a random problem (default: 1)")
    parser.add_blocks(96)
    arguments = parser.parse_args(argv)
    try:
        T, B = matrices(arguments.problem, 2)
        T = in_blocks(T, arguments)
        if len(arguments.problem) == 1:
            T, B = T + pg.eye(len(T), layout=T.layout) * len(T), B[:, :arguments.columns].copy()
        X, seconds = timed(algorithm, T, B, not arguments.upper)
    except (OSError, ValueError) as error:
        parser.error(str(error))

    if arguments.output:
        pg.save(arguments.output, X)
    T = pg.triu(T) if arguments.upper else pg.tril(T)
    n, r = B.shape
    flop = (4 if B.dtype.kind == "c" else 1) * n * n * r
    ratio = norm(T @ X - B) / (norm(T) * norm(X) * n * np.finfo(B.dtype).eps or 1)
    report(f"triangular_solve: ({n} x {n}) ({n} x {r}), {B.dtype}", seconds, f"{flop / seconds / 1e9:.1f} GFLOP/s",
           {"||T X - B|| / (||T|| ||X|| n eps)": (ratio, 4)})


def jacobi_program(argv: Sequence[str] | None = None, name: str = "jacobi", svd: Callable[..., Any] = svd,
                   eigh: Callable[..., Any] = eigh) -> None:
    """The command line of `jacobi`, and of `svd` and `eigh`, which it runs."""
    parser = Parser(prog=f"python -m pgaspy.algorithms.{name}",
                    description="A = U S V^H by the one-sided Jacobi method.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="S.npy", help="where to write the singular values, or eigenvalues")
    parser.add_argument("--hermitian", action="store_true", default=name == "eigh",
                        help="eigenvalues and -vectors, of the lower triangle")
    arguments = parser.parse_args(argv)
    try:
        (A,) = matrices(arguments.problem, 1)
        check_operand(A)
        if arguments.hermitian and A.shape[0] != A.shape[1]:
            raise ValueError(f"eigenvalues are those of a square matrix, not of one of shape {A.shape}")
    except (OSError, TypeError, ValueError) as error:
        parser.error(str(error))

    n, eps = max(A.shape), float(np.finfo(A.dtype).eps)
    x = pg.random.default_rng(seed=1).random((A.shape[1], 1))
    if arguments.hermitian:
        A = dealt_by_columns(A)
        pg.schedule(mirror, pg.update(A), dealt_by_columns(A.T), A.global_indices(1))
        (s, U), seconds = timed(eigh, A)
        Vh = U.T.conj()
    else:
        (U, s, Vh), seconds = timed(svd, A)
    if arguments.output:
        pg.save(arguments.output, s)
    y = Vh @ x
    scale = norm(A) * norm(x) * n * eps or 1
    report(f"{name}: {A.shape[0]} x {A.shape[1]}, {A.dtype}", seconds, f"largest {float(abs(s).max()):.6g}",
           {"||A x - U S V^H x|| / (||A|| ||x|| n eps)": (norm(A @ x - U @ (s[:, None] * y)) / scale, 4),
            "||U^H U y - y|| / (||y|| n eps)": (norm(U.T.conj() @ (U @ y) - y) / (norm(y) * n * eps or 1), 4)})
