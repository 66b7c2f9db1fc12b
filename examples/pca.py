"""Principal components: the directions in which data vary most, found in noisy pictures of a wave that moves."""

from _driver import Program, main

import pgaspy as np

WIDTH, N_COMPONENTS = 24, 3


def problem(size):
    """So many pictures, as vectors of pixels."""
    rng = np.random.default_rng(1901)
    phase, strength = 2 * np.pi * rng.random((2, size, 1))
    y, x = np.arange(WIDTH**2) // WIDTH, np.arange(WIDTH**2) % WIDTH
    waves = np.cos(0.5 * x + 0.2 * y - phase) + 0.5 * np.cos(strength) * np.exp(-((x - 8)**2 + (y - 14)**2) / 20)
    return (waves + 0.5 * rng.normal(size=waves.shape),)


def pca(data, steps):
    """The components, the variance along each, and the data along them; by orthogonal iteration."""
    centred = data - data.mean(axis=0)
    components = np.eye(WIDTH**2, N_COMPONENTS)
    for step in steps:
        components, _ = np.linalg.qr(centred.T @ (centred @ components))
        components = components * np.sign(components.sum(axis=0))
    scores = centred @ components
    return components, (scores**2).sum(axis=0) / (len(data) - 1), scores


def checks(result, size, steps):
    """Directions are orthogonal; along them is nearly all variance but that of the noise."""
    components, variances, _ = result
    products = components.T @ components
    return {"components off an orthonormal basis": (float(abs(products - np.eye(N_COMPONENTS)).max()), 1e-12),
            "variance of the last over the first": (float(variances[-1] / variances[0]), 1)}


def picture(result):
    """The first components, as pictures side by side."""
    components, *_ = result
    return np.concatenate([component.reshape(WIDTH, WIDTH) for component in components.T], axis=1)


PROGRAM = Program(problem, pca, checks, picture, size=20_000, steps=20, unit="Mvalue/s", tolerance=1e-8,
                  work=lambda size, steps: size * WIDTH**2 * steps / 1e6, colours="PiYG")

if __name__ == "__main__":
    main(PROGRAM)
