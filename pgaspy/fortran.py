"""The BLAS and LAPACK that SciPy brings, called without Python's lock, on the memory of NumPy arrays.

SciPy's own wrappers (`scipy.linalg.blas`, `scipy.linalg.lapack`) hold the lock, so that no message moves meanwhile, and
copy whatever is not column-major. SciPy offers the routines themselves to Cython programs; ctypes calls them there.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.job.threads import limit_blas
from pgaspy.kernels import bindings

__all__ = ["PREFIXES", "address_of", "apart_from", "call", "check_matrices", "check_square", "check_writable",
           "is_column_major", "leading", "prefix"]

MAX_WORK = 1000
"""To find out whether matrices share elements; sections of one need little."""

PREFIXES = {np.dtype(kind): letter for kind, letter in (
    (np.float32, "s"), (np.float64, "d"), (np.complex64, "c"), (np.complex128, "z"))}
"""The first letter of a routine's name, by the dtype; there is none for numbers in another order of bytes."""


def prefix(dtype: np.dtype[Any]) -> str:
    """The first letter of a routine's name.

    Raises
    ------
    TypeError
        If there is none.
    """
    if dtype not in PREFIXES:
        raise TypeError(f"no matrices of {dtype}: BLAS and LAPACK take float32, float64, complex64 or complex128, in "
                        "this machine's order of bytes")
    return PREFIXES[dtype]


def check_writable(x: NDArray[Any]) -> None:
    """Raise ValueError, as NumPy does, where an array is only to be read, as one of a task that has not said so."""
    if not x.flags.writeable:
        raise ValueError("output array is read-only")


def check_matrices(*arrays: NDArray[Any]) -> None:
    """Raise ValueError where one of them is no matrix."""
    for x in arrays:
        if x.ndim != 2:
            raise ValueError(f"an array of shape {x.shape} in the place of a matrix")


def check_square(x: NDArray[Any]) -> None:
    """Raise ValueError where it is no square matrix."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"an array of shape {x.shape} in the place of a square matrix")


def apart_from(written: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """An operand, or a copy of it where it shares elements with what is written."""
    if not np.may_share_memory(written, x):
        return x
    try:
        is_shared = np.shares_memory(written, x, max_work=MAX_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        is_shared = True
    return x.copy() if is_shared else x


def call(library: str, name: str, *arguments: int | bytes | NDArray[Any]) -> int:
    """Call a routine of `blas` or `lapack` by its whole name, such as dgemm; integers are passed by reference.

    Returns the value of the last argument, if that is an integer (LAPACK's `info`), else 0.
    """
    passed: list[Any] = []
    info = ctypes.c_int(0)
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            passed.append(bindings.address(argument))
        elif isinstance(argument, bytes):
            passed.append(argument)
        else:
            info = ctypes.c_int(argument)
            passed.append(ctypes.byref(info))
    _routine(library, name)(*passed)
    return info.value if isinstance(arguments[-1], int) else 0


@cached
def _libraries() -> dict[str, Any]:
    found = {name: _extension(f"cython_{name}") for name in ("blas", "lapack")}
    limit_blas()  # which may have come with these, after the cores were shared out
    return found


def _extension(name: str) -> Any:
    """A module of `scipy.linalg`, without all else in there, which takes ten times as long to be imported."""
    import scipy

    full = f"scipy.linalg.{name}"
    spec = None if full in sys.modules else PathFinder.find_spec(full, [f"{path}/linalg" for path in scipy.__path__])
    if spec is None or spec.loader is None:
        return import_module(full)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(full, None)  # where it has put itself; it is imported as others are if the program wants it
    return module


@cached
def _routine(library: str, name: str) -> Callable[..., None]:
    n_arguments = _signature(_capsule(library, name)).count(b",") + 1
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address_of(library, name))


def address_of(library: str, name: str) -> int:
    """Where a routine of `blas` or `lapack` is; all its arguments are pointers."""
    capsule, pointer_of = _capsule(library, name), ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int = pointer_of(capsule, _signature(capsule))
    return found


def _capsule(library: str, name: str) -> object:
    with _one_at_a_time:
        return _libraries()[library].__pyx_capi__[name]


_one_at_a_time = threading.Lock()
"""Threads must not import the libraries at the same time."""


def _signature(capsule: object) -> bytes:
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    found: bytes = name_of(capsule)
    return found


def is_column_major(x: NDArray[Any]) -> bool:
    """Whether the elements of each column of a matrix lie one after the other, and columns apart by whole elements."""
    return (x.strides[0] == x.itemsize and x.strides[1] >= x.itemsize * x.shape[0]) or (
        x.shape[0] == 1 and x.strides[1] % x.itemsize == 0 and x.strides[1] > 0)


def leading(x: NDArray[Any]) -> int:
    """The leading dimension of a column-major matrix, or of the transpose of a row-major one."""
    rows, stride = (x.shape[0], x.strides[1]) if is_column_major(x) else (x.shape[1], x.strides[0])
    return max(stride // x.itemsize, rows, 1)
