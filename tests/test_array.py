"""The global array as an object: metadata, operators, conversions, NumPy's protocols."""

from __future__ import annotations

import io
import operator
import pickle
import types
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(12.0).reshape(3, 4) - 4


def test_metadata() -> None:
    a = pg.array(X.astype(np.float32))
    view = a[1:, ::2].T
    for array, model in ((a, X.astype(np.float32)), (view, X.astype(np.float32)[1:, ::2].T)):
        collectively((array.shape, array.ndim, array.size, array.itemsize, array.nbytes, len(array))
                     == (model.shape, model.ndim, model.size, model.itemsize, model.nbytes, len(model)))
        collectively(array.dtype == model.dtype)
    collectively(a.pgrid().shape == a.layout.grid)
    collectively(a.layout.coords_from_rank(pg.RANK) == a.pgrid().coords)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, divmod]
INTEGER = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
            operator.ipow]
INTEGER_IN_PLACE = [operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift]


@pytest.mark.parametrize("function", BINARY + INTEGER, ids=lambda f: f.__name__)
def test_binary_operators(function: Any) -> None:
    x, y = (X, X[::-1] + 0.5) if function in BINARY else (np.arange(12).reshape(3, 4), np.full((3, 4), 3))
    a, b = pg.array(x), pg.array(y, layout=layout_of("cyclic(2)", y.shape))
    with np.errstate(all="ignore"):
        for left, right, expected in ((a, b, function(x, y)), (a, 2, function(x, 2)), (2, a, function(2, x)),
                                      (y, a, function(y, x)), (a, y, function(x, y))):
            found = function(left, right)
            pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
            for f, e in pairs:
                assert_equal(f, e, exact=function is not operator.pow, rtol=1e-14)


