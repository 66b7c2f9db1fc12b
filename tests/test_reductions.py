"""Reductions: values, dtypes, special values, empty arrays, and bits that can be reproduced."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.kernels import bindings
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

REDUCTIONS = ("sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax")
AXES: tuple[Any, ...] = (None, 0, 1, -1, (0, 2), (2, 1), (0, 1, 2), ())
RNG = np.random.default_rng(5)
SHAPE = (5, 4, 6)


def values(dtype: str, shape: tuple[int, ...] = SHAPE) -> Any:
    x = RNG.integers(0 if dtype in "B?" else -3, 4, shape)
    return (x + (1j * x[::-1] if dtype in "DF" else 0)).astype(dtype) if dtype in "DF" else x.astype(dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_axes(reduction: str, name: str) -> None:
    x = RNG.normal(size=SHAPE)
    a = pg.array(x, layout=layout_of(name, SHAPE))
    exact = reduction in ("min", "max", "any", "all", "argmin", "argmax")
    for axis in AXES:
        if reduction.startswith("arg") and isinstance(axis, tuple):
            continue
        for keepdims in (False, True):
            expected = np.asarray(getattr(x, reduction)(axis=axis, keepdims=keepdims))
            assert_equal(getattr(a, reduction)(axis=axis, keepdims=keepdims), expected, exact)
    view, model = a[::-2, 1:, 3].T, x[::-2, 1:, 3].T
    for axis in (None, 0, 1):
        assert_equal(getattr(view, reduction)(axis), np.asarray(getattr(model, reduction)(axis)), exact)


@pytest.mark.parametrize("dtype", list("dflihBH?eDFg"))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_dtypes(reduction: str, dtype: str) -> None:
    x = values(dtype)
    a = pg.array(x)
    exact = reduction in ("min", "max", "any", "all", "argmin", "argmax") or (
        dtype in "lihBH?" and reduction in ("sum", "prod"))
    rtol = {"e": 1e-2, "f": 1e-5, "F": 1e-5}.get(dtype, 1e-12)
    for axis in (None, 1):
        with np.errstate(all="ignore"):
            expected = np.asarray(getattr(x, reduction)(axis))
        assert_equal(getattr(a, reduction)(axis), expected, exact, rtol=rtol)
        if reduction in ("sum", "prod", "mean"):
            wide = "D" if dtype in "DF" else "d"
            assert_equal(getattr(a, reduction)(axis, dtype=wide), np.asarray(getattr(x, reduction)(axis, dtype=wide)),
                         exact=False)


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str) -> None:
    x = np.arange(24.0).reshape(4, 6)
    x[1, 2], x[2, 2], x[3, 0], x[0, 5] = np.nan, np.nan, np.inf, -np.inf
    a = pg.array(x, layout=layout_of(name, x.shape))
    for axis in (None, 0, 1):
        for reduction in ("sum", "min", "max", "argmin", "argmax", "any", "all"):
            with np.errstate(all="ignore"):
                expected = np.asarray(getattr(x, reduction)(axis))
            assert_equal(getattr(a, reduction)(axis), expected)
        assert_equal(np.fmax.reduce(a, axis=axis), np.asarray(np.fmax.reduce(x, axis=axis)))
        assert_equal(np.fmin.reduce(a, axis=axis), np.asarray(np.fmin.reduce(x, axis=axis)))
    zeros = pg.array([0.0, -0.0, 0.0], layout=pg.Distribution("cyclic"))
    collectively(not np.signbit(float(zeros.sum())))
    collectively(float((-zeros[:1]).prod()) == 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_of_equal_elements(name: str) -> None:
    x = np.array([[3, 1, 1, 3], [1, 3, 0, 0], [3, 0, 3, 1]])
    a = pg.array(x, layout=layout_of(name, x.shape))
    for array, model in ((a, x), (a[::-1], x[::-1]), (a.T, x.T), (a[:, ::-1], x[:, ::-1])):
        for axis in (None, 0, 1):
            assert_equal(array.argmin(axis), np.asarray(model.argmin(axis)))
            assert_equal(array.argmax(axis), np.asarray(model.argmax(axis)))


@pytest.mark.parametrize("layout", [None, "onenode", ("cyclic(2)", "*", "*"), ("*", "block", "*"), ("*", "*", "block")])
@pytest.mark.parametrize("n", [7, 3000])
def test_places_in_rows_of_many_layouts(n: int, layout: Any) -> None:
    """Of rows that one process has, those of large parts by all threads."""
    x = np.random.default_rng(1).integers(0, 50, (n, 9, 8)).astype(float)
    x[x == 17] = np.nan
    a = pg.zeros(x.shape, onenode=pg.SIZE - 1) if layout == "onenode" else pg.zeros(
        x.shape, layout=layout and pg.Distribution(*layout))
    a[...] = x
    for array, model in ((a, x), (a[1:, ::-1], x[1:, ::-1]), (a.T, x.T)):
        for axis in range(3):
            assert_equal(array.argmin(axis), model.argmin(axis))
            assert_equal(pg.argmax(array, axis, keepdims=True), model.argmax(axis, keepdims=True))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (0, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    a = pg.zeros(shape)
    for axis in (None, *range(len(shape))):
        for reduction in ("sum", "prod", "any", "all"):
            assert_equal(getattr(a, reduction)(axis), np.asarray(getattr(x, reduction)(axis)))
        for reduction in ("min", "max", "argmin", "argmax"):
            try:
                expected = getattr(x, reduction)(axis)
            except ValueError:
                raises_everywhere(ValueError, "zero-size array|empty sequence",
                                  lambda reduction=reduction, axis=axis: getattr(a, reduction)(axis))
            else:
                assert_equal(getattr(a, reduction)(axis), expected)


def test_fewer_elements_than_processes() -> None:
    x = np.array([[5.0, -7.0]])
    for name in NAMES:
        a = pg.array(x, layout=layout_of(name, x.shape))
        for reduction in REDUCTIONS:
            for axis in (None, 0, 1):
                assert_equal(getattr(a, reduction)(axis), np.asarray(getattr(x, reduction)(axis)))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.logical_or,
                                   np.logical_and, np.logical_xor, np.bitwise_or, np.bitwise_and, np.bitwise_xor,
                                   np.gcd, np.hypot, np.logaddexp], ids=lambda f: f.__name__)
def test_other_ufuncs(ufunc: np.ufunc) -> None:
    floats = ufunc in (np.hypot, np.logaddexp)
    x = RNG.normal(size=(7, 5)) if floats else RNG.integers(1, 9, (7, 5))
    a = pg.array(x)
    for axis in (None, 0, 1):
        assert_equal(ufunc.reduce(a, axis=axis), np.asarray(ufunc.reduce(x, axis=axis)), exact=not floats)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_of_results(name: str) -> None:
    a = pg.array(values("d"), layout=layout_of(name, SHAPE))
    collectively(a.sum()._view.layout.is_replicated)
    rows = a.sum(axis=1)
    kept = [a.layout.dims[0], a.layout.dims[2]]
    collectively(list(rows.layout.dims) == kept and rows.layout.grid == a.layout.grid)
    collectively(a.argmax()._view.layout.is_replicated)
    collectively(a[2, :, 1].max()._view.layout.is_replicated)


def test_all_processes_have_the_same_bits() -> None:
    x = RNG.normal(size=(317, 41))
    for name in NAMES:
        a = pg.array(x, layout=layout_of(name, x.shape))
        for result in (a.sum(), a.mean(), a.std(), a.sum(axis=0), np.add.reduce(a, axis=1), np.hypot.reduce(a)):
            bits = pg.COMM.allgather(result.gather().tobytes())  # type: ignore[union-attr]
            collectively(len(set(bits)) == 1)
        if a.sum(axis=0)._view.layout.is_replicated:
            bits = pg.COMM.allgather(a.sum(axis=0).local().tobytes())
            collectively(len(set(bits)) == 1)


@pytest.mark.parametrize("dtype", ["d", "f", "D"])
def test_threads_do_not_change_the_bits(dtype: str) -> None:
    x = RNG.normal(size=(400, 301)).astype(dtype)
    a = pg.array(x)
    before = bindings.get_threads()
    bits = []
    try:
        for n_threads in (1, 2, 3):
            bindings.set_threads(n_threads)
            results = [a.sum(), a.sum(axis=0), a.sum(axis=1), a.mean(), a.std(axis=0), (a * a).prod(axis=1)]
            bits.append(b"".join(r.gather().tobytes() for r in results))  # type: ignore[union-attr]
    finally:
        bindings.set_threads(before)
    collectively(len(set(bits)) == 1)


def test_repetition_does_not_change_the_bits() -> None:
    a = pg.array(RNG.normal(size=100000), layout=pg.Distribution("cyclic(7)"))
    collectively(len({float(a.sum()).hex() for _ in range(5)}) == 1)


def test_accuracy_of_single_precision() -> None:
    """As accurate as NumPy's pairwise sums."""
    x = RNG.random(2**20).astype(np.float32)
    a = pg.array(x)
    exact = x.astype(float).sum()
    collectively(abs(float(a.sum()) - exact) / exact < 4 * np.finfo(np.float32).eps)
    collectively(abs(float(a.reshape(1024, 1024).sum(axis=0).sum()) - exact) / exact < 8 * np.finfo(np.float32).eps)


