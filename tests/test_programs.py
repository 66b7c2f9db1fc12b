"""Random programs on global arrays, against the same programs on NumPy arrays, statement by statement."""

from __future__ import annotations

import functools
import math
import operator
import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.array import GlobalScalar
from tests.randomly import (
    DTYPES,
    LARGEST,
    SMALL_EXTENTS,
    castable,
    random_fitting_key,
    random_key,
    random_layout,
    random_section,
    random_shape,
)
from tests.together import collectively

pytestmark = pytest.mark.mpi

N_PROGRAMS = 60
N_BATCHES = 4
N_STATEMENTS = 10

BINARY = (
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.floor_divide, np.remainder,
    np.fmod, np.less, np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.bitwise_xor,
    np.bitwise_and, np.copysign, np.hypot, np.arctan2, np.gcd,
)  # fmt: skip
UNARY = (
    np.negative, np.absolute, np.square, np.sqrt, np.sign, np.floor, np.rint, np.isnan, np.isfinite, np.logical_not,
    np.invert, np.conjugate, np.reciprocal, np.sin, np.exp, np.tanh, np.arctan, np.cbrt, np.signbit,
)  # fmt: skip
EXACT = {
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.floor_divide, np.remainder,
    np.fmod, np.less, np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.bitwise_xor,
    np.bitwise_and, np.copysign, np.gcd, np.negative, np.absolute, np.square, np.sqrt, np.sign, np.floor, np.rint,
    np.isnan, np.isfinite, np.logical_not, np.invert, np.conjugate, np.reciprocal, np.signbit,
}  # fmt: skip
OPERATORS = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ior, operator.imod)
ERRORS = (TypeError, IndexError, ValueError, OverflowError)
REDUCTIONS = ("sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax")


class Pair(NamedTuple):
    """A global array and the NumPy array that it has to equal; views are views on both sides."""

    array: Any
    model: Any


