"""A failing process ends the job: which endings are failures, and their exit codes and last words.

Most are of a single process, which plays it with a communicator whose `Abort` ends it; see also `test_faults`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.jobs import run, run_job

START = """
import sys
from pgaspy.job.procgrid import world
job = world()
comm = job.communicator
"""

PLAYED_START = """
import mpi4py
mpi4py.rc.initialize = False
import os, sys, threading
from sys import exit as imported
from pgaspy.job import endings
class Played:
    rank, size = 2, 4
    def Abort(self, code):
        print("aborted", file=sys.stderr, flush=True)
        os._exit(code)
print("some output", end="")
endings.FORWARDING_SECONDS = 0
endings.abort_job_on_failure(Played())
"""


def run_played(tmp_path: Path, program: str, start: str = PLAYED_START) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(start + program)
    return run([sys.executable, str(script)], tmp_path)


# Jobs -----------------------------------------------------------------------------------------------------------------


def test_failure_of_a_module_run_by_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"{START}\nif job.rank == 1:\n    sys.exit('no input')\ncomm.Barrier()\n")
    done = run_job(2, "-m", "program", cwd=tmp_path)
    assert done.returncode == 1
    assert "rank 1 of 2: exit('no input')" in done.stderr


def test_success_of_a_job(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"{START}\ntry:\n    sys.exit(3)\nexcept SystemExit as error:\n    assert error.code == 3\n"
                      "comm.Barrier()\nprint('end', job.rank)\nsys.exit(0)\n")
    done = run_job(2, str(script), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "end 0" in done.stdout
    assert "end 1" in done.stdout


def test_a_program_goes_on_after_an_exception_that_is_only_printed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"""{START}
import sys, threading
def ignored():
    try:
        raise ValueError("of a callback")
    except ValueError:
        sys.excepthook(*sys.exc_info())
if job.rank == 1:
    ignored()
    thread = threading.Thread(target=ignored)
    thread.start()
    thread.join()
comm.Barrier()
print("end", job.rank)
comm.Barrier()
def hook(*_):
    previous(*_)
sys.excepthook, previous = hook, sys.excepthook
raise KeyError("at the end")
""")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("ValueError: of a callback") == 2, done.stderr
    assert {"end 0", "end 1"} <= {*done.stdout.split("\n")}
    assert "uncaught KeyError" in done.stderr


@pytest.mark.parametrize("end", ["failing()", "try:\n    failing()\nexcept KeyError:\n    pass",
                                 "try:\n    failing()\nexcept BaseException:\n    raise",
                                 "try:\n    failing()\nfinally:\n    x = 1",
                                 "import contextlib\nwith contextlib.suppress(KeyError):\n    failing()"])
@pytest.mark.parametrize(("error", "code"), [("ValueError('bad')", 1), ("KeyboardInterrupt", 130)])
def test_a_hook_in_the_place_of_ours_prints_and_the_job_ends(tmp_path: Path, error: str, code: int, end: str) -> None:
    (tmp_path / "program.py").write_text(f"""{START}
import pgaspy as pg
sys.excepthook = lambda kind, *_: print("hook", kind.__name__, file=sys.stderr)
def failing():
    raise {error}
try:
    failing()
except BaseException as found:
    sys.last_exc = sys.last_value = found
assert float(pg.ones(5).sum()) == 5
if job.rank == 0:
    comm.Barrier()
{end}
""")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == code
    assert f"hook {error.partition('(')[0]}" in done.stderr
    assert f"of 2: uncaught {error.partition('(')[0]}" in done.stderr


@pytest.mark.parametrize(("n", "status"), [(1, 0), (1, 5), (2, 5)])
def test_a_task_that_ends_the_program(tmp_path: Path, n: int, status: int) -> None:
    (tmp_path / "program.py").write_text(
        "import sys\nimport pgaspy as pg\nA = pg.zeros(4)\n"
        f"pg.schedule(lambda x: sys.exit({status}), pg.update(A))\nfloat(A.sum())\n")
    done = run_job(n, "program.py", cwd=tmp_path)
    assert done.returncode == status
    assert "TaskError" not in done.stderr


@pytest.mark.parametrize("end", ["", "sys.exit(0)"])
def test_a_kept_exception_ends_no_job(tmp_path: Path, end: str) -> None:
    """As debuggers keep one."""
    (tmp_path / "program.py").write_text(f"""{START}
