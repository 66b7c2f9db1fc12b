"""The commands: on the processes of the tests, and as programs of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pgaspy as pg
from pgaspy.commands import COMMANDS, main, parameters, selftest
from pgaspy.commands.network import ring_phases
from pgaspy.commands.selftest import Figure, outliers
from pgaspy.simulating.machine import Machine, machine_from_file
from tests.jobs import clean_environment
from tests.together import collectively


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pgaspy", *arguments], env=clean_environment(), capture_output=True,
                          text=True, timeout=120, check=False)


@pytest.mark.mpi
def test_info_says_on_rank_0_what_all_processes_are() -> None:
    found = call("info", *["--no-measure"] * (pg.SIZE > 2))  # which would measure how they share the cores
    collectively(found.exit_code == 0, found.output)
    collectively(("memory" in found.output) is (pg.RANK == 0), found.output)
    found = call("info", "--json", "--no-measure")
    processes = json.loads(found.output)["processes"] if pg.RANK == 0 else []
    collectively([process["rank"] for process in processes] == [*range(pg.SIZE)][:len(processes)], found.output)
    collectively(all(process["n_threads"] == pg.THREADS for process in processes[:1]), found.output)


@pytest.mark.mpi
def test_selftest() -> None:
    found = call("selftest")
    collectively(found.exit_code == 0, found.output)
    collectively(("right: linear equations" in found.output) is (pg.RANK == 0), found.output)
    collectively(("latency" in found.output) is (pg.RANK == 0 and pg.SIZE > 1), found.output)


@pytest.mark.mpi
def test_selftest_measures_a_machine_that_simulate_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "CHECKS", {})
    for name, value in {"SECONDS": 0.01, "SIZES": [1 << 16, 1 << 20], "N_BYTES": 1 << 16}.items():
        monkeypatch.setattr(parameters, name, value)
    file = tmp_path / "machine.json"
    found = call("selftest", "--json", str(file))
    collectively(found.exit_code == 0, found.output)
    machine = machine_from_file(file, {}) if pg.RANK == 0 else Machine()
    collectively(0 < machine.statement < 0.1 and len(machine.memory) == (2 if pg.RANK == 0 else 1), str(machine))
    collectively(pg.RANK > 0 or machine.threads == pg.THREADS, str(machine))
    collectively(pg.SIZE == 1 or 0 <= machine.latency < 0.1, str(machine))


@pytest.mark.mpi
def test_selftest_names_what_is_wrong_on_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "CHECKS", {"nothing": lambda: True, "arithmetic": lambda: pg.RANK != pg.SIZE - 1})
    monkeypatch.setattr(selftest, "_report_processes", lambda: None)
    monkeypatch.setattr(selftest, "_report_links", lambda: None)
    found = call("selftest")
    collectively(found.exit_code == 1, found.output)
    collectively(("right: nothing\nWRONG: arithmetic\n" in found.output) is (pg.RANK == 0), found.output)


@pytest.mark.parametrize(("figure", "values", "expected"), [
    (Figure("memory", "GB/s", 0.8), [40, 41, 39, 20, 42], [3]),
    (Figure("memory", "GB/s", 0.8), [40], []),
    (Figure("latency", "us", 3), [1, 1.2, 9, 0.1], [2]),
])
def test_outliers(figure: Figure, values: list[float], expected: list[int]) -> None:
    assert outliers(figure, values) == expected


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_each_link_is_measured_once_by_processes_that_have_no_other(size: int) -> None:
    phases = ring_phases(size)
    assert sorted(rank for ranks in phases for rank in ranks) == [*range(size)]
    for ranks in phases:
        busy = [*ranks, *((rank + 1) % size for rank in ranks)]
        assert len(set(busy)) == len(busy)


def test_commands_are_listed() -> None:
    assert all(name in call("--help").output for name in COMMANDS)
    assert call("--version").output == f"pgaspy, version {pg.__version__}\n"
    assert "No such command" in call("inform").output


def test_run_prints_the_line() -> None:
    done = start("run", "-n", "2", "--dry-run", "prog.py", "-n", "7", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f" {sys.executable} prog.py -n 7 --dry-run\n")
    assert " -n 2 " in done.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["-n", "0", "prog.py"], "0 is not in the range x>=1"),
    (["--treads", "2", "prog.py"], "No such option"),
    (["-n", "2"], "Missing argument"),
    (["--threads", "4096", "--per-numa", "-n", "1", "prog.py"], "1 process of 4096 cores is asked for"),
])
def test_run_refuses(arguments: list[str], words: str) -> None:
    done = start("run", *arguments)
    assert done.returncode
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_run_starts_a_program(n: int) -> None:
    done = start("run", "-n", str(n), "-c", "import pgaspy as pg; print(f'rank {pg.RANK} of {pg.SIZE}')")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of {n}" for rank in range(n)]


def test_run_starts_one_process_in_each_numa_domain() -> None:
    done = start("run", "--unbound", sys.executable, "-m", "pgaspy", "info", "--json", "--no-measure")
    assert done.returncode == 0, done.stderr
    processes = json.loads(done.stdout)["processes"]
    assert len(processes) == len(processes[0]["topology"]["domains"])


def test_run_ends_as_the_program_does() -> None:
    assert start("run", "-n", "2", "-c", "raise SystemExit(3)").returncode == 3


def test_commands_start_mpi_only_if_they_need_it() -> None:
    program = ("import sys; sys.argv = ['pgaspy', 'run']; import pgaspy; from mpi4py import MPI; "
               "assert not MPI.Is_initialized(); assert pgaspy.SIZE == 1; assert MPI.Is_initialized()")
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["info", "selftest"])
def test_one_job_of_two_that_became_two_jobs_of_one(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    done = start(command)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: the launcher started 2 processes (SLURM_STEP_NUM_TASKS=2)")