class Program:
    """Runs random statements on pairs, and notes where the two sides differ. All choices follow from the seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.seed = seed
        self.bases: list[Pair] = []
        self.pairs: list[Pair] = []
        self.log: list[str] = []
        self.problem = ""

    def run(self, n_statements: int) -> str:
        """The first difference, if any."""
        self.create()
        self.create()
        for _ in range(n_statements):
            if self.problem:
                break
            statement = self.rng.choice(STATEMENTS)
            try:
                statement(self)
            except Exception as error:
                raise RuntimeError(f"seed {self.seed}: {'; '.join(self.log)}") from error
            self.bound()
        return self.problem

    # Comparison

    def check(self, array: Any, model: Any, exact: bool = True, scale: float = 1.0) -> None:
        """Compare; where it need not be exact, NumPy's side takes over the values, so that both go on alike."""
        if not isinstance(array, pg.GlobalArray) or array.shape != model.shape or array.dtype != model.dtype:
            self.differ(f"{array!r}, expected shape {model.shape}, dtype {model.dtype}")
            return
        found = array.gather()
        if exact:
            same = np.array_equal(found, model, equal_nan=found.dtype.kind in "fcmM")
        else:
            eps = np.finfo(found.dtype).eps if found.dtype.kind in "fc" else 0
            tolerance = 64 * float(eps)
            wide = found.astype(np.result_type(found, float))
            same = np.allclose(wide, model.astype(wide.dtype), rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if not same:
            self.differ(f"found\n{found!r}\nexpected\n{model!r}")
        elif not exact:
            model[...] = found

    def differ(self, text: str) -> None:
        self.problem = self.problem or f"seed {self.seed}: {'; '.join(self.log)}: {text}"

    def check_base(self, pair: Pair, exact: bool = True, scale: float = 1.0) -> None:
        """Compare the whole base that a statement wrote to."""
        root = self.root(pair)
        self.check(root.array, root.model, exact, scale)

    def root(self, pair: Pair) -> Pair:
        return next(base for base in self.bases if base.array._base is pair.array._base)

    def bound(self) -> None:
        """Fill arrays anew whose elements are too large, or not numbers, for what follows."""
        for base in self.bases:
            with np.errstate(all="ignore"):
                if base.model.dtype.kind in "fci" and not (np.abs(base.model) <= LARGEST).all():
                    fresh = self.random_values(base.model.shape, base.model.dtype)
                    base.array[...] = fresh
                    base.model[...] = fresh

    def both(self, call: Callable[[Any], Any], *sides: tuple[Any, Any]) -> Pair | None:
        """The call on the global and on the NumPy side; None where both raise the same kind of exception."""
        results, errors = [], []
        for side in sides:
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    # NumPy says so of complex outputs of real loops
                    warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                    results.append(call(*side))
            except ERRORS as error:
                errors.append(error)
        if not errors:
            return Pair(*results)
        kinds = [next(k for k in ERRORS if isinstance(e, k)) for e in errors]
        if len(kinds) != 2 or (kinds[0] is not kinds[1] and OverflowError not in kinds):
            self.differ(f"raised on one side only, or otherwise: {errors!r}")
        return None

    # Random operands

    def random_values(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Multiples of 1/4, so that sums are exact in most dtypes; with zeros."""
        dtype = np.dtype(dtype)
        low = 0 if dtype.kind == "u" else -12
        values = self.values.integers(low, 13, shape)
        if dtype.kind in "fc":
            values = values / 4
        if dtype.kind == "c":
            values = values + 1j * self.values.integers(-4, 5, shape) / 2
        return np.asarray(values).astype(dtype)

    def pick(self, min_ndim: int = 0) -> Pair:
        """A pair of the program, or now and then a view of one."""
        found = [p for p in self.pairs if p.model.ndim >= min_ndim]
        if not found:
            return self.create(min_ndim)
        pair = self.rng.choice(found)
        if self.rng.random() < 0.4:
            view = self.view_of(pair)
            if view.model.ndim >= min_ndim:
                return view
        return pair

    def pick_target(self) -> Pair:
        """A pair that can be written to."""
        pair = self.pick()
        return pair if pair.model.flags.writeable else self.create()

    def view_of(self, pair: Pair) -> Pair:
        key = random_key(self.rng, pair.model.shape)
        key = key if Ellipsis in key else (*key, ...)  # which gives arrays, and no elements
        array, model = pair.array[key], pair.model[key]
        if model.ndim > 1 and self.rng.random() < 0.3:
            axes = self.rng.sample(range(model.ndim), model.ndim)
            array, model = array.transpose(axes), model.transpose(axes)
        return Pair(array, model)

    def compatible(self, shape: tuple[int, ...]) -> Pair | None:
        """A view of some pair that broadcasts to a shape, with any steps."""
        rng = self.rng
        pair = rng.choice(self.pairs)
        model = pair.model
        axes = rng.sample(range(model.ndim), model.ndim) if rng.random() < 0.3 else list(range(model.ndim))
        array, model = pair.array.transpose(axes), model.transpose(axes)
        key = random_fitting_key(rng, model.shape, shape)
        return None if key is None else Pair(array[key], model[key])

    def operand(self, shape: tuple[int, ...]) -> Pair:
        """Anything that broadcasts to a shape: a view, a scalar of Python or NumPy, a NumPy array."""
        kind = self.rng.random()
        if kind < 0.6:
            pair = self.compatible(shape)
            if pair is not None:
                return pair
        if kind < 0.75:
            values = self.random_values(shape[self.rng.randint(0, len(shape)):], self.rng.choice(DTYPES))
            return Pair(values, values)
        scalar = self.rng.choice([2, -3, 0.5, 0, True, 1.5j, np.float32(1.25), np.int64(3), np.float64(-0.75),
                                  np.uint8(7)])
        return Pair(scalar, scalar)

    def add(self, pair: Pair, is_base: bool = True) -> None:
        if isinstance(pair.array, GlobalScalar):  # as the model is an array, which in-place operators write to
            pair = Pair(pair.array[...], pair.model)
        if is_base:
            self.bases.append(pair)
        if pair.model.size > 1 or not self.pairs or self.rng.random() < 0.15:  # else most would soon be scalars
            self.pairs.append(pair)
        del self.pairs[:-8]

    def note(self, name: str, *pairs: Pair, **options: Any) -> None:
        said = [f"{x!r}" if not hasattr(x, "_view") else f"{x._view!r}:{x.dtype}" for x, _ in pairs]
        said += [f"{name}={value!r}" for name, value in options.items()]
        self.log.append(f"{name}({', '.join(said)})")

    # Statements

    def create(self, min_ndim: int = 0) -> Pair:
        shape = random_shape(self.rng, 3, SMALL_EXTENTS)
        shape = (*shape, *(self.rng.choice(SMALL_EXTENTS) for _ in range(min_ndim - len(shape))))
        values = self.random_values(shape, self.rng.choice(DTYPES))
        array = pg.array(values, layout=random_layout(self.rng, shape, pg.SIZE))
        pair = Pair(array, values)
        self.note("create", pair)
        self.check(*pair)
        self.add(pair)
        return pair

    def view(self) -> None:
        pair = self.view_of(self.pick())
        self.note("view", pair)
        self.check(*pair)
        self.add(pair, is_base=False)

    def broadcast(self) -> None:
        pair = self.pick()
        shape = tuple(self.rng.choice((2, 3)) if n == 1 else n for n in pair.model.shape)
        shape = (*self.rng.choice([(), (2,)]), *shape)
        if math.prod(shape) == pair.model.size:
            return  # NumPy makes a read-only view
        result = Pair(pg.broadcast_to(pair.array, shape), np.broadcast_to(pair.model, shape))
        self.note("broadcast", result)
        self.check(*result)
        self.add(result, is_base=False)

    def assign(self) -> None:
        target = self.pick_target()
        value = self.operand(target.model.shape)
        if not castable(value.model, target.model.dtype):
            return
        self.note("assign", target, value)
        self.both(operator.setitem, (target.array, ..., value.array), (target.model, ..., unaliased(value.model)))
        self.check_base(target)

    def assign_to_itself(self) -> None:
        """Sections of one array that overlap: shifted, reversed, transposed."""
        base = self.rng.choice(self.bases)
        if base.model.ndim == 0:
            return
        array, model = base
        key, other = [], []
        for n in model.shape:
            length = self.rng.randint(0, n)
            step = self.rng.choice([1, 1, -1])
            for k in key, other:
                first = self.rng.randint(0, n - length)
                section = slice(first, first + length)
                k.append(section if step > 0 or k is key else range_reversed(section))
        target = Pair(array[tuple(key)], model[tuple(key)])
        source = Pair(array[tuple(other)], model[tuple(other)])
        if model.ndim == 2 and self.rng.random() < 0.3:
            n = min(*target.model.shape)
            target = Pair(*(x[:n, :n] for x in target))
            source = Pair(*(x[:n, :n].T for x in source))
        self.note("assign to itself", target, source)
        if self.rng.random() < 0.5:
            target.array[...] = source.array
            target.model[...] = source.model.copy()
            self.check_base(target)
            return

        self.both(np.add, (target.array, source.array, target.array),
                  (target.model, source.model.copy(), target.model))
        self.check_base(target)

    def ufunc(self) -> None:
        rng = self.rng
        first = self.pick()
        function = rng.choice(BINARY) if rng.random() < 0.7 else rng.choice(UNARY)
        operands = [first]
        if function.nin == 2:
            operands.append(self.operand(first.model.shape))
            if rng.random() < 0.3:
                operands.reverse()
        self.note(function.__name__, *operands)
        result = self.both(lambda *x: function(*x), *zip(*operands, strict=True))
        if result is not None:
            model = np.asarray(result.model)
            inexact = function not in EXACT or "c" in [np.asarray(x).dtype.kind for x in (
                model, *(x.model for x in operands))]
            scale = max((largest(x.model) for x in operands), default=1.0)
            self.check(result.array, model, not inexact, scale)
            self.add(Pair(result.array, model))

    def in_place(self) -> None:
        target = self.pick_target()
        value = self.operand(target.model.shape)
        function = self.rng.choice(OPERATORS)
        self.note(function.__name__, target, value)
        self.both(function, target_side(target, 0, value), target_side(target, 1, value))
        self.check_base(target, target.model.dtype.kind != "c", largest(value.model) + LARGEST)

    def out(self) -> None:
        """`out=`, with and without `where=`."""
        target = self.pick_target()
        shape = target.model.shape
        function = self.rng.choice(BINARY[:10] + UNARY[:5])
        operands = [self.operand(shape) for _ in range(function.nin)]
        if not any(isinstance(x.array, pg.GlobalArray) for x in operands):
            operands[0] = target
        options, model_options = {}, {}
        if self.rng.random() < 0.5:
            mask = self.mask(shape)
            options, model_options = {"where": mask.array}, {"where": mask.model}
        self.note(function.__name__, *operands, out=target.array._view, dtype=target.model.dtype,
                  where=bool(options))
        with np.errstate(all="ignore"):
            computed = [np.asarray(x.model) for x in operands]
        if any(not castable(x, target.model.dtype) for x in computed):
            return
        self.both(lambda x, o, w: function(*x, out=o, **w),
                  ([x.array for x in operands], target.array, options),
                  ([unaliased(x.model) for x in operands], target.model, model_options))
        exact = function in EXACT and all(x.dtype.kind != "c" for x in (*computed, target.model))
        self.check_base(target, exact, LARGEST)

    def mask(self, shape: tuple[int, ...]) -> Pair:
        values = self.values.integers(0, 2, shape).astype(bool)
        if self.rng.random() < 0.3:
            return Pair(values, values)
        return Pair(pg.array(values, layout=random_layout(self.rng, values.shape, pg.SIZE)), values)

    def where(self) -> None:
        pair = self.pick()
        condition, other = self.mask(pair.model.shape), self.operand(pair.model.shape)
        if isinstance(other.model, int) and pair.model.dtype.kind == "u":
            return  # NumPy's where lets negative numbers wrap around
        self.note("where", condition, pair, other)
        result = self.both(lambda where, *x: where(*x), (pg.where, condition.array, pair.array, other.array),
                           (np.where, condition.model, pair.model, other.model))
        if result is not None:
            self.check(*result)
            self.add(result)

    def reduce(self) -> None:
        rng = self.rng
        pair = self.pick()
        name = rng.choice(REDUCTIONS)
        if name == "prod" and pair.model.dtype.kind in "fc" and (pair.model.itemsize < 8 or pair.model.size > 64):
            return  # overflows or not by the order of the factors
        ndim = pair.model.ndim
        axis: Any = None
        if ndim and rng.random() < 0.7:
            axis = rng.randrange(-ndim, ndim)
            if not name.startswith("arg") and rng.random() < 0.3:
                axis = tuple(rng.sample(range(ndim), rng.randint(0, ndim)))
        options: dict[str, Any] = {"axis": axis, "keepdims": rng.random() < 0.3}
        if name in ("sum", "prod", "mean") and rng.random() < 0.2:
            options["dtype"] = rng.choice(["d", "f"])
            if pair.model.dtype.kind == "c":
                options["dtype"] = "D"
        self.note(name, pair, **options)
        # NumPy warns of the mean of nothing
        if name in ("mean", "std", "var") and 0 in pair.model.shape:
            return
        result = self.both(lambda x: np.asarray(getattr(x, name)(**options)) if isinstance(x, np.ndarray)
                           else getattr(x, name)(**options), (pair.array,), (pair.model,))
        if result is not None:
            exact = name in ("min", "max", "any", "all", "argmin", "argmax") or result.model.dtype.kind in "biu"
            size = max(pair.model.size, 1)
            scale = size * max(largest(pair.model), 1.0) ** 2
            if name == "prod":
                scale = largest(result.model)
            if pair.model.dtype == np.float16 and not exact:
                scale *= 16
            self.check(*result, exact, scale)
            self.add(result)

    def move(self) -> None:
        """Copies: plain, cast, into other layouts, replicated along an axis of the grid, aligned."""
        rng = self.rng
        pair = self.pick()
        kind = rng.choice(["copy", "astype", "redistribute", "replicate", "align", "array"])
        self.note(kind, pair)
        array, model = pair
        if kind == "copy":
            result = Pair(array.copy(), model.copy())
        elif kind == "astype":
            dtype = rng.choice(DTYPES)
            if not castable(model, np.dtype(dtype)):
                return
            result = Pair(array.astype(dtype), model.astype(dtype))
        elif kind == "redistribute":
            result = Pair(array.redistribute(random_layout(rng, model.shape, pg.SIZE)), model.copy())
        elif kind == "array":
            result = Pair(pg.array(array, layout=random_layout(rng, model.shape, pg.SIZE)), model.copy())
        elif kind == "replicate":
            if array._view.stretched_dims or array._view.index(
                    tuple(slice(None, None, -1 if s < 0 else 1) for s in array._view.steps)).own_layout is None:
                return
            axis = rng.randrange(len(array._view.layout.grid))
            result = Pair(pg.replicate(array, axis), model.copy())
            grid_axes = [dim.axis for dim in result.array._view.layout.dims]
            if axis in grid_axes:
                self.differ(f"still distributed along axis {axis}: {result.array!r}")
        else:
            other = self.pick(1)
            if other.array._view.own_layout is None:
                return
            dim = rng.randrange(other.model.ndim)
            values = self.random_values((other.model.shape[dim],), "d")
            x = pg.array(values, layout=random_layout(rng, values.shape, pg.SIZE))
            result = Pair(pg.align(x, other.array, dim), values)
            if (result.array.local().size and other.array.layout.local_shape(pg.RANK)[dim]
                    != result.array.local().shape[0]):
                self.differ(f"not aligned: {result.array!r} with dimension {dim} of {other.array!r}")
        self.check(*result)
        self.add(result)

    def rearrange(self) -> None:
        rng = self.rng
        pair = self.pick(1)
        array, model = pair
        axis = rng.randrange(model.ndim)
        name = rng.choice(["roll", "flip", "concatenate", "stack", "tile", "repeat", "outer"])
        self.note(name, pair, axis=axis)
        if name == "roll":
            arguments: tuple[Any, ...] = (rng.randint(-9, 9), axis)
        elif name == "flip":
            arguments = (rng.choice([None, axis]),)
        elif name == "tile":
            arguments = (rng.choice([0, 1, 2, 3, (2, 1), (1, 2)]),)
        elif name == "repeat":
            arguments = (rng.randint(0, 3), axis)
        else:
            self.join(name, pair, axis)
            return
        result = Pair(getattr(pg, name)(array, *arguments), getattr(np, name)(model, *arguments).copy())
        self.check(*result)
        if name != "flip":
            self.add(result)

    def join(self, name: str, pair: Pair, axis: int) -> None:
        array, model = pair
        others = [pair]
        for _ in range(self.rng.randint(0, 2)):
            n = model.shape[axis] if name == "stack" else self.rng.randint(0, 4)
            values = self.random_values((*model.shape[:axis], n, *model.shape[axis + 1:]), self.rng.choice(DTYPES))
            others.append(Pair(pg.array(values, layout=random_layout(self.rng, values.shape, pg.SIZE)), values))
        if name == "outer":
            if model.ndim > 1:
                return
            result = Pair(pg.outer(array, others[-1].array), np.outer(model, others[-1].model))
            self.check(*result, exact=result.model.dtype.kind != "c", scale=LARGEST)
        else:
            result = Pair(getattr(pg, name)([x.array for x in others], axis),
                          getattr(np, name)([x.model for x in others], axis))
            self.check(*result)
        self.add(result)

    def matmul(self) -> None:
        rng = self.rng
        first = self.pick(1)
        while first.model.ndim > 2:
            if not first.model.shape[0]:
                return
            first = Pair(first.array[0], first.model[0])
        n = first.model.shape[-1]
        shape = (n,) if rng.random() < 0.4 else (n, rng.choice(SMALL_EXTENTS))
        values = self.random_values(shape, rng.choice("dfliD"))
        second = Pair(pg.array(values, layout=random_layout(rng, shape, pg.SIZE)), values)
        if rng.random() < 0.3:
            first, second = Pair(second.array.T, second.model.T), Pair(first.array.T, first.model.T)
        self.note("matmul", first, second)
        result = self.both(operator.matmul, *zip(first, second, strict=True))
        if result is not None:
            result = Pair(result.array, np.asarray(result.model))
            scale = max(n, 1) * largest(first.model) * largest(second.model)
            self.check(*result, exact=False, scale=scale)
            self.add(result)

    def local(self) -> None:
        """Write through the local view, each process its own part."""
        pair = self.pick_target()
        array, model = pair
        if array._view.layout.replica_axes or array._view.stretched_dims or model.dtype.kind == "b":
            return
        self.note("local", pair)
        try:
            part = array.local()
        except ValueError:
            parts = list(array.blocks())
        else:
            parts = [part]
        for part in parts:
            np.multiply(part, 2, out=part)
        np.multiply(model, 2, out=model)
        self.check_base(pair)


STATEMENTS = (
    Program.create, Program.view, Program.broadcast, Program.assign, Program.assign, Program.assign_to_itself,
    Program.assign_to_itself, Program.ufunc, Program.ufunc, Program.ufunc, Program.in_place, Program.in_place,
    Program.out, Program.out, Program.where, Program.reduce, Program.reduce, Program.move, Program.rearrange,
    Program.matmul, Program.local,
)  # fmt: skip


def target_side(target: Pair, side: int, value: Pair) -> tuple[Any, Any]:
    return target[side], value[side] if side == 0 else unaliased(value[side])


def unaliased(x: Any) -> Any:
    """A copy of an array: NumPy, too, behaves as if operands were read first, but only for some overlaps."""
    return x.copy() if isinstance(x, np.ndarray) else x


def range_reversed(section: slice) -> slice:
    if section.start == section.stop:
        return section
    return slice(section.stop - 1, section.start - 1 if section.start else None, -1)


def largest(x: Any) -> float:
    """The largest magnitude of a finite element."""
    x = np.abs(np.asarray(x).astype(complex))
    return float(x[np.isfinite(x)].max(initial=0.0))


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_programs(batch: int) -> None:
    problems = []
    for k in range(N_PROGRAMS // N_BATCHES):
        problems.append(Program(pg.SIZE * 100_000 + batch * 1000 + k).run(N_STATEMENTS))
    problem = "\n".join(p for p in problems if p)
    collectively(not problem, problem)


def test_programs_reach_every_kind_of_statement() -> None:
    names: set[str] = set()
    n_elements = []
    for seed in range(20):
        program = Program(seed)
        collectively(not program.run(15), program.problem)
        names |= {entry.split("(")[0] for entry in program.log}
        n_elements += [pair.model.size for pair in program.pairs]
    collectively({"create", "view", "assign", "assign to itself", "where", "matmul", "local"} <= names, f"{names}")
    collectively(len({"roll", "flip", "concatenate", "stack", "tile", "repeat", "outer"} & names) > 3, f"{names}")
    collectively(sum(n > 1 for n in n_elements) > len(n_elements) / 2, f"{n_elements}")


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_shifted_sections(seed: int) -> None:
    """Results take part in what follows: they lie as sections of sections, or are dealt out afresh."""
    rng = random.Random(seed)
    models = [np.arange(m * n).reshape(m, n) for m, n in [(rng.randint(12, 60), rng.randint(1, 30)) for _ in range(2)]]
    pairs = [Pair(pg.array(model, layout=random_layout(rng, model.shape, pg.SIZE)), model.copy()) for model in models]
    for _ in range(12):
        last = pairs[-1].model.shape
        shape = tuple(max(rng.choice((n, n - 1, n - 2, n - 4, (n + 1) // 2, n // 3)), 1) for n in last)
        fitting = [pair for pair in pairs if all(map(operator.ge, pair.model.shape, shape))]
        total = sections(rng, pairs[-1], shape)
        for _ in range(rng.randint(0, 3)):
            total = Pair(*map(operator.add, total, sections(rng, rng.choice(fitting), shape)))
        target = sections(rng, rng.choice(fitting), shape)
        for x, value in zip(target, total, strict=True):
            x[...] = value
        pairs.append(Pair(*(x % 1000 for x in total)))
    collectively(all(pair.array.gather().tolist() == pair.model.tolist() for pair in pairs), f"seed {seed}")


def sections(rng: random.Random, pair: Pair, shape: tuple[int, ...]) -> Pair:
    """A section of a pair, with this shape."""
    key = tuple(map(functools.partial(random_section, rng), pair.model.shape, shape))
    return Pair(*(x[key] for x in pair))
