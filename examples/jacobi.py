"""A dense system of linear equations by Jacobi's method: a blurred picture made sharp again.

From the papers of DistNumPy. Each pixel of the picture has received light of all others; A = D + R, x = (b - R x) / D.
"""

from math import isqrt

from _driver import Program, main

import pgaspy as np


def sharp(width):
    """The pixels of rings, as a vector."""
    i = np.arange(width**2)
    r = np.hypot(i // width - 0.5 * width, i % width - 0.5 * width) / width
    return np.where(np.sin(45 * r) > 0, 1.0, 0.0) * (r < 0.45)


def problem(size):
    """The matrix, of about so many rows, and the right-hand side."""
    width = isqrt(size)
    row, column = np.arange(width**2) // width, np.arange(width**2) % width
    light = np.exp(-((row[:, None] - row)**2 + (column[:, None] - column)**2) / 8.0)
    A = np.eye(width**2) + 0.9 * light / light.sum(axis=1)[:, None]
    return A, A @ sharp(width)


def jacobi(A, b, steps):
    """The solution, and by how much it has changed in each step."""
    D, x, changes = A.diagonal(), np.zeros_like(b), []
    for step in steps:
        change = (b - A @ x) / D
        x = x + change
        changes.append(abs(change).max())
        if changes[-1] < 1e-10:
            break
    return x, np.array(changes)


def checks(result, size, steps):
    """The solution is known."""
    x, changes = result
    return {"error": (float(abs(x - sharp(isqrt(size))).max()), 20 * float(changes[-1]) + 1e-12)}


def picture(result):
    """The sharp picture."""
    x, _ = result
    return x.reshape(isqrt(len(x)), isqrt(len(x)))


PROGRAM = Program(problem, jacobi, checks, picture, size=4096, steps=100, unit="GFLOP/s", tolerance=1e-10,
                  work=lambda size, steps: 2 * isqrt(size)**4 * steps / 1e9, colours="gray")

if __name__ == "__main__":
    main(PROGRAM)
