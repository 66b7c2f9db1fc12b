"""The nearest neighbours of each point of a grid, by the distances to all of them: naive, in batches.

From the papers of DistNumPy and cphVB.
"""

from math import isqrt

from _driver import Program, main

import pgaspy as np

N_NEAREST = 4


def problem(size):
    """Points in the unit square, and the queries: about as many points, of a grid."""
    points = np.random.default_rng(2012).random((2, size))
    y, x = np.meshgrid(*[np.linspace(0, 1, isqrt(size))] * 2, indexing="ij")
    return points, np.stack([x.ravel(), y.ravel()])


def knn(points, queries, steps):
    """The distances of the nearest points, for each query in a row."""
    nearest, n = np.empty((queries.shape[1], N_NEAREST)), queries.shape[1]
    for step in steps:
        batch = slice(n * step // len(steps), n * (step + 1) // len(steps))
        dx, dy = points[:, None, :] - queries[:, batch, None]
        smallest = np.partition(dx * dx + dy * dy, N_NEAREST - 1, axis=1)[:, :N_NEAREST]
        nearest[batch] = np.sqrt(np.sort(smallest, axis=1))
    return nearest


def checks(nearest, size, steps):
    """Circles around the queries that hold as many points as are sought have their share of the square."""
    area = float((np.pi * nearest[:, -1]**2).mean()) * size / N_NEAREST
    return {"area per point, off 1": (abs(area - 1), 0.5 + 10 / size**0.5),
            "not in order": (float((nearest[:, 1:] < nearest[:, :-1]).sum()), 0)}


def picture(nearest):
    """How far the second neighbour is, less how far the first: dark between two points that are as near."""
    width = isqrt(len(nearest))
    return np.sqrt(nearest[:, 1] - nearest[:, 0]).reshape(width, width)


PROGRAM = Program(problem, knn, checks, picture, size=10_000, steps=20, unit="Mpair/s", tolerance=1e-12,
                  work=lambda size, steps: isqrt(size)**2 * size / 1e6, colours="bone")

if __name__ == "__main__":
    main(PROGRAM)