import pgaspy as pg
def failing():
    try:
        raise ValueError
    except ValueError as error:
        sys.last_exc = sys.last_value = error
failing()
print("end", float(pg.ones(5).sum()))
try:
    1 / 0
except ZeroDivisionError as error:
    sys.last_exc = sys.last_value = error
{end}
""")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("end 5.0") == 2


def test_statements_that_no_code_in_python_makes(tmp_path: Path) -> None:
    """But a thread that begins in C, and the interpreter at its end: no line of the program is known to make them."""
    (tmp_path / "program.py").write_text(f"""{START}
import _thread, atexit, operator, time
import pgaspy as pg
A = pg.ones(5)
pg.sync()
atexit.register(lambda: print("at the end", A.gather()))
atexit.register(operator.iadd, A, 1)
_thread.start_new_thread(operator.iadd, (A, 1))
time.sleep(0.5)
print(A.gather())
""")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[2. 2. 2. 2. 2.]") == done.stdout.count("at the end [3. 3. 3. 3. 3.]") == 2, done.stdout


def test_one_process_hooks_what_is_printed(tmp_path: Path) -> None:
    program = "plain = sys.exit\nfrom pgaspy.job.procgrid import world\nassert world().size == 1\n"
    program += "assert sys.excepthook is not sys.__excepthook__\nassert sys.exit is plain\nraise ValueError('bad')\n"
    done = run_played(tmp_path, program, start="import sys\n")
    assert done.returncode == 1
    assert re.fullmatch(r'Traceback.*\n  File .*, line 7.*\n    raise .*\nValueError: bad\n', done.stderr)


@pytest.mark.parametrize("hook", ["sys.excepthook = lambda *_: print('another')", "sys.ps1 = '>>> '"])
def test_one_process_leaves_the_hooks_of_others(tmp_path: Path, hook: str) -> None:
    program = "before = sys.excepthook\nimport pgaspy\nassert sys.excepthook is before\n"
    done = run_played(tmp_path, program, start=f"import sys\n{hook}\n")
    assert done.returncode == 0, done.stderr


FAILING = """
import sys
import pgaspy as pg
from pgaspy.job import endings, shared_errors
A = pg.ones((8, 8))
A.local()
"""
PATIENTLY = "endings.FORWARDING_SECONDS = shared_errors.COLLECTING_SECONDS = 2\nshared_errors.WAITING_SECONDS = 20\n"
"""So that a machine with other work to do changes nothing."""


@pytest.mark.parametrize(("statement", "expected"), [
    ("A + pg.ones(5)", {"ranks 0-2 of 3: uncaught ValueError": 1}),
    ("if pg.RANK == 0: A + pg.ones(5)\nfloat(A.sum())", {"rank 0 of 3: uncaught ValueError": 1}),
    ("if pg.RANK != 1: A + pg.ones(5)\nfloat(A.sum())", {"ranks 0,2 of 3: uncaught ValueError": 1}),
    ("raise ValueError(max(pg.RANK, 1))",
     {"ranks 0-1 of 3: uncaught ValueError": 1, "rank 2 of 3: uncaught ValueError": 1}),
    ("raise ValueError(pg.RANK)", {f"rank {rank} of 3: uncaught ValueError": 1 for rank in range(3)}),
    ("sys.exit('no input')", {"ranks 0-2 of 3: exit('no input')": 1}),
])
def test_an_error_of_several_processes_is_printed_once(tmp_path: Path, statement: str,
                                                       expected: dict[str, int]) -> None:
    (tmp_path / "program.py").write_text(f"{FAILING}{PATIENTLY}{statement}\n")
    done = run_job(3, "program.py", cwd=tmp_path)
    assert done.returncode
    found = Counter(re.findall(r"(ranks? .* of \d: (?:uncaught \w+|exit.*))\n", done.stderr))
    assert found == expected, done.stderr
    assert done.stderr.count("Traceback") == len(expected), done.stderr


@pytest.mark.parametrize("statement", [
    "if pg.RANK: A + pg.ones(5)\nfloat(A.sum())",
    "endings.spoken_for = lambda *_: 1 // 0\nA + pg.ones(5)",
])
def test_errors_that_nobody_decides_on(tmp_path: Path, statement: str) -> None:
    """The first process does not fail, or MPI does: who fails speaks for itself."""
    (tmp_path / "program.py").write_text(f"{FAILING}{statement}\n")
    done = run_job(3, "program.py", cwd=tmp_path)
    assert done.returncode
    found = set(re.findall(r"(ranks? .* of \d: uncaught \w+)\n", done.stderr))
    assert found, done.stderr
    assert found <= {f"rank {rank} of 3: uncaught ValueError" for rank in range(3)}, done.stderr


LATE = """
import time
import numpy as np
from mpi4py import MPI
from pgaspy.job import shared_errors
comm = MPI.COMM_WORLD.Dup()
if comm.rank == 0:
    time.sleep(0.5)
    shared_errors.COLLECTING_SECONDS = 2
    assert shared_errors.spoken_for(comm, 0, "bad") == "rank 0"
    MPI.COMM_WORLD.Barrier()
