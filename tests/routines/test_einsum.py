"""Einstein's sums, and products of vectors, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

RNG = np.random.default_rng(8)
M, N, Q, V, W = (RNG.normal(size=shape) for shape in ((4, 6), (6, 5), (5, 5), (6,), (4,)))
S, T = RNG.normal(size=(3, 4, 6)), RNG.normal(size=(3, 6, 5))
F = RNG.normal(size=(3, 5, 4, 6))

FORMS: dict[str, tuple[Any, ...]] = {
    "matrix product": ("ij,jk->ik", M, N), "implicit": ("ij,jk", M, N), "transposed": ("ij,jk->ki", M, N),
    "rows": ("ij,kj->ik", M, M), "columns": ("ij,ik->jk", M, M), "columns only": ("ji,jk->ki", N.T @ M.T, Q),
    "matrix and vector": ("ij,j->i", M, V), "vector and matrix": ("i,ij", W, M), "inner": ("i,i->", V, V),
    "outer": ("i,j->ij", V, W), "outer transposed": ("i,j->ji", V, W), "elementwise": ("ij,ij->ij", M, M),
    "elementwise transposed": ("ij,ij->ji", M, M), "Frobenius": ("ij,ij->", M, M), "rows with rows": ("ij,ij->i", M, M),
    "trace": ("ii->", Q), "implicit trace": ("ii", Q), "diagonal": ("ii->i", Q), "sum": ("ij->", M),
    "row sums": ("ij->i", M), "transposition": ("ij->ji", M), "implicit transposition": ("ba", M),
    "batch": ("bij,bjk->bik", S, T), "batch transposed": ("bij,bjk->kbi", S, T),
    "batch of vectors": ("bij,bj->bi", S, T[..., 0]),
    "batch and matrix": ("bij,jk->bik", S, N), "two summed": ("bij,bij->", S, S), "two of three": ("bij,cij->bc", S, S),
    "batch of two": ("abij,abij->ab", F, F), "tensors": ("abij,bk,jl->aikl", F, Q, N),
    "bilinear": ("i,ij,j->", W, M, V),
    "bilinear rows": ("bi,ij,bj->b", S[:, :, 0], M, S[:, 0]), "chain": ("ij,jk,kl->il", M, N, Q),
    "all alone": ("ij,kl->", M, N), "one alone": ("ij,kj->k", M, M), "trace and vector": ("ii,j->j", Q, V),
    "diagonals": ("aijj->ja", F[:, :, :, :4].transpose(0, 1, 2, 3)), "ellipsis": ("...ij,...jk->...ik", S, T),
    "ellipsis implicit": ("...ij,jk", S, N), "ellipsis broadcast": ("...ij,...jk", F, T[:, None]),
    "ellipsis trace": ("...ii->...", F[..., :4]), "ellipsis sum": ("i...->...", F), "ellipsis moved": ("i...->...i", F),
    "stretched": ("ij,ij->ij", M[:, :1], M), "stretched sum": ("ij,ij->", M[:1], M), "number": (",ij", 2.0, M),
    "numbers": (",->", 2.0, 3.0), "three vectors": ("i,i,i->i", V, V, V), "three sums": ("i,j,k->", V, W, V),
    "interleaved": (M, [0, 1], N, [1, 2], [0, 2]), "interleaved implicit": (M, [1, 0]),
    "interleaved diagonal": (Q, [0, 0], [0]), "interleaved trace": (Q, [0, 0]),
    "interleaved ellipsis": (S, [..., 0, 1], T, [..., 1, 2], [..., 0, 2]),
    "integers": ("ij,kj", (M * 9).astype("b"), 2 * (M * 5).astype("b")),
    "booleans": ("ij,kj", M > 1, M > 0.5), "kinds": ("ij,j", M.astype("f"), np.arange(6)),
    "complex": ("ij,jk", M * 1j, N),
    "empty": ("ij,jk", M[:, :0], N[:0]), "empty result": ("ij,jk", M[:0], N), "empty sum": ("ij->i", M[:, :0]),
    "views": ("ij,jk", M[::-1, ::2], N[::2]), "spaces": (" ij , jk -> ik ", M, N),
}


def globals_of(operands: tuple[Any, ...], layout: str) -> list[Any]:
    return [pg.array(x, layout=layout_of(layout, x.shape)) if isinstance(x, np.ndarray) else x for x in operands]


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, layout: str) -> None:
    expected = np.einsum(*FORMS[form])
    for m in (pg, np):
        given = globals_of(FORMS[form], layout)
        if m is pg or any(isinstance(x, pg.GlobalArray) for x in given):
            assert_equal(m.einsum(*given), expected, exact=False, rtol=1e-5 if form == "kinds" else 1e-11)


@pytest.mark.parametrize("layout", NAMES)
def test_an_array_with_itself(layout: str) -> None:
    x = RNG.normal(size=(3, 5, 3))
    a = pg.array(x, layout=layout_of(layout, x.shape))
    for text in ("ijk,ljm->ikm", "ijk,lmk->il", "ijk,kjm->im", "ijk,ilk->ijl"):
        assert_equal(pg.einsum(text, a, a), np.einsum(text, x, x), exact=False)
    assert_equal(a @ a.swapaxes(1, 2), x @ x.swapaxes(1, 2), exact=False)


def test_operands_lie_differently() -> None:
    for first in NAMES:
        for second in NAMES[::2]:
            a, b = pg.array(S, layout=layout_of(first, S.shape)), pg.array(T, layout=layout_of(second, T.shape))
            assert_equal(pg.einsum("bij,bjk->ik", a, b), np.einsum("bij,bjk->ik", S, T), exact=False)
            assert_equal(a @ b, S @ T, exact=False)


def test_options() -> None:
    a, b, out = pg.array(M), pg.array(N), pg.zeros((4, 5))
    collectively(pg.einsum("ij,jk", a, b, out=out) is out)
    assert_equal(out, M @ N, exact=False)
    assert_equal(pg.einsum("ij,jk", a, b, dtype=complex), np.einsum("ij,jk", M, N, dtype=complex), exact=False)
    for optimize in (True, False, "optimal", "greedy", ["einsum_path", (0, 1), (0, 1)]):
        found = pg.einsum("ij,jk,kl", a, b, pg.array(Q), optimize=optimize)
        assert_equal(found, M @ N @ Q, exact=False)
    out = pg.zeros(4, bool)
    pg.einsum("ij->i", pg.array(M > 1), out=out)
    assert_equal(out, np.einsum("ij->i", M > 1))
    view = pg.einsum("ij->ji", a)
    view[...] = 0
    assert_equal(a, M * 0)


@pytest.mark.parametrize(("operands", "match"), [
    ((), "must specify"), (("ij,jk", M), "2 terms"), (("i1", M), "invalid subscript"),
    (("ijk", M), "too many subscripts"), (("i", M), "more dimensions than subscripts"),
    (("ij->ik", M), "never appeared"), (("ij->ii", M), "more than once"),
    (("ij,jk", M, M), "broadcast"), (("ii", M), "collapsing index"), (("......", M), "not part of an ellipsis"),
    (("i...->i", F), "output has more dimensions"), (("i...,i...->i", M, M), "output has more dimensions")])
def test_what_does_not_fit(operands: tuple[Any, ...], match: str) -> None:
    raises_everywhere(ValueError, match, lambda: pg.einsum(*globals_of(operands, "block")))
    with pytest.raises(ValueError):  # noqa: PT011  (its words depend on the version)
        np.einsum(*operands)


def test_other_errors() -> None:
    a = pg.array(M)
    raises_everywhere(TypeError, "cannot be cast", lambda: pg.einsum("ij->i", a, dtype=int))
    raises_everywhere(ValueError, "shape", lambda: pg.einsum("ij->i", a, out=pg.zeros(6)))


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "inner": lambda m, x: m.inner(x(M), x(M)),
    "inner of vectors": lambda m, x: m.inner(x(V), x(V)),
    "inner of stacks": lambda m, x: m.inner(x(S), x(M)),
    "inner of a number": lambda m, x: m.inner(x(M), 2),
    "vdot": lambda m, x: m.vdot(x(M * 1j), x(M + 1j)),
    "vdot of other shapes": lambda m, x: m.vdot(x(M), x(M.T.copy())),
    "vdot of integers": lambda m, x: m.vdot(x((M * 9).astype("b")), x((M * 9).astype("b"))),
    "cross": lambda m, x: m.cross(x(M[:3].T), x(M[1:].T)),
    "cross of a vector": lambda m, x: m.cross(x(S[0, :3]), [1, 2, 3], axisa=0),
    "cross axes": lambda m, x: m.cross(x(S), x(S[::-1]), 0, 0, 1),
    "cross of two elements": lambda m, x: m.cross(x(S[0, :, :2]), x(S[1, :, 2:4])),
    "cross of two and three elements": lambda m, x: m.cross(x(S[0, :, :2]), x(S[1, :, 1:4]), axisc=0),
    "cross of three and two elements": lambda m, x: m.cross(x(S[0, :, :3]), [3, -2]),
    "cross axis": lambda m, x: m.cross(x(S), x(S + 1), axis=0),
    "cross of the Array API": lambda m, x: m.linalg.cross(x(S), x(S + 1), axis=0),
    "tensordot": lambda m, x: m.tensordot(x(F), x(F), ([1, 3], [1, 3])),
    "tensordot of all": lambda m, x: m.tensordot(x(S), x(S), 3),
    "tensordot of none": lambda m, x: m.tensordot(x(M), x(V), 0),
    "tensordot of one": lambda m, x: m.linalg.tensordot(x(F), x(N), axes=1),
    "dot of stacks": lambda m, x: m.dot(x(M), x(T)),
    "dot of two stacks": lambda m, x: m.dot(x(S), x(T)),
    "dot of a stack and a vector": lambda m, x: m.dot(x(S), x(V)),
    "matrix_power of a stack": lambda m, x: m.linalg.matrix_power(x(F[:, 0, :, :4]), 3),
    "matrix_power 0 of a stack": lambda m, x: m.linalg.matrix_power(x(F[:, 0, :, :4]), 0),
    "matrix_transpose": lambda m, x: m.linalg.matrix_transpose(x(S)),
    "multi_dot": lambda m, x: m.linalg.multi_dot([x(M), x(N), x(Q)]),
    "multi_dot of two": lambda m, x: m.linalg.multi_dot([x(M), x(N)]),
    "multi_dot of vectors": lambda m, x: m.linalg.multi_dot([x(W), x(M), x(N), x(Q), x(Q[0])]),
}


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, layout: str) -> None:
    expected = PRODUCTS[name](np, np.asarray)
    for m in (pg, np):
        found = PRODUCTS[name](m, lambda x: pg.array(x, layout=layout_of(layout, x.shape)))
        assert_equal(found, expected, exact=False, rtol=1e-11)


@pytest.mark.parametrize("layout", NAMES)
def test_matrices_and_vectors(layout: str) -> None:
    a, b, v = (pg.array(x, layout=layout_of(layout, x.shape)) for x in (S * 1j, T, V + 2j))
    assert_equal(pg.matvec(a, v), (S * 1j) @ (V + 2j), exact=False)
    assert_equal(pg.vecmat(v, b), (V - 2j) @ T, exact=False)
    assert_equal(pg.matvec(a, b[..., 0]), np.einsum("bij,bj->bi", S * 1j, T[..., 0]), exact=False)
    if hasattr(np, "matvec"):
        assert_equal(np.matvec(a, v), np.matvec(S * 1j, V + 2j), exact=False)
        assert_equal(np.vecmat(v, b), np.vecmat(V + 2j, T), exact=False)


def test_products_that_do_not_fit() -> None:
    a = pg.array(M)
    raises_everywhere(ValueError, "not aligned", lambda: pg.inner(a, pg.array(N)))
    raises_everywhere(ValueError, "as many elements", lambda: pg.vdot(a, V))
    raises_everywhere(ValueError, "must be 2 or 3.*with 6 elements", lambda: pg.cross(a, a))
    raises_everywhere(ValueError, "zero dimension", lambda: pg.cross(3, a))
    raises_everywhere(ValueError, "3-dimensional vectors", lambda: pg.linalg.cross(a[:, :2], a[:, :2]))
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        pg.cross(a[:, :2], a[:, :2])
    raises_everywhere(ValueError, "do not go together", lambda: pg.matvec(a, W))
    raises_everywhere(ValueError, "do not go together", lambda: pg.vecmat(pg.array(V), a))
    raises_everywhere(ValueError, "at least 2-dim", lambda: pg.linalg.matrix_transpose(V))
    raises_everywhere(ValueError, "at least two", lambda: pg.linalg.multi_dot([a]))
    raises_everywhere(np.linalg.LinAlgError, "must be two-dimensional", lambda: pg.linalg.multi_dot([a, V, a]))
    raises_everywhere(np.linalg.LinAlgError, "must be square", lambda: pg.linalg.matrix_power(S, 2))
    raises_everywhere(np.linalg.LinAlgError, "must be square", lambda: pg.linalg.matrix_power(S, -1))
    raises_everywhere(ValueError, "shape-mismatch", lambda: pg.tensordot(a, a, 1))
