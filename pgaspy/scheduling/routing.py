"""Routing: small records on their way to the processes that they are for, known to their senders alone.

In each of ceil(log2(P)) rounds a process hands records on to the one that is 1, 2, 4, ... ranks after it: those whose
way has that step in it. After Bruck et al., *Efficient algorithms for all-to-all communications in multiport
message-passing systems* (1997), and the crystal router of Fox et al., *Solving problems on concurrent processors*
(1988). So no process has anything to do with each other process, unless it has records for it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from pgaspy.job.failures import Mismatch
from pgaspy.scheduling.conversations import Link

__all__ = ["route"]

Records = NDArray[np.int64]
Largest = tuple[tuple[int, ...], ...]

SHORT = 64
"""So many integers travel in the first message of a round, the header with them; what is left, in a second one."""


def route(link: Link, rank: int, size: int, records: Records,
          largest: Sequence[Sequence[int]] = ()) -> Generator[None, None, tuple[Records, Largest]]:
    """Bring records to the processes that they are for. All processes take part, as steps of a conversation.

    Parameters
    ----------
    records
        Shape (any, m): rows of integers, of which the first is the rank that the row is for.
    largest
        Some sequences of integers, as many and as long on all processes.

    Returns
    -------
    records, largest
        Those that are for this process, in no certain order; and of each of the sequences `largest` that of all
        processes which is the largest, as sequences compare.

    Raises
    ------
    Mismatch
        If another process takes part for another operation.
    """
    found, width = tuple(map(tuple, largest)), records.shape[1]
    n_header = 2 + sum(map(len, found))
    step = 1
    while step < size:
        is_handed_on = (records[:, 0] - rank) % size & step != 0
        message, rest = _written(link.stamp, found, records[is_handed_on])
        to, source = (rank + step) % size, (rank - step) % size
        arriving = np.empty(SHORT, np.int64)
        link.send(message, to)
        link.receive(arriving, source)
        yield
        header = iter(arriving[:n_header].tolist())
        stamp, n = next(header), next(header)
        if stamp != link.stamp:
            raise Mismatch(f"a message from rank {source} belongs to another operation")
        found = tuple([max(own, tuple(islice(header, len(own)))) for own in found])
        came = np.empty(n * width, np.int64)
        n_short = min(came.size, SHORT - n_header)
        came[:n_short] = arriving[n_header:][:n_short]
        if rest.size:
            link.send(rest, to)
        if came.size > n_short:
            link.receive(came[n_short:], source)
        yield
        records = np.concatenate([records[~is_handed_on], came.reshape(n, width)])
        step *= 2
    return records, found


def _written(stamp: int, largest: Largest, records: Records) -> tuple[Records, Records]:
    """The first message of a round, and what there is no room for in it."""
    header = np.array([stamp, len(records), *chain.from_iterable(largest)], np.int64)
    message = np.zeros(SHORT, np.int64)
    room = SHORT - header.size
    flat = records.reshape(-1)
    message[:header.size] = header
    message[header.size:header.size + flat[:room].size] = flat[:room]
    return message, flat[room:]
