"""The Mandelbrot set: how many steps of z = z^2 + c stay within the disc of radius 2.

The program with masks of NumPy's tutorial, in real numbers; the Fractal of DistNumPy's latency-hiding paper.
"""

from _driver import Program, main

import pgaspy as np


def problem(size):
    """The points of a part of the plane."""
    x, y = np.linspace(-2, 0.5, size), np.linspace(-1.25, 1.25, size)[:, None]
    return x + 0 * y, y + 0 * x


def mandelbrot(cx, cy, steps):
    """For each point, after how many steps z is outside."""
    x, y, inside = np.zeros_like(cx), np.zeros_like(cy), np.zeros(cx.shape, int)
    for step in steps:
        stays = x * x + y * y < 4
        x, y = np.where(stays, x * x - y * y + cx, x), np.where(stays, 2 * x * y + cy, y)
        inside += stays
    return inside


def checks(inside, size, steps):
    """The area is 1.506, to which the points are added that leave later; an edge of pixels is uncertain."""
    area = float((inside == steps).mean()) * 2.5**2
    return {"area below that of the set": (1.506 - area, 10 / size),
            "asymmetry, in pixels": (float(abs(inside - inside[::-1]).max() > 0), 0)}


def picture(inside):
    """Light where z leaves late."""
    return np.log(inside)


PROGRAM = Program(problem, mandelbrot, checks, picture, size=1000, steps=50, unit="Mpoint/s", tolerance=0,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="magma")

if __name__ == "__main__":
    main(PROGRAM)