def test_var_and_std_options() -> None:
    x = RNG.normal(size=(6, 5)) + 1e6
    a = pg.array(x)
    for ddof in (0, 1, 2.5):
        assert_equal(a.var(ddof=ddof), np.asarray(x.var(ddof=ddof)), exact=False, rtol=1e-9)
        assert_equal(a.std(axis=1, ddof=ddof), x.std(axis=1, ddof=ddof), exact=False, rtol=1e-9)
    z = x + 1j * x[::-1]
    assert_equal(pg.array(z).var(axis=0), z.var(axis=0), exact=False, rtol=1e-9)
    assert_equal(pg.array(np.arange(6)).std(), np.asarray(np.arange(6).std()), exact=False)


def test_out() -> None:
    x = values("d")
    a, out = pg.array(x), pg.empty((5, 6))
    collectively(a.sum(axis=1, out=out) is out)
    assert_equal(out, x.sum(axis=1))
    np.add.reduce(a, axis=1, out=out[::-1])
    assert_equal(out, x.sum(axis=1)[::-1])
    of_integers = pg.zeros((5, 6), int)
    assert_equal(a.mean(axis=1, out=of_integers), x.mean(axis=1).astype(int))
    raises_everywhere(TypeError, "cast", lambda: a.std(axis=1, out=of_integers))


