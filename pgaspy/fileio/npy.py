"""NumPy's `.npy` files: read in either order of elements, and written in C order."""

from __future__ import annotations

from dataclasses import dataclass
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from pgaspy.fileio.formats import Header
from pgaspy.planning.transfers import strides_from_shape

__all__ = ["Npy"]


@dataclass(frozen=True, slots=True)
class Npy:
    """Reads versions 1.0 to 3.0, and writes 1.0."""

    suffix = ".npy"

    def read_header(self, file: BinaryIO, path: str) -> Header:
        """As `Format` says; pickled objects are refused."""
        start = file.read(npy.MAGIC_LEN)
        if not start.startswith(npy.MAGIC_PREFIX):
            is_zip = start.startswith(b"PK")
            remedy = ": it is an .npz archive; numpy.load it, and pass its arrays to array()" if is_zip else ""
            raise ValueError(f"{path} is not an .npy file, it begins with {start!r}{remedy}")
        file.seek(0)
        try:
            shape, fortran_order, dtype = _read_fields(file)
        except (ValueError, TokenError) as error:
            raise ValueError(f"{path} has no valid .npy header: {error}") from None
        if dtype.hasobject:
            raise ValueError(f"{path} holds pickled objects ({dtype}), which are not loaded: numpy.load it with "
                             "allow_pickle=True, if you trust it, and save it with a numeric dtype")
        if any(n < 0 for n in shape):
            raise ValueError(f"{path} has a negative extent in its header: shape {shape}")
        order = -1 if fortran_order else 1
        return Header(shape, dtype, file.tell(), strides_from_shape(shape[::order], dtype.itemsize)[::order])

    def write_header(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Header:
        """As `Format` says."""
        npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
        return Header(shape, dtype, file.tell(), strides_from_shape(shape, dtype.itemsize))


def _read_fields(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether the order is Fortran's, and the dtype, from a header."""
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    if version in ((2, 0), (3, 0)):  # 3.0 is 2.0 in UTF-8, which only the names of a structured dtype's fields need
        return npy.read_array_header_2_0(file)
    raise ValueError(f"it is in version {version} of the format; 1.0, 2.0 and 3.0 can be read")
