"""The lowest states of a particle in a potential well, kept orthonormal by the Cholesky factor of their overlaps.

As in GPAW: S = Psi Psi^T = L L^T, Psi <- L^-1 Psi. The stack of states is not dealt out in its first dimension.
"""

from _driver import Program, main, with_whole

import pgaspy as np

N_STATES, WIDTH = 6, 10.0


def problem(size):
    """States at first, with the zeros around them, the potential, and the distance of points."""
    x = np.linspace(-WIDTH / 2, WIDTH / 2, size + 2)
    bell = np.exp(-(x[:, None]**2 + x**2) / 4)
    states = [bell * x[:, None]**i * x**j for i, j in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))]
    states = np.stack(states)
    states[:, [0, -1]] = states[:, :, [0, -1]] = 0
    return with_whole(states, 0), 0.5 * (1.2 * x[1:-1, None]**2 + x[1:-1]**2), WIDTH / (size + 1)


def applied(a, potential, h):
    """H Psi, by the Laplacian of five points."""
    inner = a[:, 1:-1, 1:-1]
    around = a[:, :-2, 1:-1] + a[:, 2:, 1:-1] + a[:, 1:-1, :-2] + a[:, 1:-1, 2:]
    return (4 * inner - around) / (2 * h * h) + potential * inner


def orthonormal_states(states, potential, h, steps):
    """The states, and the energy of each, after some steps of imaginary time."""
    for step in steps:
        states[:, 1:-1, 1:-1] -= 0.2 * h * h * applied(states, potential, h)
        inner = states[:, 1:-1, 1:-1]
        overlaps = h * h * np.tensordot(inner, inner, axes=((1, 2), (1, 2)))
        inverse = np.linalg.inv(np.linalg.cholesky(overlaps))
        states[:, 1:-1, 1:-1] = np.tensordot(inverse, inner, axes=1)
    energies = h * h * (states[:, 1:-1, 1:-1] * applied(states, potential, h)).sum(axis=(1, 2))
    return states, energies


def checks(result, size, steps):
    """They are orthonormal; the lowest energy is (sqrt(1.2) + 1) / 2, to which all come down."""
    states, energies = result
    h = WIDTH / (size + 1)
    overlaps = h * h * np.tensordot(states, states, axes=((1, 2), (1, 2)))
    return {"overlaps off those of orthonormal states": (float(abs(overlaps - np.eye(N_STATES)).max()), 1e-12),
            "lowest energy below the exact one": ((1.2**0.5 + 1) / 2 - float(energies[0]), 2 * h * h)}


def picture(result):
    """The states side by side."""
    states, _ = result
    states = states / abs(states).max(axis=(1, 2), keepdims=True)
    return np.concatenate([np.concatenate(list(states[:3]), axis=1), np.concatenate(list(states[3:]), axis=1)])


PROGRAM = Program(problem, orthonormal_states, checks, picture, size=96, steps=200, unit="Mpoint/s", tolerance=1e-9,
                  work=lambda size, steps: N_STATES * size**2 * steps / 1e6, colours="seismic")

if __name__ == "__main__":
    main(PROGRAM)
