"""Functions of the Array API standard that are not as it says, each with the reason."""

from __future__ import annotations

__all__ = ["EXCEPTIONS"]

_LATER = "is not there yet"

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys((
        "astype", "broadcast_arrays", "broadcast_shapes", "concat", "linalg.cross", "linalg.matrix_transpose",
        "matrix_transpose", "meshgrid", "moveaxis", "permute_dims", "round", "unstack"), _LATER),
    **dict.fromkeys((f"fft.{name}" for name in (
        "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
        "rfftfreq", "rfftn")), _LATER),
}
"""Name, as `linalg.det` -> the reason."""
