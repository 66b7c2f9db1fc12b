"""Programs whose time is predicted: python -m bench.jobs.predicted TASK, where TASK has them as JSON.

They print as JSON, for each batch of steps between two barriers, its seconds, the processor's time (of the process that
takes most), and the share of the seconds that processes waited. `pgaspy simulate` plays the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import pgaspy as np
from pgaspy.algorithms.heat import heat
from pgaspy.algorithms.summa import summa

Steps = Callable[[int], object]

SECONDS_QUIET, MAX_SECONDS = 1.0, 20.0
"""The program is warm when no kernel has been compiled, or loaded, for so long, or after the most."""


def heat_steps(n: int) -> Steps:
    """Sweeps, each of which ends when its residual is known."""
    full = np.zeros((n, n))
    full[0] = 1
    return lambda n_steps: heat(full, -1, n_steps)


def summa_steps(n: int) -> Steps:
    """Products of matrices, in panels."""
    A, B, C = np.full((n, n), 0.5), np.full((n, n), 2.0), np.zeros((n, n))

    def steps(n_steps: int) -> None:
        for _ in range(n_steps):
            summa(A, B, C, panel=max(n // 8, 1))

    return steps


def lbm_steps(n: int) -> Steps:
    """The D2Q9 lattice Boltzmann method, collision and streaming by shifted views."""
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
    moves = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    f = [np.full((n + 2, n + 2), w) for w in weights]
    omega = 1.5

    def steps(n_steps: int) -> None:
        for _ in range(n_steps):
            g = [f[k][1 - x:n + 1 - x, 1 - y:n + 1 - y] for k, (x, y) in enumerate(moves)]
            rho = g[0] + g[1] + g[2] + g[3] + g[4] + g[5] + g[6] + g[7] + g[8]
            u = (g[1] + g[5] + g[8] - g[3] - g[6] - g[7]) / rho
            v = (g[2] + g[5] + g[6] - g[4] - g[7] - g[8]) / rho
            usqr = 1.5 * (u * u + v * v)
            new = []
            for k, (x, y) in enumerate(moves):
                cu = 3.0 * (x * u + y * v)
                feq = weights[k] * rho * (1.0 + cu + 0.5 * cu * cu - usqr)
                new.append(g[k] + omega * (feq - g[k]))
            for k in range(9):
                f[k][1:-1, 1:-1] = new[k]

    return steps


def cg_steps(n: int) -> Steps:
    """Conjugate gradients for Poisson's equation, which read their residual in each step."""
    x, r, p = np.zeros((n, n)), np.ones((n, n)), np.zeros((n + 2, n + 2))
    inner = p[1:-1, 1:-1]
    inner[...] = r
    state = {"rr": (r * r).sum()}

    def steps(n_steps: int) -> None:
        rr = state["rr"]
        for _ in range(n_steps):
            q = 4 * inner - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
            alpha = rr / (inner * q).sum()
            x[...] += alpha * inner
            r[...] -= alpha * q
            before, rr = rr, (r * r).sum()
            if float(rr) < 0:
                break
            inner[...] = r + rr / before * inner
        state["rr"] = rr

    return steps


PROGRAMS = {"heat": heat_steps, "summa": summa_steps, "lbm": lbm_steps, "cg": cg_steps}


def warm_up(steps: Steps, n_steps: int) -> None:
    """Run batches until all kernels are there that are worth compiling. Collective."""
    begin = last = time.perf_counter()
    n_before = 0
    while np.COMM.bcast(time.perf_counter() < min(last + SECONDS_QUIET, begin + MAX_SECONDS)):
        steps(n_steps)
        np.sync()
        n = np.COMM.allreduce(np.stats().n_compiled + np.stats().n_loaded)
        if n != n_before:
            n_before, last = n, time.perf_counter()


def main() -> None:
    """Run the batches of the task; those that are simulated are not warmed up, as time does not go by."""
    task = json.loads(sys.argv[1])
    steps = PROGRAMS[task["program"]](task["n"])
    if task["is_warmed"]:
        warm_up(steps, task["steps"])
    seconds, processor, waiting = [], [], []
    for _ in range(task["batches"]):
        np.COMM.Barrier()
        before, start, spent = np.stats().seconds_waiting, time.perf_counter(), time.process_time()
        steps(task["steps"])
        np.sync()
        processor.append(time.process_time() - spent)
        ended = time.perf_counter()
        np.COMM.Barrier()
        seconds.append(time.perf_counter() - start)
        waiting.append(np.stats().seconds_waiting - before + start + seconds[-1] - ended)
    found = np.COMM.gather((waiting, processor))
    if found is not None:
        shares = [sum(own) / len(own) / s for own, s in zip(zip(*(w for w, _ in found), strict=True), seconds,
                                                            strict=True)]
        longest = [max(own) for own in zip(*(p for _, p in found), strict=True)]
        print(json.dumps({"seconds": seconds, "processor": longest, "waiting": shares}))


if __name__ == "__main__":
    main()
