"""The nearest neighbours of each point of a grid, by the distances to all of them: naive, in batches.

From the papers of DistNumPy and cphVB.
"""

from math import isqrt

from _driver import Program, main

import pgaspy as np

N_NEAREST = 4


def problem(size):
    """Points along a spiral in the unit square, and the queries: about as many points, of a grid."""
    turn, scatter = np.linspace(0.5, 5, size), 0.005 * np.random.default_rng(2012).normal(size=(2, size))
    points = 0.5 + 0.09 * turn * np.stack([np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn)]) + scatter
    y, x = np.meshgrid(*[np.linspace(0, 1, isqrt(size))] * 2, indexing="ij")
    return points, np.stack([x.ravel(), y.ravel()])


def knn(points, queries, steps):
    """The distances of the nearest points, for each query in a row."""
    nearest, n = np.empty((queries.shape[1], N_NEAREST)), queries.shape[1]
    for step in steps:
        batch = slice(n * step // len(steps), n * (step + 1) // len(steps))
        dx, dy = [x - y[batch, None] for x, y in zip(points, queries)]
        smallest = np.partition(dx * dx + dy * dy, N_NEAREST - 1, axis=1)[:, :N_NEAREST]
        nearest[batch] = np.sqrt(np.sort(smallest, axis=1))
    return nearest


def checks(nearest, size, steps):
    """From a query to the next one, no distance changes by more than these are apart."""
    width = isqrt(size)
    rows = nearest.reshape(width, width, N_NEAREST)
    return {"change along a row, over the distance": (float(abs(np.diff(rows, axis=1)).max()) * (width - 1), 1 + 1e-9),
            "not in order": (float((nearest[:, 1:] < nearest[:, :-1]).sum()), 0)}


def picture(nearest):
    """How far the nearest points are: light near them, and halfway between them dark."""
    width = isqrt(len(nearest))
    return -np.sqrt(nearest[:, 0]).reshape(width, width)


PROGRAM = Program(problem, knn, checks, picture, size=10_000, steps=20, unit="Mpair/s", tolerance=1e-12,
                  work=lambda size, steps: isqrt(size)**2 * size / 1e6, colours="bone")

if __name__ == "__main__":
    main(PROGRAM)
