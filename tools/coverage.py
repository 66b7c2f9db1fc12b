"""Write docs/coverage.md: which of NumPy's names there are, what to call in place of others, and which tests use them.

Usage: python tools/coverage.py
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pgaspy as pg
from pgaspy.missing import INSTEAD, instead_of

__all__ = ["NOT_MEANINGFUL", "OWNERS", "PAGE", "VERSION", "page", "untested"]

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "coverage.md"
VERSION = ".".join(np.__version__.split(".")[:2])

OWNERS: dict[str, tuple[str, Any, Any]] = {
    "": ("numpy", np, pg),
    "linalg.": ("numpy.linalg", np.linalg, pg.linalg),
    "fft.": ("numpy.fft", np.fft, pg.fft),
    "random.": ("numpy.random.Generator", np.random.Generator, pg.random.Generator),
    "array.": ("numpy.ndarray", np.ndarray, pg.GlobalArray),
}
"""What comes before a name in the tests' tables -> where NumPy has it, NumPy's object, and that of pgaspy."""

_MODULE = "a module of NumPy's own, to import from NumPy"
_MEMORY = "of the memory of one process"
_SUBCLASS = "a class of NumPy's arrays of its own"
_WALK = "goes over the elements in one process"
_NUMPY = "of NumPy itself"
_SAME = "NumPy's own object"

NOT_MEANINGFUL = {
    **dict.fromkeys(("char", "core", "ctypeslib", "dtypes", "emath", "exceptions", "f2py", "ma", "polynomial",
                     "rec", "strings", "testing", "typing"), _MODULE),
    **dict.fromkeys(("asmatrix", "bmat", "matrix", "memmap", "recarray"), _SUBCLASS),
    **dict.fromkeys(("broadcast", "flatiter", "nditer", "nested_iters"), _WALK),
    **dict.fromkeys(("get_include", "getbufsize", "info", "setbufsize", "show_config", "show_runtime", "test",
                     "linalg.test", "fft.test"), _NUMPY),
    **dict.fromkeys(("isfortran", "require", "array.base", "array.ctypes", "array.data", "array.flags",
                     "array.getfield", "array.setfield", "array.setflags", "array.strides"), _MEMORY),
    "array.byteswap": "arrays are in the machine's order of bytes",
    "array.resize": "arrays keep their shape",
    "random.bit_generator": "numbers follow from the seed and the index, and no state",
}
"""Name -> why pgaspy cannot have it."""


class Name(NamedTuple):
    """A name of NumPy.

    Attributes
    ----------
    text
        The name.
    is_there
        Whether pgaspy has it.
    said
        Of one that it has not: what to call instead, or why there is nothing. Of one that is NumPy's own: that.
    files
        Where tests use it, the file with most uses first.
    """

    text: str
    is_there: bool
    said: str
    files: tuple[str, ...]

    @property
    def state(self) -> str:
        """Works, raises, or is not meaningful."""
        return "works" if self.is_there else "not meaningful" if self.said in NOT_MEANINGFUL.values() else "raises"

    @property
    def is_untested(self) -> bool:
        """Whether it works, and no test uses it."""
        return self.is_there and not self.files and self.said != _SAME


def names(prefix: str, uses: dict[str, Counter[str]]) -> list[Name]:
    """All public names of one of NumPy's modules and classes."""
    _, numpys, ours = OWNERS[prefix]
    found = []
    for text in sorted(dir(numpys), key=str.lower):
        if text.startswith("_"):
            continue
        is_there = hasattr(ours, text)
        if not is_there:
            found.append(Name(text, False, NOT_MEANINGFUL.get(prefix + text) or advice(prefix, text), ()))
            continue
        files = _chosen(uses.get(prefix + text, Counter()))
        is_same = getattr(ours, text) is getattr(numpys, text)
        if is_same and isinstance(getattr(numpys, text), np.ufunc):
            found.append(Name(text, True, "", ("test_ufuncs.py", *files)[:2]))  # which goes through all of them
        else:
            found.append(Name(text, True, _SAME if is_same and not prefix else "", files))
    return found


