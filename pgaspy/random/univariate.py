"""Distributions of numbers: NumPy's names, parameters and errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, Shape
from pgaspy.random import trials
from pgaspy.random.drawing import Drawing, as_parameter, checked, is_global
from pgaspy.random.streams import Numbers, Stream
from pgaspy.scheduling.floating_point import silently
from pgaspy.values import is_any, value

__all__ = ["Univariate"]


class Univariate(Drawing):
    """The draws whose elements do not depend on each other.

    Parameters of distributions are numbers, or arrays that broadcast with each other and to `size`: NumPy arrays that
    are the same on every process, or global arrays, which are read to be checked. An array lies as a parameter of its
    shape does, unless `layout` or `onenode` say where.
    """

    # Uniform numbers -------------------------------------------------------------------------------------------------

    def random(self, size: Shape | None = None, dtype: DTypeLike = float, out: GlobalArray | None = None, *,
               layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """Uniform numbers in [0, 1), of dtype float64 (53 random bits) or float32 (24). Collective."""
        return _into(out, size, dtype, lambda size: self._draw("random", size, dtype, "fd", layout, onenode))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                onenode: int | None = None) -> GlobalArray:
        """Uniform float64 numbers in [low, high). Collective.

        Raises
        ------
        OverflowError
            If the range is not finite.
        ValueError
            If high is less than low.
        """
        low, high = as_parameter(low), as_parameter(high)
        widths = silently(operator.sub, high, low)
        if is_any(~np.isfinite(widths)):
            raise OverflowError("uniform: the range is not finite" if np.ndim(widths) or is_global(widths) else
                                f"uniform: the range from {low} to {high} is not finite")
        if is_any(widths < 0):
            raise ValueError("high - low < 0")
        if not np.ndim(widths) and not is_global(widths):
            return self._draw("uniform", size, float, "d", layout, onenode, float(low), float(high))
        return self._transformed("random", lambda u, low, width: low + width * u, (low, widths), size, layout, onenode)

    def integers(self, low: Any, high: Any = None, size: Shape | None = None, dtype: DTypeLike = np.int64,
                 endpoint: bool = False, *, layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """Integers in [low, high), or [0, low) if high is None; with `endpoint`, high is among them. Collective.

        Every integer is equally likely. Of any dtype of integers, or bool.

        Raises
        ------
        ValueError
            If the range is empty, or goes beyond the dtype's.
        TypeError
            For another dtype.
        """
        if high is None:
            low, high = 0, low
        dtype = np.dtype(dtype)
        if dtype.kind not in "iub":
            raise TypeError(f"Unsupported dtype {dtype!r} for integers")
        first, last = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        # one global number is read, and draws what that number as an argument draws
        low, high = (value(x, x) if is_global(x) and not x.ndim else x for x in (low, high))
        if np.ndim(low) or np.ndim(high) or is_global(low) or is_global(high):
            return self._integers(low, high, first, last, size, dtype, endpoint, layout, onenode)
        low, high = int(low), int(high) + endpoint
        if low >= high:
            raise ValueError(f"low >= high: no integers in [{low}, {high})")
        if low < first or high - 1 > last:
            raise ValueError(f"[{low}, {high}) goes beyond the range of {dtype}, {first} to {last}")
        if dtype.char in "liB?":
            return self._draw("integers", size, dtype, "liB?", layout, onenode, low, high)
        sampler = _with(trials.integers, *[np.array(x % 2**64, np.uint64) for x in (low, high - 1)])
        return self._sampled(sampler, (), size, dtype, layout, onenode)

    def _integers(self, low: Any, high: Any, first: int, last: int, size: Shape | None, dtype: np.dtype[Any],
                  endpoint: bool, layout: AnyLayout, onenode: int | None) -> GlobalArray:
        wide = np.uint64 if first == 0 else np.int64
        if is_any(low < first if is_global(low) else np.asarray(low) < first):
            raise ValueError(f"low is out of bounds for {dtype}")
        if is_any(high > last + (not endpoint) if is_global(high) else np.asarray(high) > last + (not endpoint)):
            raise ValueError(f"high is out of bounds for {dtype}")
        low = (low if is_global(low) else np.asarray(low)).astype(wide)
        high = high if is_global(high) else np.asarray(high)
        high = np.trunc(high) if high.dtype.kind == "f" else high
        ends = (high if endpoint else high - 1).astype(wide)
        if is_any(low > ends) or (not endpoint and first == 0 and is_any(high == 0)):
            bound = "low" if is_any(low != 0) else "high"
            sign = {"low": "> high", "high": "< 0"} if endpoint else {"low": ">= high", "high": "<= 0"}
            raise ValueError(f"{bound} {sign[bound]}")
        return self._sampled(_unsigned_integers, (low, ends), size, dtype, layout, onenode)

    # Normal numbers --------------------------------------------------------------------------------------------------

    def standard_normal(self, size: Shape | None = None, dtype: DTypeLike = float, out: GlobalArray | None = None, *,
                        layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """Normal numbers of mean 0 and variance 1 (by Box and Muller), of dtype float64 or float32. Collective."""
        return _into(out, size, dtype, lambda size: self._draw("standard_normal", size, dtype, "fd", layout, onenode))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
               onenode: int | None = None) -> GlobalArray:
        """Normal numbers of mean `loc` and standard deviation `scale`; ValueError for a negative one. Collective."""
        loc, scale = _checked("normal", loc, scale)
        return self._transformed("standard_normal", lambda z, loc, scale: loc + scale * z, (loc, scale), size, layout,
                                 onenode)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                  onenode: int | None = None) -> GlobalArray:
        """Numbers whose logarithms are normal, with this mean and standard deviation. Collective."""
        return self._transformed("standard_normal", lambda z, mean, sigma: np.exp(mean + sigma * z),
                                 _checked("lognormal", mean, sigma), size, layout, onenode)

    def standard_cauchy(self, size: Shape | None = None, *, layout: AnyLayout = None,
                        onenode: int | None = None) -> GlobalArray:
        """Quotients of two normal numbers. Collective."""
        return self._transformed("random", lambda u: np.tan(np.pi * (u - 0.5)), (), size, layout, onenode)

    def wald(self, mean: Any, scale: Any, size: Shape | None = None, *, layout: AnyLayout = None,
             onenode: int | None = None) -> GlobalArray:
        """Inverse Gaussian numbers of this mean and scale, both positive. Collective."""
        return self._sampled(_wald, _checked("wald", mean, scale), size, float, layout, onenode)

    # Inverses of uniform numbers -------------------------------------------------------------------------------------

    def standard_exponential(self, size: Shape | None = None, dtype: DTypeLike = float, method: str = "zig",
                             out: GlobalArray | None = None, *, layout: AnyLayout = None,
                             onenode: int | None = None) -> GlobalArray:
        """Exponential numbers of mean 1, of dtype float64 or float32. Collective.

        They are made by inversion, whatever `method` says.
        """
        if np.dtype(dtype).char not in "fd":
            raise TypeError(f"Unsupported dtype {np.dtype(dtype)!r} for standard_exponential")
        return _into(out, size, dtype, lambda size: self._transformed(
            "random", lambda u: -np.log(u), (), size, layout, onenode, np.dtype(dtype)))

    def exponential(self, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                    onenode: int | None = None) -> GlobalArray:
        """Exponential numbers of mean `scale`; ValueError for a negative one. Collective."""
        return self._transformed("random", lambda u, scale: -scale * np.log(u), _checked("exponential", scale), size,
                                 layout, onenode)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
               onenode: int | None = None) -> GlobalArray:
        """Numbers of Gumbel's distribution, of largest values. Collective."""
        return self._transformed("random", lambda u, loc, scale: loc - scale * np.log(-np.log(u)),
                                 _checked("gumbel", loc, scale), size, layout, onenode)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                onenode: int | None = None) -> GlobalArray:
        """Numbers of Laplace's distribution, exponential on both sides of `loc`. Collective."""
        return self._transformed("random", _laplace, _checked("laplace", loc, scale), size, layout, onenode)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                 onenode: int | None = None) -> GlobalArray:
        """Logistic numbers around `loc`. Collective."""
        return self._transformed("random", lambda u, loc, scale: loc + scale * np.log(u / (1 - u)),
                                 _checked("logistic", loc, scale), size, layout, onenode)

    def pareto(self, a: Any, size: Shape | None = None, *, layout: AnyLayout = None,
               onenode: int | None = None) -> GlobalArray:
        """Numbers of the distribution of Pareto and Lomax, of exponent `a` > 0, from 0 on. Collective."""
        return self._transformed("random", lambda u, a: np.expm1(-np.log(u) / a), _checked("pareto", a), size, layout,
                                 onenode)

    def power(self, a: Any, size: Shape | None = None, *, layout: AnyLayout = None,
              onenode: int | None = None) -> GlobalArray:
        """Numbers in [0, 1] of density a x^(a - 1), a > 0. Collective."""
        return self._transformed("random", lambda u, a: np.exp(np.log(u) / a), _checked("power", a), size, layout,
                                 onenode)

    def rayleigh(self, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                 onenode: int | None = None) -> GlobalArray:
        """Lengths of vectors of two normal numbers. Collective."""
        return self._transformed("random", lambda u, scale: scale * np.sqrt(-2 * np.log(u)),
                                 _checked("rayleigh", scale), size, layout, onenode)

    def triangular(self, left: Any, mode: Any, right: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                   onenode: int | None = None) -> GlobalArray:
        """Numbers from `left` to `right`, the likeliest at `mode`. Collective."""
        left, mode, right = map(as_parameter, (left, mode, right))
        for is_wrong, message in ((left > mode, "left > mode"), (mode > right, "mode > right"),
                                  (left == right, "left == right")):
            if is_any(is_wrong):
                raise ValueError(message)
        return self._transformed("random", _triangular, (left, mode, right), size, layout, onenode)

    def weibull(self, a: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                onenode: int | None = None) -> GlobalArray:
        """Numbers of Weibull's distribution, of scale 1 and shape `a` >= 0. Collective."""
        return self._transformed("random", _weibull, _checked("weibull", a), size, layout, onenode)

    def geometric(self, p: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                  onenode: int | None = None) -> GlobalArray:
        """How many trials there are until one succeeds, each with probability `p`, 0 < p <= 1. Collective."""
        return self._transformed("random", _geometric, _checked("geometric", p), size, layout, onenode, np.int64)

    # Gamma, and what is made of it -----------------------------------------------------------------------------------

    def standard_gamma(self, shape: Any, size: Shape | None = None, dtype: DTypeLike = float,
                       out: GlobalArray | None = None, *, layout: AnyLayout = None,
                       onenode: int | None = None) -> GlobalArray:
        """Numbers of the gamma distribution, of this shape and scale 1, of dtype float64 or float32. Collective."""
        if np.dtype(dtype).char not in "fd":
            raise TypeError(f"Unsupported dtype {np.dtype(dtype)!r} for standard_gamma")
        parameters = _checked("standard_gamma", shape)
        return _into(out, size, dtype, lambda size: self._sampled(
            trials.standard_gamma, parameters, size, dtype, layout, onenode))

    def gamma(self, shape: Any, scale: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
              onenode: int | None = None) -> GlobalArray:
        """Numbers of the gamma distribution, of this shape and scale, which are not negative. Collective."""
        return self._sampled(lambda stream, shape, scale: trials.standard_gamma(stream, shape) * scale,
                             _checked("gamma", shape, scale), size, float, layout, onenode)

    def beta(self, a: Any, b: Any, size: Shape | None = None, *, layout: AnyLayout = None,
             onenode: int | None = None) -> GlobalArray:
        """Numbers in [0, 1] of density x^(a - 1) (1 - x)^(b - 1), but for a factor; a, b > 0. Collective."""
        return self._sampled(_beta, _checked("beta", a, b), size, float, layout, onenode)

    def chisquare(self, df: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                  onenode: int | None = None) -> GlobalArray:
        """Sums of `df` > 0 squares of normal numbers; df need not be an integer. Collective."""
        return self._sampled(_chisquare, _checked("chisquare", df), size, float, layout, onenode)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                             onenode: int | None = None) -> GlobalArray:
        """The same of normal numbers whose squared means add up to `nonc` >= 0. Collective."""
        return self._sampled(_noncentral_chisquare, _checked("noncentral_chisquare", df, nonc), size, float, layout,
                             onenode)

    def f(self, dfnum: Any, dfden: Any, size: Shape | None = None, *, layout: AnyLayout = None,
          onenode: int | None = None) -> GlobalArray:
        """Fisher's quotients of means of `dfnum`, and of `dfden`, squares of normal numbers. Collective."""
        return self._sampled(lambda stream, n, d: _chisquare(stream.part(0), n) / n / (
            _chisquare(stream.part(1), d) / d), _checked("f", dfnum, dfden), size, float, layout, onenode)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                     onenode: int | None = None) -> GlobalArray:
        """The same, where the squared means of those above add up to `nonc` >= 0. Collective."""
        return self._sampled(lambda stream, n, d, nonc: _noncentral_chisquare(stream.part(0), n, nonc) / n / (
            _chisquare(stream.part(1), d) / d), _checked("noncentral_f", dfnum, dfden, nonc), size, float, layout,
            onenode)

    def standard_t(self, df: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                   onenode: int | None = None) -> GlobalArray:
        """Student's: normal numbers over roots of means of `df` > 0 squares of such. Collective."""
        return self._sampled(lambda stream, df: stream.part(0).normal(0) / np.sqrt(
            _chisquare(stream.part(1), df) / df), _checked("standard_t", df), size, float, layout, onenode)

    def vonmises(self, mu: Any, kappa: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                 onenode: int | None = None) -> GlobalArray:
        """Angles in [-pi, pi] around `mu`, the closer the larger `kappa` >= 0 is. Collective."""
        return self._sampled(lambda stream, mu, kappa: _wrapped(mu + trials.vonmises(stream, kappa)),
                             _checked("vonmises", mu, kappa), size, float, layout, onenode)

    # Counts ----------------------------------------------------------------------------------------------------------

    def poisson(self, lam: Any = 1.0, size: Shape | None = None, *, layout: AnyLayout = None,
                onenode: int | None = None) -> GlobalArray:
        """Numbers of events of which there are `lam` >= 0 on the average. Collective."""
        return self._sampled(trials.poisson, _checked("poisson", lam), size, np.int64, layout, onenode)

    def binomial(self, n: Any, p: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                 onenode: int | None = None) -> GlobalArray:
        """How many of `n` trials succeed, each with probability `p`. Collective."""
        n, p = as_parameter(n, np.int64), as_parameter(p)
        checked("binomial", n, p)
        return self._sampled(trials.binomial, (n, p), size, np.int64, layout, onenode)

    def negative_binomial(self, n: Any, p: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                          onenode: int | None = None) -> GlobalArray:
        """How many trials fail before `n` > 0 succeed, each with probability `p`, 0 < p <= 1. Collective."""
        n, p = as_parameter(n), as_parameter(p)
        checked("negative_binomial", n, 1.0)
        checked("geometric", p)
        most = silently(lambda: (1 - p) * (n + 10 * np.sqrt(n)))
        if is_any(most > trials.MOST_EVENTS * p):
            raise ValueError("n too large or p too small, see Generator.negative_binomial Notes")
        return self._sampled(_negative_binomial, (n, p), size, np.int64, layout, onenode)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Shape | None = None, *,
                       layout: AnyLayout = None, onenode: int | None = None) -> GlobalArray:
        """How many of `nsample` things are good, taken out of `ngood` good and `nbad` bad ones. Collective."""
        ngood, nbad, nsample = (as_parameter(x, np.int64) for x in (ngood, nbad, nsample))
        for is_wrong, message in ((ngood < 0, "ngood < 0"), (nbad < 0, "nbad < 0"), (nsample < 0, "nsample < 0"),
                                  (np.maximum(ngood, nbad) >= trials.MOST_THINGS,
                                   f"both ngood and nbad must be less than {trials.MOST_THINGS}"),
                                  (ngood + nbad < nsample, "ngood + nbad < nsample")):
            if is_any(is_wrong):
                raise ValueError(message)
        return self._sampled(trials.hypergeometric, (ngood, nbad, nsample), size, np.int64, layout, onenode)

    def logseries(self, p: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                  onenode: int | None = None) -> GlobalArray:
        """Integers k from 1 on, of probability p^k / k, but for a factor; 0 <= p < 1. Collective."""
        return self._sampled(trials.logseries, _checked("logseries", p), size, np.int64, layout, onenode)

    def zipf(self, a: Any, size: Shape | None = None, *, layout: AnyLayout = None,
             onenode: int | None = None) -> GlobalArray:
        """Integers k from 1 on, of probability k^-a, but for a factor; a > 1. Collective."""
        return self._sampled(trials.zipf, _checked("zipf", a), size, np.int64, layout, onenode)


