"""What the programs share: options, the progress bar, the clock, checks and pictures.

A program is written for NumPy, with `import pgaspy as np` for `import numpy as np`, and ends with a `Program`:

    PROGRAM = Program(problem, core, checks, picture, size=1000, steps=100, ...)

    if __name__ == "__main__":
        main(PROGRAM)

`problem(size)` makes the arrays, and `core(*arrays, steps)` is the program itself. It goes through `steps`, a range or
what counts and shows the steps, and may end early. `load(name, "numpy")` is the same file with that one line changed
back, so that `core` can be run, compared and timed with either library.
"""

from __future__ import annotations

import argparse
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import pgaspy as pg
from pgaspy.algorithms._program import Parser, report, timed

__all__ = ["FOLDER", "SMALLEST_SIZE", "Program", "Steps", "gathered", "load", "main", "names", "with_whole"]

FOLDER = Path(__file__).parent
SMALLEST_SIZE = 16
"""With which all programs make sense."""

SMALLEST_PICTURE, LARGEST_PICTURE = 120, 240
"""In pixels, along the longer side."""


@dataclass(frozen=True)
class Program:
    """A program, and how it is run where nothing else is said.

    Attributes
    ----------
    problem
        `problem(size)` gives what `core` takes, as a tuple of arrays and numbers.
    core
        `core(*problem, steps)` gives an array, or a tuple of arrays and numbers. It may write to what it takes.
    checks
        `checks(result, size, steps)`: what holds of a result, as names with a pair of the value found, and of the
        largest one that is right.
    picture
        `picture(result)` gives an array of two dimensions, drawn in the colours that Matplotlib calls `colours`.
    size, steps
        Those of a run, unless the command line says others.
    unit, work
        `work(size, steps)` is how much is done, of which a rate is so many `unit` in a second.
    tolerance
        How far results may differ from NumPy's, relative to the largest value of each; or a function of the size.
    reference
        What does the same in NumPy, called as `core` is; where None, that is `core`.
    variant
        What it is called in its file.
    """

    problem: Callable[[int], tuple[Any, ...]]
    core: Callable[..., Any]
    checks: Callable[[Any, int, int], dict[str, tuple[float, float]]]
    picture: Callable[[Any], Any]
    size: int
    steps: int
    unit: str
    work: Callable[[int, int], float]
    tolerance: float | Callable[[int], float]
    colours: str = "viridis"
    reference: Callable[..., Any] | None = None
    variant: str = "PROGRAM"

    @property
    def name(self) -> str:
        """The name of its file."""
        return Path(self.core.__code__.co_filename).stem

    @property
    def title(self) -> str:
        """What it is called where it reports."""
        return self.name if self.variant == "PROGRAM" else f"{self.name}, {self.core.__name__}"


class Steps:
    """The numbers from 0 to n, which counts how many were taken, and shows it on rank 0.

    What is recorded counts as taken.
    """

    def __init__(self, n: int, title: str) -> None:
        self.n, self.title, self.n_taken = n, title, 0

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[int]:
        for step in tqdm(range(self.n), self.title, leave=False, disable=pg.RANK != 0):
            self.n_taken = step + 1
            yield step


def names() -> list[str]:
    """The programs of this folder."""
    return sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def load(name: str, library: str = "pgaspy", variant: str = "PROGRAM") -> Program:
    """A program, with `np` for pgaspy or NumPy."""
    path = FOLDER / f"{name}.py"
    module = types.ModuleType(name)
    text = path.read_text().replace("import pgaspy as np\n", f"import {library} as np\n")
    exec(compile(text, path, "exec"), vars(module))
    program: Program = getattr(module, variant)
    return replace(program, core=program.reference) if library == "numpy" and program.reference else program


def gathered(values: Any) -> Any:
    """Arrays, and what is in tuples and lists of them, as NumPy's on rank 0; None on others. Collective."""
    if isinstance(values, (tuple, list)):
        return type(values)(map(gathered, values))
    return values.gather(root=0) if isinstance(values, pg.GlobalArray) else values


def with_whole(A: Any, dim: int) -> Any:
    """An array that is dealt out in all dimensions but one; NumPy's arrays are whole in all. Collective."""
    if not isinstance(A, pg.GlobalArray):
        return A
    return A.redistribute(pg.Distribution(*["*" if d == dim else "block" for d in range(A.ndim)]))


