"""What a flush makes of the operations of a program: how many of them share kernels."""

from __future__ import annotations

from collections.abc import Callable

import pgaspy as pg

__all__ = ["kernels_of"]


def kernels_of(program: Callable[[], object]) -> tuple[int, int]:
    """How many operations of a program ran in kernels, and in how many."""
    pg.sync()
    before = pg.stats()
    kept = program()
    pg.sync()
    del kept
    done = pg.stats() - before
    return done.n_fused, done.n_kernels
