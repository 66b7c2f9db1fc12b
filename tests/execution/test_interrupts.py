"""Interrupts on one process: the statement that is interrupted has happened as a whole or not at all, and none is lost.

The interpreter looks for signals where a function begins, where a loop goes back, and after a call. At such points one
is simulated by a trace function, which is the same on any machine. Signals come at random moments besides.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.kernels import bindings
from pgaspy.scheduling import floating_point, operations
from tests.flushes import have_recorded

N = 300
Arrays = list[Any]


class Stop(Exception):
    """What a handler of signals raises."""


def in_place(x: Arrays) -> None:
    x[0] += 1


def shifted(x: Arrays) -> None:
    x[0][1:] += x[0][:-1]


def by_temporaries(x: Arrays) -> None:
    x[1][...] = (x[0] * 2 - x[1]) / 4 + x[1][::-1]


def replaced(x: Arrays) -> None:
    x[1] = x[1] + x[0] * 0.5


def reduced(x: Arrays) -> None:
    x[1] -= (x[0] * x[0]).sum() / N


def by_numpys_function(x: Arrays) -> None:
    np.nextafter(x[0], x[1], out=x[0])


def added_at(x: Arrays) -> None:
    np.add.at(x[0], np.arange(N) % 7, 0.25)


def by_a_task(x: Arrays) -> None:
    def double(local: Any) -> None:
        local *= 2

    if isinstance(x[0], np.ndarray):
        double(x[0])
    else:
        pg.schedule(double, pg.update(x[0]))


def read(x: Arrays) -> None:
    float(x[1][N // 2])


def flushed(x: Arrays) -> None:
    if not isinstance(x[0], np.ndarray):
        pg.sync()


STATEMENTS: Sequence[Callable[[Arrays], None]] = [
    in_place, by_temporaries, shifted, reduced, flushed, by_numpys_function, replaced, in_place, read, by_a_task,
    added_at, in_place, shifted, flushed, reduced]


def states() -> Iterator[Arrays]:
    """What NumPy's arrays are before and after each statement."""
    x = [np.linspace(0, 1, N), np.linspace(1, 2, N)]
    yield [one.copy() for one in x]
    for statement in STATEMENTS:
        statement(x)
        yield [one.copy() for one in x]


@pytest.fixture(scope="module")
def expected() -> list[Arrays]:
    """The bits of a run that is not interrupted, which is as NumPy's but for the order of sums."""
    found = []
    for n in range(len(STATEMENTS) + 1):
        x = arrays()
        for statement in STATEMENTS[:n]:
            statement(x)
        found.append([one.gather() for one in x])
    for ours, numpys in zip(found, states(), strict=True):
        for one, other in zip(ours, numpys, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    return found


def arrays() -> Arrays:
    return [pg.array(np.linspace(0, 1, N)), pg.array(np.linspace(1, 2, N))]


def check(x: Arrays, n_done: int, expected: list[Arrays], where: Any) -> None:
    """The state after the first statements, or after these and the one that was interrupted."""
    found = [one.gather() for one in x]
    for state in expected[n_done:n_done + 2]:
        if all(np.array_equal(one, other) for one, other in zip(found, state, strict=True)):
            return
    raise AssertionError(f"interrupted at {where}, in statement {n_done}: {STATEMENTS[n_done].__name__}")


@functools.cache
def names_of_steps(code: CodeType) -> dict[int, str]:
    return {step.offset: step.opname for step in dis.get_instructions(code)}


class Interrupter:
    """Raises KeyboardInterrupt at the n-th point in some modules where the interpreter looks for signals."""

    def __init__(self, n: int, modules: tuple[str, ...] = ("pgaspy.",)) -> None:
        self.n_left, self._modules = n, modules
        self.where: Any = None
        self.last: tuple[FrameType, str] | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith(self._modules):
            return None
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            name = names_of_steps(frame.f_code)[frame.f_lasti]
            looks = name in ("RESUME", "JUMP_BACKWARD") or (
                self.last is not None and self.last[0] is frame and self.last[1].startswith("CALL"))
            self.last = frame, name
            self.n_left -= looks
            if looks and not self.n_left:
                self.where, self.last = (frame.f_code.co_qualname, frame.f_lineno), None
                raise KeyboardInterrupt
        return self


def run(x: Arrays, trace: Any) -> int:
    """How many statements are done when one is interrupted; all, if none is."""
    before, n_done = sys.gettrace(), 0
    sys.settrace(trace)
    try:
        for n_done, statement in enumerate(STATEMENTS):  # noqa: B007
            statement(x)
        n_done += 1
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return n_done


of_steps = pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="Python 3.12 traces some steps late or never")
"""A test of interrupts at steps of the interpreter that are looked for by tracing."""