@pytest.mark.parametrize(("name", "source", "dtype", "target"), [
    ("mean", "b", "L", "d"), ("mean", "l", "e", "d"), ("var", "b", "e", "d"), ("std", "b", "e", "d"),
    ("mean", "e", None, "d"), ("nanmean", "f", None, "d"), ("mean", "l", None, "f"), ("var", "b", "l", "f"),
    ("nanstd", "b", "L", "d"), ("nanvar", "d", None, "f"), ("nanstd", "f", "f", "d"), ("mean", "d", "F", "D"),
])
def test_moments_are_divided_in_the_dtype_of_out(name: str, source: str, dtype: str | None, target: str) -> None:
    x = np.array([[1, 2, 40], [3, 3, 7], [5, 1, 4], [1, 1, 2]], source)
    found, expected = pg.zeros(4, target), np.zeros(4, target)
    given: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    getattr(pg, name)(pg.array(x), axis=1, out=found, **given)
    getattr(np, name)(x, axis=1, out=expected, **given)
    assert_equal(found, expected)


def test_moments_of_nothing_are_not_numbers_in_out() -> None:
    with np.errstate(invalid="ignore"):
        found = pg.mean(pg.array([1.0, 2.0]), where=pg.array([False, False]), dtype=bool, out=pg.zeros((), "f"))
    assert_equal(found, np.array(np.nan, "f"))