# The steps -----------------------------------------------------------------------------------------------------------


def _checked(method: str, *parameters: Any) -> list[Any]:
    """Parameters of float64, that NumPy's generator takes."""
    found = [as_parameter(p) for p in parameters]
    checked(method, *found)
    return found


def _into(out: GlobalArray | None, size: Shape | None, dtype: DTypeLike,
          draw: Callable[[Shape | None], GlobalArray]) -> GlobalArray:
    """What is drawn; assigned to an array, if there is one for it."""
    if out is None:
        return draw(size)
    if out.dtype != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {np.dtype(dtype)}, got {out.dtype}")
    if size is not None and (tuple(size) if np.iterable(size) else (size,)) != out.shape:
        raise ValueError("size must match out.shape when used together")
    out[...] = draw(out.shape)
    return out


def _with(sampler: Callable[..., NDArray[Any]], *numbers: NDArray[Any]) -> Callable[[Stream], NDArray[Any]]:
    """A function of streams, of parameters that are the same for all elements."""
    return lambda stream: sampler(stream, *[np.full(len(stream), x) for x in numbers])


def _unsigned_integers(stream: Stream, low: NDArray[Any], last: NDArray[Any]) -> NDArray[np.uint64]:
    return trials.integers(stream, low.astype(np.uint64), last.astype(np.uint64))


