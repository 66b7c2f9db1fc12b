"""Failures that are injected into a program: a seam, which takes a failure's name from `--inject`.

A failure is a context manager that is entered around a program, made of the program's seed. The library has no named
fail points yet: they become rows of `FAILURES`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

__all__ = ["FAILURES", "injected"]

FAILURES: dict[str, Callable[[int], AbstractContextManager[None]]] = {}
"""What can be injected, by name."""


def injected(name: str | None, seed: int) -> AbstractContextManager[None]:
    """Around a program: the failure of this name; nothing without one."""
    if name is None:
        return contextlib.nullcontext()
    if name not in FAILURES:
        raise ValueError(f"--inject={name} is none of the failures {sorted(FAILURES)}")
    return FAILURES[name](seed)
