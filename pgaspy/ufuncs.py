"""Ufuncs: turn the call of a NumPy ufunc on global arrays into a recorded elementwise operation.

What a call means (shapes, dtypes, the result's layout) is worked out once for its operands' views and dtypes, and
found again as a `Statement`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pgaspy.caches import Cache, cached
from pgaspy.execution.recording import hold, record
from pgaspy.job.defaults import default_for
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout, replicated, without_dims
from pgaspy.planning.pieces import local_indices
from pgaspy.planning.result_layout import result_layout
from pgaspy.planning.view import View, joint_shape, whole
from pgaspy.scheduling.base import Base, wrap
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.kinds.assignment import Assign, assign
from pgaspy.scheduling.kinds.statement import Statement
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import BaseView
from pgaspy.supervision.recorder import take

__all__ = ["WEAK", "apply", "apply_binary", "apply_unary", "apply_with_number", "as_base_view", "as_numpy",
           "check_dtype", "check_target", "check_writable", "elementwise_copy", "operand_from_numpy",
           "record_assignment", "record_into", "refusals"]

WEAK = (int, float, complex)
"""The classes of Python's numbers, which take the dtypes of the arrays that they meet."""

PARTS_FROM_BYTES = 1 << 16
"""Of NumPy arrays that are larger, a process copies only the part that it needs."""

_statements = Cache()


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
    if ufunc in _COMPARISONS:
        inputs = _within_range(inputs)
    bases, descriptions = [], []
    operands = inputs if where is True else (*inputs, where)
    for x in operands:
        if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES:
            operands = _with_parts(operands, out[0]._view if len(out) == 1 and hasattr(out[0], "_view") else None)
            break
    for x in operands:
        base, description = _operand(x)
        bases.append(base)
        descriptions.append(description)
    if ufunc in refusals:
        targets = [getattr(target, "dtype", None) for target in out] or (None,)
        refusals[ufunc](inputs, where, _loop_dtypes(ufunc, descriptions, targets, where is not True, dtype, casting))
    if out and any(x is not None for x in out):
        return _apply_into(ufunc, bases, descriptions, out, where is not True, dtype, casting, make)
    key = (ufunc, dtype, casting, where is True, *descriptions)
    statement: Statement | None = _statements[key]
    if statement is None:
        statement = _new_statement(ufunc, descriptions, where is not True, dtype, casting)
        _statements.keep(key, statement)
    written = statement.written
    if len(written) == 1:
        output = Base(written[0].layout, statement.output_dtypes[0])
        _record(statement, (output,), bases)
        return make(output, written[0])
    outputs = tuple([Base(view.layout, d) for view, d in zip(written, statement.output_dtypes, strict=True)])
    _record(statement, outputs, bases)
    return tuple([make(base, view) for base, view in zip(outputs, written, strict=True)])


# Operators have to cost next to nothing: they are found again by their operands' views themselves, not by what these
# are equal to.


def apply_unary(ufunc: np.ufunc, x: Any, make: Any) -> Any:
    """`apply` for a global array."""
    x_base, x_view = x._base, x._view
    key = ufunc, id(x_view), x_base.dtype
    found = _operators[key]
    if found is None:
        return _apply_first(key, ufunc, (x,), make)
    statement, view, layout, dtype, kind, _, _ = found
    base = Base(layout, dtype)
    record(statement, (base.storage, x_base.storage))
    return kind(base, view)


def apply_binary(ufunc: np.ufunc, x: Any, y: Any, make: Any) -> Any:
    """`apply` for two global arrays."""
    x_base, x_view, y_base, y_view = x._base, x._view, y._base, y._view
    key = ufunc, id(x_view), x_base.dtype, id(y_view), y_base.dtype
    found = _operators[key]
    if found is None:
        return _apply_first(key, ufunc, (x, y), make)
    statement, view, layout, dtype, kind, _, _ = found
    base = Base(layout, dtype)
    record(statement, (base.storage, x_base.storage, y_base.storage))
    return kind(base, view)


def apply_with_number(ufunc: np.ufunc, x: Any, number: complex, is_first: bool, make: Any) -> Any:
    """`apply` for a global array and a Python number, which may be the first operand."""
    x_base, x_view = x._base, x._view
    key = ufunc, id(x_view), x_base.dtype, number.__class__, is_first
    found = _operators[key]
    if found is None:
        return _apply_first(key, ufunc, (number, x) if is_first else (x, number), make)
    statement, view, layout, dtype, kind, number_dtype, _ = found
    base = Base(layout, dtype)
    record(statement, (base.storage, x_base.storage), (Scalar(number, number_dtype),))
    return kind(base, view)


