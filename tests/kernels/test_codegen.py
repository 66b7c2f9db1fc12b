"""Generated loops against the static kernels, to the bit, and maths functions against exact results."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from cffi import FFI

from pgaspy.kernels import bindings as k
from pgaspy.kernels import codegen, compiler
from pgaspy.kernels.program import Program, Step
from tests.kernels.test_bindings import SPECIAL, values

RNG = np.random.default_rng(11)
Loop = Callable[..., list[np.ndarray]]
Compile = Callable[..., Loop]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a program to a function of input arrays, of one dimension, and of output arrays if not of new ones."""
    cc = compiler.find()
    assert cc is not None
    folder = tmp_path_factory.mktemp("loops")
    names = (f"{number}.so" for number in itertools.count())
    ffi = FFI()
    ffi.cdef(f"void {codegen.NAME}(int64_t n, char *const p[], const int64_t s[]);")

    def compiled(program: Program, scalars: Sequence[int] = (), libm: bool = False) -> Loop:
        name = next(names)
        cc.compile(codegen.source(program, scalars, libm=libm), str(folder), name)
        library = ffi.dlopen(str(folder / name))

        def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
            n = max(x.size for x in inputs)
            if outputs is None:
                outputs = [np.empty(n, char) for char in program.operands[program.n_inputs :]]
            operands = [*(np.broadcast_to(x, n) for x in inputs), *outputs]
            assert [x.dtype.char for x in operands] == list(program.operands)
            p = [ffi.cast("char *", k.address(x)) for x in operands]
            s = [x.strides[0] for x in operands]
            p.insert(0, ffi.NULL)
            s.insert(0, 0)
            getattr(library, codegen.NAME)(n, p, s)
            return list(outputs)

        return run

    return compiled


def static(program: Program, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run the steps' own kernels one after the other, on temporaries."""
    n = max(x.size for x in inputs)
    found = {number: np.broadcast_to(x, n) for number, x in enumerate(inputs)}
    for step in program.steps:
        row = k.lookup(step.name, step.types)
        assert row is not None, step
        operands = [found[number] for number in step.inputs] + [np.empty(n, step.types[-1])]
        k.ElementwiseCall(row, (n,), [x.strides for x in operands]).call(*map(k.address, operands))
        found[step.output] = operands[-1]
    return [found[number] for number in range(program.n_inputs, len(program.operands))]


def assert_same(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], note: object = "") -> None:
    """The same numbers with the same signs; NaNs are all alike."""
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        parts = [(x.real, y.real), (x.imag, y.imag)] if x.dtype.kind == "c" else [(x, y)]
        for a, b in parts:
            np.testing.assert_array_equal(a, b, err_msg=f"output {number} of {note}")
            if a.dtype.kind == "f":
                numbers = ~np.isnan(a)
                np.testing.assert_array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers], f"{number} of {note}")


def chain(operands: str, n_inputs: int, *steps: tuple[str, str, tuple[int, ...], int]) -> Program:
    """A program of these steps, with the registers they write."""
    registers = {output: types[-1] for _, types, _, output in steps if output >= len(operands)}
    return Program(operands, n_inputs, "".join(char for _, char in sorted(registers.items())),
                   tuple(Step(*step) for step in steps))  # fmt: skip


D1, D2 = "d->d", "dd->d"
SWEEP = chain("ddddddd", 6, ("add", D2, (0, 1), 7), ("add", D2, (7, 2), 8), ("add", D2, (8, 3), 7),
              ("add", D2, (7, 4), 9), ("multiply", D2, (5, 9), 6))  # fmt: skip
# Output 3 is read again, and written twice; input 0 is read after maths functions.
MIXED = chain("ddddd", 3, ("absolute", D1, (0,), 5), ("exp", D1, (1,), 3), ("power", D2, (5, 2), 6),
              ("sin", D1, (6,), 7), ("multiply", D2, (7, 0), 8), ("subtract", D2, (8, 3), 4),
              ("cos", D1, (3,), 3))  # fmt: skip


# A bool that is read, another one that one loop leaves to the next, and one that is stored and read again.
CHOICES = chain("?ddd?d", 3, ("where", "?dd->d", (0, 1, 2), 3), ("less", "dd->?", (1, 2), 6), ("exp", D1, (1,), 7),
                ("where", "?dd->d", (6, 7, 2), 8), ("logical_and", "??->?", (0, 6), 4), ("exp", D1, (8,), 9),
                ("where", "?dd->d", (4, 9, 1), 5))  # fmt: skip
MASKED = chain("?dd?d", 3, ("where", "?dd->d", (0, 1, 2), 4), ("logical_not", "?->?", (0,), 3))


