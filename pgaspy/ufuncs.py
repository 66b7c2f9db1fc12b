"""Ufuncs: turn the call of a NumPy ufunc on global arrays into a recorded elementwise operation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from pgaspy import _calls
from pgaspy.execution.recording import is_alone, is_executing, was_admitted
from pgaspy.immediate import computed, is_computed_in_place, is_handed
from pgaspy.operands import PARTS_FROM_BYTES, WEAK, as_numpy, described, with_parts
from pgaspy.originals import tell
from pgaspy.planning.view import joint_shape
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.kinds.statement import Statement
from pgaspy.scheduling.operations import BaseView
from pgaspy.statements import (
    COMPARISONS,
    check_numbers,
    check_writable,
    depends_on_values,
    known_calls,
    loop_dtypes,
    new_statement,
    record_assignment,
    record_statement,
    record_statement_into,
    refusals,
    statement_for,
    statement_into,
)

__all__ = ["apply", "apply_in_place", "apply_known", "apply_operator", "check_target", "record_in_place",
           "record_operator"]


def apply(ufunc: AnyFunction, inputs: Sequence[Any], out: tuple[Any, ...] = (), where: Any = True, dtype: Any = None,
          casting: str = "same_kind", make: Any = None) -> Any:
    """`ufunc(*inputs)` by the owner of the output; returns what `make` makes of the output's base and view.

    Raises
    ------
    TypeError
        As NumPy does: if the ufunc has no loop for the dtypes, or a result cannot be cast to `out`; and for results
        of object dtype.
    ValueError
        If the operands do not broadcast, or not to the shape of `out`.
    """
    if ufunc in COMPARISONS:
        inputs = _within_range(inputs)
    bases, descriptions = [], []
    if not hasattr(where, "dtype"):
        where = where is True or as_numpy(where, bool)
    operands = inputs if where is True else (*inputs, where)
    for x in operands:
        if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES:
            operands = with_parts(operands, out[0]._view if len(out) == 1 and hasattr(out[0], "_view") else None)
            break
    for x in operands:
        base, description = described(x)
        bases.append(base)
        descriptions.append(description)
    if casting == "unsafe":
        _refuse_casts_of_text(ufunc, descriptions, out, where is not True, dtype)
    if ufunc in refusals:
        targets = [getattr(target, "dtype", None) for target in out] or (None,)
        try:
            loop = loop_dtypes(ufunc, descriptions, targets, where is not True, dtype, casting)
        except TypeError:
            check_numbers(ufunc, bases, descriptions, where is not True)
            raise
        refusals[ufunc](inputs, where, loop)
    if out and any(x is not None for x in out):
        if ufunc.nout == 1:
            is_plain = where is True and dtype is None and casting == "same_kind"
            return _apply_into_one(ufunc, bases, descriptions, out[0], where is not True, dtype, casting,
                                   inputs if is_plain else ())
        return _apply_into(ufunc, bases, descriptions, out, where is not True, dtype, casting, make)
    return _results(statement_for(ufunc, descriptions, where is not True, dtype, casting), bases, make)


def _refuse_casts_of_text(ufunc: AnyFunction, descriptions: Sequence[Any], out: tuple[Any, ...], has_mask: bool,
                          dtype: Any) -> None:
    """Raise TypeError where a function would cast text to something else, which fails for some, as it is executed."""
    given = [d[1] if isinstance(d, tuple) else d if isinstance(d, np.dtype) else None for d in descriptions]
    targets = [getattr(target, "dtype", None) for target in out or [None] * ufunc.nout]
    if not any(own is not None and own.kind in "SU" for own in (*given, *targets)):
        return
    loop = loop_dtypes(ufunc, descriptions, targets, has_mask, dtype, "unsafe")
    for own, taken in zip((*given, *targets), loop, strict=True):
        if own is not None and (own.kind in "SU") != (taken.kind in "SU"):
            raise TypeError(f"{ufunc.__name__}() casts neither text nor to text, as from {own} to {taken}: use astype")


def _results(statement: Statement, bases: Sequence[Any], make: Any) -> Any:
    """Record a statement whose results are new arrays, and make something of these."""
    view = statement.result
    outputs = tuple([Base(view.layout, dtype) for dtype in statement.output_dtypes])
    record_statement(statement, outputs, bases)
    return make(outputs[0], view) if len(outputs) == 1 else tuple([make(base, view) for base in outputs])


def apply_operator(ufunc: np.ufunc, make: Any, x: Any, y: Any = None, number: complex | None = None,
                   is_first: bool = False) -> Any:
    """`apply` for a global array; and another one, or a Python number, which may be the first operand.

    Operators have to cost next to nothing, and so are among the `known_calls`; on several processes, most do not come
    here, but are done in C (see `_calls`).
    """
    key: tuple[Any, ...]
    if y is not None:
        key = ufunc, id(x._view), x._base.dtype, id(y._view), y._base.dtype
    else:
        key = ufunc, id(x._view), x._base.dtype, number.__class__, is_first
    found = known_calls[key]
    if found is not None:
        return _calls.recorded(found, x, y, number)
    if is_executing() and (result := computed(key, ufunc, x, y, number, is_first)) is not None:
        return make(*result)
    inputs = (x, y) if y is not None else (x,) if number is None else (number, x) if is_first else (x, number)
    return record_operator(key, ufunc, inputs, make)


def record_operator(key: Any, ufunc: AnyFunction, inputs: tuple[Any, ...], make: Any) -> Any:
    """`apply`, and have it found again, if nothing depends on a number's value.

    Known are the statement, the output's view, layout and dtype, what is made of it, and the dtype of a number.
    """
    bases, descriptions = zip(*map(described, inputs), strict=True)
    if depends_on_values(ufunc, descriptions):
        return apply(ufunc, inputs, make=make)
    statement = statement_for(ufunc, descriptions, False, None, "same_kind")
    statement.is_cold = not was_admitted(key)
    result = _results(statement, bases, make)
    if len(statement.written) == 1 and not statement.is_cold and len(_number_dtypes(statement)) < 2:
        view, dtype = statement.result, statement.output_dtypes[0]
        known_calls.keep(key, (statement, view, view.layout, dtype, type(result), _number_dtype(statement),
                               descriptions))
    return result


def apply_known(function: AnyFunction, inputs: tuple[Any, ...], make: Any) -> Any:
    """`apply`; of global arrays and Python numbers of one dtype, `_calls.known_result` finds it again."""
    if not _are_plain(inputs):
        return apply(function, inputs, make=make)
    return record_operator(_key_of(function, inputs), function, inputs, make)


def _are_plain(inputs: Sequence[Any]) -> bool:
    """Whether they are global arrays and Python numbers; and whether there are any."""
    return bool(inputs) and all(hasattr(x, "_view") or x.__class__ in WEAK for x in inputs)


def _key_of(function: AnyFunction, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """What a function of such operands is known by."""
    key = [(id(x._view), x._base.dtype) if hasattr(x, "_view") else (x.__class__, None) for x in inputs]
    return function, *itertools.chain.from_iterable(key)


def apply_in_place(ufunc: np.ufunc, x: Any, y: Any = None, number: complex | None = None) -> None:
    """`apply` of a global array and another one, or a Python number, into the first."""
    if x._base.original is not None:
        tell(x._base)
    other = number if y is None else y
    key = _key_in_place(ufunc, x, other)
    found = known_calls[key]
    if found is not None:
        _calls.record_in_place(found, x, y, number)
        return
    if x._view.is_read_only:
        check_writable(x._view)
    if not (is_executing() and is_computed_in_place(key, ufunc, x, y, number)):
        record_in_place(ufunc, x, other)


def _key_in_place(ufunc: np.ufunc, x: Any, other: Any) -> tuple[Any, ...]:
    base, key = x._base, (ufunc, id(x._view), x._base.dtype)
    if not hasattr(other, "_view"):
        return *key, other.__class__
    return *key, id(other._view), other._base.dtype, other._base is base


def record_in_place(ufunc: np.ufunc, x: Any, other: Any) -> None:
    """`apply` into the first operand, and have it found again, if nothing depends on a number's value."""
    key, inputs = _key_in_place(ufunc, x, other), (x, other)
    (base, other_base), descriptions = zip(*map(described, inputs), strict=True)
    if depends_on_values(ufunc, descriptions):
        apply(ufunc, inputs, out=inputs[:1])
        return
    check_target(x)
    if hasattr(other, "_view") and not is_alone() and is_executing() and is_handed(key, ufunc, x, other):
        return
    statement = statement_into((ufunc, None, "same_kind"), [base, other_base], descriptions, base, x._view)
    statement.is_cold = not was_admitted(key)
    record_statement_into(statement, [base, other_base], base)
    _keep_into(key, statement, descriptions)


