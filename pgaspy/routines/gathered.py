"""NumPy's functions that are missing here, called on gathered copies, where the program asks for that."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pgaspy as pg
from pgaspy.dispatch import OTHERS, implements
from pgaspy.host import environment
from pgaspy.host.call_sites import caller, warn
from pgaspy.host.words import of_bytes
from pgaspy.job.defaults import fallbacks
from pgaspy.missing import INSTEAD, instead_of

__all__ = ["fallback"]

_MAX_BYTES = 2**30
"""Of the copies that one call takes on a process, unless told otherwise."""


@contextmanager
def fallback(max_bytes: int = _MAX_BYTES) -> Iterator[None]:
    """Call functions of NumPy that pgaspy does not have on gathered copies of their arrays. Collective.

    In the block, `np.f(A)` and `pg.f(A)` copy the whole of A to each process, and each of them computes the same. NumPy
    arrays in the result are dealt out again; anything else stays as it is. One warning per line of the program names
    the function and the bytes. `PGASPY_FALLBACK=1` asks for the same in the whole job. Where there is something to call
    instead, as for what writes files, the error that says so stays.

    Parameters
    ----------
    max_bytes
        The copies that one call may take on a process; 1 GiB by default.

    Raises
    ------
    MemoryError
        Where a function's copies would take more: on all processes, and before anything is moved.
    ValueError
        From functions that write to their arguments: the copies are read-only.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pgaspy as pg
    >>> with pg.fallback(), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     print(np.lib.scimath.sqrt(pg.arange(-1, 2)).gather())
    [0.+1.j 0.+0.j 1.+0.j]
    """
    of_job = fallbacks()
    before, of_job.max_bytes = of_job.max_bytes, int(max_bytes)
    try:
        yield
    finally:
        of_job.max_bytes = before


def missing_function(module: Any, name: str) -> Callable[..., Any] | None:
    """A function of a module of NumPy that takes gathered copies; None where it has none, or nobody asks for that."""
    function = getattr(module, name, None)
    if not _may_fall_back(name) or isinstance(function, type) or not callable(function):
        return None

    @functools.wraps(function)
    def on_copies(*args: Any, **kwargs: Any) -> Any:
        return _on_copies(function, args, kwargs)
    return on_copies


def _may_fall_back(name: str) -> bool:
    """Whether the program asks for it; not where there is something to call instead, as for what writes files."""
    return (fallbacks().max_bytes is not None or environment.value("PGASPY_FALLBACK") == "1") and name not in INSTEAD


@implements(OTHERS)
def _on_copies(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = f"{function.__module__}.{function.__name__}"
    if not _may_fall_back(function.__name__):
        raise TypeError(f"{name} is not supported for global arrays: {instead_of(function.__name__)}")
    n_bytes, asked = sum(a.nbytes for a in _arrays_of((args, kwargs))), fallbacks().max_bytes
    if n_bytes > (_MAX_BYTES if asked is None else asked):
        raise MemoryError(f"{name} is not supported for global arrays, and gathered copies would take "
                          f"{of_bytes(n_bytes)} on each process: allow that by pg.fallback(max_bytes={n_bytes}), or "
                          f"{instead_of(function.__name__)}")
    if n_bytes:
        _warn(name, n_bytes)
    return _with_each(np.ndarray, _dealt_out, function(*_with_each(pg.GlobalArray, _copy, args),
                                                       **_with_each(pg.GlobalArray, _copy, kwargs)))


def _warn(name: str, n_bytes: int) -> None:
    """Once for a function and a line of the program."""
    site = name, caller(sys._getframe())
    if site not in fallbacks().warned:
        fallbacks().warned.add(site)
        warn(f"{name} has no distributed form here: each process calls NumPy's, on copies of {of_bytes(n_bytes)}",
             RuntimeWarning)


def _copy(a: pg.GlobalArray) -> Any:
    """All of an array, that nothing is written to: that would be lost."""
    whole = a.gather()
    whole.flags.writeable = False
    return whole


def _dealt_out(x: Any) -> Any:
    try:
        return pg.array(x)
    except TypeError:  # elements that global arrays do not have, such as objects
        return x


def _arrays_of(x: Any) -> Iterator[pg.GlobalArray]:
    """The global arrays in what a function is given."""
    if isinstance(x, pg.GlobalArray):
        yield x
    elif isinstance(x, list | tuple | dict):
        for item in x.values() if isinstance(x, dict) else x:
            yield from _arrays_of(item)


def _with_each(kind: type, change: Callable[[Any], Any], x: Any) -> Any:
    """What a function is given, or gives, with all that is of one type changed."""
    if isinstance(x, kind):
        return change(x)
    if isinstance(x, dict):
        return {key: _with_each(kind, change, item) for key, item in x.items()}
    if isinstance(x, list | tuple):
        items = [_with_each(kind, change, item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x
