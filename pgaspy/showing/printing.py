"""Arrays for people: printed once in a job, by their elements, of which only those travel that are shown."""

from __future__ import annotations

import itertools
import math
from typing import IO, Any

import numpy as np

from pgaspy.array import GlobalArray
from pgaspy.creation import empty
from pgaspy.dispatch import implements
from pgaspy.execution.recording import sync
from pgaspy.job.procgrid import world

__all__ = ["print_once"]


@implements(GlobalArray.show)
def print_once(*values: Any, sep: str = " ", end: str = "\n", file: IO[str] | None = None) -> None:
    """Print on rank 0 what all processes pass, with the elements of global arrays. Collective.

    As `print`, also of lists, tuples and dicts of arrays; long arrays are shown by the elements at their edges,
    as NumPy's are, and these alone are sent to rank 0. `np.printoptions` says how many. `repr` of an array, which is
    not collective, shows no elements.

    Raises
    ------
    TypeError
        If `file` is nothing to write to.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(4.0)
    >>> pg.print_once("A:", A, "sum:", A.sum())
    A: [0. 1. 2. 3.] sum: 6.0
    """
    if file is not None and not hasattr(file, "write"):
        raise TypeError(f"print_once: file= is something to write to, not a {type(file).__name__}")
    words = [_shown(value) if isinstance(value, GlobalArray) else _with_elements(value) for value in values]
    sync()  # as rank 0 waits for what the others have
    if world().rank == 0:
        print(*words, sep=sep, end=end, file=file, flush=True)


class _Text(str):
    """What is shown without quotation marks in a list."""

    __slots__ = ()
    __repr__ = str.__str__


def _with_elements(value: Any) -> Any:
    """A list, tuple or dict with the elements of the arrays in it; anything else as it is."""
    if isinstance(value, GlobalArray):
        return _shown(value) if value.ndim == 0 else _Text(_shown(value))
    if value.__class__ in (list, tuple):
        return value.__class__(map(_with_elements, value))
    return {key: _with_elements(x) for key, x in value.items()} if value.__class__ is dict else value


def _shown(A: GlobalArray) -> Any:
    """The text of an array, on rank 0; a 0-d one as a scalar."""
    if A.ndim == 0:
        return A._as_scalar()
    options = np.get_printoptions()
    edge = options["edgeitems"]
    if A.size <= options["threshold"]:
        local = A.gather(root=0)
        return None if local is None else np.array2string(local)
    edges = empty([min(n, 2 * edge + 1) for n in A.shape], A.dtype, onenode=0)  # what lies between is not looked at
    sections = [[slice(None)] if n <= 2 * edge + 1 else [slice(None, edge), slice(n - edge, None)] for n in A.shape]
    for section in itertools.product(*sections):
        edges[tuple(s if s.start is None else slice(-edge, None) for s in section)] = A[section]
    local = edges.gather(root=0)
    return None if local is None else np.array2string(local, threshold=min(math.prod(local.shape) - 1, edge))
