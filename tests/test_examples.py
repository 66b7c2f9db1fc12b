"""The programs of examples/: against NumPy, how they draw, and their command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _driver import SMALLEST_SIZE, Program, Steps, draw, farthest, gathered, load, main, names
from PIL import Image

import pgaspy as pg
from tests.jobs import ROOT, run, run_job
from tests.together import collectively

SMALL = {
    "mandelbrot": (64, 20), "black_scholes": (31, 4), "n_body": (60, 4), "knn": (150, 7),
    "lattice_boltzmann_2d": (18, 6), "lattice_boltzmann_3d": (10, 3), "jacobi": (120, 60), "jacobi_stencil": (25, 30),
    "monte_carlo_pi": (20_000, 3), "summa": (45, 7), "stencil_views": (31, 5), "shallow_water": (24, 5),
    "n_body_vectors": (50, 4), "laplace": (23, 40), "wiener_filter": (32, 5), "power_spectrum": (32, 3),
    "slabs": (30, 3), "finite_differences": (13, 3), "orthonormal_states": (24, 6), "conjugate_gradients": (21, 70),
    "multigrid": (33, 4), "navier_stokes": (12, 2), "game_of_life": (35, 6), "pca": (90, 6), "k_means": (500, 5),
    "page_rank": (300, 10), "logistic_regression": (200, 8), "particles_in_cells": (700, 3)}
"""The size of each, and the steps: with uneven parts on several processes, and some without any."""

VARIANTS = [(name, "PROGRAM") for name in names()] + [("stencil_views", "ALIGNED")]


def assert_as_numpy(name: str, variant: str, size: int, steps: int) -> None:
    """A program gives what NumPy gives, and what it says of its results is so."""
    program = load(name, variant=variant)
    problem = program.problem(size)
    given, counted = gathered(problem), Steps(steps, name)
    result = program.core(*problem, counted)
    found, problems = gathered(result), []
    if pg.RANK == 0:
        differs = farthest(found, load(name, "numpy", variant).core(*given, range(steps)))
        limit = program.tolerance(size) if callable(program.tolerance) else program.tolerance
        problems += [f"{differs} from NumPy"] * (not differs <= limit)
    checks = program.checks(result, size, counted.n_taken)
    problems += [f"{check}: {value}" for check, (value, limit) in checks.items() if not value <= limit]
    collectively(not problems, f"{problems}")


@pytest.mark.mpi
@pytest.mark.many
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_as_numpy(name: str, variant: str) -> None:
    assert_as_numpy(name, variant, *SMALL[name])


@pytest.mark.mpi
@pytest.mark.long
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_smallest(name: str, variant: str) -> None:
    assert_as_numpy(name, variant, SMALLEST_SIZE, 1)


@pytest.mark.long
def test_as_numpy_on_nine_processes(tmp_path: Path) -> None:
    done = run([sys.executable, "-m", "pgaspy", "run", "-n", "9", sys.executable, "-m", "pytest", "--all", "-m", "mpi",
                "tests/test_examples.py"], ROOT, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_are_tested() -> None:
    assert sorted(SMALL) == names()


@pytest.mark.parametrize(("found", "expected", "differs"), [
    ([1.0, 2.0], [1.0, 2.5], 0.2), ([0.0, 0.0], [0.0, 0.0], 0), ([1, 2], [1, 3], np.inf), ([1, 2], [1, 2], 0),
    ([1.0, 2.0], [1, 2], np.inf), ([[1.0]], [1.0], np.inf), ([np.nan, 1.0], [0.0, 1.0], np.nan)])
def test_differences(found: Any, expected: Any, differs: float) -> None:
    assert farthest(np.array(found), np.array(expected)) == pytest.approx(differs, nan_ok=True)
    assert farthest((1.0, np.array(found)), (1.0, np.array(expected))) == pytest.approx(differs, nan_ok=True)


def pixels(file: Path) -> Any:
    """Those of a picture: 0 for the least of the values that it shows, 255 for the largest."""
    with Image.open(file) as image:
        assert image.mode == "P"
        return np.asarray(image)


@pytest.mark.mpi
def test_what_is_drawn(tmp_path: Path) -> None:
    """The same pixels on any number of processes: here of a set, which is symmetric, and light in its middle."""
    program = load("mandelbrot")
    draw(str(tmp_path / "x.png"), program, program.core(*program.problem(121), range(30)))
    if pg.RANK == 0:
        expected = np.log(load("mandelbrot", "numpy").core(*load("mandelbrot", "numpy").problem(121), range(30)))
        is_right = (pixels(tmp_path / "x.png") == (255 * expected / expected.max()).astype(int)).all()
    collectively(pg.RANK > 0 or bool(is_right))


@pytest.mark.mpi
def test_a_wrong_result_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def core(c: Any, steps: Any) -> Any:
        for _ in steps:
            c = c + 1
        return c

    core.__code__ = core.__code__.replace(co_filename="examples/mandelbrot.py")
    program = Program(lambda size: (pg.zeros(size),), core, lambda result, size, steps: {"too large": (steps, 2)},
                      lambda result: result, 20, 3, "step/s", lambda size, steps: steps, 0)
    main(program, argv=["--steps", "2"])
    with pytest.raises(SystemExit):
        main(program, argv=["--steps", "3"])
    printed = capsys.readouterr().out
    is_told = "too large: 2 (at most 2)\n" in printed and "too large: 3 (at most 2)  WRONG" in printed
    collectively(pg.RANK > 0 or is_told)


def test_command_line(tmp_path: Path) -> None:
    program = str(ROOT / "examples" / "jacobi_stencil.py")
    done = run_job(2, program, "--size", "30", "--steps", "7", "--picture", "x.png", "--check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "jacobi_stencil: size 30, 7 steps; processes: 2, " in done.stdout
    assert "Mpoint/s" in done.stdout
    assert "difference from NumPy: " in done.stdout
    assert "7/7" in done.stderr or "0/7" in done.stderr
    assert pixels(tmp_path / "x.png").shape == (128, 128)


def test_wrong_options(tmp_path: Path) -> None:
    done = run_job(2, str(ROOT / "examples" / "jacobi_stencil.py"), "--size", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("--size 0 is below 16") == 1