def rows(char: str, maths: bool) -> Program:
    """All kernels of inputs of one type (and a bool, input 0) that are maths functions or are not."""
    steps: list[tuple[str, str, tuple[int, ...], int]] = []
    for name, types in sorted(k.ELEMENTWISE):
        inputs = types.split("->")[0]
        operands = {1: (1,), 2: (1, 2), 3: (0 if inputs[0] == "?" else 1, 1, 2)}[len(inputs)]
        step = name, types, operands, 3 + len(steps)
        if inputs[-1] == char and codegen.has_maths(chain("", 0, step)) == maths:
            steps.append(step)
    return chain(f"?{char}{char}" + "".join(types[-1] for _, types, _, _ in steps), 3, *steps)


@pytest.mark.parametrize(("name", "types", "function", "is_maths"), [
    ("add", "dd->d", "pg_add_dd_d", False), ("where", "?ii->i", "pg_where_tii_i", False),
    ("isnan", "F->?", "pg_isnan_F_t", False), ("remainder", "ll->l", "pg_remainder_ll_l", False),
    ("remainder", "dd->d", "pg_remainder_dd_d", True), ("exp", "f->f", "pg_exp_f_f", True)])
def test_what_generated_code_calls(name: str, types: str, function: str, is_maths: bool) -> None:
    assert k.function(name, types) == function
    assert k.is_maths(name, types) == is_maths


def test_what_generated_code_reduces_with() -> None:
    assert k.reduce_functions("add", "?->l") == ("pg_reduce_add_t_l", "pg_join_add_t_l")
    assert [k.narrow_lane("add", f"{c}->{'l' if c in '?bhi' else c}") for c in "?bhid"] == ["b", "h", "i", "", ""]
    unknown = chain("ddd", 2, ("unknown", D2, (0, 1), 2))
    with pytest.raises(TypeError, match="no kernel unknown dd->d"):
        codegen.source(unknown)


@pytest.mark.parametrize("char", "bBhil")
def test_quotients_of_extremes(compiled: Compile, char: str) -> None:
    info, rng = np.iinfo(char), np.random.default_rng(7)
    edges = {0, *(sign * (1 << p) + d for p in range(info.bits) for sign in (-1, 1) for d in (-1, 0, 1))}
    edges = np.array([x for x in edges | {info.min, info.max} if info.min <= x <= info.max], char)
    a, b = (x.ravel() for x in np.meshgrid(edges, edges))
    multiples = (b * rng.choice(edges, b.size) + rng.integers(-1, 2, b.size)).astype(char)
    a, b = np.concatenate([a, multiples]), np.concatenate([b, b])
    types = f"{char}{char}->{char}"
    program = chain(4 * char, 2, ("floor_divide", types, (0, 1), 2), ("remainder", types, (0, 1), 3))
    expected = [np.floor_divide(a, b), np.remainder(a, b)]
    assert_same(compiled(program)([a, b]), expected)
    assert_same(static(program, [a, b]), expected)


@pytest.mark.parametrize(("char", "maths"), [*itertools.product("?bBhilfdFD", [False]),
                                             *itertools.product("fdFD", [True])])  # fmt: skip
def test_all_rows(compiled: Compile, char: str, maths: bool) -> None:
    program = rows(char, maths)
    loop = compiled(program)
    n = 203
    condition, tame = values("?", n), RNG.integers(0, 2 if char == "?" else 100, (2, n)).astype(char)
    assert_same(loop([condition, *tame]), static(program, [condition, *tame]), program)
    wild = [values(char, n) for _ in range(2)]
    if char in "fd":
        for x in wild:
            x[:150] = RNG.permutation(np.resize(SPECIAL, 150))
    found, expected = loop([condition, *wild]), static(program, [condition, *wild])
    # C does not define casts of a number to an integer type that lacks it.
    defined = [step.output - 3 for step in program.steps if step.name != "copy" or char not in "fdFD"]
    assert_same([found[i] for i in defined], [expected[i] for i in defined], program)


def strided(x: np.ndarray, step: int) -> np.ndarray:
    """A copy with `step` items between neighbours; all elements the first one if 0."""
    if step == 0:
        return np.broadcast_to(x[:1].copy(), x.size)
    buffer = np.zeros(x.size * abs(step) + 3, x.dtype)[3:]
    view = buffer[::step][: x.size]
    view[...] = x
    return view


