"""NumPy's sorts in processes of their own, which use the instructions that NumPy is told when it is imported.

On some processors the widest vectors make its sort several times slower.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import numpy as np

from bench.processes import ROOT

__all__ = ["FUNCTIONS", "KEYS", "NARROW", "numpy_without"]

KEYS: dict[str, Callable[[int], np.ndarray]] = {
    "random": lambda n: np.random.default_rng(1).random(n),
    "equal": np.ones,
    "sorted": lambda n: np.arange(n) * 0.5,
    "reversed": lambda n: np.arange(n)[::-1] * 0.5,
}

FUNCTIONS: dict[str, Callable[[np.ndarray], object]] = {
    "sort": np.sort,
    "argsort": lambda x: np.argsort(x, kind="stable"),
    "unique": np.unique,
}

NARROW = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
"""The features without which vectors are narrower, in the names of all versions of NumPy."""


@contextmanager
def numpy_without(features: str, keys: np.ndarray) -> Iterator[Callable[[str], None]]:
    """What calls a function of these keys on one thread of a process in which NumPy does without some features."""
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": features}
    command = [sys.executable, "-W", "ignore", "-m", "bench.numpy_sorts", str(keys.size)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        to, answers = cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
        to.write(keys.tobytes())

        def call(function: str) -> None:
            to.write(f"{function}\n".encode())
            to.flush()
            answers.readline()
        yield call
        to.close()


def main() -> None:
    """Read the keys; then a function's name in each line, which is answered when it has been called."""
    stream = sys.stdin.buffer
    n = int(sys.argv[1])
    keys = np.frombuffer(stream.read(8 * n))
    for line in stream:
        FUNCTIONS[line.decode().strip()](keys)
        print(flush=True)


if __name__ == "__main__":
    main()
