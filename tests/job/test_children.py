"""Processes that those of a job start: they import pgaspy, and are no part of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs import run_job

CHILD = "import pgaspy as pg; print(pg.SIZE, float(pg.arange(4).sum()))"

PROGRAM = """
import multiprocessing, subprocess, sys
import pgaspy as pg

def square(x):
    return x * x

def child():
    done = subprocess.run([sys.executable, "-c", sys.argv[2]], capture_output=True, text=True, timeout=50, check=True)
    return done.stdout.split()

def pool():
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.map(square, range(3))

if __name__ == "__main__":
    found = {"one": lambda: child() if pg.RANK == 0 else ["1", "6.0"], "all": child, "pool": pool}[sys.argv[1]]()
    a = pg.ones(1000)
    for _ in range(50):
        a[...] = pg.roll(a, 1) + 1
    print(f"{found} {float(a.sum())};")
"""


@pytest.mark.parametrize(("children", "found"), [
    ("one", "['1', '6.0']"), ("all", "['1', '6.0']"), ("pool", "[0, 1, 4]")])
def test_children_run_by_themselves(children: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = run_job(2, str(file), children, CHILD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{found} 51000.0;") == 2, done.stdout
