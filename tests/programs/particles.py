"""Bodies, orbits, rays, spins and cells."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def n_body(np: Any, rng: Any) -> Any:
    """Gravity between all pairs, by leapfrog."""
    n, G, softening, dt = 20, 1.0, 0.1, 0.01
    mass = 20.0 * np.ones((n, 1)) / n
    pos = np.array(rng.standard_normal((n, 3)))
    vel = np.array(rng.standard_normal((n, 3)))
    vel -= np.mean(mass * vel, 0) / np.mean(mass)

    def acceleration(pos: Any) -> Any:
        x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
        dx, dy, dz = x.T - x, y.T - y, z.T - z
        inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
        inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
        return np.hstack((G * (dx * inv_r3) @ mass, G * (dy * inv_r3) @ mass, G * (dz * inv_r3) @ mass))

    def energies(pos: Any, vel: Any) -> tuple[Any, Any]:
        kinetic = 0.5 * np.sum(mass * vel**2)
        d = pos[:, None, :] - pos[None, :, :]
        r = np.sqrt((d**2).sum(-1))
        inverse = np.zeros_like(r)
        np.divide(1.0, r, out=inverse, where=r > 0)
        i, j = np.triu_indices(n, k=1)
        return kinetic, -G * np.sum((mass @ mass.T * inverse)[i, j])

    acc = acceleration(pos)
    history = []
    for _ in range(10):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos)
        vel += acc * dt / 2.0
        history.append(energies(pos, vel))
    history = np.array(history)
    momentum = (mass * vel).sum(axis=0)
    angular = np.cross(pos, mass * vel).sum(axis=0)
    inertia = np.einsum("ni,nj->ij", mass * pos, pos)
    return pos, history, np.allclose(momentum, 0), angular, np.linalg.eigvalsh(inertia)


def mandelbrot(np: Any, rng: Any) -> Any:
    """Escape times with masks, coloured smoothly."""
    y, x = np.ogrid[-1.2:1.2:40j, -2:0.6:50j]
    c = x + 1j * y
    z = np.zeros(c.shape, dtype=np.complex128)
    steps = np.zeros(c.shape, dtype=int)
    mask = np.full(c.shape, True, dtype=bool)
    for i in range(25):
        z[mask] = z[mask] * z[mask] + c[mask]
        diverged = mask & (np.abs(z) > 2)
        steps[diverged] = i
        mask[np.abs(z) > 2] = False
    outside = ~mask
    smooth = np.zeros(c.shape)
    smooth[outside] = steps[outside] + 1 - np.log2(np.log(np.abs(z[outside])))
    area = mask.sum() * (2.6 / 50) * (2.4 / 40)
    text = np.where(mask, "#", np.where(steps > 5, "+", "."))
    return steps, smooth, area, text


def lotka_volterra(np: Any, rng: Any) -> Any:
    """Runge-Kutta for many initial values at once, with dense output and periods."""
    alpha, beta, delta, gamma = 1.1, 0.4, 0.1, 0.4
    grid = np.linspace(1, 10, 4)
    y = np.array(np.meshgrid(grid, grid)).reshape(2, -1)

    def f(t: float, y: Any) -> Any:
        prey, predator = y
        return np.array([alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator])

    t, dt, n = 0.0, 0.1, 40
    path = np.empty((n + 1, *y.shape))
    path[0] = y
    for i in range(n):
        k1 = f(t, y)
        k2 = f(t + dt / 2, y + dt / 2 * k1)
        k3 = f(t + dt / 2, y + dt / 2 * k2)
        k4 = f(t + dt, y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += dt
        path[i + 1] = y
    prey, predator = path[:, 0], path[:, 1]
    invariant = delta * prey - gamma * np.log(prey) + beta * predator - alpha * np.log(predator)
    drift = np.ptp(invariant, axis=0)
    rising = (np.sign(np.diff(prey, axis=0))[:-1] > 0) & (np.sign(np.diff(prey, axis=0))[1:] <= 0)
    peaks = np.transpose(np.nonzero(rising))
    return y, drift, peaks, np.trapezoid(prey, dx=dt, axis=0), path[::10, :, [0, 5, -1]]


def ray_tracing(np: Any, rng: Any) -> Any:
    """Spheres above a plane, with shadows and highlights."""
    w, h = 24, 18
    spheres = [(np.array([0.0, 0.2, 3.0]), 1.0, np.array([1.0, 0.2, 0.2])),
               (np.array([1.2, -0.3, 2.2]), 0.5, np.array([0.2, 0.4, 1.0]))]
    light = np.array([3.0, 4.0, -2.0])

    def normalize(v: Any) -> Any:
        return v / np.linalg.norm(v, axis=-1, keepdims=True)

    def hit(origin: Any, direction: Any, centre: Any, radius: float) -> Any:
        oc = origin - centre
        b = np.sum(direction * oc, axis=-1)
        c = np.sum(oc * oc, axis=-1) - radius**2
        disc = b * b - c
        root = np.sqrt(np.maximum(disc, 0))
        near, far = -b - root, -b + root
        t = np.where(near > 1e-4, near, far)
        return np.where((disc > 0) & (t > 1e-4), t, np.inf)

    xs, ys = np.linspace(-1, 1, w), np.linspace(h / w, -h / w, h)
    X, Y = np.meshgrid(xs, ys)
    eye = np.array([0.0, 0.0, -2.0])
    D = normalize(np.stack([X, Y, np.zeros_like(X)], axis=-1) - eye)
    distances = np.stack([hit(eye, D, c, r) for c, r, _ in spheres])
    plane = np.where(D[..., 1] < 0, (-1.0 - eye[1]) / np.where(D[..., 1] < 0, D[..., 1], -1), np.inf)
    distances = np.concatenate([distances, plane[None]])
    nearest, t = distances.argmin(axis=0), distances.min(axis=0)
    image = np.zeros((h, w, 3))
    for k in range(3):
        seen = (nearest == k) & np.isfinite(t)
        if not seen.any():
            continue
        P = eye + D[seen] * t[seen][:, None]
        if k < 2:
            N, colour = normalize(P - spheres[k][0]), spheres[k][2]
        else:
            checker = (np.floor(P[:, 0]) + np.floor(P[:, 2])) % 2 == 0
            N, colour = np.array([0.0, 1.0, 0.0]), np.where(checker[:, None], 0.9, 0.3)
        L = normalize(light - P)
        shadow = np.min([hit(P + 1e-3 * N, L, c, r) for c, r, _ in spheres], axis=0) < np.inf
        diffuse = np.clip((N * L).sum(-1), 0, None) * ~shadow
        H = normalize(L - D[seen])
        specular = np.clip((N * H).sum(-1), 0, None) ** 50 * ~shadow
        image[seen] = 0.1 * colour + diffuse[:, None] * colour + 0.5 * specular[:, None]
    return (255 * image.clip(0, 1)).astype(np.uint8), nearest, np.isinf(t).sum()


def ising(np: Any, rng: Any) -> Any:
    """Metropolis by checkerboard at several temperatures."""
    n = 16
    board = np.indices((n, n)).sum(axis=0) % 2
    results = []
    for T in (1.5, 2.27, 4.0):
        spins = np.where(np.array(rng.random((n, n))) < 0.7, 1, -1)
        energies, magnets = [], []
        for _ in range(4):
            for parity in (0, 1):
                nn = (np.roll(spins, 1, axis=0) + np.roll(spins, -1, axis=0)
                      + np.roll(spins, 1, axis=1) + np.roll(spins, -1, axis=1))
                cost = 2 * spins * nn
                accept = (cost <= 0) | (np.array(rng.random((n, n))) < np.exp(-cost / T))
                spins[accept & (board == parity)] *= -1
            energies.append(-(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum() / n**2)
            magnets.append(abs(spins.mean()))
        results.append((T, np.mean(energies), np.mean(magnets), np.var(energies) / T**2))
    return np.array(results), spins


def cells(np: Any, rng: Any) -> Any:
    """Life, rule 110, and forest fires."""
    Z = np.zeros((24, 24), dtype=np.uint8)
    Z[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    Z[10, 10:13] = 1
    for _ in range(8):
        N = (Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:] + Z[1:-1, 0:-2] + Z[1:-1, 2:]
             + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:])
        birth = (N == 3) & (Z[1:-1, 1:-1] == 0)
        survive = ((N == 2) | (N == 3)) & (Z[1:-1, 1:-1] == 1)
        Z[...] = 0
        Z[1:-1, 1:-1][birth | survive] = 1
    rule = np.array([int(b) for b in f"{110:08b}"[::-1]], dtype=np.uint8)
    rows = np.zeros((20, 41), dtype=np.uint8)
    rows[0, -1] = 1
    for i in range(19):
        code = 4 * np.roll(rows[i], 1) + 2 * rows[i] + np.roll(rows[i], -1)
        rows[i + 1] = rule[code]
    EMPTY, TREE, FIRE = 0, 1, 2
    forest = np.array(rng.choice(3, (20, 20), p=[0.3, 0.68, 0.02]))
    burnt = []
    while (forest == FIRE).any():
        fire = np.pad(forest == FIRE, 1)
        near = fire[:-2, 1:-1] | fire[2:, 1:-1] | fire[1:-1, :-2] | fire[1:-1, 2:]
        spread = np.logical_and(forest == TREE, near)
        forest[forest == FIRE] = EMPTY
        forest[spread] = FIRE
        burnt.append(np.count_nonzero(spread))
    lines = ["".join("#" if cell else "." for cell in row) for row in rows]
    return Z, rows, forest, burnt, lines


PROGRAMS = (n_body, mandelbrot, lotka_volterra, ray_tracing, ising, cells)
