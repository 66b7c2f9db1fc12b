"""Waves on shallow water in a basin, after drops have fallen into it, by the Lax-Wendroff method.

From cphVB's paper, whose program is J. Burkardt's, after C. Moler's for MATLAB.
"""

from _driver import Program, main

import pgaspy as np

GRAVITY, TIME_STEP = 9.8, 0.1


def problem(size):
    """The height of the water, and its momentum in both directions, with an edge of points around the basin."""
    x, y = np.linspace(-1, 1, size + 2)[:, None], np.linspace(-1, 1, size + 2)
    drops = np.exp(-60 * ((x - 0.3)**2 + (y - 0.2)**2)) + 0.7 * np.exp(-90 * ((x + 0.4)**2 + (y + 0.5)**2))
    return 1 + 0.5 * drops, 0 * drops, 0 * drops


def half_step(h, u, v):
    """Halfway between neighbours along the first dimension, and half a time step later; u is the momentum along it."""
    a, b, c = h[1:], u[1:], v[1:]
    d, e, f = h[:-1], u[:-1], v[:-1]
    return ((a + d) / 2 - TIME_STEP / 2 * (b - e),
            (b + e) / 2 - TIME_STEP / 2 * (b * b / a + GRAVITY / 2 * a * a - e * e / d - GRAVITY / 2 * d * d),
            (c + f) / 2 - TIME_STEP / 2 * (b * c / a - e * f / d))


def fluxes(h, u, v):
    """What moves on along the first dimension, of water and of both momenta."""
    return u, u * u / h + GRAVITY / 2 * h * h, u * v / h


def shallow_water(h, u, v, steps):
    """The height and the momenta after some steps; at the walls waves turn round."""
    for step in steps:
        for a, sign_x, sign_y in ((h, 1, 1), (u, -1, 1), (v, 1, -1)):
            a[0], a[-1] = sign_x * a[1], sign_x * a[-2]
            a[:, 0], a[:, -1] = sign_y * a[:, 1], sign_y * a[:, -2]
        along = fluxes(*half_step(h[:, 1:-1], u[:, 1:-1], v[:, 1:-1]))
        across = fluxes(*half_step(h[1:-1].T, v[1:-1].T, u[1:-1].T))
        for a, f, g in zip((h, u, v), along, (across[0], across[2], across[1])):
            a[1:-1, 1:-1] -= TIME_STEP * (f[1:] - f[:-1] + (g[1:] - g[:-1]).T)
    return h, u, v


def checks(result, size, steps):
    """No water is lost."""
    before, after = (float(h[1:-1, 1:-1].sum()) for h in (problem(size)[0], result[0]))
    return {"water lost, of all": (abs(after - before) / before, 1e-12)}


def picture(result):
    """The height of the water."""
    return result[0]


PROGRAM = Program(problem, shallow_water, checks, picture, size=500, steps=200, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="Blues_r")

if __name__ == "__main__":
    main(PROGRAM)
