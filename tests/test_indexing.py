"""Indexing by arrays, against NumPy: random keys in random layouts, what is recorded around it, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.alone.small import passed_over
from pgaspy.execution.recording import dry_run
from pgaspy.job.procgrid import world
from pgaspy.scheduling import exchanges
from pgaspy.scheduling.kinds.exchange import Scatter
from pgaspy.scheduling.operations import Operation
from tests.layouts import NAMES, layout_of
from tests.random_keys import check, few_at_once
from tests.simulated import Job
from tests.together import assert_equal, collectively, raises_everywhere

mpi = pytest.mark.mpi

N = 23


@mpi
@pytest.mark.parametrize("seed", range(150))
def test_random_keys(seed: int) -> None:
    problem = check(seed)
    collectively(not problem, problem)


@mpi
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_rounds_of_few_items(seed: int) -> None:
    with few_at_once(2):
        problem = check(seed)
    collectively(not problem, problem)


@mpi
def test_indices_and_values_that_are_computed_before() -> None:
    x = np.arange(N) * 1.5
    a, i = pg.array(x), pg.arange(N) * 7
    j = np.arange(N) * 7 % N
    i = i % N
    b = a * 2
    c = b[i] + a
    assert_equal(c[i], (x[j] * 2 + x)[j])
    i += 1
    i[i == N] = 0
    c[i] = b[i] - 1
    expected = x[j] * 2 + x
    j = (j + 1) % N
    expected[j] = x[j] * 2 - 1
    assert_equal(c, expected)


@mpi
def test_values_are_those_at_the_time_of_the_statement() -> None:
    x = np.arange(N)
    a, i, g = pg.arange(N), np.arange(N)[::-1].copy(), pg.arange(N)
    b, c = a[i], a[g]
    a[g] = a * 3
    i[...] = 0
    g[...] = 0
    a += 1
    assert_equal(b, x[::-1])
    assert_equal(c, x)
    assert_equal(a, x * 3 + 1)


@mpi
def test_an_array_that_is_its_own_index_or_value() -> None:
    x = np.random.default_rng(0).permutation(N)
    a = pg.array(x)
    a[a] = a
    x[x.copy()] = x.copy()
    assert_equal(a, x)
    i, j = np.arange(N - 1), np.arange(1, N)
    a[pg.array(j)] = a[pg.array(i)]
    x[j] = x[i]
    assert_equal(a, x)


@mpi
def test_arrays_without_dimensions_give_copies() -> None:
    x = np.arange(12).reshape(3, 4)
    a = pg.array(x)
    for index in (np.array(1), pg.array(1), np.array(1, np.uint8)):
        for found in (a[index], a[:, index], pg.take(a, index, axis=1), pg.take(a, 1, axis=0)):
            found[...] = 99
        a[index, 1:] = -5
        assert_equal(a, [[0, 1, 2, 3], [4, -5, -5, -5], [8, 9, 10, 11]])
        a[1, index:] = x[1, 1:]
    assert_equal(a[np.array(2), np.array(1)], 9)
    row = a[a[0].argmax() - 1]
    row[...] = 7
    assert_equal(a[2], [7, 7, 7, 7])


@mpi
def test_the_last_of_several_values_counts() -> None:
    n = 4096
    rng = np.random.default_rng(1)
    for dtype in "d", "b", "F":
        i, values = rng.integers(0, 5, n), rng.integers(0, 99, n).astype(dtype)
        x, a = np.zeros(7, dtype), pg.zeros(7, dtype)
        x[i] = values
        a[pg.array(i)] = pg.array(values, layout=pg.Distribution("cyclic(3)"))
        assert_equal(a, x)


@mpi
def test_floating_point_sums_are_those_of_numpy() -> None:
    rng = np.random.default_rng(2)
    i, values = rng.integers(-6, 6, 1000), rng.standard_normal(1000)
    x, a = np.ones(6), pg.ones(6)
    np.add.at(x, i, values)
    np.add.at(a, pg.array(i), pg.array(values))
    assert_equal(a, x)
    np.negative.at(x, i[:3])
    np.negative.at(a, i[:3])
    np.subtract.at(x, slice(1, 3), 4)
    np.subtract.at(a, slice(1, 3), 4)
    assert_equal(a, x)


@mpi
@pytest.mark.parametrize(("ufunc", "dtype", "given", "computed"), [
    (np.add, "i8", "?", "i8"), (np.add, "f8", "i4", "f8"), (np.maximum, "f8", "f4", "f8"), (np.add, "c16", "f8", "c16"),
    (np.left_shift, "i8", "u1", "i8"), (np.add, "f4", "f8", "f8"), (np.maximum, "i4", "i8", "i8"),
    (np.add, "u8", "i8", "i8")])
def test_at_computes_with_values_of_the_dtype_that_numpy_is_fast_with(ufunc: np.ufunc, dtype: str, given: str,
                                                                      computed: str) -> None:
    n, values = 1000, np.arange(1000).astype(given)
    collectively(exchanges._as_computed(ufunc, np.zeros(1, dtype), values).dtype == computed)
    x, a, i = np.ones(n, dtype), pg.ones(n, dtype), np.arange(n)[::-1] // 3
    ufunc.at(x, i, values)
    with passed_over():
        ufunc.at(a, pg.array(i), pg.array(values))
    assert_equal(a, x)


@mpi
@pytest.mark.parametrize(("dtype", "value"), [("u1", 1), ("u8", 300), ("i4", 2.5), ("i8", np.uint64(3)), ("f4", 0.1)])
def test_at_casts_what_it_computes_whatever_the_key(dtype: str, value: Any) -> None:
    for key in 1, slice(1, 6, 2), (), [1, 1]:
        x, a = np.ones(N, dtype), pg.ones(N, dtype)
        np.add.at(x, key, value)
        np.add.at(a, key, value)
        assert_equal(a, x)


@mpi
@pytest.mark.parametrize(("dtype", "value"), [("i1", 300), ("u1", -1), ("i4", np.nan), ("i8", np.inf), ("u8", 2j),
                                          ("f8", 1j)])
def test_numbers_of_python_that_a_dtype_does_not_have_are_refused(dtype: str, value: Any) -> None:
    for key in 0, slice(0, 2), [0, 1], np.arange(N) < 2, (np.array([[0, 1]]),):
        for values in (value, [value, 1]) if not isinstance(key, int) else (value,):
            x, a = np.ones(N, dtype), pg.ones(N, dtype)
            with pytest.raises((OverflowError, TypeError, ValueError)) as error:
                x[key] = values
            with pytest.raises(error.type):
                a[key] = values
            assert_equal(a, x)
    for write in pg.put, pg.insert, lambda a, i, value: a.flat.__setitem__(i, value):
        with pytest.raises((OverflowError, TypeError, ValueError)):
            write(pg.ones(N, dtype), [0, 1], value)
    x, a = np.ones(N, dtype), pg.ones(N, dtype)
    for b in x, a:
        b[[0, 1]] = np.array([3, 4.5])  # elements of arrays are cast, whatever they are
        b[[2]] = [True]
    assert_equal(a, x)


@mpi
@pytest.mark.parametrize("value", [np.float64("nan"), np.float32(300), np.int64(300), np.float64("inf"), np.int16(-3)])
def test_numbers_of_numpy_that_a_slice_does_not_have_are_refused(value: Any) -> None:
    for dtype in ("i1", "u1") if isinstance(value, np.integer) else ("i1",):  # else, NumPy warns of casts
        for key in 0, slice(0, 2), ...:
            x, a = np.ones(N, dtype), pg.ones(N, dtype)
            outcomes = []
            for b in x, a:
                try:
                    b[key] = value
                    outcomes.append(None)
                except (OverflowError, ValueError) as error:
                    outcomes.append(type(error))
            assert outcomes[0] == outcomes[1]
            assert_equal(a, x)
    with pytest.raises((OverflowError, ValueError)):
        pg.pad(pg.ones(3, "i1"), 1, constant_values=np.nan)


@mpi
@pytest.mark.parametrize("layout", [{"onenode": 0}, {"layout": pg.Distribution("*")}], ids=str)
def test_pinned_and_replicated_arrays(layout: Any) -> None:
    x = np.arange(N) * 1.0
    a, i = pg.array(x, **layout), pg.arange(N)[::-1] // 2
    j = np.arange(N)[::-1] // 2
    assert_equal(a[i], x[j])
    a[i] = pg.arange(N)
    x[j] = np.arange(N)
    assert_equal(a, x)
    b = pg.arange(N)
    k = pg.array(j, **layout)
    assert_equal(b[k], j)
    b[k] = 5
    collectively(int((b == 5).sum()) == len(np.unique(j)))


@mpi
def test_results_lie_like_the_index() -> None:
    a, layout = pg.arange(N), pg.Distribution("cyclic(2)")
    i = pg.arange(N, layout=layout)
    assert a[i].layout == i.layout
    assert a[np.arange(N)].layout == pg.empty(N).layout
    assert pg.zeros((N, 4), layout=pg.Distribution("block", "*"))[i].layout.dims[0] == i.layout.dims[0]


@mpi
def test_masks() -> None:
    x = np.random.default_rng(3).standard_normal((9, 8))
    a = pg.array(x)
    assert_equal(a[a > 0], x[x > 0])
    a[a > 0] *= 2
    x[x > 0] *= 2
    a[a < -1] = -1
    x[x < -1] = -1
    a[a[:, 0] > 0] = np.arange(8)
    x[x[:, 0] > 0] = np.arange(8)
    a[:, ~(a[0] > 0)] += 1
    x[:, ~(x[0] > 0)] += 1
    assert_equal(a, x)
    assert_equal(a[True], x[True])
    assert_equal(a[False], x[False])
    none = np.ones((0, 8), bool)  # which NumPy takes for any extent where it has none
    assert_equal(a[none], x[none])
    assert_equal(a[pg.array(none)], x[none])


@mpi
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_values_where_a_mask_is_true(share: float) -> None:
    rng = np.random.default_rng(4)
    x, m = rng.standard_normal((7, 9)), rng.random((7, 9)) < share
    a, mask = pg.array(x, layout=pg.Distribution("cyclic(2)", "block")), pg.array(m)
    values = np.arange(int(m.sum()))
    a[mask] = pg.array(values, layout=pg.Distribution("cyclic(3)"))
    x[m] = values
    a[mask] += 1
    x[m] += 1
    raises_everywhere(ValueError, "shape mismatch", lambda: a.__setitem__(mask, np.zeros(len(values) + 2)))
    assert_equal(a, x)


REFUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (IndexError, "index 9 is out of bounds for axis 0 with size 6", lambda a: a[[1, 9]]),
    (IndexError, "index -8 is out of bounds for axis 1 with size 7", lambda a: a[:, pg.array([1, -8, 9])]),
    (IndexError, "index 6 is out of bounds for axis 0 with size 6", lambda a: a[pg.arange(7)]),
    (IndexError, "arrays used as indices must be of integer", lambda a: a[[0.5, 1]]),
    (IndexError, "arrays used as indices must be of integer", lambda a: a[pg.ones(3)]),
    (IndexError, "arrays used as indices must be of integer", lambda a: a[np.array(["a"])]),
    (IndexError, "boolean index did not match", lambda a: a[np.ones(5, bool)]),
    (IndexError, "boolean index did not match", lambda a: a[pg.ones((6, 6), bool)]),
    (IndexError, "axis 0; size of axis is 6 but size of .* is 5", lambda a: a[np.ones((5, 0), bool)]),
    (IndexError, "too many indices", lambda a: a[[0], [1], [2]]),
    (IndexError, "single ellipsis", lambda a: a[..., [0], ...]),
    (IndexError, "could not be broadcast together with shapes", lambda a: a[[0, 1], [0, 1, 2]]),
]


@mpi
@pytest.mark.parametrize(("error", "match", "read"), REFUSED, ids=range(len(REFUSED)))
def test_bad_keys(error: type[Exception], match: str, read: Callable[[Any], Any]) -> None:
    a, x = pg.arange(42).reshape(6, 7), np.arange(42).reshape(6, 7)
    raises_everywhere(error, match, lambda: read(a).gather())
    assert_equal(a, x)


@mpi
@pytest.mark.parametrize("seed", range(20))
def test_the_index_that_is_refused_is_the_one_that_numpy_names(seed: int) -> None:
    """Of several arrays; each with some that are beyond its axis, or none."""
    rng = np.random.default_rng(seed)
    extents = (5, 7, 6)
    x, a = np.zeros(extents), pg.zeros(extents)
    keys = [rng.integers(-n, n, 9) for n in extents]
    for d in np.flatnonzero(rng.random(3) < 0.5).tolist():
        for place in rng.integers(0, 9, 2).tolist():
            keys[d][place] = rng.choice([extents[d], -extents[d] - 1, 2**40, -2**40, 100])
    key = tuple(slice(1, None) if d == seed % 5 else keys[d] for d in range(3))
    global_key = tuple(k if isinstance(k, slice) else pg.array(k) for k in key)
    try:
        x[key] = 1
    except IndexError as error:
        found = str(error)
        raises_everywhere(IndexError, f"^{re.escape(found)}", lambda: a[global_key].gather())
        raises_everywhere(IndexError, f"^{re.escape(found)}", lambda: (a.__setitem__(global_key, 1), pg.sync()))
    else:
        a[global_key] = 1
    assert_equal(a, x)


@mpi
def test_indices_beyond_one_of_the_most_elements() -> None:
    extents = 3, 2**40, 2**21
    a = np.broadcast_to(pg.arange(3.0)[:, None, None], extents)
    for d, n in enumerate(extents):
        for beyond in n, -n - 1:
            key = tuple(pg.array([0, beyond if axis == d else 0]) for axis in range(3))
            raises_everywhere(IndexError, f"index {beyond} is out of bounds for axis {d} with size {n}",
                              lambda key=key: a[key].gather())
    assert_equal(a[pg.array([2, -2]), pg.array([0, -2**40]), pg.array([-1, 7])], np.array([2.0, 1]))


@mpi
def test_bad_assignments_change_nothing() -> None:
    a, x = pg.arange(6), np.arange(6)
    b = pg.arange(6)
    i = pg.arange(1, 7)
    a[i] = 5
    raises_everywhere(IndexError, "index 6 is out of bounds for axis 0 with size 6", pg.sync)
    a[i] = b
    raises_everywhere(IndexError, "index 6 is out of bounds", lambda: a + 1)
    a[pg.arange(1, 7, layout=pg.Distribution("cyclic(2)"))] = b
    raises_everywhere(IndexError, "index 6 is out of bounds", lambda: a + 1)
    c = b[i]
    raises_everywhere(IndexError, "index 6 is out of bounds", lambda: float(b.sum()))
    raises_everywhere(IndexError, "index 6 is out of bounds", lambda: c + 1)
    assert_equal(b + 1, x + 1)
    raises_everywhere(ValueError, "shape mismatch: value array of shape", lambda: a.__setitem__([0, 1], [1, 2, 3]))
    np.add.at(a, pg.array([0, -7]), 1)
    raises_everywhere(IndexError, "index -7", pg.sync)
    assert_equal(a, x)
    a[pg.arange(6)] = 0
    assert_equal(a, x * 0)


@mpi
@pytest.mark.parametrize("n", [6, 300_000])
@pytest.mark.parametrize(("key", "shape"), [([1, -8], (3, 7)), ([1, 2], (3, 7)), (([1, 2], [0, 9]), (3,)),
                                            (([1, 2], [0, 9]), (2, 3)), (([1, 2], [0, 1, 9]), (2, 3))])
def test_values_that_do_not_broadcast_are_refused_as_numpy_does(key: Any, shape: tuple[int, ...], n: int) -> None:
    """Before indices that are out of bounds, and after those that do not broadcast together."""
    x, a = np.zeros((n, 7)), pg.zeros((n, 7))
    with pytest.raises((IndexError, ValueError), match="shape mismatch") as info:
        x[key] = np.ones(shape)
    for value in (np.ones(shape), pg.ones(shape)):
        raises_everywhere(info.type, re.escape(str(info.value).strip().split(" (2,")[0]),
                          lambda value=value: a.__setitem__(key, value))
    assert_equal(a, x)


@mpi
@pytest.mark.parametrize("value", [[1, 2], [], (0,), [[0]], range(3)])
@pytest.mark.parametrize("dtype", "?ld")
def test_a_sequence_in_the_place_of_an_element(dtype: str, value: Any) -> None:
    """It is a truth value, and no number."""
    x = np.ones((4, 3)).astype(dtype)
    a = pg.array(x)
    try:
        x[1, 2] = value
    except (TypeError, ValueError) as error:
        raises_everywhere(type(error), re.escape(str(error)), lambda: a.__setitem__((1, 2), value))
    else:
        a[1, 2] = value
    assert_equal(a, x)


def test_what_is_explained() -> None:
    def statement() -> None:
        pg.zeros(64)[np.arange(64)[::-1]]

    assert str(pg.explain(statement, size=4).operations[-1].operation) == "gather (64,), and messages as the values say"


def gathered_and_scattered() -> None:
    """Indices of neighbours and of others, of which each process has as many as any job is large."""
    n = 8 * world().size
    x = np.arange(n)
    a, i = pg.arange(n), pg.array((x * 3 + 5) % n)
    b = a[i]
    a[i] = b + 1
    x[(x * 3 + 5) % n] += 1
    assert np.array_equal(a.gather(), x)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [2, 3, 5])
def test_processes_that_are_flushed_anywhere(size: int) -> None:
    job = Job(gathered_and_scattered, [lambda k, rank=rank: k % (rank + 2) == 0 for rank in range(size)])
    assert job.network.n_left == 0


def test_messages_follow_the_indices_and_the_logarithm_of_the_processes() -> None:
    for size in 4, 16, 256:
        assert size <= started_by(size) <= size * (4 * math.ceil(math.log2(size)) + 4)


def started_by(size: int) -> int:
    """The messages of a gather of each process's neighbours, on a job of so many."""
    def program(reads: bool) -> None:
        n = 4 * size
        a, i = pg.zeros(n), np.arange(1, n + 1) % n
        if reads:
            a[i]
        pg.sync()

    def never(k: int) -> bool:
        return False

    return Job(lambda: program(True), [never] * size).network.n_started - Job(
        lambda: program(False), [never] * size).network.n_started


