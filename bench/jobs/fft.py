"""Times a transform of three dimensions on two hosts, and its computing and its movement by themselves."""

from __future__ import annotations

import json
import sys
from functools import partial
from statistics import median
from typing import Any

import pgaspy as pg
from bench.jobs import hand_back
from bench.timing import in_turns
from pgaspy.fft.pencils import copied_in_place, in_place_pass


def main() -> None:
    """Measure, all in turns."""
    task: dict[str, Any] = json.loads(sys.argv[1])
    shape = tuple(task["shape"])
    A = pg.zeros(shape, complex, layout=pg.Distribution("block", "*", "*"))
    A[...] = pg.random.default_rng(1).random(shape)
    T = pg.fft.fftn(A, transposed_out=True)
    back = pg.empty_like(A)

    def compute() -> None:
        in_place_pass(copied_in_place(A, A.dtype), (1, 2), "fftn")
        in_place_pass(T, (0,), "fftn")
        T[...] *= 1 / shape[0]

    def move(returns: bool) -> None:
        T[...] = A
        if returns:
            back[...] = T

    calls = [compute, *[call for is_left in (True, False) for call in (
        partial(move, not is_left), partial(pg.fft.fftn, A, transposed_out=is_left))]]
    times = in_turns(*calls, repeats=task["repeats"], before=pg.COMM.Barrier)
    hand_back(dict(zip(("computing", "link left", "fftn left", "link restored", "fftn restored"),
                       map(median, times), strict=True)))


if __name__ == "__main__":
    main()
