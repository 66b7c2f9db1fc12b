"""Faults: how one process of a job fails and where, and what has to be seen of it."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import dataclass
from pathlib import Path

from tests.jobs import ROOT, run

__all__ = ["ALL", "SAMPLE", "Fault", "problem"]

LIMIT_SECONDS = 5
"""A job has to be over so soon after the fault."""

WORDS = {
    "exception": ("ValueError: bad value", "in fail"),
    "sys.exit": ("exit(3)", "in fail"),
    "SystemExit": ("exit(4)", "in fail"),
    "SIGTERM": ("Terminated",),
    "SIGKILL": ("Killed",),
}
"""What has to be printed of each kind of fault."""

PLACES = ("import", "local section", "task", "flush", "end")


@dataclass(frozen=True)
class Fault:
    """What becomes of a process: of `rank` of n."""

    kind: str
    place: str
    n: int
    rank: int

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}, rank {self.rank} of {self.n}"


ALL = [Fault(kind, place, n, rank)
       for n in (2, 3, 4) for rank in range(n) for kind, place in itertools.product(WORDS, PLACES)]

SAMPLE = [
    Fault("exception", "import", 3, 1),
    Fault("exception", "task", 2, 0),
    Fault("sys.exit", "local section", 2, 1),
    Fault("SystemExit", "end", 2, 0),
    Fault("SIGTERM", "flush", 2, 0),
    Fault("SIGKILL", "local section", 3, 2),
]


def problem(fault: Fault, launcher: list[str], folder: Path) -> str:
    """Have it happen; what is wrong with how the job ended, or nothing.

    Parameters
    ----------
    launcher
        What starts Python on the processes of the job.
    folder
        An empty one, for the job to write to.
    """
    noted = folder / "noted"
    done = run([*launcher, "-P", str(ROOT / "tests" / "faulty.py"), fault.kind, fault.place, str(fault.rank),
                str(noted)], folder)  # -P: tests/random is not Python's module of that name
    if not noted.exists():
        return f"the fault did not happen\n{done.stdout}\n{done.stderr}"
    seconds = time.time() - float(noted.read_text())
    problems = [
        (seconds > LIMIT_SECONDS, f"the job ended after {seconds:.1f} s"),
        (done.returncode == 0, "the job ended with status 0"),
        (not _is_said(fault, done.stdout + done.stderr), "it is not said what happened"),
        (_others(fault, done.stderr), "another process speaks"),
    ]
    found = [sentence for is_one, sentence in problems if is_one]
    return "\n".join([*found, done.stdout, done.stderr]) if found else ""


def _others(fault: Fault, text: str) -> set[str]:
    """The processes that say what is not the fault: they may say that the job has failed, and where."""
    follows = rf"uncaught JobError\npgaspy.JobError: the job has failed: .*, on rank {fault.rank}, at "
    return set(re.findall(rf"rank (\d+) of \d+:(?! {follows})", text)) - {str(fault.rank)}


def _is_said(fault: Fault, text: str) -> bool:
    """Whether a text names the process, what happened to it and, if Python knows it, where."""
    if fault.kind.startswith("SIG"):
        is_named = _is_named_by_launcher(fault.rank, text)
    else:
        is_named = f"rank {fault.rank} of {fault.n}: " in text
    return is_named and all(words in text for words in WORDS[fault.kind])


def _is_named_by_launcher(rank: int, text: str) -> bool:
    """Whether a launcher says "process rank 1", "tasks 0-2,5" (all that it then kills), or "PID 7 RUNNING AT": MPICH
    names the PID of the process, or of one that it then killed.
    """
    if "RUNNING AT" in text:
        return True
    ranges = ",".join(re.findall(r"\b(?:rank|tasks?) (\d[\d,-]*)", text)).split(",")
    bounds = [one.partition("-") for one in ranges if one]
    return any(int(first) <= rank <= int(last or first) for first, _, last in bounds)
