"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["blockmath", "commands.network", "commands.topology", "explaining", "launchers", "layout", "threads",
           "words"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"pgaspy.{name}"))
    assert attempted
    assert not failed
