"""Programs by slices, as in textbooks: one text for pgaspy and NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["OF_SHORT_STATEMENTS", "OF_SLICES", "Program"]

Arrays = list[NDArray[Any]]


@dataclass(frozen=True)
class Program:
    """A function of a module, pgaspy or NumPy, and of its arrays: the same text for both.

    Attributes
    ----------
    run
        Called with the module, its arrays, and the number of steps. It may overwrite the arrays.
    operands
        The arrays of a problem of size n, the same on every process.
    n_statements
        How many statements of which kind of `bench.statements` it takes for a problem of size n: of the kind that is
        written as they are, such as a row from which a number times another row is taken as a rank-1 update.
    """

    run: Callable[..., Any]
    operands: Callable[[int], Arrays]
    n_statements: Callable[[int], dict[str, int]] = lambda n: {}


def lu(xp: Any, A: Any, n_steps: int) -> Any:
    """The first columns of LU without pivoting, by rank-1 updates; both factors take the place of A.

    G. H. Golub and C. F. Van Loan, *Matrix Computations*, algorithm 3.2.1.
    """
    for k in range(n_steps):
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= A[k + 1:, k:k + 1] * A[k, k + 1:]
    return A


def gram_schmidt(xp: Any, A: Any, n_steps: int) -> Any:
    """The first columns of A = QR by the modified Gram-Schmidt method; Q takes the place of A.

    Golub and Van Loan, algorithm 5.2.6.
    """
    R = xp.zeros_like(A)
    for k in range(n_steps):
        R[k, k] = xp.linalg.norm(A[:, k])
        A[:, k] /= R[k, k]
        R[k, k + 1:] = A[:, k] @ A[:, k + 1:]
        A[:, k + 1:] -= A[:, k:k + 1] * R[k, k + 1:]
    return xp.stack([A, R])


def floyd_warshall(xp: Any, D: Any, n_steps: int) -> Any:
    """The lengths of shortest paths by way of the first nodes, from those of edges."""
    for k in range(n_steps):
        D = xp.minimum(D, D[:, k, None] + D[k])
    return D


def multigrid(xp: Any, u: Any, f: Any, n_steps: int) -> Any:
    """V-cycles for -(u_xx + u_yy) = f on the unit square; 2**p + 1 points in each dimension, u is zero at the edges.

    W. L. Briggs, V. E. Henson and S. F. McCormick, *A Multigrid Tutorial*, chapter 3.
    """
    for _ in range(n_steps):
        v_cycle(xp, u, f, 1 / (len(u) - 1))
    return u


def v_cycle(xp: Any, u: Any, f: Any, h: float) -> None:
    """Improve u, with points at distances of h, by coarser and coarser grids."""
    smooth(u, f, h)
    if len(u) > 3:
        residual = xp.zeros_like(u)
        residual[1:-1, 1:-1] = f[1:-1, 1:-1] - (4 * u[1:-1, 1:-1] - neighbours(u)) / h**2
        coarse = restricted(xp, residual)
        correction = xp.zeros_like(coarse)
        v_cycle(xp, correction, coarse, 2 * h)
        u += interpolated(xp, correction)
        smooth(u, f, h)


def neighbours(u: Any) -> Any:
    """The sums of the four neighbours of all points inside."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


def smooth(u: Any, f: Any, h: float) -> None:
    """Two sweeps of the damped Jacobi method."""
    for _ in range(2):
        u[1:-1, 1:-1] += 0.2 * (h**2 * f[1:-1, 1:-1] + neighbours(u) - 4 * u[1:-1, 1:-1])


