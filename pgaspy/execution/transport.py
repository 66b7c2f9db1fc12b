"""The transport: what starts messages, and tells which are complete. The engine calls nothing else to communicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mpi4py import MPI

__all__ = ["MpiTransport", "Transport"]


class Transport(Protocol):
    """Messages between this process's memory and other processes.

    Messages of one tag, from one process to another, arrive in the order in which they were sent.

    Attributes
    ----------
    error
        What it raises.
    is_threadsafe
        Whether two threads may call it.
    """

    error: type[Exception]
    is_threadsafe: bool

    def send(self, address: int, nbytes: int, peer: int, tag: int) -> Any:
        """Start to send so many bytes of this process's memory; the request, which stands for the message."""

    def receive(self, address: int, nbytes: int, peer: int, tag: int) -> Any:
        """Start to receive so many bytes into this process's memory; the request."""

    def completed(self, requests: list[Any]) -> Sequence[int] | None:
        """Which of these requests are complete, by their places, without waiting; the caller drops these."""


N_TAGS = 1 << 20
"""So many tags are told apart; those of later messages begin again from 0."""


class MpiTransport:
    """MPI, on a communicator of pgaspy's own.

    A message has its length in its tag, as far as there is room: so one that is longer than what it would be taken for,
    where processes do not do the same, is not received. Open MPI writes the rest of it behind the memory.

    Attributes
    ----------
    n_tags, n_lengths
        How many tags are told apart, and how many lengths.
    """

    error: type[Exception] = MPI.Exception

    def __init__(self, communicator: MPI.Intracomm) -> None:
        self._send, self._receive = communicator.Isend, communicator.Irecv
        n = int(MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) or 32767) + 1
        self.n_tags = min(n, N_TAGS)
        self.n_lengths = max(n // self.n_tags - 1, 1)  # odd where it is not 1, as most lengths are multiples of 8
        self.is_threadsafe = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self.completed = MPI.Request.Testsome

    def send(self, address: int, nbytes: int, peer: int, tag: int) -> MPI.Request:
        """See `Transport`."""
        return self._send(_memory(address, nbytes), peer, tag % self.n_tags + nbytes % self.n_lengths * self.n_tags)

    def receive(self, address: int, nbytes: int, peer: int, tag: int) -> MPI.Request:
        """See `Transport`."""
        return self._receive(_memory(address, nbytes), peer, tag % self.n_tags + nbytes % self.n_lengths * self.n_tags)


_memory = MPI.buffer.fromaddress
