"""Write docs/gallery.md: the programs of examples/, what they draw, the cores of them, and how fast they are.

Without arguments, what is written of programs is brought up to date, and pictures and speeds stay as they are. With
names, or `all`, these programs are run: as the page says, for the picture; and with the size and the steps that they
have by themselves, on two processes and by NumPy, for the speed.

Usage: python tools/gallery.py [NAME ... | all]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE, PICTURES, EXAMPLES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery", ROOT / "examples"

SECTIONS = {
    "DistNumPy's papers": {
        "mandelbrot": "--size 240", "black_scholes": "--size 240", "n_body": "--size 4000 --steps 150",
        "knn": "--size 20000", "lattice_boltzmann_2d": "--size 100 --steps 6000",
        "lattice_boltzmann_3d": "--size 40 --steps 400", "jacobi": "", "jacobi_stencil": "--size 120 --steps 3000",
        "monte_carlo_pi": "", "summa": "", "stencil_views": "--size 240 --steps 20"},
    "cphVB's and GAiN's": {
        "shallow_water": "--size 240 --steps 300", "n_body_vectors": "--size 3000 --steps 45",
        "laplace": "--size 120 --steps 5000"},
    "d2o's and GPAW's": {
        "wiener_filter": "--size 240 --steps 200", "power_spectrum": "--size 240",
        "slabs": "--size 240 --steps 60", "finite_differences": "", "orthonormal_states": "--size 78"},
    "Of today": {
        "conjugate_gradients": "--size 240", "multigrid": "--size 129", "navier_stokes": "--size 48 --steps 250",
        "game_of_life": "--size 200 --steps 500", "pca": "", "k_means": "",
        "page_rank": "--size 100000 --steps 20", "logistic_regression": "", "particles_in_cells": ""},
}
"""The programs, and how their pictures are made."""

N_LINES = 12
"""Of a core, as many are shown."""

NOT_OF_THE_CORE = {"checks", "picture", "reference"}


def functions(name: str) -> Iterator[tuple[str, list[str]]]:
    """The functions of a program that its core consists of, with the problem: lines of code, and no docstrings."""
    text = (EXAMPLES / f"{name}.py").read_text()
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name not in NOT_OF_THE_CORE:
            is_said = ast.get_docstring(node) is not None
            said = range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1) if is_said else ()
            numbers = range(node.lineno, (node.end_lineno or 0) + 1)
            yield node.name, [lines[n - 1] for n in numbers if n not in said and lines[n - 1].strip()]


def core(name: str) -> list[str]:
    """The lines of the function that a program is."""
    called, = re.findall(r"PROGRAM = Program\(problem, (\w+),", (EXAMPLES / f"{name}.py").read_text())
    return dict(functions(name))[called]


def page(speeds: dict[str, str]) -> str:
    """The page, with the speeds that were measured."""
    return "\n".join(lines_of_page(speeds)) + "\n"


def lines_of_page(speeds: dict[str, str]) -> Iterator[str]:
    """Its lines."""
    yield from ("# Gallery", "",
                "What the programs of `examples/` draw. Each is a file, and the sequential program for NumPy with one "
                "import changed (`import pgaspy as np`), or a few lines on local views. Shown are the first lines of "
                "each core. The speed is that on two processes of one thread each, with the size that the program has "
                "by itself, next to that of NumPy on one process, in the same run on a machine of two cores. It counts "
                "all from the first statement on: planning, and loading what earlier runs have compiled. This page is "
                "written by `tools/gallery.py`.")
    for section, programs in SECTIONS.items():
        yield from ("", f"## {section}")
        for name, options in programs.items():
            said = (ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())) or "").partition("\n\n")[0]
            lines = core(name)
            shown = lines if len(lines) <= N_LINES else [*lines[:N_LINES - 1], "    ..."]
            yield from ("", f"### {name}", "", " ".join(said.split()), "", f"![{name}](gallery/{name}.png)", "",
                        "```python", *shown, "```", "",
                        " ".join(f"`python examples/{name}.py {options} --picture {name}.png`".split()), "",
                        f"Speed: {speeds.get(name, 'not measured')}.")


def speeds_of(text: str) -> dict[str, str]:
    """The speeds that a page says."""
    return dict(re.findall(r"(?ms)^### (\w+)$.*?^Speed: (.*?)\.$", text))


def run(*arguments: str) -> str:
    """What Python prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def measured(name: str) -> str:
    """The speed of a program, whose kernels an earlier run has compiled."""
    for _ in range(2):
        printed = run("-m", "pgaspy", "run", "-n", "2", f"examples/{name}.py", "--check")
    numpy, seconds = (float(found) for found in re.search(
        r"NumPy, on one process: ([\d.]+) s.*?\n  ([\d.]+) s, ", printed, re.DOTALL).groups())
    title, rate = re.search(r"^\w+: (.*); processes.*\n  .* s, (.*)$", printed, re.MULTILINE).groups()
    return f"{rate} ({title}), {numpy / seconds:.2g} times NumPy's"


def main(names: list[str]) -> None:
    """Run programs, and write the page."""
    speeds = speeds_of(PAGE.read_text()) if PAGE.exists() else {}
    programs = {name: options for section in SECTIONS.values() for name, options in section.items()}
    PICTURES.mkdir(exist_ok=True)
    for name in programs if names == ["all"] else names:
        run(f"examples/{name}.py", *programs[name].split(), "--picture", str(PICTURES / f"{name}.png"))
        speeds[name] = measured(name)
        print(f"{name}: {speeds[name]}", flush=True)
        PAGE.write_text(page(speeds))
    PAGE.write_text(page(speeds))


if __name__ == "__main__":
    main(sys.argv[1:])