else:
    shared_errors.WAITING_SECONDS = 0.1
    assert shared_errors.spoken_for(comm, 1, "worse") == "rank 1"
    memory = [np.zeros(shared_errors.ANSWER_BYTES, np.uint8) for _ in range(200)]
    MPI.COMM_WORLD.Barrier()
    for _ in range(1000):
        comm.Iprobe(0, 9)
    assert not any(part.any() for part in memory)
"""


def test_an_answer_that_comes_late_is_written_to_no_memory(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LATE)
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


FORKING = """
import os
import pgaspy as pg
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    child = os.fork()
    if not child:
        try:
            pg.ones(10)
        except RuntimeError as error:
            os._exit("is a fork of one" not in str(error))
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert pg.arange(10).sum() == 45
"""


def test_a_fork_does_not_begin_the_job(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORKING)
    done = run_job(2, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_divergence_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(FAILING + "if pg.RANK == 0:\n    float(A.sum())\n")
    for how, has_frames in (("short", False), ("full", True)):
        monkeypatch.setenv("PGASPY_CHECK", "1")
        monkeypatch.setenv("PGASPY_TRACEBACK", how)
        done = run_job(3, "program.py", cwd=tmp_path)
        assert done.returncode
        said = re.search(r"ranks? .* of 3: uncaught DivergenceError\n(.*)\n", done.stderr)
        assert said is not None, done.stderr
        assert "DivergenceError: the processes do not do the same" in said[1]
        assert ("Traceback" in done.stderr) == has_frames


# One process, played -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("program", "code", "words"), [
    ("raise ValueError('bad')", 1, ["rank 2 of 4: uncaught ValueError\n", "Traceback", "ValueError: bad"]),
    ("raise KeyboardInterrupt", 130, ["rank 2 of 4: uncaught KeyboardInterrupt\n", "Traceback"]),
    ("sys.stderr = open(2, 'w', encoding='ascii', closefd=False)\nraise ValueError('\\xe9')", 1,
     ["rank 2 of 4: uncaught ValueError\n", "Traceback", "ValueError: \\xe9\n"]),
    ("sys.stderr = open(2, 'w', encoding='cp437', closefd=False)\nraise ValueError('\\u20ac')", 1,
     ["rank 2 of 4: uncaught ValueError\n", "Traceback", "ValueError: \\u20ac\n"]),
    ("def f():\n    sys.exit(7)\nf()", 7, ["rank 2 of 4: exit(7)\n", "Traceback", "in f\n"]),
    ("sys.exit('no input')", 1, ["rank 2 of 4: exit('no input')\n", "\nno input\n"]),
    ("sys.exit(-1)", 255, ["exit(-1)"]),
    ("sys.exit(256)", 1, ["exit(256)"]),
    ("sys.exit((1, 2))", 1, ["(1, 2)\n"]),
    ("quit(5)", 5, ["exit(5)"]),
    ("imported(5)", 5, ["exit(5)", "in <module>"]),
    ("def f():\n    raise SystemExit(3)\nf()", 3, ["rank 2 of 4: exit(3)\n", "Traceback", "in f\n"]),
    ("try:\n    int('x')\nexcept ValueError as error:\n    seen = error\nraise SystemExit(3)", 3, ["line", "exit(3)"]),
    ("sys.excepthook = sys.__excepthook__\nraise SystemExit(3)", 3, ["exit(3)"]),
    ("try:\n    sys.exit(7)\nfinally:\n    print('cleaned')", 7, ["exit(7)"]),
    ("try:\n    sys.exit(7)\nexcept SystemExit as error:\n    error.code = 8\n    raise", 8, ["exit(8)"]),
    ("import argparse\nargparse.ArgumentParser().parse_args(['-x'])", 2, ["unrecognized", "exit(2)"]),
])
def test_aborts(tmp_path: Path, program: str, code: int, words: list[str]) -> None:
    done = run_played(tmp_path, program)
    assert done.returncode == code
    assert done.stderr.endswith("aborted\n")
    assert done.stdout.startswith("some output")
    for text in words:
        assert text in done.stderr


@pytest.mark.parametrize(("program", "code"), [
    ("", 0),
    ("sys.exit()", 0),
    ("sys.exit(None)", 0),
    ("sys.exit(0)", 0),
    ("try:\n    sys.exit(3)\nexcept SystemExit as error:\n    assert error.code == 3", 0),
    ("try:\n    sys.exit('text')\nexcept SystemExit as error:\n    assert str(error) == error.code == 'text'", 0),
    ("thread = threading.Thread(target=sys.exit, args=(3,))\nthread.start()\nthread.join()", 0),
    ("if os.fork() == 0:\n    sys.exit(3)\nassert os.waitstatus_to_exitcode(os.wait()[1]) == 3", 0),
    ("raise SystemExit", 0),
    ("raise SystemExit(None)", 0),
    ("try:\n    raise SystemExit(3)\nexcept SystemExit as error:\n    assert error.code == 3", 0),
])
def test_does_not_abort(tmp_path: Path, program: str, code: int) -> None:
    done = run_played(tmp_path, program)
    assert done.returncode == code, done.stderr
    assert not done.stderr


def test_previous_hook_is_called_and_may_fail(tmp_path: Path) -> None:
    start = "import sys\ndef previous(*_):\n    raise RuntimeError('hook')\nsys.excepthook = previous\n" + PLAYED_START
    done = run_played(tmp_path, "raise ValueError('bad')", start)
    assert done.returncode == 1
    assert "aborted" in done.stderr


def test_interactive_sessions_are_left_alone(tmp_path: Path) -> None:
    start = "import sys\nsys.ps1 = '>>> '\nplain = sys.exit\n" + PLAYED_START
    done = run_played(tmp_path, "assert sys.exit is plain\nassert sys.excepthook is sys.__excepthook__", start)
    assert done.returncode == 0, done.stderr


THREADS = """
import atexit, threading
def say():
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("pgaspy")]
    print("left", left, flush=True)
atexit.register(say)  # called after what pgaspy does at the end
import pgaspy as pg
A = pg.ones(1000)
"""


@pytest.mark.parametrize(("n", "settings", "program"), [
    (2, {}, "B = A[::-1].copy()\npg.schedule(lambda a: None, pg.update(A))\npg.sync()\n"
            "from pgaspy.execution import progress\nwith progress.meanwhile(lambda: False):\n    pass\n"),
    (1, {"PGASPY_TIMEOUT": "60"}, "1 // 0"),
])
def test_no_thread_is_left_when_the_interpreter_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int,
                                                     settings: dict[str, str], program: str) -> None:
    """The interpreter ends threads while the MPI library is going; it does so by unwinding their stacks."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "program.py").write_text(THREADS + program)
    done = run_job(n, "program.py", cwd=tmp_path)
    assert done.stdout.splitlines() == ["left []"] * n, done.stderr
