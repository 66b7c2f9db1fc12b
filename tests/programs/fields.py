"""Partial differential equations of other fields."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def spectral_poisson(np: Any, rng: Any) -> Any:
    """A periodic Poisson equation, by transforms."""
    n, length = 32, 2 * np.pi
    x = np.arange(n) * length / n
    X, Y = np.meshgrid(x, x, indexing="ij")
    exact = np.sin(X) * np.cos(3 * Y) + 0.1 * np.cos(2 * X)
    rhs = -10 * np.sin(X) * np.cos(3 * Y) - 0.4 * np.cos(2 * X)
    k = 2 * np.pi * np.fft.fftfreq(n, d=length / n)
    k2 = k[:, None] ** 2 + k[None, :] ** 2
    k2[0, 0] = 1.0
    u_hat = -np.fft.fft2(rhs) / k2
    u_hat[0, 0] = 0
    u = np.fft.ifft2(u_hat).real
    return u, np.abs(u - exact).max() < 1e-12, np.allclose(u, exact)


def wave(np: Any, rng: Any) -> Any:
    """The wave equation with reflecting, fixed and absorbing boundaries."""
    nx, nt, c = 101, 60, 1.0
    x, dx = np.linspace(0, 1, nx, retstep=True)
    dt = 0.5 * dx / c
    r = c * dt / dx
    u = np.exp(-0.5 * ((x - 0.4) / 0.05) ** 2)
    u_old = u.copy()
    u_new = np.empty_like(u)
    history = np.zeros((nt, nx))
    for n in range(nt):
        u_new[1:-1] = 2 * u[1:-1] - u_old[1:-1] + r**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u_new[0] = u_new[1]
        u_new[-1] = u[-2] + (r - 1) / (r + 1) * (u_new[-2] - u[-1])
        u_old, u, u_new = u, u_new, u_old
        history[n] = u
    energy = np.sum(np.diff(history, axis=1) ** 2, axis=1)
    return history[::10], energy, np.unravel_index(np.argmax(history), history.shape)


def red_black(np: Any, rng: Any) -> Any:
    """Gauss-Seidel with over-relaxation, by colours, against Jacobi."""
    n, omega = 24, 1.7
    f = np.zeros((n, n))
    f[n // 3, n // 3], f[2 * n // 3, n // 2] = 1.0, -1.0
    i, j = np.indices((n, n))
    inside = (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    red, black = inside & ((i + j) % 2 == 0), inside & ((i + j) % 2 == 1)
    u = np.zeros((n, n))
    residuals = []
    for sweep in range(8):
        for colour in (red, black):
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
            u[colour] += omega * (0.25 * (around[colour] + f[colour]) - u[colour])
        residuals.append(np.linalg.norm((around + f - 4 * u)[inside]))
        if residuals[-1] < 1e-3 * residuals[0]:
            break
    v = np.zeros((n, n))
    for _ in range(8):
        v[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + f[1:-1, 1:-1])
    return u, v, np.array(residuals), sweep


def gray_scott(np: Any, rng: Any) -> Any:
    """Reaction and diffusion."""
    n, F, k = 48, 0.0545, 0.062
    U, V = np.ones((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    r = 6
    U[n // 2 - r:n // 2 + r, n // 2 - r:n // 2 + r] = 0.50
    V[n // 2 - r:n // 2 + r, n // 2 - r:n // 2 + r] = 0.25
    noise = np.array(rng.uniform(-1, 1, (n + 2, n + 2)))
    U += 0.05 * noise
    V += 0.05 * noise.T
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    for _ in range(12):
        Lu = U[0:-2, 1:-1] + U[1:-1, 0:-2] - 4 * U[1:-1, 1:-1] + U[1:-1, 2:] + U[2:, 1:-1]
        Lv = V[0:-2, 1:-1] + V[1:-1, 0:-2] - 4 * V[1:-1, 1:-1] + V[1:-1, 2:] + V[2:, 1:-1]
        uvv = u * v * v
        u += 0.16 * Lu - uvv + F * (1 - u)
        v += 0.08 * Lv + uvv - (F + k) * v
        for A in (U, V):
            A[0, :], A[-1, :] = A[-2, :], A[1, :]
            A[:, 0], A[:, -1] = A[:, -2], A[:, 1]
    image = (255 * (v - v.min()) / (v.max() - v.min())).astype(np.uint8)
    return U, V, image


def masked_heat(np: Any, rng: Any) -> Any:
    """Heat in a plate of two materials with a hot disc and a hole."""
    n = 40
    y, x = np.ogrid[:n, :n]
    disc = (x - 12) ** 2 + (y - 12) ** 2 <= 16
    hole = np.hypot(x - 28, y - 25) < 5
    alpha = np.where(x + y < n, 0.2, 0.1)
    T = np.full((n, n), 20.0)
    T[disc] = 100
    T[hole] = np.nan
    for _ in range(10):
        padded = np.pad(T, 1, mode="edge")
        neighbours = np.array([padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]])
        flux = np.nan_to_num(neighbours - T, nan=0.0).sum(axis=0)
        T = T + alpha * flux
        T[disc] = 100
    rings = np.hypot(x - 12, y - 12).astype(int)
    valid = ~np.isnan(T)
    profile = np.bincount(rings[valid], weights=T[valid]) / np.maximum(np.bincount(rings[valid]), 1)
    return T, np.nanmean(T), profile, np.argwhere(T > 60)


def finite_elements(np: Any, rng: Any) -> Any:
    """Linear elements in one dimension, assembled by add.at."""
    n = 30
    nodes = np.linspace(0, 1, n + 1) ** 1.5
    elements = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    h = nodes[elements[:, 1]] - nodes[elements[:, 0]]
    local = np.array([[1.0, -1.0], [-1.0, 1.0]]) / h[:, None, None]
    K = np.zeros((n + 1, n + 1))
    np.add.at(K, (elements[:, :, None], elements[:, None, :]), local)
    load = np.zeros(n + 1)
    np.add.at(load, elements.ravel(), np.repeat(h / 2, 2))
    free = np.setdiff1d(np.arange(n + 1), [0, n])
    u = np.zeros(n + 1)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], load[free])
    strain = np.diff(u) / h
    return u, strain, u @ K @ u, np.abs(u - nodes * (1 - nodes) / 2).max() < 1e-12


PROGRAMS = (spectral_poisson, wave, red_black, gray_scott, masked_heat, finite_elements)
