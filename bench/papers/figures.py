"""What the papers print.

The papers are

- latency hiding: M. R. B. Kristensen and B. Vinter, *Managing Communication Latency-Hiding at Runtime for Parallel
  Programming Languages and Libraries*, arXiv 1201.3804;
- array views: the same, *Numerical Python for Scalable Architectures with full array views*, GSTF Journal on Computing,
  2012;
- cphVB: M. R. B. Kristensen et al., *cphVB: A System for Automated Runtime Optimization and Parallelization of
  Vectorized Applications*, 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["FUSION", "LATENCY_HIDING", "N_CORES", "STENCIL_EFFICIENCY", "Paper"]

N_CORES = 16
"""Of as many nodes with Gigabit Ethernet, in the table of latency hiding."""


class Paper(NamedTuple):
    """A row of the table: how much faster than NumPy, and how much of the time, in per cent, was spent waiting."""

    title: str
    blocking: float | None = None
    hiding: float | None = None
    waiting_blocking: float | None = None
    waiting_hiding: float | None = None


LATENCY_HIDING: Mapping[str, Paper] = {
    "mandelbrot": Paper("Fractal", hiding=18.8),
    "black_scholes": Paper("Black-Scholes", hiding=15.4),
    "n_body": Paper("N-body", 17.8, 17.2),
    "knn": Paper("kNN", 12.6, 12.5),
    "lattice_boltzmann_2d": Paper("Lattice Boltzmann 2D", waiting_blocking=19, waiting_hiding=13),
    "lattice_boltzmann_3d": Paper("Lattice Boltzmann 3D", waiting_blocking=16, waiting_hiding=9),
    "jacobi": Paper("Jacobi", 5.9, 12.8, 54, 2),
    "jacobi_stencil": Paper("Jacobi stencil", 7.7, 18.4, 62, 9),
}
"""The eight programs of the paper on latency hiding, by our names."""

STENCIL_EFFICIENCY: Mapping[str, float] = {"aligned": 74, "shifted": 46}
"""Array views: the share in per cent of 2048 times NumPy's speed that the 5-point stencil reached on 2048 cores."""

FUSION: Mapping[str, str] = {
    "monte_carlo_pi": "over 6 (8 cores)",
    "knn": "over 5 (8 cores), over 2 (1 core)",
    "shallow_water": "about 3 (8 cores)",
    "n_body": "below 1 (1 core)",
}
"""cphVB: how much faster than NumPy."""