def _apply_first(key: Any, ufunc: np.ufunc, inputs: tuple[Any, ...], make: Any) -> Any:
    """`apply`, and have it found again, if nothing depends on a number's value."""
    result = apply(ufunc, inputs, make=make)
    descriptions = [_operand(x)[1] for x in inputs]
    depends = ufunc in _COMPARISONS and int in descriptions and key[2].kind in "iub"
    statement = _statements[(ufunc, None, "same_kind", True, *descriptions)]
    depends = depends or (ufunc in refusals and statement is not None and statement.loop_dtypes[-1].kind == "i")
    if statement is not None and len(statement.written) == 1 and not depends:
        view, dtype = statement.written[0], statement.output_dtypes[0]
        number_dtype = next((loop for v, loop in zip(statement.operands, statement.loop_dtypes, strict=False)
                             if v is None), dtype)
        # with the operands' views, so that their ids stay theirs
        _operators.keep(key, (statement, view, view.layout, dtype, type(result), number_dtype, descriptions))
    return result


_operators = Cache()
"""The statement, the output's view, layout and dtype, what is made of it, and the dtype of a number that is given."""

_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
"""Where the value of an integer decides what is computed with integers."""

refusals: dict[AnyFunction | None, Callable[..., None]] = {}
"""What raises on all processes for some values, before it is recorded: a ufunc's by its inputs, mask and loop's dtypes;
that of a copy (None) by base, view and dtype."""


def _within_range(inputs: Sequence[Any]) -> Sequence[Any]:
    """The operands of a comparison, where a Python integer beyond the other's dtype compares as an infinity does."""
    integers = [x.dtype for x in inputs if hasattr(x, "dtype") and x.dtype.kind in "iu"]
    if len(inputs) != 2 or len(integers) != 1:
        return inputs
    info = np.iinfo(integers[0])
    return [(math.inf if x > 0 else -math.inf) if type(x) is int and not info.min <= x <= info.max else x
            for x in inputs]


def _operand(x: Any) -> tuple[Any, Any]:
    """What is operated on (a base, or a scalar's value), and what its statement depends on."""
    view = getattr(x, "_view", None)
    if view is not None:
        return x._base, (view, x._base.dtype)
    if type(x) in WEAK:
        return x, type(x)
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("masked arrays are not supported, as their masks would be lost: use where(mask, x, y)")
    x = as_numpy(x)
    check_dtype(x.dtype)
    if x.ndim == 0:
        return x, x.dtype.newbyteorder("=")
    base = operand_from_numpy(x)
    return base, (whole(base.layout), base.dtype)


