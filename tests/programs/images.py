"""Images, and what is reconstructed from them."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def _picture(np: Any, rng: Any, n: int = 32) -> Any:
    y, x = np.mgrid[0:n, 0:n]
    picture = 80 + 60 * np.sin(x / 5.0) + 90 * ((x - n / 2) ** 2 + (y - n / 2) ** 2 < (n / 4) ** 2)
    picture = picture + np.array(rng.normal(0, 6, (n, n)))
    return np.clip(picture, 0, 255).astype(np.uint8)


def sobel(np: Any, rng: Any) -> Any:
    """Edges by Sobel's filter, thinned along directions and traced by hysteresis."""
    image = _picture(np, rng).astype(float)
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])

    def correlate2d(image: Any, kernel: Any) -> Any:
        h, w = kernel.shape
        padded = np.pad(image, ((h // 2, h // 2), (w // 2, w // 2)), mode="reflect")
        out = np.zeros_like(image)
        for i in range(h):
            for j in range(w):
                if kernel[i, j]:
                    out += kernel[i, j] * padded[i:i + image.shape[0], j:j + image.shape[1]]
        return out

    gx, gy = correlate2d(image, kernel), correlate2d(image, kernel.T)
    magnitude = np.hypot(gx, gy)
    magnitude *= 255.0 / magnitude.max()
    angle = np.rad2deg(np.arctan2(gy, gx)) % 180
    sector = np.floor((angle + 22.5) / 45).astype(int) % 4
    thin = np.zeros_like(magnitude)
    for k, (di, dj) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        ahead, behind = np.roll(magnitude, (-di, -dj), axis=(0, 1)), np.roll(magnitude, (di, dj), axis=(0, 1))
        keep = (sector == k) & (magnitude >= ahead) & (magnitude >= behind)
        thin[keep] = magnitude[keep]
    strong, weak = thin > 120, (thin > 60) & (thin <= 120)
    for _ in range(5):
        grown = np.zeros_like(strong)
        grown[1:-1, 1:-1] = strong[:-2, 1:-1] | strong[2:, 1:-1] | strong[1:-1, :-2] | strong[1:-1, 2:]
        strong |= grown & weak
    rows, columns = np.nonzero(strong)
    return magnitude, strong, len(rows), (rows.min(), rows.max(), columns.min(), columns.max())


def median_filter(np: Any, rng: Any) -> Any:
    """Salt and pepper removed by medians of windows; what was gained in decibels."""
    image = _picture(np, rng)
    noisy = image.copy()
    where = np.array(rng.random(image.shape))
    noisy[where < 0.05] = 0
    noisy[where > 0.95] = 255
    padded = np.pad(noisy, 1, "edge")
    shifted = np.stack([padded[i:i + 32, j:j + 32] for i in range(3) for j in range(3)], axis=-1)
    filtered = np.median(shifted, axis=-1).astype(image.dtype)

    def psnr(a: Any, b: Any) -> Any:
        mse = np.mean((a.astype(np.float64) - b) ** 2)
        return 20 * np.log10(255 / np.sqrt(mse))

    differences = np.abs(filtered.astype(int) - image)
    worst = np.unravel_index(differences.argmax(), differences.shape)
    return filtered, psnr(image, noisy), psnr(image, filtered), image[worst], np.percentile(differences, [50, 90, 99])


def equalise(np: Any, rng: Any) -> Any:
    """Histogram equalisation, Otsu's threshold, and gamma by a table."""
    image = _picture(np, rng)
    histogram, bins = np.histogram(image.flatten(), 256, (0, 256))
    cdf = histogram.cumsum()
    masked = np.where(cdf == 0, cdf.max(), cdf)
    table = np.clip((cdf - masked.min()) * 255 / (cdf[-1] - masked.min()), 0, 255).astype("uint8")
    equalised = table[image]
    p = histogram / histogram.sum()
    omega, mu = np.cumsum(p), np.cumsum(p * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mu[-1] * omega - mu) ** 2 / (omega * (1 - omega))
    threshold = np.nanargmax(between)
    binary = image > threshold
    gamma = (np.linspace(0, 1, 256) ** (1 / 2.2) * 255).round().astype(np.uint8)
    rgb = np.dstack((image, equalised, gamma[image]))
    grey = rgb @ np.array([0.2989, 0.5870, 0.1140])
    return equalised, threshold, binary.sum(), rgb.shape, grey, rgb[..., ::-1].mean(axis=(0, 1)), bins[:3]


def tomography(np: Any, rng: Any) -> Any:
    """Projections of a phantom, turned by nearest neighbours, filtered and projected back."""
    n = 32
    centre = (n - 1) / 2
    y, x = np.mgrid[:n, :n] - centre
    phantom = 1.0 * ((x / 12) ** 2 + (y / 14) ** 2 < 1) - 0.5 * (((x - 3) / 4) ** 2 + ((y + 2) / 6) ** 2 < 1)
    angles = np.deg2rad(np.arange(0, 180, 18))
    sinogram = np.zeros((len(angles), n))
    for k, angle in enumerate(angles):
        i = np.round(centre + y * np.cos(angle) - x * np.sin(angle)).astype(int)
        j = np.round(centre + y * np.sin(angle) + x * np.cos(angle)).astype(int)
        inside = (i >= 0) & (i < n) & (j >= 0) & (j < n)
        turned = np.where(inside, phantom[i.clip(0, n - 1), j.clip(0, n - 1)], 0)
        sinogram[k] = turned.sum(axis=0)
    ramp = np.abs(np.fft.fftfreq(2 * n))
    filtered = np.real(np.fft.ifft(np.fft.fft(sinogram, 2 * n, axis=1) * ramp, axis=1))[:, :n]
    image = np.zeros((n, n))
    for row, angle in zip(filtered, angles):
        t = x * np.cos(angle) - y * np.sin(angle) + centre
        image += np.interp(t.ravel(), np.arange(n), row, left=0, right=0).reshape(n, n)
    image *= np.pi / len(angles)
    return sinogram, image, np.corrcoef(image.ravel(), phantom.ravel())[0, 1]


def components(np: Any, rng: Any) -> Any:
    """Regions of a binary image labelled by the least label of the neighbours, and measured."""
    n = 24
    image = np.array(rng.random((n, n))) < 0.55
    labels = np.where(image, np.arange(1, n * n + 1).reshape(n, n), 0)
    n_sweeps = 0
    while True:
        grown = labels.copy()
        for axis in (0, 1):
            for shift in (-1, 1):
                other = np.roll(labels, shift, axis=axis)
                edge = [slice(None)] * 2
                edge[axis] = 0 if shift == 1 else -1
                other[tuple(edge)] = 0
                grown = np.where((other > 0) & (grown > 0), np.maximum(grown, other), grown)
        n_sweeps += 1
        if np.array_equal(grown, labels):
            break
        labels = grown
    names, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    compact = inverse.reshape(labels.shape)
    i, j = np.indices(labels.shape)
    centroids = np.array([np.bincount(compact.ravel(), weights=c.ravel()) for c in (i, j)]) / sizes
    largest = 1 + np.argmax(sizes[1:])
    where = np.argwhere(compact == largest)
    box = where.min(axis=0), where.max(axis=0) + 1
    cropped = image[box[0][0]:box[1][0], box[0][1]:box[1][1]]
    return compact, centroids, box, cropped.shape, cropped.mean(), n_sweeps


PROGRAMS = (sobel, median_filter, equalise, tomography, components)
