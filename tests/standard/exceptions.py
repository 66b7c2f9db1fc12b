"""Functions of the Array API standard that are not as it says, each with the reason."""

from __future__ import annotations

__all__ = ["EXCEPTIONS"]

_STACKS = "takes one matrix, and no stack of matrices"

EXCEPTIONS: dict[str, str] = dict.fromkeys((
    "linalg.cholesky", "linalg.det", "linalg.eigh", "linalg.eigvalsh", "linalg.inv", "linalg.matrix_norm",
    "linalg.matrix_rank", "linalg.pinv", "linalg.qr", "linalg.slogdet", "linalg.solve", "linalg.svd",
    "linalg.svdvals"), _STACKS)
"""Name, as `linalg.det` -> the reason; these are tried with one matrix, and found to refuse several."""