def restricted(xp: Any, fine: Any) -> Any:
    """Every other point, weighted with its neighbours."""
    coarse = xp.zeros(((len(fine) + 1) // 2,) * 2)
    rows = (2 * fine[2:-1:2] + fine[1:-2:2] + fine[3::2]) / 4
    coarse[1:-1, 1:-1] = (2 * rows[:, 2:-1:2] + rows[:, 1:-2:2] + rows[:, 3::2]) / 4
    return coarse


def interpolated(xp: Any, coarse: Any) -> Any:
    """The means of neighbours between the points."""
    fine = xp.zeros((2 * len(coarse) - 1,) * 2)
    fine[::2, ::2] = coarse
    fine[1::2, ::2] = (coarse[1:] + coarse[:-1]) / 2
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) / 2
    return fine


def red_black(xp: Any, u: Any, f: Any, n_steps: int) -> Any:
    """Gauss-Seidel sweeps for 4 u - (its neighbours) = f: all red points of a chess board, then all black ones."""
    for _ in range(n_steps):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            u[i:-1:2, j:-1:2] = 0.25 * (f[i:-1:2, j:-1:2] + u[i - 1:-2:2, j:-1:2] + u[i + 1::2, j:-1:2]
                                        + u[i:-1:2, j - 1:-2:2] + u[i:-1:2, j + 1::2])
    return u


def adi(xp: Any, u: Any, n_steps: int) -> Any:
    """Steps of heat by alternating directions: D. W. Peaceman and H. H. Rachford, 1955. u is zero at the edges."""
    r = 0.5
    inner = u[1:-1, 1:-1]
    for _ in range(n_steps):
        inner[...] = (1 - 2 * r) * inner + r * (u[1:-1, :-2] + u[1:-1, 2:])
        solve_lines(inner, r)
        inner[...] = (1 - 2 * r) * inner + r * (u[:-2, 1:-1] + u[2:, 1:-1])
        solve_lines(inner.T, r)
    return u


def solve_lines(d: Any, r: float) -> None:
    """Solve (1 + 2 r) x[i] - r (x[i-1] + x[i+1]) = d[i] by L. H. Thomas's method, for rows; x takes the place of d."""
    factors = [r / (1 + 2 * r)]
    d[0] /= 1 + 2 * r
    for i in range(1, len(d)):
        pivot = 1 + 2 * r - r * factors[-1]
        d[i] = (d[i] + r * d[i - 1]) / pivot
        factors.append(r / pivot)
    for i in reversed(range(len(d) - 1)):
        d[i] += factors[i] * d[i + 1]


VELOCITIES = [e for e in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, e)) <= 2]
WEIGHTS = [{0: 1 / 3, 1: 1 / 18, 2: 1 / 36}[sum(map(abs, e))] for e in VELOCITIES]
"""Of the lattice D3Q19."""


def lattice_boltzmann(xp: Any, f: Any, n_steps: int) -> Any:
    """Steps of a fluid in a periodic box, with one relaxation time, by some 300 operations on fresh arrays each.

    Y. H. Qian, D. d'Humières and P. Lallemand, *Lattice BGK Models for Navier-Stokes Equation*, 1992.
    """
    omega = 1.2
    for _ in range(n_steps):
        for k, e in enumerate(VELOCITIES):
            f[k] = xp.roll(f[k], e, axis=(0, 1, 2))
        rho = f.sum(axis=0)
        u = [sum(e[d] * f[k] for k, e in enumerate(VELOCITIES) if e[d]) / rho for d in range(3)]
        energy = 1.5 * (u[0]**2 + u[1]**2 + u[2]**2)
        g = xp.empty_like(f)
        for k, (e, w) in enumerate(zip(VELOCITIES, WEIGHTS, strict=True)):
            along = 3 * (e[0] * u[0] + e[1] * u[1] + e[2] * u[2])
            g[k] = (1 - omega) * f[k] + omega * w * rho * (1 + along + 0.5 * along**2 - energy)
        f = g
    return f


def lu_by_rows(xp: Any, A: Any) -> Any:
    """LU without pivoting by rows of U and columns of L, as M. H. Doolittle did it."""
    for i in range(len(A)):
        A[i, i:] -= A[i, :i] @ A[:i, i:]
        A[i + 1:, i] = (A[i + 1:, i] - A[i + 1:, :i] @ A[:i, i]) / A[i, i]
    return A


def triangular_solve(xp: Any, L: Any, b: Any) -> Any:
    """Solve L x = b by forward substitution; x takes the place of b."""
    for i in range(len(b)):
        b[i] = (b[i] - L[i, :i] @ b[:i]) / L[i, i]
    return b


