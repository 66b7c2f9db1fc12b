"""Fluids on grids."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def lattice_boltzmann(np: Any, rng: Any) -> Any:
    """Flow around a cylinder, D2Q9."""
    nx, ny, tau, u_in = 40, 16, 0.6, 0.1
    c = np.array([(x, y) for x in [0, -1, 1] for y in [0, -1, 1]])
    w = 1.0 / 36 * np.ones(9)
    norms = np.array([np.linalg.norm(ci) for ci in c])
    w[norms < 1.1] = 1.0 / 9
    w[0] = 4.0 / 9
    opposite = [c.tolist().index((-c[i]).tolist()) for i in range(9)]
    right = np.arange(9)[np.asarray([ci[0] > 0 for ci in c])]
    left = np.arange(9)[np.asarray([ci[0] < 0 for ci in c])]
    middle = np.arange(9)[np.asarray([ci[0] == 0 for ci in c])]

    def equilibrium(rho: Any, u: Any) -> Any:
        cu = 3.0 * np.dot(c, u.transpose(1, 0, 2))
        usqr = 3.0 / 2.0 * (u[0] ** 2 + u[1] ** 2)
        feq = np.zeros((9, nx, ny))
        for i in range(9):
            feq[i, :, :] = rho * w[i] * (1.0 + cu[i] + 0.5 * cu[i] ** 2 - usqr)
        return feq

    obstacle = np.fromfunction(lambda x, y: (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < 9, (nx, ny))
    vel = np.fromfunction(lambda d, x, y: (1 - d) * u_in * (1.0 + 1e-2 * np.sin(y / (ny - 1) * 2 * np.pi)), (2, nx, ny))
    fin = equilibrium(1.0, vel)
    for _ in range(3):
        fin[left, -1, :] = fin[left, -2, :]
        rho = np.sum(fin, axis=0)
        u = np.dot(c.transpose(), fin.transpose((1, 0, 2))) / rho
        u[:, 0, :] = vel[:, 0, :]
        inflow = np.sum(fin[middle, 0, :], axis=0) + 2.0 * np.sum(fin[left, 0, :], axis=0)
        rho[0, :] = 1.0 / (1.0 - u[0, 0, :]) * inflow
        feq = equilibrium(rho, u)
        fin[right, 0, :] = fin[right[::-1], 0, :] * 0.2 + feq[right, 0, :] * 0.8
        fout = fin - (fin - feq) / tau
        for i in range(9):
            fout[i, obstacle] = fin[opposite[i], obstacle]
        for i in range(9):
            fin[i, :, :] = np.roll(np.roll(fout[i, :, :], c[i, 0], axis=0), c[i, 1], axis=1)
    return np.sqrt(u[0] ** 2 + u[1] ** 2), rho


def shallow_water(np: Any, rng: Any) -> Any:
    """Lax-Friedrichs, with walls."""
    n, g, dx = 40, 9.81, 1.0
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n), indexing="ij")
    h = np.ones((n, n)) + 0.3 * np.exp(-((x - 0.2) ** 2 + y**2) / 0.05)
    q = np.stack([h, np.zeros_like(h), np.zeros_like(h)])

    def fluxes(q: Any) -> tuple[Any, Any]:
        h, hu, hv = q
        u, v = hu / h, hv / h
        return (np.stack([hu, hu * u + 0.5 * g * h**2, hu * v]), np.stack([hv, hu * v, hv * v + 0.5 * g * h**2]))

    t, masses = 0.0, []
    while t < 3.0:
        speed = np.max(np.sqrt((q[1] / q[0]) ** 2 + (q[2] / q[0]) ** 2) + np.sqrt(g * q[0]))
        dt = min(0.4 * dx / speed, 3.0 - t)
        padded = np.pad(q, ((0, 0), (1, 1), (1, 1)), mode="edge")
        padded[1, [0, -1], :] *= -1
        padded[2, :, [0, -1]] *= -1
        f, g_ = fluxes(padded)
        q = (
            0.25 * (padded[:, :-2, 1:-1] + padded[:, 2:, 1:-1] + padded[:, 1:-1, :-2] + padded[:, 1:-1, 2:])
            - 0.5 * dt / dx * (f[:, 2:, 1:-1] - f[:, :-2, 1:-1])
            - 0.5 * dt / dx * (g_[:, 1:-1, 2:] - g_[:, 1:-1, :-2])
        )
        t += dt
        masses.append(q[0].sum())
    return q, np.array(masses), t


def vorticity(np: Any, rng: Any) -> Any:
    """Navier-Stokes in two dimensions, pseudo-spectral, dealiased, by a second-order Runge-Kutta method."""
    n, nu, dt = 32, 1e-2, 0.02
    x = np.linspace(0, 2 * np.pi, n, endpoint=False)
    X, Y = np.meshgrid(x, x)
    kx = np.fft.rfftfreq(n, 1 / n)
    ky = np.fft.fftfreq(n, 1 / n)
    KX, KY = np.meshgrid(kx, ky)
    k2 = KX**2 + KY**2
    inverse = 1.0 / np.where(k2 == 0, 1, k2)
    keep = (np.abs(KX) < n / 3) & (np.abs(KY) < n / 3)
    omega = np.fft.rfft2(np.sin(X) * np.cos(2 * Y) + 0.5 * np.cos(3 * X + Y))

    def rate(w: Any) -> Any:
        psi = w * inverse
        u = np.fft.irfft2(1j * KY * psi)
        v = np.fft.irfft2(-1j * KX * psi)
        wx = np.fft.irfft2(1j * KX * w)
        wy = np.fft.irfft2(1j * KY * w)
        return -np.fft.rfft2(u * wx + v * wy) * keep - nu * k2 * w

    energies = []
    for step in range(10):
        k1 = rate(omega)
        omega = omega + dt * rate(omega + 0.5 * dt * k1)
        if step % 5 == 0:
            energies.append(0.5 * float(np.sum(np.abs(omega) ** 2 * inverse)) / n**4)
    return np.fft.irfft2(omega, s=(n, n)), energies


def cavity(np: Any, rng: Any) -> Any:
    """Lid-driven cavity, by the projection of velocities, as in "12 steps to Navier-Stokes"."""
    nx = ny = 21
    dx, dy, rho, nu, dt = 2 / (nx - 1), 2 / (ny - 1), 1.0, 0.1, 0.001
    u, v, p = np.zeros((ny, nx)), np.zeros((ny, nx)), np.zeros((ny, nx))
    b = np.zeros((ny, nx))
    for _ in range(4):
        b[1:-1, 1:-1] = rho * (
            1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
            - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
            - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
            - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
        )
        for _ in range(5):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
            ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2]))
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu * (dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1]))
        )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return {"u": u, "v": v, "p": p}


PROGRAMS = (lattice_boltzmann, shallow_water, vorticity, cavity)
