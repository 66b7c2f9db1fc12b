"""Which operations run as one kernel, and that what they compute stays NumPy's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.kernels import bindings
from pgaspy.scheduling import fused_code
from tests.flushes import kernels_of
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("one_flush")]

N = 12
N_PROGRAMS = 60
FUNCTIONS = (np.add, np.subtract, np.maximum, np.minimum, np.multiply)


def rows(n: int = 4 * N) -> pg.GlobalArray:
    return pg.array(np.arange(float(n)))


def in_place(a: pg.GlobalArray) -> None:
    a += 1
    a *= 2


def different_views(a: pg.GlobalArray) -> None:
    a[:-1] += 1
    a[1:] *= 2


def disjoint_views(a: pg.GlobalArray) -> object:
    return a[:N] + 1, a[N : 2 * N] * 2


def read_anywhere(a: pg.GlobalArray) -> object:
    b = a + a[::1]
    return b * a


def overwritten_later(a: pg.GlobalArray) -> object:
    b = a.copy()
    a += 1
    return b, b * a


def reduced(a: pg.GlobalArray) -> object:
    b = abs(a - 3)
    return b.sum(), b.max()


def reduced_between(a: pg.GlobalArray) -> object:
    a += 1
    total = a.sum()
    a += 1
    return total


def replaced(a: Any) -> Any:
    """Like `a[...] = new` at the end of a sweep, whose change is computed of both."""
    new = a[::-1] * 0.5
    change = abs(new - a).max()
    a[...] = new
    return change


def replaced_by_itself(a: Any) -> Any:
    """The same in one kernel."""
    new = a * 0.5
    change = abs(new - a).max()
    a[...] = new
    return change


def averaged(a: pg.GlobalArray) -> object:
    """The mean has one element, and so has `b`, whose kernel is not to wait for the sum."""
    doubled = a * 2
    b = a[:1] + 1
    mean = doubled.sum(keepdims=True) / 8
    return doubled, b, mean


@pytest.mark.every
@pytest.mark.parametrize(("program", "n_fused", "n_kernels"), [
    (in_place, 2, 1), (different_views, 2, 2), (read_anywhere, 2, 1), (overwritten_later, 3, 1), (reduced, 4, 1),
    (reduced_between, 3, 2), (averaged, 4, 3),
])
@pytest.mark.skipif(pg.SIZE > 1, reason="what a process joins depends on what it owns")
def test_what_is_joined(program: Callable[[pg.GlobalArray], object], n_fused: int, n_kernels: int) -> None:
    a = rows()
    assert kernels_of(lambda: program(a)) == (n_fused, n_kernels)


@pytest.mark.parametrize("program", [in_place, different_views, disjoint_views, read_anywhere, overwritten_later,
                                     reduced, reduced_between, replaced, replaced_by_itself])
def test_what_is_computed(program: Callable[[pg.GlobalArray], object]) -> None:
    a, x = rows(), np.arange(4.0 * N)
    pg.sync()
    found, expected = program(a), program(x)
    for f, e in zip(*(y if isinstance(y, tuple) else (y,) for y in (found, expected)), strict=True):
        if e is not None:
            assert_equal(f, e)
    assert_equal(a, x)


@pytest.mark.every
@pytest.mark.parametrize(("axis", "n_fused"), [
    (0, 2), (1, 2), (2, 2), ((0, 1), 2), ((1, 2), 2), (None, 2), ((0, 2), 1), ((), 1),
])
@pytest.mark.skipif(pg.SIZE > 1, reason="what a process joins depends on what it owns")
def test_reductions_over_axes_that_follow_each_other_are_joined(axis: Any, n_fused: int) -> None:
    a = pg.array(np.arange(24.0).reshape(2, 3, 4))
    assert kernels_of(lambda: (a * a).sum(axis=axis)) == (n_fused, 1)


@pytest.mark.skipif(pg.SIZE > 1, reason="what a process joins depends on what it owns")
def test_reductions_of_one_kernel_are_over_the_same_axes() -> None:
    a = pg.array(np.arange(24.0).reshape(4, 6))

    def program() -> object:
        b = a * a
        return b.sum(axis=0), b.max(axis=0), b.sum(axis=1), b.sum()

    assert kernels_of(program) == (3, 1)


def reduced_over(a: pg.GlobalArray, b: pg.GlobalArray, axis: Any) -> list[pg.GlobalArray]:
    """Reductions of what is not stored, stored, and computed in pieces, as it takes elements of neighbours."""
    kept, shifted, turned = a - b, a[1:-1] + b[2:], a[::-1] * b
    return [(a * b).sum(axis=axis), abs(kept).max(axis=axis), (a < b).sum(axis=axis), (kept > 1).any(axis=axis), kept,
            shifted.sum(axis=axis), abs(shifted).min(axis=axis), (shifted[..., 1:] * b[2:, ..., 1:]).sum(axis=axis),
            turned.sum(axis=axis)] if a.ndim > 1 else [(a * b).sum(axis=axis), shifted.sum(axis=axis)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [
    (5000,), (3, 2), (1300, 40), (60, 1500), (4000, 5), (5, 4000), (20, 30, 40), (3, 1200, 3), (40, 1, 700),
])
def test_reductions_give_the_bits_of_the_executor_in_order(name: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, *shape))
    a, b = (pg.array(z, layout=layout_of(name, shape)) for z in (x, y))
    axes = [*range(len(shape)), None, *([(0, 1), (1, 2)] if len(shape) == 3 else [])]
    problems = []
    for axis in axes:
        found = []
        for overlaps in True, False:
            pg.sync()
            recording.forget()
            recording.queue.overlaps = overlaps
            try:
                found.append([result.gather() for result in reduced_over(a, b, axis)])
            finally:
                recording.queue.overlaps = True
        problems += [f"axis {axis}, result {k}: {p} and {q}" for k, (p, q) in enumerate(zip(*found, strict=True))
                     if (p.shape, p.tobytes()) != (q.shape, q.tobytes())]
        if not np.allclose(found[0][0], (x * y).sum(axis=axis), rtol=1e-10, atol=1e-10):
            problems.append(f"axis {axis}: not NumPy's")
    collectively(not problems, "\n".join(problems[:3]))


def test_an_array_is_reduced_before_it_is_overwritten() -> None:
    a = pg.zeros(N)
    totals = []
    for _ in range(5):
        a += 1
        totals.append(a.sum())
        a[...] = a * 2
    x, sums = np.zeros(N), []
    for _ in range(5):
        x += 1
        sums.append(x.sum())
        x *= 2
    collectively([float(t) for t in totals] == sums, f"{[float(t) for t in totals]}, expected {sums}")


def test_kernels_have_limits() -> None:
    a = rows()
    b = a
    for k in range(3 * fused_code.MAX_STEPS):
        b = b + (k % 3)
    assert_equal(b, np.arange(4.0 * N) + fused_code.MAX_STEPS * 3)
    arrays = [a * k for k in range(2 * bindings.MAX_PROGRAM_OPERANDS)]
    total = arrays[0]
    for other in arrays[1:]:
        total = total + other
    assert_equal(total, np.arange(4.0 * N) * sum(range(2 * bindings.MAX_PROGRAM_OPERANDS)))


def check_what_is_read_early(sent_of: Callable[[Any, Any], Any]) -> None:
    """One process reads what takes a sum of others, while they have recorded what would join this sum."""
    x = np.arange(4.0 * N)
    a = pg.array(x, layout=pg.Distribution("cyclic"))
    shifted = a[1:]
    for k in range(pg.SIZE):
        first = a[:-1] + shifted
        sent = sent_of(a, first)
        if k == pg.RANK:
            part = sent.local()
            del part
        second = first - shifted  # would join `first`, but for what it receives
        assert_equal(second, x[:-1])
        assert_equal(sent, sent_of(x, x[:-1] + x[1:]))


def test_no_kernel_waits_for_what_its_peers_have_not_recorded() -> None:
    """What takes the sum has messages."""
    check_what_is_read_early(lambda a, first: a[:-2] + first[1:])


def test_nor_what_depends_on_it_by_way_of_others() -> None:
    """What is sent is made of what has no messages, which is made of the sum."""
    check_what_is_read_early(lambda a, first: a[:-2 - pg.SIZE] + (first[pg.SIZE:] * 2)[1:])


def with_something_silent_between(a: Any) -> tuple[Any, ...]:
    first = a[:-1] + a[1:]
    silent = first[2:] * 2
    second = first - a[1:]
    return first, silent, second


def test_a_kernel_goes_on_after_what_has_no_messages() -> None:
    a, x = rows(), np.arange(4.0 * N)
    _, n_kernels = kernels_of(lambda: with_something_silent_between(a))
    collectively(n_kernels == 2, f"{n_kernels} kernels")
    for found, expected in zip(with_something_silent_between(a), with_something_silent_between(x), strict=True):
        assert_equal(found, expected)


@pytest.mark.parametrize("layout", ["block", "cyclic", "cyclic(2)"])
def test_random_programs(layout: str) -> None:
    """Straight-line programs on sections of two arrays, with temporaries, and sums of some of them."""
    problems = []
    for seed in range(N_PROGRAMS // 3):
        rng = random.Random(seed)
        values = np.random.default_rng(seed).integers(-8, 9, (2, 2 * N)) / 4
        arrays = [pg.array(row, layout=pg.Distribution(layout)) for row in values]
        models = list(values.copy())
        starts = sorted({0, N, rng.randint(1, N - 1)})
        pairs = [(a[s : s + N], m[s : s + N]) for a, m in zip(arrays, models, strict=True) for s in starts]
        n_views = len(pairs)
        totals = []
        for _ in range(rng.randint(4, 14)):
            (x, u), (y, v) = rng.choice(pairs), rng.choice(pairs)
            kind = rng.random()
            function = rng.choice(FUNCTIONS)
            if kind < 0.35:
                target, model = rng.choice(pairs)
                function(x, y, out=target)
                model[...] = function(u, v)
            elif kind < 0.55:
                target, model = rng.choice(pairs)
                target[...] = x
                model[...] = u.copy()
            elif kind < 0.65:
                totals.append((x.max(), u.max()))
            elif kind < 0.75 and len(pairs) > n_views + 1:
                del pairs[rng.randrange(n_views, len(pairs))]
            else:
                pairs.append((function(x, y) / 2, function(u, v) / 2))
        found = [*((float(a), float(m)) for a, m in totals),
                 *((a.gather().tolist(), m.tolist()) for a, m in (*zip(arrays, models, strict=True), *pairs))]
        problems += [f"seed {seed}: {a}, expected {m}" for a, m in found if a != m]
    collectively(not problems, "\n".join(problems[:3]))


def test_several_reductions_of_one_kernel_have_messages_of_their_own() -> None:
    """A process that reads the first result at once is sent it under the same tag as by those that read both later."""
    a = pg.array(np.arange(4.0 * N))
    for k in range(pg.SIZE):
        a += 1
        total = a.sum()
        if k == pg.RANK:
            float(total)
        largest = a.max()
        expected = np.arange(4.0 * N) + k + 1
        collectively((float(total), float(largest)) == (expected.sum(), expected.max()), f"{total}, {largest}")
