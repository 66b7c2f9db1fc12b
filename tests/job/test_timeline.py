"""The timeline of a run: jobs started with `PGASPY_TRACE`, and the file that they write."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from mpi4py import MPI

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.job import statistics, timeline
from pgaspy.job.timeline import Timeline, TraceWarning, begin
from tests.jobs import run, run_job

PROGRAM = """
import dataclasses, json, sys
import numpy as np
import pgaspy as pg

def add_twice(a, b):
    a += 2 * b

x = pg.ones((60, 60))
y = pg.zeros((60, 60))
for _ in range(3):
    y[1:-1] = np.exp(0.25 * (x[:-2] + x[2:]))
    x[...] = y
    float(abs(x).sum())
z = pg.ones((60, 60), layout=pg.Distribution("cyclic(7)", "*"))
y[...] = x + z
pg.schedule(add_twice, pg.update(y), x)
pg.sync()
found = dataclasses.asdict(pg.stats())
with open(f"{sys.argv[1]}/stats{pg.RANK}.json", "w") as file:
    json.dump(found, file)
"""
FAILING = """
import pgaspy as pg
x = pg.ones(10)
pg.sync()
if pg.RANK == pg.SIZE - 1:
    raise ValueError("bad value")
pg.COMM.Barrier()
"""
FLUSHING = "import pgaspy as pg\nx = pg.ones(10)\nassert float(x.sum()) == 10\nprint('end', pg.RANK)\n"


def written(tmp_path: Path, program: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(program)
    return str(path)


def events_by_rank(path: Path) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in json.loads(path.read_text())["traceEvents"]:
        found[event["pid"] - 1].append(event)
    return found


def check_nesting(events: list[dict[str, Any]]) -> None:
    """What lasts is in the order of its start, within what contains it, and disjoint from everything else."""
    ends: list[float] = []
    last = 0.0
    for event in events:
        start, stop = round(event["ts"] * 1000), round(event["ts"] * 1000) + round(event["dur"] * 1000)
        assert last <= start <= stop
        last = start
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or stop <= ends[-1], event
        ends.append(stop)


def check_messages(events: list[dict[str, Any]], stats: dict[str, Any], rank: int, size: int) -> set[str]:
    """Each has one begin and one end; all together are what was counted. The numbers."""
    begun = {event["id"]: event for event in events if event["ph"] == "b"}
    ended = {event["id"]: event for event in events if event["ph"] == "e"}
    assert len(begun) == len(ended) == len([e for e in events if e["ph"] in "be"]) / 2
    for number, event in begun.items():
        end = ended[number]
        assert (end["cat"], end["name"], end["tid"]) == (event["cat"], event["name"], event["tid"])
        assert event["ts"] <= end["ts"]
        assert event["args"]["peer"] in set(range(size)) - {rank}
    for name, count in (("send", "sent"), ("receive", "received")):
        nbytes = [event["args"]["bytes"] for event in begun.values() if event["name"] == name]
        assert (len(nbytes), sum(nbytes)) == (stats[f"n_{name}s"], stats[f"nbytes_{count}"])
    return set(begun)


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long), 4])
def test_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    path = tmp_path / "trace.json"
    monkeypatch.setenv("PGASPY_TRACE", "trace.json")  # in the folder where the job starts
    monkeypatch.setenv("PGASPY_JIT", str(int(n == 2)))
    monkeypatch.setenv("PGASPY_LIBM", "1")  # compiles exp at its first use
    monkeypatch.setenv("PGASPY_CACHE", str(tmp_path / "cache"))
    program = written(tmp_path, PROGRAM)
    if n == 1:
        done = run([sys.executable, program, str(tmp_path)], tmp_path)
    else:
        done = run_job(n, program, str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    ranks = events_by_rank(path)
    assert sorted(ranks) == list(range(n))
    message_numbers: set[str] = set()
    threads: set[int] = set()
    for rank, events in ranks.items():
        stats = json.loads((tmp_path / f"stats{rank}.json").read_text())
        metadata = [event for event in events if event["ph"] == "M"]
        names = {(event["name"], event["args"].get("name")) for event in metadata}
        assert ("process_name", f"rank {rank} of {n}, {os.uname().nodename}") in names
        assert {("thread_name", "computing"), ("thread_name", "messages")} < names
        (main,) = {event["tid"] for event in events if event["ph"] == "X"}
        own_threads = {event["tid"] for event in events}
        assert len(own_threads) == 2  # numbers that no other process uses
        assert not threads & own_threads
        threads |= own_threads
        assert main == next(e["tid"] for e in metadata if e["args"].get("name") == "computing")

        lasting = [event for event in events if event["ph"] == "X"]
        check_nesting(lasting)
        seconds: dict[str, float] = defaultdict(float)
        for event in lasting:
            assert event["ts"] >= 0
            seconds[event["cat"]] += event["dur"] / 1e6
        seconds["computing"] -= seconds["compiling"]
        for category in ("computing", "waiting", "planning", "compiling"):
            assert seconds[category] == pytest.approx(stats[f"seconds_{category}"], abs=1e-5)
        assert seconds["flush"] >= sum(seconds[c] for c in ("computing", "waiting", "planning", "compiling"))
        names_of = {c: [event["name"] for event in lasting if event["cat"] == c] for c in seconds}
        assert len(names_of["flush"]) >= stats["n_flushes"] >= 4
        assert len(names_of["planning"]) == stats["n_planned"]
        assert (seconds["compiling"] > 0.001) == (n == 2)
        assert len(names_of["computing"]) >= stats["n_pieces"]
        assert "add_twice" in names_of["computing"]
        assert {"flush: float", "flush: sync"} <= set(names_of["flush"])
        flush = next(event for event in lasting if event["name"] == "flush: float")
        assert flush["args"]["at"] == f"{program}:14"
        assert flush["args"]["operations"] > 5

        numbers = check_messages(events, stats, rank, n)
        assert not message_numbers & numbers
        message_numbers |= numbers
        held = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
        assert bool(held) == (n > 1)
        assert not held or (held[-1] == 0 and min(held) == 0)
    assert not list(tmp_path.glob("*.tmp"))


def test_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGASPY_TRACE", raising=False)
    assert begin(MPI.COMM_SELF) is None
    monkeypatch.setenv("PGASPY_TRACE", "")
    assert begin(MPI.COMM_SELF) is None


def test_only_the_first_rank_has_the_variable(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    start = "import os\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0:\n    "
    program = f"{start}os.environ['PGASPY_TRACE'] = {str(path)!r}\n{FLUSHING}"
    done = run_job(2, written(tmp_path, program), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(events_by_rank(path)) == [0, 1]


def test_a_folder_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_TRACE", str(tmp_path / "missing" / "trace.json"))
    done = run_job(2, written(tmp_path, FLUSHING), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["0", "1", "end", "end"]
    warned = [line for line in done.stderr.splitlines() if "TraceWarning" in line]
    assert len(warned) == 2, done.stderr  # at the beginning, and at the end
    for line, words in zip(warned, ("unless that changes", "could not be written"), strict=True):
        assert words in line
        assert f"there is no folder {tmp_path / 'missing'}" in line


def test_an_aborted_job_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.write_text("of an earlier run")
    monkeypatch.setenv("PGASPY_TRACE", str(path))
    done = run_job(2, written(tmp_path, FAILING), cwd=tmp_path)
    assert done.returncode == 1
    assert "ValueError: bad value" in done.stderr
    assert "TraceWarning" not in done.stderr
    assert path.read_text() == "of an earlier run"


# One process, in this one ---------------------------------------------------------------------------------------------


def some_events(path: Path, n: int = 3) -> Timeline:
    found = Timeline(str(path))
    for k in range(n):
        now = time.perf_counter()
        found.add("computing", f"kernel{k}", now, now)
    return found


def test_an_uncaught_exception_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded is not executed; what was executed is written."""
    path = tmp_path / "trace.json"
    pg.sync()
    monkeypatch.setattr(statistics.counts, "timeline", some_events(path))
    x = pg.ones(10) + 1
    monkeypatch.setattr(sys, "last_value", ValueError(), raising=False)
    recording._at_exit()
    names = [event["name"] for event in events_by_rank(path)[0] if event["ph"] == "X"]
    assert names == ["kernel0", "kernel1", "kernel2"]
    assert float(x.sum()) == 20


