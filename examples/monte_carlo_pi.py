"""pi by chance: how many points of the unit square lie within the quarter of a circle.

From the papers of DistNumPy and cphVB; SciMark 2.0 has it as well.
"""

from math import pi

from _driver import Program, main

import pgaspy as np


def problem(size):
    """Where random numbers begin, and how many points are tried in each step."""
    return 2012, size


def monte_carlo_pi(seed, size, steps):
    """For each step what it makes of pi."""
    rng, found = np.random.default_rng(seed), []
    for step in steps:
        x, y = rng.random(size), rng.random(size)
        found.append(4 * (x * x + y * y < 1).mean())
    return np.array(found)


def checks(found, size, steps):
    """The error is that of so many trials; NumPy has other random numbers, and an error of its own."""
    error = abs(float(found.mean()) - pi)
    return {"error of pi, over its standard deviation": (error / (1.642 / (size * steps)**0.5), 5)}


def picture(found):
    """The first points, those outside of the circle dark."""
    rng = np.random.default_rng(2012)
    x, y = rng.random(100_000), rng.random(100_000)
    light = np.where(x * x + y * y < 1, 1, 0.2)
    counts, _, _ = np.histogram2d(1 - y, x, bins=200, range=((0, 1), (0, 1)), weights=light)
    return np.sqrt(counts)


PROGRAM = Program(problem, monte_carlo_pi, checks, picture, size=1_000_000, steps=10, unit="Mpoint/s",
                  tolerance=lambda size: 4 / size**0.5, work=lambda size, steps: size * steps / 1e6, colours="gnuplot2")

if __name__ == "__main__":
    main(PROGRAM)
