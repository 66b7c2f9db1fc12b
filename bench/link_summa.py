"""SUMMA on two hosts that a slow link joins: against its products alone, and the link alone.

Usage: python -m bench.link_summa [--rate 1gbit] [-n 6000] [--panels 128 256 512] [--repeats 3]
"""

from __future__ import annotations

import argparse
import os

from bench.link import NoLink, run_job
from bench.timing import Result, note, report

GOAL_PERCENT_WAITING = 5.0
DEFAULT_PANEL = 256


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="1gbit", help="of the link, each way")
    parser.add_argument("-n", type=int, default=6000, help="size of the matrices")
    parser.add_argument("--panels", type=int, nargs="+", default=[128, DEFAULT_PANEL, 512],
                        help="columns of A and rows of B that are replicated at a time")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    task = {"n": arguments.n, "panels": arguments.panels, "repeats": arguments.repeats}
    try:
        found = run_job("summa", arguments.rate, task, os.environ.get("PGASPY_EXECUTOR", ""))
    except NoLink as reason:
        note(f"link_summa: {reason}")
        return
    results = []
    for panel, times in found.items():
        name = f"SUMMA over {arguments.rate}, n = {arguments.n}, panel {panel}"
        results += [Result(name, times["summa"], "s", f"{rival} alone", times[rival], times["summa"] / times[rival],
                           at_most=True) for rival in ("products", "link")]
        if times["waiting"] is not None:
            results.append(Result(f"{name}: waiting", times["waiting"] * 100, "% of the time",
                                  goal=GOAL_PERCENT_WAITING if int(panel) == DEFAULT_PANEL else None))
    report(results)


if __name__ == "__main__":
    main()
