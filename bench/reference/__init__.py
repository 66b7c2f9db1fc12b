"""Hand-written C programs to compare with; compiled here, when they are first used."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Missing", "heat", "stream_add"]


class Missing(RuntimeError):
    """What a program needs is not on this machine."""


def stream_add(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> Callable[[], None]:
    """`z = x + y` in C with OpenMP, on as many threads as pgaspy uses."""
    import pgaspy as pg

    library = _compiled("stream", _compiler("gcc"))
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, y, z)]
    n, n_threads = ctypes.c_long(len(x)), ctypes.c_int(pg.THREADS)
    return lambda: library.add(*pointers, n, n_threads)


def heat(initial: NDArray[np.float64], n_sweeps: int) -> Callable[[], float]:
    """Sweeps of the heat program in C with MPI and OpenMP, on pgaspy's processes and threads. Collective.

    Parameters
    ----------
    initial
        The field, of two dimensions, the same on every process, which takes its rows from it.

    Returns
    -------
    callable
        Collective; makes the next sweeps and returns the residual of the last.

    Raises
    ------
    Missing
        If there is no compiler for the MPI that mpi4py uses.
    """
    import pgaspy as pg

    library = _compiled("heat", _compiler("mpicc"))
    _check_mpi(library)
    library.heat.restype = ctypes.c_double
    n_inside, n = initial.shape[0] - 2, initial.shape[1]
    start, stop = (rank * n_inside // pg.SIZE for rank in (pg.RANK, pg.RANK + 1))
    n_rows = stop - start
    if n_rows < 2:
        raise ValueError(f"{n_inside} rows for {pg.SIZE} processes: give at least 2 for each")
    full, work = initial[start:stop + 2].copy(), np.empty((n_rows, n - 2))
    sizes = [ctypes.c_long(k) for k in (n_rows, n, n_sweeps)]
    n_threads, handle = ctypes.c_int(pg.THREADS), ctypes.c_int(pg.COMM.py2f())
    return lambda: library.heat(ctypes.c_void_p(full.ctypes.data), ctypes.c_void_p(work.ctypes.data), *sizes,
                                n_threads, handle)


def _compiler(name: str) -> str:
    """A compiler of this environment's `bin`, or of the PATH."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise Missing(f"no {name}")
    return found


def _compiled(name: str, compiler: str) -> ctypes.CDLL:
    source = Path(__file__).with_name(f"{name}.c")
    with tempfile.TemporaryDirectory(prefix="pgaspy-bench-") as folder:  # a library that is loaded needs no file
        target = Path(folder) / f"{name}.so"
        command = [compiler, "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", str(source), "-o", str(target),
                   "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{compiler} does not compile {name}.c: {done.stderr}")
        return ctypes.CDLL(str(target))


def _check_mpi(library: ctypes.CDLL) -> None:
    """Raise Missing if the library was linked with another MPI than mpi4py uses: handles would mean nothing to it."""
    from mpi4py import MPI

    version, length = ctypes.create_string_buffer(2**16), ctypes.c_int()
    library.MPI_Get_library_version(version, ctypes.byref(length))
    if version.value.decode().strip() != MPI.Get_library_version().strip("\0 \n"):
        raise Missing(f"mpicc compiles for {version.value.decode().splitlines()[0]}, but mpi4py uses "
                      f"{MPI.Get_library_version().splitlines()[0]}")
