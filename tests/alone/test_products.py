"""Products of small arrays, of vectors, matrices and stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.alone import small


@pytest.mark.parametrize("shape", [(7, 2, 3), (2, 1, 3, 4), (1, 4, 4), (30, 5, 1)])
@pytest.mark.parametrize("dtype", "fdFD")
def test_stacks_of_matrices_are_multiplied_at_once(shape: tuple[int, ...], dtype: str,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for columns in (1, 2, 9):
        x, y = (rng.standard_normal(s).astype(dtype) for s in (shape, (*shape[:-2], shape[-1], columns)))
        a, b = pg.array(x), pg.array(y)
        pg.sync()
        before = pg.stats()
        found = a @ b
        assert (pg.stats() - before).n_recorded == (pg.stats() - before).n_at_once == 1
        monkeypatch.setattr(small, "is_on", False)
        other = a @ b
        monkeypatch.undo()
        assert found.layout == other.layout
        np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)
        np.testing.assert_array_equal(found.gather(), x @ y, strict=True)


@pytest.mark.parametrize("dtype", "fd")
def test_products_and_means_of_more_elements(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random(100_003).astype(dtype) for _ in "12")
    m = rng.random((40, 5000)).astype(dtype)

    def of_ours() -> list[bytes]:
        a, b = pg.array(x), pg.array(y)
        pg.sync()
        before = pg.stats()
        found = a @ b, np.linalg.norm(a), a.mean(), np.average(b), pg.array(m) @ a[:5000]
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once or not small.is_on
        return [z.gather().tobytes() for z in found]

    found = of_ours()
    np.testing.assert_allclose(np.frombuffer(found[1], dtype), np.linalg.norm(x), 1e-5)
    monkeypatch.setattr(small, "is_on", False)
    assert found == of_ours()


@pytest.mark.every
@pytest.mark.parametrize("dtype", "fdFDbBiILl")
@pytest.mark.parametrize("compute", [
    lambda a, b: a @ b, lambda a, b: a @ b[:, 0], lambda a, b: b[:, 0] @ b, lambda a, b: b[::-1, 0] @ b[:, 1],
    lambda a, b: a.T @ a, lambda a, b: a * a[1, 2], lambda a, b: b[0, 0] - b, lambda a, b: a[1, 2] * b[0, 0],
    lambda a, b: 2 * a[0, 0], lambda a, b: b.conj() * b.sum(), lambda a, b: pg.vdot(a, a),
])
def test_bits_of_any_dtype_are_those_of_other_tiers(compute: Callable[..., Any], dtype: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x, y = (np.asarray(10 * rng.random(shape)).astype(dtype) for shape in ((4, 6), (6, 5)))
    if dtype in "FD":
        x, y = x + 1j * x[::-1], y - 1j * y[:, ::-1]
        x[0, 0] = np.inf
    with np.errstate(all="ignore"):
        found = compute(pg.array(x), pg.array(y))
        monkeypatch.setattr(small, "is_on", False)
        other = compute(pg.array(x), pg.array(y))
    assert found.layout == other.layout
    np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)


STACK = (5, 2, 3)


@pytest.mark.parametrize("shapes", [(STACK, (3, 4)), ((4, 2), STACK), (STACK, (3,)), ((2,), STACK),
                                    ((1, 2, 3), (5, 3, 2)), ((2, 1, 2, 3), (4, 3, 2)), (STACK, (1, 3, 1))])
@pytest.mark.parametrize("layout", [None, pg.Distribution("*", "cyclic"), "transposed", "result", "turned"])
@pytest.mark.parametrize("dtypes", ["dd", "fd", "ll", "dD", "ef"])
def test_stacks_of_other_depths_are_multiplied_at_once(shapes: tuple[tuple[int, ...], ...], layout: Any, dtypes: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True))

    def operand(x: NDArray[Any]) -> pg.GlobalArray:
        if isinstance(layout, pg.Distribution):
            return pg.array(x, layout=layout if x.ndim == 2 else None)
        if layout in ("transposed", "turned"):
            return pg.array(x.T.copy()).T if layout == "transposed" else pg.array(x[::-1])[::-1]
        return pg.array(x) * x.dtype.type(1) if layout == "result" else pg.array(x)

    found = operand(x) @ operand(y)
    monkeypatch.setattr(small, "is_on", False)
    other = operand(x) @ operand(y)
    assert found.layout == other.layout
    np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)
    np.testing.assert_array_equal(found.gather(), x @ y, strict=True)


@pytest.mark.parametrize("product", [
    lambda a, b: pg.einsum("nij,nj->ni", a, b[..., 0]), lambda a, b: pg.einsum("nij,mjk->nmik", a, b),
    lambda a, b: pg.einsum("nij,nij->n", a, a), lambda a, b: pg.tensordot(a, b, ((0, 2), (0, 1))),
    lambda a, b: pg.inner(a, b.mT), lambda a, b: pg.inner(a[0], a[1]), lambda a, b: pg.einsum("ij,kj->ik", a[0], a[0]),
    lambda a, b: pg.einsum("nij,nkj->nik", a, a), lambda a, b: pg.matvec(a, b[0, :, 0]),
])
def test_sums_of_products_are_those_of_other_tiers(product: Callable[..., Any],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random((6, 7, 5)), rng.random((6, 5, 3))
    product(pg.array(x), pg.array(y))
    a, b = pg.array(x), pg.array(y)
    before = pg.stats()
    found = product(a, b)
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    monkeypatch.setattr(small, "is_on", False)
    other = product(pg.array(x), pg.array(y))
    assert found.layout == other.layout
    np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)
