"""The share of the cores that a process takes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pgaspy.job.threads import threads_from_masks


@pytest.mark.parametrize(("masks", "threads"), [
    ([[0]], [1]),
    ([[0, 1, 2, 3]], [4]),
    ([[0, 1], [0, 1]], [1, 1]),
    ([[0, 1], [2, 3]], [2, 2]),
    ([[0, 1, 2, 3]] * 2 + [[4, 5]], [2, 2, 2]),
    ([[0]] * 4, [1] * 4),
    ([[0, 1, 2]] * 2, [1, 1]),
])
def test_threads_from_masks(masks: list[list[int]], threads: list[int]) -> None:
    assert [threads_from_masks(masks, rank) for rank in range(len(masks))] == threads


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    launcher = ("OMPI_", "PMIX_", "PMI_", "PRTE_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(launcher) and k != "OMP_NUM_THREADS"}
    return subprocess.run([sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True,
                          check=False)


SHOW = "import pgaspy as pg; pg.RANK; from pgaspy.kernels import bindings; print(bindings.get_threads())"


def test_omp_num_threads_is_obeyed() -> None:
    assert run(SHOW, OMP_NUM_THREADS="1").stdout == "1\n"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity masks on this system")
def test_all_cores_of_the_mask_by_default() -> None:
    assert run(SHOW).stdout == f"{len(os.sched_getaffinity(0))}\n"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity masks on this system")
def test_more_threads_than_cores_are_warned_of() -> None:
    n_cores = len(os.sched_getaffinity(0))
    done = run(SHOW, OMP_NUM_THREADS=str(n_cores + 1))
    assert f"OMP_NUM_THREADS={n_cores + 1}, but this process (rank 0) may run on {n_cores} core(s)" in done.stderr
    assert "bind" in done.stderr