def test_what_starts_together_nests(tmp_path: Path) -> None:
    found = Timeline(str(tmp_path / "trace.json"))
    start = time.perf_counter()
    for name, stop in (("inner", start + 1), ("outer", start + 2)):  # in the order in which they end
        found.add("computing", name, start, stop)
    found.write(MPI.COMM_SELF)
    lasting = [event for event in events_by_rank(tmp_path / "trace.json")[0] if event["ph"] == "X"]
    assert [event["name"] for event in lasting] == ["outer", "inner"]
    check_nesting(lasting)


def test_names_are_escaped(tmp_path: Path) -> None:
    found = Timeline(str(tmp_path / "trace.json"))
    found.add("computing", 'a "task"\n\u00fc', 0.0, 1.0)
    found.write(MPI.COMM_SELF)
    assert events_by_rank(tmp_path / "trace.json")[0][-1]["name"] == 'a "task"\n\u00fc'


def test_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MAX_EVENTS", 3)
    monkeypatch.setattr(timeline, "CHUNK_EVENTS", 2)
    path = tmp_path / "trace.json"
    with pytest.warns(TraceWarning, match="without the last 2 events"):
        some_events(path, 5).write(MPI.COMM_SELF)
    events = events_by_rank(path)[0]
    assert [event["name"] for event in events if event["ph"] == "X"] == ["kernel0", "kernel1", "kernel2"]
    assert "without the last 2 events" in [event["args"].get("labels") for event in events if event["ph"] == "M"]


def test_in_place_of_an_existing_file(tmp_path: Path) -> None:
    path, link = tmp_path / "trace.json", tmp_path / "link.json"
    path.write_text("old")
    link.symlink_to(path)
    some_events(link).write(MPI.COMM_SELF)
    assert link.is_symlink()
    assert len(events_by_rank(path)[0]) == 7


@pytest.mark.parametrize(("make", "reason"), [(Path.mkdir, "no regular file"), (os.mkfifo, "no regular file")])
def test_what_is_no_file_is_left_alone(tmp_path: Path, make: Any, reason: str) -> None:
    path = tmp_path / "trace.json"
    make(path)
    with pytest.warns(TraceWarning, match=reason):
        some_events(path).write(MPI.COMM_SELF)
    assert os.listdir(tmp_path) == ["trace.json"]  # noqa: PTH208  (names, not paths)
    assert not path.is_file()


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", replace)
    path = tmp_path / "trace.json"
    path.write_text("old")
    with pytest.warns(TraceWarning, match="No space left on device"):
        some_events(path).write(MPI.COMM_SELF)
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["trace.json"]


def test_fork_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = some_events(tmp_path / "trace.json")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    found.write(MPI.COMM_SELF)
    assert not (tmp_path / "trace.json").exists()
