"""Machine learning."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def principal_components(np: Any, rng: Any) -> Any:
    """By svd, and by the covariance matrix."""
    X = np.array(rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)))
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    signs = np.sign(Vt[np.arange(5), np.abs(Vt).argmax(axis=1)])
    Vt = Vt * signs[:, np.newaxis]
    scores = X @ Vt[:2].T
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    explained = np.cumsum(values) / values.sum()
    n = int(np.searchsorted(explained, 0.9)) + 1
    same = np.allclose(np.abs(vectors), np.abs(Vt.T)) and np.allclose(values, S**2 / (len(X) - 1))
    restored = scores @ Vt[:2]
    return scores, explained, n, same, ((X - restored) ** 2).sum()


def k_means(np: Any, rng: Any) -> Any:
    """Lloyd's algorithm."""
    centres = np.array([[0.0, 0.0], [4.0, 4.0], [0.0, 5.0]])
    labels_true = np.repeat(np.arange(3), 25)
    X = centres[labels_true] + np.array(rng.normal(size=(75, 2)))
    k = 3
    centroids = X[[0, 30, 60]].copy()
    for iteration in range(20):
        distances = np.sqrt(((X[:, np.newaxis, :] - centroids[np.newaxis, :, :]) ** 2).sum(axis=2))
        labels = distances.argmin(axis=1)
        new = np.array([X[labels == j].mean(axis=0) for j in range(k)])
        if np.allclose(new, centroids):
            break
        centroids = new
    inertia = np.sum(np.min(distances, axis=1) ** 2)
    confusion = np.zeros((k, k), dtype=int)
    np.add.at(confusion, (labels_true, labels), 1)
    return centroids, labels, inertia, confusion, iteration


def logistic_regression(np: Any, rng: Any) -> Any:
    """By gradient descent, with a test set."""
    n, d = 80, 4
    X = np.array(rng.normal(size=(n, d)))
    true_w = np.array([1.5, -2.0, 0.5, 0.0])
    y = (X @ true_w + 0.3 > np.array(rng.logistic(size=n))).astype(float)
    order = np.array(rng.permutation(n))
    train, test = order[:60], order[60:]
    mean, scale = X[train].mean(0), X[train].std(0)
    X = np.hstack([np.ones((n, 1)), (X - mean) / scale])
    w = np.zeros(d + 1)
    losses = []
    for step in range(20):
        p = 1 / (1 + np.exp(-X[train] @ w))
        eps = np.finfo(float).eps
        loss = -np.mean(y[train] * np.log(p + eps) + (1 - y[train]) * np.log(1 - p + eps))
        loss += 0.01 * np.sum(w[1:] ** 2)
        gradient = X[train].T @ (p - y[train]) / len(train)
        gradient[1:] += 0.02 * w[1:]
        w -= 0.5 * gradient
        losses.append(loss)
        if np.linalg.norm(gradient) < 1e-4:
            break
    predicted = X[test] @ w > 0
    accuracy = np.mean(predicted == y[test].astype(bool))
    assert losses[-1] < losses[0], f"loss went from {losses[0]:.3f} to {losses[-1]:.3f}"
    return w, np.array(losses), accuracy, step


