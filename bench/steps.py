"""How many steps of Python's interpreter an iteration takes: the same on any machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pgaspy as pg
from bench.heat import heat
from bench.programs import OF_SLICES
from bench.timing import Result, report
from pgaspy.kernels import jit

N, REPEATS = 10, 12
"""Iterations that are counted, and how often; the least count stands, as waiting for another process takes steps."""

N_POINTS = 32
"""Of lattice Boltzmann in each dimension."""


def n_steps(function: Callable[[], Any]) -> int:
    """The instructions that are interpreted in a call on rank 0, by pgaspy and by the program. Collective.

    The other processes are not counted, and so the faster: rank 0 hardly waits for them.
    """
    n = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal n
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        n += event == "opcode"
        return count

    pg.sync()
    pg.COMM.Barrier()
    if pg.RANK == 0:
        sys.settrace(count)
    try:
        function()
        pg.sync()
    finally:
        sys.settrace(None)
    return n


def main() -> None:
    """Count."""
    full, work = pg.random.default_rng(1).random((64, 64)), pg.empty((62, 62))
    a: Any = pg.ones(16)
    b = pg.ones(16)
    fluid = OF_SLICES["lattice Boltzmann"]
    populations = pg.stack([pg.array(field) for field in fluid.operands(N_POINTS)[0]])

    def sweeps() -> None:
        heat(full, work, N)

    def chain() -> None:
        nonlocal a
        for _ in range(N):
            a = a + b

    def synced() -> None:
        nonlocal a
        for _ in range(N):
            a = a + b
            pg.sync()

    def flow() -> None:
        fluid.run(pg, populations, N)

    results = []
    for name, program in (("a sweep of heat", sweeps), ("a = a + b", chain), ("a = a + b, then a sync", synced),
                          ("a step of lattice Boltzmann in three dimensions", flow)):
        for _ in range(5):  # then all is planned and compiled
            program()
            jit.wait()
        found = min(n_steps(program) for _ in range(REPEATS)) / N
        results.append(Result(f"{name}, {pg.SIZE} process(es), Python {sys.version_info.major}."
                              f"{sys.version_info.minor}", found, "steps"))
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
