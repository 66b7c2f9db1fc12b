"""NumPy's names that pgaspy does not have, and what to call instead.

What NumPy computes of the local part is advised nowhere: the median of a part, or its order, is not that of the array.
"""

from __future__ import annotations

__all__ = ["INSTEAD", "instead_of", "missing"]

_PARTS = "slices of A, as A[start:stop]"
_INDICES = "pg.arange(n)[:, None] and pg.arange(m), which broadcast; or pg.fromfunction"
_AS_ARRAY = "pg.asarray(A)"
_LOAD = "pg.load(file) of a file in NumPy's format .npy, or pg.array of what NumPy reads"
_SAVE = "pg.save(file, A)"
_PRINT = "pg.print_once(A), with np.printoptions"
_OF_PART = "that of the local part, as in A.local()."

INSTEAD = {
    "allclose": "abs(A - B).max() <= tolerance",
    "angle": "pg.arctan2(A.imag, A.real)",
    "append": "pg.concatenate((A, B))",
    "around": "pg.rint(A * 10**n) / 10**n",
    "array2string": _PRINT,
    "array_equal": "A.shape == B.shape and (A == B).all()",
    "array_equiv": "(A == B).all()",
    "array_repr": _PRINT,
    "array_split": _PARTS,
    "array_str": _PRINT,
    "asanyarray": _AS_ARRAY,
    "ascontiguousarray": _AS_ARRAY,
    "asfortranarray": _AS_ARRAY,
    "astype": "A.astype(dtype)",
    "atleast_1d": "A.reshape(-1) of an array of no dimension",
    "atleast_2d": "A[None, :] of a vector",
    "average": "(A * w).sum() / w.sum()",
    "broadcast_arrays": "pg.broadcast_to(A, shape)",
    "column_stack": "pg.stack((a, b), axis=1) of vectors, pg.concatenate((A, B), axis=1) of matrices",
    "concat": "pg.concatenate((A, B))",
    "convolve": "sums of shifted slices, as w[0] * A[2:] + w[1] * A[1:-1] + w[2] * A[:-2]",
    "correlate": "sums of shifted slices, as w[0] * A[:-2] + w[1] * A[1:-1] + w[2] * A[2:]",
    "ctypes": _OF_PART + "ctypes",
    "data": _OF_PART + "data",
    "diag": "pg.diagonal(A) of a matrix, pg.eye(len(a)) * a for the matrix with the diagonal a",
    "diagflat": "pg.eye(len(a)) * a",
    "diagonal": "pg.diagonal(A)",
    "dot": "pg.dot(A, B)",
    "dsplit": _PARTS,
    "dstack": "pg.stack((A, B), axis=2) of matrices",
    "dump": _SAVE,
    "dumps": _SAVE,
    "eig": "pg.linalg.eigh(A), if A is Hermitian",
    "eigvals": "pg.linalg.eigvalsh(A), if A is Hermitian",
    "einsum": "A @ B or pg.tensordot(A, B, axes); or products with new dimensions and their sums, as (A[:, None] * B)"
              ".sum(0)",
    "fix": "pg.trunc(A)",
    "flags": _OF_PART + "flags",
    "fliplr": "A[:, ::-1]",
    "flipud": "A[::-1]",
    "frombuffer": "pg.array of a NumPy array that is the same on every process",
    "fromfile": _LOAD,
    "genfromtxt": _LOAD,
    "hsplit": _PARTS,
    "hstack": "pg.concatenate((A, B), axis=1) of matrices, pg.concatenate((a, b)) of vectors",
    "indices": _INDICES,
    "inner": "A @ B.T",
    "isclose": "abs(A - B) <= tolerance",
    "iscomplexobj": 'A.dtype.kind == "c"',
    "isneginf": "A == -pg.inf",
    "isposinf": "A == pg.inf",
    "isrealobj": 'A.dtype.kind != "c"',
    "loadtxt": _LOAD,
    "mT": "A.swapaxes(-1, -2)",
    "matrix_transpose": "A.swapaxes(-1, -2)",
    "memmap": _LOAD,
    "meshgrid": _INDICES,
    "mgrid": _INDICES,
    "moveaxis": "A.transpose(axes)",
    "multi_dot": "A @ B @ C",
    "nan_to_num": "pg.where(pg.isnan(A), 0, A), with clip(min, max) of pg.finfo(A.dtype) for infinite elements",
    "nanmax": "pg.fmax.reduce(A, axis=None)",
    "nanmean": "pg.where(pg.isnan(A), 0, A).sum() / (~pg.isnan(A)).sum()",
    "nanmin": "pg.fmin.reduce(A, axis=None)",
    "nanprod": "pg.where(pg.isnan(A), 1, A).prod()",
    "nansum": "pg.where(pg.isnan(A), 0, A).sum()",
    "ndindex": "pg.ndenumerate(A), of the local part; or np.ndindex(A.shape)",
    "ogrid": _INDICES,
    "pad": "B = pg.zeros(n + 2 * width); B[width:-width] = A",
    "permute_dims": "A.transpose(axes)",
    "ptp": "A.max() - A.min()",
    "repeat": "pg.repeat(A, n)",
    "rollaxis": "A.transpose(axes)",
    "rot90": "A.T[::-1]",
    "round": "pg.rint(A * 10**n) / 10**n",
    "row_stack": "pg.concatenate((A, B)) of matrices, pg.stack((a, b)) of vectors",
    "savetxt": _SAVE,
    "savez": _SAVE,
    "savez_compressed": _SAVE,
    "sinc": "pg.where(A == 0, 1, pg.sin(pg.pi * A) / (pg.pi * A))",
    "split": _PARTS,
    "strides": _OF_PART + "strides",
    "tofile": _SAVE,
    "trace": "pg.trace(A)",
    "tri": "pg.tril(pg.ones((n, m)))",
    "unstack": "A[0], A[1] and so on",
    "vdot": "(A.conj() * B).sum()",
    "view": "A.astype(dtype), or A.local().view(dtype) for the bytes of this process",
    "vsplit": _PARTS,
    "vstack": "pg.concatenate((A, B)) of matrices, pg.stack((a, b)) of vectors",
}
"""For arrays A and B, vectors a and b."""

_ALONG_AXES = {"apply_along_axis", "fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "rfft"}
"""What works along a dimension: that may be whole on each process."""


def instead_of(name: str) -> str:
    """What to call instead of one of NumPy's functions or methods."""
    if name in INSTEAD:
        return f"use {INSTEAD[name]}"
    if name in _ALONG_AXES:
        return ("call NumPy's on A.gather(), the whole array on every process; or, along a dimension that each process "
                'holds whole, as in A.redistribute(pg.Distribution("block", "*")), on the local part')
    return "call NumPy's, with A.gather() for an array A: that is the whole of it on every process"


def missing(owner: str, name: str, obj: object, numpys: object) -> AttributeError:
    """The error that something of pgaspy has no attribute; `numpys` is what NumPy has in its place."""
    advice = f": {instead_of(name)}" if hasattr(numpys, name) and not name.startswith("_") else ""
    return AttributeError(f"{owner} has no attribute {name!r}{advice}", name=name, obj=obj)
