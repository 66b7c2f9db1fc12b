"""Conversations: nodes whose messages are known only while they run, as they follow from what arrays hold.

A conversation is a generator, which is read from top to bottom: it starts messages, and yields where it goes on only
when all of these are complete. Other nodes are computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from pgaspy.scheduling.nodes import Memories, Node
from pgaspy.scheduling.remembered import Remembered

__all__ = ["Conversation", "Link", "Refusal", "Steps"]


class Link(Protocol):
    """What a conversation starts its messages with. It keeps what is sent and received until that is complete.

    Messages from one process to another arrive in the order in which they are started.

    Attributes
    ----------
    stamp
        The program's digest up to this operation, which processes have in common that have recorded the same.
    number
        The operation's, the same on all processes.
    remembered
        What this process has worked out in conversations.
    """

    stamp: int
    number: int
    remembered: Remembered

    def send(self, array: NDArray[Any], peer: int) -> None:
        """Start to send the elements of an array, contiguous, which stays as it is until the next `yield` is over."""

    def receive(self, array: NDArray[Any], peer: int) -> None:
        """Start to receive the elements of an array, contiguous."""


Steps = Callable[[Memories, Link], Generator[None]]
"""What a process says and does in a conversation; it yields to wait for the messages that it has started."""


class Refusal(Exception):
    """Raised in a conversation, by all processes, where values are wrong: what the program gets when it waits next.

    Operations that may raise it are recorded as `recording.record_refusable` does.

    Attributes
    ----------
    error
        That.
    poisons
        Whether it poisons what the conversation writes; else this stays as it was.
    """

    def __init__(self, error: Exception, poisons: bool) -> None:
        super().__init__(error, poisons)
        self.error, self.poisons = error, poisons


class Conversation(Node):
    """What a process does in a conversation, in which all processes take part, at tags of its own.

    Its recipe `is_called`: what it reads is computed also where nobody can see its results, as its messages follow from
    that.

    A process that is alone calls it as a function. It may be called again after an interrupt then, so that it reads
    nothing that it writes; else `n_counted` of its calls are counted.

    `carries` are, for each round after it is known who has what for whom, the memories whose elements travel.
    """

    def __init__(self, steps: Steps, name: str, n_procs: int, tag: int = 0, n_counted: int = 0,
                 carries: Sequence[Sequence[int]] = ()) -> None:
        self.steps, self.name, self.tag, self.n_counted, self.carries = steps, name, tag, n_counted, carries
        self.talks = n_procs > 1

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        for _ in self.steps(memories, _Nobody()):
            pass


class _Nobody:
    """The link of a process that is alone."""

    stamp = number = 0

    def __init__(self) -> None:
        self.remembered = Remembered()

    def send(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        raise AssertionError("there is nobody to send to")

    def receive(self, array: NDArray[Any], peer: int) -> None:
        """See `Link`."""
        raise AssertionError("there is nobody to receive from")
