"""NumPy's names that pgaspy does not have, and what to call instead.

What NumPy computes of the local part is advised nowhere: the median of a part, or its order, is not that of the array.
"""

from __future__ import annotations

from types import ModuleType

__all__ = ["FORMER", "INSTEAD", "instead_of", "missing"]

_LOAD = "pg.load(file) of a file in NumPy's format .npy, or pg.array of what NumPy reads"
_SAVE = "pg.save(file, A)"
_WRITE = f"{_SAVE} for the format .npy; for others NumPy's on rank 0, of what all get by x = A.gather(root=0)"
_PRINT = "pg.print_once(A), with np.printoptions"
_OF_PART = "that of the local part, as in A.local()."

INSTEAD = {
    "array2string": _PRINT,
    "array_repr": _PRINT,
    "array_str": _PRINT,
    "as_strided": "pg.lib.stride_tricks.sliding_window_view(a, n), or slices with steps, A[::2]",
    "base": "np.shares_memory(A.local(), B.local()) to see whether A and B have elements in common",
    "ctypes": _OF_PART + "ctypes",
    "data": _OF_PART + "data",
    "dump": _SAVE,
    "dumps": _SAVE,
    "flags": _OF_PART + "flags",
    "fromfile": _LOAD,
    "genfromtxt": _LOAD,
    "loadtxt": _LOAD,
    "memmap": _LOAD,
    "polynomial": "numpy.polynomial, whose functions that evaluate series, as legval, take global arrays",
    "resize": "A = pg.resize(A, shape), which makes a new array",
    "row_stack": "pg.vstack((A, B))",
    "savetxt": _WRITE,
    "savez": _WRITE,
    "savez_compressed": _WRITE,
    "strides": _OF_PART + "strides",
    "tofile": _WRITE,
    "typing": "numpy.typing, of NumPy's arrays; pgaspy's own are pg.GlobalArray",
}
"""For arrays A and B, vectors a and b."""

FORMER = {
    "Inf": "inf", "NaN": "nan", "alltrue": "all", "bool8": "bool_", "complex_": "complex128", "cumproduct": "cumprod",
    "float_": "float64", "in1d": "isin", "product": "prod", "round_": "round", "sometrue": "any", "trapz": "trapezoid",
}
"""Names that NumPy had before version 2, or has as old ones, and those of today."""

_OF_WHOLE = "call NumPy's, with A.gather() for an array A: that is the whole of it on every process"


def instead_of(name: str) -> str:
    """What to call instead of one of NumPy's functions or methods."""
    if name in INSTEAD:
        return f"use {INSTEAD[name]}"
    return f"{_OF_WHOLE}; with pg.fallback() does so by itself"


def missing(owner: str, name: str, obj: object, numpys: object) -> AttributeError:
    """The error that something of pgaspy has no attribute; `numpys` is what NumPy has in its place."""
    advice = ""
    if isinstance(numpys, ModuleType) and name in FORMER and hasattr(obj, FORMER[name]):
        advice = f": since NumPy 2, it is {FORMER[name]}"
    elif hasattr(numpys, name) and not name.startswith("_"):
        if isinstance(getattr(numpys, name), ModuleType) and name not in INSTEAD:
            advice = ": it is a module of NumPy's own, to import from NumPy, for what A.gather() gives"
        elif (isinstance(numpys, type) or isinstance(getattr(numpys, name), type)) and name not in INSTEAD:
            advice = f": {_OF_WHOLE}"
        else:
            advice = f": {instead_of(name)}"
    return AttributeError(f"{owner} has no attribute {name!r}{advice}", name=name, obj=obj)
