"""Linear algebra and approximation."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def power_iteration(np: Any, rng: Any) -> Any:
    """The largest eigenvalues, with deflation, a Rayleigh quotient, and Gershgorin's discs."""
    n = 16
    A = np.array(rng.random((n, n)))
    A = (A + A.T) / 2 + np.diag(np.arange(n, dtype=float))
    B, values, vectors = A.copy(), [], []
    for _ in range(2):
        v = np.ones(n) / np.sqrt(n)
        value = 0.0
        for _ in range(60):
            w = B @ v
            v_new = w / np.linalg.norm(w)
            value_new = v_new @ B @ v_new
            if abs(value_new - value) < 1e-13:
                break
            v, value = v_new, value_new
        values.append(value)
        vectors.append(v * np.sign(v[np.argmax(np.abs(v))]))
        B -= value * np.outer(v, v)
    mu = 5.0
    x = np.ones(n)
    for _ in range(5):
        x = np.linalg.solve(A - mu * np.identity(n), x)
        x /= np.linalg.norm(x)
        mu = np.vdot(x, A @ x)
        if np.linalg.norm(A @ x - mu * x) < 1e-9:
            break
    radius = np.abs(A).sum(axis=1) - np.abs(np.diagonal(A))
    bounds = (A.diagonal() - radius).min(), (A.diagonal() + radius).max()
    exact = np.linalg.eigvalsh(A)
    inside = bool(bounds[0] <= exact[0] and exact[-1] <= bounds[1])
    return np.array(values), np.isclose(values, exact[:-3:-1], atol=1e-2), mu, bounds, inside, np.linalg.cond(A)


def conjugate_gradients(np: Any, rng: Any) -> Any:
    """Without a matrix, with a preconditioner, and against a direct solution."""
    n = 12

    def apply(u: Any) -> Any:
        v = 4.1 * u
        v[1:, :] -= u[:-1, :]
        v[:-1, :] -= u[1:, :]
        v[:, 1:] -= u[:, :-1]
        v[:, :-1] -= u[:, 1:]
        return v

    b = np.array(rng.standard_normal((n, n)))
    x = np.zeros_like(b)
    r = b - apply(x)
    z = r / 4.1
    p = z.copy()
    rz = np.sum(r * z)
    norms = [np.sqrt(np.sum(r**2))]
    while norms[-1] > 1e-10 * norms[0] and len(norms) < 100:
        Ap = apply(p)
        alpha = rz / np.sum(p * Ap)
        x += alpha * p
        r -= alpha * Ap
        z = r / 4.1
        rz, rz_old = np.sum(r * z), rz
        p = z + (rz / rz_old) * p
        norms.append(np.sqrt(np.sum(r**2)))
    T = np.diag(2.05 * np.ones(n)) - np.eye(n, k=1) - np.eye(n, k=-1)
    K = np.kron(T, np.eye(n)) + np.kron(np.eye(n), T)
    direct = np.linalg.solve(K, b.ravel()).reshape(n, n)
    return x, np.allclose(x, direct, atol=1e-8), len(norms), np.log10(norms[0] / norms[5])


def least_squares(np: Any, rng: Any) -> Any:
    """Gram-Schmidt, Householder and the library's QR, weighted and regularised fits."""
    m, n = 30, 4
    t = np.linspace(-1, 1, m)
    A = t[:, None] ** np.arange(n)
    b = np.exp(t) + 0.01 * np.array(rng.normal(size=m))
    Q, R = np.zeros((m, n)), np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = np.dot(Q[:, i], v)
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    x = np.zeros(n)
    y = Q.T @ b
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - R[i, i + 1:] @ x[i + 1:]) / R[i, i]
    H = A.copy()
    for k in range(n):
        v = H[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        H[k:, k:] -= 2 * np.outer(v, v @ H[k:, k:])
    q, r = np.linalg.qr(A)
    assert np.allclose(np.abs(np.triu(H[:n])), np.abs(r), atol=1e-8)
    solution, residual, rank, singular = np.linalg.lstsq(A, b, rcond=None)
    weights = 1 / (1 + t**2)
    weighted = np.linalg.solve(A.T @ (weights[:, None] * A), A.T @ (weights * b))
    ridge = np.linalg.inv(A.T @ A + 0.1 * np.eye(n)).dot(A.T).dot(b)
    r2 = 1 - ((b - A @ x) ** 2).sum() / ((b - b.mean()) ** 2).sum()
    covariance = residual[0] / (m - n) * np.linalg.inv(A.T @ A)
    return x, np.allclose(x, solution), rank, singular, weighted, ridge, r2, np.sqrt(np.diag(covariance))


def polynomials(np: Any, rng: Any) -> Any:
    """A fit, its roots and derivatives; Lagrange, Newton and Chebyshev; splines."""
    x = np.linspace(0, 3, 13)
    y = x**3 - 4 * x**2 + 3 * x + 0.5 + 0.01 * np.array(rng.normal(size=13))
    coefficients = np.polyfit(x, y, 3)
    fitted = np.polyval(coefficients, x)
    residual = y - fitted
    derivative = np.polyder(coefficients)
    extrema = np.sort(np.roots(derivative).real)
    area = np.diff(np.polyval(np.polyint(coefficients), [0, 3]))[0]
    nodes = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    f = 1 / (1 + 25 * nodes**2)
    differences = nodes[:, None] - nodes
    np.fill_diagonal(differences, 1)
    barycentric = 1 / differences.prod(axis=1)
    at = np.linspace(-0.95, 0.95, 20)
    terms = barycentric / (at[:, None] - nodes)
    interpolated = (terms * f).sum(axis=1) / terms.sum(axis=1)
    h = np.diff(x)
    system = np.zeros((13, 13))
    system[0, 0] = system[-1, -1] = 1
    inner = np.arange(1, 12)
    system[inner, inner - 1], system[inner, inner], system[inner, inner + 1] = h[:-1], 2 * (h[:-1] + h[1:]), h[1:]
    rhs = np.zeros(13)
    rhs[1:-1] = 6 * np.diff(np.diff(y) / h)
    second = np.linalg.solve(system, rhs)
    points = np.linspace(0.1, 2.9, 15)
    i = np.clip(np.searchsorted(x, points) - 1, 0, 11)
    a, b = (x[i + 1] - points) / h[i], (points - x[i]) / h[i]
    spline = a * y[i] + b * y[i + 1] + ((a**3 - a) * second[i] + (b**3 - b) * second[i + 1]) * h[i] ** 2 / 6
    return coefficients, np.std(residual) < 0.05, extrema, area, interpolated, spline


PROGRAMS = (power_iteration, conjugate_gradients, least_squares, polynomials)
