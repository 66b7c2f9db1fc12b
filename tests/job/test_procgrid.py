"""The job: started on a communicator of the user's own, refused where the launcher and MPI do not fit together."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pgaspy as pg
from pgaspy.job.procgrid import ProcGrid, simulated, world
from tests.jobs import clean_environment

ON_HALF_OF_THE_PROCESSES = """
from mpi4py import MPI
import numpy as np
import pgaspy as pg

half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)
pg.init(half)
assert pg.SIZE == half.size and pg.RANK == half.rank and pg.COMM is half
A = pg.arange(10) * (MPI.COMM_WORLD.rank % 2 + 1)
assert (A[::-1].gather() == np.arange(10)[::-1] * (MPI.COMM_WORLD.rank % 2 + 1)).all()
try:
    pg.init(half)
except RuntimeError as error:
    print("refused:", error)
"""


def run_script(script: str, n: int, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    if n > 1:
        command = [sys.executable, "-m", "pgaspy", "run", "-n", str(n), *command]
    return subprocess.run(command, env=clean_environment() | environment, capture_output=True, text=True, timeout=60)


def test_init_runs_on_a_communicator_of_the_users() -> None:
    done = run_script(ON_HALF_OF_THE_PROCESSES, 3)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused: pgaspy runs already") == 3


@pytest.mark.parametrize("variable", ["PMI_SIZE", *(pytest.param(name, marks=pytest.mark.long) for name in (
    "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"))])
def test_many_jobs_of_one_process_are_refused(variable: str) -> None:
    done = run_script("import pgaspy", 1, **{variable: "2"})
    assert done.returncode
    assert f"{variable}=2" in done.stderr
    assert "--mpi=pmix" in done.stderr


def test_a_simulated_job_cannot_communicate() -> None:
    with simulated(6, 4) as job:
        assert (job.rank, job.size) == (4, 6)
        assert ProcGrid((3, 2), job.rank).coords == (2, 0)
        with pytest.raises(RuntimeError, match="simulated"):
            _ = job.communicator
    assert world().size == pg.SIZE


BEGUN_ANEW = """
from mpi4py import MPI
import pgaspy as pg
from pgaspy.job import defaults
from pgaspy.execution import recording
from pgaspy.job.procgrid import begin_anew

pg.datalayout(block=2)
for k in range(4):
    A = pg.arange(20.0)
    for n in range(7 * (pg.RANK + 1)):  # arrays that the others do not have are no part of what is compared
        pg.empty(3)
    try:
        B = A[::-1] + A
        if pg.RANK == k % pg.SIZE:
            raise recording.queue.fail(MemoryError("no more"))
        pg.sync()
        recording.queue.supervision.end()
    except (pg.JobError, MemoryError) as error:
        pass
    else:
        raise AssertionError("no failure was heard of")
    MPI.COMM_WORLD.Barrier()
    begin_anew()
    assert recording.queue.error is None and pg.stats().n_recorded == 0 and pg.datalayout(block=3) is None
    A = pg.arange(20.0)
    for _ in range(100):
        A = A[::-1] + 1
    assert float(A.sum()) == 190 + 2000
    MPI.COMM_WORLD.Barrier()
print("done")
"""


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_the_same_processes_begin_anew_after_a_failure(n: int) -> None:
    done = run_script(BEGUN_ANEW, n)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == n


OTHER_DEFAULTS = """
import pgaspy as pg
from pgaspy.job.procgrid import begin_anew

for grid in (pg.SIZE, 1), (1, pg.SIZE):
    pg.datalayout(grid=grid)
    x = pg.arange(8.0)
    for _ in range(40):  # at once, and recorded
        assert (x[:, None] + x).layout.grid == pg.maximum(x[:, None], x).layout.grid == grid
    begin_anew()
print("done")
"""


def test_results_lie_as_the_new_job_has_it() -> None:
    done = run_script(OTHER_DEFAULTS, 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2


LEFT_ALONE = """
import gc
import weakref

from mpi4py import MPI
import pgaspy as pg
from pgaspy.execution import queue, recording
from pgaspy.job.procgrid import begin_anew

queue.Queue.computes_at_once = False
A = pg.arange(100_000.0)
pg.sync()
B = A[::-1].copy()
held = weakref.ref(B._base.storage)
if pg.RANK == 0:  # begins to receive what rank 1 does not send
    recording.queue.max_operations = 1
    C = A + 1
    del C
begun = len(recording.queue.engine.under_way())
assert (begun > 0) == (pg.RANK == 0)
del A, B
begin_anew()
gc.collect()
assert (held() is not None) == (pg.RANK == 0)
MPI.COMM_WORLD.Barrier()
assert float(pg.ones(7).sum()) == 7
print("done")
"""


def test_messages_of_a_job_that_has_ended_keep_their_memory() -> None:
    """They may still arrive there, where another array of the new job would lie."""
    done = run_script(LEFT_ALONE, 2)
    assert done.stdout.count("done") == 2, done.stderr


SET_BEFORE_THE_FIRST_ARRAY = """
import pgaspy as pg

pg.datalayout(block=3)
arrays = [pg.zeros(20) for _ in range(2)]
assert all(str(A.layout.dims[0]).startswith("cyclic(3)") for A in arrays), [A.layout for A in arrays]
print("done")
"""

FIXED_BY_THE_FIRST_ARRAY = """
import pgaspy as pg

pg.zeros(20)
try:
    pg.datalayout(block=3)
except RuntimeError as error:
    assert "fixed" in str(error)
    print("done")
"""


@pytest.mark.parametrize("script", [SET_BEFORE_THE_FIRST_ARRAY, FIXED_BY_THE_FIRST_ARRAY])
def test_the_default_layout_is_set_before_the_job_starts(script: str) -> None:
    """Which the first array does."""
    done = run_script(script, 1)
    assert done.stdout == "done\n", done.stderr


COLLECTED_AT_ITS_START = """
import pgaspy as pg


class Found:
    def __del__(self):
        print("sum", float((pg.ones(100_000) * 2).sum()))


x = Found()
x.x = x
del x
print("all", float(pg.arange(10.0).sum()))
"""


def test_what_is_collected_as_a_job_starts_may_use_arrays() -> None:
    done = run_script(COLLECTED_AT_ITS_START, 2)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *["all 45.0"] * 2, *["sum 200000.0"] * 2]
