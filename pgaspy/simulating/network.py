"""The network: what messages take, by LogGP, and when which message arrives. Pure.

A message of n bytes keeps the sender's processor busy for o, leaves it at G seconds per byte, arrives L seconds later,
and keeps the receiver's processor busy for o. Between the starts of two messages of a process lie g seconds. Messages
that come to a process at once share what it receives, and those of a sender leave one after the other. An idle link may
let some bytes through at once: a token bucket, as those that shape the links of virtual machines.

A. Alexandrov, M. Ionescu, K. Schauser and C. Scheiman, *LogGP: Incorporating Long Messages into the LogP Model*, SPAA
1995. What a processor takes for each byte: the O of T. Hoefler, T. Schneider and A. Lumsdaine, *LogGOPSim: Simulating
Large-Scale Applications in the LogGOPS Model*, LSAP 2010.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Arrival", "Network", "Wires"]


@dataclass(frozen=True)
class Network:
    """LogGP's parameters, in seconds.

    Attributes
    ----------
    latency, overhead, gap
        L, o and g.
    per_byte
        G: of each byte but the first.
    copying_per_byte
        O: what each byte takes of the processor at either end.
    burst
        Bytes that pass at once where none has for as long as they would take.
    """

    latency: float
    overhead: float = 0.0
    gap: float = 0.0
    per_byte: float = 0.0
    copying_per_byte: float = 0.0
    burst: float = 0.0

    def busy(self, nbytes: int) -> float:
        """What a message takes of the processor that sends or receives it."""
        return self.overhead + nbytes * self.copying_per_byte

    def passed(self, free: float, first: float, nbytes: int) -> float:
        """When a link is free again, by which a message goes whose first byte comes at some time.

        J. Turner, *New Directions in Communications*, 1986, as a time that lags behind by what may pass at once.
        """
        return max(free, first - self.burst * self.per_byte) + max(nbytes - 1, 0) * self.per_byte


class Arrival(NamedTuple):
    """The first byte of a message.

    Attributes
    ----------
    first
        When it arrives.
    sender, sent
        Who has sent it, and when.
    """

    first: float
    sender: int
    sent: float


_Channel = tuple[int, int, int]
"""A sender, how many ranks further the receiver is (modulo all), and a tag."""


class Wires:
    """All messages that were sent, and those that are waited for."""

    def __init__(self) -> None:
        self._sent: dict[_Channel, list[Arrival]] = defaultdict(list)
        self._awaited: dict[_Channel, list[tuple[int, Callable[[Arrival], None]]]] = defaultdict(list)

    def send(self, channel: _Channel, arrival: Arrival) -> None:
        """Have a message arrive where it is waited for, now or later."""
        sent = self._sent[channel]
        sent.append(arrival)
        if channel not in self._awaited:
            return
        left = []
        for place, take in self._awaited.pop(channel):
            if place < len(sent):
                take(sent[place])
            else:
                left.append((place, take))
        if left:
            self._awaited[channel] = left

    def receive(self, channel: _Channel, place: int, take: Callable[[Arrival], None]) -> None:
        """Take the message of a channel that is the first, or at another place, when it is sent."""
        sent = self._sent.get(channel, ())
        if place < len(sent):
            take(sent[place])
        else:
            self._awaited[channel].append((place, take))
