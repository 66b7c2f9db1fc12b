"""A map of which parts are missing and the others are noisy, reconstructed by a Wiener filter.

From the paper of d2o. Signal and noise are Gaussian, the power of the signal is known at each |k|; where data are
missing, what is reconstructed takes their place: F. Elsner and B. Wandelt, *Efficient Wiener filtering without
preconditioning*, Astronomy & Astrophysics 549, 2013.
"""

from _driver import Program, main

import pgaspy as np

NOISE = 0.5


def power_of(size):
    """The power of the signal at each wave vector, of which the variance is 1."""
    k = np.fft.fftfreq(size, 1 / size)
    power = 1 / (1 + np.hypot(k[:, None], k[:size // 2 + 1]) / 4)**4
    return power * size**2 / (2 * power.sum())


def problem(size):
    """Data, where they were observed, and the power."""
    rng, power = np.random.default_rng(2016), power_of(size)
    signal = np.fft.irfft2(np.fft.rfft2(rng.normal(size=(size, size))) * np.sqrt(power), s=(size, size))
    x, y = np.linspace(-1, 1, size)[:, None], np.linspace(-1, 1, size)
    observed = (abs(x - 0.3 * y) > 0.1) & ((x - 0.5)**2 + (y + 0.4)**2 > 0.04)
    return np.where(observed, signal + NOISE * rng.normal(size=(size, size)), 0), observed, power, signal


def wiener_filter(data, observed, power, signal, steps):
    """The reconstruction, and its mean error in each step; the signal is for that alone."""
    gain, found, errors = power / (power + NOISE**2), np.zeros_like(data), []
    for step in steps:
        found = np.fft.irfft2(gain * np.fft.rfft2(np.where(observed, data, found)), s=data.shape)
        errors.append(np.sqrt(((found - signal)**2).mean()))
    return data, found, np.array(errors)


def checks(result, size, steps):
    """What is found is nearer to the signal than the noisy data."""
    *_, errors = result
    return {"error, over the noise": (float(errors[-1]) / NOISE, 1)}


def picture(result):
    """The data on the left, and what is reconstructed on the right."""
    data, found, _ = result
    return np.clip(np.concatenate([data, found], axis=1), -2.5, 2.5)


PROGRAM = Program(problem, wiener_filter, checks, picture, size=1536, steps=30, unit="Mpoint/s", tolerance=1e-11,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="RdYlBu_r")

if __name__ == "__main__":
    main(PROGRAM)