@pytest.mark.parametrize("function", IN_PLACE + INTEGER_IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_operators(function: Any) -> None:
    x = np.abs(X) + 1 if function in IN_PLACE else np.arange(12).reshape(3, 4)
    a = pg.array(x)
    model = x.copy()
    found = function(a, 2)
    collectively(found is a)
    function(model, 2)
    assert_equal(a, model)
    function(a[1:], a[:-1])
    with np.errstate(all="ignore"):
        model[1:] = function(model[1:].copy(), model[:-1].copy())
    assert_equal(a, model, exact=function is not operator.ipow)


def test_unary_operators() -> None:
    a, i = pg.array(X), pg.array(X.astype(int))
    assert_equal(-a, -X)
    assert_equal(+a, X)
    assert_equal(abs(a), abs(X))
    assert_equal(~i, ~X.astype(int))
    assert_equal(~(a > 0), ~(X > 0))


@pytest.mark.parametrize("exponent", [2, 0.5, -1, 1, 3, 0, 2.5, -2])
def test_powers(exponent: float) -> None:
    x = np.abs(X) + 0.5
    assert_equal(pg.array(x) ** exponent, x**exponent, exact=exponent in (2, 0.5, -1, 1), rtol=1e-14)
    a = pg.array(x)
    a **= exponent
    assert_equal(a, x**exponent, exact=exponent in (2, 0.5, -1, 1), rtol=1e-14)
    if isinstance(exponent, int) and exponent >= 0:
        assert_equal(pg.array(x.astype(int)) ** exponent, x.astype(int) ** exponent)


def test_squares_of_booleans_have_numpys_dtype() -> None:
    x = X > 0
    a = pg.array(x)
    for of_global, of_numpy in ((a, x), (a[0, 0], x[0, 0]), (a.any(), x.any()), (a[0, 0, ...], x[0, 0, ...])):
        assert_equal(of_global ** 2, of_numpy ** 2)


def test_real_and_imaginary_parts() -> None:
    z = X + 1j * X[::-1]
    a = pg.array(z)
    assert_equal(a.real, z.real)
    assert_equal(a.imag, z.imag)
    assert_equal(a.conj(), z.conj())
    for x in (X, X > 0):
        assert_equal(pg.array(x).conj(), x.conj())
    assert_equal(pg.array(X).imag, X.imag)
    collectively(a.real.real is not None)


def test_transposition() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    a = pg.array(x)
    assert_equal(a.T, x.T)
    assert_equal(a.transpose(), x.transpose())
    assert_equal(a.transpose(1, 0, 2), x.transpose(1, 0, 2))
    assert_equal(a.transpose((2, -3, 1)), x.transpose((2, -3, 1)))
    assert_equal(a.swapaxes(0, -1), x.swapaxes(0, -1))
    assert_equal(a[:1, :, :1].squeeze(), x[:1, :, :1].squeeze())
    assert_equal(a[:1, :, :1].squeeze(-1), x[:1, :, :1].squeeze(-1))


def test_iteration() -> None:
    found = list(pg.array(X))
    collectively(len(found) == 3)
    for row, expected in zip(found, X, strict=True):
        assert_equal(row, expected)
    first, *_ = pg.array(X)
    first[...] = 0
    raises_everywhere(TypeError, "unsized", lambda: list(pg.array(1.0)))


@pytest.mark.parametrize("name", NAMES)
def test_scalars(name: str) -> None:
    a = pg.array(X, layout=layout_of(name, X.shape))
    collectively(float(a[1, 2]) == 2.0)
    collectively(int(a[2, 3]) == 7)
    collectively(complex(a[0, 0]) == -4)
    collectively(a.item(1, 2) == 2.0 and a.item((2, 3)) == 7.0)
    collectively(type(a[1, 2].item()) is float)
    collectively(a[1:2, 2:3].item() == 2.0)
    collectively(bool(a[1, 2]) and not bool(a[1, 0]))
    total = a.sum()
    collectively(float(total) == X.sum())
    collectively(str(total) == str(X.sum().item()))
    collectively(f"{total:.3f}" == f"{X.sum():.3f}")
    for dtype in "feFD":
        third = np.ones((), dtype) / np.asarray(3, dtype)
        found = pg.array(third)
        collectively(str(found) == str(third) and f"{found}" == f"{third}", f"{found}")
    collectively(range(10)[pg.array(3)] == 3)
    if a.sum() > 100:
        collectively(False)


@pytest.mark.parametrize("dtype", "efdFDli?")
def test_a_scalar_is_shown_with_the_digits_of_its_dtype(dtype: str) -> None:
    X = np.array([1, 35 / 12]).astype(dtype)
    text = io.StringIO()
    pg.print_once(pg.array(X)[1], file=text)
    collectively(str(pg.array(X).sum()) == str(X.sum()))
    collectively(text.getvalue() == (f"{X[1]!s}\n" if pg.RANK == 0 else ""))


def test_a_scalar_without_communication() -> None:
    """Every process holds the result of a full reduction: one may look at it alone."""
    total = pg.array(X).sum()
    if pg.RANK == pg.SIZE - 1:
        assert float(total) == X.sum()
    collectively(True)


@pytest.mark.recorded
def test_representation() -> None:
    a = pg.array(X)
    collectively(repr(a) == f"GlobalArray(shape=(3, 4), dtype=float64, {a.layout})")
    collectively(str(a) == repr(a) == f"{a}")
    collectively("view of Layout" in repr(a[::-1]) or pg.SIZE == 1)
    collectively(repr(a.sum()).startswith("GlobalArray(shape=(), dtype=float64"))
    if pg.RANK == 0:
        repr(a[1:, ::-1])  # alone: it does not communicate
    collectively(True)


def test_what_would_gather_raises() -> None:
    a = pg.array(X)
    for call in (lambda: np.asarray(a), lambda: np.array(a), lambda: np.array([a, a]), lambda: np.float64(a)):
        raises_everywhere(TypeError, r"gather\(\)", call)
    raises_everywhere(TypeError, r"save\(\), or A.gather\(\)", lambda: pickle.dumps(a))


def test_gather() -> None:
    a = pg.array(X)
    for array, expected in ((a, X), (a[1:, ::-1], X[1:, ::-1]), (a[1, 1], X[1, 1]), (a[:0], X[:0])):
        everywhere = array.gather()
        collectively(type(everywhere) is np.ndarray and np.array_equal(everywhere, expected))
        for root in range(pg.SIZE):
            found = array.gather(root)
            collectively(np.array_equal(found, expected) if root == pg.RANK else found is None)
    copied = a.gather()
    copied[...] = 0
    assert_equal(a, X)


def test_functions_of_numpy() -> None:
    a, m = pg.array(X), X
    assert_equal(np.sin(a), np.sin(m), exact=False)
    assert_equal(np.sum(a, axis=0), np.sum(m, axis=0), exact=False)
    assert_equal(np.add.reduce(a), np.add.reduce(m), exact=False)
    assert_equal(np.maximum.reduce(a, axis=1, keepdims=True), np.maximum.reduce(m, axis=1, keepdims=True))
    assert_equal(np.multiply.outer(a[0], a[1]), np.multiply.outer(m[0], m[1]))
    assert_equal(np.subtract.outer(a, a[1]), np.subtract.outer(m, m[1]))
    assert_equal(np.where(a > 0, a, 0), np.where(m > 0, m, 0))
    assert_equal(np.concatenate([a, a]), np.concatenate([m, m]))
    assert_equal(np.transpose(a), m.T)
    assert_equal(np.mean(a), np.mean(m), exact=False)
    assert_equal(np.clip(a, -1, 2), np.clip(m, -1, 2))
    assert_equal(np.zeros_like(a), np.zeros_like(m))
    assert_equal(np.dot(a, a.T), np.dot(m, m.T), exact=False)
    assert_equal(np.matmul(a, a.T), m @ m.T, exact=False)
    assert_equal(np.real(a), m)
    collectively(np.shape(a) == m.shape and np.ndim(a) == 2 and np.size(a) == 12 and np.size(a, 1) == 4)
    out = pg.empty(4)
    collectively(np.add.reduce(a, out=out) is out)
    assert_equal(out, m.sum(axis=0), exact=False)


@pytest.mark.parametrize("name", ["lib.scimath.sqrt", "lib.scimath.log"])
def test_unsupported_functions_say_so(name: str) -> None:
    function = operator.attrgetter(name)(np)
    raises_everywhere(TypeError, r"not supported for global arrays: (use|call) ", lambda: function(pg.array(X[:, :3])))


def test_all_of_numpys_methods_say_so() -> None:
    a = pg.array(X)
    raises_everywhere(TypeError, "divide.reduceat.*not known to be associative", lambda: np.divide.reduceat(a, [0, 1]))
    raises_everywhere(TypeError, "divide.reduce.*not associative", lambda: np.divide.reduce(a))
    raises_everywhere(TypeError, "lcm.reduce.*not associative", lambda: np.lcm.reduce(a.astype(int)))


def test_other_types_may_take_over() -> None:
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "radd"

        def __rmatmul__(self, other: Any) -> str:
            return "rmatmul"

    a = pg.array(X)
    collectively(a + Other() == "radd")
    collectively(a @ Other() == "rmatmul")
    raises_everywhere(TypeError, "unsupported operand", lambda: a - Other())


def test_names_of_limits() -> None:
    a = pg.array(X)
    assert_equal(pg.clip(a, a_min=3, a_max=None), np.clip(X, 3, None))
    assert_equal(np.clip(a, a_max=9, a_min=[[2]]), np.clip(X, 2, 9))
    assert_equal(pg.clip(a, 3), X.clip(3))
    assert_equal(pg.clip(a, 3, max=9), X.clip(3, 9))
    raises_everywhere(ValueError, "is forbidden", lambda: pg.clip(a, 3, 4, max=5))


@pytest.mark.parametrize("dtype", "bfd")
def test_clip_of_booleans_by_a_number_and_an_array(dtype: str) -> None:
    x, limits = np.array([True, False]), np.array([3, 2], dtype)
    assert_equal(pg.clip(pg.array(x), -1, pg.array(limits)), np.clip(x, -1, limits))


def test_clip() -> None:
    a = pg.array(X)
    for limits in ((-1, 2), (None, 2), (-1, None), (X[0], None), (None, None), (3, -3)):
        expected = X if limits[0] is limits[1] is None else np.clip(X, *limits)  # which NumPy 2.0 refuses
        assert_equal(a.clip(*limits), expected)
    out = pg.empty((3, 4))
    collectively(a.clip(0, 1, out=out) is out)
    assert_equal(out, X.clip(0, 1))


def test_clip_to_integers_that_the_dtype_does_not_have() -> None:
    small = np.arange(4, dtype=np.uint8)
    for limits in ((-300, 300), (-300, 2), (1, 300), (None, 300)):
        assert_equal(pg.clip(pg.array(small), *limits), small.clip(max(limits[0] or 0, 0), min(limits[1], 255)))
    raises_everywhere(OverflowError, "out of bounds", lambda: pg.array(small).clip(300, 400))


def test_the_namespace() -> None:
    collectively(pg.float32 is np.float32 and pg.pi == np.pi and pg.sin is np.sin and pg.newaxis is None)
    collectively({"RANK", "SIZE", "COMM", "BLOCKSIZE", "array", "sin"} <= set(dir(pg)))
    collectively(pg.BLOCKSIZE is None)
    collectively(pg.COMM.size == pg.SIZE)
    collectively(isinstance(pg, types.ModuleType))


def test_astype() -> None:
    a = pg.array(X)
    for dtype in ("f", "i", "D", "?", "B"):
        with np.errstate(all="ignore"):
            assert_equal(abs(a).astype(dtype), np.abs(X).astype(dtype))
    collectively(a.astype(float, copy=False) is a)
    collectively(a.astype(float) is not a)


def test_flatten_copies_and_clip_reads_before_it_writes() -> None:
    A = pg.ones((1, 12))
    A.flatten()[...] = 0
    assert_equal(A, np.ones((1, 12)))
    x, B = np.arange(6.0), pg.arange(6.0)
    assert_equal(pg.clip(B, 2, B[::-1], out=B), np.clip(x, 2, x[::-1]))


def test_flat_elements_are_an_array_where_one_is_asked_for() -> None:
    """Without an iteration over them, of which there would be a warning."""
    x = np.arange(24).reshape(4, 6) % 5
    a = pg.array(x)
    for call in pg.array, pg.asarray, pg.bincount, pg.sort:
        assert_equal(call(a.flat), getattr(np, call.__name__)(x.ravel()))
    pg.array(a.flat)[...] = 7
    assert_equal(a, x)


def test_slices_take_integers_only() -> None:
    A = pg.arange(6)
    assert_equal(A[1:4], np.arange(1, 4))
    raises_everywhere(TypeError, "float", lambda: A[1.0:4])


def test_what_arrays_do_not_do() -> None:
    a = pg.ones((2, 6))
    raises_everywhere(TypeError, "use A.gather\\(\\).tobytes", lambda: bytes(a))
    raises_everywhere(ValueError, "use pg.delete", lambda: operator.delitem(a, 0))
    raises_everywhere(AttributeError, "use A = A.reshape", lambda: setattr(a, "shape", (3, 4)))
