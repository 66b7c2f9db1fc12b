"""The sweeps of the one-sided block Jacobi method, of which `svd` and `eigh` are made.

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
Eigenvalue Problems on Multiprocessor Arrays*, SIAM J. Sci. Stat. Comput. 6, 1985. Rotations near the
identity: Z. Drmac, *A Global Convergence Proof for Cyclic Jacobi Methods with Block Rotations*, SIAM J. Matrix Anal.
Appl. 31, 2009.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.algorithms._columns import lengths
from pgaspy.blas import add_product

__all__ = ["add_to_diagonal", "rotated"]

MAX_SWEEPS = 50
"""Random matrices take 5 to 10; those of which many blocks belong to one singular value take more."""


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


def add_to_diagonal(c: NDArray[Any], shift: float, columns: NDArray[np.int64]) -> None:
    """c += shift * I, with some columns of it here."""
    c[columns, np.arange(len(columns))] += shift


if __name__ == "__main__":
    from pgaspy.algorithms._command_lines import jacobi_program

    jacobi_program()
