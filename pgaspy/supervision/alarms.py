"""How the processes of a job learn that one of them has failed, so that none waits for what will not come.

The process that fails tells those at distances of powers of two, which hand it on. Each looks for that while it waits,
and when it flushes. Then all answer, by a barrier that nobody waits in: a thread of each sees to it that a process that
does not answer in time, as it is in code of its own, is ended with all others.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any

from mpi4py import MPI

from pgaspy.host.helper_threads import HelperThread
from pgaspy.job.failures import JobError
from pgaspy.planning.trees import flood_targets

__all__ = ["Alarms"]

MAX_BYTES = 4096
"""Of what is said of a failure."""

TICK_SECONDS = 0.01


class Alarms:
    """Those of one process."""

    def __init__(self, comm: MPI.Intracomm, patience: float | None) -> None:
        """Collective. The others have so many seconds for an answer; any time, where that is None."""
        self._comm, self._answers = comm.Dup(), comm.Dup()
        self._patience = patience
        self._is_raised = self._has_ended = False
        self._heard: JobError | None = None
        self._said: list[Any] = []
        self._is_stopped = threading.Event()

    def heard(self) -> JobError | None:
        """What another process has said, which is handed on; from then on, each time. Does not wait."""
        status = MPI.Status()
        if self._is_raised or not self._comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            return self._heard
        text = bytearray(status.Get_count(MPI.BYTE))
        self._comm.Recv([text, MPI.BYTE], status.source, status.tag)
        self._heard = JobError(**json.loads(text))
        self.tell(self._heard)
        return self._heard

    def tell(self, error: JobError) -> None:
        """Tell the others of a failure, and see to it that they answer. Only the first one counts."""
        if self._is_raised:
            return
        self._is_raised = True
        limit = MAX_BYTES // 8
        text = json.dumps({"rank": error.rank, "line": error.line[:limit], "cause": error.cause[:limit]}).encode()
        for peer in flood_targets(self._comm.rank, self._comm.size):
            self._said.append((text, self._comm.Isend([text, MPI.BYTE], peer)))
        request = self._answers.Ibarrier()
        self._said.append(request)
        if self._patience is not None:
            with contextlib.suppress(RuntimeError, MemoryError):  # memory is short: this process's end is the job's
                HelperThread(self._watch, request, error)

    def _watch(self, request: MPI.Request, error: JobError) -> None:
        """End the job, if the others do not answer in time."""
        assert self._patience is not None
        may_test = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        stop = time.monotonic() + self._patience
        while time.monotonic() < stop:
            if (may_test and request.Test()) or self._is_stopped.wait(TICK_SECONDS):
                return
        who = "not all processes have answered" if may_test else "it is not known who has answered"
        self._abort(f"{error}\nAfter {self._patience:g} s {who}: the job is ended.\n")

    def stop(self) -> None:
        """Let the job go on without an answer of all: they begin anew."""
        self._is_stopped.set()

    def wait_for_others(self) -> None:
        """Where the job has failed, wait until all come to their end, or time is up: they may save what they have."""
        if not self._is_raised or self._has_ended or self._patience is None:
            return
        self._has_ended = True
        request = self._answers.Ibarrier()
        self._said.append(request)
        stop = time.monotonic() + self._patience
        while not request.Test() and time.monotonic() < stop:
            time.sleep(TICK_SECONDS)

    def end(self, error: BaseException) -> None:
        """End the job, when this process comes to its end, with a status that says that it has failed."""
        try:
            self.wait_for_others()
        finally:
            self._abort(f"{error}\n")

    def _abort(self, words: str) -> None:
        try:
            sys.stderr.write(f"rank {self._comm.rank} of {self._comm.size}: {words}")
            for stream in sys.stdout, sys.stderr:
                stream.flush()
            time.sleep(0.3)  # in which launchers pass it on
        finally:
            self._comm.Abort(1)
            os._exit(1)
