"""What the tools that make two hosts of this machine have in common."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

UNAVAILABLE = 69
"""The exit status (sysexits.h) that means: not on this machine."""

PREFIX = "pgaspy-"
"""What is made for a run is called by this, the id of the run's process, and more."""

RUN = Path("/run")
"""Where the files of a run are."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def refuse(reason: str) -> NoReturn:
    """Say why there are no two hosts here, and end."""
    print(f"no two hosts on this machine: {reason}", file=sys.stderr)
    sys.exit(UNAVAILABLE)


def check_namespaces(*programs: str) -> None:
    """Refuse where namespaces cannot be made, or a program is missing."""
    if not sys.platform.startswith("linux"):
        refuse("namespaces are Linux's")
    if os.geteuid() != 0:
        refuse("only root can make namespaces")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        refuse(f"no {', '.join(missing)} (apt install iproute2 util-linux)")


def is_leftover(name: str) -> bool:
    """Whether something was made for a run that is over."""
    pid = name.removeprefix(PREFIX).partition("-")[0]
    return name.startswith(PREFIX) and pid.isdigit() and not Path("/proc", pid).exists()


def halves_of_cores() -> tuple[str, str]:
    """The cores of each of two hosts, as taskset has them: half of this process's, or the only one for both."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    first, second = (",".join(map(str, part)) for part in (cores[:half] or cores, cores[half:]))
    return first, second


def end_on_signals() -> None:
    """On a signal: end so that everything is taken down, and let no other signal interrupt that."""
    def end(number: int, frame: object) -> NoReturn:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in SIGNALS:
        signal.signal(number, end)
