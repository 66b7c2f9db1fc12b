"""What a file format is: a header, which says where the elements lie behind it."""

from __future__ import annotations

import math
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

__all__ = ["Format", "Header"]


class Header(NamedTuple):
    """The array in a file, and where it lies: the element at an index begins at byte `offset + sum(index * strides)`.

    So a box of the array takes these bytes. Elements do not overlap, and nothing else lies between them.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the header and of all elements."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


class Format(Protocol):
    """A kind of files of one array each. One process reads and writes their headers, all of them the elements."""

    @property
    def suffix(self) -> str:
        """What the names of such files end in."""

    def read_header(self, file: BinaryIO, path: str) -> Header:
        """Read the header at the beginning of a file, which errors call `path`.

        Raises
        ------
        ValueError
            If the file is of no such format, or holds what cannot be moved as bytes.
        """

    def write_header(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Header:
        """Write the header at the beginning of a new file."""
