"""The campaign itself: its table has all public names, it finds what is wrong, and some of its programs are right."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import engine, queue, recording, runs
from tests.campaign import elementwise, failing, injecting, model
from tests.campaign.jobs import Outcome, _wait_for_last, run_job
from tests.campaign.names import LEFT_OUT, public, used
from tests.campaign.programs import TABLE, Program, write_one, written
from tests.campaign.reducing import reduced
from tests.campaign.running import differences, execute, expected, run
from tests.campaign.settings import Settings, under
from tests.campaign.writing import Writer
from tests.together import assert_equal, collectively
from tools.campaign import Merging, Totals

N_PROGRAMS = 16
MANY_TRIES = 60


@pytest.mark.mpi
@pytest.mark.parametrize("batch", range(2))
def test_programs_are_right(batch: int, tmp_path: Path) -> None:
    for seed in range(batch * 1000, batch * 1000 + N_PROGRAMS // 2):
        program = written(seed, pg.SIZE, tmp_path)
        failure = run(program, shared(tmp_path))
        collectively(failure is None, f"{failure}\n{program}")


@pytest.mark.mpi
def test_results_lie_where_the_settings_have_them() -> None:
    a = pg.ones((5, 4 * pg.SIZE), layout=pg.Distribution("block", "*"))
    for balances in False, True, False:
        with under(Settings(balances=balances)):
            assert (a[1] * 2.0).layout.is_pinned == (pg.SIZE > 1 and not balances)


@pytest.mark.mpi
def test_a_wrong_value_and_an_error_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("a = pg.arange(5.0)", "b = pg.roll(a, 1)", "look(b)", "check(b)")
    assert run(Program(0, lines, Settings()), shared(tmp_path)) is None
    monkeypatch.setattr(pg, "roll", lambda a, shift: a + 0)
    failure = run(Program(0, lines, Settings()), shared(tmp_path))
    assert failure is not None
    assert failure.kind == "wrong"
    failure = run(Program(0, ("pg.stats(1, 2)",), Settings()), shared(tmp_path))
    assert failure is not None
    assert failure.kind == "error"


@pytest.mark.mpi
def test_settings_are_as_they_were(tmp_path: Path) -> None:
    from pgaspy.scheduling.backend import backend

    before = (backend.allocate, engine.WINDOW_BYTES, recording.queue.max_operations, recording.queue.overlaps)
    everything = Settings(overlaps=False, max_operations=(1,), compiles=False, pools=True, chains=True, window=True,
                          short_messages=True, pieces=True, poison=0xFF)
    failure = run(Program(0, ("a = pg.arange(50.0)", "a[1:] = a[:-1]", "check(a * 2)"), everything), shared(tmp_path))
    collectively(failure is None, f"{failure}")
    assert before == (backend.allocate, engine.WINDOW_BYTES, recording.queue.max_operations, recording.queue.overlaps)


@pytest.mark.skipif(pg.SIZE > 1, reason="a failure ends a job")
def test_what_fails_is_right_or_raises(tmp_path: Path) -> None:
    """But for interrupts, which come at another moment each time: those are the campaign's."""
    n_raised = 0
    for seed in range(66):
        injection = injecting.chosen("any", seed)
        if injection.kind == "interrupt":
            continue
        said = failing.run(written(seed, 1, tmp_path), tmp_path, injection, failing.begin_next)
        assert "failure" not in said, said
        n_raised += said["raised"] != ""
    assert n_raised > 20


@pytest.mark.skipif(pg.SIZE > 1, reason="a failure ends a job")
@pytest.mark.parametrize(("kind", "owner", "name"), [
    ("task", runs.Run, "spoil"), ("plan", queue.Queue, "_plan_failed"), ("kernel", engine.Engine, "_fail")])
def test_what_is_lost_without_an_error_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, owner: type,
                                                name: str) -> None:
    def lose(self: Any, *arguments: Any) -> None:
        if name == "_plan_failed":
            self.recorded = self.recorded.without(arguments[0])

    monkeypatch.setattr(owner, name, lose)
    assert any("failure" in failing.run(
        written(seed, 1, tmp_path), tmp_path, injecting.chosen(kind, seed), failing.begin_next) for seed in range(200))


def test_all_public_names_are_in_the_table_or_left_out_for_a_reason() -> None:
    in_table = {name for row in TABLE for name in row.names if not name.startswith("[")}
    assert sorted(in_table - public()) == []
    assert sorted(LEFT_OUT.keys() - public()) == []
    assert sorted(in_table & LEFT_OUT.keys()) == []
    assert sorted(public() - in_table - LEFT_OUT.keys()) == []
    assert all(LEFT_OUT.values())


def test_each_row_writes_statements_with_its_names(tmp_path: Path) -> None:
    missing = []
    for row in TABLE:
        for name in row.names:
            for seed in range(MANY_TRIES):
                writer = Writer(seed, 1, tmp_path)
                writer.create((5, 4), "d", owned=True)
                writer.create((3,), "l", owned=True)
                n_lines = len(writer.lines)
                write_one(writer, row, name)
                found = used(writer.lines[n_lines:])
                if name in found or (name.startswith("[") and len(writer.lines) > n_lines):
                    break
            else:
                missing.append(name)
    assert missing == []


def test_a_seed_gives_the_same_program_on_all_processes(tmp_path: Path) -> None:
    for seed in range(5):
        assert written(seed, 3, tmp_path) == written(seed, 3, tmp_path)


