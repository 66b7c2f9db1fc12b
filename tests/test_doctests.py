"""The examples in the docstrings are true, of each module that has some."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import pgaspy as pg
import pgaspy.algorithms
from tests.together import collectively

PACKAGES = {"pgaspy": pg, "pgaspy.algorithms": pgaspy.algorithms}
ARE_PROGRAMS = {"pgaspy.__main__", "pgaspy._build_kernels"}
OF_ONE_PROCESS = {"pgaspy.showing.printing"}  # on others, nothing is printed


def modules() -> list[str]:
    """The modules that have examples."""
    found = [name for package in PACKAGES
             for _, name, _ in pkgutil.walk_packages(PACKAGES[package].__path__, f"{package}.")]
    names = {*PACKAGES, *found} - ARE_PROGRAMS
    return sorted(name for name in names if examples(name))


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of a module."""
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]


def report(test: doctest.DocTest) -> str:
    """What is wrong with an example."""
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    return "".join(said)


@pytest.mark.mpi
@pytest.mark.every
@pytest.mark.parametrize("name", [name for name in modules() if pg.SIZE == 1 or name not in OF_ONE_PROCESS])
def test_examples(name: str) -> None:
    for test in examples(name):
        said = report(test)
        collectively(not said, said)
