"""The flow through a duct past a sphere, by a lattice Boltzmann method with nineteen velocities (D3Q19).

From DistNumPy's latency-hiding paper, whose program is I. Haslam's for MATLAB. The arrays have an edge of points around
the duct: that on the left always holds what flows in, that on the right what the last points have.
"""

from itertools import product

from _driver import Program, main

import pgaspy as np

SPEED, OMEGA = 0.05, 1.6
C = [c for c in product((0, 1, -1), repeat=3) if c.count(0) > 0]
W = [(1 / 36, 1 / 18, 1 / 3)[c.count(0) - 1] for c in C]
OPPOSITE = [C.index((-x, -y, -z)) for x, y, z in C]


def moments(f):
    """The density, and the velocity in three directions."""
    rho = sum(f)
    return rho, *[sum(c[dim] * a for a, c in zip(f, C) if c[dim]) / rho for dim in range(3)]


def equilibrium(rho, u, v, w):
    """What collisions tend to, for one velocity of the lattice after the other."""
    rest = 1 - 1.5 * (u * u + v * v + w * w)
    for weight, c in zip(W, C):
        along = sum(d * speed for d, speed in zip(c, (u, v, w)) if d)
        yield weight * rho * (rest + 3 * along + 4.5 * along * along)


def problem(size):
    """The populations at first, and where walls are: a duct of so many points across, and twice as long."""
    x, y, z = np.arange(2 * size + 2)[:, None, None], np.arange(size + 2)[:, None], np.arange(size + 2)
    duct = (y > 1) & (y < size) & (z > 1) & (z < size)
    sphere = (x - 0.5 * size)**2 + (y - 0.5 * size)**2 + (z - 0.5 * size)**2 < (size / 5)**2
    u = np.where(duct & (x >= 0), SPEED, 0.0)
    return list(equilibrium(1, u, 0 * u, 0 * u)), (sphere | ~duct)[1:-1, 1:-1, 1:-1]


def lattice_boltzmann(f, walls, steps):
    """The density and velocity in the end: populations arrive, and collide, or turn round at walls."""
    new = [a.copy() for a in f]
    for step in steps:
        g = [a[tuple(slice(1 - d, n - 1 - d) for d, n in zip(c, a.shape))] for a, c in zip(f, C)]
        for a, b, e, o, c in zip(new, g, equilibrium(*moments(g)), OPPOSITE, C):
            a[1:-1, 1:-1, 1:-1] = np.where(walls, g[o], b + OMEGA * (e - b))
            if c[0] < 0:
                a[-1] = a[-2]
        f, new = new, f
    rho, *velocity = moments([a[1:-1, 1:-1, 1:-1] for a in f])
    return rho, *[np.where(walls, 0, u) for u in velocity]


def checks(result, size, steps):
    """The fluid is nearly incompressible, and passes the sphere faster than it came."""
    rho, u, v, w = result
    return {"density off 1": (float(abs(rho - 1).max()), 0.3),
            "speed, over that of the inflow": (float(np.sqrt(u * u + v * v + w * w).max()) / SPEED, 4)}


def picture(result):
    """The speed in the middle plane, along the duct."""
    _, u, v, w = result
    middle = u.shape[2] // 2
    return np.sqrt(u * u + v * v + w * w)[:, :, middle].T


PROGRAM = Program(problem, lattice_boltzmann, checks, picture, size=48, steps=50, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: 2 * size**3 * steps / 1e6, colours="turbo")

if __name__ == "__main__":
    main(PROGRAM)