@mpi
def test_what_one_process_is_asked_for_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0

    def ask(plan: Any, link: Any, items: Any, asked: list[tuple[int, int]]) -> None:
        nonlocal most
        most = max(most, sum(n for _, n in asked))
        ask_plainly(plan, link, items, asked)

    ask_plainly = exchanges._Plan.ask
    monkeypatch.setattr(exchanges._Plan, "ask", ask)
    x, i = np.arange(40.0), np.arange(120) % 3
    a, index = pg.array(x), pg.array(i)
    values = np.random.default_rng(3).random(i.size)
    with few_at_once(5):
        assert_equal(a[index], x[i])
        a[index] = values
        x[i] = values
        assert_equal(a, x)
        np.add.at(a, index, values)
        np.add.at(x, i, values)
        assert_equal(a, x)
        pg.sync()
    collectively(most <= 10, f"{most} items")


@mpi
@pytest.mark.parametrize("dtype", ["?", "h", "f", "d", "D", "g", "S3"])
def test_masks_of_several_stretches(dtype: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 99, 70_001).astype(dtype)
    for m in rng.random(x.size) < 0.5, np.arange(x.size) < 40_000, np.zeros(x.size, bool):
        a, mask = pg.array(x), pg.array(m)
        assert_equal(a[mask], x[m])
        assert_equal(pg.flatnonzero(mask), np.flatnonzero(m))
        y = x.copy()
        y[m] = x[m][::-1]
        a[mask] = a[mask][::-1]
        assert_equal(a, y)


