"""What the code takes no more of: at each limit, and one beyond, where it goes on in two or says what is wrong."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import dims, layout
from pgaspy.distribution import Distribution
from pgaspy.execution import recording
from pgaspy.kernels import bindings, jit
from pgaspy.kernels.program import Program, Step
from pgaspy.planning import chains, pieces, trees
from pgaspy.planning.local_parts import local_part
from pgaspy.planning.pieces import TEMPORARY, joint_cuts, max_pieces, n_pieces, plan_boxes, plan_operands
from pgaspy.planning.view import joint_shape, whole
from pgaspy.scheduling import kernel_nodes
from tests.flushes import kernels_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = [pytest.mark.mpi, pytest.mark.recorded, pytest.mark.usefixtures("one_flush")]

N = 24
alone = pytest.mark.skipif(pg.SIZE > 1, reason="what a process joins depends on what it owns")


# Kernels -------------------------------------------------------------------------------------------------------------


def vectors(n: int, dtype: str = "d") -> list[pg.GlobalArray]:
    """Different arrays."""
    return [pg.full(N, k + 1, dtype) for k in range(n)]


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(85, 1), (86, 2), (171, 3)])
def test_what_is_read_and_written_are_two_operands(n: int, n_kernels: int) -> None:
    """Three of 255 for each statement."""
    a, b = vectors(n), vectors(n)

    def program() -> None:
        for x, y in zip(a, b, strict=True):
            x += y

    assert kernels_of(program) == (n, n_kernels)
    assert [float(x[3]) for x in a] == [2 * k + 2 for k in range(n)]


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(127, 1), (128, 2)])
def test_functions_in_place_are_two_operands_each(n: int, n_kernels: int) -> None:
    a = vectors(n)
    assert kernels_of(lambda: [np.negative(x, out=x) for x in a]) == (n, n_kernels)
    assert [float(x[3]) for x in a] == [-k - 1 for k in range(n)]


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(85, 1), (86, 2)])
def test_every_scalar_is_an_operand(n: int, n_kernels: int) -> None:
    a = vectors(n)

    def program() -> None:
        for x in a:
            x *= 2

    assert kernels_of(program) == (n, n_kernels)
    assert [float(x[3]) for x in a] == [2 * k + 2 for k in range(n)]


@alone
@pytest.mark.every
@pytest.mark.parametrize(("reads", "n_kernels"), [(False, 1), (True, 3)])
def test_what_only_the_kernel_reads_is_no_operand(reads: bool, n_kernels: int) -> None:
    n = bindings.MAX_PROGRAM_STEPS - 2  # more than operands
    a = pg.full(N, 1.0)
    held: list[Any] = []

    def program() -> None:
        total = a + a
        for _ in range(n - 1):
            if reads:
                held.append(total)
            total = total + a
        held.append(total)

    assert kernels_of(program) == (n, n_kernels)
    assert [float(x[3]) for x in held] == [*range(2, n + 1), n + 1][0 if reads else -1:]


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(bindings.MAX_PROGRAM_STEPS, 1), (bindings.MAX_PROGRAM_STEPS + 1, 2)])
def test_steps(n: int, n_kernels: int) -> None:
    a = pg.full(N, 7.0)

    def program() -> None:
        for _ in range(n):
            np.negative(a, out=a)

    assert kernels_of(program) == (n, n_kernels)
    assert_equal(a, np.full(N, 7.0 * (-1) ** n))


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(170, 1), (171, 2)])
def test_casts_are_steps(n: int, n_kernels: int) -> None:
    """Three of 512 for each statement: to double precision, the sum, and back."""
    a, b = pg.zeros(N, "f"), pg.full(N, 1 + 2.0**-30)

    def program() -> None:
        for _ in range(n):
            np.add(a, b, out=a, casting="same_kind")

    assert kernels_of(program) == (n, n_kernels)
    x = np.zeros(N, "f")
    for _ in range(n):
        np.add(x, np.full(N, 1 + 2.0**-30), out=x, casting="same_kind")
    assert_equal(a, x)


@alone
@pytest.mark.every
@pytest.mark.parametrize(("n", "n_kernels"), [(511, 1), (512, 2)])
def test_what_is_stored_twice_is_a_step_more(n: int, n_kernels: int) -> None:
    a, b = pg.full(N, 7.0), pg.zeros(N)

    def program() -> None:
        for _ in range(n):
            np.negative(a, out=a)
        b[...] = a

    assert kernels_of(program) == (n + 1, n_kernels)
    for x in (a, b):
        assert_equal(x, np.full(N, 7.0 * (-1) ** n))


@alone
@pytest.mark.every
@pytest.mark.parametrize("n", [bindings.MAX_PROGRAM_REDUCTIONS, bindings.MAX_PROGRAM_REDUCTIONS + 1])
def test_reductions_of_one_kernel(n: int) -> None:
    a = pg.arange(N, dtype="d")
    totals: list[Any] = []

    def program() -> None:
        b = a * a
        totals.extend(b.sum() for _ in range(n))

    assert kernels_of(program) == (1 + min(n, bindings.MAX_PROGRAM_REDUCTIONS), 1)
    assert {float(total) for total in totals} == {sum(float(k * k) for k in range(N))}


def test_columns() -> None:
    """Each section of an array is an operand of its own."""
    a, b = pg.ones((100, 50)), pg.ones((100, 50))
    for i in range(50):
        a[:, i] += b[:, i]
    assert_equal(a, np.full((100, 50), 2.0))


def test_as_long_as_a_kernel_takes() -> None:
    """What is formed is what is built: no group is ever too long for one kernel."""
    functions = np.maximum, np.minimum, np.not_equal, np.fmax  # which make no number larger, nor a zero of another sign
    problems = []
    for seed in range(12):
        rng = random.Random(seed)
        values = np.random.default_rng(seed)
        n_arrays = rng.choice([3, 20, 70, 150])
        models = [values.integers(-3, 4, N).astype(rng.choice("dfil")) for _ in range(n_arrays)]
        arrays = [pg.array(x) for x in models]
        totals = []
        for _ in range(rng.choice([60, 130, 250, 600])):
            i, j, k = (rng.randrange(n_arrays) for _ in range(3))
            y, v = (arrays[j], models[j]) if rng.random() < 0.7 else (rng.choice([1, 2]),) * 2
            function, kind = rng.choice(functions), rng.random()
            if kind < 0.5:
                function(arrays[k], y, out=arrays[i], casting="unsafe")
                function(models[k], v, out=models[i], casting="unsafe")
            elif kind < 0.75:
                arrays[i][...] = y
                models[i][...] = v
            elif kind < 0.85:
                totals.append((arrays[i].max(), models[i].max()))
            else:
                arrays[i], models[i] = function(arrays[k], y), function(models[k], v)
        for found, expected in (*zip(arrays, models, strict=True), *totals):
            x = found.gather()
            if x.dtype != expected.dtype or not np.array_equal(x, expected):
                problems.append(f"seed {seed}: {x}, expected {expected}")
    collectively(not problems, "\n".join(problems[:3]))


def longest(n_steps: int, n_inputs: int, n_outputs: int) -> Program:
    """Sums of all inputs, in so many steps, of which the last ones are stored."""
    n = n_inputs + n_outputs
    steps = [Step("add", "dd->d", (0 if k == 0 else n, (k + 1) % n_inputs), n) for k in range(n_steps - n_outputs)]
    steps += [Step("add", "dd->d", (n, k % n_inputs), n_inputs + k) for k in range(n_outputs)]
    return Program("d" * n, n_inputs, "d", tuple(steps))


@pytest.mark.parametrize(("n_steps", "n_inputs", "n_outputs"), [
    (bindings.MAX_PROGRAM_STEPS, bindings.MAX_PROGRAM_OPERANDS - 50, 50),
    (bindings.MAX_PROGRAM_STEPS, 1, bindings.MAX_PROGRAM_OPERANDS - 1),
])
def test_the_longest_program_is_interpreted_and_compiled(n_steps: int, n_inputs: int, n_outputs: int) -> None:
    program = longest(n_steps, n_inputs, n_outputs)
    x = np.random.default_rng(1).normal(size=(n_inputs, 200))
    call = bindings.ProgramCall(program, (200,), [(8,)] * len(program.operands))
    results = []
    for loop in (None, jit.compiled(program)):
        out = np.empty((n_outputs, 200))
        call.call([bindings.address(row) for row in (*x, *out)], loop)
        results.append(out)
    total = x[0]
    for k in range(n_steps - n_outputs):
        total = total + x[(k + 1) % n_inputs]
    expected = [total + x[k % n_inputs] for k in range(n_outputs)]
    collectively(all(np.array_equal(out, expected) for out in results))


@pytest.mark.parametrize(("program", "what"), [
    (longest(3, 255, 1), "256 operands"), (longest(513, 2, 1), "513 steps"),
    (Program("d", 1, "", ()), "without outputs"),
    (Program("d" * 34, 1, "", (), (("add", "d->d"),) * 33), "33 reductions"),
], ids=["operands", "steps", "outputs", "reductions"])
def test_longer_programs_are_refused(program: Program, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        bindings.ProgramCall(program, (4,), [(8,)] * (len(program.operands) - program.n_reduced))


@alone
@pytest.mark.every
@pytest.mark.parametrize("n", [chains.MAX_STAGES, chains.MAX_STAGES + 1])
def test_stages_of_a_chain(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MIN_BYTES", 0)
    lengths = []
    chain = kernel_nodes.ChainedCall.__init__

    def noted(self: Any, stages: Any, *rest: Any) -> None:
        lengths.append(len(stages))
        chain(self, stages, *rest)

    monkeypatch.setattr(kernel_nodes.ChainedCall, "__init__", noted)
    x = np.random.default_rng(1).normal(size=(200, 30))
    arrays = [pg.array(x) for _ in range(n + 1)]
    models = [x.copy() for _ in range(n + 1)]
    for a, b in itertools.pairwise(arrays):
        b[1:-1] = a[:-2] + a[2:]
    for a, b in itertools.pairwise(models):
        b[1:-1] = a[:-2] + a[2:]
    pg.sync()
    assert max(lengths) == chains.MAX_STAGES
    for a, b in zip(arrays, models, strict=True):
        assert_equal(a, b)


# Arrays --------------------------------------------------------------------------------------------------------------


def test_limits_are_those_of_c_and_of_numpy() -> None:
    assert layout.MAX_NDIM == bindings.MAX_NDIM
    np.empty((1,) * layout.MAX_NDIM)
    with pytest.raises(ValueError, match="maximum supported dimension"):
        np.empty((1,) * (layout.MAX_NDIM + 1))


@pytest.mark.parametrize("shape", [(2,) * 8 + (1,) * 56, (1,) * 56 + (2,) * 8, (1, 1, 1, 1, 1, 1, 1, 2) * 8], ids=str)
def test_as_many_dimensions_as_numpy(shape: tuple[int, ...]) -> None:
    x = np.arange(256.0).reshape(shape)
    a = pg.array(x)
    assert_equal(a.T * 2 + a[::-1], x.T * 2 + x[::-1])
    assert_equal(a.sum(axis=63), x.sum(axis=63))
    assert_equal((a + 1).sum(axis=(0, 1)), (x + 1).sum(axis=(0, 1)))
    collectively(float((a * a).sum()) == (x * x).sum())
    assert_equal(a.reshape(16, 16), x.reshape(16, 16))
    assert_equal(a.reshape(256)[(None,) * 63], x.reshape(256)[(None,) * 63])
    b = pg.zeros(shape, layout=Distribution(*["*"] * 64))
    b[...] = a
    b[:, ..., :1] += a[::-1][..., :1]
    y = x.copy()
    y[:, ..., :1] += x[::-1][..., :1]
    assert_equal(b, y)
    assert_equal(pg.random.default_rng(1).random(shape).reshape(256), pg.random.default_rng(1).random(256).gather())


@pytest.mark.parametrize("call", [
    lambda: pg.ones((1,) * 65), lambda: pg.ones(2)[(None,) * 64], lambda: pg.ones((1,) * 64)[None],
    lambda: pg.broadcast_to(pg.ones(1), (1,) * 65), lambda: pg.ones(1).reshape((1,) * 65),
    lambda: pg.stack([pg.ones((1,) * 64)] * 2), lambda: pg.array(3.0)[(None,) * 65], lambda: pg.expand_dims(
        pg.ones((1,) * 64), 0), lambda: np.add.outer(pg.ones((1,) * 40), pg.ones((1,) * 40)),
])
def test_more_dimensions_are_an_error_everywhere(call: Callable[[], object]) -> None:
    raises_everywhere((ValueError, IndexError), "64", call)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [
    lambda: bindings.ElementwiseCall(0, (1,) * 65, [(8,) * 65] * 3),
    lambda: bindings.ReduceCall(0, (1,) * 60, (8,) * 60, (8,) * 60, (1,) * 5, (8,) * 5),
    lambda: bindings.ProgramCall(longest(2, 2, 1), (1,) * 65, [(8,) * 65] * 3),
    lambda: bindings.SectionCopy(8, [np.zeros((1, 5))] * 65, (8,) * 65, bindings.OWN, (8,) * 65, bindings.OWN),
])
def test_c_is_never_given_more_dimensions(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="65 dimensions are more than the 64"):
        make()


def test_elements_are_counted_by_64_bits() -> None:
    for shape in ((2**63 - 1,), (2**31, 2**31), (2**62, 0, 2**62)):
        collectively(pg.empty(shape, "b").shape == shape)
    for call in (lambda: pg.empty(2**63), lambda: pg.ones((2**32, 2**31)), lambda: pg.arange(2**63),
                 lambda: pg.broadcast_to(pg.empty(1), (2**32, 2**31)),
                 lambda: pg.empty((2**32, 1)) + pg.empty(2**31),
                 lambda: pg.empty((0, 2**32, 2**31), "b").sum(axis=0)):
        raises_everywhere(ValueError, r"2\*\*63 - 1 elements", call)


@pytest.mark.parametrize("n_procs", [2, 1000, 10**6])
def test_parts_of_the_longest_dimensions(n_procs: int) -> None:
    """Products of indices and processes that take more than 64 bits."""
    for extent in (dims.MAX_PRODUCT // n_procs, dims.MAX_PRODUCT // n_procs + 1, 2**62 + 1, 2**63 - 1):
        dim = dims.BlockDim(extent, n_procs, 0, extent)
        part = np.array([0, 1, n_procs // 2, n_procs - 1])
        edges = [k * extent // n_procs for k in part.tolist()]
        assert dim.part_edge(part).tolist() == edges
        assert dim.part_from_index(np.array(edges)).tolist() == part.tolist()
        assert dim.part_from_index(np.array(edges[1:]) - 1).tolist() == (part[1:] - 1).tolist()
        view, middle = whole(layout.Layout((n_procs,), (dim,))), extent // 2 + 1
        assert [view.index(i).fixed_coords for i in edges] == [(k,) for k in part.tolist()]
        assert [view.index(i - 1).fixed_coords for i in edges[1:]] == [(k - 1,) for k in part[1:].tolist()]
        owners = 0, dim.part_from_index(middle)
        for rank in (*owners, n_procs - 1):
            own = local_part(view.index(slice(None, None, middle)), rank)
            assert own is not None
            assert own.shape == (owners.count(rank),)


def test_shapes_are_joined_as_numpy_does() -> None:
    rng = random.Random(1)
    for _ in range(300):
        shapes = [tuple(rng.choices([1, 1, 2, 3, 0], k=rng.randint(0, 4))) for _ in range(rng.randint(0, 3))]
        try:
            expected = np.broadcast_shapes(*shapes)
        except ValueError:
            with pytest.raises(ValueError, match="do not broadcast"):
                joint_shape(*shapes)
        else:
            assert joint_shape(*shapes) == expected
    assert joint_shape((1,) * 63 + (3,), (2,) + (1,) * 63) == (2,) + (1,) * 62 + (3,)


# Messages and pieces -------------------------------------------------------------------------------------------------


def test_messages_are_cut_at_the_limit() -> None:
    assert trees.packets_of(100, 2, 100) == [(0, 100)]
    assert trees.packets_of(101, 2, 100) == [(0, 100), (100, 101)]
    assert trees.packets_of(trees.PACKET_BYTES, 3, 1 << 30) == [(0, trees.PACKET_BYTES)]
    assert len(trees.packets_of(trees.PACKET_BYTES + 1, 3, 1 << 30)) == 2
    long = trees.MAX_PACKETS * trees.PACKET_BYTES
    for nbytes in (long, long + 1):
        assert len(trees.packets_of(nbytes, 3, 1 << 30)) == trees.MAX_PACKETS


@pytest.mark.parametrize(("n", "is_assembled"), [(8, False), (9, True)])
def test_pieces_of_one_operand(n: int, is_assembled: bool) -> None:
    """Up to eight pieces of few elements."""
    out = whole(Distribution("block").bind((4 * n,), 2))
    source = whole(Distribution("cyclic(2)").bind((4 * n,), 2))
    (plan,) = plan_operands(out, (source,), (False,), 0)
    assert (len(plan.cuts[0].start), plan.temporary is not None) == ((1, True) if is_assembled else (n, False))


def test_pieces_of_all_operands_together() -> None:
    """Each may cut another dimension into many pieces: their product is bounded."""
    shape = (64, 64, 64)
    out = whole(Distribution("block", "block", "block", grid=(2, 2, 2)).bind(shape, 8))
    views = tuple(whole(Distribution(*["*"] * d, "cyclic(2)", *["*"] * (2 - d), grid=(8,)).bind(shape, 8))
                  for d in range(3))
    plans = plan_operands(out, views, (False,) * 3, 0)
    found = plan_boxes((out,), views, plans, (), 0)
    alone = [plan_operands(out, (view,), (False,), 0)[0] for view in views]
    assert n_pieces(joint_cuts(3, alone)) > max_pieces(out, 0) >= len(found)
    assert any(source.where == TEMPORARY for source in found[0].sources)
    assert any(operand.temporary is None for operand in plans)


def test_pieces_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations whose operands cut at different places share no kernel if the pieces were too many."""
    n = 240
    x = np.arange(float(n))
    sources = [pg.array(x, layout=Distribution(f"cyclic({b})")) for b in (15, 20, 24, 30, 40)]
    expected = [x * (k + 2) for k in range(5)]
    for limit in (pieces.TOGETHER, 1, 0.2):
        monkeypatch.setattr(pieces, "TOGETHER", limit)
        pieces.plan_operands.cache_clear()
        pg.sync()
        recording.forget()
        out = pg.zeros(n)
        results = [out + source * (k + 2) for k, source in enumerate(sources)]
        for result, y in zip(results, expected, strict=True):
            assert_equal(result, y)
    monkeypatch.undo()
    pieces.plan_operands.cache_clear()


