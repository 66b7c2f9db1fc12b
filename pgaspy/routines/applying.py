"""Functions of the program's own, called on elements, on vectors along a dimension, or where conditions hold."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

import pgaspy as pg
from pgaspy.array import made
from pgaspy.creation import as_global
from pgaspy.dims import whole_dim
from pgaspy.dispatch import implements, of_numpy_arrays
from pgaspy.execution.recording import closed
from pgaspy.global_assign import copied, lying_in
from pgaspy.host.call_sites import warn
from pgaspy.job.failures import BusyError
from pgaspy.job.procgrid import world
from pgaspy.layout import Layout
from pgaspy.operands import check_dtype
from pgaspy.planning.view import joint_shape
from pgaspy.routines.mapping import on_parts
from pgaspy.sorting import with_whole
from pgaspy.tasks import call_given

__all__ = ["apply_along_axis", "apply_over_axes", "frompyfunc", "piecewise", "vectorize"]


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> pg.GlobalArray:
    """What a function gives for each vector along a dimension. Collective.

    Parameters
    ----------
    func1d
        Of a vector, a NumPy array, and more arguments; what it gives has one shape and dtype. It is called by the
        process that has the vector, and once more by all, for the first one, which tells the shape and dtype. One of
        pgaspy's functions stands for NumPy's of that name. If it uses global arrays, all processes call it for one
        vector after the other, with a warning.
    axis
        The dimension, which is made whole on the way, if it is dealt out.
    arr
        An array.
    args, kwargs
        More arguments, the same on every process.

    Returns
    -------
    The dimensions of `arr`, with those that the function gives in the place of `axis`; the others are dealt out.

    Raises
    ------
    ValueError
        If there is no such dimension, or another one is empty.
    TypeError
        If the function gives what is no array of numbers.
    TaskError
        Later, on several processes, if it raises for any but the first vector; one process raises that error.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.apply_along_axis(lambda x: x[::-1].cumsum(), 1, pg.arange(6).reshape(2, 3)).gather()
    array([[ 2,  3,  3],
           [ 5,  9, 12]])
    """
    arr, func1d = as_global(arr), of_numpy_arrays(func1d)
    axis = normalize_axis_index(axis, arr.ndim)
    vectors = pg.moveaxis(arr, axis, -1)
    outer = vectors.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = _without_arrays(func1d, vectors[(0,) * len(outer)].gather(), *args, **kwargs)
    if first is NotImplemented:
        rows = (vectors[index].gather() for index in np.ndindex(outer))
        found = pg.array([func1d(row, *args, **kwargs) for row in rows])
        return _in_the_place_of(found.reshape(*outer, *found.shape[1:]), axis, len(outer))
    first = np.asanyarray(first)
    check_dtype(first.dtype)
    if not outer:
        return pg.array(first)
    layout = vectors._layout_like()
    if layout.dims[-1].n_procs > 1:
        layout = with_whole(vectors.shape, len(outer), world().size)
    dims = [*layout.dims[:-1], *map(whole_dim, first.shape)]
    result = pg.empty((*outer, *first.shape), first.dtype, layout=Layout(layout.grid, dims, layout.pins))
    call_given(func1d, functools.partial(_apply, func1d, args, kwargs), pg.write(result),
               pg.GlobalArray(*lying_in(vectors._base, vectors._view, layout)))
    return _in_the_place_of(result, axis, len(outer))


def _in_the_place_of(result: pg.GlobalArray, axis: int, n_outer: int) -> pg.GlobalArray:
    """The dimensions after the outer ones, in the place of a dimension."""
    return result.transpose([*range(axis), *range(n_outer, result.ndim), *range(axis, n_outer)])


def _without_arrays(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a function gives that each process may call by itself; if it may not, `NotImplemented`, after a warning."""
    try:
        with closed():
            found = function(*args, **options)
        if not _is_global(found):
            return found
    except BusyError:
        pass
    warn("the function uses global arrays, so that all processes call it, for one vector or number after the other: "
         "have it use NumPy's functions, and A.gather()", RuntimeWarning)
    return NotImplemented