@mpi
@pytest.mark.parametrize("layout", ["block", "cyclic", "cyclic(3)", "*"])
def test_values_where_an_array_itself_is_true(layout: str) -> None:
    x = np.arange(29) % 3 > 0
    a = pg.array(x, layout=pg.Distribution(layout))
    values = np.arange(int(x.sum())) % 2 > 0
    a[a] = pg.array(values)
    x[x] = values
    assert_equal(a, x)
    a[::-2][a[::-2]] = a[::-2][a[::-2]][::-1]
    x[::-2][x[::-2]] = x[::-2][x[::-2]][::-1]
    assert_equal(a, x)


@pytest.mark.parametrize("assign", [
    lambda A: A.__setitem__(([0], [1]), 5), lambda A: A.__setitem__([0, 1], [1, 2, 3]),
    lambda A: A.__setitem__(np.eye(3, dtype=bool), [1, 2, 3]), lambda A: pg.put(A, [1, 2], 3),
    lambda A: pg.place(A, A > 0, 3), lambda A: pg.put_along_axis(A, pg.zeros((3, 1), int), 1, 1)])
def test_what_repeats_elements_is_not_written_to(assign: Any) -> None:
    a = pg.ones(3)
    raises_everywhere(ValueError, "read-only", lambda: assign(pg.broadcast_to(a, (3, 3))))
    assert_equal(a, np.ones(3))