def _number_dtype(statement: Statement) -> np.dtype[Any]:
    """What operands of a statement that are numbers, all of one dtype, are taken as."""
    return next(iter(_number_dtypes(statement)), statement.output_dtypes[0])


def _number_dtypes(statement: Statement) -> set[np.dtype[Any]]:
    """The dtypes of operands that are numbers."""
    loop = zip(statement.operands, statement.loop_dtypes, strict=False)
    return {dtype for view, dtype in loop if view is None}


def _within_range(inputs: Sequence[Any]) -> Sequence[Any]:
    """The operands of a comparison, where a Python integer beyond the other's dtype compares as an infinity does."""
    integers = [x.dtype for x in inputs if hasattr(x, "dtype") and x.dtype.kind in "iu"]
    if len(inputs) != 2 or len(integers) != 1:
        return inputs
    info = np.iinfo(integers[0])
    return [(math.inf if x > 0 else -math.inf) if isinstance(x, int) and not info.min <= x <= info.max else x
            for x in inputs]


def _apply_into_one(ufunc: AnyFunction, bases: list[Any], descriptions: list[Any], out: Any, has_mask: bool, dtype: Any,
                    casting: str, known_by: Sequence[Any]) -> Any:
    """The call with `out=`, straight into it; inputs by which it is known are those of a call without other options."""
    check_target(out, is_assigned=True)
    with out._written() as target:
        base, view = target._base, target._view
        statement = statement_into((ufunc, dtype, casting), bases, descriptions, base, view, has_mask)
        record_statement_into(statement, bases, base)
    if target is out and _are_plain(known_by) and not depends_on_values(ufunc, descriptions):
        are_same = [k < len(bases) and bases[k] is base for k in range(2)]
        _keep_into((_key_of(ufunc, known_by), id(view), base.dtype, *are_same), statement, (view, *descriptions))
    return out


