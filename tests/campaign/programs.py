"""Random programs: their lines, and what NumPy gives for them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaign import algebra, arrays, dates, elementwise, holding, model, order, routines, selecting
from tests.campaign.rows import Row
from tests.campaign.settings import Settings, drawn
from tests.campaign.words import Observation
from tests.campaign.writing import Refused, Writer

__all__ = ["TABLE", "Program", "end", "write_one", "written"]

TABLE = (*elementwise.ROWS, *arrays.ROWS, *holding.ROWS, *algebra.ROWS, *dates.ROWS, *order.ROWS,
         *routines.ROWS, *selecting.ROWS)
"""The statements of the campaign."""

N_STATEMENTS = 48

LOCAL = 0.8
"""How many of the whole arrays each process looks at by itself at the end: to gather them takes longer."""


@dataclass(frozen=True)
class Program:
    """Lines, the settings under which they run, and what NumPy gives for them, where that is known already."""

    seed: int
    lines: tuple[str, ...]
    settings: Settings
    observed: tuple[Observation, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def n_statements(self) -> int:
        """Lines besides those that look at results."""
        return sum(not line.startswith(("check(", "look(", "del ")) for line in self.lines)

    def __str__(self) -> str:
        header = f"# seed {self.seed}, {self.settings}"
        return "\n".join((header, *self.lines))


def written(seed: int, n_procs: int, folder: Path, n_statements: int = N_STATEMENTS) -> Program:
    """The program of a seed, for so many processes."""
    writer = Writer(seed, n_procs, folder)
    weights = [row.weight for row in TABLE]
    writer.create()
    writer.create(owned=True, shape=(5, 4), dtype="d")
    while len(writer.lines) < n_statements:
        row = writer.rng.choices(TABLE, weights)[0]
        write_one(writer, row, writer.rng.choice(row.names))
        writer.trim()
    end(writer)
    return Program(seed, tuple(writer.lines), drawn(seed), tuple(writer.noted))


def write_one(writer: Writer, row: Row, name: str) -> None:
    """A statement; nothing, where it is refused."""
    with model.quiet(), contextlib.suppress(Refused):
        row.write(writer, name)


def end(writer: Writer) -> None:
    """Look at all that there is: each process at its part of it, or all at the whole."""
    for x in writer.leases:
        writer.say(f"look({x}, {writer.lease_tolerance(x)})")
    for x in writer.holders:
        is_local = writer.is_whole(x) and writer.rng.random() < LOCAL
        writer.say(f"{'look' if is_local else 'check'}({x}, {writer.tolerance(x)})")