@pytest.mark.recorded
def test_numbers_of_elements_are_made_by_one_kernel() -> None:
    x, many = np.arange(60.0).reshape(3, 20), np.arange(100_000) % 40 - 20
    a, i = pg.array(x), pg.array(many)
    pg.sync()
    before = pg.stats()
    found = a[:, i]
    pg.sync()
    done = pg.stats() - before
    assert (done.n_recorded, done.n_fused, done.n_kernels) == (3, 2, 1)
    assert_equal(found, x[:, many])


def test_few_indices_that_are_there_are_taken_as_they_are() -> None:
    """By one call per process, as those of NumPy are: on one process; and what is written to them later is not read."""
    x = np.arange(600_000.0).reshape(3, 200_000)
    a, i = pg.array(x), pg.array([2, -1, 0])
    mask = pg.array([True, False, True])
    for key, numpys in (((slice(None), i), (slice(None), [2, -1, 0])), ((mask,), [0, 2])):
        a += 1
        x += 1
        found = a[key]
        i += 1
        mask[...] = False
        assert_equal(found, x[numpys])
        i -= 1
        mask[[0, 2]] = True
    with pytest.raises(IndexError, match="index -200001 is out of bounds for axis 1"):
        a[:, pg.array([1, -200_001])].gather()


@mpi
@pytest.mark.parametrize("formats", [("*", "block", "*"), ("block", "*", "cyclic(2)"), ("block", "block", "*"),
                                     ("*", "*", "*"), ("*", "cyclic", "block")])
