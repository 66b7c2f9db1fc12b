"""An error that several processes end with at once is printed once: they agree on who speaks, and for whom.

Each sends a digest of its text to the first process, which waits for a moment, and answers. Nobody waits longer than
that: processes that do not fail do not answer, and where the first one is among them, each speaks for itself.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from pgaspy.host.words import listed
from pgaspy.job import abandoned

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["COLLECTING_SECONDS", "WAITING_SECONDS", "spoken_for"]

COLLECTING_SECONDS = 0.15
"""How long the first process waits for others to fail with it; no longer than until all have."""

WAITING_SECONDS = 0.35
"""How long the others wait for its answer: it may have failed somewhat later."""

POLLING_SECONDS = 1e-3

DIGEST, ANSWER = 0, 1
"""The tags."""

DIGEST_BYTES, RANK_BYTES, ANSWER_BYTES = 16, 8, 2048


def spoken_for(comm: MPI.Intracomm, rank: int, text: str) -> str:
    """The ranks that this process prints a text for, in words; nothing if another process prints it.

    Parameters
    ----------
    comm
        A communicator that is used for nothing else, and once.
    rank
        What this process is called in what is printed.
    text
        Printed once, where processes have the same.
    """
    found = hashlib.blake2b(text.encode(errors="replace"), digest_size=DIGEST_BYTES).digest()
    found += rank.to_bytes(RANK_BYTES, "little")
    return _decided(comm, found) if comm.rank == 0 else _answered(comm, found, rank)


def _decided(comm: MPI.Intracomm, own: bytes) -> str:
    """Collect what the processes have that fail now, and tell them who speaks."""
    from mpi4py import MPI

    found, status = {0: own}, MPI.Status()
    stop = time.monotonic() + COLLECTING_SECONDS
    while len(found) < comm.size and time.monotonic() < stop:
        if comm.Iprobe(MPI.ANY_SOURCE, DIGEST, status):
            buffer = bytearray(DIGEST_BYTES + RANK_BYTES)
            comm.Recv(buffer, status.source, DIGEST)
            found[status.source] = bytes(buffer)
        else:
            time.sleep(POLLING_SECONDS)
    members = defaultdict(list)
    for source, said in sorted(found.items()):
        members[said[:DIGEST_BYTES]].append((source, int.from_bytes(said[DIGEST_BYTES:], "little")))
    words, answers = "", []
    for group in members.values():
        ranks = listed("rank", sorted(rank for _, rank in group))
        if len(ranks) > ANSWER_BYTES:
            ranks = f"{len(group)} ranks, {group[0][1]} the first of them,"
        for place, (source, _) in enumerate(group):
            said_by_it = ranks if place == 0 else ""
            if source == 0:
                words = said_by_it
            else:
                answers.append(comm.Isend(said_by_it.encode(), source, ANSWER))
    abandoned.keep(answers)
    stop = time.monotonic() + COLLECTING_SECONDS
    while not MPI.Request.Testall(answers) and time.monotonic() < stop:
        time.sleep(POLLING_SECONDS)
    return words


def _answered(comm: MPI.Intracomm, own: bytes, rank: int) -> str:
    """Tell the first process, and wait for its answer: it is received when it is there, as memory that it is to be
    received into later would have been given to others by then.
    """
    from mpi4py import MPI

    status = MPI.Status()
    abandoned.keep([comm.Isend(own, 0, DIGEST)])  # which the first process may never take
    stop = time.monotonic() + WAITING_SECONDS
    while time.monotonic() < stop:
        if comm.Iprobe(0, ANSWER, status):
            buffer = bytearray(status.Get_count(MPI.BYTE))
            comm.Recv(buffer, 0, ANSWER)
            return buffer.decode()
        time.sleep(POLLING_SECONDS)
    return listed("rank", [rank])
