"""The chance of one of two classes, by logistic regression on features of points: gradient descent with momentum."""

from _driver import Program, main

import pgaspy as np


def features(x, y):
    """What the chance depends on: waves along and across, and their products."""
    along = [np.ones_like(x), np.sin(x), np.cos(x), np.sin(2 * x), np.cos(2 * x)]
    across = [np.ones_like(y), np.sin(y), np.cos(y), np.sin(2 * y), np.cos(2 * y)]
    return np.stack([a * b for a in along for b in across], axis=-1)


def problem(size):
    """Features of points, and the class of each: on which side of a spiral it lies, a tenth of them by mistake."""
    rng = np.random.default_rng(1958)
    x, y = 4 * rng.random((2, size)) - 2
    inside = np.sin(2.2 * np.hypot(x, y) + np.arctan2(y, x)) > 0
    return features(x, y), np.where(rng.random(size) < 0.1, ~inside, inside).astype(float)


def logistic_regression(X, y, steps):
    """The weights, and the loss before each step."""
    w, momentum, losses = np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for step in steps:
        z = X @ w
        losses.append((np.logaddexp(0, z) - y * z).mean())
        momentum = 0.9 * momentum - X.T @ (1 / (1 + np.exp(-z)) - y) / len(y)
        w = w + momentum
    return w, np.array(losses)


def checks(result, size, steps):
    """The loss is that of a coin at first, and becomes less."""
    _, losses = result
    return {"loss at first, off log 2": (abs(float(losses[0]) - 0.6931471805599453), 1e-12),
            "last loss over the first": (float(losses[-1] / losses[0]), 1)}


def picture(result):
    """The chance at each point of the square."""
    x, y = np.linspace(-2, 2, 200), np.linspace(-2, 2, 200)[:, None]
    return 1 / (1 + np.exp(-features(x + 0 * y, y + 0 * x) @ result[0]))


PROGRAM = Program(problem, logistic_regression, checks, picture, size=100_000, steps=50, unit="Mpoint/s",
                  tolerance=1e-9, work=lambda size, steps: size * steps / 1e6, colours="RdBu_r")

if __name__ == "__main__":
    main(PROGRAM)