@alone
@pytest.mark.every
@pytest.mark.parametrize(("length", "is_used"), [(255, True), (256, False)])
def test_names_of_the_cache(length: int, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's name may be as long as the file system has it; a longer one is an error that a notice tells of."""
    monkeypatch.setenv("PGASPY_CACHE", str(tmp_path / ("x" * length)))
    program = longest(3, 2, 1)
    found = jit.RunTimeCompiler()
    if is_used:
        assert found.compiled(program) is not None
        assert [*(tmp_path / ("x" * length)).glob("*.so")]
    else:
        with pytest.warns(jit.CompilationNotice, match="File name too long"):
            assert found.compiled(program) is not None


def test_kernels_run_where_stacks_are_short() -> None:
    x = np.random.default_rng(4).normal(size=(400, 300))
    found: list[bool] = []

    def compute() -> None:
        a = pg.array(x)
        found.append(np.array_equal((np.sqrt(abs(a * 2 + 1)) - a).gather(), np.sqrt(abs(x * 2 + 1)) - x))
        found.append(np.array_equal(a.T.copy().gather(), x.T))
        found.append(np.array_equal(a.max(axis=0).gather(), x.max(axis=0)))
        found.append(np.allclose(np.cumsum(a, axis=1).gather(), np.cumsum(x, axis=1)))

    size = threading.stack_size(192 * 1024)
    try:
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    collectively(found == [True] * 4)


def test_many_operands_in_many_dimensions() -> None:
    shape = (3, 2, 2, 2, 2, 2, 2, 2, 2, 3)
    x = np.random.default_rng(5).integers(0, 9, (300, *shape))
    arrays = [pg.array(part) for part in x]
    totals = [arrays[0]]
    for part in arrays[1:]:
        totals.append(totals[-1] + part)
    for total, expected in zip(totals, np.cumsum(x, axis=0), strict=True):
        assert_equal(total, expected)
