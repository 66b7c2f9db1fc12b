"""Poisson's equation by multigrid: V-cycles, of which each makes the error ten times less, whatever the size.

W. Briggs, V. Henson and S. McCormick, *A Multigrid Tutorial*, 2000.
"""

from _driver import Program, main

import pgaspy as np


def problem(size):
    """The charges at the points of a square, with its edges, and their distance: a power of two, and one, of points."""
    n = 1 << max(size - 2, 1).bit_length()
    x, y = np.linspace(0, 1, n + 1)[:, None], np.linspace(0, 1, n + 1)
    return np.sin(9 * np.pi * x * x) * np.sin(9 * np.pi * y) + 0 * x, 1 / n


def residual(u, f, h):
    """f + the Laplacian of u; zero at the edges."""
    r = np.zeros_like(u)
    r[1:-1, 1:-1] = f[1:-1, 1:-1] + (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) / h**2
    return r


def smooth(u, f, h):
    """Two sweeps of a damped Jacobi method."""
    for _ in range(2):
        u += 0.2 * h * h * residual(u, f, h)


def cycle(u, f, h):
    """A V-cycle: smooth, solve for the rest on a grid twice as coarse, smooth."""
    if len(u) == 3:
        u[1, 1] = h * h * f[1, 1] / 4
        return
    smooth(u, f, h)
    r = residual(u, f, h)
    r[1:-1] = (r[:-2] + 2 * r[1:-1] + r[2:]) / 4
    r[:, 1:-1] = (r[:, :-2] + 2 * r[:, 1:-1] + r[:, 2:]) / 4
    coarse, fine = np.zeros_like(r[::2, ::2]), np.zeros_like(r)
    cycle(coarse, r[::2, ::2].copy(), 2 * h)
    fine[::2, ::2] = coarse
    fine[1::2] = (fine[:-1:2] + fine[2::2]) / 2
    fine[:, 1::2] = (fine[:, :-1:2] + fine[:, 2::2]) / 2
    u += fine
    smooth(u, f, h)


def multigrid(f, h, steps):
    """The solution, and the largest residual after each cycle."""
    u, residuals = np.zeros_like(f), []
    for step in steps:
        cycle(u, f, h)
        residuals.append(abs(residual(u, f, h)).max())
    return u, np.array(residuals)


def checks(result, size, steps):
    """Each cycle makes the residual five times less, until rounding errors are left."""
    _, residuals = result
    return {"residual": (float(residuals[-1]), 3 * 5.0**-steps + 1e-9 * size**2)}


def picture(result):
    """The solution."""
    return result[0]


PROGRAM = Program(problem, multigrid, checks, picture, size=2049, steps=8, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="Spectral")

if __name__ == "__main__":
    main(PROGRAM)
