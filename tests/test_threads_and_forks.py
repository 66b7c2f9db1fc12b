"""Where global arrays may be used: by one thread at a time, and by the processes of the job alone."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import pgaspy as pg


def test_a_fork_is_no_part_of_the_job() -> None:
    a = pg.ones(5) + 1
    read, write = os.pipe()
    child = os.fork()
    if not child:
        said = "nothing"
        try:
            a += 1
        except RuntimeError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert "is a fork of one that uses pgaspy" in os.read(read, 1000).decode()
    os.close(read)
    a += 1
    np.testing.assert_array_equal(a.gather(), np.full(5, 3.0))


@pytest.mark.parametrize("call", [pg.sync, lambda: pg.ones(3) + 1, lambda: pg.ones(3).local()])
def test_another_thread_while_one_executes(call: Any) -> None:
    said: list[str] = []

    def other() -> None:
        try:
            call()
        except RuntimeError as error:
            said.append(str(error))

    def task(local: Any) -> None:
        thread = threading.Thread(target=other, name="second")
        thread.start()
        thread.join()
        local += 1

    a = pg.zeros(5)
    pg.schedule(task, pg.update(a))
    np.testing.assert_array_equal(a.gather(), np.ones(5))
    assert len(said) == 1
    assert "the thread 'second'" in said[0]