@pytest.mark.parametrize("program", [SWEEP, MIXED], ids=["cheap", "maths"])
def test_strides(compiled: Compile, program: Program) -> None:
    loop = compiled(program)
    assert codegen.has_maths(program) == (program is MIXED)
    for n in 1, 5, 16, 127, 300:
        for steps in itertools.product([1, 2, -1, 0], [1, 3], [1, -2]):
            inputs = [strided(values("d", n), steps[number % 2]) for number in range(program.n_inputs)]
            outputs = [strided(np.zeros(n), steps[2]) for _ in range(program.n_outputs)]
            assert_same(loop(inputs, outputs), static(program, inputs), (n, steps))
            for x in outputs:
                assert steps[2] == 1 or not np.any(x.base[1::2])  # nothing between the elements


@pytest.mark.parametrize("program", [CHOICES, MASKED], ids=["maths", "cheap"])
def test_bools_in_memory(compiled: Compile, program: Program) -> None:
    loop = compiled(program)
    for n in 1, 8, 63, 64, 255, 256, 257, 1000:
        for step in 1, 2, -1:
            inputs = [strided(values(char, n), step) for char in program.operands[:3]]
            outputs = [strided(np.zeros(n, char), step) for char in program.operands[3:]]
            assert_same(loop(inputs, outputs), static(program, inputs), (n, step))


@pytest.mark.skipif(Path(str(compiler.find())).name != "gcc", reason="GCC tells what it vectorises")
def test_choices_by_bools_in_memory_are_vectorised() -> None:
    source = codegen.source(chain("?ddd", 3, ("where", "?dd->d", (0, 1, 2), 3)))
    told = subprocess.run([str(compiler.find()), *compiler.FLAGS, "-march=native", f"-I{codegen.HEADERS}",
                           "-fopt-info-vec-optimized", "-o", os.devnull, "-x", "c", "-"], input=source, text=True,
                          capture_output=True).stderr
    lines = source.splitlines()
    (first,) = [n for n, line in enumerate(lines, 1) if line.endswith("SIMD_FOR(k, full) {")]
    assert any(f"<stdin>:{n}:" in told for n in range(first, len(lines)))


@pytest.mark.parametrize("program", [SWEEP, MIXED], ids=["cheap", "maths"])
def test_scalars(compiled: Compile, program: Program) -> None:
    for scalars in (program.n_inputs - 1,), (0, 1), tuple(range(program.n_inputs - 1)):
        loop = compiled(program, scalars)
        inputs = [values("d", 1 if number in scalars else 77) for number in range(program.n_inputs)]
        assert_same(loop(inputs), static(program, inputs), scalars)
        found = loop([strided(x, -2) if x.size > 1 else x for x in inputs])
        assert_same(found, static(program, inputs), scalars)


def test_maths_of_scalars_alone(compiled: Compile) -> None:
    program = chain("ddd", 2, ("exp", D1, (0,), 3), ("sin", D1, (3,), 4), ("add", D2, (4, 1), 2))
    loop = compiled(program, (0,))
    for x in RNG.normal(size=100):
        inputs = [np.array([x]), np.zeros(3)]
        assert_same(loop(inputs), static(program, inputs))


@pytest.mark.parametrize("step", [1, -2])
def test_outputs_may_be_inputs(compiled: Compile, step: int) -> None:
    for program, places in (SWEEP, [2]), (MIXED, [0, 1]):
        loop = compiled(program)
        inputs = [strided(values("d", 300), step) for _ in range(program.n_inputs)]
        expected = static(program, [x.copy() for x in inputs])
        assert_same(loop(inputs, [inputs[place] for place in places]), expected)


@pytest.mark.parametrize("char", "fd")
def test_maths_wherever_it_lies(compiled: Compile, char: str) -> None:
    one, two = f"{char}->{char}", f"{char}{char}->{char}"
    program = chain(char * 6, 2, ("exp", one, (0,), 2), ("tanh", one, (2,), 3), ("power", two, (2, 1), 4),
                    ("multiply", two, (3, 4), 6), ("log1p", one, (2,), 5))  # fmt: skip
    loop = compiled(program)
    a, b = values(char, 80), values(char, 80)
    expected = static(program, [a, b])
    for n, offset in itertools.product(range(1, 71), range(0, 10, 3)):
        part = slice(offset, offset + n)
        assert_same(loop([a[part], b[part]]), [x[part] for x in expected], (n, offset))


def test_casts_and_comparisons(compiled: Compile) -> None:
    program = chain("idf" "fD?", 3, ("copy", "i->d", (0,), 6), ("copy", "f->d", (2,), 7), ("less", "dd->?", (6, 1), 8),
                    ("where", "?dd->d", (8, 7, 1), 9), ("copy", "d->f", (9,), 3), ("copy", "d->D", (9,), 10),
                    ("multiply", "DD->D", (10, 10), 4), ("logical_not", "?->?", (8,), 5))  # fmt: skip
    i, d, f = values("i", 99) % 50, values("d", 99), values("f", 99)
    loop = compiled(program)
    found = loop([i, d, f])
    assert_same(found, static(program, [i, d, f]))
    w = np.where(i < d, f.astype("d"), d)
    np.testing.assert_array_equal(found[0], w.astype("f"))
    np.testing.assert_array_equal(found[2], ~(i < d))