def thomas(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Solve a[i] x[i-1] + b[i] x[i] + c[i] x[i+1] = d[i], element by element; x takes the place of d."""
    for i in range(1, len(d)):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    d[-1] /= b[-1]
    for i in reversed(range(len(d) - 1)):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]
    return d


def gauss(xp: Any, A: Any, b: Any) -> Any:
    """Solve A x = b by elimination, row by row; x takes the place of b."""
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            w = A[i, k] / A[k, k]
            A[i, k:] -= w * A[k, k:]
            b[i] -= w * b[k]
    for i in reversed(range(n)):
        b[i] = (b[i] - A[i, i + 1:] @ b[i + 1:]) / A[i, i]
    return b


def edit_distance(xp: Any, differ: Any) -> Any:
    """The distances between all beginnings of two words, element by element.

    R. A. Wagner and M. J. Fischer, *The String-to-String Correction Problem*, 1974.
    """
    n, m = differ.shape
    D = xp.zeros((n + 1, m + 1))
    D[:, 0] = xp.arange(n + 1)
    D[0] = xp.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            changed = D[i - 1, j - 1] + differ[i - 1, j - 1]
            D[i, j] = xp.minimum(changed, xp.minimum(D[i - 1, j], D[i, j - 1]) + 1)
    return D


def largest_sum(xp: Any, x: Any) -> Any:
    """The largest sum of neighbouring elements, which are read one after the other: J. B. Kadane's method."""
    best = here = -math.inf
    for i in range(len(x)):
        value = float(x[i])
        here = max(here + value, value)
        best = max(best, here)
    return xp.array(best)


def insertion_sort(xp: Any, x: Any) -> Any:
    """Sort by exchanging neighbours that are in the wrong order."""
    for i in range(1, len(x)):
        while i > 0 and x[i] < x[i - 1]:
            x[i], x[i - 1] = x[i - 1], x[i]
            i -= 1
    return x


def _matrix(n: int) -> NDArray[Any]:
    """One whose factors do not grow."""
    return np.random.default_rng(1).random((n, n)) / n + np.eye(n)


def _lengths(n: int) -> NDArray[Any]:
    """Of edges between nodes."""
    return np.random.default_rng(1).random((n, n)) * (1 - np.eye(n))


def _field(n: int) -> NDArray[Any]:
    """One that is zero at the edges."""
    return np.pad(np.random.default_rng(2).random((n - 2, n - 2)), 1)


def _fields(n: int) -> Arrays:
    """An approximation and a right-hand side."""
    return [np.zeros((n, n)), _field(n)]


def _grids(n: int) -> Arrays:
    """The same, of the number of points that is nearest to n and can be halved."""
    return _fields(2**round(math.log2(n)) + 1)


def _populations(n: int) -> NDArray[Any]:
    """Of a fluid that flows along one dimension, faster or slower by the place."""
    ripples = 1 + 0.1 * np.random.default_rng(5).random((n, n, n))
    return np.stack([w * (1 + 0.3 * e[2]) * ripples for e, w in zip(VELOCITIES, WEIGHTS, strict=True)])


def _diagonals(n: int) -> Arrays:
    """Of a tridiagonal matrix, and a right-hand side."""
    a, b, c, d = np.random.default_rng(3).random((4, n))
    return [a, b + 3, c, d]


def _numbers(n: int) -> NDArray[Any]:
    """Of both signs, in no order."""
    return np.random.default_rng(4).random(n) - 0.5


def _n_exchanges(n: int) -> int:
    """Of neighbours, until the numbers are in order."""
    x = _numbers(n)
    return int(np.triu(x[:, None] > x).sum())


OF_SLICES = {
    "LU without pivoting": Program(lu, lambda n: [_matrix(n)]),
    "modified Gram-Schmidt": Program(gram_schmidt, lambda n: [_matrix(n)]),
    "Floyd-Warshall": Program(floyd_warshall, lambda n: [_lengths(n)]),
    "multigrid V-cycles": Program(multigrid, _grids),
    "red-black Gauss-Seidel": Program(red_black, _fields),
    "alternating directions": Program(adi, lambda n: [_field(n)]),
    "lattice Boltzmann": Program(lattice_boltzmann, lambda n: [_populations(n)]),
}
"""Those that work on large parts of their arrays at once, for a number of steps."""

OF_SHORT_STATEMENTS = {
    "LU by rows": Program(lu_by_rows, lambda n: [_matrix(n)], lambda n: {"dot": 2 * n, "row": 2 * n}),
    "triangular solve by rows": Program(triangular_solve, lambda n: [_matrix(n), _numbers(n)], lambda n: {"dot": n}),
    "Thomas's method": Program(thomas, _diagonals, lambda n: {"element": 4 * n}),
    "Gauss by rows": Program(gauss, lambda n: [_matrix(n), _numbers(n)], lambda n: {
        "rank-1": n * (n - 1) // 2, "element": n * (n - 1), "dot": n}),
    "edit distance": Program(edit_distance, lambda n: [_numbers(n) < _numbers(n)[:, None]], lambda n: {
        "element": 2 * n**2}),
    "largest sum": Program(largest_sum, lambda n: [_numbers(n)], lambda n: {"read": n}),
    "insertion sort": Program(insertion_sort, lambda n: [_numbers(n)], lambda n: {
        "read": n + _n_exchanges(n), "element": 2 * _n_exchanges(n)}),
}
"""Those that work on rows and elements."""
