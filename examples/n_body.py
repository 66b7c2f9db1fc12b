"""Bodies that attract each other, all pairs of them: two discs that meet. Dominated by products of matrices.

From DistNumPy's papers, whose program is one for MATLAB. The squared distances are x^2 + y^2 - 2 x y, softened for
bodies that come close.
"""

from _driver import Program, main

import pgaspy as np

TIME_STEP, SOFTENING = 0.01, 0.1


def problem(size):
    """Positions and velocities of bodies of mass 1 / size: two discs, each in circles around its centre."""
    rng = np.random.default_rng(2012)
    angle, radius = 2 * np.pi * rng.random(size), np.sqrt(rng.random(size))
    side = np.where(np.arange(size) % 2 == 0, -1.0, 1.0)
    position = np.stack([radius * np.cos(angle) + 1.5 * side, radius * np.sin(angle) + 0.5 * side, 0 * radius], axis=1)
    speed = np.sqrt(0.5 * radius)
    velocity = np.stack([-speed * np.sin(angle) - 0.4 * side, speed * np.cos(angle), 0 * radius], axis=1)
    return position, velocity - velocity.mean(axis=0)


def n_body(position, velocity, steps):
    """Positions and velocities after some steps."""
    for step in steps:
        squares = (position**2).sum(axis=1)
        r2 = squares[:, None] + squares - 2 * (position @ position.T) + SOFTENING**2
        pull = 1 / (len(position) * r2 * np.sqrt(r2))
        velocity += TIME_STEP * (pull @ position - pull.sum(axis=1)[:, None] * position)
        position += TIME_STEP * velocity
    return position, velocity


def checks(result, size, steps):
    """All forces together are none."""
    position, velocity = result
    return {"momentum of all together": (float(abs(velocity.mean(axis=0)).max()), 1e-10),
            "centre of all together": (float(abs((position - problem(size)[0]).mean(axis=0)).max()), 1e-10)}


def picture(result):
    """How many bodies are where, seen from above."""
    position, _ = result
    counts, _, _ = np.histogram2d(position[:, 1], position[:, 0], bins=160, range=((-2, 2), (-2, 2)))
    return np.log(1 + counts)


PROGRAM = Program(problem, n_body, checks, picture, size=2000, steps=30, unit="Mpair/s", tolerance=1e-9,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="inferno")

if __name__ == "__main__":
    main(PROGRAM)
