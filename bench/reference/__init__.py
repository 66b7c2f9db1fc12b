"""Hand-written C programs to compare with; compiled here, when they are first used."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Missing", "heat", "scalapack", "stream_add"]


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


def scalapack(folder: Path) -> Path | None:
    """Compile the program that runs ScaLAPACK into a folder, on top of SciPy's own BLAS and LAPACK.

    Debian's ScaLAPACK would use Debian's BLAS: the reference implementation, or an older OpenBLAS.

    Returns
    -------
    Path or None
        The program, for Debian's `mpirun`; None without Debian's ScaLAPACK, or if SciPy has no OpenBLAS of its own.

    Raises
    ------
    Missing
        If it is there, and yet the program cannot be compiled.
    """
    compiler, blas, jump = shutil.which("gcc"), _openblas_of_scipy(), JUMPS.get(platform.machine())
    if compiler is None or blas is None or jump is None:
        return None
    library = _output([compiler, "-print-file-name=libscalapack-openmpi.so"]).strip()
    if not Path(library).is_absolute():
        return None
    # the program's symbols come before those of all libraries: here dgemm_ is defined as a jump to scipy_dgemm_, ...
    wanted, offered = (set(_output(["nm", "-D", which, path]).split())
                       for which, path in (("--undefined-only", library), ("--defined-only", blas)))
    forwards, program = folder / "forwards.s", folder / "scalapack"
    forwards.write_text("".join(f".globl {name}\n.type {name}, %function\n{name}: {jump} scipy_{name}\n"
                                for name in sorted(wanted) if f"scipy_{name}" in offered)
                        + '.section .note.GNU-stack, "", %progbits\n')
    _output([compiler, "-O3", "-march=native", str(Path(__file__).with_name("scalapack.c")), str(forwards),
             "-o", str(program), library, blas, f"-Wl,-rpath,{Path(blas).parent}", "-lm"])
    return program


JUMPS = {"x86_64": "jmp", "aarch64": "b"}
"""How the assembler calls a jump, by what the machine is called."""


def _openblas_of_scipy() -> str | None:
    """The path of the OpenBLAS in SciPy's wheel, all of whose names begin with `scipy_`."""
    import scipy.linalg  # noqa: F401  (loads it)
    import threadpoolctl

    paths = [library["filepath"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    return next((path for path in paths if hasattr(ctypes.CDLL(path), "scipy_dgemm_")), None)


def _output(command: list[str]) -> str:
    """What a program prints, or Missing."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} fails: {done.stderr}")
    return done.stdout


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
