"""What type checkers see: a right program has no errors, wrong lines have one each, and the stub is what there is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import numpy_names

ROOT = Path(__file__).parent.parent

RIGHT = """
import numpy as np
from numpy.typing import NDArray

import pgaspy as pg


def scale(c: NDArray[np.float32], a: NDArray[np.float32]) -> None:
    c *= a.max(initial=0)


A = pg.zeros((4, 6), pg.float32, layout=pg.Distribution("block", "*"))
B: pg.GlobalArray = pg.random.default_rng(1).random((4, 6))
A[1:, ::2] = pg.sin(pg.pi * B[1:, ::2]) + pg.hypot(3, B[0, ::2])
A += 2 * B - 1 / (B + 1) ** 2
A[0] = pg.where(A[0] > 0, abs(A[0]), -pg.inf)
fraction, whole = pg.modf(B)
pg.schedule(scale, pg.update(A), fraction)
total: pg.GlobalArray = pg.sum(A, axis=0, dtype=pg.float64, keepdims=True) @ B.T
largest = float(pg.max(pg.concatenate((A, B), axis=1)))
n_rows: int = A.local().shape[0] + pg.RANK
x: pg.GlobalArray = pg.linalg.solve(pg.eye(6) * 2, B[0])
gathered: NDArray[np.float64] = x.gather()
eps = pg.finfo(x.dtype).eps
added = pg.add.reduce(A[:, pg.newaxis].swapaxes(0, 1), axis=None)
C = pg.replicate(A, axis=0).redistribute(B.layout).astype(pg.complex128)
if pg.SIZE == 1 and (A == A).all():
    print(total.shape, largest, n_rows, gathered, eps, added, C.real.sum(), sep="\\n")
"""

WRONG = """
pg.sorted(A)
pg.float31
pg.sin(A).locall()
pg.sin(A, wher=A > 0)
pg.add(A, 1, 2)
(A + 1).locall()
(1 - A[0] ** 2).summ()
A.sum(axes=0)
pg.sum(A, keepdims="no")
pg.mean(A, ddof=1)
pg.zeros("four")
pg.zeros(4, lay_out=None)
pg.concatenate(A, B, 1)
pg.pi + "2"
pg.linalg.eigs(A)
pg.random.normal(0, 1)
A.gather(root=0).sum()
pg.where(A > 0, A, 0).locall()
pg.transpose(A).locall()
pg.linalg.solve(A, B).locall()
len(pg.RANK)
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of both programs."""
    folder = tmp_path_factory.mktemp("typing")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("import pgaspy as pg; A = B = pg.ones((4, 4))" + WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "right.py", "wrong.py"], cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout


def test_a_right_program(complaints: str) -> None:
    assert "right.py" not in complaints, complaints
    exec(compile(RIGHT, "right.py", "exec"), {})


def test_wrong_lines(complaints: str) -> None:
    found = {int(line) for line in re.findall(r"^wrong\.py:(\d+): error", complaints, re.MULTILINE)}
    missed = [line for n, line in enumerate(WRONG.splitlines(), 1) if line and n not in found]
    assert not missed, complaints


NOT_EVERYWHERE = {"complex192", "complex256", "float96", "float128"}
"""Dtypes of some machines."""

TYPES = {(1, 1): "_Unary", (2, 1): "_Binary", (1, 2): "_UnaryToTwo", (2, 2): "_BinaryToTwo"}


def test_the_stub_has_numpys_names() -> None:
    said: dict[str, str] = {}
    for node in ast.parse((ROOT / "pgaspy/numpy_names.pyi").read_text()).body:
        if isinstance(node, ast.AnnAssign):
            said[ast.unparse(node.target)] = ast.unparse(node.annotation)
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            said |= {str(alias.asname): alias.name for alias in node.names}
    there = {name: getattr(pg, name) for name in numpy_names.__all__ if name not in NOT_EVERYWHERE}
    assert said == {name: TYPES[value.nin, value.nout] if isinstance(value, np.ufunc) else name
                    for name, value in there.items()}
    assert all(value is getattr(np, name) for name, value in there.items())
