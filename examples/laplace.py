"""Laplace's equation in two dimensions by slices, until the solution changes by little.

From the paper of GAiN, whose program is P. Ramachandran's for NumPy. The values at the edges are those of x^2 - y^2,
which is a solution.
"""

from _driver import Program, main

import pgaspy as np

EPSILON = 1e-4


def problem(size):
    """What is to be solved: the values at the edges, and zeros within."""
    x, y = np.linspace(0, 1, size)[:, None], np.linspace(0, 1, size)
    u = x**2 - y**2
    u[1:-1, 1:-1] = 0
    return u, 1 / (size - 1), 1 / (size - 1)


def laplace(u, dx, dy, steps):
    """The solution, and by how much the last step has changed it."""
    for step in steps:
        old = u.copy()
        u[1:-1, 1:-1] = ((u[:-2, 1:-1] + u[2:, 1:-1]) * dy**2
                         + (u[1:-1, :-2] + u[1:-1, 2:]) * dx**2) / (2 * (dx**2 + dy**2))
        change = np.sqrt(((u - old)**2).sum())
        if change < EPSILON:
            break
    return u, change


def checks(result, size, steps):
    """The error becomes less with each step, and where the change is little, it is little."""
    u, change = result
    x, y = np.linspace(0, 1, size)[:, None], np.linspace(0, 1, size)
    error = float(np.sqrt(((u - x**2 + y**2)**2).sum()))
    return {"error, over the change of a step": (error / (float(change) or 1), size**2 / 2),
            "error at a point": (float(abs(u - x**2 + y**2).max()), 1)}


def picture(result):
    """Where the solution is near one of some values: its contours."""
    return np.sin(25 * result[0])


PROGRAM = Program(problem, laplace, checks, picture, size=1000, steps=100, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="PuOr")

if __name__ == "__main__":
    main(PROGRAM)
