"""The power spectrum of random fields: their squared transforms, summed over all wave vectors of one length.

From the paper of d2o, in which the lengths are the keys of a bincount.
"""

from _driver import Program, main

import pgaspy as np


def problem(size):
    """The length of each wave vector, and numbers by chance."""
    k = np.fft.fftfreq(size, 1 / size)
    return np.rint(np.hypot(k[:, None], k)).astype(int), np.random.default_rng(2016).normal(size=(size, size))


def power_spectrum(length, noise, steps):
    """The power at each length, over that which fields are to have that become smoother; and the last of these."""
    n, spectra = np.bincount(length.ravel()), []
    for step in steps:
        power = (1.0 + length)**(-1 - 2 * (step + 1) / len(steps))
        field = np.fft.ifft2(np.fft.fft2(noise) * np.sqrt(power)).real
        found = abs(np.fft.fft2(field))**2 / (power * field.size)
        spectra.append(np.bincount(length.ravel(), weights=found.ravel()) / n)
    return np.stack(spectra), n, field


def checks(result, size, steps):
    """As much power is found as was given, but for chance."""
    spectra, n, _ = result
    return {"off the power given, over its standard deviation": (float((abs(spectra - 1) * np.sqrt(n / 2)).max()), 8)}


def picture(result):
    """The last field."""
    return result[2]


PROGRAM = Program(problem, power_spectrum, checks, picture, size=1536, steps=10, unit="Mpoint/s",
                  tolerance=1e-9, work=lambda size, steps: size**2 * steps / 1e6, colours="cubehelix")

if __name__ == "__main__":
    main(PROGRAM)
