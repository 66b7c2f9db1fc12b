"""Order: sorts of 20 million numbers, against the better of NumPy's settings on one thread.

Usage: python -m bench.order [N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from statistics import median

import numpy as np

import pgaspy as pg
from bench.numpy_sorts import KEYS, NARROW, numpy_without
from bench.timing import Result, alone, in_turns, ratio, report

GOALS = {"sort": 1.2, "argsort": 2.5, "unique": 1.5}
MOST_OVER_RANDOM = 1.5
SETTINGS = {"NumPy": "", "NumPy, narrower vectors": NARROW}

OURS: dict[str, Callable[[pg.GlobalArray], object]] = {"sort": pg.sort, "argsort": pg.argsort, "unique": pg.unique}


def where() -> str:
    """Processes and threads, in words."""
    return f"{pg.SIZE} x {pg.THREADS}"


def against_numpy(function: str, keys: np.ndarray) -> Result:
    """A function of random keys, against the better of NumPy's settings."""
    A = pg.array(keys)
    with ExitStack() as stack:
        calls = [stack.enter_context(numpy_without(features, keys)) if pg.RANK == 0 else None
                 for features in SETTINGS.values()]
        ours, *theirs = in_turns(partial(OURS[function], A), *[alone(partial(call, function)) if call else alone(int)
                                                               for call in calls],
                                 repeats=3, before=pg.COMM.Barrier)
    rival, times = min(zip(SETTINGS, theirs, strict=True), key=lambda pair: median(pair[1]))
    return Result(f"{function} of random keys on {where()}", keys.size / median(ours) / 1e6, "M/s", rival,
                  keys.size / median(times) / 1e6, ratio(ours, times), GOALS[function])


def against_random(function: str, kind: str, n: int) -> Result:
    """A function of other keys, against the same of random ones."""
    A, B = (pg.array(KEYS[name](n)) for name in (kind, "random"))
    ours, randoms = in_turns(partial(OURS[function], A), partial(OURS[function], B), repeats=3, before=pg.COMM.Barrier)
    return Result(f"{function} of {kind} keys on {where()}", n / median(ours) / 1e6, "M/s", "random keys",
                  n / median(randoms) / 1e6, 1 / ratio(ours, randoms), MOST_OVER_RANDOM, at_most=True)


def main() -> None:
    """Measure."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    results = [against_numpy(function, KEYS["random"](n)) for function in GOALS]
    results += [against_random(function, kind, n) for function in ("sort", "argsort") for kind in KEYS
                if kind != "random"]
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
