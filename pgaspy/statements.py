"""Statements, worked out once for the views and dtypes of their operands and found again, and assignments: recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pgaspy.caches import Cache, cached
from pgaspy.execution.recording import record_cold
from pgaspy.execution.tiers import when_disturbed
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import World, when_started
from pgaspy.operands import PARTS_FROM_BYTES, check_dtype, described, with_parts
from pgaspy.planning.result_layout import result_layout, result_view
from pgaspy.planning.view import View, in_memory_order, joint_shape, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.floating_point import as_asked
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.kinds.assignment import Assign, assign
from pgaspy.scheduling.kinds.statement import Statement
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView

__all__ = ["COMPARISONS", "broadcast", "check_numbers", "check_writable", "depends_on_values", "elementwise_copy",
           "known_calls", "loop_dtypes", "new_statement", "record_assignment", "record_into", "record_statement",
           "record_statement_into", "refusals", "statement_for", "statement_into"]

refusals: dict[AnyFunction | None, Callable[..., None]] = {}
"""What raises on all processes for some values, before it is recorded: a ufunc's by its inputs, mask and loop's dtypes;
that of a copy (None) by base, view and dtype."""

known_calls = Cache()
"""Operators, assignments and full reductions, found again by the views themselves, not by what these are equal to.

Keys have the views' ids; entries have the views, so that their ids stay theirs.
"""

when_disturbed.append(known_calls.forget)

_statements = Cache()


def _forget(job: World) -> None:
    """Forget where results lie: another job may have another default layout."""
    known_calls.forget()
    _statements.forget()


when_started.append(_forget)


def statement_for(ufunc: AnyFunction, descriptions: Sequence[Any], has_mask: bool, dtype: Any,
                  casting: str) -> Statement:
    """The statement of a call, by what `described` says of its operands."""
    key = (ufunc, dtype, casting, has_mask, *descriptions)
    statement: Statement | None = _statements[key]
    if statement is None:
        statement = new_statement(ufunc, descriptions, has_mask, dtype, casting)
        _statements.keep(key, statement)
    return statement


def new_statement(ufunc: AnyFunction, descriptions: Sequence[Any], has_mask: bool, dtype: Any,
                  casting: str, shape: tuple[int, ...] | None = None) -> Statement:
    """Work out a call whose results are new arrays; their shape may be given."""
    loop = loop_dtypes(ufunc, descriptions, (None,) * ufunc.nout, has_mask, dtype, casting)
    views, shape = broadcast(descriptions, shape)
    arrays = [v for v in views if v is not None]
    result = result_view(shape, arrays, default_for)
    written, operands = in_memory_order(result, views)
    output_dtypes = tuple(map(_canonical, loop[len(descriptions):]))
    for found in output_dtypes:
        check_dtype(found)
    return Statement(ufunc, (written,) * ufunc.nout, result, tuple(operands), _dtypes(descriptions), loop,
                     output_dtypes, (False,) * len(arrays), has_mask)


def _canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of C's integers of one size, that which NumPy makes by default, and which has kernels."""
    return np.dtype(dtype.str) if dtype.kind in "iu" else dtype


