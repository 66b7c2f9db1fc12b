"""Statements on small arrays in C: they give what those in Python do, to the bit and in the same layouts, or refuse."""

from __future__ import annotations

import contextlib
import gc
import inspect
import operator
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import ufuncs
from pgaspy.alone import functions, quick, sections, small
from pgaspy.execution import recording
from pgaspy.job.procgrid import begin_anew
from pgaspy.scheduling.base import borrowers
from tests.flushes import have_recorded, refuse_quickly

pytestmark = [pytest.mark.skipif(pg.SIZE > 1, reason="of one process"),
              pytest.mark.filterwarnings("ignore:Casting complex", "ignore:.* in cast:RuntimeWarning")]

SHAPES = [(), (1,), (5,), (3, 5), (1, 5), (3, 1), (2, 3, 5), (0, 5)]
DTYPES = "?bBhilLefdFD"
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt,
          operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.xor, operator.pow,
          np.minimum, np.maximum, np.add, np.arctan2, np.hypot]
UNARY = [operator.neg, operator.pos, abs, operator.invert, np.sqrt, np.exp, np.isnan, np.sin, np.log1p]
REDUCTIONS = ["sum", "max", "min", "prod", "any", "argmax"]
UFUNCS = [np.add, np.multiply, np.divide, np.minimum, np.maximum, np.less, np.arctan2, np.hypot, np.floor_divide,
          np.bitwise_and]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
NUMBERS = [0, 1, -3, 2**31, 2**63, 1.5, -0.0, np.nan, np.inf, 2j, True, np.float64(2.5), np.float32(0.1), np.int64(7),
           np.int32(-1), np.uint8(200), np.float16(3), np.complex64(1j)]
LAYOUTS = [None, pg.Distribution("block"), pg.Distribution("cyclic(2)"), pg.Distribution("*")]


