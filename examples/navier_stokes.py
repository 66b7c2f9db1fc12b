"""The vortex of Taylor and Green, which falls into turbulence: Navier-Stokes in three dimensions, by transforms.

Dealiased by the rule of two thirds; Heun's method in time. M. Mortensen and H. Langtangen, *High performance Python for
direct numerical simulations of turbulent flows*, Computer Physics Communications 203, 2016.
"""

from _driver import Program, main

import pgaspy as np

VISCOSITY, TIME_STEP = 0.01, 0.02
ALL = (0, 1, 2)


def problem(size):
    """The transform of the velocity, and the wave numbers."""
    x = 2 * np.pi * np.arange(size) / size
    x, y, z = x[:, None, None], x[:, None], x
    velocity = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), np.zeros((size, size, size))
    k = np.fft.fftfreq(size, 1 / size)
    return [np.fft.rfftn(u) for u in velocity], (k[:, None, None], k[:, None], k[:size // 2 + 1])


def cross(a, b):
    """The cross product of fields of vectors."""
    return [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]


def rate(u_hat, k, k2, keep, shape):
    """How the velocity changes: u x curl u, without its divergence, and damped by the viscosity."""
    u = [np.fft.irfftn(a, shape, ALL) for a in u_hat]
    curl = [np.fft.irfftn(1j * a, shape, ALL) for a in cross(k, u_hat)]
    force = [keep * np.fft.rfftn(a) for a in cross(u, curl)]
    along = sum(a * b for a, b in zip(k, force)) / np.where(k2 == 0, 1, k2)
    return [f - a * along - VISCOSITY * k2 * b for f, a, b in zip(force, k, u_hat)]


def navier_stokes(u_hat, k, steps):
    """The velocity, and the mean energy before each step."""
    n, energies = u_hat[0].shape[0], []
    k2, keep = sum(a * a for a in k), 1.0
    for a in k:
        keep = keep * (abs(a) < n / 3)
    for step in steps:
        energies.append(sum((np.fft.irfftn(a, (n, n, n), ALL)**2).mean() for a in u_hat) / 2)
        first = rate(u_hat, k, k2, keep, (n, n, n))
        second = rate([a + TIME_STEP * b for a, b in zip(u_hat, first)], k, k2, keep, (n, n, n))
        u_hat = [a + TIME_STEP / 2 * (b + c) for a, b, c in zip(u_hat, first, second)]
    return [np.fft.irfftn(a, (n, n, n), ALL) for a in u_hat], np.array(energies)


def checks(result, size, steps):
    """The energy is 1/8 at first, and becomes less."""
    _, energies = result
    return {"energy at first, off 1/8": (abs(float(energies[0]) - 0.125), 1e-12),
            "energy won in a step": (float(np.diff(energies, prepend=energies[0]).max()), 0)}


def picture(result):
    """How fast the fluid turns in a plane."""
    (u, v, _), _ = result
    plane = u.shape[2] // 8
    return np.gradient(v[:, :, plane], axis=0) - np.gradient(u[:, :, plane], axis=1)


PROGRAM = Program(problem, navier_stokes, checks, picture, size=96, steps=10, unit="Mpoint/s", tolerance=1e-10,
                  work=lambda size, steps: size**3 * steps / 1e6, colours="RdGy")

if __name__ == "__main__":
    main(PROGRAM)
