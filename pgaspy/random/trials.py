"""Distributions that are drawn by trial, or by search: of a stream, and parameters of each of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.random.streams import Numbers, Stream, accepted

__all__ = ["binomial", "hypergeometric", "integers", "log_gamma", "logseries", "poisson", "standard_gamma", "vonmises",
           "zipf"]

Integers = NDArray[np.int64]
Rejected = NDArray[np.bool_]

SMALL_MEAN = 10
"""Below it, a search from 0 on is as fast as trials."""

LONGEST_SEARCH = 128
"""That many steps from a mean below 10 come to all of the probability that doubles tell from 1."""

SMALL_SAMPLE = 10
"""Samples of fewer are drawn one after the other."""

MOST_THINGS = 10**9
"""Of a kind, in what samples are drawn from: as in NumPy, as differences of logarithms of factorials lose digits."""

LARGEST = 2.0**63
"""All int64 are below."""

MOST_EVENTS = LARGEST - 10 * LARGEST**0.5
"""The largest mean of numbers of events that int64 has, but for what never happens; as in NumPy."""


# Gamma ---------------------------------------------------------------------------------------------------------------


def standard_gamma(stream: Stream, shape: Numbers) -> Numbers:
    """Of scale 1 (G. Marsaglia and W. W. Tsang, *A simple method for generating gamma variables*, 2000)."""
    found: Numbers = accepted(_propose_gamma, stream, np.where(shape < 1, shape + 1, shape), first=1)
    boosted = np.flatnonzero(shape < 1)
    found[boosted] *= stream.of(boosted).uniform(0) ** (1 / shape[boosted])
    return found


def log_gamma(stream: Stream, shape: Numbers) -> Numbers:
    """The logarithms of these numbers, which may be too small for doubles."""
    found: Numbers = np.log(accepted(_propose_gamma, stream, np.where(shape < 1, shape + 1, shape), first=1))
    boosted = np.flatnonzero(shape < 1)
    found[boosted] += np.log(stream.of(boosted).uniform(0)) / shape[boosted]
    return found


def _propose_gamma(stream: Stream, attempt: int, shape: Numbers) -> tuple[Numbers, Rejected]:
    d = shape - 1 / 3
    x, u = stream.normal(2 * attempt), stream.uniform(2 * attempt + 1)
    root = 1 + x / np.sqrt(9 * d)
    v = root * root * root
    return d * v, (v <= 0) | (np.log(u) >= 0.5 * x * x + d * (1 - v + np.log(np.maximum(v, 1e-300))))


# Counts --------------------------------------------------------------------------------------------------------------


def poisson(stream: Stream, lam: Numbers) -> Integers:
    """By search, or by W. Hörmann, *The transformed rejection method for generating Poisson random variables*, 1993."""
    return _either(lam < SMALL_MEAN, _search_poisson, _try_poisson, stream, lam)


def _search_poisson(stream: Stream, lam: Numbers) -> Integers:
    return _searched(stream.uniform(0), np.exp(-lam), lambda k, lam: lam / (k + 1), lam)


def _try_poisson(stream: Stream, lam: Numbers) -> Integers:
    return accepted(_propose_poisson, stream, lam)


def _propose_poisson(stream: Stream, attempt: int, lam: Numbers) -> tuple[Integers, Rejected]:
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b
    u, v = stream.uniforms(attempt)
    u = u - 0.5
    us = 0.5 - np.abs(u)
    k = np.floor((2 * a / us + b) * u + lam + 0.43)
    at_once = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    rejected = ~at_once & ((k < 0) | ((us < 0.013) & (v > us)))
    left = np.flatnonzero(~(at_once | rejected))
    log_v = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
    rejected[left] = log_v[left] > -_stirling(k[left]) - _deviance(k[left], lam[left])
    return _int64(k), rejected


def binomial(stream: Stream, n: Integers, p: Numbers) -> Integers:
    """By search, or by W. Hörmann, *The generation of binomial random variates*, 1993 (BTRS)."""
    q = np.minimum(p, 1 - p)
    k = _either(n * q < SMALL_MEAN, _search_binomial, _try_binomial, stream, n, q)
    return np.where(p > 0.5, n - k, k)


def _search_binomial(stream: Stream, n: Integers, p: Numbers) -> Integers:
    k = _searched(stream.uniform(0), np.exp(n * np.log1p(-p)),
                  lambda k, n, odds: (n - k) / (k + 1) * odds, n, p / (1 - p))
    return np.minimum(k, n)


def _try_binomial(stream: Stream, n: Integers, p: Numbers) -> Integers:
    return accepted(_propose_binomial, stream, n, p)


def _propose_binomial(stream: Stream, attempt: int, n: Integers, p: Numbers) -> tuple[Integers, Rejected]:
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    u, v = stream.uniforms(attempt)
    u = u - 0.5
    us = 0.5 - np.abs(u)
    k = np.floor((2 * a / us + b) * u + n * p + 0.5)
    rejected = (k < 0) | (k > n)
    left = np.flatnonzero(~(rejected | ((us >= 0.07) & (v <= 0.92 - 4.2 / b))))
    log_v = np.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b))
    rejected[left] = log_v[left] > _log_odds(k[left], n[left], p[left])
    return _int64(k), rejected


def _log_odds(k: Numbers, n: Integers, p: Numbers) -> Any:
    """The logarithm of how likely k of n are, as against the likeliest number."""
    def weight(k: Numbers) -> Any:
        return -_stirling(k) - _stirling(n - k) - _deviance(k, n * p) - _deviance(n - k, n * (1 - p))

    return weight(k) - weight(np.floor((n + 1.0) * p))


def _stirling(k: Any) -> Any:
    """log(k!) - k log(k) + k, which stays small, so that no digits are lost in differences."""
    from scipy.special import gammaln, xlogy

    few = np.arange(10.0)
    table = gammaln(few + 1) - xlogy(few, few) + few
    squares = k * k
    series = 0.5 * np.log(2 * np.pi * k) + (1 / 12 - (1 / 360 - 1 / 1260 / squares) / squares) / k
    return np.where(k < 10, table[np.where(k < 10, k, 0).astype(int)], series)


def _deviance(k: Any, mean: Numbers) -> Any:
    """k log(k / mean) - k + mean, with all digits also where both are close (C. Loader, *Fast and accurate computation
    of binomial probabilities*, 2000).
    """
    from scipy.special import xlogy

    v = (k - mean) / (k + mean)
    series = np.polynomial.polynomial.polyval(v * v, [0, *(1 / np.arange(3.0, 19.0, 2))])
    return np.where(np.abs(v) < 0.1, (k - mean) * v + 2 * k * v * series, xlogy(k, k / mean) - k + mean)


def hypergeometric(stream: Stream, good: Integers, bad: Integers, n: Integers) -> Integers:
    """One by one, or by ratio of uniforms (E. Stadlober, *The ratio of uniforms approach for generating discrete random
    variates*, 1990), as in NumPy.
    """
    computed = np.minimum(n, good + bad - n)
    k = _either(computed < SMALL_SAMPLE, _draw_one_by_one, _try_hypergeometric, stream, good, bad, computed)
    return np.where(computed < n, good - k, k)


def _draw_one_by_one(stream: Stream, good: Integers, bad: Integers, n: Integers) -> Integers:
    left, total = good.copy(), good + bad
    for step in range(int(n.max(initial=0))):
        left -= (step < n) & (stream.uniform(step) * (total - step) < left)
    return good - left


def _try_hypergeometric(stream: Stream, good: Integers, bad: Integers, n: Integers) -> Integers:
    k = accepted(_propose_hypergeometric, stream, np.minimum(good, bad), np.maximum(good, bad), n)
    return np.where(good > bad, n - k, k)


def _propose_hypergeometric(stream: Stream, attempt: int, fewer: Integers, more: Integers,
                            n: Integers) -> tuple[Integers, Rejected]:
    from scipy.special import gammaln

    def weight(k: Any) -> Any:
        return gammaln(k + 1) + gammaln(fewer - k + 1) + gammaln(n - k + 1) + gammaln(more - n + k + 1)

    total = fewer + more
    p = fewer / total
    a = n * p + 0.5
    c = np.sqrt((total - n) * n * p * (1 - p) / (total - 1) + 0.5)
    h = 1.7155277699214135 * c + 0.8989161620588988
    end = np.minimum(np.minimum(n, fewer) + 1, np.floor(a + 16 * c))
    m = np.floor((n + 1) * (fewer + 1) / (total + 2))
    u, v = stream.uniforms(attempt)
    x = a + h * (v - 0.5) / u
    outside = (x < 0) | (x >= end)
    k = np.floor(np.clip(x, 0, end - 1))
    return _int64(k), outside | (2 * np.log(u) > weight(m) - weight(k))


# Logarithms and powers -----------------------------------------------------------------------------------------------


def logseries(stream: Stream, p: Numbers) -> Integers:
    """By A. W. Kemp, *Efficient generation of logarithmically distributed pseudo-random variables*, 1981."""
    return accepted(_propose_logseries, stream, p)


def _propose_logseries(stream: Stream, attempt: int, p: Numbers) -> tuple[Integers, Rejected]:
    v, u = stream.uniforms(attempt)
    q = -np.expm1(np.log1p(-p) * u)
    k = np.where(v <= q * q, np.floor(1 + np.log(v) / np.log(q)), np.where((v >= p) | (v >= q), 1, 2))
    return _int64(k), k < 1


def zipf(stream: Stream, a: Numbers) -> Integers:
    """By L. Devroye, *Non-uniform random variate generation*, 1986, of those that are int64."""
    return np.where(a >= 1025, 1, accepted(_propose_zipf, stream, np.minimum(a, 1025.0)))


def _propose_zipf(stream: Stream, attempt: int, a: Numbers) -> tuple[Integers, Rejected]:
    u, v = stream.uniforms(attempt)
    b = 2.0 ** (a - 1)
    least = LARGEST ** (1 - a)
    x = np.floor((u * least + (1 - u)) ** (-1 / (a - 1)))
    t = (1 + 1 / x) ** (a - 1)
    return _int64(x), (x >= LARGEST) | (x < 1) | (v * x * (t - 1) / (b - 1) > t / b)


# Angles and integers -------------------------------------------------------------------------------------------------


def vonmises(stream: Stream, kappa: Numbers) -> Numbers:
    """Angles around 0 (D. J. Best and N. I. Fisher, *Efficient simulation of the von Mises distribution*, 1979)."""
    even, narrow = kappa < 1e-8, kappa > 1e6
    found = np.pi * (2 * stream.uniform(0) - 1)
    found[narrow] = np.sqrt(1 / kappa[narrow]) * stream.of(narrow).normal(0)
    others = np.flatnonzero(~(even | narrow))
    found[others] = accepted(_propose_angle, stream.of(others), kappa[others])
    return found


def _propose_angle(stream: Stream, attempt: int, kappa: Numbers) -> tuple[Numbers, Rejected]:
    r = 1 + np.sqrt(1 + 4 * kappa * kappa)
    rho = (r - np.sqrt(2 * r)) / (2 * kappa)
    s = np.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho * rho) / (2 * rho))
    u, v = stream.uniforms(2 * attempt)
    z = np.cos(np.pi * u)
    w = (1 + s * z) / (s + z)
    y = kappa * (s - w)
    angle = np.arccos(np.clip(w, -1, 1))
    return (np.where(stream.uniform(2 * attempt + 1) < 0.5, -angle, angle),
            (y * (2 - y) - v < 0) & (np.log(y / v) + 1 - y < 0))


def integers(stream: Stream, low: NDArray[np.uint64], last: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Integers from `low` to `last`, each as likely as any other; modulo 2**64, as those below 0 are given."""
    return accepted(_propose_integer, stream, low, last - low)


