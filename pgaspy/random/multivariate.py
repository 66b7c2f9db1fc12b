"""Distributions of vectors, each of them drawn where it is whole."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgaspy.array import GlobalArray
from pgaspy.creation import AnyLayout, Shape
from pgaspy.random import trials
from pgaspy.random.drawing import Drawing, as_parameter
from pgaspy.random.streams import Numbers, Stream
from pgaspy.values import is_any, told

__all__ = ["Multivariate"]


class Multivariate(Drawing):
    """The draws of vectors, which are the last dimension of what is drawn.

    It is whole on each process, unless `layout` says otherwise. Parameters that all vectors share are on every process.
    """

    def multinomial(self, n: Any, pvals: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                    onenode: int | None = None) -> GlobalArray:
        """How many of `n` things are of each kind, where `pvals[..., k]` is the probability of kind k. Collective.

        The last probability is what the others leave. Other dimensions of `pvals` broadcast with `n`, and to `size`.

        Raises
        ------
        ValueError
            For negative numbers, or probabilities that add up to more than 1.
        """
        n, pvals = as_parameter(n, np.int64), as_parameter(pvals)
        if np.ndim(pvals) == 0:
            raise ValueError("pvals must have at least 1 dimension, but is a scalar")
        if is_any(n < 0):
            raise ValueError("n < 0")
        if is_any(~((pvals >= 0) & (pvals <= 1))):
            raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
        if is_any(pvals[..., :-1].sum(-1) > 1 + 1e-12):
            raise ValueError("sum(pvals[:-1]) > 1.0")
        return self._sampled_rows(_multinomial, [(n, 0), (pvals, 1)], size, pvals.shape[-1], np.int64, layout, onenode)

    def multivariate_hypergeometric(self, colors: Any, nsample: int, size: Shape | None = None,
                                    method: Literal["marginals", "count"] = "marginals", *, layout: AnyLayout = None,
                                    onenode: int | None = None) -> GlobalArray:
        """How many of each colour there are in a sample, of `colors[k]` things of colour k. Collective.

        Both methods are that of marginal distributions; the errors are NumPy's.
        """
        colors = _on_every_process(colors)
        np.random.default_rng(0).multivariate_hypergeometric(colors, nsample, method=method)
        return self._sampled_rows(functools.partial(_samples_of_colours, colors, nsample), (), size, len(colors),
                                  np.int64, layout, onenode)

    def dirichlet(self, alpha: Any, size: Shape | None = None, *, layout: AnyLayout = None,
                  onenode: int | None = None) -> GlobalArray:
        """Vectors of sum 1, of density prod x_k^(alpha_k - 1), but for a factor. Collective; the errors are NumPy's."""
        alpha = _on_every_process(alpha)
        np.random.default_rng(0).dirichlet(alpha)
        return self._sampled_rows(functools.partial(_shares, alpha.astype(float)), (), size, len(alpha), float, layout,
                                  onenode)

    def multivariate_normal(self, mean: Any, cov: Any, size: Shape | None = None,
                            check_valid: Literal["warn", "raise", "ignore"] = "warn", tol: float = 1e-8, *,
                            method: Literal["svd", "eigh", "cholesky"] = "svd", layout: AnyLayout = None,
                            onenode: int | None = None) -> GlobalArray:
        """Normal vectors of this mean and covariance. Collective; the arguments, errors and warnings are NumPy's.

        The covariance is factored on every process, by LAPACK: so numbers are the same on all machines and numbers of
        threads as far as its factors are.
        """
        mean, cov = _on_every_process(mean), _on_every_process(cov)
        np.random.default_rng(0).multivariate_normal(mean, cov, check_valid=check_valid, tol=tol, method=method)
        if method == "svd":
            u, s, _ = np.linalg.svd(cov)
            factor = u * np.sqrt(s)
        elif method == "eigh":
            s, u = np.linalg.eigh(cov)
            factor = u * np.sqrt(s)
        else:
            factor = np.linalg.cholesky(cov)
        return self._sampled_rows(functools.partial(_normal_vectors, mean, factor.T.copy()), (), size, len(mean), float,
                                  layout, onenode)


def _on_every_process(x: Any) -> NDArray[Any]:
    return np.asarray(told(x))


# Of rows -------------------------------------------------------------------------------------------------------------


def _multinomial(stream: Stream, n: NDArray[np.int64], pvals: Numbers) -> NDArray[np.int64]:
    """Of what is left, those of the next kind."""
    found = np.zeros(pvals.shape, np.int64)
    left, rest = n.copy(), np.ones(len(n))
    last = pvals.shape[-1] - 1
    for k in range(last):
        p = np.where(rest > 0, np.clip(pvals[:, k] / rest, 0, 1), 0)
        found[:, k] = trials.binomial(stream.column(k, last), left, p)
        left -= found[:, k]
        rest = rest - pvals[:, k]
    if last >= 0:
        found[:, last] = left
    return found


def _samples_of_colours(colors: NDArray[Any], nsample: int, stream: Stream) -> NDArray[np.int64]:
    """Of what is left, those of the next colour."""
    found = np.zeros((len(stream), len(colors)), np.int64)
    left, rest = np.full(len(stream), nsample, np.int64), int(colors.sum())
    for k, n in enumerate(colors.tolist()):
        rest -= n
        found[:, k] = trials.hypergeometric(stream.column(k, len(colors)), np.full(len(stream), n),
                                            np.full(len(stream), rest), left)
        left -= found[:, k]
    return found


def _shares(alpha: Numbers, stream: Stream) -> Numbers:
    """Those of numbers of gamma distributions, which may be too small for doubles."""
    logs = np.stack([trials.log_gamma(stream.column(k, len(alpha)), np.full(len(stream), a))
                     for k, a in enumerate(alpha)], -1)
    sizes = np.exp(logs - logs.max(-1, keepdims=True))
    found: Numbers = sizes / sizes.sum(-1, keepdims=True)
    return found


def _normal_vectors(mean: Numbers, factor: Numbers, stream: Stream) -> Numbers:
    """Combinations of the factor's rows, one after the other, so that the sums are the same wherever they are made."""
    found = np.tile(np.asarray(mean, float), (len(stream), 1))
    for k, row in enumerate(factor):
        found += stream.column(k, len(factor)).normal(0)[:, None] * row
    return found