def any_program(rng: np.random.Generator, n_steps: int) -> Program:
    """Random steps on operands of all types; the last ones are stored."""
    chars = list("ddffilB?FD")
    n_inputs = len(chars)
    table = sorted(row for row in k.ELEMENTWISE if not (row[0] == "copy" and row[1][0] in "fdFD"))
    steps: list[tuple[str, str, tuple[int, ...]]] = []
    while len(steps) < n_steps:
        name, types = table[rng.integers(len(table))]
        places = [[place for place, char in enumerate(chars) if char == wanted] for wanted in types.split("->")[0]]
        if all(places):
            steps.append((name, types, tuple(int(rng.choice(place[-4:])) for place in places)))
            chars.append(types[-1])
    outputs = sorted(n_inputs + rng.choice(n_steps, n_steps // 3, replace=False))
    registers = [value for value in range(n_inputs, len(chars)) if value not in outputs]
    numbers = {value: number for number, value in enumerate([*range(n_inputs), *outputs, *registers])}
    made = (Step(name, types, tuple(numbers[value] for value in inputs), numbers[n_inputs + place])
            for place, (name, types, inputs) in enumerate(steps))
    return Program("".join(chars[value] for value in [*range(n_inputs), *outputs]), n_inputs,
                   "".join(chars[value] for value in registers), tuple(made))


@pytest.mark.parametrize("seed", range(4))
def test_any_program(compiled: Compile, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = any_program(rng, 24)
    inputs = [values(char, 150) for char in program.operands[: program.n_inputs]]
    assert_same(compiled(program)(inputs), static(program, inputs), program)


def test_empty_rows(compiled: Compile) -> None:
    for program in SWEEP, MIXED:
        outputs = compiled(program)([np.empty(0)] * program.n_inputs)
        assert all(x.size == 0 for x in outputs)


# Where neither arguments nor results overflow or are subnormal, in float32 as well.
DOMAINS = {
    "exp": (-80, 80), "exp2": (-120, 120), "expm1": (-30, 80), "log": (1e-30, 9), "log2": (1e-30, 9),
    "log10": (1e-30, 9), "log1p": (-0.999, 9), "sin": (-1e3, 1e3), "cos": (-1e3, 1e3), "tan": (-1e3, 1e3),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-99, 99), "sinh": (-80, 80), "cosh": (-80, 80), "tanh": (-9, 9),
    "arcsinh": (-99, 99), "arccosh": (1, 99), "arctanh": (-0.999, 0.999), "cbrt": (-99, 99),
    "power": (0.01, 10), "arctan2": (-99, 99), "hypot": (-99, 99),
}  # fmt: skip


@pytest.mark.parametrize("libm", [False, True])
@pytest.mark.parametrize("char", "fd")
def test_maths_within_4_ulp(compiled: Compile, char: str, libm: bool) -> None:
    inputs: list[np.ndarray] = []
    steps: list[tuple[str, str, tuple[int, ...]]] = []
    for name, domain in DOMAINS.items():
        n_inputs = 2 if name in ("power", "arctan2", "hypot") else 1
        steps.append((name, f"{char * n_inputs}->{char}", tuple(range(len(inputs), len(inputs) + n_inputs))))
        inputs += list(RNG.uniform(*domain, (n_inputs, 4000)).astype(char))
    n = len(inputs)
    program = chain(char * (n + len(steps)), n, *((*step, n + place) for place, step in enumerate(steps)))
    for found, (name, _, places) in zip(compiled(program, libm=libm)(inputs), steps, strict=True):
        exact = getattr(np, name)(*(inputs[place].astype(np.longdouble) for place in places))
        ulp = np.abs((found - exact) / np.spacing(np.abs(exact).astype(char)))
        assert ulp.max() < (0.7 if libm and name in ("exp", "log", "sin", "cos", "power") else 4), name


def test_libm_is_the_one_of_the_system(compiled: Compile) -> None:
    x = np.linspace(-3, 3, 1000)
    program = chain("ddd", 1, ("sin", D1, (0,), 1), ("tanh", D1, (1,), 2))
    found = compiled(program, libm=True)([x])[1]
    np.testing.assert_array_equal(found, [math.tanh(math.sin(number)) for number in x])
