"""Statements that work element by element: ufuncs, operators, assignments, reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgaspy as pg
from tests.campaign.rows import Row
from tests.campaign.writing import Refused, Writer, is_defined, key_text, owner
from tests.randomly import castable, random_key, random_section

__all__ = ["ROWS", "error_of_sums", "rounding"]

EXACT = {
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.floor_divide,
    np.remainder, np.fmod, np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.bitwise_xor, np.bitwise_and, np.bitwise_or,
    np.copysign, np.gcd, np.lcm, np.negative, np.positive, np.absolute, np.fabs, np.square, np.sqrt, np.sign,
    np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.invert, np.conjugate, np.reciprocal,
    np.signbit, np.nextafter, np.spacing, np.ldexp, np.frexp, np.modf, np.divmod, np.heaviside, np.left_shift,
    np.right_shift, np.bitwise_count,
}  # fmt: skip
"""Ufuncs whose real results are NumPy's to the bit."""

LIPSCHITZ = {np.add, np.subtract, np.negative, np.positive, np.absolute, np.conjugate}
"""Those whose result is off by no more than their operands together."""

CHOOSING = {np.maximum, np.minimum, np.fmax, np.fmin}
"""Of two zeros, these take either."""

UFUNCS = {name: x for name, x in vars(pg).items() if isinstance(x, np.ufunc) and x.signature is None}
POWERS = ("power", "pow", "float_power")
TWO_OUTPUTS = tuple(name for name, x in UFUNCS.items() if x.nout == 2)
PLAIN = tuple(name for name, x in UFUNCS.items() if x.nout == 1 and name not in POWERS and name != "isnat")
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>",
    "and": "&", "or": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
FUNCTION_OF = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
               "mod": "remainder", "lshift": "left_shift", "rshift": "right_shift"}
UNARY_OPERATORS = {"neg": ("-", np.negative), "pos": ("+", np.positive), "invert": ("~", np.invert)}
REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor")
REDUCTIONS = ("sum", "prod", "min", "max", "mean", "std", "var", "any", "all", "argmin", "argmax")
SIGNS = (np.copysign, np.signbit)
INCOMPLETE = (np.isfinite, np.isinf, np.isnan, np.signbit)  # NumPy 2.4 does not store all that they give, by `out`
NUMBERS = ("2", "-3", "0.5", "3", "True", "1.5j")


def rounding(*found: Any, factor: float = 64.0) -> float:
    """The error of a computed result: of some units in the last place of the largest number."""
    largest, eps = 1.0, 0.0
    for x in map(np.asarray, found):
        if x.dtype.kind in "fc":
            eps = max(eps, float(np.finfo(x.dtype).eps))
        with np.errstate(all="ignore"):
            size = np.abs(x.astype(complex))
            largest = max(largest, float(size[np.isfinite(size)].max(initial=0.0)))
    return factor * eps * largest


def tolerance_of(writer: Writer, function: Any, operands: list[str], results: tuple[Any, ...]) -> float:
    """The error that results of a ufunc may have."""
    given = writer.tolerance(*operands)
    values = [writer.value(x) for x in operands]
    is_exact = function in EXACT and all(x.dtype.kind != "c" for x in (*results, *values))
    return given + (0.0 if is_exact and not given else rounding(*results, *(values if "c" in [
        x.dtype.kind for x in (*results, *values)] else ())))


def check_defined(writer: Writer, function: Any, operands: list[str]) -> None:
    """Refuse what systems do differently."""
    values = [writer.value(x) for x in operands]
    if function in SIGNS and any(np.isnan(x).any() for x in values if x.dtype.kind in "fc"):
        raise Refused
    if function is np.frexp and not np.isfinite(values[0]).all():
        raise Refused
    if not all(map(is_defined, values)):
        raise Refused


def operands_of(writer: Writer, function: Any) -> list[str]:
    exact = function not in LIPSCHITZ
    operands = [writer.pick(exact=exact)]
    if function.nin == 2:
        kinds = "iub" if function is np.ldexp else "fciub"
        operands.append(writer.operand(writer.value(operands[0]).shape, kinds, exact))
        if function is not np.ldexp and writer.rng.random() < 0.3:
            operands.reverse()
    return operands


