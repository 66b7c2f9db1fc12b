"""The drawing in the design note is the house: every module has a room, and imports go down, wherever they stand."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.jobs import ROOT, run

FOLDERS = {"pgaspy": ROOT / "pgaspy", "pgaspy.algorithms": ROOT / "algorithms"}
OF_ALL = {"__init__", "__main__", "_build_kernels"}
"""Files that stand for the whole, or come before it."""

NOT_PURE = {"mpi4py", "kernels"}
Imports = Mapping[str, set[str]]


class Floor(NamedTuple):
    """Rooms of one row: modules, or folders of which the drawing shows no modules."""

    rooms: list[str]
    is_pure: bool = False


def drawing(text: str) -> list[Floor]:
    """The floors of a drawing, from the top."""
    found: list[Floor] = []
    folder, is_pure = "", False
    for indent, names, words in re.findall(r"^    (  )?([^-\s].*?)(?:   +(.*))?$", text, re.MULTILINE):
        if indent:
            if found[-1].rooms == [folder]:
                found.pop()  # its modules are shown
            found.append(Floor([f"{folder}.{name}" for name in names.split()], is_pure))
        else:
            folder, is_pure = names.rstrip("/"), words.endswith("(pure)")
            found.append(Floor(folder.split(), is_pure))
    return found


def house() -> list[Floor]:
    """The floors of the design note."""
    text = (ROOT / "docs" / "design.md").read_text().partition("## The house")[2]
    return drawing(text.partition("- **")[0])


def imports() -> dict[str, set[str]]:
    """What each module imports: other modules; and MPI."""
    found: dict[str, set[str]] = {}
    for package, folder in FOLDERS.items():
        in_c = [path for path in folder.rglob("*.pyi") if not path.with_suffix(".py").exists()]
        for path in [*folder.rglob("*.py"), *in_c]:
            module = [*package.split("."), *path.relative_to(folder).with_suffix("").parts][1:]
            if module[-1] not in OF_ALL:
                found[".".join(module)] = {*imported(path.read_text())}
    return found


def imported(text: str) -> Iterator[str]:
    """What a file may import anywhere: modules of pgaspy, or names in them; and MPI."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "pgaspy" and rest:
                yield rest
            elif package in NOT_PURE:
                yield package


def room_of(name: str, rooms: Collection[str]) -> str | None:
    """The room of a module, or of a name in it."""
    while name and name not in rooms:
        name = name.rpartition(".")[0]
    return name or None


def by_room(modules: Imports, rooms: Collection[str]) -> dict[str, set[str]]:
    """What the rooms import, of each other and of MPI; a module that has none is its own."""
    found: dict[str, set[str]] = {}
    for module, names in modules.items():
        room = room_of(module, rooms) or module
        others = {room_of(name, {*rooms, *modules}) or name for name in names}
        found.setdefault(room, set()).update(others - {room})
    return found


def faults(floors: list[Floor], modules: Imports) -> list[str]:
    """What is wrong with a house."""
    floor_of = {room: number for number, floor in enumerate(floors) for room in floor.rooms}
    found_in = by_room(modules, floor_of)
    found = [f"{room} has no room in the drawing" for room in found_in if room not in floor_of]
    found += [f"{room} is drawn, and is not there" for room in floor_of if room not in found_in]
    inside = {room: {other for other in others if other in floor_of} for room, others in found_in.items()}
    found += [f"{room} imports {other}, above it" for room, others in inside.items() for other in sorted(others)
              if room in floor_of and floor_of[other] < floor_of[room]]
    try:
        order = list(graphlib.TopologicalSorter(inside).static_order())
    except graphlib.CycleError as error:
        return [*found, f"a circle: {' -> '.join(error.args[1])}"]
    reached: dict[str, set[str]] = {}
    for room in order:
        others = {other if other in NOT_PURE else other.split(".")[0] for other in found_in.get(room, ())}
        reached[room] = others.union(*(reached[other] for other in inside.get(room, ())))
    return found + [f"{room} is pure, and knows {', '.join(sorted(reached[room] & NOT_PURE))}"
                    for floor in floors if floor.is_pure for room in floor.rooms if reached.get(room, set()) & NOT_PURE]


def test_the_house_is_as_it_is_drawn() -> None:
    assert faults(house(), imports()) == []


DRAWN = """
    array  dispatch        the class
    ------------------------------
    planning/              maths   (pure)
      view  boxes          views
      segments             one dimension
    linalg/                names
    kernels/
      bindings             C
    layout                 arithmetic   (pure)
"""