def _is_global(x: Any) -> bool:
    return isinstance(x, pg.GlobalArray) or (isinstance(x, list | tuple) and any(map(_is_global, x)))


def _apply(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], result: NDArray[Any],
           vectors: NDArray[Any]) -> None:
    result[...] = np.apply_along_axis(function, -1, vectors, *args, **options)


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]) -> pg.GlobalArray:
    """What a function gives of an array and a dimension, called for one dimension after the other. Collective.

    Parameters
    ----------
    func
        Of a global array and a dimension, as `pgaspy.sum`; it keeps the dimension, or leaves it out.
    a
        An array.
    axes
        A dimension, or several.

    Returns
    -------
    An array of as many dimensions as `a`.

    Raises
    ------
    ValueError
        If what the function gives has another number of dimensions.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.apply_over_axes(pg.sum, pg.ones((2, 3, 4)), (0, 2)).gather()
    array([[[8.],
            [8.],
            [8.]]])
    """
    result = as_global(a)
    n = result.ndim
    for axis in axes if isinstance(axes, Iterable) else (axes,):
        axis = axis + n if axis < 0 else axis
        found = func(result, axis)
        found = found if found.ndim == n else pg.expand_dims(found, axis)
        if found.ndim != n:
            raise ValueError("function is not returning an array of the correct shape")
        result = found
    return result


