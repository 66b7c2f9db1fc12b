"""Wrong arguments raise on every process alike, before anything is sent; nothing changes, and the job goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.operands import PARTS_FROM_BYTES
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.stay]

A = np.arange(35.0).reshape(7, 5)
B = np.arange(7) + 10


class Arrays(NamedTuple):
    a: Any
    b: Any
    i: Any


def made() -> Arrays:
    return Arrays(pg.array(A), pg.array(A[0] + 100), pg.array(B))


def wrong(names: str) -> Callable[[Arrays], Any]:
    """The statement in `names`, as a function of the arrays a (7, 5), b (5,), and i (7,) of integers."""
    code = compile(names, "<statement>", "exec")
    return lambda arrays: exec(code, {"np": np, "pg": pg, **arrays._asdict()})


# What NumPy raises, too: with the exception's type
LIKE_NUMPY = [
    ("a[0, 0, 0]", "too many indices.*2-dimensional.*3 were indexed"),
    ("a[7]", "index 7 is out of bounds for axis 0 with size 7"),
    ("a[0, -6]", "index -6 is out of bounds for axis 1 with size 5"),
    ("a[7, 0] = 1", "index 7 is out of bounds for axis 0 with size 7"),
    ("a[..., ...]", "single ellipsis"),
    ("a[1.5]", "only integers, slices"),
    ("a['x']", "only integers, slices"),
    ("a[::0]", "slice step cannot be zero"),
    ("a + i", r"could not be broadcast together with shapes.*\(7, 5\).*\(7,\)"),
    ("np.add(a, i)", r"could not be broadcast together with shapes.*\(7, 5\).*\(7,\)"),
    ("a + np.ones((2, 5))", r"could not be broadcast together.*\(7, 5\).*\(2, 5\)"),
    ("a += i", r"\(7,\)"),
    ("b += a", r"\(5,\).*\(7, 5\)"),
    ("np.add(a, a, out=b)", r"\(5,\).*\(7, 5\)"),
    ("b[:] = [[1.0]]", "maximum number of dimension of 1"),
    ("b[:] = [b]", "maximum number of dimension of 1"),
    ("a[0, :1] = [[1]]", "maximum number of dimension of 1"),
    ("a.reshape({35})", "expected a sequence of integers"),
    ("a.reshape({7: 1, 5: 1})", "expected a sequence of integers"),
    ("np.zeros_like(a, shape={35})", "expected a sequence of integers"),
    ("a.copy(order='x')", "order must be one of"),
    ("a.astype(int, 'x')", "order must be one of"),
    ("np.zeros_like(a, order='x')", "order must be one of"),
    ("np.roll(a, [[1, 2]], (0, 1))", "should be scalars or 1D"),
    ("np.roll(a, [[1]])", "should be scalars or 1D"),
    ("a[...] = i", r"could not broadcast.*\(7,\).*\(7, 5\)"),
    ("a[:3] = a", r"could not broadcast.*\(7, 5\).*\(3, 5\)"),
    ("a[:2] = np.ones((3, 5))", r"could not be? ?broadcast.*\(3, 5\).*\(2, 5\)"),
    ("i += 1.5", "Cannot cast ufunc 'add' output from dtype.*float64.*int64"),
    ("np.add(i, 1.5, out=i)", "Cannot cast ufunc 'add' output"),
    ("np.sqrt(i, out=i)", "Cannot cast ufunc 'sqrt' output"),
    ("np.bitwise_and(a, a)", "not supported for the input types"),
    ("a & 1", "not supported for the input types"),
    ("~a", "not supported for the input types"),
    ("np.add(a)", "inputs|arguments"),
    ("np.broadcast_to(b, (2, 5))[...] = 1", "read-only"),
    ("np.broadcast_to(b, (7, 5))[...] = a", "read-only"),
    ("np.add(a, 1, out=np.broadcast_to(b, (7, 5)))", "read-only|broadcast"),
    ("np.broadcast_to(a, (2, -1, 7, 5))", "non-negative"),
    ("np.broadcast_to(a, (7, 4))", r"\(7, 5\).*\(7, 4\)"),
    ("a.sum(axis=2)", "axis 2 is out of bounds for array of dimension 2"),
    ("a.sum(axis=(0, 0))", "duplicate|repeated"),
    ("a[:0].min()", "zero-size array to reduction operation"),
    ("a[:0].argmax()", "empty sequence"),
    ("a[:, :0].max(axis=1)", "zero-size array to reduction operation"),
    ("float(a)", r"0-dimensional.*\(7, 5\)"),
    ("int(a[0])", r"0-dimensional.*\(5,\)"),
    ("bool(a)", "ambiguous"),
    ("if a: pass", "ambiguous"),
    ("range(10)[a[0, 0]]", "integer"),
    ("len(a[0, 0])", "unsized"),
    ("a.transpose(0)", "axes"),
    ("a.transpose(0, 0)", "repeated|axes"),
    ("a.swapaxes(0, 2)", "axis2?: ?.*out of bounds|axis 2 is out of bounds"),
    ("a.squeeze(0)", "size not equal to one"),
    ("a.item()", "size 1"),
    ("a.reshape(4, 4)", "cannot reshape|35"),
    ("np.expand_dims(b, 3)", "out of bounds"),
    ("np.concatenate([a, b])", "dimension"),
    ("np.concatenate([a, a[:, :3]])", "must match exactly.*5.*3"),
    ("np.concatenate([a, a], axis=2)", "axis 2 is out of bounds"),
    ("np.stack([a, a[:3]])", "same shape"),
    ("np.repeat(b, -1)", "negative"),
    ("np.repeat(b, [1, -2, 3, 4, 5])", "negative"),
    ("np.repeat(b, [1, 2])", "broadcast"),
    ("np.repeat(b, [[1], [2]])", "object too deep"),
    ("np.repeat(b, np.ones(5))", "Cannot cast"),
    ("np.flip(b, 1)", "out of bounds"),
    ("np.roll(b, 1, 1)", "out of bounds"),
    ("a.fill(b)", "setting an array element with a sequence"),
    ("b.fill(np.ones(5))", "setting an array element with a sequence"),
    ("b.fill([1.0])", "setting an array element with a sequence"),
    ("i.fill([1])", "int.. argument must be.*'list'"),
    ("a @ i", "7.*5|5.*7|mismatch"),
    ("a @ a", "5.*7|7.*5|mismatch"),
    ("np.matmul(a, 2)", "dimension"),
    ("hash(a)", "unhashable"),
]

# What NumPy does and global arrays do not, or what it does not have
OF_OUR_OWN = [
    ("a + np.array(['x', None], object)", TypeError, "object dtype is not supported"),
    ("a + 'x'", TypeError, "."),
    ("pg.empty(3, dtype=object)", TypeError, "object dtype is not supported.*numeric"),
    ("pg.zeros(3, dtype='i4,f8')", TypeError, "structured dtype.*one array per field"),
    ("pg.array([(1, 2.0)], dtype='i4,f8')", TypeError, "structured dtype.*one array per field"),
    ("a.astype(object)", TypeError, "object dtype is not supported"),
    ("pg.sum(x for x in [1, 2])", TypeError, r"a generator is no array: use pg.fromiter"),
    ("a[1.5]", IndexError, r"`None`\) and integer or boolean arrays are valid indices, not 1.5"),
    ("pg.array([None, 1])", TypeError, "object dtype is not supported"),
    ("pg.empty((2, -1))", ValueError, r"negative dimensions.*\(2, -1\)"),
    ("pg.empty(2.5)", TypeError, "."),
    ("pg.zeros(3, onenode=pg.SIZE)", ValueError, r"onenode=\d+ is not a rank.*0 to \d+"),
    ("pg.zeros(3, onenode=-1)", ValueError, r"onenode=-1 is not a rank.*0 to \d+"),
    ("pg.zeros(3, onenode=0, layout=pg.Distribution('block'))", ValueError, "exclude each other"),
    ("pg.zeros((3, 4), layout='cyclic')", TypeError, "Distribution or a Layout.*'cyclic'"),
    ("pg.zeros(3.0)", TypeError, "integer"),
    ("pg.datalayout(grid='block')", (TypeError, RuntimeError), "processes along each axis|once"),
    ("f'{a:.2f}'", TypeError, r"float\(A\[i, j\]\)"),
    ("a.gather(root=99)", ValueError, "root=99.*ranks are 0 to"),
    ("pg.explain(a)", TypeError, "takes a function"),
    ("pg.nditer", AttributeError, r"A.gather\(\)"),
    ("pg.zeros((3, 4), layout=a.layout)", ValueError, r"shape \(7, 5\).*shape \(3, 4\).*Distribution"),
    ("pg.zeros(3, layout=pg.Distribution('block', 'block'))", ValueError, "1 dimensions.*2"),
    ("pg.zeros((3, 4), layout=pg.Distribution('block', '*', grid=(pg.SIZE + 1,)))", ValueError,
     r"grid \(\d+,\) needs \d+ processes, this job has \d+: use grid="),
    ("pg.zeros((3, 4), layout=pg.Distribution('block', 'block', grid=(pg.SIZE, 2)))", ValueError,
     r"grid \(\d+, 2\) needs \d+ processes, this job has \d+: use grid="),
    ("pg.zeros((3, 4), layout=pg.Distribution('block', 'block', grid=(-pg.SIZE, -1)))", ValueError, "grid"),
    ("pg.Distribution('cyclic(0)')", ValueError, r"block size 0 in 'cyclic\(0\)' is below 1"),
    ("pg.Distribution('cyclic(-3)')", ValueError, "block size -3.*below 1"),
    ("pg.Distribution('blocks')", ValueError, "unknown distribution 'blocks': use 'block'"),
    ("pg.Distribution('block(3)')", ValueError, "unknown distribution"),
    ("pg.Distribution('block', 'block', axes=(0, 0))", ValueError, "distinct"),
    ("pg.Distribution('block', axes=(0, 1))", ValueError, "names 2 dimensions.*has 1"),
    ("pg.Distribution('*', axes=(0,))", ValueError, "takes None"),
    ("pg.zeros(3, layout=pg.Distribution('block', grid=(pg.SIZE,), axes=(1,)))", ValueError, "grid of 2 axes.*has 1"),
    ("pg.datalayout(block=4)", RuntimeError, "once, before the first array"),
    ("pg.datalayout(grid=(1, pg.SIZE))", RuntimeError, "once, before the first array"),
    ("pg.init()", RuntimeError, "runs already.*before the first array"),
    ("pg.replicate(a, 5)", ValueError, "axis 5 is not an axis of the grid"),
    ("pg.replicate(np.broadcast_to(b, (7, 5)), 0)", ValueError, "layout"),
    ("pg.align(b, a, 2)", ValueError, "axis 2 is out of bounds"),
    ("pg.align(b, a, 0)", ValueError, "extent of dimension 0 of one of shape \\(7, 5\\).*not one of shape \\(5,\\)"),
    ("pg.align(a.T, a, 0)", ValueError, "extent of dimension 0.*not one of shape \\(5, 7\\)"),
    ("pg.align(a[None], a, 1)", ValueError, "not one of shape \\(1, 7, 5\\)"),
    ("pg.combine(np.add, a)", ValueError, "copies"),
    ("pg.combine(np.add, 3)", TypeError, r"combine takes a global array, not a int.*array\(\)"),
    ("pg.combine(np.add, np.ones(3))", TypeError, "global array, not a ndarray"),
    ("pg.combine(a, np.add)", TypeError, "combine takes a function of two arrays, then.*first is a GlobalArray"),
    ("pg.combine(a, np.add, 3)", TypeError, "takes a function.*first is a GlobalArray"),
    ("pg.combine(np.add)", TypeError, "then a global array"),
    ("pg.combine(np.add, pg.empty(4, layout=pg.Distribution('*')), a)", ValueError, "copies"),
    ("pg.combine(np.add, pg.empty(4, layout=pg.Distribution('*')), "
     "pg.empty(4, layout=pg.Distribution('*', grid=(1, pg.SIZE), axes=(None,))))", ValueError, "same axes of one grid"),
    ("r = pg.empty(4, layout=pg.Distribution('*')); pg.combine(np.add, r[1:], r[:2])", ValueError, "share elements"),
    ("pg.combine([1], a)", TypeError, "takes a function.*first is a list"),
    ("pg.schedule(None)", TypeError, "schedule takes a function, then its arguments; what comes first is a NoneType"),
    ("pg.schedule(a, print)", TypeError, "first is a GlobalArray"),
    ("pg.schedule()", TypeError, "function"),
    ("pg.read(np.ones(3))", TypeError, "read, write and update.*ndarray"),
    ("pg.update([a])", TypeError, "read, write and update.*list"),
    ("pg.replicate(np.ones((3, 3)), 0)", TypeError, "replicate takes a global array, not a ndarray"),
    ("pg.replicate(None, 0)", TypeError, "replicate takes a global array, not a NoneType"),
    ("pg.replicate(a, None)", TypeError, "."),
    ("pg.align(b, [1, 2], 0)", TypeError, "align takes a global array, not a list"),
    ("pg.align(b, a, None)", TypeError, "."),
    ("pg.exchange_rows(a, [1, 2])", TypeError, "exchange_rows takes a global array, not a list"),
    ("pg.exchange_rows(a, np.array([1, 2]))", TypeError, "exchange_rows takes a global array, not a ndarray"),
    ("pg.exchange_rows([[1]], i)", TypeError, "exchange_rows takes a global array, not a list"),
    ("pg.exchange_rows(a, i, 1.5)", TypeError, "integer"),
    ("pg.exchange_rows(a, i, None)", TypeError, "integer"),
    ("pg.exchange_rows(a, b)", TypeError, "integers"),
    ("pg.eye(3, k=1.5)", TypeError, "integer"),
    ("pg.eye(3, k=None)", TypeError, "integer"),
    ("pg.eye(None)", TypeError, "integer"),
    ("pg.zeros(None)", TypeError, "integer"),
    ("pg.zeros('x')", TypeError, "integer"),
    ("pg.zeros(3, 'no dtype')", TypeError, "."),
    ("pg.full(3)", TypeError, "fill_value"),
    ("pg.zeros_like(None)", TypeError, "object dtype"),
    ("pg.arange(None)", TypeError, "."),
    ("pg.arange([1, 2])", TypeError, "."),
    ("pg.fromfunction(None, (3,))", TypeError, "takes a function.*first is a NoneType"),
    ("pg.argmax(a, ())", TypeError, "integer"),
    ("a.argmin((0, 1))", TypeError, "integer"),
    ("a.sum(1.5)", TypeError, "."),
    ("a[...] = np.array(['x'])", ValueError, "could not convert string"),
    ("a[...] = 'x'", ValueError, "could not convert string"),
    ("pg.random.default_rng(1).uniform(1j, 2, 3)", TypeError, "real number"),
    ("pg.random.default_rng(1).uniform(None, 2, 3)", TypeError, "real number"),
    ("pg.print_once(a, file='x')", TypeError, "something to write to, not a str"),
    ("pg.save(None, a)", TypeError, "PathLike"),
    ("pg.load(None)", TypeError, "PathLike"),
    ("pg.linalg.eigh(a[:5], UPLO=3)", ValueError, "UPLO"),
    ("pg.concatenate(None)", TypeError, "."),
    ("pg.stack(3)", TypeError, "."),
    ("pg.where(a > 1, a)", ValueError, "either both or neither"),
    ("pg.tensordot(a, a, 'x')", (TypeError, ValueError), "."),
    ("pg.linalg.lu_solve(a, b)", (TypeError, ValueError), "."),
    ("a.gather('x')", TypeError, "."),
    ("pg.align(b, np.broadcast_to(b, (7, 5)), 1)", ValueError, "copy"),
    ("a.gather(root=pg.SIZE)", ValueError, r"is not a rank of this job.*0 to \d+"),
    ("a[::-1].layout", ValueError, "copy"),
    ("a.blocks([(0, 1)])", ValueError, "1 pairs.*2 dimensions"),
    ("a.global_indices(2)", ValueError, "axis 2 is out of bounds"),
    ("np.asarray(a)", TypeError, "gather"),
    ("np.array(a)", TypeError, "gather"),
    ("[*map(len, [np.array([a])])]", TypeError, "gather"),
    ("__import__('pickle').dumps(a)", TypeError, r"save\(\).*gather"),
    ("np.add(a, a, out=np.empty((7, 5)))", TypeError, "out= takes global arrays, not ndarray"),
    ("np.lib.scimath.sqrt(a)", TypeError, r"scimath.sqrt is not supported.*A.gather\(\)"),
    ("np.linalg.eig(a)", np.linalg.LinAlgError, "must be square"),
    ("np.subtract.reduce(a)", TypeError, "not associative"),
    ("np.add(a, a, where=a)", TypeError, "boolean"),
    ("np.vecdot(a, a, keepdims=True)", TypeError, "keepdims"),
    ("np.matmul(a, a, dtype=int)", TypeError, "dtype"),
    ("np.linalg._umath_linalg.det(a)", TypeError, "whole dimensions.*local"),
    ("pg.random.default_rng(1).integers(3, 3, 4)", ValueError, "low >= high"),
    ("pg.random.default_rng(1).integers(0, 300, 4, dtype='u1')", ValueError, "range of uint8"),
    ("pg.random.default_rng(1).random(4, dtype='i4')", TypeError, "dtype"),
    ("pg.explain(lambda: None, size=4, rank=4)", ValueError, "rank 4.*4 processes"),
    ("pg.explain(lambda: a.gather(), size=None)", RuntimeError, "does not execute"),
    ("pg.arange(0, 3, 0)", ZeroDivisionError, "."),
    ("pg.linspace(0, 1, -1)", ValueError, "non-negative"),
    ("pg.concatenate([])", ValueError, "at least one"),
    ("pg.undefined", AttributeError, "has no attribute 'undefined'"),
]


def numpys_error(names: str) -> type[BaseException]:
    arrays = Arrays(A.copy(), A[0] + 100, B.copy())
    with np.errstate(all="ignore"):
        try:
            wrong(names)(arrays)
        except Exception as error:
            return next(t for t in type(error).__mro__ if t.__module__ == "builtins")
    raise AssertionError(f"NumPy does not raise: {names}")


@pytest.mark.parametrize(("names", "match"), LIKE_NUMPY, ids=[names for names, _ in LIKE_NUMPY])
def test_as_numpy(names: str, match: str) -> None:
    check(names, numpys_error(names), match)


@pytest.mark.parametrize(("names", "error", "match"), OF_OUR_OWN, ids=[names for names, *_ in OF_OUR_OWN])
def test_of_our_own(names: str, error: type[BaseException], match: str) -> None:
    check(names, error, match)


def check(names: str, error: type[BaseException], match: str) -> None:
    arrays = made()
    before = n_executed()
    raises_everywhere(error, f"(?s){match}", lambda: wrong(names)(arrays))
    collectively(n_executed() == before + ("a > 1" in names and pg.SIZE > 1), "something was executed")
    assert_equal(arrays.a, A)
    assert_equal(arrays.b, A[0] + 100)
    assert_equal(arrays.i, B)
    assert_equal(arrays.a[::2, 1:] + arrays.b[1:], A[::2, 1:] + A[0, 1:] + 100)


def n_executed() -> int:
    """How many operations; on one process none that NumPy does at once, as it does some before they are refused."""
    stats = pg.stats()
    return stats.n_recorded - (stats.n_at_once if pg.SIZE == 1 else 0)


@pytest.mark.parametrize(("statement", "match"), [
    ("pg.datalayout(grid=(pg.SIZE + 1,))", r"grid \(\d,\) needs \d processes, this job has \d: use grid=\(\d,\)"),
    ("pg.datalayout(grid={2: (pg.SIZE, 3)})", r"grid \(\d, 3\) needs \d+ processes, this job has \d: use grid="),
    ("pg.datalayout(grid={2: (pg.SIZE,)})", r"has 1 axes.*2 dimensions"),
    ("pg.datalayout(block=0)", "block size 0 is below 1"),
    ("pg.datalayout(block=-64)", "block size -64 is below 1"),
])
def test_datalayout_before_the_first_array(statement: str, match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pgaspy.job import defaults

    monkeypatch.setattr(defaults, "_of_job", defaults._Defaults())
    raises_everywhere(ValueError, match, lambda: wrong(statement)(Arrays(None, None, None)))
    collectively(not defaults._of_job.are_fixed, "a call that raised fixed the default")


def test_explained_arrays_of_another_job() -> None:
    a = pg.array(A)

    def statement() -> None:
        a[...] = 1

    raises_everywhere(ValueError, "make the arrays inside", lambda: pg.explain(statement, size=pg.SIZE + 1))
    assert_equal(a, A)


@pytest.mark.parametrize(("pivots", "match"), [
    ([1, 0], r"pivots\[1\] is 0: row 1 of 7"), ([0, 7], r"pivots\[1\] is 7"), ([-1, 1], r"pivots\[0\] is -1: row 0"),
])
@pytest.mark.parametrize("layout", [pg.Distribution("block", "*"), pg.Distribution("*", "block")], ids=str)
def test_pivots_that_are_no_later_rows(pivots: list[int], match: str, layout: pg.Distribution) -> None:
    if pg.SIZE > 1:
        pytest.skip("fails the job: see test_job_errors")
    a = pg.array(A, layout=layout)

    def exchange() -> None:
        pg.exchange_rows(a, pg.array(pivots, layout=pg.Distribution("*")))
        pg.sync()

    raises_everywhere(pg.TaskError, match, exchange)


def test_large_arrays_do_not_fit_into_extents_of_one() -> None:
    x, large = pg.zeros(1), np.ones(PARTS_FROM_BYTES // 8 + 1)
    for statement in (lambda: x.__setitem__(..., large), lambda: x.__iadd__(large), lambda: np.add(large, 1.0, out=x),
                      lambda: pg.full(1, large), lambda: np.add(x, 1.0, out=x, where=np.ones(PARTS_FROM_BYTES, bool)),
                      lambda: pg.zeros((1, len(large))).__setitem__(..., np.ones((2, len(large))))):
        raises_everywhere(ValueError, "broadcast", statement)
    y = pg.zeros(len(large))
    y[...] = large[None]
    collectively(float(y.sum()) == len(large))
