"""One job of the campaign: `python -m tests.campaign.job FILE`, on any number of processes.

The file says which programs are run, as a list of {"seed": ...} or {"seed": ..., "lines": [...], "settings": {...}},
and for how many seconds. Rank 0 prints a line of JSON at the beginning of each, and of the first that is wrong, after
which the job ends: nothing is as it was.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

import pgaspy as pg
from pgaspy.execution import engine
from tests.campaign.programs import Program, written
from tests.campaign.running import run_here
from tests.campaign.settings import Settings

__all__ = ["MARK", "described", "main", "program_of", "say"]

BATCH = 24
"""So many programs are compared before the processes tell each other what was wrong."""

MARK = "@campaign "
"""What lines of the job begin with."""


def main(file: str) -> None:
    """Run the programs that a file names."""
    order = json.loads(Path(file).read_text())
    end = time.monotonic() + order["seconds"]
    gc.freeze()  # what is imported need not be visited by each program's collection
    engine.SPIN_SECONDS = 0.0  # as jobs share the cores
    with tempfile.TemporaryDirectory() as own:
        folder = Path(pg.COMM.bcast(own))
        (folder / f"writing{pg.RANK}").mkdir()
        for start in range(0, len(order["programs"]), BATCH):
            if pg.COMM.bcast(time.monotonic() > end):
                break
            failure = _failure_of(_programs(order["programs"][start:start + BATCH], folder), folder)
            if failure is not None:
                say(event="failure", **failure)
                break
        pg.COMM.Barrier()


def _programs(batch: list[dict[str, Any]], folder: Path) -> list[Program]:
    """Those of some seeds: each process writes some of them, with what NumPy gives for them."""
    own = [_program(one, folder / f"writing{pg.RANK}") for one in batch[pg.RANK::pg.SIZE]]
    if pg.SIZE == 1:
        return own
    of_ranks = pg.COMM.allgather(own)
    return [of_ranks[k % pg.SIZE][k // pg.SIZE] for k in range(len(batch))]


def _failure_of(programs: list[Program], folder: Path) -> dict[str, Any] | None:
    """What is to be said of the first program in which something is wrong, on any process. Collective."""
    own = None
    for number, program in enumerate(programs):
        say(event="begin", **described(program))
        failure = run_here(program, folder)
        if failure is not None and own is None:
            own = number, {"program": described(program), **vars(failure)}
    found = [one for one in pg.COMM.allgather(own) if one is not None]
    return min(found, key=itemgetter(0))[1] if found else None


def described(program: Program) -> dict[str, Any]:
    """A program in terms of JSON."""
    return {"seed": program.seed, "lines": program.lines, "settings": vars(program.settings),
            "n_statements": program.n_statements}


def _program(one: dict[str, Any], folder: Path) -> Program:
    return program_of(one) if "lines" in one else written(one["seed"], pg.SIZE, folder)


def program_of(one: dict[str, Any]) -> Program:
    """The program that is given by its lines."""
    settings = {name: tuple(x) if isinstance(x, list) else x for name, x in one["settings"].items()}
    return Program(one["seed"], tuple(one["lines"]), Settings(**settings))


def say(**fields: Any) -> None:
    """Tell who started the job."""
    if pg.RANK == 0:
        print(MARK + json.dumps(fields), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