def broadcast(descriptions: Sequence[Any], shape: tuple[int, ...] | None = None) -> tuple[
        tuple[View | None, ...], tuple[int, ...]]:
    """The operands' views in their joint shape, None for scalars; and that shape, which may be given.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    views = [d[0] if isinstance(d, tuple) else None for d in descriptions]
    shapes = [view.shape for view in views if view is not None]
    try:
        joint = joint_shape(*shapes, *([] if shape is None else [shape]))
    except ValueError:
        raise ValueError(f"operands could not be broadcast together with shapes {' '.join(map(str, shapes))}"
                         + ("" if shape is None else f" into shape {shape}")) from None
    if shape is not None and joint != shape:
        raise ValueError(f"non-broadcastable output operand with shape {shape} doesn't match the broadcast "
                         f"shape {joint}")
    return tuple(None if v is None else v.broadcast_to(joint) for v in views), joint


def _dtypes(descriptions: Sequence[Any]) -> tuple[np.dtype[Any] | None, ...]:
    return tuple(d[1] if isinstance(d, tuple) else None for d in descriptions)


def loop_dtypes(ufunc: AnyFunction, descriptions: Sequence[Any], outputs: Sequence[np.dtype[Any] | None],
                has_mask: bool, dtype: Any, casting: str) -> tuple[np.dtype[Any], ...]:
    """The dtypes that NumPy would compute with, inputs (and the mask) first."""
    inputs = [d[1] if isinstance(d, tuple) else d for d in descriptions]
    mask = []
    if has_mask:
        found = inputs.pop()
        if found not in (bool, np.dtype(bool)):
            raise TypeError(f"where= takes a boolean array, not one of dtype {found}")
        mask = [np.dtype(bool)]
    options: dict[str, Any] = {}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    if len(inputs) != ufunc.nin:
        raise TypeError(f"{ufunc.__name__}() takes {ufunc.nin} inputs, {len(inputs)} were given")
    if all(isinstance(kind, type) for kind in inputs):  # of Python's numbers alone, NumPy would compare objects
        inputs = [np.dtype(kind) for kind in inputs]
    if casting == "equiv":  # NumPy refuses numbers, and crashes when it is asked for what it would compute with
        for kind in inputs:
            if isinstance(kind, type):
                raise TypeError(f"cannot cast Python {kind.__name__} under the casting rule 'equiv'")
    resolved = ufunc.resolve_dtypes((*inputs, *outputs), casting=casting, **options)  # type: ignore[arg-type]
    for found in resolved:
        check_dtype(found)
    return (*resolved[: ufunc.nin], *mask, *resolved[ufunc.nin:])


def check_numbers(ufunc: AnyFunction, numbers: Sequence[Any], descriptions: Sequence[Any], has_mask: bool) -> None:
    """Of a call that is refused, raise what NumPy raises before: OverflowError for an integer that is too large."""
    taken = loop_dtypes(ufunc, descriptions, (None,) * ufunc.nout, has_mask, None, "same_kind")
    for number, dtype in zip(numbers, taken, strict=False):
        if isinstance(number, int):
            np.empty((), dtype)[()] = number


COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
"""Where the value of an integer decides what is computed with integers."""


def depends_on_values(ufunc: AnyFunction, descriptions: Sequence[Any]) -> bool:
    """Whether a number's value decides what is computed of operands that are described so, or whether anything is."""
    if ufunc not in COMPARISONS and ufunc not in refusals:
        return False
    are_integers = [d is int or (isinstance(d, tuple) and d[1].kind in "iub") for d in descriptions]
    return all(are_integers) and (ufunc in refusals or int in descriptions)


def record_statement(statement: Statement, outputs: tuple[Base, ...], operands: Sequence[Any]) -> None:
    """Record a statement; its scalars become 0-d arrays of the loop's dtype (too large a one raises, as in NumPy)."""
    storages = [base.storage for base in outputs]
    scalars = []
    for operand, view, dtype in zip(operands, statement.operands, statement.loop_dtypes, strict=False):
        if view is not None:
            storages.append(operand.storage)
        else:
            scalars.append(Scalar(operand, dtype))
    record_cold(statement, tuple(storages), tuple(scalars))


def record_into(call: tuple[Any, Any, str] | None, bases: Sequence[Any], descriptions: Sequence[Any], out: Base,
                view: View, has_mask: bool = False) -> None:
    """Record a call, (ufunc, dtype, casting) or None for a copy, into a view that the operands may overlap."""
    record_statement_into(statement_into(call, bases, descriptions, out, view, has_mask), bases, out)


def statement_into(call: tuple[Any, Any, str] | None, bases: Sequence[Any], descriptions: Sequence[Any], out: Base,
                   view: View, has_mask: bool = False) -> Statement:
    """The statement of such a call."""
    same = tuple([base is out for base in bases])
    key = (call, view, out.dtype, same, has_mask, *descriptions)
    statement: Statement | None = _statements[key]
    if statement is None:
        try:
            statement = _new_statement_into(call, same, descriptions, out, view, has_mask)
        except TypeError:
            if call is not None:
                check_numbers(call[0], bases, descriptions, has_mask)
            raise
        _statements.keep(key, statement)
    return statement


