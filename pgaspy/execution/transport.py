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


class MpiTransport:
    """MPI, on a communicator of pgaspy's own.

    Attributes
    ----------
    n_tags
        How many tags are used; those of later messages begin again from 0.
    """

    error: type[Exception] = MPI.Exception

    def __init__(self, communicator: MPI.Intracomm) -> None:
        self._send, self._receive = communicator.Isend, communicator.Irecv
        self.n_tags = int(MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) or 32767) + 1
        self.is_threadsafe = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self.completed = MPI.Request.Testsome

    def send(self, address: int, nbytes: int, peer: int, tag: int) -> MPI.Request:
        """See `Transport`."""
        return self._send(_memory(address, nbytes), peer, tag % self.n_tags)

    def receive(self, address: int, nbytes: int, peer: int, tag: int) -> MPI.Request:
        """See `Transport`."""
        return self._receive(_memory(address, nbytes), peer, tag % self.n_tags)


_memory = MPI.buffer.fromaddress
