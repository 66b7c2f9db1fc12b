"""The heat program on two hosts that a slow link joins: against the computing alone, and the link alone.

The fields have so many rows that the exchange of edge rows by itself takes 0.5, 1 and 2 times as long as the computing
by itself. A runtime that hides the exchange takes as long as the longer of the two, the in-order executor their sum. It
does not wait, but for the process that takes longer to compute, where the hosts are not equally fast. A program that
reads the residual in every sweep exchanges it in between, which nothing can hide: that is added to both.

Usage: python -m bench.link_heat [--rate 200mbit] [--columns 24000] [--sweeps 10] [--repeats 3]
    [--rounds 3]
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from bench.link import NoLink, run_job
from bench.timing import Result, note, report

RATIOS = (0.5, 1.0, 2.0)
"""The time of the link alone over that of the computing alone."""

EXECUTORS = ("", "inorder")

GOAL = 1.15
GOAL_PERCENT_WAITING = 5.0
"""Where computing takes longer than the link."""


def main() -> None:
    """Measure, the executors and the limits in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="200mbit", help="of the link, each way")
    parser.add_argument("--columns", type=int, default=24000, help="of the field: 8 bytes of each message")
    parser.add_argument("--sweeps", type=int, default=10, help="of one measurement")
    parser.add_argument("--repeats", type=int, default=3, help="of a measurement in a job")
    parser.add_argument("--rounds", type=int, default=3, help="of jobs; the medians over them are reported")
    arguments = parser.parse_args()
    task = {"columns": arguments.columns, "sweeps": arguments.sweeps, "repeats": arguments.repeats}
    try:
        rows = run_job("heat", arguments.rate, {**task, "together": False, "link_over_computing": RATIOS})
        rounds = [{(executor, together): run_job("heat", arguments.rate, {**task, "together": together, "rows": rows},
                                                 executor) for together in (False, True) for executor in EXECUTORS}
                  for _ in range(arguments.rounds)]
    except NoLink as reason:
        note(f"link_heat: {reason}")
        return
    report([result for i, n_rows in enumerate(rows) for reading in ("every sweep", "at the end")
            for result in compared(rounds, i, reading, f"heat over {arguments.rate}, {n_rows} rows each, "
                                   f"link {RATIOS[i]:g} x computing, residual read {reading}")])


def compared(rounds: list[dict[tuple[str, bool], Any]], i: int, reading: str, name: str) -> list[Result]:
    """The results of one field and one program."""
    results = []
    for executor in EXECUTORS:
        times, limits = [], []
        for jobs in rounds:
            alone = jobs[executor, False]
            computing, link = alone["heat"][i][reading][0], alone["link"]
            residual = alone["residual"] if reading == "every sweep" else 0.0
            limits.append((computing + link if executor else max(computing, link)) + residual)
            times.append(jobs[executor, True]["heat"][i][reading][0])
        over = median(time / limit for time, limit in zip(times, limits, strict=True))
        rival = "computing + link" if executor else "longer of computing and link"
        results.append(Result(name + (", in order" if executor else ""), median(times) * 1e3, "ms", rival,
                              median(limits) * 1e3, over, None if executor else GOAL, at_most=True))
    shares = [jobs["", True]["heat"][i][reading][1] for jobs in rounds]
    if None not in shares:
        least, most = (100 * median(share) for share in zip(*shares, strict=True))
        results.append(Result(f"{name}: waiting of the slower process", least, "% of the time",
                              goal=GOAL_PERCENT_WAITING if RATIOS[i] < 1 else None))
        results.append(Result(f"{name}: waiting of the faster process", most, "% of the time"))
    return results


if __name__ == "__main__":
    main()
