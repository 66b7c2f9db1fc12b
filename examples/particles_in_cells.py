"""Particles sorted into cells: they drift around stars, and those of one cell are kept next to each other.

What molecular dynamics and particle-in-cell codes do, so that neighbours are found by slices.
"""

from _driver import Program, main

import pgaspy as np

N_CELLS, TIME_STEP = 64, 0.05


def problem(size):
    """Positions and velocities in the unit square, which is a torus."""
    rng = np.random.default_rng(1962)
    return rng.random((2, size)), 0.05 * rng.normal(size=(2, size))


def particles_in_cells(position, velocity, steps):
    """Positions and velocities, cell by cell, and at which of them each cell begins."""
    for step in steps:
        velocity = velocity - TIME_STEP * 0.3 * np.sin(4 * np.pi * position)
        position = (position + TIME_STEP * velocity) % 1
        x, y = (position * N_CELLS).astype(int)
        cell = np.minimum(x, N_CELLS - 1) * N_CELLS + np.minimum(y, N_CELLS - 1)
        order = np.argsort(cell, kind="stable")
        position, velocity, cell = position[:, order], velocity[:, order], cell[order]
    return position, velocity, np.searchsorted(cell, np.arange(N_CELLS**2 + 1))


def checks(result, size, steps):
    """Each particle is in the cell in whose slice it is."""
    position, _, starts = result
    cell = np.searchsorted(starts, np.arange(size), side="right") - 1
    x, y = (position * N_CELLS).astype(int)
    return {"particles in other cells": (float((np.minimum(x, N_CELLS - 1) * N_CELLS
                                                + np.minimum(y, N_CELLS - 1) != cell).sum()), 0),
            "particles lost": (abs(size - float(starts[-1])), 0)}


def picture(result):
    """How many particles each cell has."""
    return np.log(1 + np.diff(result[2]).reshape(N_CELLS, N_CELLS))


PROGRAM = Program(problem, particles_in_cells, checks, picture, size=200_000, steps=40, unit="Mparticle/s",
                  tolerance=1e-10, work=lambda size, steps: size * steps / 1e6, colours="copper")

if __name__ == "__main__":
    main(PROGRAM)
