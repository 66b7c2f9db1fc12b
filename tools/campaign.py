"""Run the campaign with several Pythons, on several numbers of processes, up to some totals of each combination.

Usage: python tools/campaign.py TOTALS --pythons PATH,PATH... [-n N,N...] [--statements N] [--failures N] [--losses N]

Each part is a run of `python -m tests.campaign`. What came of it is a line of JSON in the file TOTALS: a campaign that
is stopped goes on where it was. Programs that fail are printed; the table has the totals of all that the file tells.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ARGUMENTS = {"statements": [], "failures": ["--inject=any"], "losses": ["--lose=any"]}
"""What is counted, and how it is asked for."""

OF_PROGRAM = {"statements": 30, "failures": 0.8, "losses": 0.8}
"""About how many a program counts for."""

WRONG = ("wrong", "error", "hang")


LARGEST = ("ms_to_the_end", "ms_to_the_end_of_one_away")
"""Of which the largest is kept: how long jobs lived on that had lost a process; one that was in code of its own."""


@dataclass(frozen=True)
class Merging:
    """What is run: on how many processes of which interpreter, and what is counted."""

    python: str
    n: int
    counted: str

    @property
    def n_programs(self) -> int:
        """Of a part: some minutes."""
        return 200 if self.counted == "statements" or self.n == 1 else 10


class Totals:
    """What was done, as the lines of a file tell, and what is under way."""

    def __init__(self, file: Path, targets: dict[Merging, int]) -> None:
        self._file, self._targets = file, targets
        self._lock = threading.Lock()
        self._counts: dict[Merging, Counter[str]] = defaultdict(Counter)
        self._under_way: Counter[Merging] = Counter()
        self._next_seed = 0
        for line in file.read_text().splitlines() if file.exists() else ():
            self._note(**json.loads(line))

    def _note(self, combination: dict[str, Any], first: int, counts: dict[str, int]) -> None:
        one = Merging(**combination)
        known = self._counts[one]
        known.update({what: n for what, n in counts.items() if what not in LARGEST})
        known |= Counter({what: n for what, n in counts.items() if what in LARGEST})
        self._next_seed = max(self._next_seed, first + one.n_programs)

    def take(self) -> tuple[Merging, int] | None:
        """What is to be run next, of what has come least far, and from which seed on."""
        with self._lock:
            part_done = {one: self._expected(one) / target for one, target in self._targets.items() if target}
            one = min(part_done, key=part_done.__getitem__, default=None)
            if one is None or part_done[one] >= 1:
                return None
            first, self._next_seed = self._next_seed, self._next_seed + one.n_programs
            self._under_way[one] += 1
            return one, first

    def _expected(self, one: Merging) -> float:
        """How many there will be when what is under way is done."""
        return self._counts[one][one.counted] + self._under_way[one] * one.n_programs * OF_PROGRAM[one.counted]

    def add(self, one: Merging, first: int, counts: dict[str, int]) -> None:
        """Note what came of a part."""
        with self._lock:
            told = {"combination": asdict(one), "first": first, "counts": counts}
            with self._file.open("a") as lines:
                lines.write(f"{json.dumps(told)}\n")
            self._note(**told)
            self._under_way[one] -= 1

    def __str__(self) -> str:
        columns = (*ARGUMENTS, *WRONG, *LARGEST)
        rows = [("python", "n", *columns)]
        for python, n in sorted({(one.python, one.n) for one in self._counts}):
            found = [counts for one, counts in self._counts.items() if (one.python, one.n) == (python, n)]
            rows.append((python, f"{n}", *_row(columns, found)))
        rows.append(("all", "", *_row(columns, [*self._counts.values()])))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows)

    @property
    def n_wrong(self) -> int:
        """How many programs have failed."""
        return sum(counts[kind] for counts in self._counts.values() for kind in WRONG)


def _row(columns: Sequence[str], counts: list[Counter[str]]) -> list[str]:
    return [f"{(max if name in LARGEST else sum)(one[name] for one in counts):,}" for name in columns]


def main() -> int:
    """Run what is missing; 1 if anything has failed, now or before."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("totals", type=Path, metavar="TOTALS", help="a file, which need not exist")
    parser.add_argument("--pythons", default=sys.executable, help="interpreters of virtual environments")
    parser.add_argument("-n", default="1,2,3,4,6", help="numbers of processes")
    parser.add_argument("--jobs", type=int, default=2, help="how many run side by side")
    for counted in ARGUMENTS:
        parser.add_argument(f"--{counted}", type=int, default=0, help="how many of each combination")
    options = parser.parse_args()
    totals = Totals(options.totals, {
        Merging(python, n, counted): getattr(options, counted) for counted in ARGUMENTS
        for python in options.pythons.split(",") for n in map(int, options.n.split(","))})
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in [pool.submit(_work, totals) for _ in range(options.jobs)]:
            done.result()
    print(totals)
    return int(totals.n_wrong > 0)


def _work(totals: Totals) -> None:
    """Run parts until there is nothing to be done, or one has counted nothing: it would be run for ever."""
    while (taken := totals.take()) is not None:
        counts = _counts(*taken)
        totals.add(*taken, counts)
        if not counts[taken[0].counted]:
            return


def _counts(one: Merging, first: int) -> dict[str, int]:
    """Run a part; what it counted. What it says of programs that fail is printed."""
    command = [one.python, "-m", "tests.campaign", "--minutes=60", f"-n={one.n}", f"--first={first}",
               f"--programs={one.n_programs}", *ARGUMENTS[one.counted]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    *failures, last = done.stdout.splitlines() or [""]
    if done.returncode:
        print(f"\n{' '.join(command)}", *failures, last, done.stderr, sep="\n", flush=True)
    counts = {what: int(n.replace(",", "")) for n, what in re.findall(r"(\d[\d,]*) (\w+)", last)}
    others = sum(n for what, n in counts.items() if what not in ("programs", "statements", *WRONG, *LARGEST))
    known = {what: counts[what] for what in (*WRONG, *LARGEST) if what in counts}
    if not counts:
        known["error"] = 1  # it ended before it could count
    return known | {one.counted: counts.get("statements", 0) if one.counted == "statements" else others}


if __name__ == "__main__":
    sys.exit(main())
