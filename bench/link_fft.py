"""A transform of three dimensions on two hosts that a slow link joins: against the computing alone, and the link alone.

A runtime that transforms one part while another one travels takes little more than the longer of the two.

Usage: python -m bench.link_fft [--rate 1gbit] [--shape 192 128 128] [--repeats 5] [--rounds 3]
"""

from __future__ import annotations

import argparse
from statistics import median

from bench.link import NoLink, run_job
from bench.timing import Result, note, report

GOAL = 1.3


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="1gbit", help="of the link, each way")
    parser.add_argument("--shape", type=int, nargs=3, default=(192, 128, 128))
    parser.add_argument("--repeats", type=int, default=5, help="of a measurement in a job")
    parser.add_argument("--rounds", type=int, default=3, help="of jobs; the medians over them are reported")
    arguments = parser.parse_args()
    task = {"shape": arguments.shape, "repeats": arguments.repeats}
    try:
        rounds = [run_job("fft", arguments.rate, task) for _ in range(arguments.rounds)]
    except NoLink as reason:
        note(f"link_fft: {reason}")
        return
    results = []
    for how in "left", "restored":
        limits = [max(found["computing"], found[f"link {how}"]) for found in rounds]
        times = [found[f"fftn {how}"] for found in rounds]
        over = median(time / limit for time, limit in zip(times, limits, strict=True))
        name = f"fftn of {'x'.join(map(str, arguments.shape))} over {arguments.rate}, layout {how}"
        results.append(Result(name, median(times) * 1e3, "ms", "longer of computing and link", median(limits) * 1e3,
                              over, GOAL, at_most=True))
    report(results)


if __name__ == "__main__":
    main()
