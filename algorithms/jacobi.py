"""Singular values and vectors, and Hermitian eigenvalues and -vectors, by the one-sided block Jacobi method.

Rotations V make the columns of A orthogonal: A V = U S has the singular values as the lengths of its columns. The
columns are dealt out as 2 p block columns, two to each of p processes, with the columns of V below those of A V:

    [A]       [Gi Gj]      Ri = qr([Gi Gj]),  svd(Ri) = . S W^H         the rotation W of two block columns, which
    [I]  =    [Vi Vj] W                                                 makes them orthogonal to each other

In each step every process does this to the two block columns that it has. Then they move around, so that in the 2 p - 1
steps of a sweep each meets each other one. Sweeps are repeated until all columns are orthogonal: after some sweeps the
convergence is quadratic. The larger columns go to the block column that is further left at the beginning of a sweep; so
in the end the singular values are sorted, and nothing moves that depends on data.

The local rotations are LAPACK's, of the triangular factor: the errors are those of a backward stable method, small
compared with ||A||, but not with every singular value.

The block method: M. Becka, G. Oksa and M. Vajtersic, *Dynamic Ordering for a Parallel Block-Jacobi SVD Algorithm*,
Parallel Computing 28, 2002. The round-robin: R. P. Brent and F. T. Luk, *The Solution of Singular-Value and Symmetric
Eigenvalue Problems on Multiprocessor Arrays*, SIAM J. Sci. Stat. Comput. 6, 1985. A QR factorisation first: Z. Drmac
and K. Veselic, *New Fast and Accurate Jacobi SVD Algorithm*, SIAM J. Matrix Anal. Appl. 29, 2008. Rotations near the
identity: Z. Drmac, *A Global Convergence Proof for Cyclic Jacobi Methods with Block Rotations*, same journal 31, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.blas import add_product

from ._program import Parser, matrices, norm, report, timed
from .qr import apply_q, form_q, qr

__all__ = ["eigh", "eigvalsh", "svd", "svdvals"]

MAX_SWEEPS = 50
"""Random matrices take 5 to 10; those of which many blocks belong to one singular value take more."""

TALL = 1.5
"""From this ratio of rows to columns on, the triangular factor takes the place of the matrix."""


# Singular values -----------------------------------------------------------------------------------------------------


def svd(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray, pg.GlobalArray]:
    """Factor A = U diag(s) Vh; A is not changed. Collective.

    The method of `numpy.linalg.svd` with `full_matrices=False`, but U and V come out with other signs.

    Parameters
    ----------
    A
        Shape (m, n), float32, float64, complex64 or complex128, in any layout.

    Returns
    -------
    U, s, Vh
        With k = min(m, n): U, shape (m, k), orthonormal columns; s, shape (k,), real and descending, replicated; Vh,
        shape (k, n), orthonormal rows. The vectors lie whole: columns of U and rows of Vh are dealt out in blocks.

    Raises
    ------
    ValueError
        If A is no matrix.
    TypeError
        If A has another dtype.
    numpy.linalg.LinAlgError
        If A has elements that are infinite or not a number, or the columns are not orthogonal after `MAX_SWEEPS`
        sweeps.
    """
    check_operand(A)
    if A.shape[0] < A.shape[1]:
        V, sigma, Uh = svd(A.T.conj())
        return Uh.T.conj(), sigma, V.T.conj()
    (m, n), unit = A.shape, largest_element(A)
    C = dealt_by_columns(A) / unit
    if pg.SIZE == 1 or not n:
        u, s, vh = np.linalg.svd(C.gather(), full_matrices=False)
        return dealt_by_columns(pg.array(u)), replicated(s * unit), dealt_by_columns(pg.array(vh).T).T
    tall = m >= TALL * n
    if tall:                                           # A = Q R;  R = U1 S V^H;  U = Q U1
        F, C, T = factored(C)
    GV = rotated(C, vectors=True)
    G, V = GV[:len(C)], GV[len(C):]                    # G = C V = U S
    U = orthonormalised(G)
    if tall:
        U1, U = U, pg.zeros((m, n), A.dtype, layout=by_columns(n))
        U[:n] = U1
        apply_q(F, T, U)
    return U, sorted_lengths(G, unit), dealt_by_columns(V).T.conj()


def svdvals(A: pg.GlobalArray) -> pg.GlobalArray:
    """The singular values alone, as `svd` gives them: shape (min(m, n),), replicated. Collective."""
    check_operand(A)
    if A.shape[0] < A.shape[1]:
        return svdvals(A.T)
    (m, n), unit = A.shape, largest_element(A)
    C = dealt_by_columns(A) / unit
    if pg.SIZE == 1 or not n:
        return replicated(np.linalg.svd(C.gather(), compute_uv=False) * unit)
    if m >= TALL * n:
        C = factored(C)[1]
    return sorted_lengths(rotated(C, vectors=False), unit)


# Eigenvalues ---------------------------------------------------------------------------------------------------------


def eigh(A: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray]:
    """Factor the Hermitian matrix A = V diag(w) V^H; A is not changed. Collective.

    The eigenvectors are the singular vectors of c I - A, which is positive definite and well conditioned with
    c = 1.5 ||A||, so that no V has to be accumulated. The eigenvalues are the Rayleigh quotients.

    Parameters
    ----------
    A
        Shape (n, n), float32, float64, complex64 or complex128, in any layout. Only the lower triangle is read, and
        the real part of the diagonal.

    Returns
    -------
    w, V
        w, shape (n,), real and ascending, replicated; V, shape (n, n), its orthonormal columns dealt out in blocks.

    Raises
    ------
    ValueError
        If A is no square matrix.
    TypeError
        If A has another dtype.
    numpy.linalg.LinAlgError
        If A has elements that are infinite or not a number, or the columns are not orthogonal after `MAX_SWEEPS`
        sweeps.
    """
    check_operand(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"eigenvalues are those of a square matrix, not of one of shape {A.shape}")
    n, H = len(A), dealt_by_columns(A)
    pg.schedule(mirror, pg.update(H), dealt_by_columns(A.T), H.global_indices(1))
    unit = largest_element(H)
    H /= unit
    if pg.SIZE == 1 or not n:
        w, v = np.linalg.eigh(H.gather())
        return replicated(w * unit), dealt_by_columns(pg.array(v))
    c = 1.5 * min(norm(H), float(abs(H).sum(axis=0).max())) or 1.0
    M = -H
    pg.schedule(add_to_diagonal, pg.update(M), c, M.global_indices(1))
    G = rotated(M, vectors=False)                      # G = (c I - A) V = V (c I - diag(w))
    V = orthonormalised(G)
    w = (V.conj() * (H @ V)).sum(axis=0).gather().real
    return replicated(np.sort(w) * unit), V


def eigvalsh(A: pg.GlobalArray) -> pg.GlobalArray:
    """The eigenvalues alone, as `eigh` gives them: shape (n,), replicated. Collective."""
    return eigh(A)[0]


def mirror(h: NDArray[Any], transposed: NDArray[Any], columns: NDArray[np.int64]) -> None:
    """Put the conjugate of the lower triangle above the diagonal, and make that real."""
    rows = np.arange(len(h))[:, None]
    np.conjugate(transposed, out=h, where=rows < columns)
    h[columns, np.arange(len(columns))] = h[columns, np.arange(len(columns))].real


def add_to_diagonal(c: NDArray[Any], shift: float, columns: NDArray[np.int64]) -> None:
    """c += shift * I, with some columns of it here."""
    c[columns, np.arange(len(columns))] += shift


# The sweeps ----------------------------------------------------------------------------------------------------------


def rotated(C: pg.GlobalArray, vectors: bool) -> pg.GlobalArray:
    """[G; V], or G alone, with orthogonal columns of G = C V in descending order. Collective.

    C has shape (m, n), m >= n > 0, its largest element is 1, and there are several processes. Array G below has block
    columns of [G; V] transposed, so that columns are contiguous; the last ones may have less than b columns, or none.
    """
    (m, n), p = C.shape, pg.SIZE
    b, height = -(-n // (2 * p)), m + n * vectors
    columns = pg.zeros((2 * p * b, height), C.dtype, layout=pg.Distribution(f"cyclic({2 * b})", "*"))
    columns[:n, :m] = C.T
    if vectors:
        V = columns[:n, m:].T
        pg.schedule(add_to_diagonal, pg.update(V), 1, V.global_indices(1))
    G = pg.empty((2 * p, b, height), C.dtype, layout=pg.Distribution("cyclic(2)", "*", "*"))
    pg.schedule(copy_elements, pg.write(G), columns)

    order, here = np.arange(2 * p), G.global_indices(0)
    found = pg.zeros((p, 2), layout=pg.Distribution("cyclic(1)", "*"))
    largest = lengths(C).max()
    for _ in range(MAX_SWEEPS):
        found[...] = 0
        for _ in range(2 * p - 1):
            pg.schedule(rotate, pg.update(G), pg.update(found), order[here], m, n, rounding(m, C.dtype) * largest)
            move(G)
            move(order)
            pg.sync()                                  # so that the plan of one step serves for all
        deviation, largest = found.max(axis=0).gather()
        if deviation <= 5 * rounding(m, C.dtype) * largest:
            pg.schedule(copy_elements, pg.write(columns), G)
            return columns[:n].T
    raise np.linalg.LinAlgError(f"the Jacobi method did not converge in {MAX_SWEEPS} sweeps")


def move(G: Any) -> None:
    """One step of the round-robin: block column 0 stays, the others go on by one place in a circle.

    Process k has block columns 2k and 2k+1. After 2p - 1 steps all are where they were, and all pairs have met.
    """
    above, below = G[0::2], G[1::2]
    first, last = below[:1].copy(), above[-1:].copy()
    above[2:] = above[1:-1]
    above[1:2] = first
    below[:-1] = below[1:]
    below[-1:] = last


def rounding(m: int, dtype: np.dtype[Any]) -> float:
    """What deviates from orthogonality by less, relative to ||A||, may be rounding errors of a rotation."""
    return 2 * max(10, math.sqrt(m)) * float(np.finfo(dtype).eps)


def rotate(g: NDArray[Any], found: NDArray[np.float64], order: NDArray[np.int64], m: int, n: int,
           slack: float) -> None:
    """Make the columns of two blocks orthogonal, and the larger ones those of the block that is first in the order.

    `found` receives what it is before, over the sweep: how far columns are from being orthogonal and in order, as the
    length of the smaller one's part along the larger one; and the length of the largest column.
    """
    b = g.shape[1]
    first, second = (g[k, :min(max(n - int(order[k]) * b, 0), b)] for k in np.argsort(order))
    both = np.concatenate((first, second))
    if not both.size:
        return
    G = both[:, :m].T
    products = np.abs(G.conj().T @ G)
    norms = np.sqrt(np.diagonal(products))
    np.fill_diagonal(products, 0)
    larger = np.maximum(norms, norms[:, None])
    deviation = (products / np.where(larger > 0, larger, 1)).max()
    disorder = (norms - np.minimum.accumulate(norms)).max()
    found[0] = np.maximum(found[0], (max(deviation, disorder), norms.max()))
    if deviation > slack:
        try:
            W = rotation(G, slack)
        except np.linalg.LinAlgError:                  # the same for all processes, at the end of the sweep
            found[0, 0] = np.inf
            return
        add_product(first, W.T[:len(first)], both, beta=0)
        add_product(second, W.T[len(first):], both, beta=0)
    elif disorder > 0:
        both = both[np.argsort(-norms, kind="stable")]
        first[...], second[...] = both[:len(first)], both[len(first):]


def rotation(G: NDArray[Any], slack: float) -> NDArray[Any]:
    """W, unitary, so that the columns of G W are orthogonal and descending.

    Of singular values that differ by less than `slack`, any basis of the vectors will do: the one that is nearest to
    the columns as they are, for others are orthogonal to these already.
    """
    _, s, Wh = np.linalg.svd(np.linalg.qr(G, mode="r"))
    k = 0
    while k < len(s):
        same = slice(k, k + int(np.searchsorted(-s[k:], slack - s[k], side="right")))
        if same.stop - k > 1:
            u, _, vh = np.linalg.svd(Wh[same, same])
            Wh[same] = (u @ vh).conj().T @ Wh[same]
        k = same.stop
    return Wh.conj().T


def copy_elements(target: NDArray[Any], source: NDArray[Any]) -> None:
    """The same elements in another shape."""
    target[...] = source.reshape(target.shape)


# Columns that lie whole ----------------------------------------------------------------------------------------------


def check_operand(A: pg.GlobalArray) -> None:
    """Raise, the same on every process, if A is not a matrix of a dtype that LAPACK knows."""
    if A.ndim != 2:
        raise ValueError(f"a decomposition takes a matrix, not an array of shape {A.shape}")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"a decomposition takes float32, float64, complex64 or complex128, not {A.dtype}: use "
                        "astype(float)")


def largest_element(A: pg.GlobalArray) -> float:
    """By how much to divide A, so that squares neither overflow nor vanish; LinAlgError if A is not finite."""
    largest = float(abs(A).max()) if A.size else 1.0
    if not math.isfinite(largest):
        raise np.linalg.LinAlgError("the matrix has elements that are infinite or not a number: the Jacobi method did "
                                    "not converge")
    return largest or 1.0


def by_columns(n: int) -> pg.Distribution:
    """How n columns lie: in square blocks on a grid with one row of processes."""
    block = f"cyclic({min(max(-(-n // pg.SIZE), 1), 64)})"
    return pg.Distribution(block, block, grid=(1, pg.SIZE))


def dealt_by_columns(A: pg.GlobalArray) -> pg.GlobalArray:
    """A copy of a matrix, whose columns lie whole. Collective."""
    return A.redistribute(by_columns(A.shape[1]))


def replicated(x: NDArray[Any]) -> pg.GlobalArray:
    """A vector that every process has, as a global array."""
    return pg.array(x, layout=pg.Distribution("*"))


def lengths(G: pg.GlobalArray) -> NDArray[Any]:
    """The Euclidean norms of the columns. Collective."""
    return np.sqrt(np.square(abs(G)).sum(axis=0).gather())


def sorted_lengths(G: pg.GlobalArray, unit: float) -> pg.GlobalArray:
    """The norms of columns that are in descending order, up to rounding, times what A was divided by. Collective."""
    return replicated(np.sort(lengths(G))[::-1] * unit)


def factored(C: pg.GlobalArray) -> tuple[pg.GlobalArray, pg.GlobalArray, pg.GlobalArray]:
    """(F, R, T) of C = Q R, m >= n, where F and T are what `apply_q` and `form_q` take; F is C. Collective."""
    T = qr(C)
    return C, pg.triu(C[:C.shape[1]]), T


def orthonormalised(G: pg.GlobalArray) -> pg.GlobalArray:
    """Orthonormal columns in the directions of the orthogonal ones of G, or any where these are zero. Collective.

    R of G = Q R is diagonal, up to rounding: only its signs are taken.
    """
    F, R, T = factored(dealt_by_columns(G))
    Q = form_q(F, T, G.shape[1])
    pg.schedule(take_signs, pg.update(Q), R, R.global_indices(1))
    return Q


def take_signs(q: NDArray[Any], r: NDArray[Any], columns: NDArray[np.int64]) -> None:
    """Multiply columns by the signs of a real diagonal."""
    q *= np.where(r[columns, np.arange(len(columns))].real < 0, -1, 1)


# The program ---------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.jacobi",
                    description="A = U S V^H by the one-sided Jacobi method.")
    parser.add_argument("problem", nargs=1, help="the size of a random problem, or a .npy file")
    parser.add_argument("-o", "--output", metavar="S.npy", help="where to write the singular values, or eigenvalues")
    parser.add_argument("--hermitian", action="store_true", help="eigenvalues and -vectors, of the lower triangle")
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
    report(f"jacobi: {A.shape[0]} x {A.shape[1]}, {A.dtype}", seconds, f"largest {float(abs(s).max()):.6g}",
           {"||A x - U S V^H x|| / (||A|| ||x|| n eps)": (norm(A @ x - U @ (s[:, None] * y)) / scale, 4),
            "||U^H U y - y|| / (||y|| n eps)": (norm(U.T.conj() @ (U @ y) - y) / (norm(y) * n * eps or 1), 4)})


if __name__ == "__main__":
    main()
