"""Wave functions on a batch of grids that relax, by a Laplacian of 13 points, as in GPAW.

The stack of grids is not dealt out in its first dimension: each process has a part of space of all grids, so that their
edges travel together.
"""

from _driver import Program, main, with_whole

import pgaspy as np

N_GRIDS, TIME_STEP = 8, 0.1
WEIGHTS = (-2.5, 4 / 3, -1 / 12)


def problem(size):
    """Waves of different lengths in a box, zero at its walls and odd beyond them."""
    x = np.pi * (np.arange(size + 4) - 1) / (size + 1)
    modes = [(1, 1 + m // 4, 1 + m % 4) for m in range(N_GRIDS)]
    waves = [np.sin(i * x)[:, None, None] * np.sin(j * x)[:, None] * np.sin(k * x) for i, j, k in modes]
    return (with_whole(np.stack(waves), 0),)


def laplacian(a):
    """Of all points that have two neighbours on each side, in each direction."""
    inner = slice(2, -2)
    found = 3 * WEIGHTS[0] * a[:, inner, inner, inner]
    for distance, weight in enumerate(WEIGHTS[1:], 1):
        for shift in (slice(2 - distance, -2 - distance), slice(2 + distance, -2 + distance or None)):
            found = found + weight * (a[:, shift, inner, inner] + a[:, inner, shift, inner] + a[:, inner, inner, shift])
    return found


def finite_differences(grids, steps):
    """The waves after some time."""
    for step in steps:
        grids[:, 2:-2, 2:-2, 2:-2] += TIME_STEP * laplacian(grids)
    return grids


def checks(grids, size, steps):
    """Waves are waves still, and the longest lives longest."""
    return {"beyond what they were": (float(abs(grids).max()) - 1, 0)}


def picture(grids):
    """A plane of some grids, one beside the other."""
    plane = grids.shape[1] // 2
    return np.concatenate([np.concatenate(list(grids[:4, plane]), axis=1),
                           np.concatenate(list(grids[4:, plane]), axis=1)])


PROGRAM = Program(problem, finite_differences, checks, picture, size=48, steps=20, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: N_GRIDS * size**3 * steps / 1e6, colours="seismic")

if __name__ == "__main__":
    main(PROGRAM)