def convolutional_network(np: Any, rng: Any) -> Any:
    """One convolution, a rectifier, a pool and a softmax; forward, backward, a few steps."""
    images = np.array(rng.normal(size=(6, 10, 10)))
    labels = np.array([0, 1, 2, 0, 1, 2])
    filters = np.array(rng.normal(size=(4, 3, 3)) * 0.3)
    W = np.array(rng.normal(size=(4 * 4 * 4, 3)) * 0.1)
    b = np.zeros(3)
    losses = []
    for _ in range(3):
        windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
        z = np.einsum("bijkl,fkl->bfij", windows, filters)
        a = np.maximum(z, 0)
        pooled = a.reshape(6, 4, 4, 2, 4, 2).max(axis=(3, 5))
        flat = pooled.reshape(6, -1)
        scores = flat @ W + b
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        p /= p.sum(axis=1, keepdims=True)
        losses.append(-np.log(p[np.arange(6), labels]).mean())
        d = p.copy()
        d[np.arange(6), labels] -= 1
        d /= 6
        dW, db = flat.T @ d, d.sum(axis=0)
        dpooled = (d @ W.T).reshape(pooled.shape)
        grown = np.repeat(np.repeat(dpooled, 2, axis=2), 2, axis=3)
        mask = a == np.repeat(np.repeat(pooled, 2, axis=2), 2, axis=3)
        dz = grown * mask * (z > 0)
        dfilters = np.einsum("bijkl,bfij->fkl", windows, dz)
        W -= 0.1 * dW
        b -= 0.1 * db
        filters -= 0.1 * dfilters
    return filters, W, b, np.array(losses), np.argmax(scores, axis=-1)


def gaussian_mixture(np: Any, rng: Any) -> Any:
    """Expectation maximisation in two dimensions."""
    X = np.concatenate([np.array(rng.normal(m, s, (30, 2))) for m, s in ((0, 1), (4, 0.7), (-3, 0.5))])
    n, d = X.shape
    k = 3
    means = X[::n // k][:k].copy()
    covariances = np.array([np.eye(d)] * k)
    weights = np.full(k, 1 / k)
    log_likelihoods = []
    for _ in range(6):
        densities = np.zeros((n, k))
        for j in range(k):
            diff = X - means[j]
            inverse = np.linalg.inv(covariances[j])
            exponent = -0.5 * np.einsum("ij,jk,ik->i", diff, inverse, diff)
            densities[:, j] = np.exp(exponent) / np.sqrt((2 * np.pi) ** d * np.linalg.det(covariances[j]))
        joint = densities * weights
        log_likelihoods.append(np.log(joint.sum(axis=1)).sum())
        resp = joint / joint.sum(axis=1, keepdims=True)
        nk = resp.sum(axis=0)
        weights = nk / n
        means = resp.T @ X / nk[:, None]
        for j in range(k):
            diff = X - means[j]
            covariances[j] = (resp[:, j, None] * diff).T @ diff / nk[j] + 1e-6 * np.eye(d)
    return means, covariances, weights, log_likelihoods, np.bincount(resp.argmax(1), minlength=k)


def gaussian_process(np: Any, rng: Any) -> Any:
    """Regression with a squared exponential kernel."""

    def kernel(a: Any, b: Any, length: float = 0.7, scale: float = 1.0) -> Any:
        sqdist = np.sum(a**2, 1).reshape(-1, 1) + np.sum(b**2, 1) - 2 * np.dot(a, b.T)
        return scale**2 * np.exp(-0.5 / length**2 * sqdist)

    X = np.linspace(-4, 4, 15).reshape(-1, 1)
    y = np.sin(X).ravel() + 0.05 * np.array(rng.normal(size=15))
    Xs = np.linspace(-5, 5, 40)[:, None]
    best, results = -np.inf, {}
    for length in (0.3, 0.7, 1.5):
        K = kernel(X, X, length) + 0.05**2 * np.eye(len(X))
        L = np.linalg.cholesky(K)
        alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
        evidence = -0.5 * y.dot(alpha) - np.log(np.diag(L)).sum() - len(X) / 2 * np.log(2 * np.pi)
        if evidence > best:
            best = evidence
            Ks = kernel(X, Xs, length)
            mean = Ks.T @ alpha
            v = np.linalg.solve(L, Ks)
            cov = kernel(Xs, Xs, length) - v.T @ v
            results = {"mean": mean, "std": np.sqrt(np.diag(cov)), "length": length}
    inside = np.abs(np.sin(Xs[:, 0]) - results["mean"]) < 2 * results["std"]
    return results, best, inside.mean()


PROGRAMS = (principal_components, k_means, logistic_regression, convolutional_network, gaussian_mixture,
            gaussian_process)
