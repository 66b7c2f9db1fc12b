"""Every ufunc of NumPy, and some of SciPy's, on every dtype that it has a loop for, against NumPy."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

DTYPES = [np.dtype(c) for c in "dfDlibB?eghHF"]
MAIN = [np.dtype(c) for c in "dfDliB?"]
UFUNCS = sorted({f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}.items())
ELEMENTWISE = [f for _, f in UFUNCS if f.signature is None and f.nin <= 2 and f is not np.isnat]
# Within 4 ULP of NumPy's; all others have NumPy's bits.
MATHS = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "arctan2", "hypot",
}  # fmt: skip
COMPLEX_MATHS = MATHS | {"absolute", "multiply", "square", "divide", "reciprocal", "sqrt"}
SHAPE = (6, 7)
RNG = np.random.default_rng(3)


def values(dtype: np.dtype[Any], shape: tuple[int, ...] = SHAPE) -> Any:
    """Values of a dtype in a range in which most functions are interesting, with zeros, infinities and NaN."""
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return RNG.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    x = RNG.normal(scale=2, size=shape)
    x[RNG.random(shape) < 0.1] = 0
    if dtype.kind == "c":
        return (x + 1j * RNG.normal(size=shape)).astype(dtype)
    for special in np.inf, -np.inf, np.nan:
        x[RNG.random(shape) < 0.05] = special
    return x.astype(dtype)


def computed(function: Callable[..., Any], *operands: Any) -> tuple[Any, ...]:
    """The results as a tuple; or the exception's type, where there is none."""
    with np.errstate(all="ignore"):
        try:
            results = function(*operands)
        except TypeError:
            return (TypeError,)
    return results if isinstance(results, tuple) else (results,)


def is_close(found: Any, expected: Any, exact: bool) -> bool:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if exact or found.dtype.kind not in "fc":
        return np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc")
    with np.errstate(all="ignore"):
        eps = float(np.finfo(found.dtype).eps)
        return bool(np.allclose(found, expected, rtol=16 * eps, atol=16 * eps, equal_nan=True))


def problems_of(function: np.ufunc, *operands: Any, layouts: tuple[str, ...]) -> list[str]:
    expected = computed(function, *operands)
    arrays = [pg.array(x, layout=layout_of(name, x.shape)) for x, name in zip(operands, layouts, strict=False)]
    found = computed(function, *arrays)
    kinds = {x.dtype.kind for x in operands}
    exact = function.__name__ not in (COMPLEX_MATHS if "c" in kinds else MATHS)
    problems = []
    for f, e in zip(found, expected, strict=True):
        if e is TypeError or f is TypeError:
            same = f is e
        else:
            f = f.gather()
            same = is_close(f, np.asarray(e), exact)
        if not same:
            problems.append(f"{function.__name__}({', '.join(x.dtype.name for x in operands)}): {f!r}, expected {e!r}")
    return problems


