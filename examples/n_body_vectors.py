"""Bodies that attract each other, all pairs of them: a cold ball that falls together. By vectors and their transposes.

From cphVB's paper; `n_body.py` has products of matrices.
"""

from _driver import Program, main

import pgaspy as np

TIME_STEP, SOFTENING = 0.02, 0.05


def problem(size):
    """Masses, coordinates and velocities: bodies within a ball that turns slowly."""
    rng = np.random.default_rng(2013)
    radius, height, angle = rng.random(size)**(1 / 3), 2 * rng.random(size) - 1, 2 * np.pi * rng.random(size)
    x, y = (radius * np.sqrt(1 - height**2) * f(angle) for f in (np.cos, np.sin))
    return (0.5 + rng.random(size)) / size, np.stack([x, y, radius * height]), np.stack([-0.3 * y, 0.3 * x, 0 * x])


def n_body_vectors(mass, position, velocity, steps):
    """Masses, coordinates and velocities after some steps."""
    for step in steps:
        dx, dy, dz = (q - q[:, None] for q in position)
        r2 = dx * dx + dy * dy + dz * dz + SOFTENING**2
        pull = TIME_STEP * mass / (r2 * np.sqrt(r2))
        for change, d in zip(velocity, (dx, dy, dz)):
            change += (pull * d).sum(axis=1)
        position += TIME_STEP * velocity
    return mass, position, velocity


def checks(result, size, steps):
    """All forces together are none."""
    mass, _, velocity = result
    before = (mass * problem(size)[2]).sum(axis=1)
    return {"change of the momentum": (float(abs((mass * velocity).sum(axis=1) - before).max()), 1e-10)}


def picture(result):
    """How many bodies are where, seen from the side."""
    _, (x, _, z), _ = result
    counts, _, _ = np.histogram2d(z, x, bins=160, range=((-1.2, 1.2), (-1.2, 1.2)))
    return np.log(1 + counts)


PROGRAM = Program(problem, n_body_vectors, checks, picture, size=2000, steps=60, unit="Mpair/s", tolerance=1e-8,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="hot")

if __name__ == "__main__":
    main(PROGRAM)
