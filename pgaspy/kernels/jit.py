"""Programs compiled at run time: the address of each one's loop, kept in memory and on disk. Environment:

`PGASPY_JIT=0`
    nothing is compiled; the static kernels do the work.
`PGASPY_CACHE`
    the folder in which compiled loops are kept, instead of `$XDG_CACHE_HOME/pgaspy` or `~/.cache/pgaspy`.
`PGASPY_LIBM=1`
    compiled loops call libm's maths functions on one element at a time, which are mostly within 1 ULP of the exact
    result, instead of libmvec's, which are within 4. Whatever has maths functions is then compiled.

What is requested is compiled beside the program, one loop after the other. Whatever goes wrong here, the program goes
on with the static kernels: a notice on rank 0 says what it was, once.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cffi import FFI

from pgaspy.host import environment, private_folder
from pgaspy.host.call_sites import warn
from pgaspy.host.helper_threads import HelperThread
from pgaspy.host.private_folder import PrivateFolder
from pgaspy.kernels import codegen, compiler
from pgaspy.kernels.background import Background
from pgaspy.kernels.compiler import Compiler, CompilerError
from pgaspy.kernels.program import Program

__all__ = ["CompilationNotice", "Counts", "Request", "RunTimeCompiler", "compiled", "counts", "request", "stop",
           "wait", "wants_libm"]

ENDING_SECONDS = 10
"""The longest that the end of the process waits for the end of a compiler."""


class CompilationNotice(UserWarning):
    """Programs run on the static kernels, or compiled loops are not kept, for the reason given."""


@dataclass
class Counts:
    """How loops were come by, and how long this process compiled them, or waited for one that did."""

    n_compiled: int = 0
    n_disk_hits: int = 0
    n_memory_hits: int = 0
    n_failed: int = 0
    seconds: float = 0.0


counts = Counts()


may_notify = True
"""Whether this process warns: what is wrong is mostly wrong on all, and the job lets one of them say so."""


def wants_libm() -> bool:
    """Whether maths functions are to be libm's own."""
    return environment.value("PGASPY_LIBM") != "0"


class Request:
    """A loop that is got beside the program.

    Attributes
    ----------
    is_done
        Whether `take` tells what came of it.
    """

    def __init__(self, get: Callable[[], int | None], tell: Callable[[], None]) -> None:
        self._get, self._tell = get, tell
        self._address: int | None = None
        self._error: Exception | None = None
        self.is_done = False

    def run(self) -> None:
        """Get the loop."""
        try:
            self._address = self._get()
        except Exception as error:
            self._error = error
        self.is_done = True

    def take(self) -> int | None:
        """The loop's address, as `compiled` returns it; warns, or raises, of what went wrong."""
        self._tell()
        if self._error is not None:
            raise self._error
        return self._address


