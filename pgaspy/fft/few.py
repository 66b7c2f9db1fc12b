"""Transforms of small arrays on one process, at once: NumPy's, of one dimension after the other.

Their bits are those of what is recorded, which has the same passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.alone import small
from pgaspy.alone.likeness import likeness, view_like
from pgaspy.array import GlobalArray, of_elements
from pgaspy.fft.pencils import LONGEST, ONE_BY_ONE, is_one_line, layout_like
from pgaspy.planning.view import View, whole

__all__ = ["transformed_few"]

_OF_REAL = {"rfft", "irfft"}


def transformed_few(a: GlobalArray, dims: Sequence[int], lengths: Sequence[int], dtype: np.dtype[Any], function: str,
                    norm: str | None) -> GlobalArray | None:
    """The transform of a small array, by complex numbers of a dtype; None if it is not computed here."""
    elements = small.ready(a) if small.is_on else None
    if elements is None or not elements.size or 0 in elements.strides or dtype != np.complex128 or not dims:
        return None
    if not all(1 <= n <= LONGEST for n in lengths) or (len(dims) > 1 and (
            len({*dims}) < len(dims) or [*lengths] != [elements.shape[d] for d in dims])):
        return None
    if function in _OF_REAL and is_one_line(a, dims[-1]):  # as half as many complex numbers
        return None
    found = small.called(_passes, elements, dims, lengths, function, norm)
    if found is None or not small.takes(found.shape):
        return None
    return of_elements(found, (likeness(_view_like, view_like(a), found.shape), None, True))


def _passes(elements: NDArray[Any], dims: Sequence[int], lengths: Sequence[int], function: str,
            norm: str | None) -> NDArray[Any]:
    transform = getattr(np.fft, ONE_BY_ONE.get(function, function))
    found = elements.astype(float if function == "rfft" else complex, order="C", copy=False)
    for d, n in zip(dims, lengths, strict=True):
        found = transform(found, n, d, norm)
    return np.ascontiguousarray(found)


def _view_like(view: View, shape: tuple[int, ...]) -> View:
    """What the transform of a view is like."""
    return whole(layout_like(view, shape))
