"""Functions of small arrays on several processes: as where the arrays stay, and as NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import brought, manipulation
from pgaspy.planning.local_parts import are_alike
from tests.together import assert_equal, collectively, raises_everywhere

mpi = pytest.mark.mpi

MAX_ELEMENTS = brought.MAX_ELEMENTS


@pytest.fixture(autouse=True)
def _come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brought, "MAX_ELEMENTS", MAX_ELEMENTS)


X = np.random.default_rng(1).integers(-9, 9, (6, 5)) / 4
EMPTY = np.zeros(0)

CALLS: dict[str, Callable[..., Any]] = {
    "flatnonzero": lambda xp, a: xp.flatnonzero(a),
    "intersect1d": lambda xp, a: xp.intersect1d(a[0], a[1]),
    "lexsort": lambda xp, a: xp.lexsort((a[0], a[1])),
    "lexsort, array": lambda xp, a: xp.lexsort(a),
    "median": lambda xp, a: xp.median(a),
    "median, axis": lambda xp, a: xp.median(a, axis=0),
    "intersect1d, indices": lambda xp, a: xp.intersect1d(a[0], a[1], return_indices=True),
    "nonzero": lambda xp, a: xp.nonzero(a),
    "percentile": lambda xp, a: xp.percentile(a, [10, 55.5]),
    "quantile": lambda xp, a: xp.quantile(a, [0.3, 1], method="lower"),
    "setdiff1d": lambda xp, a: xp.setdiff1d(a[0], a[1]),
    "setdiff1d, distinct": lambda xp, a: xp.setdiff1d(xp.unique(a), a[1], assume_unique=True),
    "setxor1d": lambda xp, a: xp.setxor1d(a[0], a[1]),
    "union1d": lambda xp, a: xp.union1d(a[0], a[1]),
    "unique": lambda xp, a: xp.unique(a),
    "unique columns": lambda xp, a: xp.unique(a, axis=1),
    "unique rows": lambda xp, a: xp.unique(a, axis=0, return_counts=True),
    "unique, all": lambda xp, a: xp.unique(a, return_index=True, return_inverse=True, return_counts=True),
    "argsort": lambda xp, a: xp.argsort(a[1], kind="stable"),
    "argwhere": lambda xp, a: xp.argwhere(a > 0),
    "argsort, columns": lambda xp, a: xp.argsort(a, axis=0, kind="stable"),
    "argsort, method": lambda xp, a: a[1].argsort(kind="stable"),
    "bincount": lambda xp, a: xp.bincount(xp.abs(a[0].real).astype(int)),
    "columns": lambda xp, a: a[:, [0, 2]],
    "compress": lambda xp, a: xp.compress(a[2] > 0, a[1]),
    "delete": lambda xp, a: xp.delete(a[1], [0, 2]),
    "digitize": lambda xp, a: xp.digitize(a[0].real, [-1.0, 0.0, 1.0]),
    "element": lambda xp, a: a[xp.array([1, 0]), xp.array([0, 2])],
    "elements": lambda xp, a: a[xp.abs(a[0].real).astype(int) % 2, xp.abs(a[1].real).astype(int) % 2],
    "extract": lambda xp, a: xp.extract(a > 0, a),
    "insert": lambda xp, a: xp.insert(a[1], 2, 7),
    "interp": lambda xp, a: xp.interp(a[0].real, [-2.0, 2.0], [0.0, 1.0]),
    "mask": lambda xp, a: a[a > 0],
    "mask of a part": lambda xp, a: a[1:4, ::2][a[1:4, ::2] > 0],
    "real": lambda xp, a: a.real[xp.array([1, 3])],
    "columns by array": lambda xp, a: a[:, xp.array([0, 2, 2])],
    "columns by a column": lambda xp, a: a[:, xp.abs(a.real).astype(int)[:, 1] % 2],
    "beyond": lambda xp, a: a[xp.array([1, 9])] + 0,  # which waits for what is refused
    "repeat": lambda xp, a: xp.repeat(a[1], 3),
    "repeat, each": lambda xp, a: xp.repeat(a[1], xp.arange(a.shape[1])[::-1] % 3),
    "repeat, rows": lambda xp, a: xp.repeat(a[:4], xp.arange(4)[::-1], axis=0),
    "row": lambda xp, a: a[1][xp.array([2, -1, 0, 0])],
    "rows": lambda xp, a: a[xp.array([2, -1, 0, 0, 3])],
    "rows by mask": lambda xp, a: a[a[:, 1] > 0],
    "searchsorted": lambda xp, a: xp.searchsorted(xp.sort(a[0]), a[1]),
    "sort": lambda xp, a: xp.sort(a[1]),
    "sort, whole": lambda xp, a: xp.sort(a[1].copy()),
    "sort, flat": lambda xp, a: xp.sort(xp.unique(a)[::-1].copy()),
    "sort, axis": lambda xp, a: xp.sort(a, axis=0),
    "take": lambda xp, a: xp.take(a, [3, 1, 1]),
    "unique, axis": lambda xp, a: xp.unique(a[:, :2] > 0, axis=0),
}

OPERANDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "block": lambda: (pg.array(X), X),
    "cyclic": lambda: (pg.array(X, layout=pg.Distribution("*", "cyclic(2)")), X),
    "on one process": lambda: (pg.array(X, onenode=pg.SIZE - 1), X),
    "replicated": lambda: (pg.array(X, layout=pg.Distribution("*", "*")), X),
    "a view": lambda: (pg.array(np.kron(X, np.ones((2, 3))))[::2, 1::3][::-1], X[::-1]),
    "transposed": lambda: (pg.array(X[:5]).T, X[:5].T),
    "integers": lambda: (pg.array((4 * X).astype("i4")), (4 * X).astype("i4")),
    "complex": lambda: (pg.array(X + 1j), X + 1j),
}


def results(call: Callable[[Any, Any], Any], xp: Any, a: Any) -> list[Any]:
    """What a call gives; or the class of the error that it raises."""
    try:
        found = call(xp, a)
        return [*found] if isinstance(found, tuple) else [found]
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        return [type(error)]


@mpi
@pytest.mark.every
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("operand", OPERANDS)
def test_results_are_as_where_arrays_stay(name: str, operand: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, x = OPERANDS[operand]()
    found, expected = results(CALLS[name], pg, a), results(CALLS[name], np, x)
    monkeypatch.setattr(brought, "MAX_ELEMENTS", -1)
    others = results(CALLS[name], pg, a)
    assert len(found) == len(others) == len(expected)
    for one, other, numpys in zip(found, others, expected, strict=True):
        if isinstance(numpys, type):
            assert one is other is numpys
            continue
        assert (one.shape, one.dtype, one._is_number) == (other.shape, other.dtype, other._is_number)
        assert are_alike(one.layout, other.layout) or (one.layout.is_replicated and other.layout.is_replicated)
        values = one.gather()
        collectively(bool(np.array_equal(values, numpys) and values.dtype == np.asarray(numpys).dtype))
        collectively(bool(np.allclose(values, other.gather(), 1e-12, 1e-12)))


PUTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda xp, a: a.__setitem__(xp.array([2, -1, 2]), 7),
    "rows, array": lambda xp, a: a.__setitem__([2, 0, 2], xp.array([[1], [2], [3]])),
    "elements": lambda xp, a: a.__setitem__((xp.array([2, 0, 2]), [1, 1, 1]), xp.array([1, 2, 3])),
    "column": lambda xp, a: a.__setitem__((slice(None), xp.array([1, 3])), 0.5),
    "mask": lambda xp, a: a.__setitem__(a.real > 0, xp.arange(int((a.real > 0).sum()))),
    "rows by mask": lambda xp, a: a.__setitem__(a.real[:, 1] > 0, xp.arange(a.shape[1])),
    "elements by arrays": lambda xp, a: a.__setitem__((xp.array([2, 0, 2]), [1, 1, 1]), [1, 2, 3]),
    "at": lambda xp, a: np.add.at(a, xp.array([2, 0, 2]), 3),
    "at, array": lambda xp, a: np.add.at(a, (xp.array([2, 0, 2]), [1, 1, 1]), xp.array([1, 2, 3])),
    "at, list": lambda xp, a: np.subtract.at(a, [2, 0, 2], xp.array([1, 2, 3])[:, None]),
    "lists": lambda xp, a: a.__setitem__(([2, 0], [1, 3]), [1, 2]),
    "real": lambda xp, a: a.real.__setitem__(xp.array([1, 3]), 4),
    "mask of a part": lambda xp, a: a[1:4].__setitem__(a[1:4].real > 0, xp.arange(int((a[1:4].real > 0).sum()))),
    "added": lambda xp, a: a.__setitem__(xp.array([1, 1]), a[xp.array([1, 1])] + 1),
    "beyond": lambda xp, a: (a.__setitem__(xp.array([1, 9]), 7), a + 0),
    "too many": lambda xp, a: a.__setitem__(xp.array([1, 2]), xp.arange(3)),
}


@mpi
@pytest.mark.parametrize("name", PUTS)
@pytest.mark.parametrize("operand", [name for name in OPERANDS if name != "replicated"])
def test_assigned_are_the_same_as_numpys(name: str, operand: str) -> None:
    a, x = OPERANDS[operand]()
    x = x.copy()
    raised = []
    for xp, array in (pg, a), (np, x):
        try:
            PUTS[name](xp, array)
            raised.append(None)
        except (IndexError, ValueError) as error:
            raised.append(type(error))
    collectively(raised[0] is raised[1], f"{raised}")
    collectively(bool((a.gather() == x).all()))


@mpi
@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:invalid value")
@pytest.mark.parametrize("name", ["unique", "median", "nonzero", "flatnonzero"])
def test_nothing(name: str) -> None:
    a = pg.array(EMPTY)
    found, expected = results(CALLS[name], pg, a), results(CALLS[name], np, EMPTY)
    for one, numpys in zip(found, expected, strict=True):
        collectively(bool(np.array_equal(one.gather(), numpys, equal_nan=True)))


@mpi
@pytest.mark.parametrize("operand", OPERANDS)
def test_vectors_are_partitioned(operand: str) -> None:
    a, x = OPERANDS[operand]()
    for k in 0, 2:
        order = np.asarray(pg.argpartition(a[1], k).gather())
        for found in x[1][order], pg.partition(a[1], k).gather():
            collectively(bool((np.sort(found) == np.sort(x[1])).all()) and bool(found[k] == np.sort(x[1])[k]))


@mpi
def test_results_are_written_to() -> None:
    a = pg.array(X)
    found = pg.unique(a)
    expected = np.unique(X)
    a[...] = 0
    found[1:] += 1
    expected[1:] += 1
    collectively(bool((found.gather() == expected).all()))


@mpi
@pytest.mark.every
@pytest.mark.parametrize("axes", [(None,), (2,)])
def test_what_all_processes_have_stays_so(axes: tuple[int | None, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    layout = pg.Distribution("*" if axes == (None,) else "block", grid=(1, pg.SIZE, 1), axes=axes)
    x, indices = pg.array(X[1], layout=layout), pg.array([1, 0, 2], layout=layout)
    calls: dict[str, Callable[[], Any]] = {
        "sort": lambda: pg.sort(x),
        "argsort": lambda: pg.argsort(x),
        "searchsorted": lambda: pg.searchsorted(pg.arange(4), x),
        "digitize": lambda: pg.digitize(x, pg.arange(4)),
        "interp": lambda: pg.interp(x, pg.arange(4), pg.arange(4)),
        "rows": lambda: pg.array(X)[indices],
        "elements": lambda: pg.array(X)[indices, indices],
    }
    for name, call in calls.items():
        found = call()
        with monkeypatch.context() as within:
            within.setattr(brought, "MAX_ELEMENTS", -1)
            other = call()
        assert found.layout == other.layout, name
        collectively(bool(np.array_equal(found.gather(), other.gather())), name)


@mpi
@pytest.mark.every
def test_counts_are_on_every_process() -> None:
    counts = pg.bincount(pg.array([0, 1, 1, 3]))
    collectively(counts.local().tolist() == [1, 2, 0, 1])


@mpi
@pytest.mark.every
def test_elements_in_another_order_of_bytes_come_in_the_native_one() -> None:
    found = pg.setdiff1d(np.array([1.0, 2, 3], ">f8"), pg.array([2.0]))
    assert found.dtype == np.dtype("=f8")
    collectively(float(found.sum()) == 4)


@mpi
@pytest.mark.every
def test_casts_are_warned_of_in_the_program() -> None:
    a, value = pg.array(X), pg.array([1j])
    with pytest.warns(np.exceptions.ComplexWarning) as warned:
        a[pg.array([0])] = value
    collectively([warning.filename for warning in warned] == [__file__])


@mpi
@pytest.mark.every
def test_values_that_are_broadcast_are_combined_with_each_index() -> None:
    for x, key, value in [(X[1].copy(), ([[0, 1], [2, 1]],), [1.0, 2]), (X.copy(), (slice(None), [1, 1]), [1.0, 2])]:
        a = pg.array(x)
        np.add.at(a, tuple(pg.array(k) if isinstance(k, list) else k for k in key), pg.array(value))
        np.add.at(x, key, np.broadcast_to(value, x[key].shape).copy())
        assert_equal(a, x)
        raises_everywhere(ValueError, "broadcast", lambda a=a: np.add.at(a, pg.array([0, 1]), np.arange(3)))


@mpi
@pytest.mark.every
def test_what_is_no_array_of_numbers_is_refused() -> None:
    a = pg.array(X)
    masked = np.ma.masked_array([1, 2], [True, False])
    raises_everywhere(TypeError, "masked", lambda: a.__setitem__(pg.array([0, 1]), masked[:, None]))
    raises_everywhere(TypeError, "masked", lambda: a.__setitem__(masked, pg.array(3)))
    raises_everywhere(TypeError, "masked", lambda: a[masked])
    raises_everywhere(TypeError, "object", lambda: pg.intersect1d(a, np.array([1, 2], object)))


@mpi
def test_errors_are_the_same_everywhere() -> None:
    a = pg.array(X)
    raises_everywhere(ValueError, "range", lambda: pg.percentile(a, 101))
    raises_everywhere(ValueError, "lexsort|shape", lambda: pg.lexsort((a[0], a[:, 0])))


VECTOR, PLACES = X.ravel(), np.array([3, 29, 3, 0])

ONE_MESSAGE: dict[str, Callable[[Any, Any], Any]] = {
    "argpartition": lambda a, i: pg.argpartition(a, 3),
    "argsort": lambda a, i: pg.argsort(a),
    "argsort, method": lambda a, i: a.argsort(),
    "argsort, stable": lambda a, i: pg.argsort(a, kind="stable"),
    "assigned": lambda a, i: a.__setitem__(i, 3.0),
    "at": lambda a, i: np.add.at(a, i, 3.0),
    "elements": lambda a, i: a[i],
    "gather": lambda a, i: a.gather(),
    "isin": lambda a, i: pg.isin(a, i),
    "mask": lambda a, i: a[a > 0],
    "searchsorted": lambda a, i: pg.searchsorted(a, i),
    "sort": lambda a, i: pg.sort(a),
    "sort, axis": lambda a, i: pg.sort(a, 0),
    "unique": lambda a, i: pg.unique(a),
}


@mpi
@pytest.mark.every
@pytest.mark.parametrize("name", ONE_MESSAGE)
@pytest.mark.skipif(pg.SIZE == 1, reason="is of several processes")
def test_they_come_in_one_message(name: str) -> None:
    a, i = pg.array(VECTOR), pg.array(PLACES)
    pg.sync()
    before = pg.stats()
    ONE_MESSAGE[name](a, i)
    pg.sync()
    n = (pg.stats() - before).n_messages
    is_of_two = name == "isin"  # arrays of other extents, some of which is nowhere
    n_peers = pg.SIZE - 1 if pg.SIZE <= 4 else math.ceil(math.log2(pg.SIZE)) + is_of_two
    collectively(0 < n <= 2 * n_peers, f"{n} messages")


@mpi
def test_what_all_know_is_assigned_without_messages() -> None:
    a, x = pg.array(VECTOR), VECTOR.copy()
    pg.sync()
    before = pg.stats()
    a[PLACES], x[PLACES] = [1.0, 2, 3, 4], [1.0, 2, 3, 4]
    pg.sync()
    collectively((pg.stats() - before).n_messages == 0)
    collectively(bool((a.gather() == x).all()))


@mpi
@pytest.mark.skipif(pg.SIZE == 1, reason="is of several processes")
def test_columns_stay_where_processes_have_all_of_them() -> None:
    x = np.arange(1000.0).reshape(100, 10)
    a, columns = pg.array(x), np.array([3, 1, 9])
    is_all = a.layout.dims[1].n_procs == 1
    pg.sync()
    before = pg.stats()
    found = a[:, columns], a[..., [0, 2, 2]], pg.take(a, columns, 1)
    pg.sync()
    collectively((pg.stats() - before).n_messages == 0 or not is_all)
    for one, expected in zip(found, (x[:, columns], x[..., [0, 2, 2]], x[:, columns]), strict=True):
        collectively(bool((one.gather() == expected).all()))


@mpi
@pytest.mark.every
@pytest.mark.skipif(pg.SIZE == 1, reason="is of several processes")
def test_of_few_elements_no_process_takes_many(monkeypatch: pytest.MonkeyPatch) -> None:
    dealt: list[int] = []
    own_part = brought.own_part
    monkeypatch.setattr(brought, "own_part", lambda x, layout: (dealt.append(x.size), own_part(x, layout))[1])
    rows = pg.array(np.arange(300).reshape(-1, 1) % 2)
    many = pg.array(np.eye(2))[rows, rows.T]
    collectively(float(many.sum()) == 300 * 150)
    collectively(not dealt or max(dealt) <= brought.MAX_ELEMENTS)


@mpi
def test_results_are_small() -> None:
    """More than that are not made on each process."""
    x = np.arange(8000).reshape(1000, 8)
    a, columns = pg.array(x), np.arange(100) % 8
    collectively(brought.section(a, (slice(None), pg.array(columns))) is None)
    collectively(bool((a[:, pg.array(columns)].gather() == x[:, columns]).all()))


@mpi
@pytest.mark.skipif(pg.SIZE == 1, reason="nothing is brought to one process")
def test_what_is_repeated_is_brought_however_it_lies() -> None:
    counts, a = pg.arange(12)[1:] % 3, pg.arange(11)
    pg.sync()
    before = pg.stats()
    pg.repeat(a, counts)
    collectively((pg.stats() - before).n_recorded <= 3)


@mpi
@pytest.mark.parametrize("counts", [7, [3, 0, 7, 1]])
def test_what_few_elements_are_repeated_to_is_not_made_by_all(counts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    repeat = np.repeat
    monkeypatch.setattr(np, "repeat", lambda *given: made.append(1) or repeat(*given))
    monkeypatch.setattr(manipulation, "MOST_REPEATED", 20)
    a = pg.repeat(pg.arange(4), counts)
    collectively(not made and np.array_equal(a.gather(), repeat(np.arange(4), counts)))


@mpi
@pytest.mark.every
@pytest.mark.skipif(pg.SIZE == 1, reason="one process sends nothing")
@pytest.mark.parametrize("call", [
    lambda x, c: x[c], lambda x, c: c[x], lambda x, c: np.sort(x[::-1].copy()), lambda x, c: x + c,
    lambda x, c: c.__setitem__(..., x), lambda x, c: np.gcd(c, x)], ids=range(6))
def test_columns_on_a_grid_with_an_axis_of_one_process_lie_as_new_arrays_do(call: Callable[..., Any]) -> None:
    n = 2 * pg.SIZE + 1
    matrix = np.arange(3 * n).reshape(n, 3)[::-1] // 3
    M = pg.array(matrix, layout=pg.Distribution("block", "block", grid=(pg.SIZE, 1)))
    x, y, c, d = pg.array(matrix[:, 0]), M[:, 0].copy(), pg.arange(n), pg.arange(n)
    pg.sync()
    counts, found = [], []
    for operands in (x, c), (y, d):
        before = pg.stats()
        found.append(call(*operands))
        counts.append(pg.stats() - before)
    collectively(counts[0].n_messages == counts[1].n_messages and counts[1].n_planned == 0, f"{counts}")
    assert_equal(d, c.gather())
    if found[1] is not None:
        assert_equal(found[1], call(matrix[:, 0], np.arange(n)))


@mpi
def test_rows_that_a_process_has_are_sorted_there() -> None:
    a = np.arange(60).reshape(12, 5) * 7 % 11
    A = pg.array(a, layout=pg.Distribution("block", "*"))
    pg.sync()
    before = pg.stats()
    found = np.sort(A), np.argsort(A, kind="stable")
    pg.sync()
    n = (pg.stats() - before).n_messages
    assert_equal(found[0], np.sort(a))
    assert_equal(found[1], np.argsort(a, kind="stable"))
    collectively(n == 0, f"{n} messages")
    collectively(all(x.layout == A.layout for x in found))
