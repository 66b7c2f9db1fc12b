"""The system's C compiler, which makes shared libraries from generated source at run time. Environment:

`CC`
    the compiler, instead of the one that Python was built with, `cc` or `gcc`.
`PGASPY_MARCH`
    the machine to compile for instead of the one at hand. To get the bits of the static kernels from maths functions,
    it has to be what those were built with.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from pgaspy.host import environment
from pgaspy.kernels import codegen

__all__ = ["Compiler", "CompilerError", "Terminated", "find"]

FLAGS = ("-O3", "-mprefer-vector-width=512", "-fopenmp-simd", "-fno-tree-pre", "-fno-thread-jumps",
         "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-Wl,-z,defs",
         "-pipe")
"""As in `_build_kernels`, but a loop knows no threads, and nothing may be missing. What is known on some paths only is
followed on none: of selections one behind the other, as in `minimum(maximum(x, 0), 1)`, that makes branches, and no
vectors.
"""

SECONDS = 120
"""The longest that a compilation may take."""

FOLDER_ERRORS = errno.ENOSPC, errno.EDQUOT, errno.EROFS
"""Errors that the compiler reports of the folder it writes to."""


class CompilerError(Exception):
    """The source does not compile; the message is the compiler's."""


class Terminated(Exception):
    """The process ends."""


class Compiler:
    """A C compiler, as the words of a command."""

    def __init__(self, command: list[str]) -> None:
        self._name = shlex.join(command)
        self._command = [*command, *FLAGS, "-march=" + environment.value("PGASPY_MARCH"),
                         f"-I{codegen.HEADERS}"]
        self._version_command = [*command, "--version"]
        self._libraries = ["-lmvec", "-lm"] if _has_libmvec() else ["-lm"]
        self._process: subprocess.Popen[str] | None = None
        self._is_terminated = False

    def __str__(self) -> str:
        return self._name

    @functools.cached_property
    def identity(self) -> str:
        """All that decides, besides the source, what code comes out."""
        try:
            version = subprocess.run(self._version_command, capture_output=True, text=True, errors="replace",
                                     timeout=SECONDS, start_new_session=True).stdout
        except (OSError, subprocess.TimeoutExpired):
            version = ""
        headers = (path.read_text() for path in sorted(codegen.HEADERS.glob("_omp_*.h")))
        return "\0".join([*self._command, *self._libraries, version, *_cpu(), *headers])

    def compile(self, source: str, folder: str, name: str) -> None:
        """Write the shared library of this source into a folder, under this name.

        Raises
        ------
        CompilerError
            If it does not compile.
        Terminated
            After `terminate`.
        OSError
            If the folder is full or cannot be written to.
        """
        if self._is_terminated:
            raise Terminated
        try:
            status, words = self._run([*self._command, "-x", "c", "-", "-o", name, *self._libraries], source, folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompilerError(str(error)) from error
        if status == 0:
            return
        if self._is_terminated:
            raise Terminated
        for code in FOLDER_ERRORS:
            if os.strerror(code) in words:
                raise OSError(code, os.strerror(code))
        raise CompilerError(words or f"exit status {status}")

    def terminate(self) -> None:
        """End a compilation that another thread has under way; there is none after it."""
        self._is_terminated = True
        process = self._process
        if process is not None and process.returncode is None:
            _end(process, signal.SIGTERM)

    def _run(self, command: Sequence[str], source: str, folder: str) -> tuple[int, str]:
        """The exit status, and what is said. Ctrl-C does not reach the command, which has a session of its own."""
        with subprocess.Popen(
                command, cwd=folder, env=os.environ | {"TMPDIR": ".", "LC_ALL": "C"}, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                start_new_session=True) as process:
            self._process = process
            try:
                said, complaints = process.communicate(source, SECONDS)
            except BaseException:
                _end(process, signal.SIGKILL)
                raise
            finally:
                self._process = None
        return process.returncode, (complaints or said).strip()


def _end(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal to a process and to what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def find() -> Compiler | None:
    """The compiler to use, or None where there is none."""
    asked = os.environ.get("CC")
    for words in [asked] if asked else [sysconfig.get_config_var("CC"), "cc", "gcc"]:
        command = shlex.split(words or "")
        path = shutil.which(command[0]) if command else None
        if path is not None:
            return Compiler([path, *command[1:]])
    return None


def _has_libmvec() -> bool:
    """Whether `_omp_math.h` announces the functions of libmvec."""
    name, version = platform.libc_ver()
    return (platform.machine() == "x86_64" and name == "glibc"
            and tuple(int(number) for number in version.split(".")[:2]) >= (2, 35))


def _cpu() -> Iterator[str]:
    """What `-march=native` goes by: the kind of the first CPU and its features."""
    yield platform.machine()
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return
    for line in first.splitlines():
        if line.startswith(("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")):
            yield line