def numbers(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    values = np.array([rng.choice((0, 1, -1, 2.5, -0.0, 7, 100, np.inf, np.nan)) for _ in range(int(np.prod(shape)))])
    with np.errstate(all="ignore"):
        return values.reshape(shape).astype(dtype)


def index(rng: random.Random, n: int) -> Any:
    """An index of a dimension, which may be beyond it."""
    bounds = [rng.choice((None, *range(-n - 1, n + 2))) for _ in range(2)]
    step = rng.choice((None, 1, 2, -1, -2))
    return rng.choice((rng.randint(-n - 1, n), slice(*bounds, step), slice(None), np.int64(0), None, ...,
                       slice(np.int32(0), None), np.int8(rng.randint(-n - 1, n)),
                       slice(None, np.uint64(2), np.int16(1)),
                       np.True_, np.timedelta64(1, "s"), np.float64(1)))


def key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    found = [index(rng, n) for n in shape[:rng.randint(0, len(shape))]]
    return found[0] if len(found) == 1 and rng.random() < 0.6 else tuple(found)


class Program:
    """Random statements on arrays, of which each may be what one of the others gave."""

    def __init__(self, seed: int, make: Callable[..., Any]) -> None:
        rng = self.rng = random.Random(seed)
        self.arrays = []
        for _ in range(4):
            shape, layout = rng.choice(SHAPES[1:]), rng.choice(LAYOUTS)
            x = numbers(rng, shape, rng.choice(DTYPES))
            self.arrays.append(make(x, None if layout is None or len(shape) > 1 else layout))

    def one(self) -> Any:
        return self.rng.choice(self.arrays)

    def operand(self) -> Any:
        return self.one() if self.rng.random() < 0.6 else self.rng.choice(NUMBERS)

    def step(self) -> Any:
        """Carry out a statement, and give what it gave, or the class of what it has raised."""
        rng, kind = self.rng, self.rng.choice("uubbbbriiisss====vtmmppwxoo")
        x, y = self.one(), self.operand()
        try:
            found = self.carried_out(kind, x, y, key(rng, x.shape))
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            return "IndexError" if isinstance(error, IndexError) else "error"
        self.arrays = [*self.arrays[-5:], found]
        return found

    def carried_out(self, kind: str, x: Any, y: Any, key: Any) -> Any:
        rng = self.rng
        function, in_place, unary = rng.choice(BINARY), rng.choice(IN_PLACE), rng.choice(UNARY)
        ufunc, unary_ufunc = rng.choice(UFUNCS), rng.choice(UNARY[4:])
        if kind == "u":
            return unary(x)
        if kind == "b":
            return function(x, y)
        if kind == "r":
            return function(y, x)
        if kind == "i":
            return in_place(x, y)
        if kind == "s":
            return x[key]
        if kind == "t":
            return x.T
        if kind == "m":
            axis, keepdims = rng.choice((None, None, 0, -1)), rng.random() < 0.3
            return getattr(x, rng.choice(REDUCTIONS))(axis=axis, keepdims=keepdims)
        if kind == "w":
            return (pg if isinstance(x, pg.GlobalArray) else np).where(x > 1, y, rng.choice((x, self.operand())))
        if kind == "p":
            return x @ rng.choice((y, x.T, self.one()))
        if kind == "o":
            where = {"where": self.one() > 0} if rng.random() < 0.3 else {}
            out, is_first = self.one(), rng.random() < 0.7
            if rng.random() < 0.3:
                return unary_ufunc(x, out=out, **where)
            return ufunc(*((x, y) if is_first else (y, x)), out=out, **where)
        if kind == "x":
            shape = (2, *x.shape) if x.ndim < 4 else x.shape
            return (pg if isinstance(x, pg.GlobalArray) else np).broadcast_to(x, shape)
        if kind == "v":
            return x.imag if x.dtype.kind == "c" and rng.random() < 0.5 else x.real
        x[key] = y
        return x


def made(x: Any, layout: Any) -> pg.GlobalArray:
    return pg.array(x, layout=layout)


def course(seed: int) -> list[Any]:
    """What a program gives, step by step: bits, dtypes, whether it is a number, and layouts."""
    program, found = Program(seed, made), []
    for _ in range(15):
        given = program.step()
        if isinstance(given, pg.GlobalArray):
            layout = given._view.own_layout
            found.append((given.gather().tobytes(), given.dtype, given.shape, given._is_number, layout))
        else:
            found.append(given)
    found.append([x.gather().tobytes() for x in program.arrays])
    return found


@pytest.mark.parametrize("seed", [*range(400), *(pytest.param(k, marks=pytest.mark.long) for k in range(400, 10000))])
def test_it_gives_what_python_gives(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    quickly = course(seed)
    refuse_quickly(monkeypatch)
    assert quickly == course(seed)


@pytest.mark.parametrize("seed", range(200))
def test_it_gives_what_numpy_gives(seed: int) -> None:
    """But for errors, and for classes of numbers that decide dtypes where they are elements."""
    ours, theirs = Program(seed, made), Program(seed, lambda x, layout: x.copy())
    for _ in range(15):
        found = ours.step()
        with np.errstate(all="ignore"):
            expected = theirs.step()
        if isinstance(found, str) or isinstance(expected, str):
            return
        if found.dtype != expected.dtype:
            return
        np.testing.assert_allclose(found.gather(), expected, rtol=1e-3)


@pytest.fixture
def _job() -> None:
    """A job in which nothing has failed, and nobody has elements of arrays."""
    begin_anew()
    borrowers.clear()


def placed(seed: int) -> list[Any]:
    """The results of operators of sections with new dimensions, and their layouts."""
    rng = random.Random(seed)
    x, A = pg.array(np.arange(5.0)), pg.array(np.arange(15.0).reshape(3, 5))
    views = [x, x[:, None], x[None], A, A[:, None], A[:, :, None][1:], (x + 1)[:, None], x[:, None].T, A.T[None], x[1:],
             pg.array([2.0]), pg.array([[1.0]]), pg.array([[3.0], [4.0], [5.0]]), pg.array([[[1.0]]])]
    found: list[Any] = []
    for _ in range(24):
        a, b = rng.choice(views), rng.choice(views)
        try:
            c = rng.choice((operator.add, operator.lt, np.maximum))(a, b)
        except ValueError:
            continue
        found += [(c.gather().tolist(), c.layout, (c[..., None] - 1).layout)]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_results_lie_as_in_other_tiers(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    quickly = placed(seed)
    with monkeypatch.context() as patch:
        refuse_quickly(patch)
        assert quickly == placed(seed)
    monkeypatch.setattr(small, "is_on", False)
    assert quickly == placed(seed)


@pytest.mark.usefixtures("_job")
def test_most_statements_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: Counter[str] = Counter()

    def counting(definition: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            refused[definition.__name__] += 1
            return definition(*arguments)
        return call

    A, x, p, counts = pg.ones((4, 5)), pg.ones(5), pg.array([0, 3, 1, 2], dtype=np.int32), pg.array([5, 6, 7, 8])
    for module, name in ((functions, "computed"), (functions, "is_computed_into"), (sections, "section"),
                         (sections, "is_assigned")):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    before = pg.stats().n_at_once
    for i in range(1, 4):
        A[i] -= A[i, 0] / A[0, 0] * A[0]
        A[i, 1:] += 2.0
        x[1:-1] = 0.5 * (x[2:] + x[:-2])
        A[:, i] = 1.5
        s = A[i, i] * 2 - x[i]
        A[i, i] = np.sqrt(np.float64(3.0) * s + np.abs(s))
        np.multiply(A[i], 0.5, out=x)
        np.arctan2(x, A[i], out=A[0])
        np.divide(x, A[i], out=A[i], where=A[i] > 1)
        np.square(x, x)
        A[p[i], 1:p[1]] = x[np.int64(i)] * x[p[0]:np.int16(2)]
        A[:, np.uint8(i)] = p[p[i]]
        counts[i] = p[i]
        p[p[i]] = A[p[i], i]
    assert not {*refused} - {"computed"}, refused
    assert refused["computed"] <= 3
    assert pg.stats().n_at_once - before > 50


def test_methods_are_as_they_are_defined() -> None:
    method = pg.GlobalArray.__getitem__
    assert isinstance(method, quick.Method)
    assert method.__name__ == "__getitem__"
    assert method.__doc__ == method.__wrapped__.__doc__
    assert [*inspect.signature(method).parameters] == ["self", "key"]
    assert pg.arange(5).__getitem__(2) == method(pg.arange(5), key=2) == 2
    with pytest.raises(TypeError, match="positional argument"):
        pg.GlobalArray.__add__(pg.ones(2))
    with pytest.raises(ValueError, match="no kind"):
        quick.method("other", None, test_methods_are_as_they_are_defined)


@pytest.mark.parametrize("statement", [
    "x + y", "x * 2", "-x", "x[1:]", "x[2]", "A[1, 2]", "A[1:, ::2][0]", "x[1] * x[2]", "x.__iadd__(y)",
    "x.__setitem__(slice(1, None), 3.0)", "A.__setitem__(0, A[1])", "x.__setitem__(99, 1.0)", "A[7]", "x & y",
    "x[1] < 2", "x.__setitem__(slice(None, None, -1), x)", "A.__setitem__((1, 1), x[2])", "2 - x", "np.float64(2) * x"])
def test_nothing_is_kept(statement: str) -> None:
    """Neither arrays nor what they hold; what comes first is known for the next ones."""
    names = {"x": pg.ones(5), "y": pg.ones(5), "A": pg.ones((3, 5)), "np": np}
    code = compile(statement, statement, "eval")

    def repeat(n: int) -> int:
        for _ in range(n):
            with contextlib.suppress(IndexError, TypeError):
                eval(code, names)
        gc.collect()
        return sys.getallocatedblocks()

    repeat(200)
    before = repeat(10)
    assert repeat(2000) - before < 100


@pytest.mark.usefixtures("_job")
def test_it_is_refused_while_anything_is_under_way() -> None:
    x, y = pg.ones(4), pg.ones(4)
    large = pg.ones(1 << 20)
    pg.sync()
    assert quick.computed(np.add, x, y, False) is not None
    large += 1  # is recorded
    assert recording.queue.recorded.fields
    assert quick.computed(np.add, x, y, False) is None
    assert quick.section(x, 0) is None
    assert not quick.is_assigned(x, 0, 1.0)
    assert not quick.is_computed_into(np.add, x, True, x, y)
    pg.sync()
    with np.errstate(divide="raise"):
        assert quick.computed(np.add, x, y, False) is None
    recording.queue.overlaps = False
    assert quick.computed(np.add, x, y, False) is None
    recording.queue.overlaps = True
    assert quick.computed(np.add, x, y, False) is not None


@pytest.mark.parametrize("dtype", "dfl")
@pytest.mark.parametrize("shapes", [((300, 1), (900,)), ((900,), (300, 1)), ((9, 1, 50), (700, 1))])
def test_a_large_result_of_small_arrays_is_not_worked_out(shapes: tuple[tuple[int, ...], ...], dtype: str,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (np.arange(np.prod(shape)).reshape(shape) % 7 for shape in shapes)
    x = x.astype(dtype)
    a, b = pg.array(x), pg.array(y)
    kept: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(ufuncs, "computed", lambda *call: kept.append(call))
        found = a * b
    assert not kept
    assert np.array_equal(found.gather(), x * y)
    monkeypatch.setattr(small, "is_on", False)
    assert found.layout == (pg.array(x) * pg.array(y)).layout


def test_numbers_of_other_classes_have_their_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(np.float64):
        __array_ufunc__ = None

    class First(np.float64):
        __array_priority__ = 5000.0

        def __radd__(self, other: Any) -> Any:
            return "first"

    for _ in range(2):
        x = pg.full(4, 2.0)
        assert x + First(1) == x[1] + First(1) == "first"
        with pytest.raises(TypeError, match="unsupported operand"):
            x[1] - Refusing(1)
        refuse_quickly(monkeypatch)


def test_a_finaliser_may_have_the_base_made_of_what_a_section_is_taken_of() -> None:
    """Python 3.11 collects garbage wherever it makes a tuple."""
    A, n_made = pg.array(np.arange(24.0).reshape(6, 4)), 0

    class Cycle:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            nonlocal n_made
            n_made += x._source is not None
            x._view  # noqa: B018

    before = gc.get_threshold()
    gc.collect()
    try:
        for k in range(400):
            gc.disable()
            x = A[1:][1:]
            Cycle()
            gc.set_threshold(1 + k % 20)
            gc.enable()
            found = x[1:]
            assert found._source is None or found._source[0] is not None
            repr(found._source)
            assert found[0, 0].item() == 12
    finally:
        gc.enable()
        gc.set_threshold(*before)
    assert n_made


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 2, 7, 33, 1000])
@pytest.mark.parametrize("product", [
    lambda x, y, A: x @ y[::-1], lambda x, y, A: x[::-1] @ y, lambda x, y, A: x[::-1] @ y[::-1],
    lambda x, y, A: A[:, 1] @ A[::-1, 0], lambda x, y, A: A.T @ x[::-1], lambda x, y, A: x[::-1] @ A,
])
def test_products_of_reversed_vectors(monkeypatch: pytest.MonkeyPatch, dtype: str, n: int,
                                      product: Callable[..., Any]) -> None:
    """They have the same bits in all tiers, and need no recipe."""
    rng = np.random.default_rng(n)
    x, y, A = (rng.random(shape).astype(dtype) for shape in (n, n, (n, 2)))
    operands = [pg.array(z) for z in (x, y, A)]

    def told() -> bytes:
        return product(*operands).gather().tobytes()

    quickly = told()
    np.testing.assert_allclose(product(*operands).gather(), product(x, y, A), rtol=1e-5)
    with monkeypatch.context() as patch:
        patch.setattr("pgaspy.matrix_product.record_cold", pytest.fail)
        refuse_quickly(patch)
        assert quickly == told()
    have_recorded(monkeypatch)
    assert quickly == told()


def test_reversed_vectors_are_multiplied_in_c() -> None:
    x, A = pg.arange(5.0), pg.arange(15.0).reshape(5, 3)
    for a, b in (x, x[::-1]), (x[::-1], x), (x[::-1], A), (A.T, x[::-1]):
        assert quick.product(a, b) is not None
    for a, b in (A[::-1].T, x), (x, A[:, ::-1]), (x, pg.broadcast_to(x[0], 5)):
        assert quick.product(a, b) is None


@pytest.mark.parametrize("dtype", ["c8", "c16", "f8", "i4"])
@pytest.mark.parametrize("number", [3, True, 0.0, -0.0, 2.5, 1j, complex(-0.0, 0.0), complex(np.nan, 1), np.inf, 1e300])
@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply, np.divide])
def test_complex_arrays_and_numbers(monkeypatch: pytest.MonkeyPatch, dtype: str, number: complex,
                                    function: Callable[..., Any]) -> None:
    """They have the same bits in all tiers, also where numbers are beyond the dtype, or arrays are cast."""
    X = np.array([[1 + 2j, 0, -3j], [7, complex(1, np.nan), -1]])
    X = (X if dtype in ("c8", "c16") else X.real).astype(dtype)
    operands = [(pg.array(X), number), (number, pg.array(X)[:, ::-1])]

    def told() -> list[bytes]:
        return [function(*both).gather().tobytes() for both in operands]

    with np.errstate(all="ignore"):
        quickly = told()
        expected = function(X, number)
        np.testing.assert_allclose(function(*operands[0]).gather(), expected, rtol=1e-6)
        assert function(*operands[0]).dtype == expected.dtype
        have_recorded(monkeypatch)
        assert quickly == told()


@pytest.mark.parametrize("dtype", ["c8", "c16", "f8", "i4"])
def test_complex_numbers_meet_arrays_in_c(dtype: str) -> None:
    x = pg.ones(4, dtype=dtype)
    pg.sync()
    assert quick.computed(np.multiply, x, 2j, True) is not None
    assert quick.computed(np.multiply, x, pg.ones(4, dtype="c16"), False) is not None


def test_threads_may_compute_side_by_side() -> None:
    """NumPy lets others run meanwhile, who find the context in use."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            a = pg.full(30000, 2.0)
            for _ in range(200):
                assert float((a * 2 + 1)[5]) == 5
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_state_of_errors_stays() -> None:
    before = np.geterr()
    x = pg.full(3, 1e308)
    assert np.isinf((x * x).gather()).all()
    assert np.geterr() == before
