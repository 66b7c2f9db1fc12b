"""What the C library keeps of the memory that a program frees."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pgaspy.host import allocation

PROGRAM = """
import resource
import numpy as np
from pgaspy.host.allocation import keep_what_is_freed
keep_what_is_freed()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    np.ones(1 << 16) + 1
before = faults()
for _ in range(20):
    np.ones(1 << 16) + 1
print(faults() - before)
"""


def n_faults(**variables: str) -> int:
    """The pages that the program's temporaries take newly."""
    environment = {k: v for k, v in os.environ.items() if k not in allocation.VARIABLES} | variables
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_pages_of_temporaries_are_used_again() -> None:
    assert n_faults() < 20


@pytest.mark.parametrize("name", ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"])
def test_the_word_of_the_environment_counts(name: str) -> None:
    assert n_faults(**{name: str(1 << 16)}) > 1000
