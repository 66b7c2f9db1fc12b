"""The values of options on shares, by the formula of Black and Scholes, for one time to expiry after the other.

From DistNumPy's latency-hiding paper. F. Black and M. Scholes, *The Pricing of Options and Corporate Liabilities*,
1973; the cumulative normal distribution: M. Abramowitz and I. Stegun, *Handbook of Mathematical Functions*, 26.2.17.
"""

from math import pi, sqrt

from _driver import Program, main

import pgaspy as np

RATE, VOLATILITY = 0.02, 0.3


def problem(size):
    """Prices of the share, and prices at which an option allows to buy or sell it."""
    return np.linspace(5, 100, size) + np.zeros((size, 1)), np.linspace(5, 100, size)[:, None] + np.zeros(size)


def normal_cdf(x):
    """The cumulative normal distribution."""
    k = 1 / (1 + 0.2316419 * abs(x))
    polynomial = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * polynomial / sqrt(2 * pi)
    return np.where(x < 0, tail, 1 - tail)


def black_scholes(price, strike, steps):
    """The values of calls and of puts that end last, and for each time to the end the mean of all calls."""
    means = []
    for step in steps:
        years = 0.25 * (step + 1)
        root = VOLATILITY * sqrt(years)
        d1 = (np.log(price / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / root
        d2 = d1 - root
        discounted = strike * np.exp(-RATE * years)
        call = price * normal_cdf(d1) - discounted * normal_cdf(d2)
        put = discounted * normal_cdf(-d2) - price * normal_cdf(-d1)
        means.append(call.mean())
    return call, put, np.array(means)


def checks(result, size, steps):
    """A call and a put together are a forward contract."""
    call, put, means = result
    price, strike = problem(size)
    parity = call - put - (price - strike * np.exp(-RATE * 0.25 * steps))
    return {"off the parity of calls and puts": (float(abs(parity).max()), 1e-12 * 100),
            "calls that are worth less for more time": (float((means[1:] < means[:-1]).sum()), 0)}


def picture(result):
    """The lesser of both values, by the price of the share from left to right and by the strike from the top."""
    call, put, _ = result
    return np.minimum(call, put)


PROGRAM = Program(problem, black_scholes, checks, picture, size=1000, steps=10, unit="Moptions/s", tolerance=1e-12,
                  work=lambda size, steps: 2 * size**2 * steps / 1e6, colours="cividis")

if __name__ == "__main__":
    main(PROGRAM)