def _ufunc(writer: Writer, name: str) -> None:
    function, rng = UFUNCS[name], writer.rng
    operands = operands_of(writer, function)
    check_defined(writer, function, operands)
    call = f"{rng.choice(('pg', 'pg', 'np'))}.{name}" if hasattr(np, name) else f"pg.{name}"
    kind = rng.random()
    if kind < 0.55 or (function.nin == 1 and kind > 0.8):
        text = f"{call}({', '.join(operands)})"
    elif kind < 0.8:
        _ufunc_into(writer, function, call, operands)
        return
    else:
        _ufunc_method(writer, function, call, operands)
        return
    _bind_result(writer, function, text, operands)


def _bind_result(writer: Writer, function: Any, text: str, operands: list[str]) -> None:
    try:
        result = writer.peek(text)
    except Exception:
        writer.bind(text)
        return
    writer.bind(text, tolerance_of(writer, function, operands, (result,)),
                is_ambiguous=function in CHOOSING or function not in EXACT)


def _ufunc_into(writer: Writer, function: Any, call: str, operands: list[str]) -> None:
    """`out=`, with and without `where=`."""
    target = writer.pick_target()
    shape = writer.value(target).shape
    if function in INCOMPLETE:
        raise Refused
    operands = [writer.operand(shape, "iub" if function is np.ldexp and k else "fciub", function not in LIPSCHITZ)
                for k in range(function.nin)]
    check_defined(writer, function, operands)
    where = ""
    if writer.rng.random() < 0.5:
        where = f", where={writer.values(shape, '?')}"
        if writer.rng.random() < 0.5:
            where = f", where=pg.array({where[8:]}{writer.layout(len(shape))[0]})"
        if any(np.may_share_memory(writer.value(x), writer.value(target)) for x in operands):
            raise Refused  # NumPy writes to what is masked where it casts to an operand's own memory
    _write(writer, target, f"{call}({', '.join(operands)})", f"{call}({', '.join(operands)}, out={target}{where})",
           function, operands)


def _write(writer: Writer, target: str, expression: str, text: str, function: Any, operands: list[str]) -> None:
    """Write a line that writes to a target what an expression gives."""
    value = writer.value(target)
    try:
        result = np.asarray(writer.peek(expression))
    except Exception:
        writer.say(text)
        return
    tolerance = tolerance_of(writer, function, operands, (result, value))
    if not is_defined(result) or (tolerance and value.dtype.kind not in "fc"):
        raise Refused
    known = writer.tolerances.get(id(owner(value)), 0.0)
    if writer.say(text):
        writer.tolerate(target, known + tolerance + (rounding(value) if tolerance or known else 0.0))
        writer.settle(target, function in CHOOSING or function not in EXACT)


def _ufunc_method(writer: Writer, function: Any, call: str, operands: list[str]) -> None:
    first = writer.value(operands[0])
    if writer.rng.random() < 0.5 and function in (np.add, np.maximum, np.minimum, np.logical_or, np.logical_and):
        x = writer.pick(1, kinds="fiub")
        name = {np.add: "sum"}.get(function, "max")
        _bind_reduction(writer, name, f"{call}.reduce({x}, {writer.rng.randrange(writer.value(x).ndim)})", x, {})
    elif first.size * np.size(writer.value(operands[-1])) < 5000:
        _bind_result(writer, function, f"{call}.outer({', '.join(operands)})", operands)


def _two_outputs(writer: Writer, name: str) -> None:
    function = UFUNCS[name]
    operands = operands_of(writer, function)
    check_defined(writer, function, operands)
    text = f"pg.{name}({', '.join(operands)})"
    try:
        writer.peek(text)
    except Exception:
        writer.say(text)
        return
    pair = writer.name("p")
    writer.say(f"{pair} = {text}")
    for k in (0, 1):
        writer.bind(f"{pair}[{k}].copy()", is_ambiguous=True)
    writer.say(f"del {pair}")