def _propose_integer(stream: Stream, attempt: int, low: NDArray[np.uint64],
                     width: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Rejected]:
    x, most = stream.bits(attempt)[0], np.uint64(2**64 - 1)
    span = np.where(width == most, most, width + np.uint64(1))
    uneven = np.where(width == most, np.uint64(0), (most % span + np.uint64(1)) % span)
    return np.where(width == most, x, low + x % span), x > most - uneven


# The steps -----------------------------------------------------------------------------------------------------------


def _either(is_first: Rejected, first: Callable[..., Integers], second: Callable[..., Integers], stream: Stream,
            *parameters: NDArray[Any]) -> Integers:
    """What one function gives for some elements, and another one for the others."""
    found = np.empty(len(stream), np.int64)
    for which, function in ((np.flatnonzero(is_first), first), (np.flatnonzero(~is_first), second)):
        if len(which):
            found[which] = function(stream.of(which), *[p[which] for p in parameters])
    return found


def _searched(u: Numbers, first: Numbers, ratio: Callable[..., Numbers], *parameters: NDArray[Any]) -> Integers:
    """The least k so that the probabilities of 0, …, k add up to more than u; the ratio is of k + 1's and k's."""
    found = np.zeros(len(u), np.int64)
    left = np.flatnonzero(u >= first)
    rest, probability = (u - first)[left], first[left]
    parameters = tuple([p[left] for p in parameters])
    for k in range(LONGEST_SEARCH):
        if not len(left):
            break
        probability = probability * ratio(k, *parameters)
        found[left] = k + 1
        on = rest >= probability
        left, rest, probability = left[on], (rest - probability)[on], probability[on]
        parameters = tuple([p[on] for p in parameters])
    return found


def _int64(k: Numbers) -> Integers:
    """Integers; anything for those that int64 does not have, which are rejected."""
    return np.where(np.abs(k) < LARGEST, k, 0).astype(np.int64)