def as_numpy(x: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """NumPy's array of what is the same on every process, also of sequences of numbers that are global arrays."""
    return np.asarray(_with_values(x), dtype)


def _with_values(x: Any) -> Any:
    """Sequences with NumPy's scalars in the place of numbers that are global arrays; NumPy reads these as floats."""
    if isinstance(x, list | tuple):
        may_have_any = any(issubclass(kind, list | tuple) or hasattr(kind, "_is_number") for kind in {*map(type, x)})
        return [_with_values(element) for element in x] if may_have_any else x
    return x._as_scalar() if getattr(x, "_is_number", False) else x


def operand_from_numpy(x: NDArray[Any]) -> Base:
    """A copy of a NumPy array that is the same on every process, as a replicated base."""
    default_for(())
    take(x)
    hold(x.nbytes)
    return wrap(replicated(x.shape, world().size), np.array(x, x.dtype.newbyteorder("="), order="C"))


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a NumPy array that this process needs, as `_operand` takes it."""

    _base: Base
    _view: View


def _with_parts(operands: Sequence[Any], out: View | None) -> Sequence[Any]:
    """The operands; of large NumPy arrays, each process keeps only what its part of the result needs."""
    try:
        shape = joint_shape(*[np.shape(x) if not hasattr(x, "_view") else x._view.shape for x in operands],
                            *([] if out is None else [out.shape]))
        if out is not None:
            layout = out.own_layout
        else:
            views = [x._view.broadcast_to(shape) for x in operands if hasattr(x, "_view")]
            layout = result_layout(shape, views, default_for(shape))
    except ValueError:
        return operands  # which do not go together; who works out the statement says so
    if layout is None or not layout.is_distributed:
        return operands
    return [_part_of(x, shape, layout) if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES
            and type(x) is np.ndarray and not x.dtype.hasobject and x.dtype.names is None else x for x in operands]


def _part_of(x: NDArray[Any], shape: tuple[int, ...], layout: Layout) -> _Part:
    """A copy of what this process needs of a NumPy array that is broadcast to a shape which has a layout."""
    n_new = len(shape) - x.ndim
    stretched = tuple(d for d, n in enumerate(shape) if d < n_new or (x.shape[d - n_new] == 1 and n != 1))
    layout = without_dims(layout, stretched)
    take(x)
    kept = [d for d in range(len(shape)) if d not in stretched]
    elements = x.reshape([shape[d] for d in kept])
    view, rank = whole(layout), world().rank
    if layout.holds(layout.coords_from_rank(rank)):
        for d in range(len(kept)):
            i = local_indices(view, d, rank)
            is_interval = len(i) > 0 and int(i[-1]) - int(i[0]) == len(i) - 1
            elements = elements[(slice(None),) * d + (slice(int(i[0]), int(i[-1]) + 1) if is_interval else i,)]
    else:
        elements = np.empty(layout.local_shape(rank), x.dtype)
    base = wrap(layout, np.array(elements, x.dtype.newbyteorder("="), order="C"))
    hold(base.local.nbytes)
    return _Part(base, view.index(tuple([None if d in stretched else slice(None) for d in range(len(shape))])))


def as_base_view(x: Any) -> BaseView:
    """A global array's base and view; a NumPy array that is the same on every process as a replicated base."""
    if getattr(x, "_view", None) is not None:
        return BaseView(x._base, x._view)
    x = as_numpy(x)
    check_dtype(x.dtype)
    base = operand_from_numpy(x)
    return BaseView(base, whole(base.layout))


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Refuse dtypes whose elements cannot be moved as bytes, or have no arithmetic.

    Raises
    ------
    TypeError
        For object and structured dtypes.
    """
    if dtype.hasobject:
        raise TypeError("object dtype is not supported: its elements live in one process; use a numeric dtype, or "
                        "keep such data in local() NumPy arrays")
    if dtype.names is not None or dtype.subdtype is not None:
        raise TypeError(f"structured dtype {dtype} is not supported: use one array per field")


def _new_statement(ufunc: AnyFunction, descriptions: Sequence[Any], has_mask: bool, dtype: Any,
                   casting: str) -> Statement:
    views, shape = _broadcast(descriptions)
    loop = _loop_dtypes(ufunc, descriptions, (None,) * ufunc.nout, has_mask, dtype, casting)
    layout = result_layout(shape, [v for v in views if v is not None], default_for(shape))
    output_dtypes = tuple(map(_canonical, loop[len(descriptions):]))
    for result in output_dtypes:
        check_dtype(result)
    return Statement(ufunc, (whole(layout),) * ufunc.nout, views, _dtypes(descriptions), loop, output_dtypes,
                     (False,) * sum(v is not None for v in views), has_mask)


def _canonical(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of C's integers of one size, that which NumPy makes by default, and which has kernels."""
    return np.dtype(dtype.str) if dtype.kind in "iu" else dtype


def _broadcast(descriptions: Sequence[Any], shape: tuple[int, ...] | None = None) -> tuple[
        tuple[View | None, ...], tuple[int, ...]]:
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


def _loop_dtypes(ufunc: AnyFunction, descriptions: Sequence[Any], outputs: Sequence[np.dtype[Any] | None],
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
    resolved = ufunc.resolve_dtypes((*inputs, *outputs), casting=casting, **options)  # type: ignore[arg-type]
    return (*resolved[: ufunc.nin], *mask, *resolved[ufunc.nin:])


def _record(statement: Statement, outputs: tuple[Base, ...], operands: Sequence[Any]) -> None:
    """Record a statement; its scalars become 0-d arrays of the loop's dtype (too large a one raises, as in NumPy)."""
    storages = [base.storage for base in outputs]
    scalars = []
    for operand, view, dtype in zip(operands, statement.operands, statement.loop_dtypes, strict=False):
        if view is not None:
            storages.append(operand.storage)
        else:
            scalars.append(Scalar(operand, dtype))
    record(statement, tuple(storages), tuple(scalars))


def _apply_into(ufunc: AnyFunction, bases: list[Any], descriptions: list[Any], out: tuple[Any, ...], has_mask: bool,
                dtype: Any, casting: str, make: Any) -> Any:
    """The call with `out=`: straight into it where there is one output, else by way of new arrays."""
    for target in out:
        if target is not None:
            check_target(target)
    if ufunc.nout == 1:
        target = out[0]
        record_into((ufunc, dtype, casting), bases, descriptions, target._base, target._view, has_mask)
        return target
    given = [t for t in out if t is not None]
    _loop_dtypes(ufunc, descriptions, [None if t is None else t.dtype for t in out], has_mask, dtype, casting)
    for target in given:
        _broadcast(descriptions, target.shape)
    _check_apart(given)
    statement = _new_statement(ufunc, descriptions, has_mask, dtype, casting)
    outputs = tuple(Base(view.layout, d) for view, d in zip(statement.written, statement.output_dtypes, strict=True))
    _record(statement, outputs, bases)
    results = []
    for target, base, view in zip(out, outputs, statement.written, strict=True):
        if target is not None:
            record_assignment(BaseView(target._base, target._view), BaseView(base, view))
        results.append(make(base, view) if target is None else target)
    return tuple(results)


def check_target(target: Any) -> None:
    """Refuse what `out=` cannot be, and the assignment to a number.

    Raises
    ------
    TypeError
        If it is no global array, or a number.
    """
    if not hasattr(target, "_view"):
        raise TypeError(f"out= takes global arrays, not {type(target).__name__}: the result of an operation on global "
                        "arrays is distributed")
    if target._is_number:
        raise TypeError("a number does not support assignment: assign to an array, as by A[i, j] = x; A[i, j, ...] is "
                        "one without dimensions")


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


def record_into(call: tuple[Any, Any, str] | None, bases: list[Any], descriptions: list[Any], out: Base, view: View,
                has_mask: bool = False) -> None:
    """Record a call, (ufunc, dtype, casting) or None for a copy, into a view that the operands may overlap."""
    same = tuple([base is out for base in bases])
    key = (call, view, out.dtype, same, has_mask, *descriptions)
    statement: Statement | None = _statements[key]
    if statement is None:
        statement = _new_statement_into(call, same, descriptions, out, view, has_mask)
        _statements.keep(key, statement)
    if statement.written[0].own_layout is None:
        _record_aside(statement, bases, out)
    else:
        _record(statement, (out,), bases)


def _new_statement_into(call: tuple[Any, Any, str] | None, same: Sequence[bool], descriptions: Sequence[Any],
                        out: Base, view: View, has_mask: bool) -> Statement:
    views, _ = _broadcast(descriptions, view.shape)
    check_writable(view)
    function, dtype, casting = call or (None, None, "unsafe")
    if function is None:
        found = descriptions[0][1] if isinstance(descriptions[0], tuple) else out.dtype
        loop: tuple[np.dtype[Any], ...] = (found, out.dtype)
    else:
        loop = _loop_dtypes(function, descriptions, (out.dtype,), has_mask, dtype, casting)
    if any(step < 0 for step in view.steps):
        key = view.turning_key
        view = view.index(key)
        views = tuple(None if v is None else v.index(key) for v in views)
    copied = tuple(is_out and v != view and not v.disjoint(view)
                   for is_out, v in zip(same, views, strict=True) if v is not None)
    return Statement(function, (view,), views, _dtypes(descriptions), loop, (out.dtype,), copied, has_mask)


def _record_aside(statement: Statement, bases: list[Any], out: Base) -> None:
    """Compute into a view that has no layout of its own: in a new array, which is then assigned."""
    view = statement.written[0]
    layout = result_layout(view.shape, [view], default_for(view.shape))
    aside, aside_view = Base(layout, out.dtype), whole(layout)
    if statement.has_mask:
        record_assignment(BaseView(aside, aside_view), BaseView(out, view))
    _record(_statement_aside(statement, aside_view), (aside,), bases)
    record_assignment(BaseView(out, view), BaseView(aside, aside_view))


@cached
def _statement_aside(statement: Statement, aside: View) -> Statement:
    return replace(statement, written=(aside,), copied=(False,) * len(statement.copied))


def record_assignment(target: BaseView, source: BaseView) -> Assign:
    """Record `target[...] = source`, for views of one shape; the recipe."""
    (out, view), (base, from_) = target, source
    recipe = assign(view, from_, out.dtype, base.dtype, out is base and not view.disjoint(from_))
    record(recipe, (out.storage, base.storage))
    return recipe


def elementwise_copy(out: Base, view: View, x: Any) -> None:
    """`view[...] = x` for a scalar or a NumPy array that is the same on every process, with casting."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "SU" and out.dtype.kind not in "SU":
        x = x.astype(out.dtype)  # here, as text may be no number
    if isinstance(x, np.ndarray) and x.nbytes >= PARTS_FROM_BYTES:
        x, = _with_parts([x], view)
    base, description = _operand(x)
    if not isinstance(description, tuple):
        if isinstance(x, np.ndarray | np.generic):
            base = np.empty((), out.dtype)
            base[...] = x
        else:
            base = np.array(x, out.dtype)
        description = out.dtype
    record_into(None, [base], [description], out, view)


def check_writable(view: View) -> None:
    """Refuse to write through a view that repeats elements.

    Raises
    ------
    ValueError
        As NumPy does.
    """
    if any(view.shape[d] > 1 for d in view.stretched_dims):
        raise ValueError(f"assignment destination is read-only: a view broadcast to shape {view.shape} repeats "
                         "elements; copy() it first")
