"""Functions and reductions of small arrays: as in the other tiers, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from tests.flushes import refuse_quickly


def test_of_two_zeros_the_first_is_the_least_as_for_kernels() -> None:
    x = pg.array([0.0, -0.0])
    assert np.signbit(np.minimum(x, -x).gather()).tolist() == [False, True]
    assert np.signbit(np.maximum(x[1], x[0]).item())
    assert not np.signbit(np.minimum(x[0], x[1]).item())
    for number in 1.0, np.inf, np.nan:
        y = pg.array([number, np.nan, 2.0])
        for function in np.minimum, np.maximum:
            for k in range(3):
                np.testing.assert_equal(function(y[0], y[k]).item(), function(number, y.gather()[k]))
                np.testing.assert_equal(function(y[k], y[0]).item(), function(y.gather()[k], number))


def test_scans_along_no_dimension_are_refused_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.arange(5.0)
    for is_on in (True, False):
        monkeypatch.setattr(small, "is_on", is_on and pg.SIZE == 1)
        with pytest.raises(np.exceptions.AxisError, match=r"^axis 1 is out of bounds for array of dimension 1$"):
            a.cumsum(axis=1)


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8"])
def test_unsigned_integers_are_divided_at_once(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no kernels, so that NumPy's functions compute them in all tiers."""
    x, y = np.arange(12, dtype=dtype).reshape(3, 4) * 5000, np.arange(12, dtype=dtype).reshape(3, 4) % 5
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x % y, lambda x, y: x // y, lambda x, y: x % 7, lambda x, y: x << y, lambda x, y: 99 >> y,
        lambda x, y: x % np.float64(2.5), lambda x, y: x // y.astype("i2")]
    for call in calls:
        with np.errstate(all="ignore"):
            expected = call(x, y)
        before = pg.stats()
        found = call(pg.array(x), pg.array(y))
        assert expected.dtype != dtype or pg.stats().n_recorded - before.n_recorded == (
            pg.stats().n_at_once - before.n_at_once)
        monkeypatch.setattr(small, "is_on", False)
        other = call(pg.array(x), pg.array(y)).gather()
        monkeypatch.undo()
        np.testing.assert_array_equal(found.gather(), other, strict=True)
        np.testing.assert_array_equal(found.gather(), expected, strict=True)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize("dtype", "?bBhilqfdFD")
@pytest.mark.parametrize("ufunc", [np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_xor, np.less,
                                   np.multiply, np.maximum, np.arctan2, np.power])
def test_numbers_of_numpys_beside_arrays_of_any_dtype(ufunc: Any, dtype: str) -> None:
    """They are not read as of the dtype of the result, or as another one that they have not."""
    x = np.array([0, 1, 2, 3]).astype(dtype)
    a = pg.array(x)
    for of in "?bilfdFD":
        for number in (np.dtype(of).type(value) for value in (0, 1, 2)):
            element = pg.full(2, number)[0] if of in "ldD" else number
            for operands, same in (((x, number), (a, number)), ((number, x), (number, a)), ((x, number), (a, element))):
                try:
                    expected = ufunc(*operands)
                except TypeError:
                    continue
                np.testing.assert_allclose(ufunc(*same).gather(), expected, rtol=1e-5, strict=True)


@pytest.mark.parametrize("dtype", "dlfF")
@pytest.mark.parametrize("ufunc", [np.subtract, np.maximum, np.less, np.arctan2, np.true_divide])
def test_arrays_of_numpys_come_first(ufunc: Any, dtype: str) -> None:
    x, y = np.array([3, -1, 2, 5]).astype(dtype), np.array([1, 4, -2, 5]).astype(dtype)
    if dtype == "F" and ufunc is np.arctan2:
        return
    a, before = pg.array(y), pg.stats()
    found, apart = ufunc(x, a), ufunc(x[::-1][:, None], a)
    assert pg.stats().n_at_once - before.n_at_once >= (pg.SIZE == 1)
    np.testing.assert_allclose(found.gather(), ufunc(x, y), rtol=1e-6, strict=True)
    np.testing.assert_allclose(apart.gather(), ufunc(x[::-1][:, None], y), rtol=1e-6, strict=True)
    assert ufunc(x.astype(x.dtype.newbyteorder()), a).dtype == ufunc(x, y).dtype


