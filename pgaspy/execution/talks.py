"""Talks: conversations under way, each with the messages that it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from pgaspy.execution.runs import Run
from pgaspy.kernels import bindings
from pgaspy.planning.trees import packets_of
from pgaspy.scheduling.conversations import Conversation
from pgaspy.scheduling.messages import MAX_MESSAGE_BYTES
from pgaspy.scheduling.nodes import Communication, Receive, Send
from pgaspy.scheduling.remembered import Remembered

__all__ = ["Talk"]

Start = Callable[[Run, int, Communication, int, int], None]
"""Starts a message of a run's node: with its address, and its bytes."""


class Talk:
    """What a process says and hears in one conversation: see `Link`.

    Attributes
    ----------
    n_under_way
        The messages that it waits for.
    """

    def __init__(self, start: Start, run: Run, number: int, node: Conversation, remembered: Remembered) -> None:
        self._start, self._run, self._number = start, run, number
        self._position, self._tag = node.position, node.tag
        self.stamp, self.number = run.stamps.get(node.position, 0), run.numbers[node.position]
        self.remembered = remembered
        self.n_under_way = 0
        self._kept: list[NDArray[Any]] = []
        self._steps = node.steps(run.memories, self)

    def send(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        self._begin(Send, array, peer)

    def receive(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        self._begin(Receive, array, peer)

    def goes_on(self) -> bool:
        """Say and do what comes next, as far as it needs nothing that is under way; whether there is more to come."""
        self._kept.clear()
        while not self.n_under_way:
            try:
                next(self._steps)
            except StopIteration:
                return False
        return True

    def _begin(self, kind: type[Communication], array: NDArray[Any], peer: int) -> None:
        assert array.flags.c_contiguous
        self._kept.append(array)
        address = bindings.address(array)
        for start, stop in packets_of(array.nbytes, 2, MAX_MESSAGE_BYTES):
            message = kind(-1, start, stop, peer, self._tag)
            message.position, message.nbytes_ahead, message.is_said = self._position, 0, True
            self.n_under_way += 1
            self._start(self._run, self._number, message, address + start, stop - start)
