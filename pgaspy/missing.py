"""NumPy's names that pgaspy does not have, and what to call instead.

What NumPy computes of the local part is advised nowhere: the median of a part, or its order, is not that of the array.
"""

from __future__ import annotations

__all__ = ["INSTEAD", "instead_of", "missing"]

_AS_ARRAY = "pg.asarray(A)"
_LOAD = "pg.load(file) of a file in NumPy's format .npy, or pg.array of what NumPy reads"
_SAVE = "pg.save(file, A)"
_PRINT = "pg.print_once(A), with np.printoptions"
_OF_PART = "that of the local part, as in A.local()."

INSTEAD = {
    "array2string": _PRINT,
    "array_repr": _PRINT,
    "array_str": _PRINT,
    "asanyarray": _AS_ARRAY,
    "ascontiguousarray": _AS_ARRAY,
    "asfortranarray": _AS_ARRAY,
    "astype": "A.astype(dtype)",
    "ctypes": _OF_PART + "ctypes",
    "data": _OF_PART + "data",
    "diagonal": "pg.diagonal(A)",
    "dot": "pg.dot(A, B)",
    "dump": _SAVE,
    "dumps": _SAVE,
    "flags": _OF_PART + "flags",
    "frombuffer": "pg.array of a NumPy array that is the same on every process",
    "fromfile": _LOAD,
    "genfromtxt": _LOAD,
    "loadtxt": _LOAD,
    "memmap": _LOAD,
    "ndindex": "pg.ndenumerate(A), of the local part; or np.ndindex(A.shape)",
    "repeat": "pg.repeat(A, n)",
    "row_stack": "pg.concatenate((A, B)) of matrices, pg.stack((a, b)) of vectors",
    "savetxt": _SAVE,
    "savez": _SAVE,
    "savez_compressed": _SAVE,
    "strides": _OF_PART + "strides",
    "tofile": _SAVE,
    "trace": "pg.trace(A)",
    "view": "A.astype(dtype), or A.local().view(dtype) for the bytes of this process",
}
"""For arrays A and B, vectors a and b."""

def instead_of(name: str) -> str:
    """What to call instead of one of NumPy's functions or methods."""
    if name in INSTEAD:
        return f"use {INSTEAD[name]}"
    if name == "apply_along_axis":
        return ("call NumPy's on A.gather(), the whole array on every process; or, along a dimension that each process "
                'holds whole, as in A.redistribute(pg.Distribution("block", "*")), on the local part')
    return ("call NumPy's, with A.gather() for an array A: that is the whole of it on every process; "
            "with pg.fallback() does so by itself")


def missing(owner: str, name: str, obj: object, numpys: object) -> AttributeError:
    """The error that something of pgaspy has no attribute; `numpys` is what NumPy has in its place."""
    advice = f": {instead_of(name)}" if hasattr(numpys, name) and not name.startswith("_") else ""
    return AttributeError(f"{owner} has no attribute {name!r}{advice}", name=name, obj=obj)