def test_values_are_put_along_a_dimension(formats: tuple[str, ...]) -> None:
    """Of indices that come twice, the last value counts; on each process, or by an exchange."""
    rng = np.random.default_rng(3)
    for shape in (6, 7, 5), (3, 1, 4), (40, 30, 60):
        x = rng.random(shape)
        a = pg.array(x, layout=pg.Distribution(*formats))
        for axis in range(3):
            indices = rng.integers(-shape[axis], shape[axis], 9)
            mask = rng.random(shape[axis]) < 0.5
            values = rng.random((*shape[:axis], 9, *shape[axis + 1:]))
            before = (slice(None),) * axis
            for key, value in ((indices, values), (indices, 2.5), (indices[::-1], values[..., ::-1]), (mask, -1),
                               (indices, np.float32(3)), (indices, values[:1, :1, :1]), (indices[:0], 1.0)):
                for target, given in ((x, value), (a, value if np.ndim(value) < 3 else pg.array(value))):
                    target[(*before, key)] = given
                    target[::-1, ::-1][(*before, key)] = given
                    target[(*before, key)] *= 2
                a[(*before, pg.array(key))] = x[(*before, key)]
                assert_equal(a, x)
                a[(*before, True)] = x[(*before, True)] = 3
                assert_equal(a[(*before, True)], x[(*before, True)])
    raises_everywhere(ValueError, "shape mismatch", lambda: a.__setitem__((slice(None), [0, 1]), np.ones((40, 3, 60))))


