"""Floating-point errors are told as NumPy tells them, where the environment asks for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs import run_job

COMPARED = """
import warnings, numpy as np, pgaspy as pg

X = np.array([0.0, 1.0, -1.0, np.inf, np.nan, 1e308, 1e-308, 3.0])
OF_ONE = [np.log, np.log1p, np.sqrt, np.exp, np.sin, np.tanh, np.arcsin, np.square, np.reciprocal, np.negative, np.rint,
          np.isnan, np.signbit]
OF_TWO = [np.divide, np.multiply, np.subtract, np.floor_divide, np.remainder, np.power, np.maximum, np.less, np.hypot,
          np.arctan2, np.fmin]

def seen(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert pg.SIZE == 1 or all(w.filename == __file__ for w in found), [w.filename for w in found]
    return {str(w.message) for w in found}

def compare(call):
    expected, own = seen(lambda: call(np)), seen(lambda: call(pg))
    found = set().union(*pg.COMM.allgather(own))
    assert found == expected, (found, expected)

for ufunc in OF_ONE:
    compare(lambda xp: ufunc(xp.array(X)))
for ufunc in OF_TWO:
    for y in 0.0, -2.0, 1e10, X[::-1]:
        compare(lambda xp: ufunc(xp.array(X), xp.array(y)))
compare(lambda xp: xp.array(X).astype(int))
compare(lambda xp: xp.array(X).astype(np.float32))
compare(lambda xp: xp.array([1, 2, 3, 4, 5]) // xp.array([0, 1, 0, 1, 2]))
compare(lambda xp: xp.where(xp.array(X) > 0, xp.array(X), 1.0))
with np.errstate(divide="ignore", invalid="ignore"):
    compare(lambda xp: 1 / xp.array(X) + xp.log(xp.array(X)))
def multiply(xp):
    a = xp.array(X)
    a *= 10
compare(multiply)
assert not seen(lambda: (pg.array(X)[1:3] + 1).sum())
if pg.SIZE == 1:
    with np.errstate(divide="raise"):
        try:
            1 / pg.array(X[:1])
        except FloatingPointError as error:
            assert str(error) == "divide by zero encountered in divide"
        else:
            raise AssertionError("nothing was raised")
print("done")
"""

RAISING = """
import pgaspy as np
a = np.arange(10.0)
b = np.sqrt(a - 1)
print("not reached", float(b.sum()))
"""


@pytest.mark.parametrize("n", [1, 3])
def test_all_that_numpy_tells(n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_FPE", "warn")
    program = tmp_path / "program.py"
    program.write_text(COMPARED)
    done = run_job(n, str(program), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == n


@pytest.mark.parametrize("n", [1, 2])
def test_errors_end_the_program(n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_FPE", "raise")
    program = tmp_path / "program.py"
    program.write_text(RAISING)
    done = run_job(n, str(program), cwd=tmp_path)
    assert done.returncode != 0
    assert "FloatingPointError: invalid value encountered in sqrt" in done.stderr
    assert "program.py\", line 4" in done.stderr
    assert "not reached" not in done.stdout
