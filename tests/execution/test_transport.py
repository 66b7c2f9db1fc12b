"""Messages through MPI."""

from __future__ import annotations

import time

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution.transport import MpiTransport
from tests.together import collectively

pytestmark = pytest.mark.mpi

LONG, SHORT = 1 << 20, 1000


def test_a_message_is_not_taken_for_a_shorter_one_of_its_tag() -> None:
    """Of which Open MPI would write the rest behind the memory."""
    transport = MpiTransport(pg.COMM.Dup())
    following, previous = (pg.RANK + 1) % pg.SIZE, (pg.RANK - 1) % pg.SIZE
    sent, received = np.ones(LONG, np.uint8), np.zeros((2, LONG), np.uint8)
    requests = [transport.send(sent.ctypes.data, LONG, following, 7),
                transport.receive(received[0].ctypes.data, SHORT, previous, 7)]

    def complete(seconds: float) -> None:
        stop = time.monotonic() + seconds
        while requests and time.monotonic() < stop:
            for k in sorted(transport.completed(requests) or (), reverse=True):
                del requests[k]

    complete(0.1)
    collectively(not received.any())
    requests += [transport.send(sent.ctypes.data, SHORT, following, 7),
                 transport.receive(received[1].ctypes.data, LONG, previous, 7)]
    complete(30)
    collectively(not requests and received[0].sum() == SHORT and received[1].all())