def test_elements_of_equal_dtypes_in_keys() -> None:
    """Of the two types that C has for integers of 8 bytes."""
    a = pg.zeros((40_000, 2))
    i = pg.array((np.arange(16) % 2).astype("q"))
    a[:, [i[k] for k in range(16)]] = 1.0
    assert_equal(a, np.ones((40_000, 2)))


@mpi
@pytest.mark.parametrize("layout", NAMES)
def test_rows_that_all_get_one_value_or_one_row(layout: str) -> None:
    x = np.arange(35.0 * 6).reshape(35, 6)
    a = pg.array(x, layout=layout_of(layout, x.shape))
    rows, row = [3, -1, 3, 20], np.arange(6.0)
    for key, value in ((rows, 1.5), (rows, row), (rows, row[None] + 1), (rows, x[2].copy()),
                       ((rows, slice(1, 4)), 7), ((rows, slice(None, None, -1)), row), ((slice(2), rows[:1]), -2)):
        x[key] = value
        a[key] = value
        assert_equal(a, x)
    x[[0, 5]] = x[7]
    a[pg.array([0, 5])] = a[7]
    assert_equal(a, x)


def test_a_value_for_whole_rows_is_put_by_rows() -> None:
    a, rows = pg.zeros((4, 3)), pg.array([1, 2])
    operations: list[Operation] = []
    with dry_run(operations.append):
        a[rows] = 1
    scatter, = [operation.recipe for operation in operations if isinstance(operation.recipe, Scatter)]
    assert scatter.n_run_dims == 1


