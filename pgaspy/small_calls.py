"""Functions that move, search, count or compare elements, and others of few steps: NumPy's, of small arrays.

What is recorded for them takes some hundred microseconds, where NumPy takes a few. In a job of several processes it is
some of these functions, whose arrays come to all processes (see `brought`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pgaspy import brought
from pgaspy.alone import quick, small
from pgaspy.alone.likeness import broadcast, is_distributed, like_of, likeness, of_extents, view_like
from pgaspy.arguments import REFUSED, NotTaken, taken
from pgaspy.array import GlobalArray, of_elements
from pgaspy.execution import recording
from pgaspy.job.defaults import default_for
from pgaspy.operands import WEAK
from pgaspy.planning.view import View

__all__ = ["MAX_CROSSED", "MAX_PASSED", "as_new", "by_numpy", "joined", "made", "new_by_numpy", "returned",
           "written_by_numpy"]

F = TypeVar("F", bound=Callable[..., Any])

MAX_PASSED = 1 << 18
"""Elements of the arrays of a function that passes through them once, but is recorded in several operations."""

MAX_CROSSED = 1 << 24
"""Elements of a matrix of which a function reads, or writes, a diagonal alone."""


def by_numpy(numpys: Callable[..., Any], *, lying: brought.Lying | None = None,
             stays: Callable[..., bool] | None = None, with_axis: bool = False, max_elements: int = small.MAX_ELEMENTS,
             like: Callable[..., Any] | None = None, **fixed: Any) -> Callable[[F], F]:
    """Have a function be NumPy's where its arrays are small, and nothing is recorded, or to be told.

    So it is for functions whose results are new arrays, and are NumPy's to the bit. `fixed` are options of NumPy's
    function, which it is not called with where they are given; `max_elements`, how many its arrays have together.
    In a job of several processes, arrays come to all for functions that take several steps there, where no axis is
    given, or `with_axis`, too: `lying` says how their results lie, and `stays`, of the function's arguments, where they
    do not come. `like` takes these, too, and tells what a result is like on one process, but for its extents; None if
    it lies as new arrays do; of several results, these in a list. By default so do results that lie by default; others
    lie as the first array, if they have as many dimensions. There may be None in the place of `out`.
    """
    like = as_new if like is None and lying == "by default" else like

    def register(function: F) -> F:
        names = list(inspect.signature(function).parameters)
        n_given = names.index("out") if "out" in names else len(names)
        others = {*names} - {"out", *fixed}
        brought_by = others if with_axis else others - {"axis"}
        n_brought = n_given if with_axis or "axis" not in names else min(n_given, names.index("axis"))

        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if (small.is_on and (len(given) <= n_given or given[n_given] is None)
                    and (not options or options.keys() <= others) and small.is_clear()):
                found = _called(numpys, given, {**options, **fixed} if fixed else options, max_elements, like)
                if found is not None:
                    return found
            elif (lying is not None and len(given) <= n_brought and options.keys() <= brought_by
                  and not (stays is not None and stays(*given, **options))):
                found = brought.called(numpys, given, {**options, **fixed}, lying)
                if found is not None:
                    return found
            return function(*given, **options)
        return call  # type: ignore[return-value]
    return register


def as_new(*_: Any, **__: Any) -> Any:
    """Of functions whose results lie as new arrays do."""


def new_by_numpy(numpys: Callable[..., Any], shape_of: Callable[..., Any]) -> Callable[[F], F]:
    """Have a function be NumPy's where the arrays that it makes are small, and nothing is recorded, or to be told.

    So it is where it is called with what NumPy's takes, so that the layout is the default. `shape_of` takes the same,
    and gives the shape, or how many elements there are; None where NumPy's may not be called.
    """
    def register(function: F) -> F:
        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if small.is_on and (found := _new(numpys, shape_of, given, options)) is not None:
                return found
            return function(*given, **options)
        return call  # type: ignore[return-value]
    return register


def written_by_numpy(numpys: Callable[..., Any], max_elements: int = small.MAX_ELEMENTS) -> Callable[[F], F]:
    """Have a function that writes to its first argument, to no element twice, be NumPy's where its arrays are small.

    So it is where nothing is recorded, nor borrowed, and what it writes is the same for all who cast it. `max_elements`
    are those of the array.
    """
    def register(function: F) -> F:
        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            if not (small.is_on and given and _is_written(numpys, max_elements, given[0], given[1:], options)):
                function(*given, **options)
        return call  # type: ignore[return-value]
    return register


def _is_written(numpys: Callable[..., Any], max_elements: int, x: Any, given: tuple[Any, ...],
                options: dict[str, Any]) -> bool:
    """Write to an array what NumPy's function does; whether it was done."""
    target = small.ready(x, max_elements)
    if target is None or not target.ndim or target.dtype.char in REFUSED or not small.is_writable(x):
        return False

    def read(x: Any, max_elements: int) -> Any:
        found = small.operand(x, max_elements)
        if found is None or not (found.dtype is target.dtype or small.is_exact_cast(found.dtype, target.dtype)):
            return None
        return found.copy() if np.may_share_memory(found, target) else found

    numbers = small.NUMBERS.get(target.dtype.kind, ())
    values = [*given, *options.values()]
    if not all(map(functools.partial(_is_held, numbers), values)):
        return False
    try:
        others = [taken(x, [], small.MAX_ELEMENTS, read) for x in given]
        named = {name: taken(x, [], small.MAX_ELEMENTS, read) for name, x in options.items()}
    except NotTaken:
        return False
    return small.called(functools.partial(numpys, **named), target, *others, default=True) is not None


