"""Creation of arrays: values, dtypes and layouts."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.planning.result_layout import WORTH_MESSAGES
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPES: list[Any] = [(), 5, (5,), (0,), (3, 4), [2, 3, 4], (1, 0, 2), np.int64(3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [float, "f", int, "?", complex, np.uint8, "e", "g"], ids=str)
def test_constants(shape: Any, dtype: Any) -> None:
    assert_equal(pg.zeros(shape, dtype), np.zeros(shape, dtype))
    assert_equal(pg.ones(shape, dtype), np.ones(shape, dtype))
    assert_equal(pg.full(shape, 3, dtype), np.full(shape, 3, dtype))
    empty = pg.empty(shape, dtype)
    collectively((empty.shape, empty.dtype) == (np.empty(shape, dtype).shape, np.dtype(dtype)))


@pytest.mark.parametrize("value", [3, 2.5, True, 1j, np.float32(2), [1, 2, 3], np.arange(12).reshape(4, 3)], ids=str)
def test_full(value: Any) -> None:
    assert_equal(pg.full((4, 3), value), np.full((4, 3), value))
    collectively(float(pg.full((), pg.array(2.0))) == 2)


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str) -> None:
    layout = layout_of(name, (7, 6))
    x = np.arange(42).reshape(7, 6)
    for a in (pg.array(x, layout=layout), pg.zeros((7, 6), layout=layout), pg.empty_like(x, layout=layout),
              pg.array(pg.array(x), layout=layout), pg.asarray(pg.array(x), layout=layout),
              pg.eye(7, 6, layout=layout)):
        collectively(a.layout == layout)
    a = pg.array(x, layout=layout)
    assert_equal(a, x)
    for like in (pg.zeros_like(a), pg.ones_like(a), pg.empty_like(a), pg.full_like(a, 3), pg.array(a)):
        collectively(like.layout == layout and like.dtype == a.dtype)
    collectively(pg.zeros_like(a, shape=(3,)).layout == pg.zeros(3).layout)
    assert_equal(pg.full_like(a, 2.7, dtype=float), np.full_like(x, 2.7, dtype=float))
    assert_equal(pg.full_like(a, 2.7), np.full_like(x, 2.7))
    assert_equal(pg.zeros_like(a[::-1]), np.zeros_like(x))


def test_arrays_like_views_lie_as_results_do() -> None:
    """Where the view does; of the first of many long rows, dealt out afresh."""
    a = pg.zeros((24 * pg.SIZE, 5), layout=pg.Distribution("block", "*"))
    for view in (a[1:-1], a[3:], a[::2], a[::-1], a[1:-1][2:-4, 1:], a[:24]):
        collectively(pg.empty_like(view).layout == (view + 1).layout == view.copy().layout)
    collectively(pg.empty_like(a[1:-1, 1:]).layout == a[1:-1, 1:].layout or pg.SIZE == 1)
    collectively(pg.empty_like(a[:24]).layout == a[:24].layout)
    long = pg.empty((24 * pg.SIZE, WORTH_MESSAGES), layout=pg.Distribution("block", "*"))
    afresh = pg.empty((24, WORTH_MESSAGES), layout=pg.Distribution("block", "*"))
    collectively(pg.empty_like(long[:24]).layout == afresh.layout)


def test_ranks_and_sizes_are_integers_of_any_kind() -> None:
    """Also of NumPy's, which are no others where a layout is found again; and floats are refused everywhere."""
    last, x = np.int64(pg.SIZE - 1), np.arange(12.0).reshape(4, 3)
    A = pg.array(x)
    for rank in last, int(last):
        raises_everywhere(TypeError, "integer", lambda: A.gather(1.0))  # type: ignore[call-overload]
        raises_everywhere(TypeError, "integer", lambda: pg.ones(3, onenode="x"))  # type: ignore[arg-type]
        found = A.gather(rank)
        collectively((found is None) if last != pg.RANK else np.array_equal(found, x))
        assert_equal(pg.array(x, onenode=rank), x)
        kind = type(rank)
        layout = pg.Distribution("cyclic", "block", grid=(kind(pg.SIZE), kind(1)), axes=(kind(1), kind(0)))
        assert_equal(pg.array(x, layout=layout) + 1, x + 1)
        collectively(pg.explain(lambda: pg.ones(99)[1:] + pg.ones(99)[:-1], size=kind(4)).n_messages <= 2)
    raises_everywhere(ValueError, "up to", lambda: pg.Distribution(f"cyclic({2**63})"))


