"""The programs, and in which sizes they are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["FUSED", "SETTINGS", "STENCIL", "Setting", "grown"]


class Setting(NamedTuple):
    """A size and a number of steps, and on two hosts the size for each of them.

    Attributes
    ----------
    n_reads
        How many values each step reads, for which all processes have to wait.
    goal
        How many times as fast as NumPy on one process x 2 threads, unless a bound is reached.
    """

    size: int
    steps: int
    size_on_link: int
    steps_on_link: int
    n_reads: int = 0
    goal: float = 5.0


SETTINGS: Mapping[str, Setting] = {
    "mandelbrot": Setting(1000, 20, 2000, 20),
    "black_scholes": Setting(1000, 4, 1400, 4),
    "n_body": Setting(2000, 5, 2800, 5),
    "knn": Setting(4096, 8, 4096, 8, goal=1.8),
    "lattice_boltzmann_2d": Setting(300, 30, 800, 10),
    "lattice_boltzmann_3d": Setting(80, 5, 96, 2),
    "jacobi": Setting(4096, 30, 5000, 30, n_reads=1),
    "jacobi_stencil": Setting(2000, 20, 3000, 20, n_reads=1),
}
"""The eight of the paper on latency hiding; so many steps that what is checked of a result holds."""

STENCIL = "jacobi_stencil"
"""The program whose views are aligned, or not."""

FUSED: Mapping[str, Setting] = {
    "monte_carlo_pi": Setting(4_000_000, 2, 0, 0),
    "shallow_water": Setting(1000, 10, 0, 0),
    "knn": SETTINGS["knn"],
    "n_body": SETTINGS["n_body"],
}
"""Those of the paper on fusion."""


def grown(work: Callable[[int, int], float], size: int, times: int) -> int:
    """The size of a problem that has so many times the work, as nearly as there is one.

    Parameters
    ----------
    work
        The work of a size and a number of steps; more for larger sizes.
    """
    wanted, low, high = times * work(size, 1), size, size * times
    while low < high:
        middle = (low + high) // 2
        if work(middle, 1) < wanted:
            low = middle + 1
        else:
            high = middle
    return low