class RunTimeCompiler:
    """Compiles programs, as the environment says when it is made."""

    def __init__(self) -> None:
        self._background = Background()
        self._notices: deque[str] = deque()
        self._pid = os.getpid()
        self._is_over = False
        self._is_on = environment.value("PGASPY_JIT") != "0"
        self._libm = wants_libm()
        self._addresses: dict[tuple[Program, frozenset[int]], int | None] = {}
        self._libraries: list[Any] = []  # kept, since a library goes with its object
        self._compiler: Compiler | None = None
        self._folder: PrivateFolder | None = None
        self._folders = [_cache_folder, private_folder.temporary]  # what makes the one in use, and the next
        self._has_compiled = self._has_failed = False
        self._lock = threading.Lock()

    def compiled(self, program: Program, scalars: Collection[int] = ()) -> int | None:
        """As the function of this name."""
        try:
            return self._compiled(program, frozenset(scalars))
        finally:
            self._tell()

    def request(self, program: Program, scalars: Collection[int] = ()) -> Request:
        """As the function of this name."""
        found = Request(functools.partial(self._compiled, program, frozenset(scalars)), self._tell)
        if not self._is_over:
            self._background.submit(found.run)
        return found

    def wait(self) -> None:
        """As the function of this name."""
        self._background.join()

    def stop(self) -> None:
        """As the function of this name."""
        if self._is_over or os.getpid() != self._pid:  # a fork has no part in it
            return
        self._is_over = True
        self._background.cancel()
        if self._compiler is not None:
            self._compiler.terminate()
        self._background.join(ENDING_SECONDS)
        self._compiler = None

    def _tell(self) -> None:
        """Warn of what has gone wrong, in the thread of the program."""
        while self._notices:
            warn(self._notices.popleft(), CompilationNotice)

    def _notify(self, message: str) -> None:
        if may_notify:
            self._notices.append(message)

    def _compiled(self, program: Program, scalars: frozenset[int]) -> int | None:
        key = program, scalars
        if key in self._addresses:
            counts.n_memory_hits += 1
            return self._addresses[key]
        with self._lock:
            if key in self._addresses or not self._is_on:
                return self._addresses.get(key)
            start = time.perf_counter()
            try:
                self._addresses[key] = self._address(codegen.source(*key, libm=self._libm))
            finally:
                counts.seconds += time.perf_counter() - start
            return self._addresses[key]

    def _address(self, source: str) -> int | None:
        """The address of the loop, from the first folder that can be used."""
        if self._compiler is None:
            self._compiler = compiler.find()
            if self._compiler is None:
                self._is_on = False
                asked = os.environ.get("CC")
                self._notify(
                    f"there is no C compiler {f'CC={asked}' if asked else '(CC, cc or gcc)'}, so that array operations "
                    "are not compiled into one loop: install one, or set PGASPY_JIT=0 to do without")
                return None
        while self._folders:
            try:
                if self._folder is None:
                    self._folder = self._folders[0]()
                    atexit.register(self.stop)  # which comes before what the folder has registered
                return self._address_in(self._folder, self._compiler, source)
            except OSError as error:
                self._leave_folder(error)
        return None

    def _leave_folder(self, error: OSError) -> None:
        self._folder = None
        del self._folders[0]
        if self._folders:
            self._notify(f"compiled array operations are not kept in {_cache_path()}: {error}. Each process compiles "
                         "its own, in a temporary folder; set PGASPY_CACHE to a folder that is yours alone")
        else:
            self._is_on = False
            self._notify(f"array operations cannot be compiled in a temporary folder, either: {error}. Set TMPDIR or "
                         "PGASPY_CACHE to a folder that is yours alone, or PGASPY_JIT=0 to do without")

    def _address_in(self, folder: PrivateFolder, cc: Compiler, source: str) -> int | None:
        """The address of the loop, whose library is in the folder or is made there; None if it does not compile."""
        key = hashlib.sha256(f"{cc.identity}\0{source}".encode()).hexdigest()
        library = f"{key}.so"
        address = self._from_disk(folder, library)
        if address is not None:
            return address
        with folder.lock(key):  # one process compiles, the others wait
            address = self._from_disk(folder, library)
            if address is not None:
                return address
            try:
                folder.make(library, lambda where, name: cc.compile(source, where, name), is_sealed=True)
            except CompilerError as error:
                words = str(error)
            else:
                counts.n_compiled += 1
                if not self._has_compiled:
                    self._has_compiled = True
                    folder.sweep()
                return self._load(folder, library)
        folder.make(f"{key}.c", lambda where, name: Path(where, name).write_text(source))
        counts.n_failed += 1
        if not self._has_failed:
            self._has_failed = True
            self._notify(f"array operations could not be compiled into one loop, which is in {folder.path / key}.c; "
                         f"there are no notices of further ones. {cc} says:\n{words}")
        return None

    def _from_disk(self, folder: PrivateFolder, library: str) -> int | None:
        if not folder.use(library):
            return None
        try:
            address = self._load(folder, library)
        except OSError:  # whole, and yet not for this system: it is made anew
            return None
        counts.n_disk_hits += 1
        return address

    def _load(self, folder: PrivateFolder, library: str) -> int:
        loaded = self._ffi.dlopen(f"{folder.pinned_path}/{library}", self._ffi.RTLD_NOW)
        self._libraries.append(loaded)
        return int(self._ffi.cast("intptr_t", self._ffi.addressof(loaded, codegen.NAME)))

    @functools.cached_property
    def _ffi(self) -> FFI:
        with contextlib.suppress(RuntimeError, MemoryError):  # no thread is left
            HelperThread(FFI).join()  # it imports a parser, of which an interrupt would leave a half for good
        ffi = FFI()
        ffi.cdef(f"void {codegen.NAME}(int64_t n, char *const p[], const int64_t s[]);")
        return ffi


_compiler: RunTimeCompiler | None = None


def _the_compiler() -> RunTimeCompiler:
    global _compiler
    if _compiler is None:
        _compiler = RunTimeCompiler()
    return _compiler


def request(program: Program, scalars: Collection[int] = ()) -> Request:
    """Have the loop got that `compiled` returns, beside the program."""
    return _the_compiler().request(program, scalars)


def wait() -> None:
    """Wait until all that is requested is there."""
    if _compiler is not None:
        _compiler.wait()


def stop() -> None:
    """Drop what is requested and is not there, and what is requested later: the process ends."""
    if _compiler is not None:
        _compiler.stop()


def compiled(program: Program, scalars: Collection[int] = ()) -> int | None:
    """The address of the program's loop, `void (int64_t n, char *const p[], const int64_t s[])`.

    The first call with a program finds it on disk or compiles it.

    Parameters
    ----------
    program
        The operands are at the addresses `p`, with the strides `s` in bytes: one that is ignored, the inputs and the
        outputs.
    scalars
        The inputs that are one element each in every row, which makes for a faster loop.

    Returns
    -------
    int or None
        None if programs are not compiled at run time, or this one could not be.
    """
    return _the_compiler().compiled(program, scalars)


def _cache_path() -> Path:
    own = environment.value("PGASPY_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "pgaspy")


def _cache_folder() -> PrivateFolder:
    try:
        path = _cache_path().expanduser()
    except RuntimeError as error:  # this user has no home
        raise FileNotFoundError(str(error)) from error
    return PrivateFolder(path.absolute())
