"""Random programs: their lines, and what NumPy gives for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.campaign import algebra, arrays, elementwise, holding
from tests.campaign.rows import Row
from tests.campaign.settings import Settings, drawn
from tests.campaign.writing import Refused, Writer

__all__ = ["TABLE", "Program", "end", "write_one", "written"]

TABLE = (*elementwise.ROWS, *arrays.ROWS, *holding.ROWS, *algebra.ROWS)
"""The statements of the campaign."""

N_STATEMENTS = 24


@dataclass(frozen=True)
class Program:
    """Lines, and the settings under which they run."""

    seed: int
    lines: tuple[str, ...]
    settings: Settings

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
    writer.create()
    writer.create(owned=True, shape=(5, 4), dtype="d")
    weights = [row.weight for row in TABLE]
    while len(writer.lines) < n_statements:
        row = writer.rng.choices(TABLE, weights)[0]
        write_one(writer, row, writer.rng.choice(row.names))
        writer.trim()
    end(writer)
    return Program(seed, tuple(writer.lines), drawn(seed))


def write_one(writer: Writer, row: Row, name: str) -> None:
    """A statement; nothing, where it is refused."""
    try:
        row.write(writer, name)
    except Refused:
        return


def end(writer: Writer) -> None:
    """Look at all that there is."""
    for x in writer.leases:
        writer.say(f"look({x}, {writer.lease_tolerance(x)})")
    for x in writer.holders:
        writer.say(f"check({x}, {writer.tolerance(x)})")
