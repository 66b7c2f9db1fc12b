"""Running other programs so that they end in good order, with all that they set up taken down again."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["ROOT", "run"]

ROOT = Path(__file__).parent.parent

SECONDS_TO_CLEAN_UP = 30


def run(command: list[str], environment: Mapping[str, str] | None = None,
        timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, but what it started is ended by SIGTERM and waited for, also when this program is ended.

    Raises
    ------
    subprocess.TimeoutExpired
        If it takes longer than `timeout` seconds.
    """
    with _exit_on_sigterm(), subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True) as started:
        try:
            out, err = started.communicate(timeout=timeout)
        except BaseException:
            started.terminate()
            try:
                started.communicate(timeout=SECONDS_TO_CLEAN_UP)
            except subprocess.TimeoutExpired:
                started.kill()
            raise
    return subprocess.CompletedProcess(command, started.returncode, out, err)


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
