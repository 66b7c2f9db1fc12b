"""What the Array API standard lets a program ask: dtypes that things have in common, devices, what there is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from pgaspy.array import GlobalArray
from pgaspy.creation import asarray
from pgaspy.dispatch import implements
from pgaspy.element_views import is_apart
from pgaspy.layout import MAX_NDIM
from pgaspy.operands import check_device

__all__ = ["can_cast", "from_dlpack", "may_share_memory", "result_type", "shares_memory"]


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and numbers are promoted to. Not collective.

    Raises
    ------
    TypeError
        If there is no such dtype.
    ValueError
        Of nothing.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.result_type(pg.ones(3, pg.float32), pg.int16, 2.5)
    dtype('float32')
    """
    result: np.dtype[Any] = np.result_type(*map(_dtype_of, arrays_and_dtypes))
    return result


@implements(np.can_cast)
def can_cast(from_: Any, to: DTypeLike, casting: Any = "safe") -> bool:
    """Whether an array, or what has a dtype, can be cast to another dtype. Not collective.

    Parameters
    ----------
    from_
        An array, or a dtype.
    to
        A dtype.
    casting
        Which casts there may be: "no", "equiv", "safe", "same_kind", "unsafe".

    Raises
    ------
    TypeError
        For a Python number.

    Examples
    --------
    >>> import pgaspy as pg
    >>> pg.can_cast(pg.ones(3, pg.int32), pg.float64), pg.can_cast(pg.float64, pg.int32)
    (True, False)
    """
    return np.can_cast(_dtype_of(from_), to, casting)


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, GlobalArray) else x


@implements(np.from_dlpack)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> GlobalArray:
    """The array of another library that is the same on every process, by DLPack. Collective.

    Parameters
    ----------
    x
        A global array; or an array of which each process keeps its own part, as a copy.
    device
        "cpu", or None, which is the same.
    copy
        As for `asarray`.

    Raises
    ------
    ValueError
        For another device; with `copy=False`, of an array that is not global.

    Examples
    --------
    >>> import numpy as np
    >>> import pgaspy as pg
    >>> pg.from_dlpack(np.arange(3)).gather()
    array([0, 1, 2])
    """
    return asarray(x if isinstance(x, GlobalArray) else np.from_dlpack(x), device=device, copy=copy)


@implements(np.shares_memory)
def shares_memory(a: GlobalArray, b: GlobalArray, max_work: int | None = None) -> bool:
    """Whether two arrays have an element in common, so that who writes to one may change the other. Not collective.

    Parameters
    ----------
    a, b
        Global arrays. Of local parts, NumPy's function tells.
    max_work
        As in NumPy; it is always known without a search.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import pgaspy as pg
    >>> a = pg.zeros(8)
    >>> pg.shares_memory(a[::2], a[1:]), pg.shares_memory(a[::2], a[1::2]), pg.shares_memory(a, a.copy())
    (True, False, False)
    """
    for x in a, b:
        if not isinstance(x, GlobalArray):
            raise TypeError(f"shares_memory takes global arrays, not one of {type(x).__name__}: NumPy's takes local "
                            "parts")
    return not is_apart(a, b)


@implements(np.may_share_memory)
def may_share_memory(a: GlobalArray, b: GlobalArray, max_work: int | None = None) -> bool:
    """The same: see `shares_memory`. Not collective."""
    return shares_memory(a, b, max_work)


class NamespaceInfo:
    """What the standard's `__array_namespace_info__()` gives. Not collective.

    Examples
    --------
    >>> import pgaspy as pg
    >>> info = pg.__array_namespace_info__()
    >>> info.devices(), info.default_dtypes()["integral"]
    (['cpu'], dtype('int64'))
    """

    def capabilities(self) -> dict[str, Any]:
        """What arrays can do that not all libraries' can."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_NDIM}

    def default_device(self) -> str:
        """The device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of what is made without one, by kind.

        Raises
        ------
        ValueError
            For another device than "cpu".
        """
        check_device(device)
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": np.intp}
        return {kind: np.dtype(dtype) for kind, dtype in kinds.items()}

    def dtypes(self, *, device: str | None = None,
               kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard, by name; those of one kind, or of several.

        Raises
        ------
        ValueError
            For another device than "cpu", or another kind than the standard's.
        """
        check_device(device)
        dtypes = {name: np.dtype(name) for name in _NAMES}
        if kind is None:
            return dtypes
        return {name: dtype for name, dtype in dtypes.items() if np.isdtype(dtype, kind)}


_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
          "complex64", "complex128")
