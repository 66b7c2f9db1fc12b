"""Hand-written C programs to compare with; compiled here, when they are first used."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

__all__ = ["stream_add"]


def stream_add(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> Callable[[], None]:
    """`z = x + y` in C with OpenMP, on as many threads as pgaspy uses."""
    import pgaspy as pg

    library = _compiled("stream")
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, y, z)]
    n, n_threads = ctypes.c_long(len(x)), ctypes.c_int(pg.THREADS)
    return lambda: library.add(*pointers, n, n_threads)


def _compiled(name: str) -> ctypes.CDLL:
    source = Path(__file__).with_name(f"{name}.c")
    folder = tempfile.mkdtemp(prefix="pgaspy-bench-")
    target = Path(folder) / f"{name}.so"
    subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", str(source), "-o", str(target)],
                   check=True)
    return ctypes.CDLL(str(target))