def test_onenode() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for rank in range(pg.SIZE):
        for a in (pg.array(x, onenode=rank), pg.arange(12.0, onenode=rank).reshape(3, 4)):
            assert_equal(a, x)
        a = pg.array(x, onenode=rank)
        collectively(a.local().shape == ((3, 4) if rank == pg.RANK else (0, 0)))
        collectively(np.array_equal(a.local(), x) or rank != pg.RANK)


def test_array_copies_and_asarray_does_not() -> None:
    a = pg.arange(5)
    collectively(pg.asarray(a) is a)
    collectively(pg.asarray(a, dtype=int) is a)
    collectively(pg.array(a) is not a)
    b = pg.array(a, dtype=float)
    b[...] = 0
    assert_equal(a, np.arange(5))
    assert_equal(pg.asarray(a, dtype="f"), np.arange(5, dtype="f"))
    assert_equal(pg.array([[1, 2], [3, 4.5]]), np.array([[1, 2], [3, 4.5]]))
    assert_equal(pg.array(3), np.array(3))
    assert_equal(pg.array(range(4)), np.arange(4))


TIMES = {"D": np.datetime64, "T": np.timedelta64, "date": date, "timedelta": timedelta}


@pytest.mark.parametrize("arguments", [
    (5,), (0,), (-3,), (2, 9), (9, 2), (2, 9, 3), (9, 2, -3), (0, 1, 0.1), (0.5, 7), (1.0, 2.0, 0.3), (3, 3), (10.5,),
    (0, -1, -0.25), (1, 10, 2.5), (2**40, 2**40 + 5),
], ids=str)
@pytest.mark.parametrize("dtype", [None, "f", "l", "d"])
def test_arange(arguments: tuple[Any, ...], dtype: str | None) -> None:
    assert_equal(pg.arange(*arguments, dtype=dtype), np.arange(*arguments, dtype=dtype))


