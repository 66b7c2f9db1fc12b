"""Memory that is used again, and that nobody else still uses."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest

from pgaspy.scheduling import memory

LARGE = 1 << 20


class Owner:
    """What a block of memory belongs to."""

    def __init__(self, nbytes: int) -> None:
        self.block = memory.allocate(nbytes)
        self.back = memory.come_back(self, self.block)
        self.other: Any = None


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free", type(memory._free)())
    monkeypatch.setattr(memory, "_kept_bytes", 0)
    monkeypatch.setattr(memory, "_returned", tuple(deque(maxlen=queue.maxlen) for queue in memory._returned))


def test_a_block_is_used_again() -> None:
    owner = Owner(LARGE)
    assert owner.block.nbytes >= LARGE
    address = owner.block.ctypes.data
    del owner
    again = memory.allocate(LARGE - 100)
    assert again.ctypes.data == address
    assert memory._kept_bytes == 0


def test_a_block_is_not_used_again_before_its_owner_is_gone() -> None:
    owner = Owner(LARGE)
    assert memory.allocate(LARGE).ctypes.data != owner.block.ctypes.data


def test_an_owner_in_a_cycle_gives_its_block_back_or_to_the_system() -> None:
    owner = Owner(LARGE)
    owner.other = owner
    del owner
    gc.collect()
    memory.allocate(LARGE)
    assert memory._kept_bytes == sum(n * len(blocks) for n, blocks in memory._free.items())


def test_smaller_requests_are_met_by_the_smallest_block_that_fits() -> None:
    owners = [Owner(factor * LARGE) for factor in (8, 5, 4)]
    nbytes = [owner.block.nbytes for owner in owners]
    del owners
    assert memory.allocate(4 * LARGE - 8 * memory.REUSED_FROM_BYTES).nbytes == nbytes[2]
    assert memory.allocate(4 * LARGE).nbytes == nbytes[1]
    assert memory.allocate(4 * LARGE).nbytes < nbytes[0]  # which is more than is asked for by too much
    assert memory._kept_bytes == nbytes[0]


def test_a_list_of_blocks_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an interrupt may come before it is deleted."""
    for nbytes in LARGE // 2, LARGE, 5 * LARGE // 4:
        memory._free[nbytes] = []
    assert memory.allocate(LARGE).nbytes == LARGE
    owner = Owner(LARGE)
    del owner
    monkeypatch.setattr(memory, "KEPT_BYTES", 0)
    memory.allocate(LARGE)
    assert not memory._free


def test_small_blocks_are_left_to_the_c_library() -> None:
    owner = Owner(100)
    assert owner.block.nbytes == 100
    assert owner.back is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "KEPT_BYTES", 64 * LARGE)
    for _ in range(3):
        owners = [Owner(LARGE + k * (LARGE // 8)) for k in range(60)]
        del owners
    held = sum(back.block.nbytes for queue in memory._returned for back in queue)
    assert 0 < held <= 2 * 64 * LARGE
    memory.allocate(LARGE)
    assert 0 < memory._kept_bytes <= 64 * LARGE
    assert memory._kept_bytes == sum(n * len(blocks) for n, blocks in memory._free.items())
    assert Owner(40 * LARGE).back is None  # two such blocks would be more than is kept


@pytest.mark.parametrize("nbytes", [1 << 16, (1 << 16) + 1, 100000, 1 << 20, (1 << 20) + 1, 10**9 + 7])
def test_size_classes(nbytes: int) -> None:
    size = memory._size_class(nbytes)
    assert nbytes <= size <= nbytes * 1.13
    assert memory._size_class(size) == size
