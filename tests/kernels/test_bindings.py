"""The C kernels against NumPy, without MPI."""

from __future__ import annotations

import itertools
import math
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import cffi
import numpy as np
import pytest

from pgaspy.kernels import bindings as k
from pgaspy.kernels import jit
from pgaspy.kernels.program import Program, Step

RNG = np.random.default_rng(7)
SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 100, 1000]
ROWS = sorted(k.ELEMENTWISE)
REDUCTIONS = sorted(k.REDUCTIONS)
CHARS = "?bBhilfdFD"
# Bit for bit with NumPy; the others are within 4 ULP.
MATHS = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "arctan2", "hypot",
    "logaddexp", "logaddexp2",
}  # fmt: skip
# Complex products are fused where the CPU allows: bit for bit only if NumPy's build agrees on that.
COMPLEX_MATHS = MATHS | {"absolute", "multiply", "square"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 5e-324,
           1e-20, 1e-8, 1e5, 1e10, 1e22, 1e300, -1e300, 709.0, 710.0, -745.0, -746.0, 88.0, 89.0,
           -104.0, 1e-40, np.pi, np.pi / 2, 20.0, -20.0, 1 - 1e-9, 1 + 1e-9, 1.7e308, 127.5, 1024.0]  # fmt: skip


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = k.get_threads()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    k.set_threads(before)


def values(char: str, n: int, name: str = "") -> np.ndarray:
    """Random values of a type in the range in which the operation is interesting."""
    if char == "?":
        return RNG.integers(0, 2, n).astype(bool)
    if char in "bBhil":
        low = 0 if char == "B" else -70 if "shift" in name else -300
        x = RNG.integers(low, 255, n)
        x[RNG.random(n) < 0.1] = 0
        info = np.iinfo(char)
        x = x.astype(char)
        x[RNG.random(n) < 0.05] = info.min
        x[RNG.random(n) < 0.05] = info.max
        return x
    if char in "FD":
        real = char.lower()
        return (values(real, n, name) + 1j * values(real, n, name)).astype(char)
    x = RNG.normal(size=n) * RNG.choice([0.01, 1, 10], n)
    if name in ("arcsin", "arccos", "arctanh"):
        x = np.tanh(x)
    elif name.startswith("log") or name == "arccosh":
        x = np.abs(x) + (name == "arccosh")
    elif name == "remainder" or name == "floor_divide":
        x = np.round(x * 4) / 4
    return x.astype(char)


