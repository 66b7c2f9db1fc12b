"""A job of the campaign into whose programs failures are injected: `python -m tests.campaign.failing FILE`.

What a program observes before it raises is right. Then each array is what the statements before have made of it, or
raises; and on one process, arrays can be filled anew. Many programs run one after the other, each in a job of its own.
On several processes a failure is injected on one of them, and fails the job on all: they say what they observed, and
begin anew. That of the last program ends the job.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from pgaspy.array import GlobalScalar
from pgaspy.execution import recording
from pgaspy.job.procgrid import begin_anew
from tests.campaign import model, words
from tests.campaign.injecting import Injection, chosen, is_injected
from tests.campaign.interrupts import NOT_AGAIN, NOT_WHOLE, States, largest
from tests.campaign.job import MARK, described, program_of, say
from tests.campaign.large import large
from tests.campaign.programs import Program, written
from tests.campaign.running import Failure, difference, differences, expected
from tests.campaign.settings import under
from tests.campaign.words import Observation
from tests.campaign.writing import EXPECTED

__all__ = ["begin_next", "run"]

WAITING_SECONDS = 15.0


def main(file: str) -> None:
    """Run the programs that a file names."""
    order = json.loads(Path(file).read_text())
    end = time.monotonic() + order["seconds"]
    float((pg.ones(1_000_000) + 1).sum())  # which starts the threads: they cannot be without memory
    with tempfile.TemporaryDirectory() as own:
        folder = Path(pg.COMM.bcast(own))
        for number, one in enumerate(order["programs"], 1):
            if MPI.COMM_WORLD.bcast(time.monotonic() > end):
                say(event="stop")
                break
            injection = chosen(order["inject"], one["seed"])
            program = _program(one, injection, folder / f"writing{pg.RANK}")
            say(event="begin", **described(program))
            is_last = pg.SIZE > 1 and number == len(order["programs"])
            run(program, folder, injection, functools.partial(_end, folder=folder) if is_last else begin_next)
            say(event="end")


def _program(one: dict[str, Any], injection: Injection, folder: Path) -> Program:
    if "lines" in one:
        return program_of(one)
    if injection.kind == "limit":
        return large(one["seed"])
    folder.mkdir(exist_ok=True)
    program = written(one["seed"], pg.SIZE, folder)
    if injection.kind != "compile":
        return program
    return replace(program, settings=replace(program.settings, compiles=True))


def run(program: Program, folder: Path, injection: Injection,
        end: Callable[[BaseException | None], None]) -> dict[str, Any]:
    """Run a program, say how it failed, and what is wrong with that; and `end` it, with what it raised.

    All that it has recorded is executed under its settings, or not at all: on other processes it may have been before.
    """
    observed = expected(program, folder)
    is_here = injection.rng.randrange(pg.SIZE) == pg.RANK
    found: list[Observation] = []
    names: dict[str, Any] = {}
    with contextlib.suppress(pg.JobError), under(program.settings):
        with injection.in_program() if is_here else contextlib.nullcontext():
            number, error = _execute(program.lines, folder, found, names)
        failure = differences(found, [one for one in observed if one.line < number])
        if failure is None and error is not None:
            failure = _aftermath(program, folder, names, number, error)
        said = _said(program, failure, injection, error)
        print(MARK + json.dumps(said), flush=True)
        end(error)
    return said


def _execute(lines: Sequence[str], folder: Path, noted: list[Observation],
             names: dict[str, Any]) -> tuple[int, BaseException | None]:
    """Run lines; the number of that which raised what it would not without a failure, and what."""
    number = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names |= words.namespace(noted, lambda: number, folder, is_model=False)
        with model.quiet():
            for number, line in enumerate(lines):
                try:
                    exec(line, names)
                except (*EXPECTED, NameError) as error:
                    if is_injected(error):
                        raise
                    noted.append(Observation(number, error))
            number = len(lines)
            pg.sync()
        signal.setitimer(signal.ITIMER_REAL, 0)  # no interrupt comes after this
    except BaseException as error:
        del noted[sum(one.line < number for one in noted):]
        return number, error
    return number, None


def _aftermath(program: Program, folder: Path, names: dict[str, Any], number: int,
               error: BaseException) -> Failure | None:
    """What is wrong after a line that has raised."""
    if not is_injected(error) and not (isinstance(error, pg.JobError) and _is_of_injection(error)):
        return Failure("error", number, f"another error: {error!r}")
    if pg.SIZE == 1:
        for _ in range(3):
            with contextlib.suppress(Exception):
                pg.sync()
    line = program.lines[number] if number < len(program.lines) else ""
    if line.startswith(NOT_WHOLE) or any(word in line for word in NOT_AGAIN):
        failure = None
    else:
        failure = _difference_of_state(States(program.lines, folder), names, number)
    return failure or (_healed(names, number) if pg.SIZE == 1 else None)


def _is_of_injection(error: pg.JobError) -> bool:
    return any(word in error.cause for word in ("njected", "MemoryError", "KeyboardInterrupt", "new thread"))


def _difference_of_state(states: States, names: dict[str, Any], number: int) -> Failure | None:
    """Where arrays that raise nothing are not what the lines before one give, or these and that one."""
    found = {name: _value(names[name]) for name in states.arrays_before(number)
             if isinstance(names.get(name), pg.GlobalArray)}
    failures = []
    for n in number, number + 1:
        expected = states.after(n)
        failures.append("")
        for name, (value, where) in found.items():
            array = expected[name]
            tolerance = 1e-3 * (1 + largest(array)) if array.dtype.kind in "fc" else 0.0
            text = "" if value is None else difference(Observation(0, value, where=where),
                                                       Observation(0, array, tolerance))
            if text:
                failures[-1] = f"{name} is neither right nor raises: {text}"
                break
    return Failure("wrong", number, failures[0]) if all(failures) else None


def _value(x: Any) -> tuple[Any, Any]:
    """What can be read of an array, and where that lies; nothing, if it raises what was injected."""
    try:
        if pg.SIZE == 1:
            return x.gather(), None
        return np.array(x.local()), [x.global_indices(d) for d in range(x.ndim)]
    except Exception as error:
        is_right = is_injected(error) or (pg.SIZE > 1 and isinstance(error, pg.JobError | ValueError))
        return None if is_right else error, None


def _healed(names: dict[str, Any], number: int) -> Failure | None:
    """What cannot be done any more after a failure on one process."""
    try:
        for name, x in names.items():
            if isinstance(x, pg.GlobalArray) and x._view.is_whole and x.dtype.kind in "bBilfdFD" and not (
                    isinstance(x, GlobalScalar)):
                x[...] = 1
                if not (x.gather() == 1).all():
                    return Failure("wrong", number, f"{name} was filled with 1, and is {x.gather()}")
        pg.sync()
        total = float((pg.ones(5) + 1).sum())
        return None if total == 10 else Failure("wrong", number, f"a new sum of 10 is {total}")
    except Exception as error:
        return Failure("error", number, f"after the failure, arrays that are written anew: {error!r}")


def _said(program: Program, failure: Failure | None, injection: Injection,
          error: BaseException | None) -> dict[str, Any]:
    said: dict[str, Any] = {"event": "rank", "seed": program.seed, "where": injection.where, "kind": injection.kind,
                            "raised": "" if error is None else repr(error)[:300]}
    if failure is not None:
        said["failure"] = {"kind": failure.kind, "line": failure.line,
                           "text": f"on rank {pg.RANK}, {injection.kind} at {injection.where!r}: {failure.text[:1500]}"}
    return said


def begin_next(error: BaseException | None) -> None:
    """Come to the end of a program, as processes do where one has failed; and then begin with the next one.

    What a program does not catch would end the job: here, all hear of it.
    """
    queue = recording.queue
    with contextlib.suppress(pg.JobError, pg.DivergenceError):
        if error is None:
            queue.supervision.end()
        elif queue.error is None:
            queue.fail(error)
    MPI.COMM_WORLD.Barrier()
    begin_anew()


def _end(error: BaseException | None, folder: Path) -> None:
    """End the job by what its last program has raised, if it has."""
    if error is not None and recording.queue.error is None:
        raise error  # what a program does not catch ends the job
    _wait_for_others(folder)


def _wait_for_others(folder: Path) -> None:
    """Until all have said what they observed; the folder goes with the first process."""
    with contextlib.suppress(OSError):
        (folder / f"told{pg.RANK}").touch()
    stop = time.monotonic() + WAITING_SECONDS
    while time.monotonic() < stop and folder.exists() and len(list(folder.glob("told*"))) < pg.SIZE:
        time.sleep(0.01 + 0.01 * random.random())


if __name__ == "__main__":
    main(sys.argv[1])
