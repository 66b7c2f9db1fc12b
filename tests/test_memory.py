"""Memory that is used again, and that nobody else still uses."""

from __future__ import annotations

import pytest

from pgaspy import memory

LARGE = 1 << 20


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free", type(memory._free)())
    monkeypatch.setattr(memory, "_kept_bytes", 0)


def test_a_block_is_used_again() -> None:
    block = memory.allocate(LARGE)
    assert block.nbytes >= LARGE
    address = block.ctypes.data
    memory.give_back(block, 1)
    del block
    again = memory.allocate(LARGE - 100)
    assert again.ctypes.data == address
    assert memory._kept_bytes == 0


def test_smaller_requests_are_met_by_the_smallest_block_that_fits() -> None:
    blocks = [memory.allocate(factor * LARGE) for factor in (8, 5, 4)]
    nbytes = [block.nbytes for block in blocks]
    while blocks:
        block = blocks.pop()
        memory.give_back(block, 1)
    del block
    assert memory.allocate(4 * LARGE - 8 * memory.REUSED_FROM_BYTES).nbytes == nbytes[2]
    assert memory.allocate(4 * LARGE).nbytes == nbytes[1]
    assert memory.allocate(4 * LARGE).nbytes < nbytes[0]  # which is more than is asked for by too much
    assert memory._kept_bytes == nbytes[0]


def test_a_block_that_is_still_referred_to_is_not() -> None:
    block = memory.allocate(LARGE)
    part = block[10:20]
    memory.give_back(block, 1)
    assert memory._kept_bytes == 0
    del part
    memory.give_back(block, 1)
    assert memory._kept_bytes == block.nbytes


def test_small_blocks_are_left_to_the_c_library() -> None:
    block = memory.allocate(100)
    assert block.nbytes == 100
    memory.give_back(block, 1)
    assert memory._kept_bytes == 0


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "KEPT_BYTES", 3 * LARGE)
    blocks = [memory.allocate(LARGE + k * (LARGE // 4)) for k in range(4)]
    while blocks:
        block = blocks.pop()
        memory.give_back(block, 1)
    assert 0 < memory._kept_bytes <= 3 * LARGE
    assert memory._kept_bytes == sum(b.nbytes for found in memory._free.values() for b in found)
    huge = memory.allocate(4 * LARGE)
    memory.give_back(huge, 1)
    assert memory._kept_bytes <= 3 * LARGE


@pytest.mark.parametrize("nbytes", [1 << 16, (1 << 16) + 1, 100000, 1 << 20, (1 << 20) + 1, 10**9 + 7])
def test_size_classes(nbytes: int) -> None:
    size = memory._size_class(nbytes)
    assert nbytes <= size <= nbytes * 1.13
    assert memory._size_class(size) == size
