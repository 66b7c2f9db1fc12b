"""The page of NumPy's names: as the tool writes it, and each name that works is in a test."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "coverage.py"))


WRITTEN = TOOL["PAGE"].read_text(encoding="utf-8")


def without_tests(page: str) -> list[str]:
    """The lines of the page, without the last column of its tables of names."""
    return [line.rsplit("|", 2)[0] if line.startswith("| `") else line for line in page.splitlines()]


def test_the_page_is_up_to_date() -> None:
    """Of the version of NumPy that it names; which of the tests that use a name it has may be older."""
    if f"NumPy {TOOL['VERSION']}," not in WRITTEN:
        pytest.skip("the page is of another version of NumPy")
    assert without_tests(WRITTEN) == without_tests(TOOL["page"]()), "call python tools/coverage.py"


def test_the_page_has_files_that_use_the_names() -> None:
    uses, prefixes = TOOL["used"](), {owner: prefix for prefix, (owner, *_) in TOOL["OWNERS"].items()}
    wrong = []
    for section in WRITTEN.split("\n## ")[1:]:
        prefix = prefixes[section.partition("\n")[0]]
        for name, files in re.findall(r"(?m)^\| `(\w+)` \|.*\| (.*) \|$", section):
            named = {*files.split(", ")} - {"", "test_ufuncs.py"}
            wrong += [name] * (not named <= uses.get(prefix + name, {}).keys())
    assert wrong == []


def test_names_that_work_are_in_tests() -> None:
    assert TOOL["untested"]() == []


def test_what_is_not_meaningful_is_not_there() -> None:
    """A reason that is out of date is found."""
    there = []
    for name in TOOL["NOT_MEANINGFUL"]:
        prefix = next(prefix for prefix in reversed(TOOL["OWNERS"]) if name.startswith(prefix))
        _, _, ours = TOOL["OWNERS"][prefix]
        there += [name] * hasattr(ours, name.removeprefix(prefix))
    assert there == []
