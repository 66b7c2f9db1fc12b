"""Executes a program on global arrays and on NumPy's, and compares what both sides observed."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pgaspy as pg
from tests.campaign import model, words
from tests.campaign.programs import Program
from tests.campaign.settings import under
from tests.campaign.words import Observation
from tests.campaign.writing import EXPECTED

__all__ = ["Failure", "differences", "execute", "expected", "run", "run_here"]

ALONE = "if pg.RANK == "
"""How a line begins that one process executes alone."""

YOUNG = 1
"""The generation up to which garbage is collected after a program; the collector sees to older cycles now and then."""


@dataclass(frozen=True)
class Failure:
    """What is wrong with a line: `kind` is wrong (a value), or error (an exception on one side)."""

    kind: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.text}"


def run(program: Program, folder: Path) -> Failure | None:
    """The first difference between both sides, on any process. Collective."""
    failures = pg.COMM.allgather(run_here(program, folder))
    return next((one for one in failures if one is not None), None)


def run_here(program: Program, folder: Path) -> Failure | None:
    """The first difference between both sides, on this process. Collective."""
    with under(program.settings):
        found = execute(program.lines, folder, is_model=False)
        gc.collect(YOUNG)
    return differences(found, expected(program, folder))


def expected(program: Program, folder: Path) -> list[Observation]:
    """What is to be observed on this process: all that NumPy gives, but for what others do alone."""
    observed = program.observed
    if observed is None:
        observed = execute(program.lines, folder / f"model{pg.RANK}", is_model=True)
    elsewhere = {k for k, line in enumerate(program.lines) if line.startswith(ALONE)
                 and not line.startswith(f"{ALONE}{pg.RANK}:")}
    return [one for one in observed if one.line not in elsewhere]


def execute(lines: Sequence[str], folder: Path, is_model: bool) -> list[Observation]:
    """What a program observes on one of the sides; of a line that raises, the exception."""
    folder.mkdir(parents=True, exist_ok=True)
    noted: list[Observation] = []
    number = 0
    names = words.namespace(noted, lambda: number, folder, is_model)
    with model.quiet():
        for number, line in enumerate(lines):
            try:
                exec(line, names)
            except Exception as error:
                noted.append(Observation(number, error))
                if not isinstance(error, (*EXPECTED, NameError)):
                    error.add_note(f"in line {number}: {line}")
                    if pg.SIZE > 1 and not is_model:
                        raise  # the others may wait for this process
                    traceback.print_exc()
                    break
            if is_model:
                for name in names.keys() & line.split(" = ")[:1]:
                    names[name] = model.as_array(names[name])
    return noted


def differences(found: Sequence[Observation], expected: Sequence[Observation]) -> Failure | None:
    """The first line on which the two sides differ."""
    for ours, theirs in zip(found, expected, strict=False):
        text = difference(ours, theirs)
        if text:
            is_error = isinstance(ours.value, Exception) or isinstance(theirs.value, Exception)
            return Failure("error" if is_error else "wrong", min(ours.line, theirs.line), text)
    if len(found) != len(expected):
        longer = max(found, expected, key=len)[min(len(found), len(expected))]
        return Failure("error", longer.line, f"only one side went on, to {longer.value!r}")
    return None


def difference(ours: Observation, theirs: Observation) -> str:
    """What differs, if anything."""
    a, b = ours.value, theirs.value
    if isinstance(a, Exception) or isinstance(b, Exception):
        return "" if ours.line == theirs.line and _are_alike(a, b) else (
            f"global {a!r} in line {ours.line}, NumPy {b!r} in line {theirs.line}")
    if a is None and (b is None or ours.where is None):
        return ""  # no local part that NumPy could view, or gathered elsewhere
    if ours.where == [] and a.shape:
        return ""  # a process that does not own the one element
    if ours.where is not None:
        b = b[np.ix_(*ours.where)] if ours.where else b
        b = b[ours.key] if ours.key is not Ellipsis else b
    same = _are_equal(a, b, theirs.tolerance)
    return "" if same and ours.line == theirs.line else f"global\n{a!r}\nNumPy\n{b!r}"


def _are_alike(a: Any, b: Any) -> bool:
    """Whether two exceptions are of a kind; an overflow may be told otherwise."""
    if not (isinstance(a, Exception) and isinstance(b, Exception)):
        return False
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in (*EXPECTED, NameError)) or (
        isinstance(a, OverflowError) or isinstance(b, OverflowError))


def _are_equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(b, tuple | list):
        return len(a) == len(b) and all(_are_equal(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if not isinstance(b, np.ndarray):
        return type(a) is type(b) and (a == b or (a != a and b != b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not tolerance:
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM"))
    wide = np.result_type(a, float)
    return bool(np.allclose(a.astype(wide), np.asarray(b).astype(wide), rtol=1e-12, atol=tolerance, equal_nan=True))