class vectorize:  # noqa: N801  (NumPy's name)
    """A function of numbers, made one of arrays: each process calls it for its elements. Calls are collective.

    Parameters
    ----------
    pyfunc
        Of numbers; gives a number, or several. If it uses global arrays, all processes call it for one element after
        the other, with a warning.
    otypes
        The dtypes of what it gives, as characters or dtypes. By default those of what it gives for the first elements.
        For these all processes call it once more.
    doc
        The documentation, by default that of the function.
    excluded
        The arguments, by position or name, that are passed as they are, and not by their elements.
    cache, signature
        As in NumPy; only the default, which is to cache nothing, and to take no vectors: see `apply_along_axis`.

    Raises
    ------
    TypeError
        For a signature; when it is called, if the function gives no numbers.
    ValueError
        When it is called, if shapes do not broadcast, or there are no elements, and no `otypes`.
    TaskError
        Later, on several processes, if the function raises for any but the first elements; one process raises that
        error, when it is called.

    Examples
    --------
    >>> import pgaspy as pg
    >>> limited = pg.vectorize(lambda x, limit: min(x, limit))
    >>> limited(pg.arange(5), 2).gather()
    array([0, 1, 2, 2, 2])
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None,
                 excluded: Iterable[int | str] | None = None, cache: bool = False,
                 signature: str | None = None) -> None:
        if signature is not None:
            raise TypeError("vectorize takes no signature for global arrays: use pg.apply_along_axis for functions of "
                            "vectors")
        self.pyfunc = pyfunc
        self.otypes = None if otypes is None else [*map(np.dtype, otypes)]
        self.excluded = set(excluded or ())
        self.__name__ = getattr(pyfunc, "__name__", "vectorize")
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for each element of arrays that broadcast: an array, or several. Collective."""
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        varied = [key for key in given if key not in self.excluded]
        arrays = [as_global(given[key]) for key in varied]

        def of_some(*values: Any) -> Any:
            full = {**given, **dict(zip(varied, values, strict=True))}
            return self.pyfunc(*[full[i] for i in range(len(args))], **{name: full[name] for name in kwargs})

        of_elements = self.pyfunc if len(varied) == len(args) == len(given) else of_some
        shape = joint_shape(*(x.shape for x in arrays))
        has_elements = 0 not in shape
        if not has_elements and self.otypes is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        firsts = [x[(0,) * x.ndim]._as_scalar() for x in arrays] if has_elements else []
        first = _without_arrays(of_elements, *firsts) if has_elements else None
        if first is NotImplemented:
            found = self._one_after_the_other(of_elements, arrays, shape)
        else:
            dtypes = self._dtypes(first)
            found = on_parts(np.vectorize(of_elements, otypes=dtypes), dtypes, arrays,
                             start=functools.partial(call_given, self.pyfunc))
        return found[0] if len(found) == 1 else tuple(found)

    def _one_after_the_other(self, of_elements: Callable[..., Any], arrays: Sequence[pg.GlobalArray],
                             shape: tuple[int, ...]) -> list[pg.GlobalArray]:
        """What the function gives if all processes call it for each element."""
        elements = np.broadcast(*[x.gather().astype(object) for x in arrays])  # as NumPy passes them
        found = [one if isinstance(one, tuple) else (one,) for one in starmap(of_elements, elements)]
        results = [pg.array([*one]).reshape(shape) for one in zip(*found, strict=True)]
        dtypes = self._dtypes(tuple(results))
        return [made(*copied(x._base, x._view, dtype=dtype)) for x, dtype in zip(
            results, dtypes, strict=True)]

    def _dtypes(self, first: Any) -> list[np.dtype[Any]]:
        """Those of what the function gives, as for some elements."""
        dtypes = self.otypes
        if dtypes is None:
            dtypes = [x.dtype if isinstance(x, pg.GlobalArray) else np.asarray(x).dtype
                      for x in (first if isinstance(first, tuple) else (first,))]
        if any(dtype.kind in "OSUV" for dtype in dtypes):
            raise TypeError(f"vectorize has numbers as results, not {[*map(str, dtypes)]}")
        return dtypes


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int) -> Callable[..., Any]:
    """A function of numbers, made one of arrays, as `vectorize` does it. Calls are collective.

    Parameters
    ----------
    func
        Of `nin` numbers; gives a number, or a tuple of `nout` of them.
    nin, nout
        How many.

    Returns
    -------
    A function of arrays. The dtypes of what it gives are those of the results, where NumPy has objects.

    Raises
    ------
    TypeError
        When it is called with another number of arguments.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.frompyfunc(lambda x, y: x * 10 + y, 2, 1)(pg.arange(3), 5).gather()
    array([ 5, 15, 25])
    """
    if not callable(func):
        raise TypeError("function must be callable")
    of_arrays = vectorize(func)

    @functools.wraps(of_arrays, updated=())
    def function(*args: Any) -> Any:
        if len(args) != nin:
            raise TypeError(f"{of_arrays.__name__}() takes {nin} arguments, {len(args)} were given")
        found = of_arrays(*args)
        n_found = len(found) if isinstance(found, tuple) else 1
        if n_found != nout:
            raise TypeError(f"{of_arrays.__name__}() gave {n_found} results, where {nout} were said")
        return found
    return function


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> pg.GlobalArray:
    """What functions give for the elements for which conditions hold. Collective; waits for how many these are.

    Parameters
    ----------
    x
        An array.
    condlist
        Arrays of booleans of the shape of `x`, or one. Of several that hold, the last counts.
    funclist
        For each condition a number, or a function of a vector: a global array of the elements. One more is for what
        no condition holds for, which else is 0.
    args, kw
        More arguments of the functions.

    Returns
    -------
    An array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If there are not as many functions, or one more.

    Examples
    --------
    >>> import pgaspy as pg
    >>> x = pg.array([-2.0, 0.5, 3.0])
    >>> pg.piecewise(x, [x < 0, x > 1], [lambda v: -v, 10, 0.25]).gather()
    array([ 2.  ,  0.25, 10.  ])
    """
    x = as_global(x)
    if not x.ndim:
        conditions = [condlist] if np.ndim(condlist) == 0 else condlist
        return piecewise(x[None], [pg.asarray(c, bool).reshape(1) for c in conditions], funclist, *args, **kw)[0, ...]
    if np.isscalar(condlist) or not (isinstance(condlist[0], list) or np.ndim(condlist[0])):
        condlist = [condlist]
    conditions = [pg.asarray(c, bool) for c in condlist]
    n = len(conditions)
    if n == len(funclist) - 1:
        conditions.append(~functools.reduce(operator.or_, conditions))
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = pg.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
            continue
        values = x[condition]
        if values.size:
            result[condition] = function(values, *args, **kw)
    return result
