"""Numbers: results of reductions and elements behave as NumPy's scalars do, also where they are kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.scheduling import base
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi


def running_sum(a: Any) -> list[Any]:
    total, kept = 0.0, []
    for row in a:
        total += row.sum()
        kept.append(total)
    return kept


def doubled(a: Any) -> list[Any]:
    total = a.sum()
    before = total
    total *= 2
    total **= 2
    return [before, total]


def quotient_of_integers(a: Any) -> list[Any]:
    n = a.astype("i").sum()
    n /= 2
    return [n]


def exchanged(a: Any) -> list[Any]:
    kept = a[0, 0]
    a[0, 0] = a[2, 1]
    a[2, 1] = kept
    a[1, 0], a[0, 1] = a[0, 1], a[1, 0]
    return [*a[0], *a[1], *a[2]]


def taken_before(a: Any) -> list[Any]:
    before, row = a[1, 2], [*a[1]]
    a[1, 2] += 5
    other = a[0, 2]
    a[0] /= a[0, 2] + 1
    a[1:, ::2] = 0
    return [before, other, *row, *a[0], *a[1]]


def history(a: Any) -> list[Any]:
    kept = []
    for k in range(6):
        kept.append(a[k % 2, k % 3])
        a[:2] = a[:2] * 2 + 1
    return kept


def by_a_task(a: Any) -> list[Any]:
    kept = a[1, 1]
    if isinstance(a, pg.GlobalArray):
        pg.schedule(np.negative, pg.update(a), pg.update(a))
    else:
        np.negative(a, a)
    return [kept, a[1, 1]]


def arrays_without_dimensions(a: Any) -> list[Any]:
    """These are no scalars: what is written to them is written to their array."""
    part = a[1, 2, ...]
    part += 3
    whole = a[0, 0, ...].copy()[...]
    other = whole
    whole += 1
    return [part, a[1, 2], other]


def test_integers_have_the_dtypes_that_have_kernels() -> None:
    """Of times, NumPy makes another of C's types with eight bytes."""
    hours = pg.array(np.arange(9).astype("m8[h]")) // np.timedelta64(2, "h")
    collectively((np.mod(hours, 2).gather() == np.mod(np.arange(9) // 2, 2)).all())


SCALARS = (running_sum, doubled, quotient_of_integers, exchanged, taken_before, history, by_a_task,
           arrays_without_dimensions)


@pytest.mark.parametrize(("program", "name"), [
    (program, name) for program in SCALARS for name in NAMES
    if (program, name) != (by_a_task, "replicated rows")])  # whose copies a task would write on one process each
def test_scalars_behave_as_those_of_numpy(program: Callable[[Any], list[Any]], name: str) -> None:
    x = np.arange(12.0).reshape(3, 4) + 1
    found, expected = program(pg.array(x, layout=layout_of(name, x.shape))), program(x)
    collectively([float(s) for s in found] == [float(s) for s in expected], f"{found}, {expected}")


def test_complex_numbers_are_made_real_as_those_of_numpy() -> None:
    a = pg.array([3.5 + 2j, 1])
    for number in (a[0], a.sum() - 1, np.vdot(a[:1], a[:1]) / (3.5 - 2j)):
        with pytest.warns(np.exceptions.ComplexWarning):
            collectively((float(number), int(number)) == (3.5, 3))
    collectively(complex(a[0]) == 3.5 + 2j)


def test_elements_that_processes_keep_by_themselves() -> None:
    """What one process holds makes no operation that others would have to record."""
    a = pg.arange(10.0)
    kept = [a[k] for k in range(10)] if pg.RANK == 0 else []
    a += 1
    collectively(float(a.sum()) == 55)
    del kept
    pg.sync()


@pytest.mark.parametrize("number_of", [
    lambda a: pg.random.default_rng(1).random(), lambda a: pg.random.default_rng(1).standard_normal(),
    lambda a: pg.random.default_rng(1).uniform(2, 3), lambda a: pg.random.default_rng(1).integers(5, 9),
    pg.linalg.cond, lambda a: pg.linalg.cond(a, 1)])
def test_numbers_of_functions(number_of: Callable[[Any], Any]) -> None:
    number = kept = number_of(pg.array([[3.0, 1.0], [0.0, 2.0]]))
    before = float(number)
    number *= 3
    collectively(float(kept) == before and float(number) == 3 * before, f"{before}, {kept}, {number}")


def test_drawn_arrays_without_dimensions() -> None:
    drawn = pg.random.default_rng(1).random(())
    drawn[...] = 7
    collectively(float(drawn) == 7)


def test_what_is_not_kept_is_not_copied() -> None:
    before = {*base.borrowers}  # what tests before this one left to the garbage collector
    a = pg.ones((4, 4))
    pg.sync()
    for k in range(3):
        a[k + 1:, k] /= a[k, k]
        float(a[k, k])
    collectively(base.borrowers <= before, f"{base.borrowers - before}")


def writes(of: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """What would write to an element, or to what is made of it."""
    return {
        "element": lambda a: of(a).__setitem__(..., 2), "fill": lambda a: of(a).fill(2),
        "ufunc": lambda a: np.add(a[0], 1, out=of(a)), "reduction": lambda a: a.sum(out=of(a)),
        "method": lambda a: a.clip(0, 3, out=of(a)), "several": lambda a: np.divmod(a[0, 0], 2, out=(None, of(a))),
        "local": lambda a: of(a).local().fill(2), "transpose": lambda a: of(a).T.fill(2)}


def written_here(a: Any, how: str) -> None:
    """Each process writes to its own part, in its own way."""
    if how == "task":
        pg.schedule(np.negative, pg.update(a), pg.update(a))
    elif how == "local":
        np.negative(a.local(), a.local())
    else:
        for block in a.blocks():
            np.negative(block, block)


@pytest.mark.parametrize("name", NAMES[:4])
@pytest.mark.parametrize("n_others", [0, 1, 2])
def test_elements_stay_while_each_process_writes_in_its_own_way(n_others: int, name: str) -> None:
    x = np.arange(12.0).reshape(3, 4) + 1
    a = pg.array(x, layout=layout_of(name, x.shape))
    kept = [a[i] for i in np.ndindex(x.shape)]
    written_here(a, ["task", "local", "blocks"][(pg.RANK + n_others) % 3])
    b = kept[5] * pg.ones((2, 2)) + kept[0]
    a += kept[6]  # which some processes have in the array, and others do not
    a[0, 0] = kept[0]
    expected = kept[6].item() - x
    expected[0, 0] = 1
    assert_equal(a, expected)
    assert_equal(b, np.full((2, 2), 7.0))
    collectively([float(s) for s in kept] == x.ravel().tolist(), f"{kept}")


def test_elements_of_an_array_that_one_process_looks_at() -> None:
    a = pg.arange(10.0)
    before = a[3]
    view = a.local() if pg.RANK == 0 else None
    after = a[9]
    assert_equal(before + pg.ones(10) * after, np.full(10, 12.0))
    a[3] = after
    a[9] = before
    assert_equal(a[3:], np.array([9.0, 4, 5, 6, 7, 8, 3]))
    collectively(view is None or view[0] == 0)


def test_elements_are_not_changed_by_views_that_the_program_has() -> None:
    a = pg.arange(10.0)
    view = a.local()
    taken = [a[k] for k in range(10)]
    view[...] = 7
    again = [*a]
    view += 1
    blocks = a.blocks()
    between = a[4]
    del view
    for block in blocks:
        block[...] = 0
    collectively([float(s) for s in taken] == [*range(10)], f"{taken}")
    collectively([float(s) for s in (*again, between)] == [7.0] * 10 + [8.0], f"{again}, {between}")


def test_what_is_only_planned_keeps_no_element() -> None:
    a = pg.arange(10.0)
    kept = a[3]
    with pytest.raises(RuntimeError, match="plans a statement"):
        pg.explain(a.local)
    collectively(float(kept) == 3)
    a += 1
    collectively(float(kept) == 3)


def test_numbers_of_python_and_sequences() -> None:
    a = pg.array([2, 3])
    collectively([0] * a[1] == [0, 0, 0] and a.max() * "ab" == "ababab" and a[0] * (1,) == (1, 1))
    repeated = a[0]
    repeated *= [4]
    collectively(repeated == [4, 4])
    for other in ([1.0], (1,), "a"):
        raises_everywhere(TypeError, "integer", lambda other=other: pg.ones(2)[0] * other)
    rounded = round(pg.array([2.675], dtype=float)[0], 2)
    collectively(repr(rounded) == repr(round(np.float64(2.675), 2)), f"{rounded!r}")
    raises_everywhere(TypeError, "0-dimensional", lambda: round(pg.ones(1), 2))


def test_numbers_of_elements_show_their_values() -> None:
    a = pg.arange(10.0)
    number = a[9] * 2 - a[0]
    collectively(str(number) == str(np.float64(18)) and f"{number:.2f}" == "18.00")
    assert float(number) == 18


def test_elements_show_their_values_also_when_their_array_was_written_to() -> None:
    a = pg.arange(10.0)
    kept = a[3]
    for _ in range(2):
        assert (str(kept), f"{kept}", f"{kept:.2f}", f"{kept:4.0f}") == ("3.0", "3.0", "3.00", "   3")
        a += 1
    assert str(a[3]) == str(a[3, ...]) == "5.0"
    assert repr(kept).startswith("GlobalArray(3.0, dtype=" if pg.SIZE == 1 else "GlobalArray(shape=()")


@pytest.mark.parametrize("of", [lambda a: a[1], lambda a: a.sum(), lambda a: a[1] + a[0]])
def test_numbers_are_chosen_by_numbers(of: Callable[[Any], Any]) -> None:
    x, expected = of(pg.arange(3.0)), of(np.arange(3.0))
    assert_equal(x[x > 0], expected[expected > 0])
    assert_equal(x[x < 0], expected[expected < 0])


@pytest.mark.parametrize("of", [lambda a: a[1, 2], lambda a: a[0].sum(), lambda a: a[0, 0, ...][()]])
@pytest.mark.parametrize("how", writes(lambda a: a))
def test_what_writes_to_numbers_is_refused(of: Callable[[Any], Any], how: str) -> None:
    a = pg.ones((2, 3))
    if how == "local":
        with pytest.raises(ValueError, match="read-only"):
            writes(of)[how](a)
    else:
        raises_everywhere(TypeError, "does not support assignment", lambda: writes(of)[how](a))
    assert_equal(a, np.ones((2, 3)))


@pytest.mark.parametrize("of", [lambda a: a[1, 2], lambda a: a.sum()])
def test_blocks_of_numbers_are_read_only_copies(of: Callable[[Any], Any]) -> None:
    a = pg.ones((2, 3))
    number = of(a)
    blocks, indexed = [*number.blocks()], [*number.blocks(index=True)]
    a[...] = 2
    collectively(not any(block.flags.writeable for block in (*blocks, *(block for _, block in indexed))))
    collectively(sum(pg.COMM.allgather(len(blocks))) > 0 and all(index == () for index, _ in indexed))
    value = float(number)
    collectively(all(block == value for block in blocks), f"{blocks}")


@pytest.mark.parametrize("array_of", [
    lambda s: s[...], lambda s: s[None], lambda s: s.reshape(1), lambda s: s.ravel(), lambda s: pg.asarray(s),
    lambda s: pg.array(s), lambda s: np.expand_dims(s, 0), lambda s: pg.copy(s)])
@pytest.mark.parametrize("of", [lambda a: a[1, 2], lambda a: a[0].sum() - 2])
def test_arrays_of_numbers_are_copies(of: Callable[[Any], Any], array_of: Callable[[Any], Any]) -> None:
    a = pg.ones((2, 3))
    number = of(a)
    array = array_of(number)
    array[...] = 5
    collectively(float(number) == 1 and (array.gather() == 5).all(), f"{number}, {array.gather()}")
    assert_equal(a, np.ones((2, 3)))


@pytest.mark.parametrize("number_of", [
    lambda s: s.copy(), lambda s: s.astype("f"), lambda s: s.T, lambda s: s.squeeze(), lambda s: np.squeeze(s),
    lambda s: np.transpose(s), lambda s: s.reshape(()), lambda s: np.flip(s), lambda s: s.real])
@pytest.mark.parametrize("of", [lambda a: a[1, 2], lambda a: a.sum(), lambda a: np.flip(a[1, 2, ...])])
def test_numbers_of_numbers_are_numbers(of: Callable[[Any], Any], number_of: Callable[[Any], Any]) -> None:
    def program(a: Any) -> list[Any]:
        kept = number = number_of(of(a))
        number += 1
        a += 7
        return [kept, number]

    x = np.arange(6.0).reshape(2, 3)
    found, expected = program(pg.array(x)), program(x)
    collectively([float(s) for s in found] == [float(s) for s in expected], f"{found}, {expected}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at_once", [lambda rank: True, lambda rank: False, lambda rank: rank % 2 == 0],
                         ids=["at once", "recorded", "either"])
def test_numbers_of_elements_that_others_have(at_once: Callable[[int], bool], name: str,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are the same however a process executes what it does."""
    monkeypatch.setattr(recording.queue, "computes_at_once", at_once(pg.RANK))
    x, y = np.arange(1, 36.0).reshape(5, 7), (np.arange(35) % 9 + 1).reshape(5, 7).astype("b")
    a, b = pg.array(x, layout=layout_of(name, x.shape)), pg.array(y)
    for i, j, k in ((0, 0, 0), (4, 6, 0), (0, 3, 4), (2, 6, 1)):
        assert_equal(a[i, j] / b[k, j], x[i, j] / y[k, j])
        assert_equal(b[k, i] * b[i, k], y[k, i] * y[i, k])
        assert_equal(2 - b[i, j], 2 - y[i, j])
        assert_equal(np.sqrt(a[i, j]) > b[k, k], np.sqrt(x[i, j]) > y[k, k])
        a[i, j] = b[k, j] + a[k, j]
        x[i, j] = y[k, j] + x[k, j]
    assert_equal(a, x)


@pytest.mark.parametrize("expression", [
    "np.array([a[1, 2], a.sum()])", "np.array([[a[0, 1], -a[1, 0]], [3, a.max()]])", "np.array([a[1, 2]], dtype='f')",
    "np.asarray(((a.min(), 1j), (a[0].mean(), a[1, 1] * 2)))", "np.where(a > 2, [a[0, 1]] * 3, a)",
    "a + [a[0, 0], 7, a[1, 1]]", "np.dot([a[0, 1], 2.5], a)", "np.stack([a[0, 1], 2.5, a.sum()])",
    "np.linspace(a.min(), a.max(), 4)", "np.linspace(0, a[1, 0], int(a[0, 2]), dtype='f')",
    "np.arange(a[0, 1], a.max(), a[0, 2])", "np.arange(a.argmax())", "np.zeros(a.argmax())",
    "np.zeros([a.argmax(), 2])", "np.roll(a, a.argmax())", "np.roll(a, [1, -a.argmax()], axis=(0, 1))",
    "np.tile(a, a.argmax())", "np.tile(a, (a.argmax(), 1))", "np.repeat(a, a.argmax())",
    "np.broadcast_to(a, (a.argmax(), 2, 3))", "np.expand_dims(a, a.argmin() + 1)", "a.reshape(a.argmax() + 1)",
    "a.reshape(-1, a.argmin() + 3)",
    "np.array([[1, 2]] * a.argmax())", "np.array(a.argmax() * (1, 2))",
    "a.argmax() * np.array([1, 2])", "np.full(np.array(3), a[0, 1])",
])
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
def test_numbers_among_arguments(expression: str, dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    assert_equal(eval(expression, {"np": pg, "a": pg.array(x)}), eval(expression, {"np": np, "a": x}))


@pytest.mark.parametrize("x", [
    np.arange(5).astype("M8[D]"), np.arange(5).astype("m8[s]"), np.arange(5) > 2, np.linspace(0, 1, 5, dtype="f"),
    np.arange(5) * 1j, 2**63 + np.arange(5, dtype="u8"), 1 / np.arange(1, 6, dtype="g")], ids=lambda x: x.dtype.str)
def test_numbers_in_a_list_keep_their_dtype(x: np.ndarray[Any, Any]) -> None:
    a = pg.array(x)
    assert_equal(pg.array([[a[3]], (a[1],)]), np.array([[x[3]], (x[1],)]))
    assert_equal(pg.where([True, False], [a[2], a[4]], a[:2]), np.where([True, False], [x[2], x[4]], x[:2]))


def test_numbers_that_are_no_integers_repeat_nothing() -> None:
    a = pg.array([2.0, 1.0])
    for number in (a[0], a.any()):
        raises_everywhere(TypeError, "only integer scalar", lambda number=number: [1] * number)
        raises_everywhere(TypeError, "only integer scalar", lambda number=number: number * "ab")
    assert_equal([1, 2] * a[:1], np.array([2.0, 4.0]))


def test_numpy_takes_numbers_by_value() -> None:
    for x in (np.arange("2024-02-27", "2024-03-03", dtype="M8[D]"), np.linspace(0, 1, 5, dtype="f"), np.arange(5) * 1j):
        found = np.asarray(pg.array(x)[3])
        collectively(found.dtype == x.dtype and found == x[3], f"{found} of {x}")
    a = pg.linspace(0, 1, 5)
    collectively(np.array([a[2], a.max()]).tolist() == [0.5, 1] and np.mean([a[0], a[1]]) == 0.125)
    raises_everywhere(TypeError, "gather", lambda: np.array([a.astype("g")[1]]))


def test_libraries_take_numbers_for_vectors_of_one() -> None:
    a = pg.array([1.0, 5.0, 2.0])
    for found in np.atleast_1d(a.max()), np.atleast_1d(a[1]):
        collectively(isinstance(found, np.ndarray) and found.tolist() == [5.0])
    collectively([x.tolist() for x in np.atleast_1d(a.max(), a.min())] == [[5.0], [1.0]])
    collectively(isinstance(np.atleast_1d(a), pg.GlobalArray) and isinstance(pg.atleast_1d(a.max()), pg.GlobalArray))


def test_assignment_of_lists_of_numbers() -> None:
    def program(np: Any, a: Any) -> Any:
        b = np.zeros((2, 3))
        b[0] = a[1, 2], a[0, 1], a.sum()
        b[1, 1:] = [a.max(), 5]
        return b

    x = np.arange(6.0).reshape(2, 3)
    assert_equal(program(pg, pg.array(x)), program(np, x))


@pytest.mark.parametrize("call", [
    lambda s: pg.write(s), lambda s: pg.update(s), lambda s: pg.combine(np.add, s)])
def test_numbers_are_no_targets(call: Any) -> None:
    """Whether a number still is the element, or a copy of it, would decide what is written."""
    A = pg.arange(12.0, layout=pg.Distribution("*"))
    for s in (A[3], A.sum()):
        raises_everywhere(TypeError, "a number does not support assignment", functools.partial(call, s))
    pg.schedule(lambda x: x.fill(7), pg.write(A[3, ...]))
    assert_equal(A, np.array([0.0, 1, 2, 7, *range(4, 12)]))


@pytest.mark.parametrize("call", [
    lambda np, a: np.round(a), lambda np, a: a.round(1), lambda np, a: np.choose(a * 0, [a, 2]),
    lambda np, a: a.choose([3, 4]), lambda np, a: np.choose(a * 0, [a]), lambda np, a: np.einsum("", a)])
def test_what_is_a_number_of_an_array_without_dimensions(call: Any) -> None:
    found = call(pg, pg.array(np.array(1)))
    assert_equal(found, call(np, np.array(1)))
    raises_everywhere(TypeError, "does not support", lambda: found.fill(3))


@pytest.mark.parametrize("dtype", ["d", "f", "l", "B"])
def test_methods_of_numbers(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    a = pg.array(x)
    for k in (0, 3):
        collectively(a[k].is_integer() == x[k].is_integer() and a.sum().is_integer())
    if dtype in "df":
        collectively((a[3] / 4).as_integer_ratio() == (3, 4) and not (a[3] / 4).is_integer())
    else:
        collectively(a[5].bit_count() == 2)
    raises_everywhere(AttributeError, "is_integer", lambda: pg.ones(2, complex)[0].is_integer())