@pytest.mark.parametrize(("words", "call"), [
    ("Mean of empty slice", lambda xp: xp.zeros(0).mean()),
    ("Mean of empty slice", lambda xp: xp.zeros((0, 3)).mean(0)),
    ("Degrees of freedom <= 0", lambda xp: xp.zeros(0).var()),
    ("Degrees of freedom <= 0", lambda xp: xp.ones(1).std(ddof=1)),
    ("Degrees of freedom <= 0", lambda xp: xp.ones((2, 3)).var(1, ddof=4)),
    ("", lambda xp: xp.zeros((0, 3)).mean(1)), ("", lambda xp: xp.ones((2, 3)).std(1, ddof=2)),
])
def test_moments_of_too_little_warn(words: str, call: Callable[[Any], Any]) -> None:
    """As NumPy's do, but once, and not of the division."""
    found = []
    for xp in np, pg:
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            result = call(xp)
        found.append(result)
        said = [str(one.message) for one in caught]
        collectively(said == [one for one in said if words and words in one] and len(said) == bool(words), f"{said}")
        collectively(all(one.filename == __file__ for one in caught) or xp is np)
    assert_equal(found[1], np.asarray(found[0]))


@pytest.mark.parametrize("call", [pg.sum, pg.mean, pg.var, pg.std, pg.nanmean, pg.nanstd, pg.max])
@pytest.mark.parametrize("target", [5, "x", [1.0], np.zeros(())], ids=repr)
def test_out_is_a_global_array(call: Callable[..., Any], target: Any) -> None:
    raises_everywhere(TypeError, "out= takes global arrays", lambda: call(pg.arange(3.0), out=target))


def test_a_part_of_the_array_as_out() -> None:
    x = np.array([[1, np.nan, 3], [np.nan, 5, 6], [7, 8, 10]])
    for name in "nanmean", "nanvar", "nanstd", "mean", "var", "std":
        a = pg.array(x)
        getattr(pg, name)(a, axis=1, out=a[:, 1])
        assert_equal(a[:, 1], getattr(np, name)(x, axis=1), exact=False)


def test_the_dtype_of_integers_is_kept_where_nan_is_passed_over() -> None:
    x = np.array([1, 2, 4], np.int8)
    assert_equal(pg.nanstd(pg.array(x), dtype="L"), np.asarray(np.nanstd(x, dtype="L")))
    raises_everywhere(TypeError, "sqrt", lambda: pg.nanstd(pg.array([x, x]), axis=1, dtype="L"))


def test_a_result_is_an_array() -> None:
    """It can be computed with, like NumPy's, and without asking for its value."""
    x = values("d")
    a = pg.array(x)
    assert_equal(a - a.mean(axis=0), x - x.mean(axis=0), exact=False)
    assert_equal(a / abs(a).max(), x / abs(x).max())
    total = a.sum()
    total += 1
    assert_equal(total, np.asarray(x.sum() + 1))
    a *= a.sum(axis=2, keepdims=True)
    assert_equal(a, x * x.sum(axis=2, keepdims=True))


def test_an_identity_fits_the_dtype_where_parts_are_empty() -> None:
    assert_equal(np.bitwise_and.reduce(pg.array(np.full(1, 7, np.uint8))), np.uint8(7))
    assert_equal(pg.ones(3).sum(), 3.0)


def test_positional_arguments_are_numpys() -> None:
    x = np.arange(6.0).reshape(2, 3)
    A, out = pg.array(x), pg.zeros(3)
    assert_equal(np.std(A, 0, None, None, 1), np.std(x, 0, None, None, 1), exact=False)
    assert np.max(A, 0, out) is out
    assert_equal(out, x.max(0))
    assert_equal(A.max(0, None, False, 3), x.max(0, None, False, 3))
    raises_everywhere(TypeError, "positional", lambda: A.argmax(0, None, True))


ARRAY = np.random.default_rng(8).integers(-4, 5, SHAPE)
MASKS = (ARRAY > 0, ARRAY[0] > 1, ARRAY[:, :1, :1] < 0, False)


