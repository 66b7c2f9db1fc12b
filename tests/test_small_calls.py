"""Functions of small arrays of one process are NumPy's: the results are the same to the bit in all tiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from pgaspy.execution import recording
from pgaspy.tasks import perform

pytestmark = pytest.mark.skipif(pg.SIZE > 1, reason="is of one process")

X = np.random.default_rng(1).integers(-9, 9, (6, 5)) / 4
V = X.reshape(-1)
I = np.abs(X[0] * 4).astype(int)  # noqa: E741

CALLS: dict[str, Callable[..., Any]] = {
    "concatenate": lambda xp, a: xp.concatenate([a, a[:2]]),
    "concatenate along": lambda xp, a: xp.concatenate((a, a[:, :2]), axis=1),
    "stack": lambda xp, a: xp.stack([a, a * 2], axis=-1),
    "delete": lambda xp, a: xp.delete(a, [1, -1], axis=0),
    "insert": lambda xp, a: xp.insert(a, [0, 3], 7.5, axis=1),
    "repeat": lambda xp, a: xp.repeat(a, [1, 0, 2, 3, 1], axis=1),
    "tile": lambda xp, a: xp.tile(a, (2, 1, 2)),
    "roll": lambda xp, a: xp.roll(a, (1, -2), axis=(0, 1)),
    "searchsorted": lambda xp, a: xp.searchsorted(xp.sort(a[0]), a),
    "digitize": lambda xp, a: xp.digitize(a, [-1.0, 0.0, 1.0]),
    "unique": lambda xp, a: xp.unique(a, return_index=True, return_inverse=True, return_counts=True),
    "isin": lambda xp, a: xp.isin(a, [0.25, 1.0]),
    "take": lambda xp, a: xp.take(a, [[0, 3], [-1, 2]], axis=1),
    "take_along_axis": lambda xp, a: xp.take_along_axis(a, xp.argsort(a, axis=1), axis=1),
    "nonzero": lambda xp, a: xp.nonzero(a),
    "flatnonzero": lambda xp, a: xp.flatnonzero(a),
    "argwhere": lambda xp, a: xp.argwhere(a > 0),
    "count_nonzero": lambda xp, a: xp.count_nonzero(a, axis=0),
    "sort": lambda xp, a: xp.sort(a, axis=0),
    "argsort": lambda xp, a: xp.argsort(a, axis=1, kind="stable"),
    "lexsort": lambda xp, a: xp.lexsort((a[0], a[1])),
    "median": lambda xp, a: xp.median(a, axis=0),
    "percentile": lambda xp, a: xp.percentile(a, [10, 55.5]),
    "nanmedian": lambda xp, a: xp.nanmedian(xp.where(a > 1, a, np.nan)),
    "nanmedian along": lambda xp, a: xp.nanmedian(a, 0, keepdims=True),
    "nanquantile": lambda xp, a: xp.nanquantile(xp.where(a > 1, np.nan, a), [0.1, 0.7]),
    "nanpercentile": lambda xp, a: xp.nanpercentile(a, 30, axis=1, method="weibull"),
    "cov": lambda xp, a: xp.cov(a, ddof=0),
    "cov of columns": lambda xp, a: xp.cov(a, a + 1, rowvar=False),
    "corrcoef": lambda xp, a: xp.corrcoef(a, a[0] ** 2),
    "corrcoef of a vector": lambda xp, a: xp.corrcoef(a[0]),
    "diff": lambda xp, a: xp.diff(a, n=2, axis=0),
    "pad": lambda xp, a: xp.pad(a, ((1, 0), (2, 3)), mode="edge"),
    "diag": lambda xp, a: xp.diag(a, 1),
    "diag of a vector": lambda xp, a: xp.diag(a[0], -1),
    "trace": lambda xp, a: xp.trace(a, 1),
    "convolve": lambda xp, a: xp.convolve(a[:, 0], a[0], "same"),
    "packbits": lambda xp, a: xp.packbits(a > 0, axis=1, bitorder="little"),
    "unpackbits": lambda xp, a: xp.unpackbits(xp.abs(a * 4).astype("B"), axis=0, count=-3),
    "compress": lambda xp, a: xp.compress([True, False, True], a, axis=1),
    "extract": lambda xp, a: xp.extract(a > 0, a),
    "choose": lambda xp, a: xp.choose((a > 0) * 3, (a, a * 2), mode="wrap"),
    "unravel_index": lambda xp, a: xp.unravel_index(xp.abs(a * 4).astype(int), (5, 8)),
    "ravel_multi_index": lambda xp, a: xp.ravel_multi_index((xp.abs(a * 4).astype(int), (a > 0) * 1), (40, 2)),
    "interp": lambda xp, a: xp.interp(a, [-1, 0, 2], [5, 7, 1]),
    "union1d": lambda xp, a: xp.union1d(a[0], a[1]),
    "intersect1d": lambda xp, a: xp.intersect1d(a[0], a[1:3], return_indices=True),
    "setxor1d": lambda xp, a: xp.setxor1d(a[0], a[1]),
    "setdiff1d": lambda xp, a: xp.setdiff1d(a, a[1]),
    "diagonal": lambda xp, a: xp.diagonal(a, -1),
    "vander": lambda xp, a: xp.vander(a[0], 4, increasing=True),
    "kron": lambda xp, a: xp.kron(a[:2], a[1:]),
    "outer": lambda xp, a: xp.outer(a, a[0]),
    "cross": lambda xp, a: xp.cross(a[:, :3], a[::-1, 2:]),
    "gradient": lambda xp, a: xp.gradient(a, 0.3),
    "ediff1d": lambda xp, a: xp.ediff1d(a),
    "unwrap": lambda xp, a: xp.unwrap(a, axis=0, period=1.5),
    "i0": lambda xp, a: xp.i0(a),
    "round": lambda xp, a: xp.round(a / 3, 2),
    "resize": lambda xp, a: xp.resize(a, (4, 9)),
    "isclose": lambda xp, a: xp.isclose(a, a[0], atol=0.3),
    "polyval": lambda xp, a: xp.polyval([0.3, 0.2, 0.1], a),
    "vstack": lambda xp, a: xp.vstack([a, a[0]]),
    "hstack": lambda xp, a: xp.hstack([a, a[:, :1]]),
    "dstack": lambda xp, a: xp.dstack([a, a + 1]),
    "column_stack": lambda xp, a: xp.column_stack([a[:, 0], a]),
    "bincount": lambda xp, a: xp.bincount(xp.abs(a[0] * 4).astype(int), minlength=3),
    "tril": lambda xp, a: xp.tril(a, -1),
    "triu of a vector": lambda xp, a: xp.triu(a[0]),
    "select": lambda xp, a: xp.select([a > 1, a < -1], [a, a * 2], default=7),
    "nan_to_num": lambda xp, a: xp.nan_to_num(xp.where(a > 1, np.nan, a), nan=-2),
    "meshgrid": lambda xp, a: xp.meshgrid(a[0], a[:, 1]),
    "sparse meshgrid": lambda xp, a: xp.meshgrid(a[0], [1, 2], indexing="ij", sparse=True),
    "einsum": lambda xp, a: xp.einsum("ij,kj->ki", a, a),
    "einsum of three": lambda xp, a: xp.einsum("i,ij,j", a[:, 0], a, a[0]),
    "tensordot": lambda xp, a: xp.tensordot(a, a, (0, 0)),
    "tensordot of all": lambda xp, a: xp.tensordot(a, a),
    "inner": lambda xp, a: xp.inner(a, a[0]),
    "block": lambda xp, a: xp.block([[a, a[:, :1]], [a[:1], 3]]),
    "polyfit": lambda xp, a: xp.polyfit(xp.arange(6.0), a.astype(float), 1),
    "solve": lambda xp, a: xp.linalg.solve(a[:5] + 40 * xp.eye(5, dtype=a.dtype), a[0]),
    "inv": lambda xp, a: xp.linalg.inv(a[:5] + 40 * xp.eye(5, dtype=a.dtype)),
    "cholesky": lambda xp, a: xp.linalg.cholesky(a @ a.T + 40 * xp.eye(6, dtype=a.dtype), upper=True),
    "qr": lambda xp, a: (*xp.linalg.qr(a), xp.linalg.qr(a, "r")),
    "svd": lambda xp, a: (*xp.linalg.svd(a, False), xp.linalg.svd(a, compute_uv=False)),
    "eigh": lambda xp, a: (*xp.linalg.eigh(a[:5], "u"), xp.linalg.eigvalsh(a[:5])),
    "eig": lambda xp, a: (*xp.linalg.eig(a[:5]), xp.linalg.eigvals(a[:5])),
}


def gathered(found: Any) -> list[Any]:
    """Results as NumPy's."""
    return [x.gather() if isinstance(x, pg.GlobalArray) else np.asarray(x)
            for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("name", CALLS)
def test_results(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = X.astype(dtype)
    call, a = CALLS[name], pg.array(x)
    small_ones, expected = gathered(call(pg, a)), gathered(call(np, x))
    monkeypatch.setattr(small, "is_on", False)
    for found, other, numpys in zip(small_ones, gathered(call(pg, pg.array(x))), expected, strict=True):
        assert found.dtype == other.dtype == numpys.dtype
        np.testing.assert_array_equal(found, numpys)
        np.testing.assert_allclose(other, numpys, 1e-6, 1e-6)


OPERANDS: dict[str, Callable[[], pg.GlobalArray]] = {
    "whole": lambda: pg.array(X),
    "transposed": lambda: pg.array(X).T,
    "section": lambda: pg.array(np.pad(X, 1))[1:-1, 1:-1],
    "result": lambda: pg.array(X) * 1,
    "result of transposed": lambda: pg.array(X).T * 1,
    "plane": lambda: pg.array(np.stack([X, X])).sum(0),
    "rows of a mask": lambda: pg.array(X)[pg.array(X)[:, 0] > -99],
    "cyclic": lambda: pg.array(X, layout=pg.Distribution("cyclic", "*")),
}

OF_LAYOUTS: dict[str, Callable[[pg.GlobalArray], pg.GlobalArray]] = {
    "argmin": lambda a: pg.argmin(a),
    "argmin along": lambda a: pg.argmin(a, 1, keepdims=True),
    "max": lambda a: a.max(),
    "clip": lambda a: pg.clip(a, a[0], 2),
    "concatenate": lambda a: pg.concatenate([a, a[:2]]),
    "concatenate rows": lambda a: pg.concatenate([a[0], a[1]]),
    "concatenate all": lambda a: pg.concatenate([a, a[0]], None),
    "concatenate NumPy's": lambda a: pg.concatenate([np.ones((1, a.shape[1])), a]),
    "stack": lambda a: pg.stack([a, a]),
    "stack behind": lambda a: pg.stack([a, a], -1),
    "stack rows": lambda a: pg.stack([a[0], a[1]]),
    "roll": lambda a: pg.roll(a, 1, 0),
    "roll all": lambda a: pg.roll(a, 1),
    "roll a row": lambda a: pg.roll(a[0], 1),
    "outer": lambda a: pg.outer(a[:, 0], a[0]),
    "outer of all": lambda a: pg.outer(a, a[0]),
    "sort": lambda a: pg.sort(a, axis=0),
    "diff": lambda a: pg.diff(a),
    "pad": lambda a: pg.pad(a, 1),
    "isclose": lambda a: pg.isclose(a, a[0]),
    "compress": lambda a: pg.compress([True, False, True], a, axis=1),
    "cov": lambda a: pg.cov(a),
    "corrcoef": lambda a: pg.corrcoef(a),
    "nanmedian": lambda a: pg.nanmedian(a, 0),
    "tril": lambda a: pg.tril(a),
    "triu of a row": lambda a: pg.triu(a[0]),
    "select": lambda a: pg.select([a > 0], [a]),
    "nan_to_num": lambda a: pg.nan_to_num(a),
    "meshgrid": lambda a: pg.meshgrid(a[0], a[:, 0])[1],
    "solve": lambda a: pg.linalg.solve(a[:4, :4] + 9 * pg.eye(4), a[:4]),
    "inv": lambda a: pg.linalg.inv(a[:4, :4] + 9 * pg.eye(4)),
    "eigenvectors": lambda a: pg.linalg.eigh(a[:4, :4]).eigenvectors,
    "eigenvalues": lambda a: pg.linalg.eigvals(a[:4, :4]),
    "block": lambda a: pg.block([[a], [a]]),
    "singular values": lambda a: pg.linalg.svd(a).S,
    "singular vectors": lambda a: pg.linalg.svd(a).U,
    "fft": lambda a: pg.fft.fft(a),
    "fft along": lambda a: pg.fft.fft(a, 8, 0),
    "rfft": lambda a: pg.fft.rfft(a[0]),
    "irfft": lambda a: pg.fft.irfft(a),
}


@pytest.mark.parametrize("name", OF_LAYOUTS)
@pytest.mark.parametrize("operand", OPERANDS)
def test_layouts(operand: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = OF_LAYOUTS[name](OPERANDS[operand]()).layout
    monkeypatch.setattr(small, "is_on", False)
    assert found == OF_LAYOUTS[name](OPERANDS[operand]()).layout
    pg.sync()


@pytest.mark.parametrize("call", [
    lambda a: pg.trace(a), lambda a: a.trace(1), lambda a: pg.unwrap(a), lambda a: pg.unwrap(a.reshape(-1)),
    lambda a: pg.linalg.solve(a, a[0]), lambda a: pg.linalg.inv(a), lambda a: pg.array(pg.linalg.det(a / 9)),
    lambda a: pg.linalg.svd(a).Vh, lambda a: pg.linalg.eigh(a + a.T).eigenvalues, lambda a: pg.linalg.qr(a).R,
    lambda a: pg.linalg.lstsq(a, a[0])[0], lambda a: pg.fft.fft(a), lambda a: pg.fft.ifft(a[1] + 1j),
    lambda a: pg.fft.fft(a, 97, 0), lambda a: pg.fft.fft2(a + 0.5j), lambda a: pg.fft.fftn(a, (20, 30)),
    lambda a: pg.fft.fftn(a, axes=(0, 0)), lambda a: pg.fft.rfft(a, norm="ortho"), lambda a: pg.fft.irfft(a, 33),
    lambda a: pg.fft.irfftn(a), lambda a: pg.fft.fft(a.astype("f4")),
    lambda a: pg.fft.rfft(a[0, ::-1]), lambda a: pg.fft.rfft(a[0, ::-1], 97), lambda a: pg.fft.irfft(a[0, ::-1] + 1j),
    lambda a: pg.fft.ihfft(a[:1, ::-1], norm="ortho"), lambda a: pg.fft.fft(a[0, ::-1]),
    lambda a: pg.fft.fft(pg.broadcast_to(a[0], (4, 150))), lambda a: pg.array(a.sum()).sum(),
    lambda a: pg.average(a, weights=a + 1), lambda a: pg.array(a.astype(bool).any()).sum(),
])
def test_sums_have_the_same_bits_in_all_tiers(call: Callable[[pg.GlobalArray], pg.GlobalArray],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).random((150, 150)) * 20
    found = call(pg.array(x)).gather()
    monkeypatch.setattr(small, "is_on", False)
    assert found.tobytes() == call(pg.array(x)).gather().tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_results_are_new_arrays(name: str) -> None:
    a = pg.array(X)
    found = CALLS[name](pg, a)
    results = [x for x in (found if isinstance(found, tuple) else (found,)) if x.ndim]
    before = gathered(tuple(results))
    a[...] = 3
    for x, kept in zip(results, before, strict=True):
        np.testing.assert_array_equal(x.gather(), kept)
        if name not in ("diag", "diagonal"):  # which are only read
            x[...] = 1
    np.testing.assert_array_equal(a.gather(), np.full_like(X, 3))


NEW: dict[str, Callable[..., Any]] = {
    "zeros": lambda xp, a: xp.zeros((2, 3), int),
    "ones": lambda xp, a: xp.ones(4, "c8"),
    "empty": lambda xp, a: xp.empty((0, 3), np.uint8),
    "full": lambda xp, a: xp.full((3, 1), 2.5),
    "full of integers": lambda xp, a: xp.full(3, 7, "f4"),
    "eye": lambda xp, a: xp.eye(3, 4, 1),
    "eye beyond": lambda xp, a: xp.eye(3, k=-5, dtype=bool),
    "identity": lambda xp, a: xp.identity(3, "i2"),
    "arange": lambda xp, a: xp.arange(7),
    "arange down": lambda xp, a: xp.arange(2.0, -1, -0.3),
    "arange of none": lambda xp, a: xp.arange(3, 1),
    "arange of a dtype": lambda xp, a: xp.arange(1.5, 6, dtype="i4"),
    "linspace": lambda xp, a: xp.linspace(0.1, 2, 7),
    "linspace of integers": lambda xp, a: xp.linspace(-3, 2, num=4, endpoint=False, dtype=int),
    "zeros like": lambda xp, a: xp.zeros_like(a[1:, ::2]),
    "ones like": lambda xp, a: xp.ones_like(a * 2, dtype=int),
    "full like": lambda xp, a: xp.full_like(a, 1.25),
    "empty like": lambda xp, a: xp.empty_like(a[:0]),
    "like a list": lambda xp, a: xp.full_like([1, 2], 7),
    "a list": lambda xp, a: xp.array([1, 2.5, True]),
    "lists": lambda xp, a: xp.array(((1, 2), (3, 4)), "f4"),
    "NumPy's": lambda xp, a: xp.array(np.asfortranarray(X)),
    "a copy": lambda xp, a: xp.array(a[1]),
    "rows": lambda xp, a: xp.array([a[0], a[0] * a[1], a[2] / 4]),
    "columns": lambda xp, a: xp.array([a[:, 1], a[:, 0]]),
    "elements": lambda xp, a: xp.array([[a[0, 0], 2], [1.0, a[1, 1]]]),
    "rows and NumPy's": lambda xp, a: xp.array([[a[0], X[0].astype(a.dtype)], [a[3], a[4]]]),
    "rows and numbers": lambda xp, a: xp.array([a[0], [1, 2, 3, 4, 5.5]]),
    "matrices": lambda xp, a: xp.array((a, a + 1)),
    "transposed": lambda xp, a: a.T,
    "transposed twice": lambda xp, a: (a + 1).T[1:, ::2].T,
    "of the transposed": lambda xp, a: a.T[1:] * a[::-1, :4].T,
    "with axes exchanged": lambda xp, a: xp.array([a, a]).swapaxes(0, 2)[1],
    "a sum": lambda xp, a: a.sum(axis=0),
    "a sum of the transposed": lambda xp, a: a.T.sum(axis=0),
    "a sum in another dtype": lambda xp, a: a.sum(axis=-1, dtype="c16"),
    "a maximum with its dimension": lambda xp, a: a.max(axis=1, keepdims=True),
    "less the mean": lambda xp, a: a - a[:4].mean(axis=0, keepdims=True),
    "with all dimensions": lambda xp, a: a.sum(keepdims=True) + a[:1, :1],
    "minima of what is kept": lambda xp, a: a.min(axis=0, keepdims=True)[0, 1:].T,
    "any": lambda xp, a: (a > 1).any(axis=0),
    "a product": lambda xp, a: a.prod(axis=1, keepdims=True),
    "running sums": lambda xp, a: xp.cumsum(a[:, 0]),
    "of two axes": lambda xp, a: xp.array([a, a + 1]).sum(axis=(0, 2)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("layout", [None, pg.Distribution("*", "cyclic(2)"), pg.Distribution("*", "*")])
@pytest.mark.parametrize("name", NEW)
def test_new_arrays(name: str, layout: pg.Distribution | None, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = X.astype(dtype)
    found, expected = NEW[name](pg, pg.array(x, layout=layout)), NEW[name](np, x)
    monkeypatch.setattr(small, "is_on", False)
    other = NEW[name](pg, pg.array(x, layout=layout))
    assert (type(found), found.layout, found.dtype) == (type(other), other.layout, other.dtype)
    assert found.dtype == expected.dtype
    assert found.gather().tobytes() == other.gather().tobytes() == expected.tobytes()


@pytest.mark.parametrize("call", [
    lambda: pg.zeros(-1), lambda: pg.ones((2, -3)), lambda: pg.full(3, 300, "u1"), lambda: pg.zeros(3, object),
    lambda: pg.empty(2, order="X"), lambda: pg.arange(3, 1, 0), lambda: pg.eye(-2), lambda: pg.linspace(0, 1, -1),
    lambda: pg.zeros(3, onenode=99), lambda: pg.array([pg.ones(2), pg.ones(3)]), lambda: pg.zeros("3"),
    lambda: pg.ones(3, (float, 2)), lambda: pg.zeros(2, "i4,f8"),
    lambda: pg.full((2, 2), [1, 2, 3]), lambda: pg.arange(pg), lambda: pg.empty_like(pg.ones(3), "O")])
def test_what_no_array_is_made_of(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors are the same, to the word."""
    with pytest.raises(Exception) as small_ones:  # noqa: PT011
        call()
    monkeypatch.setattr(small, "is_on", False)
    with pytest.raises(small_ones.type) as others:
        call()
    assert str(small_ones.value) == str(others.value)


@pytest.mark.parametrize("seed", range(30))
def test_evenly_spaced_numbers_have_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    start, step = (rng.normal(size=2) * 10.0**rng.integers(-3, 9, 2)).tolist()
    stop = start + step * float(rng.uniform(0, 50))

    def bits() -> list[bytes]:
        found = [pg.arange(start, stop, step), pg.arange(start, stop, step, "f4"), pg.arange(int(start), int(stop), 3),
                 pg.linspace(start, stop, 33), pg.linspace(start, stop, 7, endpoint=False, dtype="f4"),
                 pg.linspace(int(start), int(stop), 9, dtype=int)]
        return [x.gather().tobytes() for x in found]

    found = bits()
    monkeypatch.setattr(small, "is_on", False)
    assert found == bits()


def test_what_is_new_is_there_at_once() -> None:
    a = pg.array(X)
    pg.sync()
    for call in NEW.values():
        call(pg, a)
        assert not len(recording.queue.recorded)
    x, y = pg.zeros(3), pg.array([a[0], a[1]])
    x += 1
    y[0] = 2
    assert (x.local() == 1).all()
    np.testing.assert_array_equal(y.gather(), [[2] * 5, X[1]])
    np.testing.assert_array_equal(a.gather(), X)


def test_larger_arrays_that_are_passed_through_once() -> None:
    a = pg.ones((300, 300)) > 0
    before = pg.stats()
    assert pg.array_equal(a, a.copy())
    b = pg.pad(a, 1)
    assert not pg.array_equal(a, b[1:-1, :-2])
    assert pg.array_equal(a, b[1:-1, 1:-1])
    assert not pg.array_equal([np.nan], pg.full(1, np.nan))
    assert pg.array_equal([np.nan], pg.full(1, np.nan), equal_nan=True)
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    np.testing.assert_array_equal(b.gather(), np.pad(a.gather(), 1))
    assert (b & True).sum() == 90000


def test_they_are_computed_at_once() -> None:
    a = pg.array(X)
    before = pg.stats()
    pg.concatenate([a, a])
    pg.sort(a)
    done = pg.stats() - before
    assert (done.n_recorded, done.n_at_once) == (2, 2)


def part(a: pg.GlobalArray) -> None:
    """Statements on a view of a part of complex numbers."""
    x = a.imag
    x[1:] += x[0] * 2
    x[2, 3] = x[1].sum() - x[2, 3]
    x *= a[0].real - x.T[:, 1:].max() + x[[0, 1]].min()
    a.real = x
    pg.roll(np.exp(x) + np.real(a[1, 1]) - np.imag(x), 1)


SMALL_STEPS: dict[str, Callable[..., Any]] = {
    "histogram": lambda a: pg.histogram(a, 4),
    "histogram2d": lambda a: pg.histogram2d(a[0], a[1], 3),
    "fft": lambda a: pg.fft.fft(a[0]),
    "rfft": lambda a: pg.fft.rfft(a, axis=0),
    "std": lambda a: a.std(axis=0, ddof=1),
    "nanmean": lambda a: pg.nanmean(a, axis=0),
    "nanmax": lambda a: pg.nanmax(a),
    "nan_to_num": lambda a: pg.nan_to_num(a.astype("f4")),
    "inner": lambda a: pg.inner(a[0], a[1]) + pg.asarray(a.sum()),
    "nanstd": lambda a: pg.nanstd(a),
    "einsum": lambda a: pg.einsum("ij,kj->ik", a, a),
    "random": lambda a: pg.random.default_rng(1).normal(size=5),
    "beta": lambda a: pg.random.default_rng(1).beta(1.0, 2.0, size=5),
    "tril": lambda a: pg.tril(a, 1) + pg.triu(a),
    "place": lambda a: pg.place(a, a > 0, [1.0, 2.0]),
    "put": lambda a: pg.put(a, [1, 3], 5.0),
    "minimum.at": lambda a: np.minimum.at(a, pg.array([0, 1]), 3.5),
    "out": lambda a: np.hypot(a, a, out=a),
    "take": lambda a: a.take(pg.array([1, 2])),
    "ravel": lambda a: a.ravel() + a.reshape(-1),
    "cumsum": lambda a: a.cumsum(),
    "a part": lambda a: part(a * 1j),
    "a cast": lambda a: a.__setitem__(0, pg.arange(5)),
}


@pytest.mark.parametrize("name", SMALL_STEPS)
def test_nothing_is_left_recorded(name: str) -> None:
    """What is would have later statements of small arrays recorded as well."""
    a = pg.array(X)
    pg.sync()
    SMALL_STEPS[name](a)
    assert not len(recording.queue.recorded)


def test_functions_that_raise_are_scheduled() -> None:
    def fail(a: Any) -> None:
        calls.append(a.shape)
        raise ValueError("no")

    calls: list[Any] = []
    a = pg.array(X)
    perform(fail, pg.update(a))
    with pytest.raises(pg.TaskError, match="no"):
        pg.sync()
    assert len(calls) == 2


def test_functions_are_called_at_once() -> None:
    def add(a: Any, b: Any, n: int) -> None:
        assert not b.flags.writeable
        a += b * n

    a, b, large = pg.array(X), pg.array(X), pg.ones(small.MAX_ELEMENTS + 1)
    pg.sync()
    perform(add, pg.update(a), b, 2)
    assert not len(recording.queue.recorded)
    np.testing.assert_array_equal(a.gather(), 3 * X)
    perform(add, pg.update(large), b[0, 0], 2)
    assert len(recording.queue.recorded) == 1
    assert float(large[-1]) == 1 + 2 * X[0, 0]


@pytest.mark.parametrize(("call", "words"), [
    (lambda a: pg.roll(a), r"^roll\(\) missing 1 required"), (lambda a: pg.outer(a), r"^outer\(\) missing 1 required"),
    (lambda a: pg.stack(a, "first"), "object cannot be interpreted as an integer")])
def test_arguments_that_are_refused_are_the_functions(call: Callable[[pg.GlobalArray], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(pg.array(X))


def test_a_list_that_is_in_itself_is_refused() -> None:
    x: list[Any] = []
    x.append(x)
    with pytest.raises((RecursionError, ValueError)):
        pg.concatenate([pg.ones(3), x])


def test_what_is_left_to_others() -> None:
    a, out = pg.array(X), pg.empty((12, 5))
    assert pg.concatenate([a, a], out=out) is out
    np.testing.assert_array_equal(out.gather(), np.concatenate([X, X]))
    assert pg.median(a, 0, out[0]) is not None
    np.testing.assert_array_equal(out[0].gather(), np.median(X, 0))
    columns = pg.array(X, layout=pg.Distribution("*", "cyclic(2)"))
    assert pg.sort(columns, 0).layout == columns.layout
    with pytest.raises(ValueError, match="same shape"):
        pg.stack([a, a[0]])
    with pytest.raises(IndexError):
        pg.take(a, 7, axis=0)


@pytest.mark.parametrize("is_on", [True, False])
def test_sums_in_another_order_of_bytes_are_refused(monkeypatch: pytest.MonkeyPatch, is_on: bool) -> None:
    monkeypatch.setattr(small, "is_on", is_on)
    with pytest.raises(TypeError, match="byte order"):
        np.ones(3).sum(dtype=">f8")
    with pytest.raises(TypeError, match="byte order"):
        pg.ones(3).sum(dtype=">f8")


def test_no_exception_tells_that_an_array_has_no_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find out whether it is an interrupt takes longer than the array."""
    asked: list[BaseException] = []
    monkeypatch.setattr(small, "is_interrupt", asked.append)
    x = pg.arange(3)
    assert pg.array(5).gather() == 5
    assert pg.append(x, 5).tolist() == [0, 1, 2, 5]
    assert pg.r_[0, x].tolist() == [0, 0, 1, 2]
    assert not asked


WRITTEN: dict[str, Callable[..., Any]] = {
    "place": lambda xp, a, m, v: xp.place(a, m, v[0, :2]),
    "place numbers": lambda xp, a, m, v: xp.place(a, m, [2, 3]),
    "putmask": lambda xp, a, m, v: xp.putmask(a, m, v),
    "putmask a row": lambda xp, a, m, v: xp.putmask(a, m, v[0]),
    "putmask itself": lambda xp, a, m, v: xp.putmask(a, m, a[::-1]),
    "copyto": lambda xp, a, m, v: xp.copyto(a, v, where=m),
    "copyto a number": lambda xp, a, m, v: xp.copyto(a, 7, where=m[0]),
    "copyto a float": lambda xp, a, m, v: xp.copyto(a, 1.5, "unsafe", m),
    "copyto shifted": lambda xp, a, m, v: xp.copyto(a[0, 1:], a[0, :-1]),
    "copyto wider": lambda xp, a, m, v: xp.copyto(dst=a, src=v.astype("D"), casting="unsafe"),
    "copyto refused": lambda xp, a, m, v: xp.copyto(a, v.astype("D")),
    "fill_diagonal": lambda xp, a, m, v: xp.fill_diagonal(a, 2),
    "fill_diagonal with floats": lambda xp, a, m, v: xp.fill_diagonal(a, [1.5, 2, -3.75]),
    "fill_diagonal with a row": lambda xp, a, m, v: xp.fill_diagonal(a.T, v[1], wrap=True),
    "fill_diagonal of a vector": lambda xp, a, m, v: xp.fill_diagonal(a[0], 2),
    "place of nothing": lambda xp, a, m, v: xp.place(a, m, []),
    "place text": lambda xp, a, m, v: xp.place(a, m, ["a"]),
    "putmask of another size": lambda xp, a, m, v: xp.putmask(a, m[0], v),
}


def written(write: Callable[..., Any], xp: Any, make: Callable[[Any], Any], dtype: str) -> Any:
    """An array, and the larger one of which it is a section, after that is written to it; or the error."""
    larger, m, v = make(np.pad(X, 1).astype(dtype)), make(X > 0), make((X * 3).astype(dtype))
    a = larger[1:-1, 1:-1]
    try:
        assert write(xp, a, m, v) is None
    except (TypeError, ValueError) as error:
        return type(error)
    return [x.gather() if isinstance(x, pg.GlobalArray) else x for x in (a, larger)]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", "F"])
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_to(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, expected = (written(WRITTEN[name], xp, make, dtype) for xp, make in ((pg, pg.array), (np, np.array)))
    monkeypatch.setattr(small, "is_on", False)
    other = written(WRITTEN[name], pg, pg.array, dtype)
    if isinstance(found, type):
        assert found is other is expected
        return
    for x, y, z in zip(found, other, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)
        np.testing.assert_array_equal(x, z, strict=True)


def test_what_is_written_to_is_there_at_once() -> None:
    a = pg.array(X)
    before = pg.stats()
    pg.fill_diagonal(a, 1.0)
    pg.putmask(a, a > 1, 0.0)
    pg.copyto(a, 2.0, where=a < 0)
    pg.place(a, a == 0, [3.0, 4.0])
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once


def test_what_others_borrow_is_not_written_to() -> None:
    a = pg.array(X)
    copies = pg.replicate(a, axis=0)
    pg.fill_diagonal(a, 9.0)
    pg.putmask(copies, copies < 0, 0.0)
    np.testing.assert_array_equal(copies.gather(), np.maximum(X, 0))
    expected = X.copy()
    np.fill_diagonal(expected, 9)
    np.testing.assert_array_equal(a.gather(), expected)


@pytest.mark.parametrize("call", [
    lambda a: pg.diagonal(a, 3), lambda a: pg.trace(a), lambda a: pg.fill_diagonal(a, 2.0), lambda a: pg.diag(a),
])
def test_of_what_is_large_a_diagonal_is_taken_at_once(call: Callable[[pg.GlobalArray], Any],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def taken() -> tuple[Any, ...]:
        a = pg.reshape(pg.arange(400.0 * 500), (400, 500))
        pg.sync()
        before = pg.stats()
        found = call(a)
        counts = pg.stats() - before
        found = a if found is None else found
        return counts.n_recorded - counts.n_at_once, found.layout.shape, found.gather().tobytes()

    found = taken()
    monkeypatch.setattr(small, "is_on", False)
    assert found == (0, *taken()[1:])


@pytest.mark.parametrize(("n", "is_recorded"), [(400, True), (200, False)])
def test_grids_of_many_points_are_recorded(n: int, is_recorded: bool) -> None:
    x = pg.array(np.arange(float(n)))
    found = pg.meshgrid(x, x)[1]
    assert (found._source is None) is is_recorded
    np.testing.assert_array_equal(found.gather(), np.meshgrid(np.arange(float(n)), np.arange(n))[1])


@pytest.mark.parametrize("function", [
    np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.svd, np.linalg.eigh, np.linalg.qr, np.linalg.cond,
    lambda a: np.linalg.solve(a, a[..., :2]), lambda a: np.linalg.solve(a[0], a), lambda a: np.linalg.pinv(a, 0.5),
    lambda a: np.linalg.cholesky(a @ a.swapaxes(-1, -2)), lambda a: np.linalg.eigvals(a), np.linalg.matrix_rank,
])
@pytest.mark.parametrize("operand", ["whole", "transposed", "section", "result", "cyclic", "replicated", "of one"])
def test_stacks_of_matrices(function: Callable[[Any], Any], operand: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).random((2, 5, 3, 3))
    make: dict[str, Callable[[], pg.GlobalArray]] = {
        "whole": lambda: pg.array(x), "transposed": lambda: pg.array(x.T.copy()).T, "result": lambda: pg.array(x) * 1,
        "section": lambda: pg.array(np.pad(x, 1))[1:-1, 1:-1, 1:-1, 1:-1], "of one": lambda: pg.array(x[:, :1]),
        "cyclic": lambda: pg.array(x, layout=pg.Distribution("*", "cyclic", "*", "*")),
        "replicated": lambda: pg.array(x, layout=pg.Distribution("*", "*", "*", "*"))}

    def told() -> list[Any]:
        found = function(make[operand]())
        return [type(found).__name__, *((y.layout, y.dtype, y.gather().tobytes())
                                        for y in (found if isinstance(found, tuple) else (found,)))]

    found = told()
    monkeypatch.setattr(small, "is_on", False)
    assert found == told()


@pytest.mark.parametrize("call", [pg.nan_to_num, pg.tril, lambda x: pg.meshgrid(pg.array([1.0]), x)])
def test_lists_in_themselves_are_refused(call: Callable[[Any], Any]) -> None:
    x: list[Any] = [1.0]
    x.append(x)
    with pytest.raises((RecursionError, ValueError)):
        call(x)


def test_a_stack_with_a_singular_matrix_is_refused() -> None:
    a = pg.zeros((3, 2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pg.linalg.inv(a)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        pg.linalg.inv(pg.zeros((3, 2, 4)))
    pg.sync()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "D", "?"])
@pytest.mark.parametrize("values", [[1, 2, 3], [1.5, -2, 1e300], [1 << 62, 0, 1], [True, False, True], [1j, 2, 3],
                                    [300, 0, 1], [1, 2], [1 << 70, 0, 1], [[1, 2, 3]]])
@pytest.mark.parametrize("key", [0, (slice(None), 1), slice(None), [0, 2], ...])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_lists_that_are_assigned(dtype: str, values: list[Any], key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> Any:
        a = pg.array(np.arange(9).reshape(3, 3).astype(dtype))
        try:
            a[key] = values
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)
        return a.gather().tobytes()

    found = told()
    monkeypatch.setattr(small, "is_on", False)
    assert found == told()