def main(*programs: Program, argv: list[str] | None = None) -> None:
    """The command line of a file's programs, which are run one after the other; the first one is drawn."""
    arguments = parsed(programs[0], argv)
    for program in programs:
        run(program, arguments)
        arguments.picture = None


def run(program: Program, arguments: argparse.Namespace) -> None:
    """Run a program as the command line says. Collective."""
    size, steps = arguments.size, Steps(arguments.steps, program.name)
    problem = program.problem(size)
    given = gathered(problem) if arguments.check else None
    result, seconds = timed(program.core, *problem, steps)
    work = program.work(size, steps.n_taken) / seconds
    checks = dict(program.checks(result, size, steps.n_taken))
    if arguments.check:
        tolerance = program.tolerance(size) if callable(program.tolerance) else program.tolerance
        numpy_program = load(program.name, "numpy", program.variant)
        checks["difference from NumPy"] = difference(numpy_program, given, result, steps), tolerance
    if arguments.picture:
        draw(arguments.picture, program, result)
    report(f"{program.title}: size {size}, {steps.n_taken} steps", seconds, f"{work:.4g} {program.unit}", checks)


def parsed(program: Program, argv: list[str] | None) -> argparse.Namespace:
    """The options of a command line; it ends alike on every process where they are wrong."""
    parser = Parser(prog=f"python {program.name}.py")
    parser.add_argument("--size", type=int, default=program.size, help=f"of the problem (default: {program.size})")
    parser.add_argument("--steps", type=int, default=program.steps, help=f"of the core (default: {program.steps})")
    parser.add_argument("--picture", metavar="x.png", help="where to draw the result")
    parser.add_argument("--check", action="store_true", help="run the core with NumPy, too, and compare")
    arguments = parser.parse_args(argv)
    for name, smallest in (("size", SMALLEST_SIZE), ("steps", 1)):
        if getattr(arguments, name) < smallest:
            parser.error(f"--{name} {getattr(arguments, name)} is below {smallest}")
    try:
        if arguments.picture:
            import matplotlib  # noqa: F401  (before the work, if at all)
    except ImportError as error:
        parser.error(f"{error}: pictures need it (pip install matplotlib)")
    return arguments


def difference(numpy_program: Program, problem: Any, result: Any, steps: Steps) -> float:
    """How far a result is from what NumPy makes of the same problem, on one process. Collective."""
    found, differs = gathered(result), None
    if pg.RANK == 0:
        start = time.perf_counter()
        expected = numpy_program.core(*problem, range(len(steps)))
        print(f"NumPy, on one process: {time.perf_counter() - start:.3f} s")
        differs = farthest(found, expected)
    return float(pg.COMM.bcast(differs))


def farthest(found: Any, expected: Any) -> float:
    """The largest difference of values, relative to the largest value of each array; inf where these do not match."""
    if isinstance(expected, (tuple, list)):
        return float(np.max([farthest(one, other) for one, other in zip(found, expected, strict=True)]))
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.shape, found.dtype.kind) != (expected.shape, expected.dtype.kind):
        return np.inf
    if expected.dtype.kind not in "fc" or np.array_equal(found, expected):
        return 0.0 if np.array_equal(found, expected) else np.inf
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def draw(file: str, program: Program, result: Any) -> None:
    """Draw what a program says of its result, a pixel for each value, or for some of them. Collective."""
    values = program.picture(result)
    step = -(-max(values.shape) // LARGEST_PICTURE)
    values = gathered(values[::step, ::step])
    if pg.RANK == 0:
        from matplotlib import colormaps
        from PIL import Image

        times = -(-SMALLEST_PICTURE // max(values.shape))
        values = np.kron(values, np.ones((times, times)))
        low, high = np.nanmin(values), np.nanmax(values)
        levels = np.nan_to_num(255 * (values - low) / ((high - low) or 1)).astype(np.uint8)
        image = Image.fromarray(levels)
        image.putpalette((colormaps[program.colours](np.arange(256))[:, :3] * 255).astype(np.uint8).tobytes())
        image.save(file, optimize=True)