@of_steps
@pytest.mark.parametrize("executor", ["lazy", "in order"])
@pytest.mark.parametrize(("is_planned", "stride"), [
    (True, 31), (False, 1999), pytest.param(True, 1, marks=pytest.mark.long),
    pytest.param(False, 53, marks=pytest.mark.long)])
def test_at_many_points(executor: str, is_planned: bool, stride: int, expected: list[Arrays]) -> None:
    """Also where statements are planned, which takes ten times as many steps."""
    recording.queue.overlaps = executor == "lazy"
    try:
        interrupt_everywhere(is_planned, stride, expected)
    finally:
        recording.queue.overlaps = True


@of_steps
@pytest.mark.parametrize("stride", [401, pytest.param(3, marks=pytest.mark.long)])
def test_at_many_points_of_what_is_executed_in_turn(stride: int, expected: list[Arrays],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    have_recorded(monkeypatch)
    interrupt_everywhere(False, stride, expected)


def test_what_is_executed_in_turn_is_not_executed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        run_elementwise(*arguments)
        monkeypatch.setattr(bindings, "run_elementwise", run_elementwise)
        raise KeyboardInterrupt

    have_recorded(monkeypatch)
    a, b, run_elementwise = pg.ones(5), pg.zeros(5), bindings.run_elementwise
    pg.sync()
    b[1:] += a[1:]
    a += 1
    monkeypatch.setattr(bindings, "run_elementwise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pg.sync()
    assert a.gather().tolist() == [2] * 5
    assert b.gather().tolist() == [0, 1, 1, 1, 1]


def interrupt_everywhere(is_planned: bool, stride: int, expected: list[Arrays]) -> None:
    """Interrupt the statements at every so many points, and see what they have done."""
    for n in itertools.count(1, stride):
        if not is_planned:
            recording.forget()
        interrupter, x = Interrupter(n), arrays()
        pg.sync()
        n_done = run(x, interrupter)
        if n_done == len(STATEMENTS):
            break
        check(x, n_done, expected, interrupter.where)
    assert n > 300


def interrupted(x: Arrays, statements: Sequence[Callable[[Arrays], None]], kind: type[BaseException]) -> int:
    """How many statements are done when one is interrupted."""
    n_done = 0
    try:
        for n_done, statement in enumerate(statements):  # noqa: B007
            statement(x)
        return n_done + 1
    except kind:
        return n_done


# Python code that runs when garbage is collected, as Hypothesis has some, swallows what a handler raises.
swallows = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_copy_of_an_element_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(*_: Any) -> None:
        raise Stop

    def interrupted_once(*_: Any) -> None:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGALRM)

    a = pg.arange(4.0)
    kept = a[1]
    a += 1
    monkeypatch.setattr(np, "copyto", interrupted_once)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Stop):
            pg.sync()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert float(kept) == 1
    assert (a.gather() == [1, 2, 3, 4]).all()


@swallows
def test_by_signals(expected: list[Arrays]) -> None:
    """Of a handler that raises what it likes; a task would not be whole, which it could not know."""
    def handler(*_: Any) -> None:
        raise Stop

    draw, n_raised = random.Random(1), 0
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(300):
            x = arrays()
            pg.sync()
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-4, 2e-3))
                n_done = interrupted(x, STATEMENTS[:STATEMENTS.index(by_a_task)], Stop)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                continue
            n_raised += n_done < STATEMENTS.index(by_a_task)
            check(x, n_done, expected, "a signal")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert n_raised > 20