@pytest.mark.parametrize("dtype", list("dlb?"))
@pytest.mark.parametrize("name", ["block", "cyclic(2)", "one process"])
def test_masks_and_initial_values(name: str, dtype: str) -> None:
    x = ARRAY.astype(dtype)
    a = pg.array(x, layout=layout_of(name, SHAPE))
    for mask, is_global in [*((mask, True) for mask in MASKS), (MASKS[1], False), ([True, False] * 3, False)]:
        given = pg.array(mask, layout=layout_of(name, np.shape(mask))) if is_global else mask
        for axis, keepdims in ((None, False), (-1, True), ((0, 2), False)):
            for reduction in ("sum", "prod", "max", "min"):
                expected = getattr(x, reduction)(axis, keepdims=keepdims, initial=1, where=mask)
                assert_equal(getattr(np, reduction)(a, axis, keepdims=keepdims, initial=1, where=given), expected)
            for reduction in ("any", "all", "mean", "std"):
                with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                    expected = getattr(x, reduction)(axis, keepdims=keepdims, where=mask)
                assert_equal(getattr(np, reduction)(a, axis, keepdims=keepdims, where=given), expected, exact=False)
    assert_equal(a.max(initial=2), x.max(initial=2))
    collectively(a.sum(1, initial=2).layout == a.sum(1).layout)


@pytest.mark.parametrize("wanted", ["i2", "i4", "i8", "u1", "u8"])
@pytest.mark.parametrize("own", ["i1", "i8", "u8", "?"])
def test_masks_where_another_dtype_is_asked_for(own: str, wanted: str) -> None:
    high = 1 if own == "?" else np.iinfo(own).max
    x = np.array([high, high - 1, 5, high], own)
    for reduction in ("sum", "prod"):
        assert_equal(getattr(pg, reduction)(pg.array(x), dtype=wanted, where=pg.array(x) > 0),
                     getattr(np, reduction)(x, dtype=wanted, where=x > 0))


def test_masks_of_times_and_ufuncs() -> None:
    x = np.arange(6)
    a = pg.array(x)
    for ufunc in (np.bitwise_and, np.logical_xor, np.gcd, np.fmax):
        assert_equal(ufunc.reduce(a, where=x > 2, initial=4), ufunc.reduce(x, where=x > 2, initial=4))
    for kind in ("m8[s]", "M8[s]"):
        assert_equal(a.astype(kind).max(where=a < 3, initial=1), x.astype(kind).max(where=x < 3, initial=1))
        assert_equal(a.astype(kind).any(where=a < 1), x.astype(kind).any(where=x < 1))
    assert_equal(a.max(initial=a.sum()), np.int64(15))


def test_sums_of_times_into_arrays() -> None:
    x = np.arange(6).reshape(2, 3).astype("m8[h]")
    for unit in ("h", "s"):
        out = pg.zeros(2, f"m8[{unit}]")
        collectively(pg.sum(pg.array(x), 1, out=out) is out)
        assert_equal(out, np.sum(x, 1, out=np.zeros(2, f"m8[{unit}]")))
    mask = [True, False, True]
    assert_equal(np.add.reduce(pg.array(x), where=mask, out=pg.zeros(3, "m8[h]")), np.add.reduce(x, where=mask))


def test_moments_of_more_elements_than_float16_counts() -> None:
    x = np.full((70000, 2), 0.25, np.float16)
    x[::2] *= -1
    A, wide = pg.array(x), pg.zeros((2,))
    for found in A.var(0), A.var(0, dtype=np.float16), A.std(0) ** 2, A[:, 0].var(), A.var(0, out=wide), wide:
        collectively(np.array_equal(found, np.full(found.shape, 0.0625)), f"{found}")
    assert_equal(A.astype(float).mean(0, dtype=np.float16), np.zeros(2, np.float16))


def test_moments_are_those_of_the_dtype_of_out() -> None:
    x = (np.arange(2000) % 7 / 3).astype(np.float32)
    for name in ("mean", "var", "std"):
        found, expected = pg.zeros(()), getattr(x.astype(float), name)()
        getattr(pg.array(x), name)(out=found)
        collectively(np.allclose(found.item(), expected, 1e-14, 0), f"{name}: {found.item()} {expected}")


