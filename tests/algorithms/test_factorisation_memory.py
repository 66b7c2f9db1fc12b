"""What factorisations hold on each process besides its part of the matrix: a few panels, however large the matrix."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.algorithms.cholesky import cholesky
from pgaspy.algorithms.lu import lu
from pgaspy.algorithms.qr import qr
from pgaspy.execution import engine
from pgaspy.linalg import layouts
from pgaspy.scheduling import memory
from tests.algorithms.test_factorisations import GRIDS, dealt
from tests.matrices import random_matrix
from tests.together import collectively

pytestmark = pytest.mark.mpi

N, BLOCK = 2304, 72
PANEL = N * BLOCK * 8
MAX_PANELS = 16
"""Half of the matrix."""


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    pg.sync()
    monkeypatch.setattr(memory, "_free", type(memory._free)())
    monkeypatch.setattr(memory, "_kept_bytes", 0)


def bytes_held(call: Callable[[], Any]) -> int:
    """The most that a call holds on any process, of what Python and NumPy allocate. Collective."""
    pg.sync()
    memory._free.clear()
    memory._kept_bytes = 0
    tracemalloc.start()
    try:
        result = call()
        pg.sync()
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del result
    return max(pg.COMM.allgather(held))


@pytest.mark.parametrize(("factor", "grid"), [
    (lu, GRIDS[0]), pytest.param(cholesky, GRIDS[-1], marks=pytest.mark.long),
    pytest.param(qr, GRIDS[0], marks=pytest.mark.long)])
def test_a_few_panels(factor: Callable[[pg.GlobalArray], Any], grid: tuple[int, int]) -> None:
    """With plans, and with what is kept free to be used again."""
    factor(dealt(100 * np.eye(100), 10, grid))  # libraries are loaded
    A = dealt(random_matrix((N, N)) + N * np.eye(N), BLOCK, grid)
    held = bytes_held(lambda: factor(A)) / PANEL
    collectively(held <= MAX_PANELS, f"{held:.1f} panels")


@pytest.mark.long
def test_solve_holds_a_copy_and_a_few_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy in square blocks is made part by part."""
    monkeypatch.setattr(layouts, "SMALLEST_BLOCK", BLOCK)
    monkeypatch.setattr(layouts, "BLOCK", BLOCK)
    monkeypatch.setattr(layouts, "MOVED_AT_ONCE_BYTES", PANEL)
    monkeypatch.setattr(engine, "WINDOW_BYTES", 2 * PANEL)
    A, b = pg.array(random_matrix((N, N))), pg.ones(N)
    pg.linalg.solve(A[:100, :100], b[:100])
    copy = layouts.factored_layout((N, N)).max_local_size * 8
    held = (bytes_held(lambda: pg.linalg.solve(A, b)) - copy) / PANEL
    collectively(held <= MAX_PANELS, f"{held:.1f} panels")
