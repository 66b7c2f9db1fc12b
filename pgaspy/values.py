"""Values that all processes read, to decide the same; while `explain` plans, which cannot read, they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgaspy.array import GlobalArray
from pgaspy.execution.recording import is_planning

__all__ = ["is_any", "told", "value"]


def value(x: Any, planned: Any) -> Any:
    """The elements, on every process: a scalar, or a NumPy array. Collective; while planning, `planned`."""
    if is_planning():
        return planned
    return x.gather() if x.ndim else x.item()


def told(x: Any) -> Any:
    """What is no operand, but says what to do, with NumPy's arrays and scalars in the place of global ones, also in
    sequences. Collective, if there are any.
    """
    if type(x) in (list, tuple):
        return type(x)(map(told, x))
    if not isinstance(x, GlobalArray):
        return x
    return x.gather() if x.ndim else x._as_scalar()


def is_any(flags: Any) -> bool:
    """Whether any is true, on every process. Collective; not, while planning."""
    if not isinstance(flags, GlobalArray):
        return bool(np.any(flags))
    return not is_planning() and bool(flags.any().item())
