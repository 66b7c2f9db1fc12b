"""What is computed at once and sends something: as if it were recorded, whatever the other processes do."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import engine, recording
from pgaspy.execution.direct import Direct
from pgaspy.execution.queue import Queue
from pgaspy.planning import trees
from pgaspy.scheduling import collectives, messages
from pgaspy.scheduling.at_once import MAX_ELEMENTS
from pgaspy.scheduling.base import Storage
from pgaspy.statements import known_calls
from tests.layouts import NAMES, layout_of
from tests.randomly import random_key, random_layout, random_section
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("any_tier")]


@pytest.fixture
def any_tier(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything may be computed at once, until a test draws otherwise."""
    pg.sync()
    known_calls.forget()
    monkeypatch.setattr(Queue, "computes_at_once", True)
    yield
    vars(recording.queue).pop("computes_at_once", None)


class Tiers:
    """Draws for each statement, and for each process by itself, in which tier it is; and whether it waits after."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"{seed} {pg.RANK}")
        self._likely = self._rng.choice((0.0, 0.5, 0.9, 1.0))

    def draw(self) -> None:
        """For the next statement."""
        if self._rng.random() < 0.1:
            pg.sync()
        recording.queue.computes_at_once = self._rng.random() < self._likely  # type: ignore[misc]


def _in_place(rng: random.Random, xs: list[Any], pg_or_np: Any) -> Any:
    i, j = rng.randrange(3), rng.randrange(3)
    x, y = xs[i], xs[j]
    key, other = random_key(rng, x.shape), random_key(rng, y.shape)
    x[key] += y[other]


def _assigned(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x, y = xs[rng.randrange(3)], xs[rng.randrange(3)]
    key, other = random_key(rng, x.shape), random_key(rng, y.shape)
    x[key] = y[other]


def _result(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x, y = xs[rng.randrange(3)], xs[rng.randrange(3)]
    operation = rng.choice((operator.add, operator.sub, operator.mul, xp.maximum))
    return operation(x[random_key(rng, x.shape)], y[random_key(rng, y.shape)])


def _element(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x = xs[rng.randrange(3)]
    at = tuple(rng.randrange(n) for n in x.shape)
    value = x[at]
    x[at] = value * 2 + 1
    return xp.asarray(float(value) + float(x[at]))


def _elements(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    """Numbers made of elements that lie anywhere, of arrays on other grids and on one process, and assigned there."""
    x, y, z = [xs[rng.randrange(5)] for _ in range(3)]
    at, first, second = (tuple(rng.randrange(n) for n in a.shape) for a in (x, y, z))
    number = y[first] - 2 * z[second]
    x[at] = rng.choice((y[first], number))
    return number


def _row(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x = xs[rng.randrange(3)]
    i, k = rng.randrange(len(x)), rng.randrange(len(x))
    x[i] -= x[k, -1] * x[k]
    x[k] = x[i]


def _outer(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x = xs[rng.randrange(3)]
    x[1:, 1:] -= x[1:, :1] * x[0, 1:]


def _overlap(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    x = xs[rng.randrange(3)]
    x[1:] = x[:-1]
    x[:-1] += x[1:]


def _product(rng: random.Random, xs: list[Any], xp: Any) -> Any:
    """A matrix times a row or a column of another one, from either side; nobody may see what it gives."""
    (x, y), k = (xs[rng.randrange(3)] for _ in range(2)), rng.randrange(1000)
    rows, columns = (random_section(rng, n, rng.randint(0, n)) for n in x.shape)
    found = rng.choice((lambda: x[rows, columns] @ y[k % len(y), columns],
                        lambda: y[rows, k % y.shape[1]] @ x[rows, columns]))()
    return found if rng.random() < 0.8 else None


STATEMENTS: list[Callable[..., Any]] = [
    _in_place, _assigned, _result, _element, _elements, _row, _outer, _overlap, _product]


@pytest.mark.parametrize("seed", range(120))
def test_random_statements_in_any_tier_of_each_process(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, tiers = random.Random(seed), Tiers(seed)
    if rng.random() < 0.3:
        monkeypatch.setattr(messages, "MAX_MESSAGE_BYTES", 56)
        monkeypatch.setattr(trees, "PACKET_BYTES", 40)
    if rng.random() < 0.3:
        monkeypatch.setattr(collectives, "MAX_TREES", 1)
        monkeypatch.setattr(collectives, "MAX_DOUBLED_BYTES", rng.choice((0, 100)))
    if rng.random() < 0.3:
        monkeypatch.setattr(engine, "WINDOW_BYTES", 64)
    recording.forget()
    shape = rng.randint(2, 7), rng.randint(2, 7)
    models: list[Any] = [np.arange(np.prod(shape)).reshape(shape) % 7.0 + k for k in range(3)]
    models += np.arange(shape[0]) % 5.0, np.array(3.0)  # of which elements are taken
    arrays = [pg.array(model, layout=random_layout(rng, model.shape, pg.SIZE)) for model in models]
    for _ in range(20):
        statement, state = rng.choice(STATEMENTS), rng.getstate()
        try:
            with np.errstate(all="ignore"):
                expected = statement(rng, models, np)
        except ValueError as error:
            if "sequence" in str(error):  # what NumPy does not assign to an element, and pgaspy does
                continue
            rng.setstate(state)
            with pytest.raises(ValueError, match="shape"):
                statement(rng, arrays, pg)
            continue
        rng.setstate(state)
        tiers.draw()
        found = statement(rng, arrays, pg)
        if expected is not None:
            assert_equal(found, expected)
        for model, array in zip(models, arrays, strict=True):
            if np.abs(model).max() > 1e4:
                model[...], array[...] = model.size, model.size
    for model, array in zip(models, arrays, strict=True):
        assert_equal(array, model)
    pg.sync()
    recording.forget()


@pytest.mark.parametrize("is_at_once", [True, False])
def test_an_element_is_assigned_to_its_own_place(is_at_once: bool) -> None:
    """It gets memory of its own first, and is seen otherwise from then on, wherever the assignment goes."""
    model = np.arange(6.0)
    A = pg.array(model)
    pg.sync()
    recording.queue.computes_at_once = is_at_once  # type: ignore[misc]
    x = A[5]
    A[5] = x
    A[0] = x
    A[5] = 3.0
    model[[0, 5]] = 5, 3
    assert_equal(A, model)
    collectively(float(x) == 5.0)


def test_an_array_that_shares_is_the_array_it_shares_with_in_any_tier() -> None:
    model = np.arange(24.0).reshape(6, 4)
    A = pg.array(model, layout=pg.Distribution("block", "block", grid=(pg.SIZE, 1)))
    B = pg.replicate(A, 1)
    pg.sync()
    for is_at_once in pg.RANK % 2 == 0, pg.RANK % 2 == 1:
        recording.queue.computes_at_once = is_at_once  # type: ignore[misc]
        assert_equal(B + 1.0, model + 1)
        assert_equal(A * B, model * model)


FUNCTIONS: list[Callable[..., Any]] = [
    lambda xp, a, b: a + b, lambda xp, a, b: a * b, lambda xp, a, b: a / b, lambda xp, a, b: a < b,
    lambda xp, a, b: a % b, lambda xp, a, b: xp.divmod(a, b), lambda xp, a, b: xp.gcd(a, b),
    lambda xp, a, b: xp.hypot(a, b), lambda xp, a, b: xp.maximum(a, b), lambda xp, a, b: xp.where(a > b, a, b),
    lambda xp, a, b: xp.logical_and(a, b), lambda xp, a, b: xp.copysign(a, b), lambda xp, a, b: 2 * a,
    lambda xp, a, b: a - 1, lambda xp, a, b: 1.5 / a, lambda xp, a, b: a / 2, lambda xp, a, b: a == 3,
    lambda xp, a, b: xp.sqrt(a), lambda xp, a, b: xp.exp(a), lambda xp, a, b: xp.floor(a),
    lambda xp, a, b: xp.isnan(a), lambda xp, a, b: xp.modf(a), lambda xp, a, b: xp.cbrt(a), lambda xp, a, b: ~a]


def _in_dtypes(seed: int, draw: Callable[[], None], has_models: bool = True) -> list[tuple[str, bytes]]:
    """Random statements on arrays of any dtypes, compared with NumPy's: the dtypes and the bits of what they give."""
    rng = random.Random(seed)
    shape, found = (rng.randint(1, 7), rng.randint(1, 7)), []
    models: list[Any] = [(np.arange(math.prod(shape)).reshape(shape) % 7 + k).astype(rng.choice("dfelLIiBb?FD"))
                         for k in range(4)]
    arrays = [pg.array(model, layout=random_layout(rng, shape, pg.SIZE)) for model in models]
    for _ in range(25):
        function, target, mask = rng.choice(FUNCTIONS), rng.randrange(4), rng.randrange(8)
        state = rng.getstate()
        results: list[Any] = []
        for xp, xs in (np, models), (pg, arrays):
            rng.setstate(state)
            a, b = rng.choice(xs), rng.choice(xs)
            lengths, out = [rng.randint(n // 2, n) for n in shape], xs[target]
            key, other = (tuple(map(random_section, repeat(rng), shape, lengths)) for _ in range(2))
            draw()
            try:
                with np.errstate(all="ignore"):
                    result = function(xp, a[key], b[rng.choice((key, other))])
                    if mask == 0:
                        xp.add(a, b, out=out, where=a < b)
                    elif mask == 1:
                        out[key] = b[other]
                    elif mask == 2:
                        out[key] += b[other]
            except TypeError:
                result = ()
            results.append(result if isinstance(result, tuple) else (result,))
        for expected, array in zip(*results, strict=True):
            assert_equal(array, expected, exact=expected.dtype.kind not in "fc", rtol=1e-2)
            found.append(array)
        for model, array in zip(models, arrays, strict=True):
            if not (np.abs(model) < 100).all():
                model[...], array[...] = 3, 3
    return [(x.dtype.str, _bits(x.gather())) for x in (*found, *arrays)]


def _bits(x: Any) -> bytes:
    """The bits of elements, but for those of NaNs, which may have any sign."""
    return (np.where(np.isnan(x), np.nan, x) if x.dtype.kind in "fc" else x).tobytes()


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_statements_of_any_dtypes_have_the_same_bits_in_any_tier_of_each_process(seed: int) -> None:
    tiers = Tiers(seed)
    found = _in_dtypes(seed, tiers.draw)
    recording.queue.computes_at_once = False  # type: ignore[misc]
    collectively(found == _in_dtypes(seed, lambda: None))


def reductions(n: int, layout: str, draw: Callable[[], None]) -> list[bytes]:
    """What products and reductions of sections give, which depends on the order in which elements are joined."""
    rng = np.random.default_rng(n)
    model = rng.random((n, n)) - 0.5
    A, x = pg.array(model, layout=layout_of(layout, (n, n))), pg.array(model[0], layout=layout_of(layout, (n,)))
    found: list[Any] = []
    for j in range(1, n):
        draw()
        A[j, j] -= A[j, :j] @ A[:j, j]
        found += [A[j] @ x, A[:j, :j] @ x[:j], A[j:].sum(), A[:, :j].max(axis=0), A[1:j + 1].argmin(), x[:j].mean()]
        draw()
        x[j] = found[-6]
        x /= A[:j].max()
    return [y.gather().tobytes() for y in (*found, A, x)]


@pytest.mark.parametrize("layout", NAMES)
def test_products_and_reductions_have_the_same_bits_in_each_tier(layout: str) -> None:
    tiers = Tiers(len(layout))
    found = reductions(9, layout, tiers.draw)
    recording.queue.computes_at_once = False  # type: ignore[misc]
    collectively(found == reductions(9, layout, lambda: None))


def test_what_sends_is_computed_at_once() -> None:
    A, b = pg.array(np.arange(64.0).reshape(8, 8)), pg.array(np.arange(8.0))
    pg.sync()
    before = pg.stats()
    A[3] -= A[2, 2] * A[5]
    A[1:, 1:] -= A[1:, :1] * A[0, 1:]
    A[:, 3] = A[4]
    A[1:] = A[:-1]
    b[7] -= A[7, :7] @ b[:7]
    total = float(A.sum()) + float(A[3, 3])
    counts = pg.stats() - before
    collectively(counts.n_recorded == counts.n_at_once and counts.n_planned == 0, str(counts))
    collectively(len(set(pg.COMM.allgather(total))) == 1)


def test_an_element_that_lies_there_in_another_grid_is_not_sent() -> None:
    A, b = pg.ones((6, 6)), pg.full(3, 2.0, onenode=0)
    pg.sync()
    before = pg.stats()
    numbers = [A[0, 0] * b[k] for k in range(3)]
    counts = pg.stats() - before
    collectively(counts.n_messages == 0 and counts.n_at_once == 3, str(counts))
    collectively([float(number) for number in numbers] == [2.0] * 3)


@pytest.mark.parametrize("how", [lambda a, x: a.__setitem__((1, 1), x),
                                 lambda a, x: a.__setitem__((1, 1), a[1, 1] + x)])
@pytest.mark.parametrize("first", [0, 1])
def test_elements_of_what_one_process_has_are_assigned_in_any_tier(how: Callable[[Any, Any], Any], first: int) -> None:
    A, B = pg.zeros((3, 3), onenode=0), pg.full((4, 4), 5.0)
    pg.sync()
    for k in range(4):
        recording.queue.computes_at_once = (pg.RANK + k) % 2 == first  # type: ignore[misc]
        how(A, B[3, k])
    model = np.zeros((3, 3))
    for _ in range(4):
        how(model, 5.0)
    assert_equal(A, model)


@pytest.mark.parametrize("layout", NAMES)
def test_statements_with_an_element_of_one_process_have_numpys_bits(layout: str) -> None:
    """Each is new, and made again: with an element before and behind a row, a column, a section, or a matrix."""
    tiers = Tiers(len(layout))
    model = np.random.default_rng(7).random((7, 6)) + 0.5
    A = pg.array(model, layout=layout_of(layout, (7, 6)))
    keys: list[Any] = [2, (slice(None), 4), (slice(1, None, 2), 3), (slice(1, 6), slice(2, None)), ..., (6, 5)]
    for index in (0, 0), (3, 5), (6, 2):
        for key in keys:
            for x, y in (key, index), (index, key):
                tiers.draw()
                made = A[x] / A[y]
                assert_equal(made, model[x] / model[y])
                assert_equal(A[x].T - A[y].T, model[x].T - model[y].T)
            tiers.draw()
            A[key] *= A[index]
            model[key] *= model[index]
            assert_equal(A, model)


@pytest.mark.parametrize("layout", NAMES)
def test_what_lies_alike_is_not_sent(layout: str) -> None:
    model = np.arange(64.0).reshape(8, 8)
    A, B = (pg.array(model, layout=layout_of(layout, (8, 8))) for _ in range(2))
    pg.sync()
    before = pg.stats()
    for k in range(8):
        A[k, 7 - k] += 2.0
        A[k, k] -= A[k, k]
        A[k] *= 3.0
        A[1:, k:] = B[1:, k:]
        A[:, k] -= B[:, k]
        A[k, 0] = 5.0
        B[k, 3] *= -1.0
    counts = pg.stats() - before
    collectively(counts.n_messages == 0, str(counts))
    other = model.copy()
    for k in range(8):
        model[k, 7 - k] += 2.0
        model[k, k] -= model[k, k]
        model[k] *= 3.0
        model[1:, k:] = other[1:, k:]
        model[:, k] -= other[:, k]
        model[k, 0] = 5.0
        other[k, 3] *= -1.0
    assert_equal(A, model)
    assert_equal(B, other)


def test_recurrences_of_rows_and_of_elements_send_at_borders_only() -> None:
    n = 4 * pg.SIZE
    x = np.arange(1.0, n * n + 1).reshape(n, n) / n**2
    A, b, c = pg.array(x), pg.array(x[0]), pg.array(x[1])
    expected, y, z = x.copy(), x[0].copy(), x[1].copy()
    pg.sync()
    before = pg.stats()
    for X, u, v in (A, b, c), (expected, y, z):
        for i in range(1, n):
            X[i] = (X[i] + 0.5 * X[i - 1]) / 1.5
            w = u[i] / v[i - 1]
            v[i] -= w * u[i - 1]
    pg.sync()
    counts = pg.stats() - before
    collectively(counts.n_sends <= 3, f"{counts}")
    assert_equal(A, expected)
    assert_equal(c, z)


def test_what_is_made_of_rows_stays() -> None:
    n = 3 * pg.SIZE
    A = pg.array(np.arange(5.0 * n).reshape(n, 5), layout=pg.Distribution("block", "*"))
    x = np.arange(5.0) + 5 * (n - 1)
    pg.sync()
    before = pg.stats()
    rolled = np.roll(A[-1], 2) + A[-1]
    joined = np.concatenate([A[-1], rolled])
    padded = np.pad(A[-1], 1)
    pg.sync()
    counts = pg.stats() - before
    collectively(counts.n_messages == 0, f"{counts}")
    assert_equal(rolled, np.roll(x, 2) + x)
    assert_equal(joined, np.concatenate([x, np.roll(x, 2) + x]))
    assert_equal(padded, np.pad(x, 1))


def test_elements_on_one_process_are_not_sent() -> None:
    """Whatever the grids are of the arrays that they are of."""
    A, x = pg.ones((2 * pg.SIZE, 8)), pg.ones(2 * pg.SIZE)
    s, t = pg.ones((), onenode=0), pg.ones(3, onenode=0)
    pg.sync()
    before = pg.stats()
    number = A[0, 0] * x[0] - s * t[2]
    x[0] = t[1]
    s[()] = A[0, 1]
    pg.sync()
    counts = pg.stats() - before
    collectively(counts.n_messages == 0, str(counts))
    collectively(float(number) == 0)


def test_elements_come_to_one_process_in_any_tier_of_each_process() -> None:
    """What is assigned to an array on one process brings a stamp, and no operand of a number does."""
    x = pg.arange(2.0 * pg.SIZE)
    s, t = pg.zeros((), onenode=0), pg.zeros(2 * pg.SIZE, onenode=pg.SIZE - 1)
    pg.sync()
    for is_at_once in pg.RANK % 2 == 0, pg.RANK % 2 == 1:
        recording.queue.computes_at_once = is_at_once  # type: ignore[misc]
        for k in range(2 * pg.SIZE):
            t[k] = x[k]
            s[()] = x[k] + s
    assert_equal(t, np.arange(2.0 * pg.SIZE))
    assert_equal(s, pg.SIZE * (2.0 * pg.SIZE - 1) * 2)


def test_what_is_large_is_under_way_or_recorded_before() -> None:
    n = MAX_ELEMENTS // 64 + pg.SIZE
    A = pg.array(np.arange(64.0 * n * pg.SIZE).reshape(-1, 64))
    model = np.arange(64.0 * n * pg.SIZE).reshape(-1, 64)
    b, small = pg.array(np.arange(9.0)), np.arange(9.0)
    tiers = Tiers(5)
    for k in range(6):
        A[1:], model[1:] = A[:-1] + 1.0, model[:-1] + 1.0
        tiers.draw()
        b[1:] += b[:-1]
        small[1:] += small[:-1]
        tiers.draw()
        A[k] += A[n * pg.SIZE - 1 - k, :1] + b[k]
        model[k] += model[n * pg.SIZE - 1 - k, :1] + small[k]
    assert_equal(b, small)
    assert_equal(A, model)


def test_what_is_sent_ahead_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WINDOW_BYTES", 1000)
    A, model = pg.zeros((4 * pg.SIZE, 300)), np.zeros((4 * pg.SIZE, 300))
    for k in range(40):
        A[-1 - k % 4, k:], model[-1 - k % 4, k:] = A[0, k:] + k, model[0, k:] + k
        collectively(recording.queue.engine._sent_bytes <= 1000 + 300 * 8)
    assert_equal(A, model)
    pg.sync()
    collectively(recording.queue.engine.is_silent)


@pytest.mark.usefixtures("by_kernels")
def test_hot_statements_that_send_are_recorded() -> None:
    A = pg.array(np.ones((8, 8)))
    model = np.ones((8, 8))
    before = pg.stats()
    for _ in range(300):
        A[1:] = A[:-1] * 0.5
        model[1:] = model[:-1] * 0.5
    n_at_once = (pg.stats() - before).n_at_once
    collectively(n_at_once < 300 if pg.SIZE > 1 else n_at_once == 600, f"{n_at_once}")  # nothing is sent to oneself
    assert_equal(A, model)


def test_an_error_of_arguments_comes_before_anything_is_sent() -> None:
    A = pg.array(np.arange(12.0).reshape(3, 4))
    raises_everywhere(ValueError, "broadcast", lambda: A.__setitem__(0, A[:, 0]))
    raises_everywhere(ValueError, "broadcast", lambda: A[0] + A[:, 0])
    A[0] = A[2]
    assert_equal(A[0], np.arange(8.0, 12.0))


def test_no_array_has_an_element_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = np.arange(12.0).reshape(3, 4)
    A = pg.array(model, layout=layout_of("first dimension", model.shape))
    pg.sync()
    n_arrays = 0
    allocate = Storage._allocate

    def count(storage: Storage) -> None:
        nonlocal n_arrays
        n_arrays += 1
        allocate(storage)

    monkeypatch.setattr(Storage, "_allocate", count)
    before = pg.stats()
    found = [float(A[i, j]) for i in range(3) for j in range(4)]
    n_sends = pg.COMM.allreduce((pg.stats() - before).n_sends)
    collectively(found == model.ravel().tolist() and n_sends == 12 * (pg.SIZE - 1) and not n_arrays)


@pytest.mark.parametrize("dtype", ["f8", "i2", "?", "c16", "U3", "M8[s]"])
@pytest.mark.parametrize("layout", NAMES)
def test_elements_are_read_in_any_tier_of_each_process(layout: str, dtype: str) -> None:
    tiers = Tiers(len(layout))
    model = np.arange(12).reshape(3, 4).astype(dtype)
    A = pg.array(model, layout=layout_of(layout, (3, 4)))
    for _ in range(3):
        for index in np.ndindex(3, 4):
            tiers.draw()
            value = A[index].item()
            collectively(value == model[index].item() and type(value) is type(model[index].item()))


def test_what_is_no_time_is_read_once() -> None:
    """It is None as a Python scalar, and yet was read."""
    A = pg.array(np.array(["NaT", "2020-01-01", "NaT"], "M8[D]"))
    pg.sync()
    before = pg.stats()
    found = [A[k].item() for k in range(3)]
    n_sends = pg.COMM.allreduce((pg.stats() - before).n_sends)
    collectively([x is None for x in found] == [True, False, True] and n_sends == 3 * (pg.SIZE - 1))


def test_a_failure_comes_before_an_element_that_is_read() -> None:
    A = pg.array(np.arange(6.0))
    B = pg.empty(pg.SIZE)
    pg.schedule(_fail, pg.write(B))
    recording.complete(B._base)
    raises_everywhere(pg.TaskError, "division", lambda: float(A[5]))
    collectively(float(A[5]) == 5.0)


def _fail(b: Any) -> None:
    b[:] = 1 // 0


def test_what_is_handed_to_all_is_computed_with_where_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    model = np.arange(64.0).reshape(8, 8)
    A = pg.array(model, layout=layout_of("first dimension", model.shape))
    pg.sync()
    n_buffers = 0
    buffer = Direct.buffer

    def count(direct: Direct, nbytes: int) -> int:
        nonlocal n_buffers
        n_buffers += 1
        return buffer(direct, nbytes)

    monkeypatch.setattr(Direct, "buffer", count)
    found = A[1:, :1] * A[0, 1:]
    collectively(n_buffers == (pg.SIZE > 1))
    assert_equal(found, model[1:, :1] * model[0, 1:])