@mpi
@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "f8", "c16", "G", "U2", "M8[s]"])
@pytest.mark.parametrize("layout", [*NAMES, None])
def test_indices_of_a_dimension_after_others(layout: str | None, dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 2, (7, 12, 5)).astype(dtype)
    a = pg.array(x, layout=None if layout is None else layout_of(layout, x.shape))
    i = np.random.default_rng(2).integers(-12, 12, 40)
    for key in (np.s_[:, i], np.s_[:, i.reshape(8, 5)], np.s_[:, i[:0]], np.s_[1:6, i], np.s_[:, i, ::2],
                np.s_[:, :, i % 5], np.s_[::2, i, 1:], np.s_[:, i, None], np.s_[2:2, i], np.s_[:, None, i],
                np.s_[:, :, i[:3] % 5 - 5]):
        assert_equal(a[key], x[key])
    assert_equal(a[2][:, i % 5], x[2][:, i % 5])
    assert_equal(a.transpose(2, 1, 0)[:, i], x.transpose(2, 1, 0)[:, i])
    assert_equal(a[:, ::-1][:, i], x[:, ::-1][:, i])
    assert_equal(pg.take(a, i, 1, mode="wrap"), np.take(x, i, 1, mode="wrap"))


@mpi
def test_indices_of_a_dimension_that_processes_have_all_of() -> None:
    x = np.arange(300 * 500.0).reshape(300, 500)
    a, i = pg.array(x), np.arange(-500, 500, 3)
    is_all = a.layout.dims[1].n_procs == 1
    pg.sync()
    before = pg.stats()
    found = a[:, i]
    i[:] = 0  # what is recorded has the indices as they were
    pg.sync()
    collectively((pg.stats() - before).n_messages == 0 or not is_all)
    assert_equal(found, x[:, np.arange(-500, 500, 3)])
    raises_everywhere(IndexError, "index 500 is out of bounds for axis 1 with size 500", lambda: a[:, [0, 500]])


