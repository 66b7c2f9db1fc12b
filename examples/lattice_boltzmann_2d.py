"""The flow through a channel past a cylinder, by a lattice Boltzmann method with nine velocities (D2Q9).

From DistNumPy's latency-hiding paper, whose program is J. Latt's for MATLAB. The arrays have an edge of points around
the channel: that on the left always holds what flows in, that on the right what the last points have.
"""

from itertools import product

from _driver import Program, main

import pgaspy as np

SPEED, REYNOLDS = 0.1, 150
C = list(product((0, 1, -1), repeat=2))
W = [(4 / 9, 1 / 9, 1 / 36)[abs(x) + abs(y)] for x, y in C]
OPPOSITE = [C.index((-x, -y)) for x, y in C]


def moments(f):
    """The density, and the velocity in both directions."""
    rho = sum(f)
    return rho, *[sum(c[dim] * a for a, c in zip(f, C) if c[dim]) / rho for dim in range(2)]


def equilibrium(rho, u, v):
    """What collisions tend to, for one velocity of the lattice after the other."""
    rest = 1 - 1.5 * (u * u + v * v)
    for weight, c in zip(W, C):
        along = sum(d * speed for d, speed in zip(c, (u, v)) if d)
        yield weight * rho * (rest + 3 * along + 4.5 * along * along)


def problem(size):
    """The populations at first, where walls are, and the rate of collisions: a channel of so many points across."""
    x, y = np.arange(3 * size + 2)[:, None], np.arange(size + 2)
    walls = (y < 2) | (y >= size) | ((x - 0.6 * size)**2 + (y - 0.52 * size)**2 < (size / 9)**2)
    u = np.where((y < 2) | (y >= size), 0, 6 * SPEED * y * (size + 1 - y) / (size + 1)**2) + 0.0 * x
    return list(equilibrium(1, u, 0 * u)), walls[1:-1, 1:-1], 1 / (0.5 + 3 * SPEED * size * 2 / 9 / REYNOLDS)


def lattice_boltzmann(f, walls, omega, steps):
    """The density and velocity in the end: populations arrive, and collide, or turn round at walls."""
    new = [a.copy() for a in f]
    for step in steps:
        g = [a[1 - x:a.shape[0] - 1 - x, 1 - y:a.shape[1] - 1 - y] for a, (x, y) in zip(f, C)]
        for a, b, e, o, (x, _) in zip(new, g, equilibrium(*moments(g)), OPPOSITE, C):
            a[1:-1, 1:-1] = np.where(walls, g[o], b + omega * (e - b))
            if x < 0:
                a[-1] = a[-2]
        f, new = new, f
    rho, u, v = moments([a[1:-1, 1:-1] for a in f])
    return rho, np.where(walls, 0, u), np.where(walls, 0, v)


def checks(result, size, steps):
    """The fluid is nearly incompressible, and passes the cylinder faster than it came."""
    rho, u, v = result
    return {"density off 1": (float(abs(rho - 1).max()), 0.3),
            "speed, over that of the inflow": (float(np.sqrt(u * u + v * v).max()) / SPEED, 4)}


def picture(result):
    """How the fluid turns: dark to the right, light to the left."""
    _, u, v = result
    turns = v[2:, 1:-1] - v[:-2, 1:-1] - u[1:-1, 2:] + u[1:-1, :-2]
    return np.clip(turns / SPEED, -0.2, 0.2).T


PROGRAM = Program(problem, lattice_boltzmann, checks, picture, size=200, steps=200, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: 3 * size**2 * steps / 1e6, colours="RdBu")

if __name__ == "__main__":
    main(PROGRAM)