def _keep_into(key: tuple[Any, ...], statement: Statement, held: Sequence[Any]) -> None:
    """Have a statement into an array found again, with the dtype of a number; views in its key have to be held."""
    if statement.written[0].has_own_layout and not statement.is_cold:
        known_calls.keep(key, (statement, _number_dtype(statement), held))


def _apply_into(ufunc: AnyFunction, bases: list[Any], descriptions: list[Any], out: tuple[Any, ...], has_mask: bool,
                dtype: Any, casting: str, make: Any) -> Any:
    """The call with several outputs of which some are given, by way of new arrays."""
    for target in out:
        if target is not None:
            check_target(target, is_assigned=True)
    given = [t for t in out if t is not None]
    loop_dtypes(ufunc, descriptions, [None if t is None else t.dtype for t in out], has_mask, dtype, casting)
    _check_apart(given)
    statement = new_statement(ufunc, descriptions, has_mask, dtype, casting, _shape_of(given))
    statement = replace(statement, output_dtypes=tuple([
        own if target is None else target.dtype for target, own in zip(out, statement.output_dtypes, strict=True)]))
    outputs = [BaseView(Base(statement.result.layout, dtype), statement.result) for dtype in statement.output_dtypes]
    with ExitStack() as stack:
        targets = [None if target is None else stack.enter_context(target._written()) for target in out]
        pairs = [(BaseView(target._base, target._view), output)
                 for target, output in zip(targets, outputs, strict=True) if target is not None]
        if has_mask:  # where it is false, what was there stays
            for target, output in pairs:
                record_assignment(output, target)
        record_statement(statement, tuple([output.base for output in outputs]), bases)
        for target, output in pairs:
            record_assignment(target, output)
    return tuple([make(*output) if target is None else target for target, output in zip(out, outputs, strict=True)])


def _shape_of(outputs: Sequence[Any]) -> tuple[int, ...]:
    """The one shape of outputs.

    Raises
    ------
    ValueError
        If they have several.
    """
    shape = joint_shape(*[x.shape for x in outputs])
    for x in outputs:
        if x.shape != shape:
            raise ValueError(f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast "
                             f"shape {shape}")
    return shape


def check_target(target: Any, is_assigned: bool = False) -> None:
    """Refuse what `out=` cannot be, and the assignment to a number.

    Parameters
    ----------
    is_assigned
        It is going to be assigned to by `target[...] = x`, not written to in its base.

    Raises
    ------
    TypeError
        If it is no global array, or a number.
    ValueError
        If it has no base that can be written to.
    """
    if not hasattr(target, "_view"):
        raise TypeError(f"out= takes global arrays, not {type(target).__name__} (of x += A, x is that): the result of "
                        "an operation on global arrays is distributed, and A.gather() gives all of an array A")
    if target._is_number:
        raise TypeError("a number does not support assignment: assign to an array, as by A[i, j] = x; A[i, j, ...] is "
                        "one without dimensions")
    if target._view.is_read_only:
        check_writable(target._view)
    if not target._refusal:
        if target._base.original is not None:
            tell(target._base)
    elif not is_assigned:
        raise ValueError(target._refusal)


def _check_apart(outputs: Sequence[Any]) -> None:
    """Refuse outputs that share elements: what NumPy leaves there depends on the function, the dtypes and the length.

    Raises
    ------
    ValueError
        If any two do.
    """
    for x, y in itertools.combinations(outputs, 2):
        if x._base is y._base and x._view.shares(y._view):
            raise ValueError("two arrays of out= share elements: give each result elements of its own")
