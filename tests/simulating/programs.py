"""Programs that are simulated, as files: `python programs.py NAME N STEPS`."""

from __future__ import annotations

import sys
import time

import numpy

import pgaspy as np
from pgaspy.algorithms.summa import stationary_c

name, n, n_steps = sys.argv[1], *map(int, sys.argv[2:])


def heat() -> None:
    full = np.ones((n, n))
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    work = np.empty_like(center)
    np.COMM.Barrier()
    for _ in range(n_steps):
        work[...] = 0.2 * (center + up + down + left + right)
        delta = abs(center - work).sum()
        center[...] = work
        if float(delta) < 0:
            break
    np.COMM.Barrier()


def stencil() -> None:
    full = np.ones((n, n))
    for _ in range(n_steps):
        full[1:-1, 1:-1] = 0.25 * (full[:-2, 1:-1] + full[2:, 1:-1] + full[1:-1, :-2] + full[1:-1, 2:])
    np.sync()


def summa() -> None:
    A, B, C = (np.empty((n, n)) for _ in range(3))
    stationary_c(A, B, C, n // n_steps, 1)


def local_products() -> None:
    A, B, C = (np.ones((n, n)) for _ in range(3))
    b = n // n_steps
    for k in range(0, n, b):
        A1, B1 = np.align(A[:, k:k + b], C, 0), np.align(B[k:k + b], C, 1)
        C.local()[...] += A1.local() @ B1.local()


def local_eigenvalues() -> None:
    numpy.linalg.eigvalsh(np.ones((n, n)).local())


def local_maximum() -> None:
    np.ones((n, n)).local().max()


def thinks() -> None:
    x = np.ones(n)
    np.sync()
    for step in range(n_steps):
        begin = time.thread_time()
        while time.thread_time() - begin < (0.01 if step else 0.5):
            pass
        x += 1
        np.sync()


def saves() -> None:
    np.save("never.npy", np.ones(n))


def indexed() -> None:
    A = np.arange(n)
    A[np.arange(n)[::-1]] = A[np.arange(n)[::2]].sum()
    np.sort(A[A > 3])
    np.sync()


def nothing() -> None:
    pass


def reads_and_fails() -> None:
    sys.exit(int(float(np.ones(n).sum()) != n))


def keeps() -> None:
    globals()["kept"] = np.ones(n) + 1


def keeps_and_exits() -> None:
    keeps()
    sys.exit()


def fails() -> None:
    np.ones(n)[n]


globals()[name]()
