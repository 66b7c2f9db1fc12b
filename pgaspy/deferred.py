"""Warnings of results that are not there yet."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import asarray
from pgaspy.host.call_sites import frame_of_program
from pgaspy.tasks import perform

__all__ = ["warn_later"]


def warn_later(found: GlobalArray, is_bad: np.ufunc, message: str) -> None:
    """Warn at the line of the program, when what is found is there; nobody waits for it. Collective."""
    frame = frame_of_program(sys._getframe(1))
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "")
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    perform(functools.partial(_warn_of, is_bad, message), place, registry, asarray(found))


def _warn_of(is_bad: np.ufunc, message: str, place: tuple[str, int, str], registry: dict[Any, Any],
             found: NDArray[Any]) -> None:
    if is_bad(found, found if is_bad is np.not_equal else 0).any():
        file, line, module = place
        try:
            warnings.warn_explicit(message, RuntimeWarning, file, line, module, registry)
        except RuntimeWarning as warning:  # a filter makes it an error, which would be that of this process alone
            warnings.showwarning(warning, RuntimeWarning, file, line)
