"""Programs by slices, as in textbooks, against the same text on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from bench.programs import OF_SHORT_STATEMENTS, OF_SLICES, Program
from tests.together import assert_equal

pytestmark = [pytest.mark.mpi, pytest.mark.every]


N_STEPS = {"multigrid V-cycles": 3, "alternating directions": 5, "lattice Boltzmann": 3}
"""As many as there are rows, unless told otherwise."""


def compare(program: Program, n: int, layout: str, *n_steps: int) -> None:
    """Run a program of size n on both, with all dimensions dealt out alike."""
    operands = program.operands(n)
    arrays = [pg.array(operand, layout=pg.Distribution(*[layout] * operand.ndim)) for operand in operands]
    found: Any = program.run(pg, *arrays, *n_steps)
    assert_equal(found, program.run(np, *operands, *n_steps), exact=False, rtol=1e-10)


@pytest.mark.parametrize(("n", "layout"), [(8, "block"), (13, "block"), (11, "cyclic(2)")])
@pytest.mark.parametrize("name", OF_SLICES)
def test_program_of_slices(name: str, n: int, layout: str) -> None:
    compare(OF_SLICES[name], n, layout, N_STEPS.get(name, n))


@pytest.mark.parametrize(("n", "layout"), [(1, "block"), (7, "block"), (6, "cyclic(2)")])
@pytest.mark.parametrize("name", OF_SHORT_STATEMENTS)
def test_program_of_short_statements(name: str, n: int, layout: str) -> None:
    compare(OF_SHORT_STATEMENTS[name], n, layout)
