"""The watchdog: jobs in which some process hangs, of which all processes tell where they are."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pgaspy.commands.sites import this_site
from tests.jobs import clean_environment, launcher, run, run_job

START = """
import os, sys, threading, time
import numpy as np
import pgaspy as pg

A = pg.ones((12, 12))
pg.sync()
is_last = pg.RANK == pg.SIZE - 1

def hang():
    time.sleep(3)
    os._exit(7)

def work(a):
    if is_last:
        hang()
"""

HANGS = {  # what the last process is in, and the others
    "in the program": ("""
if is_last:
    hang()
print(float(A.sum()))
""", r"in the program\n  at program.py:\d+ in hang: time.sleep\(3\)\n  at program.py:\d+ in <module>: hang\(\)",
                       r"in float, waiting for messages\n  receive 8 bytes from rank \d, for \d s, of sum \(reduce\) "
                       r"at program.py:\d+: print.*\n(.*\n)*  at program.py:\d+ in <module>: print"),
    "in a task": ("""
pg.schedule(work, pg.update(A))
pg.sync()
pg.COMM.Barrier()
""", r"in the task work\n  at program.py:\d+ in hang",
                  r"in the program\n  at program.py:\d+ in <module>: pg.COMM.Barrier"),
    "in a message of its own": ("""
if is_last:
    threading.Timer(3, os._exit, [7]).start()
    pg.COMM.recv(source=pg.RANK)
print(float(A.sum()))
""", r"in the program\n  at program.py:\d+ in <module>: pg.COMM.recv", r"in float, waiting for messages"),
    "at the end": ("""
if not is_last:
    hang()
""", "at the end of the program", r"in the program\n  at program.py:\d+ in hang"),
    "in work that goes on": ("""
if is_last:
    stop = time.monotonic() + 3
    while time.monotonic() < stop:
        pg.zeros(3, layout=pg.Distribution("*"))
        pg.sync()
        time.sleep(0.01)
    os._exit(7)
print(float(A.sum()))
""", r"in .*\n  at program.py:\d+ in <module>: (pg|time)", r"in float, waiting for messages"),
}


@pytest.mark.parametrize(("name", "n"), [
    ("in the program", 3),
    *(pytest.param(name, 2, marks=pytest.mark.long)
      for name in ("in a task", "in a message of its own", "at the end", "in work that goes on"))])
def test_all_processes_tell_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n: int) -> None:
    body, last, others = HANGS[name]
    (tmp_path / "program.py").write_text(START + body)
    monkeypatch.setenv("PGASPY_TIMEOUT", "1")
    done = run_job(n, "program.py", cwd=tmp_path)
    for rank in range(n):
        what = last if rank == n - 1 else others
        assert re.search(rf"^rank {rank} of {n} \(.*\): for \d+ s {what}", done.stderr, re.MULTILINE), done.stderr


@pytest.mark.long
def test_a_process_that_keeps_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(
        f"{START}\nimport ctypes\nctypes.PyDLL(None).sleep(4)\nprint('right')\n")
    monkeypatch.setenv("PGASPY_TIMEOUT", "1")
    done = run([sys.executable, "program.py"], tmp_path)
    assert done.stdout == "right\n", done.stderr
    assert re.search(r'program.py", line \d+ in <module>', done.stderr)


def test_a_signal(tmp_path: Path) -> None:
    """While the main thread is in a C function, on all processes; MPICH's launcher does not pass it on."""
    (tmp_path / "program.py").write_text(
        f"{START}\nprint('begun', flush=True)\nhang() if is_last else pg.COMM.Barrier()\n")
    with subprocess.Popen([*launcher(2), "program.py"], cwd=tmp_path, env=clean_environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        assert job.stdout is not None
        for _ in range(2):
            assert job.stdout.readline() == "begun\n"
        time.sleep(0.5)
        if this_site().kind == "MPICH":
            for process in psutil.Process(job.pid).children(recursive=True):
                if process.cmdline()[-1:] == ["program.py"]:
                    process.send_signal(signal.SIGUSR2)
        else:
            job.send_signal(signal.SIGUSR2)
        _, stderr = job.communicate(timeout=60)
    for rank in range(2):
        assert re.search(rf"^rank {rank} of 2 \(.*\): for \d+ s in the program\n  at program.py", stderr, re.MULTILINE)


def test_a_signal_where_many_files_are_open(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"""
import resource, signal
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
files = [open(__file__) for _ in range(1100)]
{START}
os.kill(os.getpid(), signal.SIGUSR2)
time.sleep(1)
""")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    for rank in range(2):
        assert f"rank {rank} of 2 (" in done.stderr
    assert "in the program\n  at program.py" in done.stderr


@pytest.mark.long
def test_a_process_that_is_not_late_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(f"{START}\nfor _ in range(6):\n    time.sleep(0.2)\n    float(A.sum())\n")
    monkeypatch.setenv("PGASPY_TIMEOUT", "30")
    done = run_job(2, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", ["soon", *(pytest.param(value, marks=pytest.mark.long)
                                             for value in ("-1", "nan", "inf", "0", "1e10"))])
def test_bad_values(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_TIMEOUT", value)
    done = run([sys.executable, "-c", "import pgaspy as pg; pg.SIZE"], tmp_path)
    assert f"PGASPY_TIMEOUT={value} is not a positive number of seconds" in done.stderr
