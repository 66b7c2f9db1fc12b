"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["blockmath", "commands.network", "commands.topology", "showing.explaining", "host.launchers", "layout",
           "job.threads", "host.words"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, attempted = doctest.testmod(importlib.import_module(f"pgaspy.{name}"))
    assert attempted
    assert not failed