def _laplace(u: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def _triangular(u: Any, left: Any, mode: Any, right: Any) -> Any:
    base, before = right - left, mode - left
    return np.where(u <= before / base, left + np.sqrt(u * before * base),
                    right - np.sqrt((1 - u) * (right - mode) * base))


def _weibull(u: Any, a: Any) -> Any:
    return np.where(a == 0, 0.0, (-np.log(u)) ** np.divide(1, a))


def _geometric(u: Any, p: Any) -> Any:
    return np.clip(np.ceil(np.log(u) / np.log1p(-p)), 1, np.nextafter(trials.LARGEST, 0))


def _wald(stream: Stream, mean: Numbers, scale: Numbers) -> Numbers:
    """By J. R. Michael, W. R. Schucany and R. W. Haas, 1976."""
    y = mean / (2 * scale) * stream.part(0).normal(0) ** 2
    x = mean / (1 + y + np.sqrt(y) * np.sqrt(y + 2))  # the lesser root, of which no digits are lost
    is_first = stream.part(1).uniform(0) <= mean / (mean + x)
    return np.where(is_first, x, mean * mean / x)


def _beta(stream: Stream, a: Numbers, b: Numbers) -> Numbers:
    x, y = trials.log_gamma(stream.part(0), a), trials.log_gamma(stream.part(1), b)
    found: Numbers = 1 / (1 + np.exp(y - x))
    return found


def _chisquare(stream: Stream, df: Numbers) -> Numbers:
    return 2 * trials.standard_gamma(stream, df / 2)


def _noncentral_chisquare(stream: Stream, df: Numbers, nonc: Numbers) -> Numbers:
    return _chisquare(stream.part(0), df + 2 * _events(stream.part(1), nonc / 2))


def _events(stream: Stream, lam: Numbers) -> Numbers:
    """Poisson's numbers; those that int64 does not have are normal."""
    return np.where(lam < trials.MOST_EVENTS, trials.poisson(stream, np.minimum(lam, trials.MOST_EVENTS)),
                    lam * (1 + stream.normal(0) / np.sqrt(lam)))


def _negative_binomial(stream: Stream, n: Numbers, p: Numbers) -> NDArray[np.int64]:
    lam = trials.standard_gamma(stream.part(0), n) * (1 - p) / p
    return trials.poisson(stream.part(1), lam)


def _wrapped(angle: Numbers) -> Numbers:
    """The same angle in [-pi, pi]."""
    found: Numbers = np.where(angle < 0, -1, 1) * (np.fmod(np.abs(angle) + np.pi, 2 * np.pi) - np.pi)
    return found
