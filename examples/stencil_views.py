"""A stencil of five points on views of one array that are shifted, and on five arrays that lie alike.

From DistNumPy's paper on array views, which compares both: what differs is what views cost, and their messages.
"""

from dataclasses import replace

from _driver import Program, main

import pgaspy as np


def problem(size):
    """A field on a torus of so many points, with an edge around it that has the points of the other side."""
    x, y = np.linspace(0, 2 * np.pi, size + 2)[:, None], np.linspace(0, 2 * np.pi, size + 2)
    return (np.sin(3 * x) * np.cos(2 * y) + np.cos(5 * x + 4 * y),)


def shifted(full, steps):
    """The field after some sweeps, with the edge as it was."""
    for step in steps:
        work = 0.2 * (full[1:-1, 1:-1] + full[:-2, 1:-1] + full[2:, 1:-1] + full[1:-1, :-2] + full[1:-1, 2:])
        full[1:-1, 1:-1] = work
    return full


def aligned(full, steps):
    """As many operations, and none on what others have."""
    center, up, down, left, right = (full[1:-1, 1:-1].copy() + 0 for _ in range(5))
    for step in steps:
        work = 0.2 * (center + up + down + left + right)
        center[...] = work
    return center


def checks(result, size, steps):
    """A mean is not beyond what it is a mean of."""
    return {"beyond what it was": (float(abs(result).max()), 2)}


def picture(result):
    """The field."""
    return result


PROGRAM = Program(problem, shifted, checks, picture, size=1000, steps=100, unit="Mpoint/s", tolerance=1e-12,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="coolwarm")
ALIGNED = replace(PROGRAM, core=aligned, variant="ALIGNED")

if __name__ == "__main__":
    main(PROGRAM, ALIGNED)