def _power(writer: Writer, name: str) -> None:
    x = writer.pick(kinds="fciu")
    kind = writer.value(x).dtype.kind
    exponent = writer.rng.choice(("2", "3", "1", "0") if kind in "iu" else ("2", "0.5", "-1", "1", "3", "-2.0", "1.5"))
    if name.startswith("array"):
        text = f"{x} ** {exponent}" if name == "array.__pow__" else f"2 ** {writer.pick(kinds='fu')}"
    else:
        text = f"pg.{name}({x}, {exponent})"
    _bind_result(writer, np.power, text, [x])


def _binary_operator(writer: Writer, name: str) -> None:
    stem = name.removeprefix("array.__").removesuffix("__")
    is_reflected = stem[0] == "r" and stem[1:] in REFLECTED and stem not in OPERATORS
    stem = stem[1:] if is_reflected else stem
    function = getattr(np, FUNCTION_OF.get(stem, {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                                                  "lt": "less", "le": "less_equal", "gt": "greater",
                                                  "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}.get(
                                                      stem, stem)))
    exact = function not in LIPSCHITZ
    kinds = "iub" if stem in ("lshift", "rshift", "and", "or", "xor") and writer.rng.random() < 0.9 else "fciub"
    x = writer.pick(kinds=kinds, exact=exact)
    y = writer.rng.choice(("1", "2", "3") if stem.endswith("shift") else NUMBERS) if is_reflected else writer.operand(
        writer.value(x).shape, kinds, exact)
    operands = [y, x] if is_reflected else [x, y]
    check_defined(writer, function, operands)
    _bind_result(writer, function, f" {OPERATORS[stem]} ".join(operands), operands)


def _in_place(writer: Writer, name: str) -> None:
    stem = name.removeprefix("array.__i").removesuffix("__")
    target = writer.pick_target()
    value = writer.value(target)
    if stem == "pow":
        function, symbol = np.power, "**"
        y = writer.rng.choice(("2", "3", "1") if value.dtype.kind in "iub" else ("2", "0.5", "-1", "1", "3"))
    else:
        function = getattr(np, FUNCTION_OF.get(stem, {"and": "bitwise_and", "or": "bitwise_or",
                                                      "xor": "bitwise_xor"}.get(stem, stem)))
        symbol = OPERATORS[stem]
        kinds = "iub" if stem in ("lshift", "rshift", "and", "or", "xor") else "fciub"
        y = writer.operand(value.shape, kinds, function not in LIPSCHITZ)
    if function not in LIPSCHITZ and writer.tolerance(target):
        raise Refused
    check_defined(writer, function, [target, y])
    place = target if target.isidentifier() and writer.rng.random() < 0.5 else f"{target}[...]"
    _write(writer, target, f"{target} {symbol} {y}", f"{place} {symbol}= {y}", function, [target, y])


def _unary_operator(writer: Writer, name: str) -> None:
    stem = name.removeprefix("array.__").removesuffix("__")
    symbol, function = UNARY_OPERATORS.get(stem, ("", np.absolute))
    x = writer.pick(exact=function not in LIPSCHITZ)
    check_defined(writer, function, [x])
    _bind_result(writer, function, f"abs({x})" if not symbol else f"{symbol}{x}", [x])


def _divmod_operator(writer: Writer, name: str) -> None:
    x = writer.pick(kinds="fiu")
    pair = writer.name("p")
    writer.say(f"{pair} = divmod({x}, 3)" if name == "array.__divmod__" else f"{pair} = divmod(7, {x})")
    for k in (0, 1):
        writer.bind(f"{pair}[{k}].copy()", is_ambiguous=True)
    writer.say(f"del {pair}")


