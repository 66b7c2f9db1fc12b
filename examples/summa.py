"""The product of two matrices by SUMMA, on local views: C += A B, panel by panel.

From DistNumPy's paper on the local view. R. van de Geijn and J. Watts, *SUMMA: Scalable Universal Matrix Multiplication
Algorithm*, 1997. (`A @ B` does this by itself, for all layouts.)
"""

from _driver import Program, main

import pgaspy as np
from pgaspy.blas import add_product


def problem(size):
    """Samples of waves of all lengths along i and along j, and what their products are added to."""
    i, k = np.arange(size)[:, None] / size, np.arange(size)
    A = np.cos(30 * np.sqrt(i * k + 1))
    return A, A.T / (k[:, None] + 1), np.zeros((size, size))


def summa(A, B, C, steps):
    """C += A B, in as many panels as there are steps."""
    n = A.shape[1]
    for step in steps:
        panel = slice(n * step // len(steps), n * (step + 1) // len(steps))
        A1 = np.align(A[:, panel], C, 0)               # a copy in every grid column
        B1 = np.align(B[panel], C, 1)                  # a copy in every grid row
        np.schedule(add_product, np.update(C), A1, B1)  # C += A1 B1, on what each process owns
    return C


def reference(A, B, C, steps):
    """The same with NumPy."""
    C += A @ B
    return C


def checks(C, size, steps):
    """A product with a vector is the product with one factor after the other."""
    A, B, _ = problem(size)
    x = np.random.default_rng(1).random(size)
    scale = np.linalg.norm(A) * np.linalg.norm(B) * np.linalg.norm(x) * size * 2.3e-16
    return {"||C x - A (B x)|| / (||A|| ||B|| ||x|| n eps)": (float(np.linalg.norm(C @ x - A @ (B @ x)) / scale), 4)}


def picture(C):
    """C, but for its diagonal, which is larger."""
    return np.clip(C, -0.5, 1)


PROGRAM = Program(problem, summa, checks, picture, size=1500, steps=4, unit="GFLOP/s", tolerance=1e-12,
                  work=lambda size, steps: 2 * size**3 / 1e9, colours="twilight", reference=reference)

if __name__ == "__main__":
    main(PROGRAM)
