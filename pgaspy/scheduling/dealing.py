"""Dealing out: consecutive rows of each process, each run of them to another one, which lays them behind each other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.scheduling.conversations import Link
from pgaspy.scheduling.routing import route

__all__ = ["deal_out"]


def deal_out(link: Link, rank: int, size: int, columns: Sequence[NDArray[Any]], bounds: NDArray[np.int64],
             arrived: Sequence[NDArray[Any]]) -> Generator[None, None, list[int]]:
    """Send each process its rows, and have those that come for this one behind each other, in the order of ranks.

    All processes take part, as steps of a conversation.

    Parameters
    ----------
    columns
        Of one length.
    bounds
        Shape (size + 1): rows bounds[r] <= i < bounds[r + 1] are for rank r.
    arrived
        As many arrays as there are columns, of the length of all that comes.

    Returns
    -------
    Where the rows of each rank begin among these, and where those of the last one end.
    """
    numbers = np.diff(bounds)
    peers = np.flatnonzero(numbers)
    records = np.stack([peers, np.full_like(peers, rank), numbers[peers]], axis=1)
    records, _ = yield from route(link, rank, size, records)
    edges = np.zeros(size + 1, np.int64)
    edges[records[:, 1] + 1] = records[:, 2]
    edges = edges.cumsum()
    for _, peer, n in records.tolist():
        start = int(edges[peer])
        for column, target in zip(columns, arrived, strict=True):
            if peer == rank:
                target[start:start + n] = column[bounds[rank]:bounds[rank + 1]]
            else:
                link.receive(target[start:start + n], peer)
    for peer in peers.tolist():
        for column in columns:
            if peer != rank:
                link.send(column[bounds[peer]:bounds[peer + 1]], peer)
    yield
    return edges.tolist()