def test_the_drawing_is_read() -> None:
    assert drawing(DRAWN) == [
        Floor(["array", "dispatch"]), Floor(["planning.view", "planning.boxes"], True),
        Floor(["planning.segments"], True), Floor(["linalg"]), Floor(["kernels.bindings"]), Floor(["layout"], True)]


@pytest.mark.parametrize(("found", "fault"), [
    ({"array": {"planning.view.View", "kernels.bindings"}, "planning.view": {"planning.boxes"}}, None),
    ({"linalg.norms": {"linalg.products", "layout.Layout"}, "linalg.products": set()}, None),
    ({"planning.view": {"array.GlobalArray"}}, "planning.view imports array, above it"),
    ({"planning.segments": {"planning.view"}}, "planning.segments imports planning.view, above it"),
    ({"linalg.norms": {"planning.view"}}, "linalg imports planning.view, above it"),
    ({"planning.view": {"planning.boxes.Box"}, "planning.boxes": {"planning.view"}}, "a circle: "),
    ({"array": {"tree"}, "tree": set()}, "tree has no room in the drawing"),
    ({"planning.trees": set()}, "planning.trees has no room in the drawing"),
    ({"layout": {"mpi4py"}}, "layout is pure, and knows mpi4py"),
    ({"planning.view": {"layout"}, "layout": {"mpi4py"}}, "planning.view is pure, and knows mpi4py"),
    ({"planning.view": {"planning.boxes"}, "planning.boxes": {"kernels.bindings.copy"}},
     "planning.view is pure, and knows kernels")])
def test_each_fault_is_found(found: dict[str, set[str]], fault: str | None) -> None:
    floors = drawing(DRAWN)
    modules: dict[str, set[str]] = {room: set() for floor in floors for room in floor.rooms if room != "linalg"}
    said = faults(floors, {"linalg.triangles": set(), **modules, **found})
    assert any(fault in words for words in said) if fault else said == []


def test_imports_are_found_wherever_they_stand() -> None:
    text = """
import array, numpy as np
import pgaspy as pg
import pgaspy.layout
from mpi4py import MPI
from pgaspy.kernels import jit, bindings as b
from ._program import report
if TYPE_CHECKING:
    from pgaspy.scheduling.nodes import Node
def f():
    from pgaspy.linalg.norms import norm
"""
    assert sorted(imported(text)) == ["kernels.bindings", "kernels.jit", "layout", "linalg.norms.norm", "mpi4py",
                                      "scheduling.nodes.Node"]


def test_all_folders_are_installed() -> None:
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT).parts for path in (ROOT / "pgaspy").rglob("__init__.py")}
    assert sorted(installed) == sorted([*map(".".join, folders), "pgaspy.algorithms"])


def test_numpys_state_of_errors_is_set_in_contexts_of_their_own() -> None:
    """`np.errstate` leaves it as it has set it, where an interrupt comes as it begins or ends."""
    assert not [str(path) for path in FOLDERS["pgaspy"].rglob("*.py") if re.search(r"errstate\(", path.read_text())]


def test_import_takes_what_every_program_needs() -> None:
    """Each process of a job pays for it: what few programs need is imported when they do."""
    assert libraries_after("") == []


def test_transforms_take_no_other_library() -> None:
    assert libraries_after("pgaspy.fft.fft2(pgaspy.fft.irfftn(pgaspy.ones((8, 8)))).local()") == []


def test_numpys_arrays_and_numbers_take_no_masked_arrays() -> None:
    call = "(pgaspy.full(3, numpy.float64(2)) + numpy.ones(3)).local(); assert 'numpy.ma' not in sys.modules"
    assert libraries_after(call) == []


def test_products_and_factors_take_two_modules_of_a_library() -> None:
    call = "pgaspy.blas.add_product(*numpy.ones((3, 2, 2)))"
    again = "from scipy.linalg import cython_blas; import scipy.linalg; assert scipy.linalg.cython_blas is cython_blas"
    assert libraries_after(call) == ["scipy"]
    assert libraries_after(f"{call}; assert 'scipy.linalg' not in sys.modules; {again}; {call}") != []


def libraries_after(statement: str) -> list[str]:
    """Those that are imported for a statement, among some that take long."""
    script = (f"import sys, numpy, pgaspy; {statement}\n"
              "print(*{name.partition('.')[0] for name in sys.modules} & {'scipy', 'matplotlib', 'unittest'})")
    done = run([sys.executable, "-c", script], ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