@pytest.mark.parametrize("n", [4095, 4096, 4097, 5000, 3 * 4096 + 1600, 200_000])
@pytest.mark.parametrize("dtype", "dfFihB?")
def test_bits_do_not_follow_from_how_elements_lie(n: int, dtype: str) -> None:
    """Leaves that lie one behind the other are reduced several at a time."""
    x = (RNG.normal(size=(2, n)) * 100).astype(dtype)
    layout = pg.Distribution("block", "*")
    A, apart = pg.array(x, layout=layout), pg.array(np.repeat(x, 2, axis=1), layout=layout)[:, ::2]
    for name in ("sum", "max", "any") if dtype != "F" else ("sum", "any"):
        found, expected = (getattr(a, name)(axis=1).gather() for a in (A, apart))
        collectively(found.tobytes() == expected.tobytes(), f"{name}: {found} {expected}")
    if dtype in "ihB?":
        assert_equal(A.sum(1), x.sum(1))
        assert_equal(A.max(1), x.max(1))


def test_variances_about_a_mean_that_is_known() -> None:
    x = np.arange(6.0).reshape(2, 3)
    A, center = pg.array(x), np.array([[1.0], [2.0]])
    for mean in (center, pg.array(center)):
        assert_equal(np.var(A, 1, mean=mean), np.var(x, 1, mean=center))
        assert_equal(np.std(A, 1, mean=mean, correction=1.5), np.std(x, 1, mean=center, ddof=1.5), exact=False)
    assert_equal(A.var(where=x > 1, ddof=1), x.var(where=x > 1, ddof=1), exact=False)


@pytest.mark.parametrize(("shape", "options"), [((0, 3), {"initial": 2}), ((0, 3), {"initial": None}), ((4,), {})])
def test_empty_arrays_with_initial_values(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    x, a = np.zeros(shape), pg.zeros(shape)
    for reduction in ("sum", "max"):
        try:
            expected = getattr(x, reduction)(0, **options)
        except ValueError as error:
            raises_everywhere(ValueError, re.escape(str(error)), lambda r=reduction: getattr(a, r)(0, **options))
        else:
            assert_equal(getattr(a, reduction)(0, **options), expected)


@pytest.mark.parametrize(("reduction", "options"), [
    ("sum", {"where": np.arange(6)}), ("sum", {"where": np.ones((2, 6), bool)}), ("sum", {"where": np.ones(2, bool)}),
    ("max", {"where": np.ones(6, bool)}), ("sum", {"initial": 1j}), ("max", {"initial": np.nan}),
    ("sum", {"initial": None, "where": np.ones(6, bool)}), ("var", {"ddof": 1, "correction": 1})])
def test_errors_of_masks_and_initial_values(reduction: str, options: dict[str, Any]) -> None:
    x = np.arange(6)
    with pytest.raises((TypeError, ValueError)) as info:
        getattr(np, reduction)(x, **options)
    raises_everywhere(info.type, re.escape(str(info.value)), lambda: getattr(np, reduction)(pg.array(x), **options))


def test_out_has_to_fit() -> None:
    A = pg.array(np.arange(6.0).reshape(2, 3))
    raises_everywhere(ValueError, r"\(4, 3\).*\(3,\)", lambda: A.sum(0, out=pg.zeros((4, 3))))
    raises_everywhere(TypeError, "float64.*int64", lambda: A.sum(0, out=pg.zeros(3, int)))


@pytest.mark.parametrize(("dtype", "out"), [("L", "d"), ("f", "d"), ("H", "D"), ("B", "h"), ("l", "f"), ("i", "h")])
def test_sums_are_computed_for_the_dtype_of_out(dtype: str, out: str) -> None:
    x = np.full((3, 4), np.finfo("f").max if dtype == "f" else np.iinfo(dtype).max, dtype)
    a, expected = pg.array(x, layout=pg.Distribution("block", "cyclic", grid=(1, pg.SIZE))), np.zeros(4, out)
    for reduction in ("sum", "prod"):
        found = pg.zeros(4, out)
        with np.errstate(all="ignore"):
            assert_equal(getattr(a, reduction)(0, out=found), getattr(x, reduction)(0, out=expected))
    np.add.reduce(a, 0, out=found, initial=1)
    assert_equal(found, np.add.reduce(x, 0, out=expected, initial=1))


def test_numbers_have_one_axis_for_sums() -> None:
    x = np.array(5)
    for axis in (0, -1):
        for reduction in ("sum", "max", "any", "argmin"):
            assert_equal(getattr(pg, reduction)(pg.array(x), axis=axis), getattr(np, reduction)(x, axis=axis))
        assert_equal(pg.array(x).sum(axis, where=pg.array(True)), x.sum(axis, where=True))
        raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda axis=axis: pg.array(x).mean(axis))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.array(x).sum(1))