@swallows
def test_by_the_keyboard(expected: list[Arrays]) -> None:
    """A task is not torn: Ctrl-C is raised when it ends. Just before it begins, the array is lost, and says so."""
    draw, n_raised, n_lost = random.Random(1), 0, 0
    for _ in range(600):
        x, timer = arrays(), threading.Timer(draw.uniform(1e-5, 5e-4), signal.raise_signal, [signal.SIGINT])
        pg.sync()
        try:
            timer.start()
            n_done = interrupted(x, STATEMENTS, KeyboardInterrupt)
            timer.join()
        except KeyboardInterrupt:
            continue
        n_raised += n_done < len(STATEMENTS)
        if n_done < len(STATEMENTS):
            try:
                check(x, n_done, expected, "Ctrl-C")
            except pg.TaskError as error:
                if "it was interrupted" not in str(error):
                    raise
                n_lost += 1
    assert n_raised > 20
    assert n_lost < 3


def test_a_second_one_in_a_task_is_raised_at_once() -> None:
    def task(local: Any) -> None:
        for k in range(3):
            signal.raise_signal(signal.SIGINT)
            local += 1
            done.append(k)

    done: list[int] = []
    a, b = pg.zeros(10), pg.zeros(10)
    pg.schedule(task, pg.update(a))
    b += 1
    with pytest.raises(KeyboardInterrupt):
        pg.sync()
    assert done == [0]
    with pytest.raises(pg.TaskError, match="interrupted"):
        a.gather()
    assert (b.gather() == 1).all()
    a[...] = 3
    assert (a.gather() == 3).all()


