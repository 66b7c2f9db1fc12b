"""How GNU's OpenMP lets threads wait, where the environment says nothing else.

A thread that waits for others spins, so that it goes on at once, and sleeps if that takes long: by default after some
milliseconds, in which a core that is shared with other programs could have run the thread that is waited for.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["brief_spinning"]

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
