"""Errors that depend on what arrays hold: NumPy's, on all processes, where the operation is called."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.job.statistics import counts
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

NEGATIVE = "Integers to negative integer powers are not allowed"
N = 8
LAST = np.ones(N, int)
LAST[-1] = -1
"""The last process alone has the negative exponent."""
ALL_BUT_LAST = np.arange(N) < N - 1


def bases(dtype: str = "i8") -> tuple[pg.GlobalArray, np.ndarray[Any, Any]]:
    """A global array, and NumPy's."""
    a = (np.arange(N) % 2 + 1).astype(dtype)
    return pg.array(a), a


REFUSED: dict[str, Callable[[Any, Any], object]] = {
    "operator": lambda A, E: A ** E,
    "in place": lambda A, E: A.__ipow__(E),
    "numpy": np.power,
    "out": lambda A, E: np.power(A, E, out=A),
    "narrow": lambda A, E: A ** E.astype("i1"),
    "wide": lambda A, E: np.power(A.astype("i1"), E),
    "unsigned base": lambda A, E: A.astype("u4") ** E,
    "boolean base": lambda A, E: (A > 0) ** E,
    "number": lambda A, E: 2 ** E,
    "NumPy's number": lambda A, E: np.int64(2) ** E,
    "broadcast": lambda A, E: A[:, None] ** E,
    "broadcast base": lambda A, E: A[:1] ** E,
    "view": lambda A, E: A[::-2] ** E[::-2],
    "one element": lambda A, E: A ** E[-1],
    "0-d": lambda A, E: A[0] ** E[-1],
    "outer": np.power.outer,
    "mask": lambda A, E: np.power(A, E, out=A, where=A > 0),
    "unsafe": lambda A, E: np.power(A, E * 1.5, dtype="i8", casting="unsafe"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_negative_powers_of_integers_are_refused_by_all(call: Callable[[Any, Any], object]) -> None:
    A, a = bases()
    with pytest.raises(ValueError, match=NEGATIVE):
        call(a.copy(), LAST)
    raises_everywhere(ValueError, NEGATIVE, lambda: call(A, pg.array(LAST)))
    assert_equal(A, a)  # nothing is recorded, and the job goes on
    assert_equal(A + 1, a + 1)


@pytest.mark.parametrize(("dtype", "exponent"), [
    ("i4", 2**31), ("i4", 2**32 - 1), ("i1", 200), ("i8", 2**63), ("i4", -2**32 - 1)])
def test_powers_that_integers_do_not_hold_are_out_of_bounds(dtype: str, exponent: int) -> None:
    A, _ = bases(dtype)
    raises_everywhere(OverflowError, "out of bounds|too large", lambda: A ** exponent)
    raises_everywhere(OverflowError, "out of bounds|too large", lambda: np.power(A, exponent, out=A))


@pytest.mark.parametrize("name", ["operator", "in place", "numpy", "out", "narrow", "broadcast", "view", "mask"])
def test_so_are_those_of_numpy_arrays(name: str) -> None:
    A, a = bases()
    raises_everywhere(ValueError, NEGATIVE, lambda: REFUSED[name](A, LAST))
    raises_everywhere(ValueError, NEGATIVE, lambda: np.power(a, pg.array(LAST)))
    assert_equal(A, a)


@pytest.mark.parametrize("n", [N, 1 << 14])
def test_so_are_those_that_elements_are_raised_to_at_indices(n: int) -> None:
    A, a = pg.ones(n, int), np.ones(n, int)
    for key, exponents in ([1, 1], -1), ([0, n - 1], LAST[-2:]), (pg.array([0, n - 1]), pg.array(LAST[-2:])):
        raises_everywhere(ValueError, NEGATIVE, functools.partial(np.power.at, A, key, exponents))
    np.power.at(A, pg.zeros(0, int), -1)
    assert_equal(A, a)


@pytest.mark.parametrize("exponent", [-1, np.int64(-1), np.array(-1), np.array([-1])])
def test_so_are_numbers(exponent: Any) -> None:
    A, a = bases()
    raises_everywhere(ValueError, NEGATIVE, lambda: A ** exponent)
    raises_everywhere(ValueError, NEGATIVE, lambda: A.__ipow__(exponent))
    assert_equal(A, a)


def test_a_number_that_the_dtype_does_not_have_is_refused_as_in_numpy() -> None:
    A, _ = bases("u1")
    raises_everywhere(OverflowError, "out of bounds", lambda: A ** -1)


ALLOWED: dict[str, Callable[[Any, Any, Any], object]] = {
    "masked": lambda A, E, M: np.power(A, E, out=A + 5, where=M),
    "masked number": lambda A, E, M: np.power(A, -1, out=A + 5, where=A > 99),
    "floats": lambda A, E, M: (A + 0.5) ** E,
    "floating loop": lambda A, E, M: np.power(A, E, dtype=float),
    "number of float": lambda A, E, M: 2.0 ** E,
    "large unsigned": lambda A, E, M: A.astype("u8") ** E,
    "positive": lambda A, E, M: A ** (E + 1),
    "nothing": lambda A, E, M: A[:0] ** E[-1:],
    "nothing to a number": lambda A, E, M: A[:0] ** -1,
    "section": lambda A, E, M: A[:-1] ** E[:-1],
    "unsigned": lambda A, E, M: A ** (E + 1).astype("u4"),
    "boolean": lambda A, E, M: A ** M,
}


@pytest.mark.parametrize(("name", "is_global"), [
    (name, is_global) for name in ALLOWED for is_global in (True, False)
    if is_global or name != "number of float"])  # of NumPy's arrays alone
def test_what_numpy_takes_is_computed(name: str, is_global: bool) -> None:
    call = ALLOWED[name]
    A, a = bases()
    own: tuple[Any, ...] = (LAST, ALL_BUT_LAST)
    given = tuple(map(pg.array, own)) if is_global else own
    expected = call(a.copy(), *own)
    found = call(A, *given)
    assert isinstance(found, pg.GlobalArray)
    assert_equal(found, expected, exact=False)


@pytest.mark.recorded
def test_only_exponents_that_may_be_negative_are_looked_at() -> None:
    A, _ = bases()
    floats, unsigned, mask = A + 0.5, A.astype("u4"), A > 0
    pg.sync()
    before = counts.n_flushes
    for result in (A ** unsigned, A ** mask, floats ** A, A ** 2, A ** np.ones(N, int), np.power(A, A, dtype=float)):
        assert isinstance(result, pg.GlobalArray)
    collectively(counts.n_flushes == before)


def test_each_call_is_looked_at() -> None:
    A, a = bases()
    E = pg.array(np.abs(LAST))
    assert_equal(A ** E, a)
    E[-1] = -1
    raises_everywhere(ValueError, NEGATIVE, lambda: A ** E)
    E[-1] = 2
    assert_equal(A ** E, np.where(ALL_BUT_LAST, a, a ** 2))


def test_what_is_planned_counts_as_right() -> None:
    A, _ = bases()
    E, text = pg.array(LAST), pg.array(np.array(["1", "x"]))
    assert "power" in str(pg.explain(lambda: A ** E))
    assert str(pg.explain(lambda: text.astype(float)))


TEXT = ["1", "2", "3", "4", "5", "6", "7", "x8"]


@pytest.mark.parametrize("dtype", ["i8", "f8", "c16", "M8[D]", "m8[s]"])
@pytest.mark.parametrize("kind", ["U", "S"])
def test_text_that_is_no_number_is_refused_by_all(kind: str, dtype: str) -> None:
    text = np.array(TEXT, kind)
    A, B = pg.array(text), pg.zeros(N, dtype)
    try:
        expected = str(text.astype(dtype))
    except ValueError as error:
        expected = str(error)
    calls: list[Callable[[], object]] = [
        lambda: A.astype(dtype), lambda: B.__setitem__(slice(None), A), lambda: B.__setitem__(slice(None), A[-1]),
        lambda: B.__setitem__(slice(None), A[-1:]), lambda: A[-1].astype(dtype),
        lambda: A.reshape(2, 4).astype(dtype)]
    for call in calls:
        raises_everywhere(ValueError, f"^{re.escape(expected)}$", call)
    assert_equal(B, np.zeros(N, dtype))


@pytest.mark.parametrize("dtype", ["i8", "f8", "c16", "?"])
def test_text_that_is_a_number_is_cast(dtype: str) -> None:
    text = np.array([*TEXT[:-1], "8"])
    A, B = pg.array(text), pg.zeros(N, dtype)
    assert_equal(A.astype(dtype), text.astype(dtype))
    assert_equal(A[-1].astype(dtype), text[-1].astype(dtype))
    assert_equal(A[:0].astype(dtype), text[:0].astype(dtype))
    B[...] = A
    assert_equal(B, text.astype(dtype))


WITH_INTEGERS: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "where": lambda xp, a, m, v: xp.where(m, a, v),
    "where first": lambda xp, a, m, v: xp.where(m, v, a),
    "where alone": lambda xp, a, m, v: xp.where(m, v, 1),
    "select": lambda xp, a, m, v: xp.select([m], [a], v),
    "select it": lambda xp, a, m, v: xp.select([m, ~m], [a, v], 1),
    "choose": lambda xp, a, m, v: xp.choose(m.astype(int), (a, v)),
    "clip": lambda xp, a, m, v: a.clip(None, v),
    "full": lambda xp, a, m, v: xp.full(a.shape, v, a.dtype),
    "full_like": lambda xp, a, m, v: xp.full_like(a, v),
    "fill": lambda xp, a, m, v: a.fill(v),
    "put": lambda xp, a, m, v: xp.put(a, [0, 2], [v, 1]),
    "place": lambda xp, a, m, v: xp.place(a, m, [v]),
    "putmask": lambda xp, a, m, v: xp.putmask(a, m, v),
    "element": lambda xp, a, m, v: a.__setitem__(2, v),
    "list": lambda xp, a, m, v: a.__setitem__(slice(1, 3), [v, 1]),
    "masked": lambda xp, a, m, v: a.__setitem__(m, v),
    "sum": lambda xp, a, m, v: a + v,
}


@pytest.mark.parametrize("n", [N, 1 << 16])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8", "?"])
@pytest.mark.parametrize("name", WITH_INTEGERS)
def test_integers_that_no_element_holds(name: str, dtype: str, n: int) -> None:
    """They are refused, or cast, as NumPy does it."""
    for value in 300, 2**31, 2**63, 2**64 - 1, -1, -129, -2**63:
        found = [_made_of(xp, WITH_INTEGERS[name], dtype, n, value) for xp in (pg, np)]
        if isinstance(found[1], type):
            collectively(found[0] is found[1], f"{found[0]}, NumPy {found[1]} for {value}")
        else:
            collectively(not isinstance(found[0], type), f"{found[0]} for {value}")
            assert_equal(*found)


def _made_of(xp: Any, call: Callable[[Any, Any, Any, int], Any], dtype: str, n: int, value: int) -> Any:
    """What a call gives, or what it makes of its array; or the type of the error."""
    a, mask = xp.array((np.arange(n) % 2).astype(dtype)), xp.array(np.arange(n) % 3 == 0)
    try:
        found = call(xp, a, mask, value)
    except (OverflowError, TypeError) as error:
        return type(error)
    return a if found is None else found


@pytest.mark.parametrize("n", [N, 70000])
def test_integers_beyond_indices(n: int) -> None:
    A = pg.arange(n)
    for index in 2**64 - 1, [2**64 - 1], 2**63:
        raises_everywhere(OverflowError, "too large", lambda index=index: pg.take(A, index))
        raises_everywhere(OverflowError, "too large", lambda index=index: pg.put(A, index, 1))
    for index in np.uint64(2**64 - 1), [2**64 - 1], np.array([2**63], "u8"):
        raises_everywhere(IndexError, "out of bounds", lambda index=index: pg.delete(A, index))
        raises_everywhere(IndexError, "out of bounds", lambda index=index: pg.insert(A, index, 7))


@pytest.mark.parametrize("n", [N, 70000])
def test_integers_that_are_objects_only(n: int) -> None:
    A = pg.arange(n, dtype="i1")
    for call in (lambda: pg.diff(A, prepend=2**70), lambda: pg.append(A, 2**70), lambda: pg.ediff1d(A, to_end=2**70)):
        with pytest.raises((TypeError, OverflowError)):
            call()
