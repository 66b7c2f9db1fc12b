"""The temperature of a plate whose edges are held, by Jacobi's method: five views of one array.

From DistNumPy's papers on array views and on latency hiding.
"""

from _driver import Program, main

import pgaspy as np

EPSILON = 1e-3


def problem(size):
    """A plate that is cold, and whose edges are hot above and half as hot at one side."""
    full = np.zeros((size + 2, size + 2))
    full[0], full[:, 0] = 100, 50
    return (full,)


def jacobi_stencil(full, steps):
    """The temperature after so many sweeps, or when a sweep changes it by little."""
    cells = full[1:-1, 1:-1]
    up, down, left, right = full[:-2, 1:-1], full[2:, 1:-1], full[1:-1, :-2], full[1:-1, 2:]
    for step in steps:
        work = 0.2 * (cells + up + down + left + right)
        delta = abs(cells - work).sum()
        cells[...] = work
        if delta < EPSILON * cells.size:
            break
    return full, delta


def checks(result, size, steps):
    """No temperature is beyond those of the edges, as it is a mean of others."""
    full, delta = result
    return {"below the coldest edge": (-float(full.min()), 0), "above the hottest edge": (float(full.max()) - 100, 0)}


def picture(result):
    """Bright where it is hot."""
    return result[0]


PROGRAM = Program(problem, jacobi_stencil, checks, picture, size=1000, steps=200, unit="Mpoint/s", tolerance=1e-12,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="inferno")

if __name__ == "__main__":
    main(PROGRAM)
