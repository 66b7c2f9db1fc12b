"""The library's settings under which a program runs: each of its limits low or as it is, drawn for each program."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pgaspy as pg
from pgaspy import _calls, brought, immediate, statements
from pgaspy.alone import small
from pgaspy.execution import engine, recording
from pgaspy.kernels import bindings, jit
from pgaspy.planning import chains, interiors, result_layout, trees
from pgaspy.scheduling import collectives, elementwise, kernel_nodes, memory, messages, schedule, temporaries
from pgaspy.scheduling.at_once import ELEMENTS_PER_CALL, WORK_OF_PLANNING
from pgaspy.scheduling.backend import backend

__all__ = ["Settings", "drawn", "under"]

PATTERNS = (0xFF, 0x7F, 0x3C)


@dataclass(frozen=True)
class Settings:
    """What is set; by default, nothing.

    Attributes
    ----------
    max_operations
        For the process of each rank, in turn.
    compiles
        Whether kernels are compiled when they are first used; None as usual; never, if False.
    poison
        With which byte memory that is used again is filled before.
    at_once
        For the process of each rank, in turn: how much work of one call is done at once before that is recorded.
    worth
        The same of how much recording gains before calls are recorded; None as usual.
    by_numpy
        Whether NumPy computes what is small: on one process, or of what comes to all.
    """

    overlaps: bool = True
    max_operations: tuple[int, ...] = (256,)
    compiles: bool | None = None
    pools: bool = False
    chains: bool = False
    window: bool = False
    short_messages: bool = False
    pieces: bool = False
    gathers: bool = False
    balances: bool = False
    poison: int | None = None
    at_once: tuple[int, ...] = (WORK_OF_PLANNING,)
    worth: tuple[int | None, ...] = (None,)
    by_numpy: bool = True


def drawn(seed: int) -> Settings:
    """Random settings, the same on every process."""
    rng = random.Random(f"settings {seed}")
    return Settings(
        overlaps=rng.random() < 0.8,
        max_operations=tuple(rng.choice((1, 2, 3, 5, 10, 100, 256, 256, 1000)) for _ in range(4)),
        compiles=rng.choices((None, True, False), (80, 2, 18))[0],
        poison=rng.choice(PATTERNS) if rng.random() < 0.6 else None,
        **{name: rng.random() < 0.4 for name in ("pools", "chains", "window", "short_messages", "pieces", "gathers",
                                                      "balances")},
        at_once=tuple(rng.choice((0, 2, 4, 32)) * ELEMENTS_PER_CALL for _ in range(4)),
        worth=tuple(rng.choice((None, -1, 20)) for _ in range(4)), by_numpy=rng.random() < 0.5)


@contextlib.contextmanager
def under(settings: Settings) -> Iterator[None]:
    """Have the settings; what was planned under others is forgotten."""
    patched: list[tuple[Any, str, Any]] = []

    def patch(module: Any, name: str, value: Any) -> None:
        patched.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    queue = recording.queue
    before, max_before, jit_before = queue.overlaps, queue.max_operations, os.environ.get("PGASPY_JIT")
    pg.sync()
    if settings.pools:
        patch(memory, "REUSED_FROM_BYTES", 1)
    if settings.poison is not None:
        patch(backend, "allocate", _poisoned(memory.allocate, settings.poison))
    if settings.chains:
        patch(chains, "MIN_BYTES", 0)
        patch(temporaries, "MIN_BYTES", 0)
        patch(schedule, "LASTING_BYTES", 0)
    if settings.window:
        patch(engine, "WINDOW_BYTES", 64)
    if settings.short_messages:
        patch(messages, "MAX_MESSAGE_BYTES", 56)
        patch(trees, "PACKET_BYTES", 40)
    if settings.gathers:
        patch(collectives, "MAX_TREES", 1)
        patch(collectives, "MAX_SENDING", 0)
        patch(collectives, "MAX_DOUBLED_BYTES", 100)
    if settings.balances:
        patch(result_layout, "WORTH_MESSAGES", 0)
    if settings.pieces:
        patch(elementwise, "CUT_FROM_ELEMENTS", 4)
        patch(elementwise, "CUT_FROM_ACCESSES", 8)
        patch(interiors, "MIN_ELEMENTS", 4)
        patch(interiors, "SHARE", 2)
        patch(kernel_nodes, "PART_ELEMENTS", bindings.LEAF)
    if settings.compiles is not None:
        os.environ["PGASPY_JIT"] = "1" if settings.compiles else "0"
        patch(jit, "_compiler", None)
        patch(kernel_nodes, "COMPILED_FROM_WORK", 0)
        patch(kernel_nodes, "WAITS", True)
    _forget()
    patch(queue.tiers, "work_of_planning", settings.at_once[pg.RANK % len(settings.at_once)])
    worth = settings.worth[pg.RANK % len(settings.worth)]
    if worth is not None:
        patch(queue.tiers, "worth_recording", worth)
        patch(queue.tiers, "gainful_elements", 1)
    patch(type(queue), "computes_at_once", True)
    if not settings.by_numpy:
        patch(small, "is_on", False)
        patch(brought, "MAX_ELEMENTS", -1)
    queue.overlaps = settings.overlaps
    queue.max_operations = settings.max_operations[pg.RANK % len(settings.max_operations)]
    try:
        yield
    finally:
        try:
            pg.sync()  # under these, as other processes may have executed the same operations before
        finally:
            for module, name, value in reversed(patched):
                setattr(module, name, value)
            if settings.compiles is not None:
                os.environ.pop("PGASPY_JIT")
                if jit_before is not None:
                    os.environ["PGASPY_JIT"] = jit_before
            queue = recording.queue  # which may have begun anew
            queue.max_operations = max_before
            queue.overlaps = before
            _forget()


def _forget() -> None:
    recording.forget()
    schedule.may_be_postponed.cache_clear()
    kernel_nodes._loop.cache_clear()
    for cache in statements.known_calls, statements._statements, immediate._known:  # in which layouts are
        cache.forget()
    _calls.forget(pg.RANK)


def _poisoned(allocate: Any, pattern: int) -> Any:
    def poisoned(nbytes: int) -> Any:
        block = allocate(nbytes)
        block[...] = pattern
        return block
    return poisoned
