"""Signals, time series, graphs and strings."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def spectrogram(np: Any, rng: Any) -> Any:
    """A chirp in windows, its peaks, a filter by its window, and an envelope."""
    rate = 400.0
    t = np.arange(0, 1, 1 / rate)
    signal = np.sin(2 * np.pi * (20 + 40 * t) * t) + 0.1 * np.array(rng.normal(size=t.size))
    size, hop = 64, 32
    window = np.hanning(size)
    n_frames = 1 + (len(signal) - size) // hop
    starts = hop * np.arange(n_frames)
    frames = signal[starts[:, None] + np.arange(size)] * window
    spectrum = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    frequencies = np.fft.rfftfreq(size, d=1 / rate)
    ridge = frequencies[spectrum.argmax(axis=1)]
    decibels = 10 * np.log10(spectrum / spectrum.max() + 1e-10)
    k = np.arange(31) - 15
    taps = np.sinc(2 * 60 / rate * k) * np.hamming(31)
    taps /= taps.sum()
    filtered = np.convolve(signal, taps, mode="same")
    lags = np.correlate(filtered, filtered, "full")[len(filtered) - 1:]
    analytic = np.fft.fft(filtered)
    analytic[1:len(t) // 2] *= 2
    analytic[len(t) // 2 + 1:] = 0
    analytic = np.fft.ifft(analytic)
    phase = np.unwrap(np.angle(analytic))
    instantaneous = np.diff(phase) * rate / (2 * np.pi)
    return ridge, decibels, filtered, lags[:10] / lags[0], np.median(instantaneous), np.abs(analytic).mean()


def smith_chart(np: Any, rng: Any) -> Any:
    """Reflections of loads on a line, matched by a stub; two-ports in cascade."""
    z0 = 50.0
    f = np.linspace(1e9, 2e9, 41)
    omega = 2j * np.pi * f
    load = 30 + omega * 2e-9 + 1 / (omega * 4e-12)
    gamma = (load - z0) / (load + z0)
    vswr = (1 + abs(gamma)) / (1 - np.abs(gamma))
    beta = 2 * np.pi * f / 3e8
    d = np.linspace(0, 0.15, 31)[:, None]
    z = z0 * (load + 1j * z0 * np.tan(beta * d)) / (z0 + 1j * load * np.tan(beta * d))
    y = 1 / z
    best = np.abs(y.real * z0 - 1).argmin(axis=0)
    matched = y[best, np.arange(f.size)].imag
    c, s = np.cos(beta * 0.02), np.sin(beta * 0.02)
    line = np.array([[c, 1j * z0 * s], [1j * s / z0, c]])
    series = np.array([[np.ones_like(load), load], [np.zeros_like(load), np.ones_like(load)]])
    chain = np.einsum("ijf,jkf->ikf", line, series)
    A, B, C, D = chain.reshape(4, -1)
    s21 = 2 / (A + B / z0 + C * z0 + D)
    group_delay = -np.gradient(np.unwrap(np.angle(s21)), 2 * np.pi * f)
    polar = np.array([np.abs(gamma), np.degrees(np.angle(gamma))]).T
    power = np.real(gamma * np.conj(gamma))
    return polar, vswr, d[best, 0], matched, 20 * np.log10(np.abs(s21)), group_delay, f[np.argmin(power)]


def time_series(np: Any, rng: Any) -> Any:
    """Days of a quarter, resampled to weeks and months, with moving averages."""
    days = np.arange("2024-01-01", "2024-04-01", dtype="datetime64[D]")
    values = 10 + np.cumsum(np.array(rng.normal(0, 0.3, len(days))))
    values[[5, 17, 18]] = np.nan
    good = ~np.isnan(values)
    x = (days - days[0]) / np.timedelta64(1, "D")
    filled = np.interp(x, x[good], values[good])
    months = days.astype("datetime64[M]")
    names, index, counts = np.unique(months, return_inverse=True, return_counts=True)
    monthly = np.bincount(index, weights=filled) / counts
    weekday = (days.astype("datetime64[D]").astype(int) - 4) % 7
    by_weekday = np.array([filled[weekday == k].mean() for k in range(7)])
    weeks = (days - np.datetime64("2024-01-01")).astype("timedelta64[W]").astype(int)
    changes = np.flatnonzero(np.diff(weeks, prepend=-1))
    weekly = np.add.reduceat(filled, changes) / np.diff(np.append(changes, len(days)))
    window = 7
    moving = np.convolve(filled, np.ones(window) / window, mode="valid")
    cumulative = np.cumsum(np.insert(filled, 0, 0))
    same = np.allclose((cumulative[window:] - cumulative[:-window]) / window, moving)
    ewma = np.empty_like(filled)
    ewma[0] = filled[0]
    for i in range(1, 20):
        ewma[i] = 0.3 * filled[i] + 0.7 * ewma[i - 1]
    late = days[days >= np.datetime64("2024-03-15")]
    slope, intercept = np.polyfit(x, filled, 1)
    return names, monthly, by_weekday, weekly, same, ewma[:20], late, slope, intercept, np.max(np.diff(days))


def floyd_warshall(np: Any, rng: Any) -> Any:
    """All shortest paths, and those from one node by relaxing edges."""
    n, m = 12, 40
    sources, targets = np.array(rng.integers(0, n, m)), np.array(rng.integers(0, n, m))
    weights = np.array(rng.integers(1, 20, m)).astype(float)
    dist = np.full((n, n), np.inf)
    np.minimum.at(dist, (sources, targets), weights)
    np.fill_diagonal(dist, 0)
    nxt = np.where(np.isfinite(dist), np.arange(n), -1)
    for k in range(n):
        through = dist[:, k, np.newaxis] + dist[np.newaxis, k, :]
        better = through < dist
        dist = np.where(better, through, dist)
        nxt = np.where(better, nxt[:, [k]], nxt)
    single = np.full(n, np.inf)
    single[0] = 0
    for rounds in range(n):
        before = single.copy()
        np.minimum.at(single, targets, single[sources] + weights)
        if np.array_equal(before, single):
            break
    end = int(np.argmax(np.where(np.isinf(single), -1, single)))
    path = [0]
    while path[-1] != end:
        path.append(int(nxt[path[-1], end]))
    adjacency = np.zeros((n, n), dtype=int)
    adjacency[sources, targets] = 1
    degrees = adjacency.sum(axis=1), adjacency.sum(axis=0)
    walks = np.linalg.matrix_power(adjacency, 3)
    reach = np.isfinite(dist)
    eccentricity = np.max(dist, axis=1, where=reach, initial=0)
    return dist, single, path, degrees, walks.trace(), reach.all(), eccentricity, rounds


def page_rank(np: Any, rng: Any) -> Any:
    """By power iteration, with pages that link nowhere."""
    n, d = 20, 0.85
    links = (np.array(rng.random((n, n))) < 0.15).astype(float)
    links[3] = 0
    np.fill_diagonal(links, 0)
    out = links.sum(axis=1)
    dangling = out == 0
    M = np.divide(links, out[:, None], out=np.zeros_like(links), where=~dangling[:, None]).T
    rank = np.ones(n) / n
    for iteration in range(100):
        new = d * (M @ rank + rank[dangling].sum() / n) + (1 - d) / n
        change = np.abs(new - rank).sum()
        rank = new
        if change < 1e-8:
            break
    top = np.argsort(-rank)[:5]
    order = rank.argsort()[::-1]
    hubs = np.ones(n)
    for _ in range(10):
        authorities = links.T @ hubs
        authorities /= np.linalg.norm(authorities)
        hubs = links @ authorities
        hubs /= np.linalg.norm(hubs)
    lines = [f"{int(page):3d} {float(rank[page]):.4f}" for page in top]
    return rank, top, iteration, hubs, authorities, rank[order].cumsum()[4], lines


def needleman_wunsch(np: Any, rng: Any) -> Any:
    """An alignment by antidiagonals."""
    a, b = "GATTACA", "GCATGCA"
    x, y = np.array([ord(c) for c in a]), np.array([ord(c) for c in b])
    n, m, gap = len(x), len(y), -1
    scores = np.zeros((n + 1, m + 1), dtype=int)
    scores[:, 0] = gap * np.arange(n + 1)
    scores[0, :] = gap * np.arange(m + 1)
    match = np.where(x[:, None] == y[None, :], 1, -1)
    for k in range(2, n + m + 1):
        i = np.arange(max(1, k - m), min(n, k - 1) + 1)
        j = k - i
        diagonal, up, left = scores[i - 1, j - 1] + match[i - 1, j - 1], scores[i - 1, j] + gap, scores[i, j - 1] + gap
        scores[i, j] = np.maximum(diagonal, np.maximum(up, left))
    i, j, top, bottom = n, m, [], []
    while i > 0 or j > 0:
        if i > 0 and j > 0 and scores[i, j] == scores[i - 1, j - 1] + match[i - 1, j - 1]:
            i, j = i - 1, j - 1
            top.append(a[i])
            bottom.append(b[j])
        elif i > 0 and scores[i, j] == scores[i - 1, j] + gap:
            i -= 1
            top.append(a[i])
            bottom.append("-")
        else:
            j -= 1
            top.append("-")
            bottom.append(b[j])
    return scores, int(scores[-1, -1]), "".join(top[::-1]), "".join(reversed(bottom))


def run_lengths(np: Any, rng: Any) -> Any:
    """Run-length encoding, its inverse, and longest runs."""
    x = np.array((rng.random(80) < 0.6).astype(int))
    change = np.concatenate(([True], x[1:] != x[:-1]))
    starts = np.where(change)[0]
    lengths = np.diff(np.append(starts, x.size))
    values = x[starts]
    decoded = np.repeat(values, lengths)
    assert (decoded == x).all()
    longest = lengths[values == 1].max()
    where = starts[(values == 1) & (lengths == longest)]
    padded = np.concatenate(([0], x, [0]))
    edges = np.flatnonzero(np.abs(np.diff(padded))).reshape(-1, 2)
    counter = np.arange(x.size) - np.maximum.accumulate(np.where(x == 0, np.arange(x.size), -1))
    codes = np.packbits(x.astype(bool))
    text = "".join(f"{v}x{n} " for v, n in zip(values.tolist(), lengths.tolist()))
    return values, lengths, longest, where, edges, counter, codes, text, list(map(int, lengths[:5]))


def primes(np: Any, rng: Any) -> Any:
    """Sieves, factors, gaps, and Pascal's triangle modulo two."""
    n = 400
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = False
    primes, = np.nonzero(sieve)
    gaps = np.diff(primes)
    twins = primes[:-1][gaps == 2]
    smallest = np.zeros(n + 1, dtype=int)
    for p in primes[::-1]:
        smallest[p::p] = p
    number, factors = 360, []
    while number > 1:
        factors.append(int(smallest[number]))
        number //= factors[-1]
    divisors = (np.arange(1, n + 1)[:, None] % np.arange(1, 21) == 0).sum(axis=1)
    pi = np.cumsum(sieve)
    ratio = pi[[10, 100, 400]] / (np.array([10, 100, 400]) / np.log([10, 100, 400]))
    collatz = np.arange(1, 30)
    steps = np.zeros_like(collatz)
    while (collatz > 1).any():
        active = collatz > 1
        collatz = np.where(active, np.where(collatz % 2 == 0, collatz // 2, 3 * collatz + 1), collatz)
        steps += active
    pascal = np.zeros((12, 12), dtype=int)
    pascal[:, 0] = 1
    for i in range(1, 12):
        pascal[i, 1:] = (pascal[i - 1, 1:] + pascal[i - 1, :-1]) % 2
    return primes, twins, factors, np.bincount(divisors), ratio, steps, pascal, np.gcd.reduce([12, 18, 30]), len(primes)


PROGRAMS = (spectrogram, smith_chart, time_series, floyd_warshall, page_rank, needleman_wunsch, run_lengths, primes)
