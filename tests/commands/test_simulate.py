"""`pgaspy simulate`: what it prints, and what is wrong with what it is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pgaspy.commands import main
from pgaspy.host.units import quantity
from pgaspy.simulating.machine import Machine, as_json
from tests.jobs import run_job

PROGRAM = str(Path(__file__).parent.parent / "simulating" / "programs.py")


def call(*arguments: str, program: str = PROGRAM, task: str = "heat") -> Result:
    return CliRunner().invoke(main, ["simulate", program, *arguments, "--", task, "100", "3"])


def test_the_report_as_text() -> None:
    found = call("-n", "4,64", "--value", "1")
    assert found.exit_code == 0, found.output
    assert found.output.count("critical path: ") == found.output.count("phase 2: ") == 2
    assert "4 processes\n" in found.output
    assert "64 processes\n" in found.output


def test_processes_measure_together_and_one_prints(tmp_path: Path) -> None:
    done = run_job(2, "-m", "pgaspy", "simulate", PROGRAM, "-n", "2", "--value", "1", "--measure", "--",
                   "heat", "60", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 processes\n") == 1
    assert "interpreter" in done.stdout


def test_the_report_as_data() -> None:
    slow, fast = (json.loads(call("-n", "4", "--value", "1", "--bandwidth", speed, "--json").output)
                  for speed in ("1MB/s", "10GB/s"))
    assert (slow["machine"]["bandwidth"], fast["machine"]["bandwidth"]) == (1e6, 1e10)
    (job,) = slow["jobs"]
    assert job["seconds"] > fast["jobs"][0]["seconds"]
    assert 0 < fast["jobs"][0]["waiting"] < job["waiting"] <= job["max_waiting"] < 1
    assert job["n_messages"] == fast["jobs"][0]["n_messages"] > 0
    assert len(job["phases"]) == 3
    assert sum(phase["nbytes"] for phase in job["phases"]) == job["nbytes"]


def test_a_machine_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"machine": as_json(Machine(latency=3e-6, memory=((1e6, 4e9),), threads=1))}))
    found = json.loads(call("-n", "2", "--value", "1", "--json", "--machine", str(file), "--gap", "1us").output)
    assert (found["machine"]["latency"], found["machine"]["gap"], found["machine"]["copying"]) == (3e-6, 1e-6, None)
    assert found["machine"]["memory"] == [[1e6, 4e9]]
    for content in b"{}", b"\xff" * 5000:
        file.write_bytes(content)
        said = call("-n", "2", "--machine", str(file)).output
        assert "no report that `pgaspy selftest --json` has written" in said
        assert len(said) < 1000


@pytest.mark.parametrize(("arguments", "words"), [
    (["-n", "4"], "a value is read"),
    (["-n", "0"], "no number of processes"),
    (["-n", "4", "--steps", "3"], "give --value"),
    (["-n", "4", "--latency", "2"], "'2' is no positive number of s with its unit, such as 2us"),
    (["-n", "4", "--bandwidth", "2us"], "such as 10GB/s"),
    (["-n", "4", "--burst", "9"], "such as 9kB"),
    (["-n", "4", "--flops", "0GFLOPS"], "such as 50GFLOPS"),
    (["-n", "4", "--cost", "add"], "no name and cost"),
    ([], "-n"),
])
def test_wrong_options_are_refused(arguments: list[str], words: str) -> None:
    found = call(*arguments)
    assert found.exit_code != 0
    assert words in found.output


@pytest.mark.parametrize(("program", "task", "words"), [
    ("no_such.py", "heat", "neither a file nor a module no_such.py"),
    ("no.such.module", "heat", "neither a file nor a module"),
    (PROGRAM, "fails", "the program raises IndexError"),
    (PROGRAM, "unknown", "the program raises KeyError"),
])
def test_programs_that_are_not_there_or_fail(program: str, task: str, words: str) -> None:
    found = call("-n", "4", "--value", "1", program=program, task=task)
    assert found.exit_code != 0
    assert words in found.output


def test_costs_of_tasks_that_are_not_called_are_told() -> None:
    assert "no task is called solve" in call("-n", "2", "--value", "1", "--cost", "solve=1ms").output


@pytest.mark.parametrize("text", ["2", "us", "2 parsecs", "-2us", "0s", "2GB", "1e", ""])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="such as 2us"):
        quantity(text, "s")