def _assign(writer: Writer, name: str) -> None:
    """Any section takes what fits into it; also one of the same array, with overlap."""
    rng = writer.rng
    target = writer.pick_target()
    value = writer.value(target)
    if name == "array.fill":
        writer.say(f"{target}.fill({rng.choice(('1', '0', 'True', '2'))})")
        return
    if rng.random() < 0.4 and value.ndim:
        lengths = [rng.randint(0, n) for n in value.shape]
        keys = [tuple(random_section(rng, m, n) for m, n in zip(value.shape, lengths, strict=True)) for _ in range(2)]
        text = f"{target}[{key_text(keys[0])}] = {target}[{key_text(keys[1])}]"
        writer.say(text)
        return
    key = random_key(rng, value.shape)
    section = f"{target}[{key_text(key)}]"
    operand = writer.operand(writer.value(section).shape, exact=value.dtype.kind not in "fc")
    if rng.random() < 0.3:
        operand = f"{operand} * 0.5"
    source = writer.peek(operand)
    if not castable(source, value.dtype) or not is_defined(np.asarray(source)):
        raise Refused
    writer.say(f"{section} = {operand}")
    owner_id = id(owner(value))
    tolerance = max(writer.tolerances.get(owner_id, 0.0), writer.tolerance(operand.removesuffix(" * 0.5")))
    writer.tolerances[owner_id] = tolerance + (rounding(value) if tolerance else 0.0)


def _loop(writer: Writer, name: str) -> None:
    """Many statements on small sections, in one flush or in several; sweeps of a stencil."""
    rng = writer.rng
    x = writer.pick(1, kinds="f", whole=True)
    value = writer.value(x)
    if not value.flags.writeable or min(value.shape) < 2:
        raise Refused
    d = rng.randrange(value.ndim)
    n, lead = value.shape[d], ":, " * d
    if name == "[sections]":
        k = rng.randint(5, 120)
        writer.say(rng.choice((
            f"for i in range({k}): {x}[{lead}i % {n}] = ({x}[{lead}i % {n}] + {x}[{lead}(3 * i + 1) % {n}]) * 0.5",
            f"for i in range({k}): {x}[{lead}i % {n}] -= {x}[{lead}(5 * i + 2) % {n}] * 0.25",
            f"for i in range({k}): {x}[{lead}i % {n}:] = {x}[{lead}:{n} - i % {n}] * 1.0")))
    elif n > 2:
        s, left, right = (f"{x}[{lead}{k}]" for k in ("1:-1", ":-2", "2:"))
        writer.say(rng.choice((
            f"for i in range({rng.randint(1, 6)}): {s} = 0.25 * ({left} + {right}) + 0.5 * {s}",
            f"for i in range({rng.randint(1, 6)}): {s} += 0.5 * ({left} - {s})",
            f"for i in range({rng.randint(1, 4)}): {s} = pg.maximum({left}, {right}) - 0.5 * {s}")))
    writer.settle(x)


def _dead(writer: Writer, name: str) -> None:
    """What nobody reads."""
    x = writer.pick(kinds="fiu", exact=False)
    where = writer.layout(writer.value(x).ndim)[0]
    writer.say(writer.rng.choice((f"{x} * 2", f"({x} * 2 + pg.array({x}{where})).sum()", f"pg.array({x}{where})",
                                  f"{x} + 1")))


def _where(writer: Writer, name: str) -> None:
    x = writer.pick(exact=False)
    shape = writer.value(x).shape
    y = writer.operand(shape, exact=False)
    if y in ("-3", "2", "0") and writer.value(x).dtype.kind == "u":
        raise Refused  # NumPy's where lets negative numbers wrap around
    mask = writer.values(shape, "?")
    if writer.rng.random() < 0.5:
        mask = f"pg.array({mask}{writer.layout(len(shape))[0]})"
    operands = [x, y] if writer.rng.random() < 0.5 else [y, x]
    writer.bind(f"pg.where({mask}, {', '.join(operands)})", writer.tolerance(x, y))


def _clip(writer: Writer, name: str) -> None:
    x = writer.pick(kinds="fi")
    low, high = writer.rng.choice((("-2", "1"), ("None", "1"), ("0", "None"), ("0.5", "2.5")))
    call = f"{x}.clip(" if name == "array.clip" else f"pg.clip({x}, "
    writer.bind(f"{call}{low}, {high})", is_ambiguous=True)


def _component(writer: Writer, name: str) -> None:
    x = writer.pick(kinds="iu" if name == "array.view" else "fciub", exact=False)
    if name == "array.view":
        name = f"array.view('{writer.rng.choice('iu')}{writer.value(x).itemsize}')"
    text = f"{x}.{name.removeprefix('array.')}" if name.startswith("array") else f"pg.{name}({x})"
    writer.bind(f"{text}{'()' if 'conj' in name and name.startswith('array') else ''}.copy()", writer.tolerance(x))