@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda f: f.__name__)
def test_every_ufunc(function: np.ufunc) -> None:
    problems = []
    for k, dtype in enumerate(DTYPES):
        operands = [values(dtype) for _ in range(function.nin)]
        if function in (np.power, np.left_shift, np.right_shift, np.ldexp) and dtype.kind in "iu":
            operands[1] %= 4  # no negative integer powers
        layouts = (NAMES[k % len(NAMES)], NAMES[(k // 2) % len(NAMES)])
        problems += problems_of(function, *operands, layouts=layouts)
    collectively(not problems, "\n".join(problems))


@pytest.mark.parametrize("function", [np.add, np.multiply, np.divide, np.maximum, np.less, np.arctan2, np.bitwise_or,
                                      np.copysign, np.floor_divide, np.ldexp, np.divmod], ids=lambda f: f.__name__)
def test_mixed_dtypes(function: np.ufunc) -> None:
    problems = []
    for a in MAIN:
        for b in MAIN:
            problems += problems_of(function, values(a), values(b, SHAPE[1:]), layouts=("block", "cyclic(2)"))
    collectively(not problems, "\n".join(problems))


@pytest.mark.parametrize("function", [scipy.special.erf, scipy.special.expit, scipy.special.gamma, scipy.special.xlogy],
                         ids=lambda f: f.__name__)
def test_ufuncs_of_scipy(function: np.ufunc) -> None:
    problems = []
    for dtype in (np.dtype(float), np.dtype(np.float32)):
        operands = [np.abs(values(dtype)) for _ in range(function.nin)]
        problems += problems_of(function, *operands, layouts=("block", "first dimension"))
    collectively(not problems, "\n".join(problems))


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_pairs_of_layouts(first: str, second: str) -> None:
    x, y = values(np.dtype(float)), values(np.dtype(float))
    a, b = pg.array(x, layout=layout_of(first, SHAPE)), pg.array(y, layout=layout_of(second, SHAPE))
    with np.errstate(all="ignore"):
        assert_equal(a + b, x + y)
        assert_equal(a[1:, ::2] * b[:-1, 3:4], x[1:, ::2] * y[:-1, 3:4])
        assert_equal(a[:, 2] - b[3, :6], x[:, 2] - y[3, :6])
        a[1:] -= b[0]
        x[1:] -= y[0]
        assert_equal(a, x)
        b[::-1, ::2] *= a[:, 1:5]
        y[::-1, ::2] *= x[:, 1:5]
        assert_equal(b, y)


@pytest.mark.parametrize("name", NAMES)
def test_two_outputs(name: str) -> None:
    x, y = np.arange(-6.0, 7.0), np.array(2.5)
    a = pg.array(x, layout=layout_of(name, x.shape))
    for found, expected in zip((*np.divmod(a, y), *np.modf(a), *np.frexp(a), *divmod(a, 3)),
                               (*np.divmod(x, y), *np.modf(x), *np.frexp(x), *divmod(x, 3)), strict=True):
        assert_equal(found, expected)
    whole = pg.zeros(13)
    fraction, given = np.modf(a, out=(None, whole))
    assert given is whole
    assert_equal(fraction, np.modf(x)[0])
    assert_equal(whole, np.modf(x)[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_two_outputs_where_a_mask_is_true(name: str, dtype: str) -> None:
    """Elsewhere what was there stays, as it was before a cast, too."""
    x, mask = np.arange(-6.0, 7.0) / 4, np.arange(13) % 3 == 0
    a = pg.array(x, layout=layout_of(name, x.shape))
    for call in (lambda a, out, where: np.modf(a, out=out, where=where, casting="unsafe"),
                 lambda a, out, where: np.frexp(a, out=out, where=where, casting="unsafe"),
                 lambda a, out, where: np.divmod(a, 0.3, out=out, where=where, casting="unsafe")):
        found, expected = [pg.full(13, 7.5, dtype), pg.full(13, 8.5)], [np.full(13, 7.5, dtype), np.full(13, 8.5)]
        call(a, tuple(found), pg.array(mask))
        call(x, tuple(expected), mask)
        for own, numpys in zip(found, expected, strict=True):
            assert_equal(own, numpys)


def test_shapes_of_two_outputs() -> None:
    """They are of one shape, to which the operands are stretched, also where only one is given."""
    shapes: list[tuple[int, ...]] = [(), (1,), (5,), (1, 5), (2, 5), (1, 1)]
    for of_input, first, second in itertools.product(shapes, [*shapes, None], shapes):
        x = np.full(of_input, 1.25)
        out = tuple(None if shape is None else np.zeros(shape) for shape in (first, second))
        given = tuple(None if y is None else pg.array(y) for y in out)
        call = functools.partial(np.modf, pg.array(x), out=given)
        try:
            expected = np.modf(x, out=out)
        except ValueError:
            raises_everywhere(ValueError, "shape", call)
            continue
        for found, numpys in zip(call(), expected, strict=True):
            assert_equal(found, numpys)


def test_outputs_that_share_elements() -> None:
    """What NumPy leaves there depends on the function, the dtypes, and the order of the elements."""
    a, c, d = pg.arange(8.0), pg.zeros(16), pg.zeros((8, 2))
    x = np.arange(8.0)
    for out in ((c[:8], c[:8]), (c[:8], c[1:9]), (c[:8], c[7::-1]), (c[::2], c[7:15]), (d[:, 0], d[:, 0])):
        for call in (lambda out: np.divmod(a, 5.0, out=out), lambda out: np.modf(a, out=out)):
            raises_everywhere(ValueError, "share elements", functools.partial(call, out))
    for out in ((c[::2], c[1::2]), (c[8:], c[:8]), (d[:, 1], d[:, 0]), (c[:8], d[:, 0])):
        for found, expected in zip(np.divmod(a, 5.0, out=out), np.divmod(x, 5.0), strict=True):
            assert_equal(found, expected)


@pytest.mark.parametrize("function", [np.isfinite, np.isinf, np.isnan, np.signbit])
def test_a_mask_and_every_second_element_of_an_output(function: np.ufunc) -> None:
    """NumPy 2.4 stores two of sixteen there."""
    x = np.resize([1.0, -2.0, np.inf, np.nan, -0.0], 100)
    out, mask = pg.array(np.resize([True, False], 200)), np.arange(100) % 3 > 0
    function(pg.array(x), out=out[::2], where=pg.array(mask))
    expected = np.where(mask, function(x), True)
    assert_equal(out, np.stack([expected, np.zeros(100, bool)], axis=1).ravel())


def test_out_and_where() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4) % 2 == 0
    a, mask = pg.array(x), pg.array(y)
    out = pg.full((3, 4), -1.0)
    assert np.add(a, 1, out=out, where=mask) is out
    assert_equal(out, np.where(y, x + 1, -1.0))
    assert_equal(np.sqrt(a, out=out[::-1], where=y), np.where(y, np.sqrt(x), np.where(y, x + 1, -1.0)[::-1]))
    result = np.add(a, a, where=mask)
    assert_equal(result[:, ::2], 2 * x[:, ::2])
    assert_equal(np.add(a, 1, dtype=np.float32), np.add(x, 1, dtype=np.float32))
    single = pg.zeros((3, 4), np.float32)
    assert_equal(np.add(a, 1, out=single), (x + 1).astype(np.float32))


def test_where_takes_true_and_false() -> None:
    a, out = pg.arange(4.0), pg.full(4, 9.0)
    assert_equal(np.negative(a, out=out, where=0), np.full(4, 9.0))
    assert_equal(np.add(a, 5, out=out.copy(), where=[1, 0, 0.5, 0]), [5.0, 9, 7, 9])
    assert_equal(np.negative(a, out=out, where=False), np.full(4, 9.0))
    for operands in (np.float64(1), 2.0), ([1.0] * 4, np.int32(2)), (2.0, np.float64(1)):
        assert_equal(np.add(*operands, out=out), np.full(4, 3.0))
    assert_equal(np.negative(a, out=out, where=True), -np.arange(4.0))


@pytest.mark.parametrize("dtype", ["B", "i", "l", "f", "d", "D", "?"])
@pytest.mark.parametrize("scalar", [2, 2.5, True, 1j, np.float32(2.5), np.int64(3), np.uint8(4)], ids=repr)
def test_scalars_promote_as_in_numpy(dtype: str, scalar: Any) -> None:
    x = np.arange(5).astype(dtype)
    a = pg.array(x)
    for function in (operator.add, operator.mul, operator.truediv):
        with np.errstate(all="ignore"):
            assert_equal(function(a, scalar), function(x, scalar), exact=False)
            assert_equal(function(scalar, a), function(scalar, x), exact=False)


@pytest.mark.parametrize("dtype", ["B", "l", "d", "D"])
def test_operators_find_their_statement_again(dtype: str) -> None:
    """What is computed follows from the numbers of each call, though the statement was found for others."""
    x = np.arange(1, 6).astype(dtype)
    a, b = pg.array(x), pg.array(x[::-1])
    for numbers in ([2, 3, 7], [2.5, 0.0, -0.0, np.inf], [1j, -2j, 1 - 0j]):
        for number in numbers:
            for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.eq):
                with np.errstate(all="ignore"):
                    assert_equal(function(a, number), function(x, number), exact=False)
                    assert_equal(function(number, a[::2]), function(number, x[::2]), exact=False)
    for zero in (0.0, -0.0):
        assert_equal(np.signbit(zero * a.real), np.signbit(zero * x.real))
    for _ in range(3):
        assert_equal(abs(-a), abs(-x))
        assert_equal(np.sqrt(a + b) - b, np.sqrt(x + x[::-1]) - x[::-1], exact=False)
        assert_equal(np.sqrt(a, dtype="D"), np.sqrt(x, dtype="D"), exact=False)
    raises_everywhere(TypeError, "Cannot cast", lambda: np.sqrt(pg.arange(3), casting="no"))


def test_integers_beyond_the_dtype() -> None:
    x = np.array([0, 5, 255], np.uint8)
    a = pg.array(x)
    assert_equal(a + 3, x + 3)
    for scalar in (4, -1, 256, 300, 2**70):
        for function in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
            assert_equal(function(a, scalar), function(x, scalar))
            assert_equal(function(scalar, a), function(scalar, x))
    raises_everywhere(OverflowError, "Python integer 300 out of bounds for uint8", lambda: a + 300)
    truths = pg.ones(3, bool)
    for function in operator.ipow, operator.iadd, operator.ifloordiv:
        raises_everywhere(TypeError, "Cannot cast ufunc", lambda function=function: function(truths, 300))
        raises_everywhere(OverflowError, "too large", lambda function=function: function(truths, 10**30))


def test_numpy_operands() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4)
    a = pg.array(x)
    assert_equal(a + y, x + y)
    assert_equal(y + a, x + y)
    assert_equal(x.T @ np.ones(3) + a[0], x.T @ np.ones(3) + x[0])
    assert_equal(a - [1, 2, 3, 4], x - [1, 2, 3, 4])
    a += x[::-1]
    assert_equal(a, x + x[::-1])


def test_numpy_operands_are_read_when_the_statement_is_executed() -> None:
    y = np.ones(5)
    a = pg.zeros(5)
    b = a + y
    a[...] = y
    y[:] = 7
    assert_equal(b, np.ones(5))
    assert_equal(a, np.ones(5))


def test_kernels_raise_no_warnings() -> None:
    a = pg.array([0.0, -1.0, 1e308])
    assert_equal(1 / a[:1], np.array([np.inf]))
    assert_equal(np.sqrt(a[1:2]), np.array([np.nan]))
    assert_equal(a[2:] * 10, np.array([np.inf]))


@pytest.mark.parametrize("name", NAMES)
def test_operands_stretched_to_no_element(name: str) -> None:
    x = np.arange(35.0).reshape(7, 5)
    a = pg.array(x, layout=layout_of(name, x.shape))
    assert_equal(a[:0, :1] + a[3], x[:0, :1] + x[3])
    assert_equal(np.add(a[:0, :1], a[3, :2], out=a[:0, :2]), x[:0, :2])
    a[:0] = a[3]
    kept = a.sum(axis=0, keepdims=True)[:, None][:, :0]
    kept += 1
    assert_equal(kept, np.zeros((1, 0, 5)))
    assert_equal(a, x)


def test_byte_order() -> None:
    """Elements are in this machine's byte order, whatever order they come in."""
    x, native = np.arange(5, dtype=">f8"), np.arange(5.0)
    a = pg.array(x)
    collectively(a.dtype == native.dtype and a.dtype.isnative)
    assert_equal(a + x, native + native)
    assert_equal(a.sum(), native.sum())
    assert_equal(a.astype(">i4"), native.astype("i4"))
    a[...] = x[::-1]
    assert_equal(a, native[::-1])


def test_a_negative_integer_power_is_refused_everywhere() -> None:
    a = pg.array(np.array([2]))
    assert_equal(a ** 5, np.array([32]))
    for _ in range(2):
        raises_everywhere(ValueError, "negative integer powers", lambda: a ** -1)
    raises_everywhere(ValueError, "negative integer powers", lambda: np.power(a, np.int64(-2), out=a))


def test_dates() -> None:
    d = np.array(["2020-01-01", "2020-03-01"], "M8[D]")
    assert_equal(pg.array(d) - pg.array(d[::-1]), d - d[::-1])


def test_casting_belongs_to_the_call() -> None:
    a, b = pg.arange(4), pg.ones(4)
    assert_equal(np.add(a, b, dtype="i8", casting="unsafe"), np.arange(4) + 1)
    raises_everywhere(TypeError, "same_kind", lambda: np.add(a, b, dtype="i8"))
    assert_equal(np.add(a, a, casting="equiv"), np.arange(4) * 2)
    for n in (4, 70000):
        raises_everywhere(TypeError, "'equiv'", lambda n=n: np.multiply(pg.arange(n), 2, casting="equiv"))
        raises_everywhere(TypeError, "object dtype", lambda n=n: np.add(
            pg.arange(n), 1, out=pg.zeros(n), dtype=object, casting="unsafe"))


@pytest.mark.mpi
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_operators_of_matrices_are_theirs() -> None:
    a, m = np.array([[1.0, 2], [3, 4]]), np.matrix([[5.0, 6], [7, 8]])
    A = pg.array(a)
    assert_equal(A * m, np.asarray(a * m))
    assert_equal(A + m, np.asarray(a + m))
    assert_equal(m - A, np.asarray(m - a))
    assert_equal(A ** m, a ** np.asarray(m))
    assert_equal(m * A, np.asarray(m * a))
    assert_equal(m * A[:, :1], np.asarray(m * a[:, :1]))
    assert_equal(m[:, :1] * A[0], np.asarray(m[:, :1] * a[0]))
    assert_equal(m * A[0, 1], np.asarray(m * a[0, 1]))


class Measured(np.ndarray):
    """An array with a unit, say: its functions are its own."""

    def __array_ufunc__(self, ufunc: np.ufunc, *_: Any, **options: Any) -> Any:
        return f"{ufunc.__name__} of its own"


@pytest.mark.mpi
def test_arrays_with_functions_of_their_own_have_their_say() -> None:
    A, q = pg.ones(3), np.arange(3.0).view(Measured)
    for found in (A * q, q * A, np.multiply(A, q), np.multiply(q, A), np.multiply(A, A, out=q)):
        assert found == "multiply of its own"
    assert A @ q == q @ A == "matmul of its own"
    assert pg.zeros((3, 70000))[:, 0] + q == "add of its own"
    for change, name in ((operator.iadd, "add"), (operator.ipow, "power"), (operator.imatmul, "matmul")):
        assert change(A, q) == f"{name} of its own"
    assert_equal(A, np.ones(3))


class Unit:
    """No array, with functions of its own."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc.__name__, [x is self for x in inputs], [*options]


@pytest.mark.mpi
@pytest.mark.parametrize("n", [3, 70000])
def test_objects_with_functions_of_their_own_have_their_say(n: int) -> None:
    a, unit = np.ones(n), Unit()
    A = pg.array(a)
    for name in ("add", "sub", "mul", "pow", "matmul", "or_", "lt", "eq", "ne"):
        operate = getattr(operator, name)
        assert operate(A, unit) == operate(a, unit)
        assert operate(unit, A) == operate(unit, a)
    for change in (operator.iadd, operator.ipow, operator.ior):
        assert change(A, unit) == change(a, unit)
    assert np.add(A, A, out=unit) == np.add(a, a, out=unit)
    assert_equal(A, a)


def test_masked_arrays_are_refused() -> None:
    masked, A, M = np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), pg.zeros(3), pg.eye(3)
    for call in (lambda: A + masked, lambda: np.add.outer(A, masked), lambda: M @ masked, lambda: masked @ M,
                 lambda: pg.average(A, weights=masked), lambda: pg.tensordot(A, masked, 1),
                 lambda: pg.vecdot(A, masked), lambda: pg.linalg.solve(M, masked), lambda: pg.linalg.norm(masked),
                 lambda: pg.searchsorted(masked, A), lambda: pg.digitize(A, masked), lambda: pg.pad(masked, 1),
                 lambda: pg.quantile(A, 0.5, weights=masked, method="inverted_cdf")):
        raises_everywhere(TypeError, "masks", call)


@pytest.mark.mpi
@pytest.mark.parametrize("ufunc", [np.less, np.equal, np.logical_and, np.add, np.power])
@pytest.mark.parametrize("numbers", [(2, 1), (2, 0.5), (True, 2)])
def test_python_numbers_alone_fill_an_array(ufunc: np.ufunc, numbers: tuple[Any, ...]) -> None:
    A, a = pg.zeros(5), np.zeros(5)
    ufunc(*numbers, out=A)
    assert_equal(A, ufunc(*numbers, out=a))


def test_of_two_mistakes_the_dtypes_come_first() -> None:
    a, b = pg.ones((2, 1), bool), pg.ones((3, 4), bool)
    raises_everywhere(TypeError, "boolean subtract", lambda: a - b)
    raises_everywhere(TypeError, "boolean subtract", lambda: np.subtract(a, b, out=pg.ones((5, 5), bool)))


@pytest.mark.parametrize("n", [9, 30_000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4"])
def test_negatives_of_elements_that_lie_apart(dtype: str, n: int) -> None:
    """Of which NumPy 2.4 stores others, where they are 64 or 16 bytes apart."""
    for step, layout in itertools.product((4, 8, 24), (("block", "*"), ("*", "block"))):
        x = np.arange(1, step * n + 1).astype(dtype).reshape(n, step)
        for where in True, np.arange(n) % 3 > 0:
            A, B = pg.array(x, layout=pg.Distribution(*layout)), pg.zeros((n, 3), dtype)
            a, given = A[:, 0], where if where is True else pg.array(where)
            np.negative(a, out=B[:, 1], where=given)
            np.negative(a, out=a, where=given)
            expected = np.where(where, -x[:, 0].copy(), x[:, 0])
            assert_equal(a, expected)
            assert_equal(B[:, 1], np.where(where, expected, 0).astype(dtype))


@pytest.mark.parametrize("n", [9, 70_000])
@pytest.mark.parametrize("dtype", ["u2", "i1", "u8", "i8"])
def test_comparisons_with_what_the_dtype_does_not_hold_where_a_mask_is(dtype: str, n: int) -> None:
    """On which NumPy 2.4 crashes."""
    x, mask = np.arange(n).astype(dtype), np.arange(n) % 3 > 0
    a, where = pg.array(x), pg.array(mask)
    for number in (2**70, -(2**70), 3):
        for ufunc in np.less, np.equal, np.greater_equal:
            for _ in range(3):
                out = pg.zeros(n, bool)
                assert_equal(ufunc(a, number, out=out, where=where), ufunc(x, number) & mask)
                ufunc(number, a, out=out, where=mask)
                assert_equal(out, ufunc(number, x) & mask)