def _is_held(numbers: tuple[type, ...], x: Any) -> bool:
    """Whether it is one of these numbers, or of anything else than Python's; a sequence, whether all in it are."""
    if x.__class__ is list or x.__class__ is tuple:
        return all(map(functools.partial(_is_held, numbers), x))
    return x.__class__ not in WEAK or x.__class__ in numbers


def _new(numpys: Callable[..., Any], shape_of: Callable[..., Any], given: tuple[Any, ...],
         options: dict[str, Any]) -> GlobalArray | None:
    """The new array; None if it is not made here."""
    try:
        shape = shape_of(*given, **options)
    except TypeError:  # for a layout, or anything else that NumPy's function does not take
        return None
    shape = (shape,) if shape.__class__ is int else shape
    if shape.__class__ is not tuple or not {*map(type, shape)} <= {int} or not small.takes(shape):
        return None
    return made(shape, functools.partial(numpys, **options) if options else numpys, *given)


def made(shape: tuple[int, ...], numpys: Callable[..., Any], *given: Any) -> GlobalArray | None:
    """What a function of NumPy's makes, as a new array of numbers, of a small shape; None if it is not made here."""
    found = small.called(_numbers, shape, numpys, *given) if small.is_clear() else None
    return None if found is None else of_elements(found, small.source_of_new(found.shape))


def _numbers(shape: tuple[int, ...], numpys: Callable[..., Any], *given: Any) -> NDArray[Any]:
    """What the function makes; a TypeError, if it may not be the elements of an array of the shape as it is."""
    found: NDArray[Any] = numpys(*given)
    if not _is_plain(found) or found.shape != shape:
        raise TypeError
    return found


def _is_plain(found: Any) -> bool:
    """Whether it may be the elements of an array as it is."""
    return (found.__class__ is np.ndarray and found.dtype.kind in "biufc" and found.dtype is np.dtype(found.dtype.char)
            and found.flags.c_contiguous and found.ndim > 0)


def joined(x: Any) -> GlobalArray | None:
    """The array of a sequence with global arrays of one dtype in it, which lies as results of operations on the first
    do that is dealt out; None if it is not made here.
    """
    arrays: list[Any] = []
    try:
        found = np.array(taken(x, arrays, small.MAX_ELEMENTS)) if small.is_on and small.is_clear() else None
    except (NotTaken, ValueError):
        return None
    if found is None or not _is_plain(found) or not 0 < found.size <= small.MAX_ELEMENTS:
        return None
    if len({array.dtype for array in arrays}) > 1:
        return None
    recording.queue.n_at_once += 1
    likes = [like_of(array) for array in arrays if not array._is_number]
    like = next(filter(is_distributed, likes), likes[0])
    return of_elements(found, (likeness(broadcast, like, found.shape), None, True))


def _called(numpys: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any], max_elements: int,
            like: Callable[..., Any] | None) -> Any:
    """The results; None if they are not computed here."""
    arrays: list[Any] = []
    all_given = (*given, *options.values()) if options else given
    operands = quick.taken(all_given, arrays, max_elements)
    if operands is None:
        try:
            arrays.clear()
            operands = [taken(x, arrays, max_elements) for x in all_given]
        except NotTaken:
            return None
        if sum([x.size for x in arrays]) > max_elements:
            return None
    if not arrays or not all(map(_is_of_new, arrays)):
        return None
    if options:
        n = len(given)
        named = dict(zip(options, operands[n:], strict=True))
        found = small.called(functools.partial(numpys, **named), *operands[:n])
    else:
        found = small.called(numpys, *operands)
    if found is None:
        return None
    its_like = like(*given, **options) if like is not None else view_like(arrays[0]) if arrays[0].ndim else None
    if not isinstance(found, tuple):
        return _made(found, operands, its_like) if _may_be_made(found) else None
    if not all(map(_may_be_made, found)):
        return None
    likes = its_like if its_like.__class__ is list else [its_like] * len(found)
    return returned([_made(x, operands, its_like) for x, its_like in zip(found, likes, strict=True)], found)


def returned(results: Sequence[GlobalArray], found: Any) -> Any:
    """Results, as a function has given those that are NumPy's: in a tuple, with names, or one."""
    if hasattr(found, "_fields"):
        return type(found)(*results)
    return tuple(results) if isinstance(found, tuple) else results[0]


def _may_be_made(found: Any) -> bool:
    """Whether it is an array with dimensions, or a number."""
    return not isinstance(found, np.ndarray) or (found.ndim > 0 and not found.dtype.hasobject)


def _is_of_new(x: Any) -> bool:
    """Whether the results of an array may lie as new arrays do."""
    like = like_of(x)
    if like.__class__ is not View:
        return True
    layout = like.layout
    default = default_for(layout.shape)
    return layout is default or layout == default


def _made(found: Any, operands: Sequence[Any], like: Any) -> Any:
    """A global array of what NumPy's function has given of these, in memory of its own."""
    if not quick.is_plain(found) or id(found) in map(id, operands):
        if not np.ndim(found):
            return of_elements(np.asarray(found)[()], small.OF_NUMBER)
        found = np.array(found, np.dtype(found.dtype.str), order="C")
    if like is None:
        return of_elements(found, small.source_of_new(found.shape))
    if like.__class__ is View and like.is_whole and like.shape == found.shape:
        return of_elements(found, (like, None, True))
    return of_elements(found, (likeness(of_extents, like, found.shape), None, True))