def _chosen(files: Counter[str]) -> tuple[str, ...]:
    """Two files that use a name: those of its module's tests, if there are any, and those that use it most."""
    return tuple(sorted(files, key=lambda file: (file.startswith(("campaign/", "kernels/", "standard/")), -files[file]
                                                 ))[:2])


def advice(prefix: str, text: str) -> str:
    """What the error of a name that is missing says."""
    if prefix == "random.":
        try:
            getattr(pg.random.default_rng(1), text)
        except AttributeError as error:
            return str(error).partition(": ")[2]
    if text in INSTEAD:
        return instead_of(text)
    return "NumPy's, with `A.gather()`" + ("" if prefix == "array." else "; or in `pg.fallback()`")


# What tests use ------------------------------------------------------------------------------------------------------


MODULES = {"pg", "m", "xp", "pgaspy"}
"""How tests name the module pgaspy, or one that may be it."""


def used() -> dict[str, Counter[str]]:
    """Name, with what comes before it -> in which test files it is used, and how often."""
    found: dict[str, Counter[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(ROOT / "tests").as_posix()
        if file == "campaign/names.py":  # of those that are left out
            continue
        for name in _used_in(text):
            found.setdefault(name, Counter())[file] += 1
    return found


def _used_in(text: str) -> Iterator[str]:
    calls_by_name = "getattr(" in text or "ROWS = " in text
    owners = {"", *(f"{owner}." for owner in re.findall(r"getattr\(\w+\.(linalg|fft|random)\b", text))}
    draws = "default_rng" in text
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            yield from _of_attribute(node, draws)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if calls_by_name and re.fullmatch(r"[\w.]+", node.value):
                yield from (owner + node.value for owner in owners)
            yield from re.findall(r"\bpg\.((?:linalg\.|fft\.)?\w+)", node.value)


def _of_attribute(node: ast.Attribute, draws: bool) -> Iterator[str]:
    of = node.value
    if isinstance(of, ast.Name) and of.id in MODULES:
        yield node.attr
    elif isinstance(of, ast.Attribute) and of.attr in ("linalg", "fft"):
        if not (isinstance(of.value, ast.Name) and of.value.id == "np"):
            yield f"{of.attr}.{node.attr}"
    elif isinstance(of, ast.Name) and of.id in ("linalg", "fft"):
        yield f"{of.id}.{node.attr}"
    elif not (isinstance(of, ast.Name) and of.id == "np"):
        yield f"array.{node.attr}"
        if draws:
            yield f"random.{node.attr}"


# The page ------------------------------------------------------------------------------------------------------------


def page() -> str:
    """The text of the page."""
    uses = used()
    tables = {prefix: names(prefix, uses) for prefix in OWNERS}
    lines = [
        "# Which of NumPy's names there are", "",
        f"All public names of NumPy {VERSION}, as `python tools/coverage.py` finds them. A name *works* where pgaspy",
        "has it: as its own, for which there are tests, or as NumPy's own object: a dtype, or of no array. One that",
        "*raises* says what to call instead, or is called on gathered copies within `pg.fallback()`. What is *not",
        "meaningful* cannot be had of arrays that lie on many processes. The tests are files in `tests/` that use the",
        "name.", "",
        "| | works | of these, NumPy's own | raises | not meaningful | all |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *[_counts(f"`{OWNERS[prefix][0]}`", found) for prefix, found in tables.items()],
        _counts("all", [name for found in tables.values() for name in found]),
    ]
    for prefix, found in tables.items():
        lines += ["", f"## {OWNERS[prefix][0]}", "", "| name | | tests |", "| --- | --- | --- |"]
        lines += [f"| `{name.text}` | {name.state}{': ' + name.said if name.said else ''} | {', '.join(name.files)} |"
                  for name in found]
    return "\n".join(lines) + "\n"


def _counts(title: str, found: list[Name]) -> str:
    states = Counter(name.state for name in found)
    n_same = sum(name.said == _SAME for name in found)
    return (f"| {title} | {states['works']} | {n_same} | {states['raises']} | {states['not meaningful']} | "
            f"{len(found)} |")


def untested() -> list[str]:
    """The names that work, and that no test uses."""
    uses = used()
    return [prefix + name.text for prefix in OWNERS for name in names(prefix, uses) if name.is_untested]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
