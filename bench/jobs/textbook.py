"""Times one program of `bench.programs` in a fresh job, and the same text on NumPy, and compares what they give."""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench.jobs import hand_back, seconds_alone, seconds_and_waiting
from bench.programs import OF_SHORT_STATEMENTS, OF_SLICES

REPEATS = 3
"""Of NumPy."""


def main(name: str, n: int, n_steps: int | None = None) -> None:
    """Measure a program of size n; of slices, so many steps."""
    program = {**OF_SLICES, **OF_SHORT_STATEMENTS}[name]
    steps = [] if n_steps is None else [n_steps]
    results: dict[Any, Any] = {}

    def run(xp: Any, arrays: list[Any]) -> None:
        results[xp] = program.run(xp, *arrays, *steps)

    arrays = [pg.array(operand) for operand in program.operands(n)]
    before = pg.stats()
    seconds = seconds_and_waiting(run, pg, arrays)[0]
    done = pg.stats() - before
    numpys = [seconds_alone(run, np, program.operands(n)) for _ in range(REPEATS)]
    found = results[pg].gather(root=0)
    if pg.RANK == 0:
        np.testing.assert_allclose(found, results[np], rtol=1e-9, atol=1e-12, err_msg=name)
    hand_back({"seconds": seconds, "numpy": median(numpys), "planning": done.seconds_planning})


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
