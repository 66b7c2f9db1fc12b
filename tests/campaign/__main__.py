"""`python -m tests.campaign --minutes N -n RANKS`: random programs until the time is over; status 1 if any fails."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Any

from tests.campaign.jobs import ENVIRONMENT, HANG_SECONDS, Outcome, run_job
from tests.campaign.programs import Program
from tests.campaign.reducing import reduced
from tests.campaign.settings import Settings

PROGRAMS_PER_JOB = 200
PROGRAMS_PER_FAILING_JOB = 10
REDUCED_HANG_SECONDS = 10.0
INJECTED_HANG_SECONDS = 40.0


def main() -> int:
    """Run the campaign, or one seed of it."""
    options = _options()
    kind = "losing" if options.lose else "interrupts" if options.interrupts else "failing" if options.inject else "job"
    module = f"tests.campaign.{kind}"
    programs_per_job = PROGRAMS_PER_JOB
    if options.n > 1 and (options.inject or options.lose):
        programs_per_job = 1 if options.lose else PROGRAMS_PER_FAILING_JOB
    end = time.monotonic() + 60 * options.minutes
    counts = Counter(dict.fromkeys(("programs", "statements", "wrong", "error", "hang"), 0))
    seed = options.first
    while time.monotonic() < end and counts["programs"] < options.programs:
        n_seeds = min(programs_per_job, options.programs - counts["programs"])
        seeds = [options.seed] if options.seed is not None else range(seed, seed + n_seeds)
        outcome = run_job(options.n, [{"seed": s} for s in seeds], end - time.monotonic(),
                          options.lose or options.inject,
                          hang_seconds=HANG_SECONDS if kind == "job" else INJECTED_HANG_SECONDS, module=module,
                          environment=ENVIRONMENT if not options.lose else {})
        seed += max(outcome.n_programs, 1)
        counts["programs"] += outcome.n_programs
        counts["statements"] += outcome.n_statements
        counts.update(outcome.counts)
        if outcome.lost:
            name = "ms_to_the_end_of_one_away" if outcome.lost["away"] else "ms_to_the_end"
            counts[name] = max(counts[name], round(1000 * outcome.seconds))
        if outcome.kind:
            counts[outcome.kind] += 1
            n_failures = counts["wrong"] + counts["error"] + counts["hang"]
            is_reduced = module == "tests.campaign.job" and n_failures <= options.reduce
            _report(options, outcome, is_reduced)
        if options.seed is not None:
            break
    print(", ".join(f"{n:,} {what}" for what, n in counts.items()), flush=True)
    return int(any(counts[kind] for kind in ("wrong", "error", "hang")))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long it goes on")
    parser.add_argument("--programs", type=int, default=sys.maxsize, help="how many programs, at most")
    parser.add_argument("-n", type=int, default=1, help="on how many processes")
    parser.add_argument("--first", type=int, default=int(time.time()) % 10**6 * 1000, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one alone, and reduce it if it fails")
    parser.add_argument("--reduce", type=int, default=5, metavar="N", help="make the first N programs that fail short")
    parser.add_argument("--inject", help="inject failures of a kind, or any; see tests/campaign/injecting.py")
    parser.add_argument("--lose", help="lose one process of each job in a way, or any; see tests/campaign/losing.py")
    parser.add_argument("--interrupts", action="store_true", help="interrupts at random moments, on one process")
    options = parser.parse_args()
    if options.interrupts and options.n != 1:
        parser.error("--interrupts is for one process")
    if options.lose and options.n == 1:
        parser.error("--lose is for several processes")
    return options


def _report(options: argparse.Namespace, outcome: Outcome, is_reduced: bool) -> None:
    """Print a program that fails, as short as it can be made."""
    if not outcome.program:
        print(f"{outcome.kind}: {outcome.text}", flush=True)
        return
    program = _program(outcome.program)
    print(f"\n{outcome.kind}, seed {program.seed} on {options.n}, line {outcome.line}: {outcome.text}", flush=True)
    if is_reduced:
        program = _reduced(options, program, outcome)
    print(f"{program}\n", flush=True)


def _reduced(options: argparse.Namespace, program: Program, outcome: Outcome) -> Program:
    """The shortest program that fails in the same way, in jobs of its own."""
    def fails(lines: list[str], settings: Settings) -> bool:
        one: dict[str, Any] = {"seed": program.seed, "lines": lines, "settings": asdict(settings)}
        return run_job(options.n, [one], hang_seconds=REDUCED_HANG_SECONDS).kind == outcome.kind

    lines = list(program.lines)
    if outcome.kind == "wrong":
        lines = lines[: outcome.line + 1]
    if not fails(lines, program.settings):
        return program  # not on its own
    settings = program.settings
    for name, value in asdict(Settings()).items():
        simpler = Settings(**{**asdict(settings), name: value})
        if simpler != settings and fails(lines, simpler):
            settings = simpler
    return Program(program.seed, tuple(reduced(lines, lambda found: fails(found, settings))), settings)


def _program(told: dict[str, Any]) -> Program:
    settings = {name: tuple(x) if isinstance(x, list) else x for name, x in told["settings"].items()}
    return Program(told["seed"], tuple(told["lines"]), Settings(**settings))


if __name__ == "__main__":
    sys.exit(main())