@pytest.mark.parametrize("dtype", "bBhHiIlQefdgFD")
@pytest.mark.parametrize("arguments", [(0, 120), (100, 3, -7), (1, 50, 0.75)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_arange_of_every_dtype(name: str, arguments: tuple[Any, ...], dtype: str) -> None:
    if arguments[-1] < 1 and dtype not in "efdgFD":
        arguments = arguments[:2]
    expected = np.arange(*arguments, dtype=dtype)
    assert_equal(pg.arange(*arguments, dtype=dtype, layout=layout_of(name, expected.shape)), expected)


@pytest.mark.every
@pytest.mark.parametrize("distribution", ["block", "cyclic(5)", "cyclic(1)", "*"])
def test_progressions_that_threads_share(distribution: str) -> None:
    layout, n = pg.Distribution(distribution), 100_003
    for dtype in "hilfd":
        assert_equal(pg.arange(n, dtype=dtype, layout=layout), np.arange(n).astype(dtype))
    assert_equal(pg.arange(3, 3 + 0.7 * n, 0.7, layout=layout), np.arange(3, 3 + 0.7 * n, 0.7))
    assert_equal(pg.linspace(-1, 2, n, layout=layout), np.linspace(-1, 2, n))
    assert_equal(pg.linspace(np.float32(-1), 2, n, False, layout=layout), np.linspace(np.float32(-1), 2, n, False))


@pytest.mark.parametrize("arguments", [
    "D('2024-02-27'), D('2024-03-10')", "D('2024-02-27'), D('2024-03-10'), T(36, 'h')", "D('2024-02'), D('2024-03-10')",
    "D('2024-01-09'), D('2024-01-01'), -2", "D('2024-01-01'), D('2024-01-09'), -2", "D('2024-02-27'), 5",
    "D('2024-02-27'), T(9, 'h')", "D('2024-02-27'), '2024-03-01'", "'2024-02-27', '2024-03-10', dtype='M8[D]'",
    "'2024', '2030', 2, dtype='M8'", "date(2024, 1, 1), date(2024, 1, 9), timedelta(2)", "2, 9, dtype='M8[D]'",
    "5, 2, -1, dtype='m8[s]'", "T(5, 'D')", "T(3, 's'), 10, 2", "T(5, 'D'), T(70, 'h'), -1", "0, T(5, 'D')",
    "'2024-01', '2024-06', dtype='M8[M]'",
    "5, 9, T(1, 'D')", "D('2024-01-01', 's'), D('2024-01-01T00:00:02'), dtype='M8[ms]'",
])
def test_arange_of_times(arguments: str) -> None:
    expected = eval(f"arange({arguments})", TIMES | {"arange": np.arange})
    found = eval(f"arange({arguments})", TIMES | {"arange": pg.arange})
    assert_equal(found, expected)


@pytest.mark.parametrize("arguments", [
    "D('2024-02-27')", "0, D('2024-02-27')", "D('NaT', 'D'), D('2024-02-27')", "D('2024-02-27'), D('2024-03-10'), 1.5",
    "D('2024-02-27'), 'tomorrow'", "0, 2.5, dtype='m8[s]'", "D('2024-02-27'), 3, 0",
])
def test_arange_of_what_are_no_times(arguments: str) -> None:
    raises_everywhere(ValueError, ".", lambda: eval(f"arange({arguments})", TIMES | {"arange": pg.arange}))


RANGES = [(0, 1), (0, 1, 7), (1, 0, 5), (2, 2, 3), (0, 1, 1), (0, 1, 0), (-1.5, 2.5, 9), (0, 10, 11), (3, 4, 2)]


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4", "c8"])
@pytest.mark.parametrize("other", [5, 2.5, np.float32(5), np.float64(5), 2 + 1j])
def test_linspace_between_arrays_and_numbers(dtype: str, other: Any) -> None:
    x = np.arange(2).astype(dtype)
    assert_equal(pg.linspace(pg.array(x), other, 3), np.linspace(x, other, 3))
    assert_equal(pg.linspace(other, pg.array(x), 3), np.linspace(other, x, 3))


@pytest.mark.parametrize(("arguments", "dtype"), [
    ((0, 1j, 4), None), *itertools.product(RANGES, [None, "f", "l"])], ids=str)
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(arguments: tuple[Any, ...], endpoint: bool, dtype: str | None) -> None:
    assert_equal(pg.linspace(*arguments, endpoint=endpoint, dtype=dtype),
                 np.linspace(*arguments, endpoint=endpoint, dtype=dtype))


@pytest.mark.parametrize("num", [0, 5, 50_000])
def test_complex_values_are_not_rounded_down(num: int) -> None:
    with pytest.raises(TypeError, match="floor"):
        np.linspace(0, 2 + 1j, num, dtype=int)
    raises_everywhere(TypeError, "floor", lambda: pg.linspace(0, 2 + 1j, num, dtype=int))


@pytest.mark.parametrize("name", NAMES)
def test_positions_in_any_layout(name: str) -> None:
    assert_equal(pg.arange(3, 40, 2, layout=layout_of(name, (19,))), np.arange(3, 40, 2))
    assert_equal(pg.linspace(0, 1, 19, layout=layout_of(name, (19,))), np.linspace(0, 1, 19))
    for n, m, k in ((6, None, 0), (5, 7, 1), (7, 5, -2), (3, 3, 9), (0, 3, 0), (3, 4, 10**12), (3, 3, -2**70)):
        shape = (n, n if m is None else m)
        assert_equal(pg.eye(n, m, k, layout=layout_of(name, shape)), np.eye(n, m, k))
    assert_equal(pg.identity(4, int), np.identity(4, int))


@pytest.mark.parametrize("name", NAMES)
def test_fromfunction(name: str) -> None:
    layout = layout_of(name, (6, 5))
    assert_equal(pg.fromfunction(lambda i, j: i * 10 + j, (6, 5), layout=layout),
                 np.fromfunction(lambda i, j: i * 10 + j, (6, 5)))
    assert_equal(pg.fromfunction(lambda i, j, c: i == j + c, (6, 5), dtype=int, layout=layout, c=1),
                 np.fromfunction(lambda i, j, c: i == j + c, (6, 5), dtype=int, c=1))


def test_functions_of_numpy_keep_layouts() -> None:
    a = pg.arange(12, layout=pg.Distribution("cyclic(2)"))
    for like in (np.zeros_like(a), np.ones_like(a), np.empty_like(a), np.full_like(a, 1)):
        collectively(isinstance(like, pg.GlobalArray) and like.layout == a.layout)


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "eye", "identity"])
def test_no_dtype_is_float(name: str) -> None:
    collectively(getattr(pg, name)(3, dtype=None).dtype == getattr(np, name)(3, dtype=None).dtype == float, "")


