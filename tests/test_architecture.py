"""The drawing in the design note is the house: every module has a room, and imports go down, wherever they stand."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"pgaspy": ROOT / "pgaspy", "pgaspy.algorithms": ROOT / "algorithms"}
OF_ALL = {"__init__", "__main__", "_build_kernels"}
"""Files that stand for the whole, or come before it."""

NOT_PURE = {"mpi4py", "kernels"}
Imports = Mapping[str, set[str]]


def drawing() -> list[tuple[list[str], str]]:
    """The rooms of each floor, from the top, and what is said of them."""
    text = (ROOT / "docs" / "design.md").read_text().partition("## The house")[2]
    lines = re.findall(r"^    ([^-\s].*?)   +(.*)$", text.partition("## ")[0], re.MULTILINE)
    return [([name.rstrip("/") for name in names.split()], words) for names, words in lines]


def imports() -> dict[str, set[str]]:
    """What the files of each room import: other rooms; and MPI."""
    found: dict[str, set[str]] = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            room = ".".join([*package.split("."), *path.relative_to(folder).with_suffix("").parts]).split(".")[1]
            if room not in OF_ALL:
                found.setdefault(room, set()).update(set(imported(path.read_text())) - {room})
    return found


def imported(text: str) -> Iterator[str]:
    """The rooms that a file imports anywhere; and MPI."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, *rest = name.split(".")
            if package == "pgaspy":
                yield from rest[:1]
            elif package in NOT_PURE:
                yield package


def faults(floors: list[tuple[list[str], str]], imports: Imports) -> list[str]:
    """What is wrong with a house."""
    floor_of = {room: number for number, (rooms, _) in enumerate(floors) for room in rooms}
    found = [f"{room} has no room in the drawing" for room in imports if room not in floor_of]
    found += [f"{room} is drawn, and is not there" for room in floor_of if room not in imports]
    inside = {room: {other for other in others if other in floor_of} for room, others in imports.items()}
    found += [f"{room} imports {other}, above it" for room, others in inside.items() for other in sorted(others)
              if room in floor_of and floor_of[other] < floor_of[room]]
    try:
        order = list(graphlib.TopologicalSorter(inside).static_order())
    except graphlib.CycleError as error:
        return [*found, f"a circle: {' -> '.join(error.args[1])}"]
    reached: dict[str, set[str]] = {}
    for room in order:
        reached[room] = set(imports.get(room, ())).union(*(reached[other] for other in inside.get(room, ())))
    return found + [f"{room} is pure, and knows {', '.join(sorted(reached[room] & NOT_PURE))}"
                    for rooms, words in floors if words.endswith("(pure)") for room in rooms
                    if reached.get(room, set()) & NOT_PURE]


def test_the_house_is_as_it_is_drawn() -> None:
    assert faults(drawing(), imports()) == []


HOUSE = [(["array"], "the class"), (["view", "boxes"], "maths   (pure)"), (["kernels"], "C")]


@pytest.mark.parametrize(("found", "fault"), [
    ({"array": {"view", "kernels"}, "view": {"boxes"}}, None),
    ({"array": set(), "view": {"array"}}, "view imports array, above it"),
    ({"array": set(), "view": {"boxes"}, "boxes": {"view"}}, "a circle: "),
    ({"array": {"tree"}, "tree": set()}, "tree has no room in the drawing"),
    ({"array": set(), "view": set(), "boxes": {"mpi4py"}}, "boxes is pure, and knows mpi4py"),
    ({"array": set(), "view": {"boxes"}, "boxes": {"kernels"}}, "view is pure, and knows kernels")])
def test_each_fault_is_found(found: dict[str, set[str]], fault: str | None) -> None:
    rooms = {room: set[str]() for floor, _ in HOUSE for room in floor}
    said = faults(HOUSE, rooms | found)
    assert any(fault in words for words in said) if fault else said == []


def test_imports_are_found_wherever_they_stand() -> None:
    text = """
import array, numpy as np
import pgaspy as pg
import pgaspy.layout
from mpi4py import MPI
from pgaspy import jit, view as v
from ._program import report
if TYPE_CHECKING:
    from pgaspy.nodes import Node
def f():
    from pgaspy.linalg.norms import norm
"""
    assert sorted(imported(text)) == ["jit", "layout", "linalg", "mpi4py", "nodes", "view"]
