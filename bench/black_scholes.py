"""Prices of 10 M European options by the textbook's formula, one text for pgaspy and NumPy: against NumPy."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, alone, in_turns, ratio, report

N = 10_000_000
RATE, VOLATILITY = 0.02, 0.3
GOAL = 5.0


def normal_cdf(xp: Any, x: Any) -> Any:
    """The cumulative normal distribution: M. Abramowitz and I. Stegun, *Handbook of Mathematical Functions*, 26.2.17.

    The polynomial is J. Hull's, in *Options, Futures, and Other Derivatives*; its error is below 7.5e-8.
    """
    magnitude = xp.abs(x)
    k = 1 / (1 + 0.2316419 * magnitude)
    polynomial = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = xp.exp(-0.5 * magnitude * magnitude) * polynomial / math.sqrt(2 * math.pi)
    return xp.where(x < 0, tail, 1 - tail)


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> tuple[Any, Any]:
    """The values of calls and puts: F. Black and M. Scholes, *The Pricing of Options and Corporate Liabilities*, 1973.

    Parameters
    ----------
    xp
        pgaspy or NumPy, whose arrays the others are.
    """
    root = VOLATILITY * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / root
    d2 = d1 - root
    discounted = strike * xp.exp(-RATE * years)
    n1, n2 = normal_cdf(xp, d1), normal_cdf(xp, d2)
    call = price * n1 - discounted * n2
    put = discounted * (1 - n2) - price * (1 - n1)
    return call, put


def main() -> None:
    """Measure."""
    rng = pg.random.default_rng(1)
    options = [low + (high - low) * rng.random(N) for low, high in ((5, 30), (1, 100), (0.25, 10))]
    numpy_options = [array.gather(root=0) for array in options]
    results: dict[Any, Any] = {}

    def priced(xp: Any, arrays: list[Any]) -> None:
        results[xp] = None  # the memory of the last call is free for this one, on both sides
        results[xp] = black_scholes(xp, *arrays)

    times, numpy_times = in_turns(lambda: priced(pg, options), alone(lambda: priced(np, numpy_options)), repeats=5,
                                  before=pg.COMM.Barrier)
    found = [array.gather(root=0) for array in results[pg]]
    if pg.RANK == 0:
        for ours_found, expected in zip(found, results[np], strict=True):
            np.testing.assert_allclose(ours_found, expected, rtol=1e-9, atol=1e-12)
        report([Result(f"Black-Scholes, {pg.SIZE} process(es) x {pg.THREADS} thread(s)", N / median(times) / 1e6,
                       "M options/s", "NumPy", N / median(numpy_times) / 1e6, ratio(times, numpy_times), GOAL)])


if __name__ == "__main__":
    main()
