"""Random numbers that are a function of the seed and the global index alone.

Each element has blocks of a counter-based generator, Philox4x32-10 (Salmon, Moraes, Dror & Shaw, *Parallel Random
Numbers: As Easy as 1, 2, 3*, SC 2011), keyed by the seed, with the element's row-major global index, the number of the
call, and that of the attempt as counters: one block, or as many as it takes where numbers are drawn by trial. So every
number of processes and every layout gives the same array.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pgaspy.random.generators import Generator as Generator
from pgaspy.random.generators import default_rng as default_rng

__all__ = ["Generator", "default_rng"]


if not TYPE_CHECKING:  # to which every name would be right, then

    def __getattr__(name: str) -> Any:
        advice = ": use the generator that default_rng(seed) returns" if hasattr(np.random, name) else ""
        raise AttributeError(f"module 'pgaspy.random' has no attribute {name!r}{advice}", name=name,
                             obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__
