"""Statistics, chances, and prices."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def kalman_filter(np: Any, rng: Any) -> Any:
    """Position and velocity from noisy positions, filtered forward and smoothed backward."""
    dt, n = 0.1, 8
    F = np.array([[1, dt], [0, 1]])
    H = np.array([[1.0, 0.0]])
    Q = 0.05 * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
    R = np.array([[0.1]])
    truth = np.sin(np.arange(n) * dt)
    z = truth + np.sqrt(0.1) * np.array(rng.normal(size=n))
    x, P = np.zeros((2, 1)), np.eye(2)
    xs, Ps = np.empty((n, 2)), np.empty((n, 2, 2))
    for k in range(n):
        x = F @ x
        P = F @ P @ F.T + Q
        y = z[k] - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        xs[k], Ps[k] = x.ravel(), P
    smooth, cov = xs.copy(), Ps.copy()
    for k in range(n - 2, -1, -1):
        predicted = F @ Ps[k] @ F.T + Q
        G = Ps[k] @ F.T @ np.linalg.inv(predicted)
        smooth[k] = xs[k] + G @ (smooth[k + 1] - F @ xs[k])
        cov[k] = Ps[k] + G @ (cov[k + 1] - predicted) @ G.T
    rms = np.sqrt(np.mean((xs[:, 0] - truth) ** 2)), np.sqrt(np.mean((smooth[:, 0] - truth) ** 2))
    return xs, smooth, cov, rms


def particle_filter(np: Any, rng: Any) -> Any:
    """A nonlinear state followed by particles, resampled systematically when too few count."""
    n, steps = 100, 8
    particles = np.array(rng.normal(0, 2, n))
    weights = np.ones(n) / n
    state, means, n_resampled = 0.1, [], 0
    for t in range(steps):
        state = state / 2 + 25 * state / (1 + state**2) + 8 * np.cos(1.2 * t)
        observed = state**2 / 20 + rng.normal()
        particles = particles / 2 + 25 * particles / (1 + particles**2) + 8 * np.cos(1.2 * t)
        particles += np.array(rng.normal(0, np.sqrt(10), n))
        log_w = -0.5 * (observed - particles**2 / 20) ** 2
        weights = weights * np.exp(log_w - log_w.max())
        weights /= weights.sum()
        means.append(np.average(particles, weights=weights))
        if 1 / np.sum(weights**2) < n / 2:
            positions = (np.arange(n) + rng.random()) / n
            cumulative = np.cumsum(weights)
            cumulative[-1] = 1.0
            indexes = np.searchsorted(cumulative, positions)
            particles = particles[indexes]
            weights.fill(1.0 / n)
            n_resampled += 1
    variance = np.average((particles - means[-1]) ** 2, weights=weights)
    return np.array(means), particles, weights, variance, n_resampled


def binomial_lattice(np: Any, rng: Any) -> Any:
    """An American put, with the boundary of early exercise, and a European one, with its Greeks."""
    s0, strike, r, sigma, maturity, n = 100.0, 105.0, 0.05, 0.25, 1.0, 30
    dt = maturity / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    discount = np.exp(-r * dt)
    prices = s0 * u ** np.arange(n, -n - 1, -2)
    american = np.maximum(strike - prices, 0)
    european = american.copy()
    boundary = np.full(n, np.nan)
    for i in range(n - 1, -1, -1):
        prices = prices[:-1] * d
        european = discount * (p * european[:-1] + (1 - p) * european[1:])
        american = discount * (p * american[:-1] + (1 - p) * american[1:])
        exercise = strike - prices
        early = exercise > american
        if early.any():
            boundary[i] = prices[early].max()
        american = np.where(early, exercise, american)
        if i == 1:
            delta = (european[0] - european[1]) / (s0 * u - s0 * d)
    assert american[0] > european[0]
    return american[0], european[0], float(delta), boundary


def monte_carlo(np: Any, rng: Any) -> Any:
    """Paths of a price: an Asian, a barrier and, by regression on polynomials, an American option."""
    s0, strike, r, sigma, T, steps, n = 100.0, 100.0, 0.03, 0.2, 1.0, 10, 100
    dt = T / steps
    z = np.array(rng.standard_normal((n // 2, steps)))
    z = np.concatenate((z, -z))
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z
    paths = s0 * np.exp(np.cumsum(increments, axis=1))
    paths = np.hstack([np.full((n, 1), s0), paths])
    asian = np.exp(-r * T) * np.maximum(paths[:, 1:].mean(axis=1) - strike, 0)
    alive = np.all(paths > 85, axis=1)
    barrier = np.exp(-r * T) * np.where(alive, np.maximum(paths[:, -1] - strike, 0), 0)
    value = np.maximum(strike - paths[:, -1], 0)
    for t in range(steps - 1, 0, -1):
        value = value * np.exp(-r * dt)
        payoff = np.maximum(strike - paths[:, t], 0)
        itm = payoff > 0
        if np.count_nonzero(itm) > 3:
            x = paths[itm, t] / strike
            A = np.vander(x, 3)
            coefficients, *_ = np.linalg.lstsq(A, value[itm], rcond=None)
            hold = A @ coefficients
            value[itm] = np.where(payoff[itm] > hold, payoff[itm], value[itm])
    estimates = np.array([asian.mean(), barrier.mean(), np.exp(-r * dt) * value.mean()])
    errors = np.array([x.std(ddof=1) / np.sqrt(len(x)) for x in (asian, barrier, value)])
    drawdown = np.max(1 - paths / np.maximum.accumulate(paths, axis=1), axis=1)
    return estimates, errors, np.quantile(drawdown, [0.05, 0.5, 0.95]), np.sort(paths[:, -1])[:5]


def black_scholes(np: Any, rng: Any) -> Any:
    """A surface of prices by a rational approximation of the normal distribution, and volatilities by Newton."""

    def cdf(x: Any) -> Any:
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = np.polyval([1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530, 0.0], k)
        tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * poly
        return np.where(x >= 0, 1 - tail, tail)

    def d1(s: Any, k: Any, t: Any, r: float, sigma: Any) -> Any:
        return (np.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * np.sqrt(t))

    def call(s: Any, k: Any, t: Any, r: float, sigma: Any) -> Any:
        d = d1(s, k, t, r, sigma)
        return s * cdf(d) - k * np.exp(-r * t) * cdf(d - sigma * np.sqrt(t))

    strikes = np.linspace(80, 120, 9)
    maturities = np.array([0.25, 0.5, 1.0, 2.0])[:, np.newaxis]
    smile = 0.2 + 0.1 * np.log(strikes / 100) ** 2 / maturities
    prices = call(100.0, strikes, maturities, 0.02, smile)
    implied = np.full_like(prices, 0.3)
    for iteration in range(20):
        d = d1(100.0, strikes, maturities, 0.02, implied)
        vega = 100.0 * np.sqrt(maturities) * np.exp(-d**2 / 2) / np.sqrt(2 * np.pi)
        step = (call(100.0, strikes, maturities, 0.02, implied) - prices) / vega
        implied -= np.clip(step, -0.1, 0.1)
        if np.abs(step).max() < 1e-6:
            break
    parity = prices - (100 - strikes * np.exp(-0.02 * maturities))
    assert (parity > -1e-9).all()
    return prices, implied.round(6), iteration < 19, parity[0]


def table(np: Any, rng: Any) -> Any:
    """Grouped by, aggregated, joined, and correlated."""
    n = 90
    region = np.array(rng.integers(0, 4, n))
    product = np.array(rng.choice(np.asarray([10, 20, 30]) if np.__name__ == "numpy" else [10, 20, 30], n))
    quantity = np.array(rng.poisson(5, n)) + 1
    price = np.round(product * np.array(rng.uniform(0.9, 1.1, n)), 2)
    revenue = quantity * price
    keys, codes = np.unique(product, return_inverse=True)
    totals = np.bincount(region, weights=revenue, minlength=4)
    counts = np.bincount(region, minlength=4)
    cross = np.zeros((4, len(keys)))
    np.add.at(cross, (region, codes), revenue)
    order = np.lexsort((-revenue, region))
    starts = np.flatnonzero(np.r_[True, np.diff(region[order]) != 0])
    best = np.maximum.reduceat(revenue[order], starts)
    medians = np.array([np.median(revenue[region == g]) for g in range(4)])
    rank = np.empty(n, dtype=int)
    rank[np.argsort(revenue, kind="stable")] = np.arange(n)
    spearman = np.corrcoef(rank, np.argsort(np.argsort(quantity, kind="stable"), kind="stable"))
    outliers = np.abs(revenue - revenue.mean()) > 2 * revenue.std()
    summary = {int(k): revenue[product == k].sum() for k in keys}
    quartiles = np.percentile(revenue, [25, 50, 75])
    bins = np.digitize(revenue, quartiles)
    return (totals / counts, cross, best, medians, spearman, np.where(outliers)[0], summary, np.bincount(bins),
            np.cov(np.vstack([quantity, price, revenue])), quartiles)


def bootstrap(np: Any, rng: Any) -> Any:
    """Confidence intervals by resampling, a permutation test, and a jackknife."""
    a, b = np.array(rng.exponential(2.0, 40)), np.array(rng.exponential(2.6, 35))
    resamples = a[np.array(rng.integers(0, len(a), (200, len(a))))]
    means, medians = resamples.mean(axis=1), np.median(resamples, axis=1)
    interval = np.percentile(means, [2.5, 97.5])
    bias = medians.mean() - np.median(a)
    pooled = np.concatenate([a, b])
    shuffled = np.take_along_axis(np.tile(pooled, (200, 1)), np.array(rng.random((200, 75))).argsort(axis=1), axis=1)
    null = shuffled[:, :40].mean(axis=1) - shuffled[:, 40:].mean(axis=1)
    p = (np.abs(null) >= abs(a.mean() - b.mean())).mean()
    left_out = np.tile(a, (len(a), 1))[~np.eye(len(a), dtype=bool)].reshape(len(a), -1)
    jackknife = np.sqrt((len(a) - 1) * left_out.std(axis=1).var())
    ecdf = np.searchsorted(np.sort(a), np.linspace(0, 6, 7), side="right") / a.size
    density, edges = np.histogram(means, bins=12, density=True)
    assert np.isclose((density * np.diff(edges)).sum(), 1)
    skew = np.mean(((a - a.mean()) / a.std()) ** 3)
    return interval, bias, p, jackknife, ecdf, density, skew


PROGRAMS = (kalman_filter, particle_filter, binomial_lattice, monte_carlo, black_scholes, table, bootstrap)
