"""The benchmarks: each finds what it measures, which renaming a function may change."""

import importlib
from pathlib import Path

import pytest

import bench

FOLDER = Path(bench.__file__).parent
MODULES = [path.relative_to(FOLDER.parent).with_suffix("") for path in sorted(FOLDER.rglob("*.py"))]


@pytest.mark.parametrize("module", [".".join(path.parts) for path in MODULES if path.name[0] != "_"])
def test_a_benchmark_finds_what_it_measures(module):
    importlib.import_module(module)
