"""A folder of files that are to be loaded as code: nobody but this user can have written them.

The folder is opened once, and everything in it is reached through that descriptor: whatever is done to its path later
on, it stays the folder that was checked.

A file may end in a seal, a checksum of what comes before it: who loads what is cut short or damaged is ended by a
signal. Libraries may have more bytes at their end than they speak of.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["PrivateFolder", "temporary"]

USED_SECONDS = 86400
"""How exactly the time is known when a file was last used, which is its time of modification."""

UNUSED_SECONDS = 30 * 86400
"""Files that were not used for so long are deleted."""

KEPT_BYTES = 256 << 20
"""The most that is kept of files; those not used for the longest time are deleted."""

LOCK = "lock"

SEAL = b"pgaspy sha256 "
"""What a seal begins with."""

SEAL_BYTES = len(SEAL) + hashlib.sha256().digest_size


class PrivateFolder:
    """A folder that this user owns and nobody else may write to; made with mode 0700 if there is none.

    Raises
    ------
    OSError
        If it cannot be made or opened.
    PermissionError
        If it is a symbolic link, or others own it or may write to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        if path.is_symlink():
            raise PermissionError("it is a symbolic link")
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        objection = _objection(os.fstat(self._fd))
        if objection:
            os.close(self._fd)
            raise PermissionError(objection)

    @property
    def pinned_path(self) -> str:
        """The path by which this process finds the folder, even if it was renamed or replaced."""
        return f"/proc/self/fd/{self._fd}"

    def use(self, name: str) -> bool:
        """Whether there is such a file, only this user can have written it, and its seal is right. It counts as used.
        """
        try:
            status = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode) or _objection(status):
            return False
        if time.time() - status.st_mtime > USED_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(name, dir_fd=self._fd, follow_symlinks=False)
        try:
            content = Path(self.pinned_path, name).read_bytes()
        except OSError:  # the disk is damaged; or another process has deleted it meanwhile
            return False
        return content[-SEAL_BYTES:] == _seal(content[:-SEAL_BYTES])

    def make(self, name: str, write: Callable[[str, str], object], *, is_sealed: bool = False) -> None:
        """Let `write` make a file, given the folder and a name for the time being; it then appears at once.

        It is on the disk before it has its name: after a power failure there is none, or a whole one.
        """
        unfinished = f"{name}.{secrets.token_hex(8)}"
        try:
            write(self.pinned_path, unfinished)
            os.chmod(unfinished, 0o600, dir_fd=self._fd)
            with Path(self.pinned_path, unfinished).open("rb+") as file:
                if is_sealed:
                    file.write(_seal(file.read()))
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished, dir_fd=self._fd)
            raise

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock of a key, a hexadecimal number: no other process does. It ends with the process that holds it.

        Where the file system knows no locks, nothing is held.
        """
        file, place = self._lock_file, int(key[:15], 16)  # a byte for each key, of a file that need not be so long
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    @functools.cached_property
    def _lock_file(self) -> int:
        return os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self._fd)

    def sweep(self) -> None:
        """Delete files that were not used for long, or that are too much."""
        files = []
        with os.scandir(self._fd) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process sweeps, too
                    files.append((entry.stat(follow_symlinks=False), entry.name))
        now, nbytes = time.time(), 0
        for status, name in sorted(files, key=lambda file: -file[0].st_mtime):
            nbytes += status.st_size
            if name != LOCK and (now - status.st_mtime > UNUSED_SECONDS or nbytes > KEPT_BYTES):
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=self._fd)


def _seal(content: bytes) -> bytes:
    return SEAL + hashlib.sha256(content).digest()


def _objection(status: os.stat_result) -> str:
    """Why a file or folder is not this user's alone, or nothing."""
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}, not to {os.geteuid()}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def temporary() -> PrivateFolder:
    """A folder for this process. What is loaded from it goes when the process ends, and so does the folder."""
    folder = PrivateFolder(Path(tempfile.mkdtemp(prefix="pgaspy-")))
    atexit.register(_remove, folder.path, os.getpid())
    return folder


def _remove(folder: Path, pid: int) -> None:
    if os.getpid() != pid:  # a fork of the process whose folder it is
        return
    with contextlib.suppress(OSError):
        for path in [*folder.glob("*.so"), folder / LOCK]:
            path.unlink(missing_ok=True)
        folder.rmdir()  # fails where a source was kept
