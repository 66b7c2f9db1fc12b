"""Interrupts at random moments, on one process: `python -m tests.campaign --interrupts --minutes N`.

Afterwards the arrays are what a prefix of the statements gives: the one that was interrupted has happened whole, or not
at all, and nothing that was recorded before it is lost. The program then goes on from there.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pgaspy as pg
from tests.campaign import model, words
from tests.campaign.job import described, say
from tests.campaign.programs import Program, written
from tests.campaign.running import Failure, differences
from tests.campaign.settings import under
from tests.campaign.words import Observation
from tests.campaign.writing import EXPECTED

__all__ = ["NOT_AGAIN", "NOT_WHOLE", "States", "largest", "run"]

N_STATEMENTS = 24
LONGEST_SECONDS = 0.02
"""An interrupt comes within this time of the first statement, or of the last interrupt."""

NOT_WHOLE = ("for ", "look(", "check(", "see(", "printed(", "collected(", "lose(", "gc.", "if pg.RANK", "box", "next(")
"""Lines that are several statements, or change nothing."""

NOT_AGAIN = ("random", "lease(", "local(", "each_block(", "FOLDER", "frexp", "modf", "divmod(", "generator(",
             "exchange")
"""What stands in a line that cannot be taken back, or is several calls."""


def main(file: str) -> None:
    """Run the programs that a file names, as `tests.campaign.job` does."""
    order = json.loads(Path(file).read_text())
    end = time.monotonic() + order["seconds"]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background, where a shell has it ignored
    with tempfile.TemporaryDirectory() as folder:
        for one in order["programs"]:
            if time.monotonic() > end:
                break
            program = statements_of(written(one["seed"], 1, Path(folder)))
            say(event="begin", **described(program))
            n_interrupts, failure = run(program, Path(folder))
            if failure is not None:
                say(event="failure", program=described(program), **vars(failure))
                break
            say(event="end", counts={"interrupts": n_interrupts})


def statements_of(program: Program) -> Program:
    """Those lines of a program that are one statement each, and what these need."""
    lines = tuple(line for line in program.lines if not line.startswith(NOT_WHOLE)
                  and not any(word in line for word in NOT_AGAIN))
    return Program(program.seed, lines, program.settings)


def run(program: Program, folder: Path) -> tuple[int, Failure | None]:
    """How often it was interrupted, and the first state that no prefix of the statements gives."""
    rng = random.Random(program.seed)
    states = States(program.lines, folder)
    names = words.namespace([], lambda: 0, folder, is_model=False)
    n_interrupts = done = 0
    with under(program.settings):
        while done < len(program.lines):
            done, is_interrupted = _run_until_interrupted(program.lines, done, names, rng)
            if not is_interrupted:
                continue
            n_interrupts += 1
            failures = [_difference(names, states, done, n) for n in (done, done + 1)]
            if None not in failures:
                return n_interrupts, Failure("wrong", done, f"after an interrupt: {failures[0]}")
            done += failures.index(None)
        failure = _difference(names, states, done, done)
        return n_interrupts, failure and Failure("wrong", done - 1, f"at the end: {failure}")


def _run_until_interrupted(lines: Sequence[str], start: int, names: dict[str, Any],
                           rng: random.Random) -> tuple[int, bool]:
    """(the line that was under way, True), or (the number of lines, False)."""
    number = start
    timer = threading.Timer(rng.uniform(1e-5, LONGEST_SECONDS), signal.raise_signal, [signal.SIGINT])
    try:
        timer.start()
        with model.quiet():
            for number in range(start, len(lines)):
                try:
                    exec(lines[number], names)
                except (*EXPECTED, NameError):
                    continue
            number = len(lines)
            pg.sync()
        _stop(timer)
    except KeyboardInterrupt:
        return number, True
    finally:
        _stop(timer)
    return number, False


def _stop(timer: threading.Timer) -> None:
    """Nothing comes after this."""
    timer.cancel()
    timer.join()


def _difference(names: dict[str, Any], states: States, started: int, n: int) -> Failure | None:
    """Where the arrays that there are before a line that was started are not what n lines give."""
    expected = states.after(n)  # all of them, where there are no more
    found, wanted = [], []
    for name in states.arrays_before(started):
        line = len(found)
        array = expected[name]
        wanted.append(Observation(line, array, 1e-3 * (1 + largest(array)) if array.dtype.kind in "fc" else 0.0))
        try:
            found.append(Observation(line, names[name].gather()))
        except Exception as error:
            found.append(Observation(line, error))
    return differences(found, wanted)


class States:
    """What NumPy's arrays hold after each number of lines."""

    def __init__(self, lines: Sequence[str], folder: Path) -> None:
        self.lines, self._folder = lines, folder / "model"
        self._folder.mkdir(parents=True, exist_ok=True)

    def arrays_before(self, line: int) -> list[str]:
        """The names of arrays that there are before a line, but for one that it deletes, or is the first to fill."""
        gone = self.lines[line][4:] if line < len(self.lines) and self.lines[line].startswith("del ") else ""
        name, _, value = self.lines[line - 1].partition(" = ") if line else ("", "", "")
        return sorted(self.after(line).keys() - {gone, name if value.startswith("pg.empty") else ""})

    def after(self, n: int) -> dict[str, Any]:
        """The arrays after n lines, by their names."""
        names = words.namespace([], lambda: 0, self._folder, is_model=True)
        for line in self.lines[:n]:
            try:
                with model.quiet():
                    exec(line, names)
            except (*EXPECTED, NameError):
                continue
            for name in names.keys() & line.split(" = ")[:1]:
                names[name] = model.as_array(names[name])
        return {name: x for name, x in names.items() if isinstance(x, model.Array)}


def largest(array: Any) -> float:
    """The largest magnitude of a finite element."""
    with model.quiet():
        size = np.abs(array.astype(complex))
    return float(size[np.isfinite(size)].max(initial=0.0))


if __name__ == "__main__":
    main(sys.argv[1])