def run(name: str, types: str, operands: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    row = k.lookup(name, types)
    assert row is not None
    operands = [np.broadcast_to(x, out.shape) for x in operands] + [out]
    call = k.ElementwiseCall(row, out.shape, [x.strides for x in operands])
    call.call(*map(k.address, operands))
    return out


def numpy_says(name: str, types: str, operands: list[np.ndarray]) -> np.ndarray:
    out = types[-1]
    if name == "copy":
        return operands[0].astype(out)
    if name in MATHS and types[0] == "f":  # of which NumPy's own last place is not exact
        operands = [x.astype("d") for x in operands]
    return np.asarray(getattr(np, name)(*operands)).astype(out)


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance in units of the last place of b; NaNs and infinities must agree."""
    if a.dtype.kind == "c":
        return np.maximum(ulps(a.real, b.real), ulps(a.imag, b.imag))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    tiny = np.finfo(a.dtype).tiny
    return np.where(same, 0, np.abs(a - b) / np.spacing(np.maximum(np.abs(b), tiny)))


def check(name: str, types: str, got: np.ndarray, expected: np.ndarray) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind in "fc":
        if types[0] in "FD" and name in COMPLEX_MATHS:
            scale = np.abs(expected)
            near = np.abs(got - expected) <= 8 * np.finfo(got.dtype).eps * scale
            good = near | (got == expected) | ~np.isfinite(expected)
            assert good.all(), (got[~good], expected[~good])
        elif name in MATHS:
            distance = ulps(got, expected)
            assert not (distance > 4).any(), (got[distance > 4], expected[distance > 4])
        else:
            np.testing.assert_array_equal(got, expected)
            finite = ~np.isnan(expected)
            if got.dtype.kind == "f":
                assert (np.signbit(got) == np.signbit(expected))[finite].all()
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("name", "types"), ROWS)
def test_row(name: str, types: str) -> None:
    inputs, out = types.split("->")
    n = 1100
    source = [values(c, 2 * n, name) for c in inputs]
    if name == "copy" and inputs in "fdFD" and out in "bBhil":
        source = [(np.trunc(np.abs(source[0].real)) % 100).astype(inputs)]
    expected = numpy_says(name, types, source)
    for threads in 1, 2:
        k.set_threads(threads)
        check(name, types, run(name, types, source, np.empty(2 * n, out)), expected)

    for size in SIZES:
        views = {
            "contiguous": [x[:size] for x in source],
            "strided": [x[: 2 * size : 2] for x in source],
            "reversed": [x[:size][::-1] for x in source],
            "scalar first": [source[0][:1], *[x[:size] for x in source[1:]]],
            "scalar last": [*[x[:size] for x in source[:-1]], source[-1][:1]],
        }
        for kind, operands in views.items():
            expected = numpy_says(name, types, operands)
            expected = np.broadcast_to(expected, size)
            check(name, types, run(name, types, operands, np.empty(size, out)), expected)
            if kind == "strided":
                strided = np.empty(3 * size, out)[1::3]
                check(name, types, run(name, types, operands, strided), expected)

    square = [x[: 40 * 50].reshape(40, 50) for x in source]
    for operands in (
        [x.T for x in square],
        [square[0].T, *[x.reshape(50, 40) for x in square[1:]]],
        [x[::-1, 3:40:2].T for x in square],
        [x.reshape(5, 8, 50)[:, ::3].transpose(2, 0, 1) for x in square],
        [square[0][0, 0], *[x[:, 3:4] for x in square[1:]]],
        [x[0, 0] for x in square],
    ):
        expected = numpy_says(name, types, operands)
        check(name, types, run(name, types, operands, np.empty(expected.shape, out)), expected)
    if inputs[0] == out:
        here = [x.copy() for x in source]
        expected = numpy_says(name, types, source)
        check(name, types, run(name, types, here, here[0]), expected)


@pytest.mark.parametrize(("name", "types"), [r for r in ROWS if r[1][0] in "fd"])
def test_special_values(name: str, types: str) -> None:
    inputs, out = types.split("->")
    if name == "copy" and out in "bBhil":
        pytest.skip("a cast of what does not fit is undefined")
    x = np.array(SPECIAL).astype(inputs[0])
    operands = [x] if len(inputs) == 1 else [np.repeat(x, len(x)), np.tile(x, len(x))]
    expected = numpy_says(name, types, operands)
    got = run(name, types, operands, np.empty(expected.shape, out))
    if name in ("maximum", "minimum", "fmax", "fmin"):  # which zero is up to NumPy's CPU
        got, expected = got + 0, expected + 0
    check(name, types, got, expected)
    if name in MATHS:
        zero = (got == 0) & (expected == 0)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize(
    ("name", "types"), [r for r in ROWS if r[0] in MATHS and set(r[1]) <= set("fd->")]
)
def test_maths_do_not_depend_on_position(name: str, types: str) -> None:
    n = 40000
    operands = [values(c, n, name) for c in types.split("->")[0]]
    whole = run(name, types, operands, np.empty(n, types[-1])).tobytes()
    k.set_threads(2)
    assert whole == run(name, types, operands, np.empty(n, types[-1])).tobytes()
    whole_bytes = np.frombuffer(whole, types[-1])
    for start, stop, step in (3, 20, 1), (1, 2, 1), (5, 999, 7), (100, 16, -1):
        part = [x[start:stop:step] for x in operands]
        got = run(name, types, part, np.empty(part[0].shape, types[-1]))
        assert got.tobytes() == whole_bytes[start:stop:step].tobytes()


def test_integer_semantics() -> None:
    extremes = np.array([np.iinfo("l").min, -7, -1, 0, 1, 7, np.iinfo("l").max])
    a, b = np.repeat(extremes, 7), np.tile(extremes, 7)
    for name in ("floor_divide", "remainder", "left_shift", "right_shift", "multiply", "maximum", "less"):
        out = "?" if name == "less" else "l"
        expected = numpy_says(name, f"ll->{out}", [a, b])
        check(name, f"ll->{out}", run(name, f"ll->{out}", [a, b], np.empty(49, out)), expected)


def reduce(name: str, types: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    row = k.reduce_lookup(name, types)
    assert row is not None
    kept = [d for d in range(x.ndim) if d not in axes]
    out = np.empty([x.shape[d] for d in kept], types[-1])
    call = k.ReduceCall(
        row,
        out.shape,
        [x.strides[d] for d in kept],
        out.strides,
        [x.shape[d] for d in axes],
        [x.strides[d] for d in axes],
    )
    call.call(k.address(x), k.address(out))
    return out


@pytest.mark.parametrize(("name", "types"), REDUCTIONS)
def test_reduction(name: str, types: str) -> None:
    x = values(types[0], 60000)
    if name == "multiply" and types[0] in "fdFD":
        x = np.exp(0.01 * x / np.maximum(1, np.abs(x))).astype(types[0])
    ufunc = getattr(np, name)
    cases = [(x[:n], (0,)) for n in (1, 2, 31, 32, 33, 511, 512, 513, 5000, 60000)]
    cases += [(x[::-3], (0,)), (x[:0].reshape(0, 3), (0,)), (x[:0].reshape(3, 0), (0,))]
    cube = x.reshape(20, 50, 60)
    for view in cube, cube[::2, ::-1, 3:50:7], cube.transpose(2, 0, 1), cube[:, 3:4], cube[:, :, :3]:
        cases += [
            (view, axes) for n in range(4) for axes in itertools.combinations(range(3), n)
        ]
    cases += [(x.reshape(600, 100), (0,)), (x.reshape(40, 1500), (0,)), (x.reshape(20000, 3), (0,)),
              (x.reshape(20000, 3), (1,)), (x.reshape(30, 2000).T, (1,))]  # fmt: skip
    for view, axes in cases:
        if name in ("maximum", "minimum") and any(view.shape[d] == 0 for d in axes):
            continue
        expected = ufunc.reduce(view, axis=axes, dtype=None if "log" in name else types[-1])
        results = []
        for threads in 1, 2, 5:
            k.set_threads(threads)
            results.append(reduce(name, types, view, axes))
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
        if types[-1] in "fdFD":
            rtol = (2000 if name == "multiply" else 300) * np.finfo(types[-1]).eps
            scale = ufunc.reduce(np.abs(view), axis=axes) if name == "add" else np.abs(expected)
            assert (np.abs(results[0] - expected) <= rtol * scale).all()
        else:
            np.testing.assert_array_equal(results[0], expected)


def test_a_thread_works_by_itself_that_is_told_so() -> None:
    x, row = np.ones((300, 300)) / 3, k.reduce_lookup("add", "d->d")
    assert row is not None
    call = k.ReduceCall(row, (300,), (8,), (8,), (300,), (2400,)).call
    found = [np.empty(300), np.empty(300)]
    tasks = Path("/proc/self/task")
    n_threads = []

    def reduce() -> None:
        for n, run in enumerate((lambda *given: k.by_itself(call, *given), call)):
            run(k.address(x), k.address(found[n]))
            n_threads.append(len([*tasks.iterdir()]))

    k.set_threads(3)
    thread = threading.Thread(target=reduce)  # which has a team of its own
    before = len([*tasks.iterdir()])
    thread.start()
    thread.join()
    assert n_threads == [before + 1, before + 3]
    assert found[0].tobytes() == found[1].tobytes()


SCANNED = [((n,), 0) for n in (0, 1, 2, 63, 64, 65, 253, 4159, 4160, 4161, 4223, 5000, 60000)] + [
    ((3, 20000), 1), ((20000, 3), 0), ((20000, 3), 1), ((6000, 10), 0), ((100, 600), 0), ((100, 600), 1),
    ((20, 50, 60), 0), ((20, 50, 60), 1), ((2, 3, 10000), 2), ((0, 3), 0), ((3, 0), 0)]


@pytest.mark.parametrize("begins", [False, True], ids=["from nothing", "from before"])
@pytest.mark.parametrize(("name", "types"), REDUCTIONS)
def test_scan(name: str, types: str, begins: bool) -> None:
    """The same bits for any number of threads, and NumPy's values."""
    x, row, ufunc = values(types[0], 60000), k.reduce_lookup(name, types), getattr(np, name)
    assert row is not None
    if name == "multiply" and types[0] in "fdFD":
        x = np.exp(0.01 * x / np.maximum(1, np.abs(x))).astype(types[0])
    for shape, axis in SCANNED:
        whole = np.moveaxis(x[:math.prod(shape)].reshape(shape), axis, 0)
        for view in whole, whole[::-1], whole[..., ::2] if whole.ndim > 1 else whole[::3]:
            before = view[:1].astype(types[-1]) if begins and len(view) else np.empty((0, *view.shape[1:]), types[-1])
            results = []
            for threads in 1, 2, 5:
                k.set_threads(threads)
                out = np.moveaxis(np.empty(np.moveaxis(view, 0, axis).shape, types[-1]), axis, 0)
                k.scan(row, view, before[0, ...] if len(before) else None, out)
                results.append(out)
            assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
            exact = {"f": "d", "d": "g", "F": "D", "D": "G"}.get(types[-1], types[-1])
            expected = ufunc.accumulate(np.concatenate([before, view.astype(types[-1])]).astype(exact))[len(before):]
            if types[-1] in "fdFD" and name in ("add", "multiply"):
                scale = np.add.accumulate(np.abs(np.concatenate([before, view])))[len(before):] if name == "add" else (
                    np.abs(expected))
                assert (np.abs(results[0] - expected) <= 1000 * np.finfo(types[-1]).eps * scale).all()
            else:
                np.testing.assert_array_equal(results[0], expected.astype(types[-1]))


def test_a_scan_does_not_fall_where_one_element_after_the_other_would_not() -> None:
    x, out = np.abs(RNG.normal(size=50_000)), np.empty(50_000)
    k.scan(k.REDUCTIONS["add", "d->d"], x, None, out)
    assert (np.diff(out) >= 0).all()


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
def test_take_along(dtype: str) -> None:
    x = RNG.integers(0, 100, (6, 40, 31)).astype(dtype)
    for source in (x, x[:, ::-1, ::2], x.T, x[:, :, 3:4]):
        for axis, n in enumerate(source.shape):
            for shape in ((0,), (5,), (3, 70), ()):
                indices = RNG.integers(0, n, shape)
                expected = np.take(source, indices, axis)
                out = np.empty(expected.shape, dtype)
                k.take_along(source, indices, axis, out)
                np.testing.assert_array_equal(out, expected)
    with pytest.raises(TypeError, match="12 bytes"):
        k.take_along(np.zeros((2, 2), "S12"), np.zeros(1, int), 1, np.empty((2, 1), "S12"))


def test_maximum_propagates_nan() -> None:
    x = RNG.normal(size=5000)
    for at in 0, 40, 4999:
        y = x.copy()
        y[at] = np.nan
        assert np.isnan(reduce("maximum", "d->d", y, (0,)))
        assert np.isnan(reduce("minimum", "d->d", y.reshape(50, 100), (0,))).sum() == 1


def test_sums_are_pairwise() -> None:
    x = (1 + RNG.random(2_000_000)).astype("f")
    exact = x.sum(dtype="d")
    for view, axes in (x, (0,)), (x.reshape(1000, 2000).T, (0, 1)):
        ours = abs(float(reduce("add", "f->f", view, axes)) - exact)
        assert ours <= max(abs(float(x.sum()) - exact), 2 * np.spacing(np.float32(exact)))
    column = np.ascontiguousarray(np.broadcast_to(x[:, None], (len(x), 16)))
    across = reduce("add", "f->f", column, (0,))
    assert (np.abs(across - exact) <= 2 * np.spacing(np.float32(exact))).all()


@pytest.mark.parametrize(("types", "value"), [
    ("?->l", True), *((f"{c}->l", x) for c in "bhi" for x in (np.iinfo(c).min, np.iinfo(c).max))])  # fmt: skip
def test_sums_of_extremes(types: str, value: int) -> None:
    c = types[0]
    program = Program(2 * c, 1, "", (Step("copy", f"{c}->{c}", (0,), 1),), (("add", types),))
    for n in 31, 512, 5000:
        x = np.full(n, value, c)
        assert reduce("add", types, x, (0,)) == n * int(value)
        for loop in None, jit.compiled(program, frozenset()):
            (result,) = reduce_program(program, [x], range(1), [(slice(0, n),)], None, loop)
            assert result == n * int(value)


def test_any_byte_but_zero_is_true() -> None:
    x = np.array([0, 1, 2, 255] * 150, np.uint8).view(bool)
    assert reduce("add", "?->l", x, (0,)) == 450
    assert (reduce("add", "?->l", x.reshape(150, 4), (0,)) == [0, 150, 150, 150]).all()
    for name, types, expected in ("logical_not", "?->?", 150), ("copy", "?->b", 450), ("copy", "?->d", 450):
        row, out = k.lookup(name, types), np.empty(600, types[-1])
        assert row is not None
        k.ElementwiseCall(row, (600,), [(1,), out.strides]).call(k.address(x), k.address(out))
        assert out.sum() == expected


def test_sum_of_negative_zeros() -> None:
    assert np.signbit(reduce("add", "d->d", np.array([-0.0, -0.0]), (0,)))
    assert not np.signbit(reduce("add", "d->d", np.array([]), (0,)))


def operands_in_memory(program: Program) -> int:
    return len(program.operands) - program.n_reduced


def one_by_one(program: Program, operands: list[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    """All outputs of a program, by the kernels one after the other; outputs that are inputs change."""
    results = [np.empty(shape, char) for char in program.operands[len(operands):]]
    registers = [np.empty(shape, c) for c in program.registers]
    everything = [*operands, *results, *registers]
    for step in program.steps:
        run(step.name, step.types, [everything[v] for v in step.inputs], everything[step.output])
    return everything[program.n_inputs : len(program.operands)]


def run_program(program: Program, operands: list[np.ndarray], parts: tuple[int, ...] = ()) -> None:
    shape = operands[-1].shape
    views = [np.broadcast_to(x, shape) for x in operands[: program.n_inputs]] + operands[program.n_inputs :]
    call = k.ProgramCall(program, shape, [x.strides for x in views])
    addresses = [k.address(x) for x in views]
    if not parts:
        call.call(addresses)
    cuts = [0, *(c for c in parts if c < call.n_rows), call.n_rows]
    for start, stop in itertools.pairwise(cuts) if parts else ():
        call.call_part(addresses, start, stop)


HEAT = Program(
    "dddddd", 5, "dd",
    (
        Step("add", "dd->d", (0, 1), 6), Step("add", "dd->d", (6, 2), 6), Step("add", "dd->d", (6, 3), 6),
        Step("add", "dd->d", (6, 4), 7), Step("square", "d->d", (7,), 5),
    ),
)  # fmt: skip
# where(x < y, x, 0.5) as float, the comparison, and the integers of it: three outputs.
CHOICE = Program(
    "dddf?l", 3, "?d",
    (
        Step("less", "dd->?", (0, 1), 6), Step("where", "?dd->d", (6, 0, 2), 7), Step("copy", "d->f", (7,), 3),
        Step("logical_not", "?->?", (6,), 4), Step("copy", "?->l", (4,), 5),
    ),
)  # fmt: skip
SCALED = Program(
    "ddd", 2, "d",
    (Step("sin", "d->d", (0,), 3), Step("multiply", "dd->d", (3, 1), 3), Step("exp", "d->d", (3,), 2)),
)  # fmt: skip
SUM = Program("ddd", 2, "", (Step("add", "dd->d", (0, 1), 2),))
DIFFERENCE = Program("ddd", 2, "", (Step("subtract", "dd->d", (1, 0), 2),))
TWICE = Program("dd", 1, "", (Step("add", "dd->d", (0, 0), 1),))
PROGRAMS = {"heat": HEAT, "choice": CHOICE, "scaled": SCALED, "sum": SUM, "difference": DIFFERENCE, "twice": TWICE}


def geometries() -> list[tuple[np.ndarray, ...]]:
    """Views of all kinds: the inputs (as many as are asked for) and how the outputs lie."""
    x = RNG.normal(size=(5, 40, 300))
    flat = x.reshape(-1)
    square = x.reshape(200, 300)
    return [
        (flat[:n], flat[n : 2 * n][::-1], flat[5 : 5 + n]) for n in (0, 1, 15, 16, 17, 511, 512, 513, 1100, 30000)
    ] + [
        (x[0, 0, :1].reshape(()), x[1, 0, 0:1].reshape(()), x[2, 2, 2:3].reshape(())),
        (square, square[:, :1], square[3]),
        (square[:, 1:-1], square[:, 2:], square[:, :-2]),
        (square[::-1, ::2], square[:, 150:], np.float64(3.0)),
        (square[:200, :200], square[:200, :200].T, square[:200, 100:]),
        (square[:200, :200].T, square[:200, :200].T, square[:200, 100:].T),
        (x.transpose(2, 0, 1), x[:, :, ::-1].transpose(2, 0, 1), x[0, 3, 0]),
        (x[:, :, :3], x[:, :, 5:8], x[:, :1, 9:12]),
        (x[:, :0], x[:, :0], x[0, 0, 0]),
    ]  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    n_outputs = program.n_outputs
    for inputs, order, threads in itertools.product(geometries(), "CF", (1, 2)):
        k.set_threads(threads)
        operands = [np.asarray(inputs[v % 3]) for v in range(program.n_inputs)]
        shape = np.broadcast_shapes(*(x.shape for x in operands))
        expected = one_by_one(program, operands, shape)
        for parts in (), (1,), (3, 4, 17):
            outputs = [np.empty(shape, c, order=order) for c in program.operands[-n_outputs:]]
            run_program(program, operands + outputs, parts)
            for x, y in zip(outputs, expected, strict=True):
                assert x.tobytes() == y.tobytes()
        strided = [np.zeros((*shape, 3), c)[..., 1] for c in program.operands[-n_outputs:]]
        run_program(program, operands + strided)
        for x, y in zip(strided, expected, strict=True):
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("name", ["heat", "scaled", "sum", "twice"])
def test_program_in_place(name: str) -> None:
    program = PROGRAMS[name]
    for n in 1, 100, 40000:
        for here in range(program.n_inputs):
            inputs = [RNG.normal(size=n) for _ in range(program.n_inputs)]
            (expected,) = one_by_one(program, [x.copy() for x in inputs], (n,))
            run_program(program, [*inputs, inputs[here]])
            assert inputs[here].tobytes() == expected.tobytes()


def random_program(n_steps: int) -> Program:
    """A program of random kernels, with as many registers as it needs and some that are used again."""
    defined = [r for r in ROWS if not (r[0] == "copy" and r[1][0] in "fdFD" and r[1][-1] in "bBhil")]
    operands, registers, steps = "?ilfdD", "", []
    kinds: list[str] = []
    for _ in range(n_steps):
        have = set(operands) | set(kinds)
        name, types = defined[RNG.integers(len(defined))]
        while not set(types.split("->")[0]) <= have:
            name, types = defined[RNG.integers(len(defined))]
        kinds.append(types[-1])
        steps.append((name, types))
    outputs = "".join(kinds[-3:])
    values = list(enumerate(operands))
    n_operands = len(operands) + len(outputs)
    encoded = []
    for i, (name, types) in enumerate(steps):
        usable = [[v for v, c in values if c == t] for t in types.split("->")[0]]
        inputs = tuple(int(RNG.choice(u)) for u in usable)
        at = n_steps - 3
        if i >= at:
            output = len(operands) + i - at
        else:
            again = [v for v, c in values if v >= n_operands and c == types[-1]]
            output = int(RNG.choice(again)) if again and RNG.random() < 0.3 else n_operands + len(registers)
            if output == n_operands + len(registers):
                registers += types[-1]
        values.append((output, types[-1]))
        encoded.append(Step(name, types, inputs, output))
    return Program(operands + outputs, len(operands), registers, tuple(encoded))


@pytest.mark.parametrize("n_steps", [3, 4, 8, 20, 32])
def test_random_programs(n_steps: int) -> None:
    for n in 1, 20, 700, 3000, 3000:
        program = random_program(n_steps)
        inputs = [values(c, n) for c in program.operands[: program.n_inputs]]
        inputs[int(RNG.integers(len(inputs)))] = values("d", 1).astype(program.operands[0])[:1]
        inputs = [x.astype(c) for x, c in zip(inputs, program.operands, strict=False)]
        expected = one_by_one(program, inputs, (n,))
        outputs = [np.empty(n, c) for c in program.operands[program.n_inputs :]]
        run_program(program, inputs + outputs)
        for x, y in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(x, y)


def test_program_runs_a_given_loop() -> None:
    ffi = cffi.FFI()
    calls = []

    @ffi.callback("void(int64_t, char **, int64_t *)")
    def loop(n: int, p: object, s: object) -> None:
        calls.append((n, [s[i] for i in range(4)]))
        out = np.frombuffer(ffi.buffer(p[3], 8 * n), "d")
        out[:] = 7

    x, out = RNG.normal(size=200), np.zeros((4, 200))
    call = k.ProgramCall(SUM, out.shape, [(0, 8), (0, 0), out.strides])
    k.set_threads(1)
    call.call([k.address(x), k.address(x), k.address(out)], int(ffi.cast("int64_t", loop)))
    assert calls == [(200, [0, 8, 0, 8])] * 4
    assert (out == 7).all()

    # Short rows are joined, as many as a block takes.
    calls.clear()
    x, out = RNG.normal(size=8), np.zeros((512, 8))
    call = k.ProgramCall(SUM, out.shape, [(0, 8), (0, 0), out.strides])
    call.call([k.address(x), k.address(x), k.address(out)], int(ffi.cast("int64_t", loop)))
    assert calls == [(1024, [0, 8, 0, 8])] * 4
    assert (out == 7).all()

    # Reduced outputs come last, in a buffer: here the loop's p[3] in place of an output in memory.
    x, out = RNG.normal(size=100), np.zeros((4, 100))
    reduced = Program("ddd", 2, "", SUM.steps, (("add", "d->d"),))
    leaves, result = np.zeros(1), np.zeros(())
    tree = k.Leaves(out.shape, 0, 2)
    summed = k.ProgramReduceCall(reduced, out.shape, [(0, 8), (0, 0)], tree, (0, 0))
    address = int(ffi.cast("int64_t", loop))
    summed.call_part([k.address(x), k.address(x), k.address(leaves), 0, 0], 0, summed.n_units, address)
    k.FinishCall("add", "d->d", tree, []).call(k.address(leaves), [], k.address(result))
    assert result == 7 * out.size


SHORT_ROWS = {"heat": HEAT, "choice": CHOICE, **{f"random {n}": random_program(n) for n in (3, 4, 8, 20)}}


@pytest.mark.parametrize("extent", [2, 3, 5, 7, 8, 12, 31, 64, 127, 128])
@pytest.mark.parametrize("name", SHORT_ROWS)
def test_short_rows(name: str, extent: int) -> None:
    """To the bit those of whole arrays, whatever is broadcast, cut out or turned; interpreted and compiled."""
    program, whole = SHORT_ROWS[name], (19, 6, extent)

    def short(char: str) -> np.ndarray:
        kept = [n if RNG.random() < 0.5 else 1 for n in whole]
        steps = [int(RNG.choice([1, 1, 1, 2, -1])) for _ in kept]
        order = [*RNG.permutation(3)] if RNG.random() < 0.2 else [0, 1, 2]
        held = [kept[d] * abs(steps[d]) + int(RNG.integers(2)) for d in order]
        x = values(char, int(np.prod(held))).reshape(held).transpose(np.argsort(order))
        return x[tuple(slice(None, None, step) for step in steps)][tuple(map(slice, kept))]

    for _ in range(4):
        inputs = [short(c) for c in program.operands[: program.n_inputs]]
        full = [np.array(np.broadcast_to(x, whole), order="C") for x in inputs]
        expected = one_by_one(program, full, whole)
        views = [np.broadcast_to(x, whole) for x in inputs]
        scalars = frozenset(n for n, x in enumerate(views) if not any(x.strides))
        for loop in None, jit.compiled(program, scalars) if name in ("heat", "choice") else None:
            outputs = [np.empty(whole, c) for c in program.operands[program.n_inputs :]]
            everything = [*views, *outputs]
            call = k.ProgramCall(program, whole, [x.strides for x in everything])
            addresses = [k.address(x) for x in everything]
            call.call_part(addresses, 0, 5, loop)
            call.call_part(addresses, 5, call.n_rows, loop)
            for x, y in zip(outputs, expected, strict=True):
                np.testing.assert_array_equal(x, y)


def test_program_limits() -> None:
    step = Step("negative", "d->d", (0,), 2)
    many = Program("dd", 1, "d", (step,) * (k.MAX_PROGRAM_STEPS + 1))
    with pytest.raises(ValueError, match=rf"{k.MAX_PROGRAM_STEPS + 1} steps.*split"):
        k.ProgramCall(many, [3], [[8], [8]])
    with pytest.raises(ValueError, match="strides of 1 operands"):
        k.ProgramCall(TWICE, [3], [[8]])
    with pytest.raises(TypeError, match="no kernel add dl->d"):
        k.ProgramCall(Program("dld", 2, "", (Step("add", "dl->d", (0, 1), 2),)), [3], [[8]] * 3)
    # The sum of all inputs, some of them twice, with a register for each step but the last.
    n, m = k.MAX_PROGRAM_STEPS, k.MAX_PROGRAM_OPERANDS - 1
    sums = [Step("add", "dd->d", (i % m, m + i), m + 1 + i if i < n - 1 else m) for i in range(1, n)]
    steps = (Step("copy", "d->d", (0,), m + 1), *sums)
    most = Program("d" * (m + 1), m, "d" * n, steps)
    x = RNG.normal(size=(m + 1, 2000))
    expected = one_by_one(most, list(x[:m]), (2000,))
    run_program(most, list(x))
    assert x[m].tobytes() == expected[0].tobytes()


# work = (x + y + y) stored; its absolute value summed, its maximum, whether all differ from y.
RESIDUAL = Program(
    "ddddd?", 2, "d",
    (
        Step("add", "dd->d", (0, 1), 6), Step("add", "dd->d", (6, 1), 2), Step("absolute", "d->d", (2,), 3),
        Step("copy", "d->d", (2,), 4), Step("not_equal", "dd->?", (2, 1), 5),
    ),
    (("add", "d->d"), ("maximum", "d->d"), ("logical_and", "?->?")),
)  # fmt: skip
PLAIN = Program("dd", 1, "", (Step("absolute", "d->d", (0,), 1),), (("add", "d->d"),))
COUNT = Program("i?", 1, "", (Step("copy", "i->?", (0,), 1),), (("add", "?->l"),))
NARROW = Program("b?b", 1, "", (Step("logical_not", "b->?", (0,), 1), Step("copy", "b->b", (0,), 2)),
                 (("add", "?->l"), ("add", "b->l")))  # fmt: skip
ENDINGS = {"residual": RESIDUAL, "plain": PLAIN, "count": COUNT, "narrow": NARROW}


Box = tuple[slice, ...]


def boxes(shape: tuple[int, ...], cuts: dict[int, list[int]]) -> list[Box]:
    """The boxes between cuts of some dimensions of an array, in any order."""
    edges = [[0, *sorted({c for c in cuts.get(d, ()) if 0 < c < n}), n] for d, n in enumerate(shape)]
    found = list(itertools.product(*([slice(*pair) for pair in itertools.pairwise(e)] for e in edges)))
    RNG.shuffle(found)
    return [tuple(box) for box in found]


def reduce_program(
    program: Program,
    operands: list[np.ndarray],
    axes: range,
    pieces: list[Box],
    chunk: int | None = None,
    loop: int | None = None,
) -> list[np.ndarray]:
    """Reduce an array of the operands' shape, computed in pieces, and these in chunks of so many units."""
    shape = operands[-1].shape
    tree = k.Leaves(shape, axes.start, axes.stop)
    leaves = [np.zeros(tree.n_leaves * tree.n_results, types[-1]) for _, types in program.reductions]
    slots: list[dict[int | None, np.ndarray]] = [{} for _ in program.reductions]
    for box in pieces:
        views = [x[(*box, ...)] for x in operands]
        strides, start = [v.strides for v in views], [s.start for s in box]
        call = k.ProgramReduceCall(program, views[0].shape, strides, tree, start)
        for (_, types), own in zip(program.reductions, slots, strict=True):
            for leaf in call.head_leaf, call.tail_leaf:
                own.setdefault(leaf, np.zeros(tree.slot_size, types[0]))
        for begin in range(0, call.n_units, chunk or max(call.n_units, 1)):
            heads, tails = ([s[leaf] for s in slots] for leaf in (call.head_leaf, call.tail_leaf))
            addresses = [k.address(x) for x in (*views, *leaves, *heads, *tails)]
            call.call_part(addresses, begin, min(begin + chunk, call.n_units) if chunk else call.n_units, loop)
    results = []
    for (name, types), own, x in zip(program.reductions, slots, leaves, strict=True):
        out = np.empty([n for d, n in enumerate(shape) if d not in axes], types[-1])
        kept = {leaf: slot for leaf, slot in own.items() if leaf is not None}
        addresses = [k.address(slot) for slot in kept.values()]
        in_place = tree.n_leaves == 1 and out.size > 0 and bool(RNG.integers(2))
        to = x if in_place else out
        k.FinishCall(name, types, tree, list(kept)).call(k.address(x), addresses, k.address(to))
        results.append(x.reshape(out.shape) if in_place else out)
    return results


def consecutive(ndim: int) -> list[range]:
    """All dimensions that follow each other."""
    return [range(a, b) for a in range(ndim) for b in range(a + 1, ndim + 1)] or [range(0)]


def check_reductions(
    name: str, shape: tuple[int, ...], all_axes: list[range], all_cuts: list[list[int]], threads: tuple[int, ...]
) -> None:
    """A program that ends in reductions gives the bits of its outputs, stored and then reduced."""
    program = ENDINGS[name]
    n_stored = operands_in_memory(program) - program.n_inputs
    wide = (*shape[:-1], shape[-1] + 2) if shape else ()
    inputs = [values(c, math.prod(wide)).reshape(wide) for c in program.operands[: program.n_inputs]]
    inputs = [x[..., 1:-1] if shape else x for x in inputs]
    if len(shape) == 2:
        inputs[-1] = np.asfortranarray(inputs[-1])
    expected = one_by_one(program, inputs, shape)
    loops = None, jit.compiled(program, frozenset())
    for axes in all_axes:
        reduced = [
            reduce(*reduction, np.asarray(x, order="C"), tuple(axes))
            for reduction, x in zip(program.reductions, expected[n_stored:], strict=True)
        ]
        dims = k.Leaves(shape, axes.start, axes.stop).dims_to_cut
        for at, n_threads in itertools.product(all_cuts, threads):
            k.set_threads(n_threads)
            chunk = (None, 1, 7)[RNG.integers(3)]
            cuts = {d: [c * shape[d] // 100 if c > 9 else c for c in at] for d in dims}
            stored = [np.zeros(shape, c) for c in program.operands[program.n_inputs :][:n_stored]]
            operands, loop = inputs + stored, loops[int(RNG.integers(2))]
            results = reduce_program(program, operands, axes, boxes(shape, cuts), chunk, loop)
            for x, y in zip(results + stored, reduced + expected[:n_stored], strict=True):
                assert (x.shape, x.tobytes()) == (y.shape, y.tobytes()), (axes, at, chunk, n_threads)


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize(
    "shape",
    [(), (1,), (3,), (511,), (512,), (513,), (140000,), (1, 700), (7, 10), (90, 511), (7, 7000), (70, 9, 3)],
)
def test_program_reduction(name: str, shape: tuple[int, ...]) -> None:
    cuts = [[], [1], [50], [1, 2, 3, 33, 99], [1, 2, 3, 4, 5, *range(10, 100, 4)]]
    check_reductions(name, shape, [range(len(shape))], cuts, (1, 2, 3))


EXTENTS = [1, 2, 3, 15, 16, 17, 33, 511, 512, 513]


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize("n", EXTENTS)
def test_program_reduction_of_some_dimensions(name: str, n: int) -> None:
    """Every pair of extents with one of the programs, on one thread or two."""
    k = (EXTENTS.index(n) + [*ENDINGS].index(name)) % len(ENDINGS)
    for m in [*EXTENTS, 2047, 2048, 2049][k :: len(ENDINGS)]:
        check_reductions(name, (n, m), [range(1), range(1, 2)], [[], [1, 60]], (1 + (n + m) % 2,))
    for m in (8191, 8193, 20000)[k :: len(ENDINGS)]:
        check_reductions(name, (min(n, 33), m), [range(1), range(1, 2)], [[], [30]], (2,))


@pytest.mark.parametrize(
    ("name", "shape"),
    [*zip(itertools.cycle(ENDINGS), [
        (5, 17, 40), (3, 600, 2), (4, 20, 17), (1, 700, 3), (700, 1, 16), (20, 1, 1), (2, 513, 15), (9, 2, 3, 8),
        (40, 1000, 3), (30, 3, 1000), (3, 40, 20, 25)])],
)  # fmt: skip
def test_program_reduction_of_some_of_many_dimensions(name: str, shape: tuple[int, ...]) -> None:
    check_reductions(name, shape, consecutive(len(shape)), [[], [1, 60], [2, 33]], (1, 2))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 40), (40, 0), (2, 0, 30), (0, 0)])
def test_reduction_of_nothing(shape: tuple[int, ...]) -> None:
    x = np.empty(shape)
    for axes in consecutive(len(shape)):
        (result,) = reduce_program(PLAIN, [x], axes, [tuple(slice(0, n) for n in shape)])
        assert result.tobytes() == reduce("add", "d->d", x, tuple(axes)).tobytes()


@pytest.mark.parametrize(("name", "types"), REDUCTIONS)
def test_every_reduction_ends_a_program(name: str, types: str) -> None:
    c = types[0]
    program = Program(2 * c, 1, "", (Step("copy", f"{c}->{c}", (0,), 1),), ((name, types),))
    for shape in (1,), (31,), (512,), (5000,), (60 * 1000 + 7,), (40, 70), (40, 3), (600, 5), (3, 5, 600):
        x = values(c, math.prod(shape)).reshape(shape)
        if c in "fdFD":  # products that stay finite: the sign of a NaN is anybody's
            x = np.exp(0.01 * x / np.maximum(1, np.abs(x))).astype(c)
        for axes in consecutive(len(shape)):
            dims = k.Leaves(shape, axes.start, axes.stop).dims_to_cut
            pieces = boxes(shape, {d: [shape[d] // 3] for d in dims})
            expected = reduce(name, types, x, tuple(axes))
            (result,) = reduce_program(program, [x], axes, pieces)
            assert result.tobytes() == expected.tobytes()
    out = np.ones((), types[-1])
    k.FinishCall(name, types, k.Leaves((0,), 0, 1), []).call(0, [], k.address(out))
    assert out == reduce(name, types, np.empty(0, c), (0,))


def test_reduced_programs_check_their_reductions() -> None:
    tree = k.Leaves((3,), 0, 1)
    program = Program("dd", 1, "", PLAIN.steps, (("add", "d->l"),))
    with pytest.raises(TypeError, match="no reduction add d->l"):
        k.ProgramReduceCall(program, [3], [[8]], tree, [0])


def random_ranges(n_ranges: int, max_length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of a dimension with the element indices of either side that they stand for."""
    rows, own, other = [], [], []
    own_end = other_end = 0
    for _ in range(n_ranges):
        length = int(RNG.integers(1, max_length + 1))
        steps = [int(s) for s in RNG.integers(1, 4, 2)]
        indices = [own_end + steps[0] * np.arange(length), other_end + steps[1] * np.arange(length)]
        own_end, other_end = indices[0][-1] + 1, indices[1][-1] + 1
        if RNG.random() < 0.3:
            indices[1], steps[1] = indices[1][::-1], -steps[1]
        rows.append([indices[0][0], steps[0], indices[1][0], steps[1], length])
        own.append(indices[0])
        other.append(indices[1])
    return np.array(rows), np.concatenate(own), np.concatenate(other)


SECTIONS = [
    [], [(1, 1)], [(1, 300)], [(7, 1)], [(200, 1)], [(9, 40)], [(1, 50), (1, 60)],
    [(5, 3), (1, 7)], [(1, 90), (6, 4)], [(4, 4), (5, 5)], [(3, 2), (1, 6), (4, 3)],
    [(1, 5), (3, 6), (1, 9)],
]  # fmt: skip


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 12, 16, 32])
@pytest.mark.parametrize("dims", SECTIONS)
def test_section_copy(itemsize: int, dims: list[tuple[int, int]]) -> None:
    for order, threads in itertools.product((1, -1), (1, 2)):
        k.set_threads(threads)
        parts = [random_ranges(*d) for d in dims]
        runs = [p[0] for p in parts]
        index = {
            k.OWN: [p[1] for p in parts],
            k.OTHER: [p[2] for p in parts],
            k.PACKED: [np.arange(len(p[1])) for p in parts],
        }
        for dst_side, src_side in itertools.product((k.OWN, k.OTHER, k.PACKED), repeat=2):
            shape = {s: [int(i.max()) + 1 for i in index[s]] for s in index}
            item = f"V{itemsize}"
            size = int(np.prod(shape[src_side], dtype=int)) * itemsize
            src = RNG.integers(0, 256, size, dtype="B").view(item).reshape(shape[src_side][::order])
            dst = np.zeros(shape[dst_side], item)
            if order == -1:
                src = src.T
            expected = dst.copy()
            expected[np.ix_(*index[dst_side])] = src[np.ix_(*index[src_side])]
            copy = k.SectionCopy(itemsize, runs, dst.strides, dst_side, src.strides, src_side)
            copy.call(k.address(dst), k.address(src))
            assert dst.tobytes() == expected.tobytes()


def one_run(n: int) -> np.ndarray:
    return np.array([[0, 1, 0, 1, n]])


@pytest.mark.parametrize("itemsize", [1, 4, 8, 12])
def test_big_section_copies(itemsize: int) -> None:
    k.set_threads(2)
    src = RNG.integers(0, 256, 301 * 407 * itemsize, dtype="B").view(f"V{itemsize}")
    for x in src.reshape(301, 407), src.reshape(407, 301).T, src.reshape(301, 407)[:, ::-1]:
        dst = np.zeros(x.shape, x.dtype)
        runs = [one_run(n) for n in x.shape]
        k.SectionCopy(itemsize, runs, dst.strides, k.OWN, x.strides, k.OTHER).call(
            k.address(dst), k.address(x)
        )
        assert dst.tobytes() == x.tobytes()
        single = np.array([[i, 1, 300 - i, 1, 1] for i in range(301)])
        k.SectionCopy(itemsize, [single, runs[1]], dst.strides, k.OWN, x.strides, k.OTHER).call(
            k.address(dst), k.address(x)
        )
        assert dst.tobytes() == x[::-1].tobytes()


def test_philox_known_answers() -> None:
    full = 0xFFFFFFFF
    assert k.philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert k.philox([full] * 4, [full] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    assert k.philox(*pi) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
@pytest.mark.parametrize("char", "fd")
def test_divisions_of_floats_are_exact(name: str, char: str) -> None:
    info, n = np.finfo(char), 100_000
    a, b = (RNG.normal(size=n) * 2.0 ** RNG.integers(-40, 40, n) for _ in range(2))
    b[::3] = a[::3] / RNG.integers(1, 1000, len(a[::3]))  # quotients next to integers
    a[1::3] = b[1::3] * RNG.integers(-1000, 1000, len(a[1::3]))
    special = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal]
    more = np.array(np.meshgrid(special, special)).reshape(2, -1)
    a, b = (np.concatenate([x, y]).astype(char) for x, y in zip((a, b), more, strict=True))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    check(name, f"{char}{char}->{char}", run(name, f"{char}{char}->{char}", [a, b], np.empty_like(a)), expected)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_beyond_all_floats(name: str) -> None:
    special = [0, 1, -1, 700, -700, 1e300, -1e300, np.inf, -np.inf, np.nan]
    a, b = np.array(np.meshgrid(special, special)).reshape(2, -1)
    expected = numpy_says(name, "dd->d", [a, b])
    assert (ulps(run(name, "dd->d", [a, b], np.empty_like(a)), expected) <= 4).all()


def fill(kind: str, char: str, n: int, **options: float) -> np.ndarray:
    out = np.empty(n, char)
    k.fill_random(
        kind, char, k.address(out), out.strides, k.OWN, [1], k.OWN, [one_run(n)], **options
    )
    return out


KINDS = [("random", c) for c in "fd"] + [("uniform", c) for c in "fd"]
KINDS += [("standard_normal", c) for c in "fd"] + [("integers", c) for c in "?Bil"]


@pytest.mark.parametrize(("kind", "char"), KINDS)
def test_random_does_not_depend_on_layout(kind: str, char: str) -> None:
    options = {"key": 2**63 + 11, "call": 3}
    if kind != "random" and kind != "standard_normal":
        options |= {"low": 0, "high": 2}
    n = 40 * 1000
    k.set_threads(1)
    whole = fill(kind, char, n, **options)
    k.set_threads(2)
    assert fill(kind, char, n, **options).tobytes() == whole.tobytes()
    assert fill(kind, char, n, **options | {"call": 4}).tobytes() != whole.tobytes()
    whole = whole.reshape(40, 1000)
    for dims in [(1, 5), (1, 300)], [(4, 3), (10, 20)], [(1, 13), (200, 1)]:
        parts = [random_ranges(*d) for d in dims]
        index = np.ix_(*[p[1] for p in parts])
        out = np.zeros([len(p[1]) for p in parts][::-1], char).T
        k.fill_random(
            kind, char, k.address(out), out.strides, k.PACKED, [1000, 1], k.OWN,
            [p[0] for p in parts], **options
        )  # fmt: skip
        assert out.tobytes() == np.ascontiguousarray(whole[index]).tobytes()


def test_random_bits() -> None:
    indices = np.array([0, 5, 2**40, 3])
    bits = k.random_bits(2**63 + 11, 2**40 + 3, 6, indices)
    for i, low, high in zip(indices.tolist(), *bits.tolist(), strict=True):
        words = k.philox([i % 2**32, i >> 32, 3, 2**8 | 6 << 16], [11, 2**31])
        assert [low, high] == [words[1] << 32 | words[0], words[3] << 32 | words[2]]
    for n in range(20):
        assert k.random_bits(7, 3, 1, np.arange(20))[:, :n].tobytes() == k.random_bits(7, 3, 1, np.arange(n)).tobytes()
    drawn = fill("random", "d", 1000, key=7, call=3)
    first = k.random_bits(7, 3, 0, np.arange(1000))[0]
    assert ((first >> np.uint64(11)) * 2.0**-53).tobytes() == drawn.tobytes()


def test_random_numbers_are_drawn_in_vectors() -> None:
    n, generator = 100_000, np.random.Generator(np.random.Philox(1))  # one number after the other
    k.set_threads(1)
    seconds: list[list[float]] = [[], []]
    for _ in range(20):
        for draw, taken in zip((lambda: fill("random", "d", n, key=1), lambda: generator.random(n)), seconds,
                               strict=True):
            start = time.thread_time()
            draw()
            taken.append(time.thread_time() - start)
    assert min(seconds[0]) < min(seconds[1])


def test_random_moments() -> None:
    n = 400_000
    for char in "fd":
        u = fill("random", char, n, key=1)
        assert u.min() >= 0
        assert u.max() < 1
        assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * n)
        z = fill("standard_normal", char, n, key=1).astype("d")
        assert abs(z.mean()) < 4 / np.sqrt(n)
        assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)
        assert abs((z**4).mean() - 3) < 4 * np.sqrt(96 / n)
        assert abs((z[1:] * z[:-1]).mean()) < 4 / np.sqrt(n)
        v = fill("uniform", char, n, key=1, low=-3, high=5)
        np.testing.assert_allclose(v, -3 + 8 * u, rtol=1e-6, atol=1e-6)


def test_random_integers() -> None:
    n = 100_000
    for char, low, high in ("l", -5, 12), ("i", -5, 12), ("B", 0, 256), ("?", 0, 2):
        x = fill("integers", char, n, key=5, low=low, high=high).astype("l")
        counts = np.bincount(x - low, minlength=high - low)
        assert len(counts) == high - low
        mean = n / (high - low)
        assert ((counts - mean) ** 2 / mean).sum() < (high - low) + 6 * np.sqrt(2 * (high - low))
    # A span for which Lemire's method rejects a third of the draws.
    span = 3 * 2**62
    x = fill("integers", "l", n, key=5, low=-(2**63), high=-(2**63) + span)
    thirds = np.bincount(((x.view("u8") ^ np.uint64(2**63)) >> np.uint64(62)).astype(int), minlength=3)
    assert len(thirds) == 3
    assert (np.abs(thirds - n / 3) < 5 * np.sqrt(n / 3)).all()
    words = fill("integers", "l", 1, key=0, low=-(2**63), high=2**63)
    assert int(words[0]) % 2**64 == (0xE169C58D6627E8D5 - 2**63) % 2**64


def test_address() -> None:
    for x in np.empty(3), np.empty(0), np.empty((3, 4))[1:, ::-1], np.broadcast_to(1.0, (2, 2)):
        assert k.address(x) == x.__array_interface__["data"][0]