def test_numbers_are_not_written_to_and_leases_of_them_have_their_error(tmp_path: Path) -> None:
    writer = Writer(0, 1, tmp_path)
    number = writer.bind("pg.random.default_rng(1).normal(1.0, 0.5, None)", 1e-9, n_axes=1)
    assert number is not None
    assert not writer.is_owned(number)
    writer.say(f"w = lease({number}[None], (slice(None), ))")
    writer.take_lease("w", f"{number}[None]")
    assert writer.lease_tolerance("w") == 1e-9


def test_what_is_empty_and_reversed_is_not_whole(tmp_path: Path) -> None:
    writer = Writer(0, 1, tmp_path)
    a = writer.bind("pg.zeros((0, 6))", n_axes=1)
    assert a is not None
    assert writer.is_owned(a)
    assert not writer.is_owned(f"{a}[:, ::-1]")


def test_what_is_observed_while_a_program_is_written_is_what_its_lines_give(tmp_path: Path) -> None:
    for seed in range(5):
        program = written(seed, 3, tmp_path)
        assert program.observed
        assert differences(execute(program.lines, tmp_path, is_model=True), program.observed) is None


@pytest.mark.mpi
def test_the_model_draws_the_same_random_numbers() -> None:
    drawn, expected = (module.random.default_rng(3) for module in (pg, model.module()))
    for _ in range(2):
        assert_equal(drawn.standard_normal((4, 5)), np.asarray(expected.standard_normal((4, 5), onenode=0)))


@pytest.mark.mpi
def test_what_one_process_looks_at_alone_is_compared_there(tmp_path: Path) -> None:
    lines = ("a = pg.arange(7)", f"if pg.RANK == {pg.SIZE - 1}: look(a)", f"collected(a, {pg.SIZE - 1})", "check(a)")
    n_seen = len(expected(Program(0, lines, Settings()), tmp_path / f"{pg.RANK}"))
    collectively(n_seen == (3 if pg.RANK == pg.SIZE - 1 else 2), f"{n_seen}")
    failure = run(Program(0, lines, Settings()), shared(tmp_path))
    collectively(failure is None, f"{failure}")


@pytest.mark.jobs
@pytest.mark.parametrize("kind", ["kill", "raise"])
def test_a_job_ends_that_has_lost_a_process(kind: str) -> None:
    outcome = run_job(2, [{"seed": 1}], inject=kind, module="tests.campaign.losing", environment={})
    assert (outcome.kind, outcome.text) == ("", "")
    assert outcome.lost["kind"] == kind
    assert len(outcome.processes) == 2


def test_a_process_that_is_left_is_found() -> None:
    outcome = Outcome(processes=[os.getpid()], lost={"at": time.time(), "within": 0.05})
    _wait_for_last(outcome)
    assert outcome.kind == "hang"
    assert f"[{os.getpid()}]" in outcome.text


def test_the_errors_of_numbers_are_known(tmp_path: Path) -> None:
    writer = Writer(0, 1, tmp_path)
    x = writer.create((5, 4), "d", owned=True)
    number = writer.bind(f"{x}.var(ddof=1)", 1e-12)
    assert number
    elementwise._write(writer, number, f"{number} - 1.5", f"{number} -= 1.5", np.subtract, [number, "1.5"])
    array = writer.bind(f"pg.expand_dims({number}, -1)", None)
    assert array
    assert min(writer.tolerance(number), writer.tolerance(array)) >= 1e-12
    assert not writer.say(f"pg.schedule(ones, pg.write({number}))")  # as on global arrays


def test_totals_are_those_of_the_file_and_of_what_is_under_way(tmp_path: Path) -> None:
    first, second = (Merging(python, 2, "statements") for python in ("a", "b"))
    totals = Totals(tmp_path / "totals", {first: 7000, second: 7000})
    taken = [totals.take(), totals.take()]
    assert [one[0] for one in taken if one] == [first, second]
    assert totals.take() == (first, 400)  # as a part may be less than all
    totals.add(first, 0, {"statements": 7000, "wrong": 1})
    again = Totals(tmp_path / "totals", {first: 7000, second: 7000})
    assert again.take() == (second, 200)
    assert again.n_wrong == 1


def test_reduced_programs_are_those_that_still_fail() -> None:
    calls = []

    def fails(lines: list[int]) -> bool:
        calls.append(lines)
        return {3, 11} <= set(lines)

    assert reduced(range(20), fails) == [3, 11]
    assert len(calls) < 60
    assert reduced([1], lambda lines: not lines) == []


def shared(folder: Path) -> Path:
    """A folder that all processes have."""
    return Path(pg.COMM.bcast(str(folder)))


def test_the_model_has_scalars_of_its_own() -> None:
    from tests.campaign.model import as_array

    x = as_array(np.arange(6.0).reshape(2, 3))
    kept, total, part = x[1, 2], x.sum(), x[1, 2, ...]
    assert kept.shape == total.shape == part.shape == ()
    other = total
    other += 1
    part += 2
    assert (kept.item(), x[1, 2].item(), total.item(), other.item()) == (5, 7, 15, 16)


def test_the_model_takes_the_right_side_before_it_assigns() -> None:
    from tests.campaign.model import as_array

    x = as_array(np.arange(10.0))
    x[:8:2] = x[1:5]
    assert x.tolist() == [1, 1, 2, 3, 3, 5, 4, 7, 8, 9]  # NumPy 2.4 has another 3 in the place of the 4
