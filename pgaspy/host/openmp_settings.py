"""How GNU's OpenMP lets threads wait, where the environment says nothing else, and where it lets the program's run.

A thread that waits for others spins, so that it goes on at once, and sleeps if that takes long: by default after some
milliseconds, in which a core that is shared with other programs could have run the thread that is waited for.

With `OMP_PROC_BIND` or `OMP_PLACES`, it binds the thread that loads it to its first place, mostly one core, and with it
all that this thread starts later: those of BLAS, and Python's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["brief_spinning", "not_bound"]

SPINS = 10_000
"""About a tenth of a millisecond: longer than a program takes from one kernel to the next."""

VARIABLES = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"


@contextlib.contextmanager
def brief_spinning() -> Iterator[None]:
    """Have threads spin for a short time only, of an OpenMP that is loaded meanwhile; what is started inherits nothing.
    """
    if any(name in os.environ for name in VARIABLES):
        yield
        return
    os.environ[VARIABLES[0]] = str(SPINS)
    try:
        yield
    finally:
        del os.environ[VARIABLES[0]]


@contextlib.contextmanager
def not_bound() -> Iterator[None]:
    """Let this thread run on the cores that it may run on now, also when an OpenMP is loaded meanwhile, which binds it.

    The threads of OpenMP are bound all the same.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    try:
        yield
    finally:
        if os.sched_getaffinity(0) != cores:
            os.sched_setaffinity(0, cores)
