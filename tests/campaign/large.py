"""Programs on arrays of some megabytes, as memory is short for these before it is for anything else."""

from __future__ import annotations

import random

from tests.campaign.programs import Program
from tests.campaign.settings import Settings

__all__ = ["large"]

N_STATEMENTS = 12

STATEMENTS = (
    "{x} = {y} + {z}", "{x} = {y} * 2 - {z}", "{x}[...] = {y} + 1", "{x} += {y}", "{x}[1:] = {y}[:-1]",
    "{x}[1:] -= {x}[:-1]", "{x} = pg.roll({y}, 3)", "{x} = {y}[::-1].copy()", "{x} = {y}.copy()", "see(float({x}[5]))",
    "see(float({y}.max()))", "look({x})", "pg.sync()", "pg.schedule(negate, pg.update({x}))",
    "{x} = {y}.redistribute(pg.Distribution('cyclic(1000)'))", "{x} = pg.floor({y} / 2)",
)  # fmt: skip


def large(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(f"large {seed}")
    names = ("a1", "a2", "a3")
    n = rng.choice((100_000, 500_000, 1_000_000))
    lines = [f"{name} = pg.arange({n}.0) - {k}" for k, name in enumerate(names)]
    for _ in range(N_STATEMENTS):
        x, y, z = rng.choices(names, k=3)
        lines.append(rng.choice(STATEMENTS).format(x=x, y=y, z=z))
    lines += [f"check({name}, 0.0)" for name in names]
    return Program(seed, tuple(lines), Settings(max_operations=tuple(rng.choice((1, 5, 256)) for _ in range(4))))