@pytest.mark.parametrize("dtype", "dlfF")
def test_products_with_arrays_of_numpys(dtype: str) -> None:
    rng = np.random.default_rng(5)
    operands = [rng.integers(-4, 5, shape).astype(dtype) for shape in ((4, 4), (4,), (4, 3), (2, 4))]
    for x in operands:
        for y in operands:
            if x.shape[-1] == y.shape[0]:
                for found in x @ pg.array(y), pg.array(x) @ y:
                    assert isinstance(found, pg.GlobalArray)
                    np.testing.assert_array_equal(found.gather(), x @ y, strict=True)
    with pytest.raises(ValueError, match=r"matmul|mismatch"):
        operands[2] @ pg.array(operands[3])


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("dtype", "dl")
@pytest.mark.parametrize("ufunc", [np.add, np.minimum, np.remainder, np.less])
def test_results_in_the_place_of_operands(ufunc: Any, dtype: str) -> None:
    x = np.array([[1.0, -2, 3, np.nan if dtype == "d" else 7], [1.5, 4, -1, 2]]).astype(dtype)
    a, b = pg.array(x), pg.array(x[:, ::-1])
    before = pg.stats()
    for c, d in (x, x[:, ::-1].copy()), (a, b):
        row, other = c[0], d[1]
        assert ufunc(row, other, out=row) is row
        ufunc(c, c[1], out=d)
        ufunc(c[0, 1], c[1, 1], out=d[0, 2, ...])
        ufunc(c[1, 0], 2 if dtype == "l" else 2.0, out=d[1])
        ufunc(d[0, 1:], d[0, :-1], out=d[0, 1:])
        with pytest.raises(ValueError, match="broadcast"):
            ufunc(row, c, out=row)
        if isinstance(c, np.ndarray):
            expected = c, d
    assert pg.stats().n_recorded - before.n_recorded == pg.stats().n_at_once - before.n_at_once or ufunc is np.less
    for found, numpys in zip((a, b), expected, strict=True):
        np.testing.assert_array_equal(found.gather(), numpys, strict=True)


@pytest.mark.parametrize("reduce", ["sum", "max", "argmin"])
def test_what_is_reduced_may_have_more_elements(reduce: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).random((400, 301))
    found = [getattr(pg.array(x), reduce)(axis) for axis in (None, 0, 1)]
    monkeypatch.setattr(small, "is_on", False)
    for one, axis in zip(found, (None, 0, 1), strict=True):
        np.testing.assert_array_equal(one.gather(), getattr(pg.array(x), reduce)(axis).gather(), strict=True)


@pytest.mark.parametrize("dtype", "?bBhHilLfdD")
@pytest.mark.parametrize("numbers", [(True, False), (1, 0), (0, 2.5), (True, 3), (None, True), (None, 2), (-1, None),
                                     (None, 0.5), (300, None), (None, None), (1j, None)])
