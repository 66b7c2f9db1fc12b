"""Generators of random global arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgaspy.execution.recording import sync, together
from pgaspy.job.procgrid import world
from pgaspy.random.multivariate import Multivariate
from pgaspy.random.rearranging import Rearranging
from pgaspy.random.univariate import Univariate
from pgaspy.supervision.meetings import told
from pgaspy.supervision.recorder import announce, listen

__all__ = ["Generator", "default_rng"]


def default_rng(seed: int | Sequence[int] | np.random.SeedSequence | None = None) -> Generator:
    """A generator of random global arrays; the same on every process. Collective, without a seed.

    Parameters
    ----------
    seed
        As for NumPy's `default_rng`, also of global arrays; the operating system's entropy, the same for all processes,
        if None.
    """
    if seed is None:
        seed = np.random.SeedSequence().entropy
        if world().size > 1:
            with together():
                sync()
                announce("default_rng", meets=True)
                seed = told(world().communicator, seed, listen)
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(_with_values(seed))
    return Generator(int(sequence.generate_state(1, np.uint64)[0]))


def _with_values(seed: Any) -> Any:
    """A seed, with values in the place of global arrays."""
    if hasattr(seed, "_view"):
        return operator.index(seed) if seed.ndim == 0 else seed.tolist()
    return [_with_values(x) for x in seed] if isinstance(seed, list | tuple) else seed


class Generator(Univariate, Multivariate, Rearranging):
    """Draws random global arrays. Every draw is collective and takes its own numbers.

    The draws have the parameters of NumPy's, and take `layout=` and `onenode=` as the creation functions do; `size` is
    the shape, None for one number, or for the shape of the parameters.
    """

    def __init__(self, key: int) -> None:
        super().__init__(key)
        self._n_children = 0

    def spawn(self, n_children: int) -> list[Generator]:
        """More generators, with numbers of their own; others at each call. Not collective."""
        before, self._n_children = self._n_children, self._n_children + n_children
        sequences = [np.random.SeedSequence(self._key, spawn_key=(k,)) for k in range(before, self._n_children)]
        return [Generator(int(sequence.generate_state(1, np.uint64)[0])) for sequence in sequences]

    if not TYPE_CHECKING:  # to which every name would be right, then

        def __getattr__(self, name: str) -> Any:
            advice = ": it has a key and counters" if name == "bit_generator" else ""
            raise AttributeError(f"a Generator has no attribute {name!r}{advice}", name=name, obj=self)
