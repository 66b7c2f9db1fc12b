"""Forms: how a call is computed at once, by which C kernel, of which dtypes; worked out once for the call's dtypes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pgaspy.caches import cached
from pgaspy.scheduling.at_once import kernel_for
from pgaspy.scheduling.functions import AnyFunction
from pgaspy.scheduling.operations import statement_form
from pgaspy.statements import depends_on_values, loop_dtypes

__all__ = ["Form", "copying", "form_by", "form_of"]


class Form(NamedTuple):
    """How a function is computed: by a kernel, of the dtypes that it takes, and that which it gives.

    Attributes
    ----------
    kernel
        Its number; -1 where there is none.
    loop
        The dtypes, that of the result last.
    number_dtype
        A number is taken as one of it: that of the last operand, where none is Python's.
    is_array
        Of each operand, whether it is an array, or a number.
    is_cast
        Whether an array has another dtype than the kernel takes.
    said
        What other processes are told of it, besides the views; see `statement_form`.
    itemsizes
        The bytes of an element of each of the loop's dtypes.
    """

    kernel: int
    loop: tuple[np.dtype[Any], ...]
    number_dtype: np.dtype[Any]
    is_array: tuple[bool, ...]
    is_cast: bool
    said: tuple[Any, ...]
    itemsizes: tuple[int, ...]

    @property
    def is_assignment(self) -> bool:
        """Whether elements are copied, as an assignment does."""
        return self.said[0] is None


def form_by(kernel: int, function: AnyFunction | None, loop: tuple[np.dtype[Any], ...], number_dtype: np.dtype[Any],
            is_array: tuple[bool, ...], is_cast: bool = False) -> Form:
    """That of a function by a kernel, with what follows from these."""
    said = statement_form(function, is_array, loop, loop[-1:], False)
    return Form(kernel, loop, number_dtype, is_array, is_cast, said, tuple([dtype.itemsize for dtype in loop]))


@cached
def form_of(ufunc: np.ufunc, dtype: np.dtype[Any], other: Any, is_first: bool, is_in_place: bool) -> Form | None:
    """That of a function of a dtype and another one, the class of a Python number, or that of None; if there is one."""
    described: list[Any] = [(None, dtype)]
    if other is not type(None):
        described.append(other if isinstance(other, type) else (None, other))
    if is_first:
        described.reverse()
    if ufunc.nout > 1 or depends_on_values(ufunc, described):
        return None
    try:
        loop = loop_dtypes(ufunc, described, (dtype if is_in_place else None,), False, None, "same_kind")
    except TypeError:
        return None
    dtypes = [d[1] if isinstance(d, tuple) else own for d, own in zip(described, loop, strict=False)]
    kernel = kernel_for(ufunc, ufunc.__name__, (*dtypes, loop[-1]), loop)
    if kernel < 0 or (is_in_place and loop[-1] != dtype):
        return None  # what has no kernel with these casts is left to NumPy's function, whose bits are others
    number = next((own for d, own in zip(described, loop, strict=False) if not isinstance(d, tuple)), loop[-2])
    is_array = tuple([isinstance(d, tuple) for d in described])
    return form_by(kernel, ufunc, loop, number, is_array, dtypes != [*loop[:-1]])


@cached
def copying(dtype: np.dtype[Any], of_number: bool) -> Form:
    """How elements of a dtype are copied, or a Python number is."""
    loop = dtype, dtype
    return form_by(kernel_for(None, "copy", loop, loop), None, loop, dtype, (not of_number,))
