"""Poisson's equation by conjugate gradients, without a matrix: the potential of charges in an earthed box."""

from _driver import Program, main

import pgaspy as np

TOLERANCE = 1e-10


def problem(size):
    """The charges: a ring, and a disc of the other sign within it."""
    x, y = np.linspace(-1, 1, size)[:, None], np.linspace(-1, 1, size)
    r = np.hypot(x - 0.2, y + 0.1)
    return (np.where((r > 0.5) & (r < 0.6), 1.0, 0.0) - np.where(r < 0.15, 4.0, 0.0),)


def applied(u):
    """4 u less the neighbours, which are zero beyond the edges."""
    v = 4 * u
    v[1:] -= u[:-1]
    v[:-1] -= u[1:]
    v[:, 1:] -= u[:, :-1]
    v[:, :-1] -= u[:, 1:]
    return v


def conjugate_gradients(b, steps):
    """The solution, and the square of the residual's norm before each step and after the last."""
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    rho = [(r * r).sum()]
    for step in steps:
        q = applied(p)
        alpha = rho[-1] / (p * q).sum()
        x += alpha * p
        r -= alpha * q
        rho.append((r * r).sum())
        if rho[-1] < TOLERANCE**2 * rho[0]:
            break
        p = r + rho[-1] / rho[-2] * p
    return x, np.array(rho)


def checks(result, size, steps):
    """The residual is what the method takes for it."""
    x, rho = result
    b, = problem(size)
    off = np.linalg.norm(b - applied(x)) - np.sqrt(rho[-1])
    return {"residual, off that of the method": (float(abs(off) / np.sqrt(rho[0])), 1e-11 * steps)}


def picture(result):
    """The potential, with its contours."""
    x, _ = result
    x = x / abs(x).max()
    return x + 0.06 * np.sin(60 * x)


PROGRAM = Program(problem, conjugate_gradients, checks, picture, size=500, steps=300, unit="Mpoint/s", tolerance=1e-8,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="twilight_shifted")

if __name__ == "__main__":
    main(PROGRAM)