def exchanged(x: Any, p: int) -> list[Any]:
    """A matrix of which pairs of rows and columns were exchanged, and what was read of it meanwhile."""
    n, k = x.shape[0], p // 2
    x[[k, p]] = x[[p, k]]
    x[:, [p, 0]] = x[:, [0, p]]
    x[[-1, k], 1:] += x[[k, -1], :-1]
    seen = [x[[p, k]], x[np.array([n - 1, 0]), ::-2], x[::2, np.array([0, 1])]]
    x[[k, p]] = 2 * x[k]
    x[:, [0, -1]] = [[1, 2]]
    x[[0, 1]] = x[1:3]
    x[[p, p]] *= 3
    seen[0][0] = 5
    return [*seen, x]


@mpi
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [1, 3, 10])
def test_pairs_of_rows_and_columns(name: str, p: int) -> None:
    x = np.arange(11.0 * 11).reshape(11, 11)
    of_numpy = exchanged(x.copy(), p)
    largest = pg.argmax(pg.arange(11) == p)
    for place in p, np.int32(p), largest:
        found = exchanged(pg.array(x, layout=layout_of(name, x.shape)), place)
        for one, other in zip(found, of_numpy, strict=True):
            assert_equal(one, other)


@mpi
def test_rows_that_one_process_has_are_exchanged_without_messages() -> None:
    a = pg.zeros((8 * pg.SIZE, 4), layout=pg.Distribution("block", "*"))
    pg.sync()
    before = pg.stats()
    a[[0, 2]] = a[[2, 0]]
    a[:, [3, 1]] = a[:, [1, 3]]
    pg.sync()
    collectively((pg.stats() - before).n_messages == 0)


@mpi
def test_pairs_that_are_refused() -> None:
    a = pg.zeros((5, 4))
    for key in [0, 5], [-6, 0], [0.0, 1.0], np.array([0.0, 1]), (0, 0, [0, 1]):
        raises_everywhere(IndexError, "ind", lambda key=key: a[key])
        raises_everywhere(IndexError, "ind", lambda key=key: a.__setitem__(key, 1.0))
    for value in np.ones((3, 4)), pg.ones(3), [1.0, 2, 3]:
        raises_everywhere(ValueError, "broadcast", lambda value=value: a.__setitem__([0, 2], value))
    assert_equal(a, np.zeros((5, 4)))


@pytest.mark.parametrize("n", [50, 70_000])
def test_indices_may_be_changed_after_an_assignment(n: int) -> None:
    rng = np.random.default_rng(3)
    puts: dict[str, Callable[[Any, Any], Any]] = {
        "assigned": lambda a, i: a.__setitem__(i, 1.0), "put": lambda a, i: np.put(a, i, 2.0),
        "flat": lambda a, i: a.flat.__setitem__(i, 3.0), "of an array": lambda a, i: a.__setitem__(i, a * 1),
    }
    for name, put in puts.items():
        found, expected, i = pg.arange(n) * 0.5, np.arange(n) * 0.5, rng.permutation(n)
        put(expected, i)
        put(found, i)
        i[:] = 10**12
        collectively(np.array_equal(found.gather(), expected), name)
    for layout in None, pg.Distribution("block", "*"), pg.Distribution("*", "block"):
        found, expected, i = pg.zeros((600, 300), layout=layout), np.zeros((600, 300)), rng.permutation(300)
        found[:, i], expected[:, i] = 1.0, 1.0
        found[::2, i] *= i
        expected[::2, i] *= i
        i[:] = 0
        collectively(np.array_equal(found.gather(), expected))