@pytest.mark.parametrize("statement", [
    "full(3, 1, dtype=None)", "full(3, 1.5, None)", "arange(3, dtype=None)", "linspace(0, 1, 5, dtype=None)",
    "array([1, 2], None)", "asarray([1, 2], dtype=None)", "fromfunction(lambda i: i, (3,), dtype=None)",
    "zeros_like([1, 2], dtype=None)", "ones_like([[1.5]])", "full_like((True, False), 1)", "size([[1, 2]])",
    "arange(5, dtype='m8[s]')", "arange(2, 9, 3, dtype='M8[D]')", "zeros(3, 'M8[s]')",
])
def test_as_numpy_has_it(statement: str) -> None:
    assert_equal(eval(f"pg.{statement}"), eval(f"np.{statement}"))


def test_dtypes_are_the_objects_that_numpy_has_fast_loops_for() -> None:
    equal = pickle.loads(pickle.dumps(np.dtype(float)))
    assert equal is not np.dtype(float)
    x, swapped = pg.zeros(3, equal), pg.array(np.ones(3, ">f8"))
    for a in (x, swapped, swapped - 2, swapped.sum(), x + 1, pg.array(np.ones(3)), pg.array([1.0]),
              np.ones(3, equal) * x, pg.random.default_rng(0).random(3), x.astype("d"), pg.arange(3).sum(dtype=equal)):
        objects = [id(d) for d in (a.dtype, a.local().dtype, np.dtype(float))]
        collectively(len(set(objects)) == 1, f"{a!r}: {objects}")


@pytest.mark.parametrize("dtype", ["U3", "S2", "U"])
def test_zeros_of_text_are_empty(dtype: str) -> None:
    x = np.array(["a", "b"], dtype)
    assert_equal(pg.zeros((2, 3), dtype), np.zeros((2, 3), dtype))
    assert_equal(pg.zeros_like(pg.array(x)), np.zeros_like(x))
    assert_equal(pg.diag(pg.array(x)), np.diag(x))


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_equal(np.arange(3.0), 1)
    for call in (lambda: pg.ones(3) + masked, lambda: pg.full(3, masked)):
        raises_everywhere(TypeError, "masks would be lost", call)


@pytest.mark.mpi
@pytest.mark.parametrize("n", [3, 1 << 16])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_a_range_from_negative_zero_begins_with_it(n: int, dtype: str) -> None:
    found, expected = pg.arange(-0.0, n / 4, 0.25, dtype=dtype), np.arange(-0.0, n / 4, 0.25, dtype=dtype)
    assert_equal(np.signbit(found), np.signbit(expected))


def test_ranges_beyond_the_integers_of_64_bits() -> None:
    with np.errstate(all="ignore"):
        for arguments in (2**63, 2**63 + 3), (-2**63, -2**63 + 5000, 1000):
            assert_equal(pg.arange(*arguments), np.arange(*arguments))
    raises_everywhere(TypeError, "object", lambda: pg.arange(0, 2**64, 2**62))


OPERANDS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-2],
    "stretched": lambda x: np.broadcast_to(x[0], x.shape),
    "not aligned": lambda x: np.frombuffer(b"a" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "in another order of bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "of Fortran": np.asfortranarray,
}


@pytest.mark.parametrize("dtype", ["d", "f", "F", "D", "b", "?", "e", "g", "S3", "U2", "M8[s]", "i", "Q"])
@pytest.mark.parametrize("name", OPERANDS)
def test_large_arrays_of_numpys_are_copied(name: str, dtype: str) -> None:
    """In whatever way they lie, and nothing is seen of what is written to them later."""
    numbers = np.random.default_rng(1).integers(0, 100, (300, 400))
    x = OPERANDS[name](numbers.astype(dtype))
    expected, source = np.array(x, x.dtype.newbyteorder("="), order="C"), x if x.flags.writeable else x.copy()
    A, B = pg.array(source), pg.zeros_like(pg.array(source))
    B[...] = source
    source[...] = np.zeros((), dtype)
    assert_equal(A, expected)
    assert_equal(B, expected)
