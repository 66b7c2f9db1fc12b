"""Numbers beside small arrays, and elements that are cast."""

from __future__ import annotations

import contextlib
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone import small
from tests.alone.elements import is_small


@pytest.mark.parametrize("dtype", "?bhiqBHIQfdFD")
def test_casts_are_those_of_kernels(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = "FD" if dtype in "FD" else "?bhiqBHIQfdFD"
    with np.errstate(all="ignore"):
        model = np.array([0, -0.0, 1.5, -1.5, 2.0**31, 2.0**63, -1e300, np.inf, np.nan, 256, 3e9, 1e-40]).astype(dtype)
        expected = {to: model.astype(to) for to in targets}
    for to, numpys in expected.items():
        x = pg.array(model)
        found = x.astype(to)
        monkeypatch.setattr(small, "is_on", False)
        other = pg.array(model).astype(to)
        monkeypatch.undo()
        assert found.gather().tobytes() == other.gather().tobytes() == numpys.tobytes(), to
        assert found.layout == other.layout


class Length:
    """What knows how to be multiplied."""

    def __init__(self, metres: Any) -> None:
        self.metres = metres

    def __rmul__(self, factor: Any) -> Length:
        return Length(factor * self.metres)


def test_numbers_leave_it_to_other_objects_what_they_give() -> None:
    x = pg.arange(5.0)
    for number in x[2], x.sum():
        found = number * Length(3)
        assert isinstance(found, Length)
        assert float(found.metres) == 3 * float(number)
    with pytest.raises(TypeError, match=r"use x\.item"):
        hash(x.sum())
    with pytest.raises(TypeError, match=r"use x\.item"):
        pickle.dumps(x.sum())


def test_integers_that_do_not_fit_are_refused_by_every_function() -> None:
    x, mask = pg.array([1, 2], dtype=np.int8), pg.array([True, False])
    for ufunc in (np.add, np.subtract, np.multiply, np.minimum, np.maximum, np.bitwise_and, np.hypot):
        for number in 300, -300:
            with pytest.raises(OverflowError) if ufunc is not np.hypot else contextlib.nullcontext():
                ufunc(x, number)
    with pytest.raises(OverflowError):
        x[0] = 300
    with pytest.raises(OverflowError):
        x[mask] = 300
    assert (x < 300).all()
    assert x.gather().tolist() == [1, 2]


def _set(x: Any, key: Any, value: Any) -> Any:
    x[key] = value
    return x


@pytest.mark.parametrize("number", [True, *(np.dtype(char).type(1) for char in "?bBhHiIlL")])
@pytest.mark.parametrize("dtype", "?BlLd")
def test_truth_values_and_all_integers_are_numbers(number: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda x: x * number, lambda x: x.T + number, lambda x: _set(x, (1, 2), number),
        lambda x: _set(x, slice(2), number), lambda x: _set(x, ([0, 2, 0],), number),
        lambda x: _set(x, np.eye(3, 4, dtype=bool), number)]
    values = np.arange(12).reshape(3, 4).astype(dtype)
    if values.dtype == (values * number).dtype != bool:
        calls.append(lambda x: operator.imul(x, number))
    for call in calls:
        expected, x = call(values.copy()), pg.array(values)
        before = pg.stats()
        found = call(x)
        done = pg.stats() - before
        assert done.n_recorded == done.n_at_once
        np.testing.assert_array_equal(found.gather(), expected, strict=True)
        monkeypatch.setattr(small, "is_on", False)
        other = call(pg.array(values))
        monkeypatch.undo()
        assert (found.dtype, found.layout) == (other.dtype, other.layout)
        np.testing.assert_array_equal(found.gather(), other.gather(), strict=True)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("key", [3, np.s_[2:7], np.array([1, 5, 1]), np.arange(9) % 2 == 0, ...])
@pytest.mark.parametrize("number", [3.7, -1.9, -0.5, 255.9, 2.0**40, 1e300])
@pytest.mark.parametrize("dtype", "bBhHilL")
def test_floats_are_cut_to_integers_at_once(dtype: str, number: float, key: Any) -> None:
    x = np.zeros(9, dtype)
    a, k = pg.array(x), pg.array(key) if isinstance(key, np.ndarray) else key
    try:
        x[key] = number
    except OverflowError:
        with pytest.raises(OverflowError):
            a[k] = number
        return
    before = pg.stats()
    a[k] = number
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once
    np.testing.assert_array_equal(a.gather(), x, strict=True)


@pytest.mark.parametrize("to", "bild?D")
@pytest.mark.parametrize("dtype", "?bBhild")
def test_values_of_other_dtypes_are_assigned_by_indices_at_once(dtype: str, to: str) -> None:
    if dtype == "d" and to in "b?":
        pytest.skip("all who cast do not give the same bits")
    model, i = np.arange(20).reshape(5, 4).astype(to), np.array([3, 1, 3])
    mask = np.array([True, False, True, True, False])
    a, j, m, values = pg.array(model), pg.array(i), pg.array(mask), np.array([3, 5, 9]).astype(dtype)
    pg.sync()
    before = pg.stats()
    for x, k, b, v in ((model, i, mask, values), (a, j, m, pg.array(values))):
        x[k, k - 1] = v
        x[k, 1:] = v[:, None]
        x[b, 0] = v
        x[b, ::2] = v[:, None]
    assert (pg.stats() - before).n_recorded == (pg.stats() - before).n_at_once > 0
    np.testing.assert_array_equal(a.gather(), model, strict=True)


def test_casts_of_what_cannot_be_held_tell_nothing() -> None:
    a = pg.zeros(4, int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a[pg.array([2, 1])] = pg.array([np.nan, 3.0])
    assert int(a[1]) == 3
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="invalid value"):
        a[pg.array([2, 1])] = pg.array([np.nan, 3.0])


def test_numbers_are_copied_at_once() -> None:
    b, total = pg.arange(4.0), pg.arange(4.0).sum()
    pg.sync()
    before = pg.stats()
    b[0], b[2] = b[2].copy(), b[0].copy()
    kept, of_total = b[3].copy(), total.copy()
    b[3] = 7
    kept += 1
    done = pg.stats() - before
    assert done.n_recorded == done.n_at_once > 0
    assert is_small(of_total)
    written = np.copy(total)
    written[...] = 5
    assert [*b.tolist(), float(kept), float(of_total), float(total)] == [2, 1, 0, 7, 4, 6, 6]


OF_NO_DIMENSION: dict[str, Callable[[Any], Any]] = {
    "a number, cast": lambda a: a[2].astype("f"), "an array, cast": lambda a: pg.array(a[2]).astype("f"),
    "a view, cast": lambda a: a[2, ...].astype("l"), "a copy": lambda a: pg.array(2.5).copy(),
    "a number's copy": lambda a: a[2].copy(), "of a number": lambda a: pg.array(a[2]),
    "a sum, cast": lambda a: a.sum().astype("F"),
    "on one process": lambda a: pg.array(a[2], onenode=0).astype("f"),
    "chosen": lambda a: np.where(a[1] > 3, 0, 1), "chosen of numbers": lambda a: np.where(a[1] > 3, a[2], 1),
    "chosen of arrays": lambda a: np.where(pg.array(True), pg.array(2.5), a[0]),
    "chosen of truths": lambda a: np.where(a[1] < 3, True, a[0] > 1),
}


@pytest.mark.parametrize("name", OF_NO_DIMENSION)
def test_what_has_no_dimension(name: str) -> None:
    a = pg.arange(8.0) * 1.5
    with small.passed_over():
        expected = OF_NO_DIMENSION[name](a)
        expected.item()
    found = OF_NO_DIMENSION[name](a)
    assert type(found) is type(expected)
    assert (found.dtype, found.layout, found.item()) == (expected.dtype, expected.layout, expected.item())
    if type(found) is pg.GlobalArray and found.dtype.kind != "b":
        before, other = found, found + 0
        found += 1
        assert found is before
        assert found.item() == other.item() + 1
        found[...] = 0
        assert found.item() == 0
    np.testing.assert_array_equal(a.gather(), np.arange(8) * 1.5)