def record_statement_into(statement: Statement, bases: Sequence[Any], out: Base) -> None:
    """Record a statement into a view, by way of a new array where the view has no layout of its own."""
    if not statement.written[0].has_own_layout:
        _record_aside(statement, bases, out)
    else:
        record_statement(statement, (out,), bases)


def _new_statement_into(call: tuple[Any, Any, str] | None, same: Sequence[bool], descriptions: Sequence[Any],
                        out: Base, view: View, has_mask: bool) -> Statement:
    check_writable(view)
    function, dtype, casting = call or (None, None, "unsafe")
    if function is None:
        found = descriptions[0][1] if isinstance(descriptions[0], tuple) else out.dtype
        loop: tuple[np.dtype[Any], ...] = (found, out.dtype)
    else:
        loop = loop_dtypes(function, descriptions, (out.dtype,), has_mask, dtype, casting)
    views, _ = broadcast(descriptions, view.shape)
    if any(step < 0 for step in view.steps):
        key = view.turning_key
        view = view.index(key)
        views = tuple(None if v is None else v.index(key) for v in views)
    written, operands = in_memory_order(view, views)
    copied = tuple(is_out and v != written and not v.disjoint(written)
                   for is_out, v in zip(same, operands, strict=True) if v is not None)
    return Statement(function, (written,), view, tuple(operands), _dtypes(descriptions), loop, (out.dtype,), copied,
                     has_mask)


def _record_aside(statement: Statement, bases: Sequence[Any], out: Base) -> None:
    """Compute into a view that has no layout of its own: in a new array, which is then assigned."""
    view = statement.written[0]
    layout = result_layout(view.shape, [view], default_for)
    aside, aside_view = Base(layout, out.dtype), whole(layout)
    if statement.has_mask:
        record_assignment(BaseView(aside, aside_view), BaseView(out, view))
    record_statement(_statement_aside(statement, aside_view), (aside,), bases)
    record_assignment(BaseView(out, view), BaseView(aside, aside_view))


@cached
def _statement_aside(statement: Statement, aside: View) -> Statement:
    return replace(statement, written=(aside,), copied=(False,) * len(statement.copied))


def record_assignment(target: BaseView, source: BaseView, is_hot: bool = False) -> Assign:
    """Record `target[...] = source`, for views of one shape; the recipe."""
    (out, view), (base, from_) = target, source
    if (order := view.memory_order) is not None:
        view, from_ = view.transpose(order), from_.transpose(order)
    recipe = assign(view, from_, out.dtype, base.dtype, out is base and not view.disjoint(from_))
    if is_hot:
        recipe.is_cold = False
    record_cold(recipe, (out.storage, base.storage))
    return recipe


def elementwise_copy(out: Base, view: View, x: Any) -> None:
    """`view[...] = x` for a scalar or a NumPy array that is the same on every process, with casting."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "SU" and out.dtype.kind not in "SU":
        x = x.astype(out.dtype)  # here, as text may be no number
    if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES:
        x, = with_parts([x], view)
    base, description = described(x)
    if not isinstance(description, tuple):
        if isinstance(x, np.ndarray | np.generic):
            base = np.empty((), out.dtype)
            as_asked(operator.setitem, base, ..., x)
        else:
            base = as_asked(np.array, x, out.dtype)
        description = out.dtype
    record_into(None, [base], [description], out, view)


def check_writable(view: View) -> None:
    """Refuse to write through a view that repeats elements, or that is only read, or is one of such a view.

    Raises
    ------
    ValueError
        As NumPy does.
    """
    if view.is_read_only or any(view.shape[d] > 1 for d in view.stretched_dims):
        raise ValueError("assignment destination is read-only, as diagonals are, and what repeats elements: copy() it")