def test_one_in_a_task_that_raises_is_not_lost() -> None:
    def task(local: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        raise ValueError("bad value")

    a = pg.zeros(3)
    pg.schedule(task, pg.update(a))
    with pytest.raises(KeyboardInterrupt):
        pg.sync()
    with pytest.raises(pg.TaskError):
        a.gather()


def test_one_while_operations_are_executed_one_by_one() -> None:
    """As they are where an array is poisoned."""
    def fail(local: Any) -> None:
        raise ValueError("bad value")

    def stop(local: Any) -> None:
        raise KeyboardInterrupt

    a, b, c, d = (pg.zeros(10) for _ in range(4))
    pg.sync()
    before, recording.queue.max_operations = recording.queue.max_operations, 2
    try:
        pg.schedule(fail, pg.update(a))
        d += a
        d += 1
    finally:
        recording.queue.max_operations = before
    pg.schedule(stop, pg.update(b))
    c += 1
    raised = []
    for _ in range(4):
        try:
            pg.sync()
        except BaseException as error:
            raised.append(type(error))
    assert raised.count(KeyboardInterrupt) == 1
    assert set(raised) == {KeyboardInterrupt, pg.TaskError}
    np.testing.assert_array_equal(c.gather(), np.ones(10))
    for poisoned in a, b, d:
        with pytest.raises(pg.TaskError):
            poisoned.gather()


def stopped_everywhere(statement: Callable[[], object], *modules: str) -> Iterator[Any]:
    """Interrupt a statement at each point; where. The caller has all made anew in between."""
    for n in itertools.count(1):
        before, interrupter = sys.gettrace(), Interrupter(n, modules or ("pgaspy.",))
        sys.settrace(interrupter)
        try:
            statement()
            return
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        yield interrupter.where


@of_steps
def test_one_while_an_array_that_is_poisoned_is_overwritten() -> None:
    """It is right, or an error."""
    def fail(local: Any) -> None:
        raise ValueError("bad value")

    def poison() -> None:
        pg.schedule(fail, pg.update(a))
        pg.sync()

    a, b = pg.zeros(10), pg.ones(10)
    with pytest.raises(pg.TaskError):
        poison()
    for where in stopped_everywhere(lambda: a.__setitem__(..., b)):
        try:
            found = a.gather()
        except pg.TaskError:
            continue
        assert (found == 1).all(), where
        with pytest.raises(pg.TaskError):
            poison()
    assert (a.gather() == 1).all()


def test_one_while_the_tags_of_an_operation_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not recorded then: the next one would have the same."""
    def stop(recipe: Any) -> int:
        raise KeyboardInterrupt

    a = pg.zeros(10)
    with monkeypatch.context() as patch:
        patch.setattr(operations.Recipe, "n_tags", property(stop))
        with pytest.raises(KeyboardInterrupt):
            a += 1
    assert (a.gather() == 0).all()


V, A, RANDOM = np.linspace(0.5, 1.5, N), np.linspace(1, 2, 6).reshape(2, 3), pg.random.default_rng(1)


@of_steps
@pytest.mark.parametrize("call", [
    lambda: pg.array(V).prod(), lambda: pg.array(V * 1e300).cumprod(), lambda: np.nextafter(pg.array(V), 1.0),
    lambda: np.add.at(pg.array(V), [0, 1], 0.25), lambda: np.multiply.reduceat(pg.array(V), [0, 7]),
    lambda: np.logaddexp.reduce(pg.array(V)), lambda: pg.array(V).astype(np.float16),
    lambda: pg.array(A) @ pg.array(A).T, lambda: pg.array(A) @ pg.array(V[:3]), lambda: pg.array(V) @ pg.array(V),
    lambda: pg.einsum("ij,jk", pg.array(A), pg.array(A.T)), lambda: pg.full(N, 2.5), lambda: pg.isclose(pg.array(V), V),
    lambda: pg.cov(pg.array(A)), lambda: pg.nanmean(pg.array(V)), lambda: pg.linalg.det(pg.array(A[:, :2])),
    lambda: pg.linalg.inv(pg.array([A[:, :2]])), lambda: pg.fft.fft(pg.array(V)), lambda: pg.fft.rfft(pg.array(A)),
    lambda: RANDOM.uniform(0, 1, N), lambda: RANDOM.gamma(2.0, 1, N), lambda: RANDOM.negative_binomial(3, 0.5, N)])
@pytest.mark.parametrize("is_at_once", [False, True])
def test_numpys_state_of_errors_stays_the_programs(call: Callable[[], object], is_at_once: bool,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library has it set, and set again."""
    def statement() -> None:
        found = call()
        pg.sync()
        del found

    monkeypatch.setattr(recording.queue, "computes_at_once", is_at_once)
    before = floating_point.state()
    for n, where in enumerate(stopped_everywhere(statement, "numpy._core._ufunc_config", floating_point.__name__)):
        assert floating_point.state() is before, where
        with contextlib.suppress(pg.TaskError):  # a task that was interrupted
            pg.sync()
        if n > 50:
            break


def near_the_limit(statement: Callable[[], object], n_left: int) -> None:
    """Do it where so many frames are left of those that a program may have."""
    def deeper(n: int) -> None:
        if n > 0:
            deeper(n - 1)
        else:
            statement()

    frame: FrameType | None = sys._getframe()
    n = 0
    while frame is not None:
        n, frame = n + 1, frame.f_back
    with contextlib.suppress(RecursionError):
        deeper(sys.getrecursionlimit() - n - n_left)


@pytest.mark.parametrize("n", [10, 100_000])
def test_near_the_limit_of_recursion(n: int) -> None:
    """What is recorded is executed, or stays so, whoever has it executed; and that ends."""
    a, model = pg.zeros(n), np.zeros(n)

    def read() -> None:
        float((a * 2).sum())

    for n_left in range(300, 0, -5):
        np.add(a, 1, out=a)
        a[1:] = a[:-1] + n_left
        model += 1
        model[1:] = model[:-1] + n_left
        near_the_limit(pg.sync, n_left)
        near_the_limit(read, n_left)
    np.testing.assert_array_equal(a.gather(), model)


def test_by_a_handler_that_puts_another_one_in_its_place() -> None:
    a = pg.zeros(2_000_000)
    pg.sync()

    def handler(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        raise Stop

    before = signal.getsignal(signal.SIGALRM)
    try:
        for _ in range(20):
            with contextlib.suppress(Stop):
                signal.signal(signal.SIGALRM, handler)
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                while True:
                    a += 1
                    pg.sync()
            values = a[::1_999_999].gather()
            assert values[0] == values[1]
    finally:
        signal.signal(signal.SIGALRM, before)
