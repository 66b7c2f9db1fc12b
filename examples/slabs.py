"""Light behind a hexagonal opening: transforms on local slabs, which are redistributed between their dimensions.

d2o gives SciPy's or FFTW's transforms the part of an array that is here, whole in the dimension that is transformed.
(The functions of `pgaspy.fft` do this by themselves.)
"""

from _driver import Program, main
from scipy.fft import fft, ifft

import pgaspy as np


def problem(size):
    """Light in the opening, and what a step further does to each of its plane waves."""
    x, y = np.linspace(-1, 1, size)[:, None], np.linspace(-1, 1, size)
    opening = np.maximum(abs(y), np.maximum(abs(0.866 * x + 0.5 * y), abs(0.866 * x - 0.5 * y))) < 0.4
    k = np.fft.fftfreq(size, 1 / size)
    return opening.astype(complex), np.exp(-1e-4j * (k[:, None]**2 + k**2))


def transform(a, function, axis):
    """Each row, or column, of what is here."""
    a[...] = function(a, axis=axis)


def propagated(light, wave, steps):
    """The light after some steps; between them, its plane waves lie in columns."""
    in_rows, in_columns = np.Distribution("block", "*"), np.Distribution("*", "block")
    light, wave = light.redistribute(in_rows), wave.redistribute(in_columns)
    for step in steps:
        np.schedule(transform, np.update(light), fft, 1)
        waves = light.redistribute(in_columns)
        np.schedule(transform, np.update(waves), fft, 0)
        waves *= wave
        np.schedule(transform, np.update(waves), ifft, 0)
        light = waves.redistribute(in_rows)
        np.schedule(transform, np.update(light), ifft, 1)
    return light


def reference(light, wave, steps):
    """The same with NumPy."""
    for step in steps:
        light = np.fft.ifft2(np.fft.fft2(light) * wave)
    return light


def checks(light, size, steps):
    """No light is lost."""
    before = float((abs(problem(size)[0])**2).sum())
    return {"light lost, of all": (abs(float((abs(light)**2).sum()) / before - 1), 1e-11)}


def picture(light):
    """How bright it is."""
    return abs(light)


PROGRAM = Program(problem, propagated, checks, picture, size=1536, steps=20, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="afmhot", reference=reference)

if __name__ == "__main__":
    main(PROGRAM)