def _reduce(writer: Writer, name: str) -> None:
    rng = writer.rng
    plain = name.removeprefix("array.")
    x = writer.pick()
    value = writer.value(x)
    if plain in ("mean", "std", "var") and 0 in value.shape:
        raise Refused  # NumPy warns of the mean of nothing
    if plain == "prod" and value.dtype.kind in "fc" and (value.itemsize < 8 or value.size > 64):
        raise Refused  # overflows or not by the order of the factors
    ndim = value.ndim
    options = {}
    if ndim and rng.random() < 0.6:
        axis: Any = rng.randrange(-ndim, ndim)
        if not plain.startswith("arg") and rng.random() < 0.3:
            axis = tuple(rng.sample(range(ndim), rng.randint(0, ndim)))
        options["axis"] = repr(axis)
    if rng.random() < 0.3:
        options["keepdims"] = "True"
    if plain in ("sum", "prod", "mean") and rng.random() < 0.2:
        options["dtype"] = repr("D" if value.dtype.kind == "c" else rng.choice("df"))
    if plain in ("std", "var") and rng.random() < 0.3:
        options["ddof"] = "1"
    if value.ndim and plain in ("sum", "max", "min", "any", "all") and value.dtype.kind in "bif" and rng.random() < 0.2:
        options["where"] = f"{x} > 0" if rng.random() < 0.5 else f"pg.array({writer.values(value.shape, '?')})"
        if plain in ("max", "min"):
            options["initial"] = "1"
    given = ", ".join(f"{key}={text}" for key, text in options.items())
    text = f"{x}.{plain}({given})" if name.startswith("array") else f"{rng.choice(('pg', 'np'))}.{plain}({x}, {given})"
    _bind_reduction(writer, plain, text, x, options)


def _bind_reduction(writer: Writer, plain: str, text: str, x: str, options: dict[str, str]) -> None:
    value = writer.value(x)
    try:
        result = np.asarray(writer.peek(text))
    except Exception:
        writer.bind(text)
        return
    if plain in ("min", "max", "any", "all", "argmin", "argmax") or result.dtype.kind in "biu":
        tolerance = 0.0
    else:
        tolerance = error_of_sums(plain, value, result)
    writer.bind(text, tolerance, is_ambiguous=True)


def error_of_sums(plain: str, value: Any, result: Any) -> float:
    """The error that a reduction by sums or products may have."""
    with np.errstate(all="ignore"):
        size = np.abs(value.astype(complex))
        size = size[np.isfinite(size)]
        largest = max(1.0, float(size.max(initial=0.0)))
    eps = float(np.finfo(result.dtype).eps)
    if plain == "prod":
        return rounding(result, factor=64.0 * max(value.size, 1))
    return 64 * eps * max(value.size, 1) * (largest**2 if plain in ("std", "var") else largest)


ROWS = (
    Row(_ufunc, PLAIN, 12),
    Row(_two_outputs, TWO_OUTPUTS, 1),
    Row(_power, (*POWERS, "array.__pow__", "array.__rpow__"), 1),
    Row(_binary_operator, (*(f"array.__{x}__" for x in OPERATORS), *(f"array.__r{x}__" for x in REFLECTED)), 6),
    Row(_in_place, tuple(f"array.__i{x}__" for x in (*REFLECTED, "pow")), 8),
    Row(_unary_operator, tuple(f"array.__{x}__" for x in (*UNARY_OPERATORS, "abs")), 1),
    Row(_divmod_operator, ("array.__divmod__", "array.__rdivmod__"), 0.5),
    Row(_assign, ("array.__setitem__", "array.__setitem__", "array.__setitem__", "array.fill"), 10),
    Row(_loop, ("[sections]", "[stencil]"), 3),
    Row(_dead, ("[dead]",), 1.5),
    Row(_where, ("where",), 1.5),
    Row(_clip, ("clip", "array.clip"), 1),
    Row(_component, ("real", "imag", "array.real", "array.imag", "array.conj", "array.conjugate",
                     "array.view"), 1),
    Row(_reduce, (*REDUCTIONS, *(f"array.{x}" for x in REDUCTIONS)), 6),
)