@pytest.mark.parametrize("where", [True, np.arange(12).reshape(3, 4) % 3 > 0])
@pytest.mark.parametrize(("dtype", "wanted"), [("d", "f"), ("f", "d"), ("h", "e"), ("l", "l")])
def test_variances_have_the_dtype_that_is_asked_for(dtype: str, wanted: str, where: Any) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    expected = x.var(0, dtype=wanted, where=where)
    assert_equal(pg.array(x).var(0, dtype=wanted, where=where), expected, exact=False, rtol=1e-2)


def test_deviations_in_integers_are_cut_where_they_are_numbers() -> None:
    x = np.arange(12).reshape(3, 4)
    a = pg.array(x)
    assert_equal(a.std(dtype="i4"), np.asarray(x.std(dtype="i4")))
    refusal = "Cannot cast ufunc 'sqrt' output"
    for options in ({"axis": 0}, {"keepdims": True}):
        with pytest.raises(TypeError, match=refusal):
            x.std(dtype="i4", **options)
        raises_everywhere(TypeError, refusal, lambda options=options: a.std(dtype="i4", **options))


@pytest.mark.parametrize("dim", ["block", "cyclic(1)", "cyclic(500)"])
def test_halves_are_summed_in_float32(dim: str) -> None:
    x = np.full(3000, 60, np.float16)
    x[1500:] *= -1
    a = pg.array(x, layout=pg.Distribution(dim))
    assert_equal(a.sum(), x.sum())
    assert_equal((a * 1).sum(0), x.sum())
    assert_equal(pg.stack([a, a], 1).sum(0), np.zeros(2, np.float16))
    assert_equal(a.sum(where=a > 0, initial=1), np.float16(np.inf))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u8", "i8"])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_integers_are_added_in_those_of_out(ufunc: np.ufunc, dtype: str) -> None:
    x = np.array([[-3, 2], [30000, 30000]], np.int16)
    out, expected = pg.zeros(2, dtype), np.zeros(2, dtype)
    ufunc.reduce(pg.array(x), 0, out=out)
    assert_equal(out, ufunc.reduce(x, 0, out=expected))


@pytest.mark.parametrize("columns", [
    lambda X: X.mean(axis=0), lambda X: X.std(axis=0), lambda X: X.sum(axis=0) / len(X), lambda X: np.ptp(X, axis=0),
    lambda X: -X.max(axis=0)])
def test_what_is_made_of_all_rows_takes_part_in_each_without_messages(columns: Any) -> None:
    model = np.random.default_rng(0).random((37, 5))
    X = pg.array(model, layout=pg.Distribution("block", "*"))
    own = columns(X)
    pg.sync()
    before = pg.stats()
    centred = (X - own) / own
    pg.sync()
    collectively((pg.stats() - before).n_messages == 0)
    collectively(np.allclose(centred.gather(), (model - columns(model)) / columns(model), 1e-9))
    own[2] = 7
    own[1:3] += own[3]
    expected = columns(model)
    expected[2] = 7
    expected[1:3] += expected[3]
    collectively(np.allclose(own.gather(), expected, 1e-12))