def test_one_of_two_is_chosen_at_once(numbers: tuple[Any, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m, x = np.arange(12).reshape(3, 4) % 3 == 0, np.arange(12).reshape(3, 4).astype(dtype)
    a, b = (x if number is None else number for number in numbers)
    try:
        expected = np.where(m, a, b)
    except OverflowError:
        return
    mask = pg.array(m)

    def of_ours() -> Any:
        return pg.where(mask, *[pg.array(y) if y is x else y for y in (a, b)])

    before = pg.stats()
    found = of_ours()
    is_left = (found.dtype != x.dtype and None in numbers) or (-1 in numbers and x.dtype.kind == "u")
    assert is_left or pg.stats().n_recorded - before.n_recorded == pg.stats().n_at_once - before.n_at_once
    np.testing.assert_array_equal(found.gather(), expected, strict=True)
    with monkeypatch.context() as patch:
        refuse_quickly(patch)
        np.testing.assert_array_equal(of_ours().gather(), expected, strict=True)
    monkeypatch.setattr(small, "is_on", False)
    other = of_ours()
    assert other.layout == found.layout
    np.testing.assert_array_equal(other.gather(), expected, strict=True)


def test_one_of_two_is_chosen_at_once_of_stretched_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1)
    x, rows, columns = (values.random(shape) for shape in ((2, 3, 4), (3, 1), (4,)))

    def of(np: Any) -> list[Any]:
        a, b, c = (np.array(operand) for operand in (x, rows, columns))
        masks = [operand > 0.5 for operand in (a, b, c, c[0], a.T[:, :, 0].T, c[:, None, None])]
        return [np.where(mask, *of) for mask in masks
                for of in ((a, b), (c, a), (b, c), (a, 0.0), (1, a[0]), (a.max(), b), (a.T[0, 0, 0], a), (1.0, 0.0),
                           (a[1:], a[:1]), (a[0].T[:, :, None], b[:1]), (a[..., :0], b)) if fits(mask, *of)]

    def fits(*operands: Any) -> bool:
        try:
            np.broadcast_shapes(*map(np.shape, operands))
        except ValueError:
            return False
        return True

    expected, before = of(np), pg.stats()
    found = of(pg)
    after = pg.stats()
    assert after.n_recorded - before.n_recorded == after.n_at_once - before.n_at_once
    with monkeypatch.context() as patch:
        patch.setattr(small, "is_on", False)
        others = of(pg)
    for one, other, numpys in zip(found, others, expected, strict=True):
        assert one.layout == other.layout
        np.testing.assert_array_equal(one.gather(), numpys, strict=True)
    with pytest.raises(ValueError, match="broadcast"):
        pg.where(pg.ones(3, bool), pg.ones(2), pg.ones(2))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", "fdbilBL")
@pytest.mark.parametrize("limits", [(0, None), (None, 1), (0.0, 1.5), (-0.0, 0.0), (2, 1), (-5, 300), (np.nan, 1.0),
                                    (0, np.inf), (-1e300, 1e300), (-2**70, 2**70), (np.float64(0.5), 1)])
def test_elements_are_limited_at_once(limits: tuple[Any, Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[-0.0, 0.0, 1, np.nan, -np.inf], [0.5, -2, 7, np.inf, 1.5]] if dtype in "fd" else
                 [[0, 1, 2, 100, 3], [7, 9, 0, 1, 4]]).astype(dtype)

    def of_ours() -> list[Any]:
        a, b = pg.array(x), pg.array(x.T)
        c, d = pg.array(x), pg.array(x)
        pg.sync()
        before = pg.stats()
        found = [a.clip(*limits), pg.clip(b.T[:, ::2], *limits)]
        if found[0].dtype == x.dtype:
            assert c.clip(*limits, out=c) is c
            pg.clip(a[0], *limits, out=d[1])
        done = pg.stats() - before
        plain = all(type(limit) in (int, float) and abs(limit) < 2**63 for limit in limits) and dtype in "fd"
        assert done.n_recorded == done.n_at_once or not (small.is_on and plain)
        return [(y.dtype, y.layout, y.gather().tobytes()) for y in (*found, c, d)]

    try:
        expected = np.clip(x, *limits)
    except OverflowError:
        with pytest.raises(OverflowError):
            of_ours()
        return
    found = of_ours()
    np.testing.assert_array_equal(pg.array(x).clip(*limits).gather(), expected, strict=True)
    monkeypatch.setattr(small, "is_on", False)
    assert found == of_ours()


def test_elements_that_others_borrow_are_limited_in_turn() -> None:
    a = pg.arange(12.0)
    element = a[1]
    a.clip(3, 5, out=a)
    np.testing.assert_array_equal(a.gather(), np.arange(12.0).clip(3, 5), strict=True)
    assert float(element) == 1
    with pytest.raises(ValueError, match="read-only"):
        pg.clip(a, 3, 4, out=pg.broadcast_to(a[:1], (12,)))
    with pytest.raises(ValueError, match="broadcast"):
        pg.clip(a, 3, 4, out=pg.zeros(11))


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("dtype", "?BilfdD")
@pytest.mark.parametrize("shape", [(100_000,), (20, 50, 100), (7, 9), (3, 1), ()])
def test_variances_of_more_elements(shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of arrays whose order in memory is another one than that of their means."""
    x = (np.random.default_rng(0).random(shape) * 200).astype(dtype)
    axes = [None, *range(len(shape)), (0, -1)][:None if len(shape) > 1 else -1]

    def of_ours() -> list[Any]:
        a = pg.array(x)
        pg.sync()
        before = pg.stats()
        found = [a.var(), a.std(ddof=1)]
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once or not (small.is_on and shape) or dtype == "D"
        found += [getattr(y, name)(axis, keepdims=keepdims) for name in ("var", "std") for y in (a, a.T, a[..., ::-1])
                  for axis in axes for keepdims in (False, True)] if shape else []
        return [(y.dtype, y.layout, y.gather().tobytes()) for y in found]

    with np.errstate(all="ignore"):
        found = of_ours()
        np.testing.assert_allclose(pg.array(x).std(axes[-1]).gather(), x.std(axes[-1]), 1e-4)
        monkeypatch.setattr(small, "is_on", False)
        assert found == of_ours()
