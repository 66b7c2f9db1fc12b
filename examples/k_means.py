"""Clusters by Lloyd's algorithm: each point belongs to the nearest centre, each centre is the mean of its points."""

from _driver import Program, main

import pgaspy as np

N_CLUSTERS = 9


def problem(size):
    """Points around the corners of a bent grid, and some of them as centres."""
    rng = np.random.default_rng(1957)
    corner = np.arange(size) % N_CLUSTERS
    points = np.stack([corner % 3 + 0.3 * (corner // 3), corner // 3 - 0.2 * (corner % 3)], axis=1)
    return points + 0.22 * rng.normal(size=(size, 2)), points[:N_CLUSTERS] + 0.5 * rng.random((N_CLUSTERS, 2))


def k_means(points, centres, steps):
    """The centres, to which of them each point belongs, and the mean squared distance in each step."""
    distances = []
    for step in steps:
        squares = ((points[:, None, :] - centres)**2).sum(axis=2)
        labels = squares.argmin(axis=1)
        distances.append(squares.min(axis=1).mean())
        n = np.bincount(labels, minlength=N_CLUSTERS)
        sums = [np.bincount(labels, weights=points[:, d], minlength=N_CLUSTERS) for d in range(2)]
        centres = np.where(n[:, None] > 0, np.stack(sums, axis=1) / np.maximum(n, 1)[:, None], centres)
    return points, labels, centres, np.array(distances)


def checks(result, size, steps):
    """No step makes the distances larger."""
    *_, distances = result
    return {"distance won in a step": (float(np.diff(distances, prepend=distances[0]).max()), 1e-12)}


def picture(result):
    """The points, in the colours of their clusters."""
    points, labels, *_ = result
    (x, y), edges = points.T, ((-1.1, 2.7), (-0.8, 3.4))
    n, _, _ = np.histogram2d(y, x, bins=120, range=edges)
    colours, _, _ = np.histogram2d(y, x, bins=120, range=edges, weights=labels + 1.0)
    return np.where(n > 0, colours / np.maximum(n, 1), 0)


PROGRAM = Program(problem, k_means, checks, picture, size=200_000, steps=10, unit="Mpoint/s", tolerance=1e-10,
                  work=lambda size, steps: size * steps / 1e6, colours="nipy_spectral")

if __name__ == "__main__":
    main(PROGRAM)
