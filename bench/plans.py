"""What a plan costs, per process, on simulated grids of up to a million processes: it follows the local part alone."""

from __future__ import annotations

from statistics import median
from time import perf_counter

from bench.timing import Result, report
from pgaspy.distribution import Distribution
from pgaspy.layout import Layout
from pgaspy.planning import segments
from pgaspy.planning.transfers import plan_transfer
from pgaspy.planning.view import whole

BLOCK = 64
N_LOCAL_BLOCKS = 8
"""Per dimension, so that a section spans 64 local blocks."""


def grid_layout(n: int) -> Layout:
    """A matrix over an n x n grid, 8 x 8 blocks on each process."""
    extent = BLOCK * N_LOCAL_BLOCKS * n
    return Distribution(f"cyclic({BLOCK})", f"cyclic({BLOCK})", grid=(n, n)).bind((extent, extent), n * n)


def seconds_to_plan(n: int, repeats: int = 31) -> float:
    """The median time of planning `A[100:, :-3] = A[:-100, 3:]` for one process of an n x n grid, nothing cached."""
    base = whole(grid_layout(n))
    target = base.index((slice(100, None), slice(None, -3)))
    source = base.index((slice(None, -100), slice(3, None)))
    times = []
    for _ in range(repeats):
        segments.segments.cache_clear()
        segments.ranges_of_segments.cache_clear()
        plan_transfer.cache_clear()
        start = perf_counter()
        plan_transfer(target, source, n * n // 2 + n // 2)
        times.append(perf_counter() - start)
    return median(times)


def main() -> None:
    """Measure."""
    seconds = {n: seconds_to_plan(n) for n in (2, 8, 32, 128, 1024)}
    results = [Result(f"plan on {n} x {n} processes", t * 1e6, "us", goal=300.0) for n, t in seconds.items()]
    spread = max(seconds.values()) / min(seconds.values())
    results.append(Result("slowest over fastest plan, 2 x 2 to 1024 x 1024", spread, "", goal=1.5))
    report(results)


if __name__ == "__main__":
    main()
