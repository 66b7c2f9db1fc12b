"""One job of the campaign: `python -m tests.campaign.job FILE`, on any number of processes.

The file says which programs are run, as a list of {"seed": ...} or {"seed": ..., "lines": [...], "settings": {...}},
and for how many seconds. Rank 0 prints a line of JSON at the beginning and at the end of each; the job ends with the
first failure, after which nothing is as it was.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pgaspy as pg
from tests.campaign.programs import Program, written
from tests.campaign.running import run
from tests.campaign.settings import Settings

__all__ = ["MARK", "main", "program_of", "say"]

MARK = "@campaign "
"""What lines of the job begin with."""


def main(file: str) -> None:
    """Run the programs that a file names."""
    order = json.loads(Path(file).read_text())
    end = time.monotonic() + order["seconds"]
    gc.freeze()  # what is imported need not be visited by each program's collection
    with tempfile.TemporaryDirectory() as own:
        folder = Path(pg.COMM.bcast(own))
        for number, one in enumerate(order["programs"]):
            if pg.COMM.bcast(time.monotonic() > end):
                break
            program = _program(one, folder / f"writing{pg.RANK}")
            say(event="begin", number=number, seed=program.seed, lines=program.lines,
                settings=vars(program.settings), n_statements=program.n_statements)
            failure = run(program, folder)
            if failure is not None:
                say(event="failure", kind=failure.kind, line=failure.line, text=failure.text)
                break
            say(event="end")
        pg.COMM.Barrier()


def _program(one: dict[str, Any], folder: Path) -> Program:
    folder.mkdir(exist_ok=True)
    if "lines" not in one:
        return written(one["seed"], pg.SIZE, folder)
    return program_of(one)


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
