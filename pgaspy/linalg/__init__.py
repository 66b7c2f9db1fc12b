"""Linear algebra: the names, arguments and results of `numpy.linalg`, and where it has none, of `scipy.linalg`.

`numpy.linalg.solve(A, b)` and the like work on global arrays as well. All functions are collective. Operands are global
arrays or views, in any layout, or NumPy arrays that are the same on every process, float32, float64, complex64 or
complex128; integers are computed in float64. Large matrices are copied into square blocks that are dealt out in turn
over a grid of processes (`cyclic(b)`), unless they lie so already, and factored there by `pgaspy.algorithms`; smaller
ones are factored as a whole, by one call of LAPACK. Results are dealt out as the operand is that they have the shape
of; factors for `lu_solve` and `cho_solve` stay where they are.
The functions of `numpy.linalg` take stacks of matrices: these are dealt out over the stack, and each process calls
NumPy's function for those that it has.

While `pgaspy.explain` plans, no value can be read: matrices count as finite and regular there. What branches on other
values, as `cholesky`, `svd` and `eigh` do, cannot be explained.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.linalg import LinAlgError as LinAlgError

from pgaspy.linalg.by_jacobi import EighResult as EighResult
from pgaspy.linalg.by_jacobi import SVDResult as SVDResult
from pgaspy.linalg.by_jacobi import eigh as eigh
from pgaspy.linalg.by_jacobi import eigvalsh as eigvalsh
from pgaspy.linalg.by_jacobi import matrix_rank as matrix_rank
from pgaspy.linalg.by_jacobi import pinv as pinv
from pgaspy.linalg.by_jacobi import svd as svd
from pgaspy.linalg.by_jacobi import svdvals as svdvals
from pgaspy.linalg.by_lu import SlogdetResult as SlogdetResult
from pgaspy.linalg.by_lu import det as det
from pgaspy.linalg.by_lu import inv as inv
from pgaspy.linalg.by_lu import lu as lu
from pgaspy.linalg.by_lu import lu_factor as lu_factor
from pgaspy.linalg.by_lu import lu_solve as lu_solve
from pgaspy.linalg.by_lu import slogdet as slogdet
from pgaspy.linalg.by_lu import solve as solve
from pgaspy.linalg.by_qr import QRResult as QRResult
from pgaspy.linalg.by_qr import lstsq as lstsq
from pgaspy.linalg.by_qr import qr as qr
from pgaspy.linalg.diagonals import matrix_diagonal as diagonal
from pgaspy.linalg.diagonals import matrix_trace as trace
from pgaspy.linalg.eigenvalues import EigResult as EigResult
from pgaspy.linalg.eigenvalues import eig as eig
from pgaspy.linalg.eigenvalues import eigvals as eigvals
from pgaspy.linalg.norms import cond as cond
from pgaspy.linalg.norms import matrix_norm as matrix_norm
from pgaspy.linalg.norms import norm as norm
from pgaspy.linalg.norms import vector_norm as vector_norm
from pgaspy.linalg.products import cross as cross
from pgaspy.linalg.products import matrix_power as matrix_power
from pgaspy.linalg.products import matrix_transpose as matrix_transpose
from pgaspy.linalg.products import multi_dot as multi_dot
from pgaspy.linalg.products import outer as outer
from pgaspy.linalg.products import tensordot as tensordot
from pgaspy.linalg.products import vecdot as vecdot
from pgaspy.linalg.tensors import tensorinv as tensorinv
from pgaspy.linalg.tensors import tensorsolve as tensorsolve
from pgaspy.linalg.triangles import cho_factor as cho_factor
from pgaspy.linalg.triangles import cho_solve as cho_solve
from pgaspy.linalg.triangles import cholesky as cholesky
from pgaspy.linalg.triangles import solve_triangular as solve_triangular
from pgaspy.missing import missing
from pgaspy.multiplying import dot as dot
from pgaspy.multiplying import matmul as matmul

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cho_factor", "cho_solve",
    "cholesky", "cond", "cross", "det", "diagonal", "dot", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "lu",
    "lu_factor", "lu_solve", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot",
    "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "tensorinv",
    "tensorsolve", "trace", "vecdot", "vector_norm",
]


if not TYPE_CHECKING:  # to which every name would be right, then

    def __getattr__(name: str) -> Any:
        raise missing("module 'pgaspy.linalg'", name, sys.modules[__name__], np.linalg)


def __dir__() -> list[str]:
    return __all__
