"""What launchers say in their variables, and when pgaspy does not believe MPI."""

from __future__ import annotations

import socket

import pytest

from pgaspy.host import launchers


@pytest.mark.parametrize("variables", [
    {"OMPI_COMM_WORLD_SIZE": "2"},
    {"PMI_SIZE": "2"},
    {"SLURM_STEP_NUM_TASKS": "2"},
    {"PMIX_RANK": "1"},
    {"PMI_SIZE": "4", "SLURM_STEP_NUM_TASKS": "1"},
])
def test_one_process_of_many_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match="srun --mpi=pmix"):
        launchers.check_size(1, variables)
    launchers.check_size(2, variables)


@pytest.mark.parametrize("variables", [
    {},
    {"OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"},
    {"SLURM_STEP_NUM_TASKS": "1"},
    {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"},  # a batch script
    {"OMPI_COMM_WORLD_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"},  # mpirun -n 1, started by a daemon on each of 4 hosts
    {"PMI_SIZE": ""},
])
def test_one_process_of_one_is_not(variables: dict[str, str]) -> None:
    launchers.check_size(1, variables)


@pytest.mark.parametrize(("variables", "name"), [
    ({}, ""),
    ({"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0"}, "mpirun"),
    ({"PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}, "mpiexec"),
    ({"SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "0"}, "srun"),
    ({"SLURM_STEP_NUM_TASKS": "2", "PMI_SIZE": "2"}, "srun"),
    ({"SLURM_STEP_NUM_TASKS": "2", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "1"}, "mpiexec"),
    ({"SLURM_STEP_NUM_TASKS": "2", "OMPI_COMM_WORLD_SIZE": "2"}, "mpirun"),
])
def test_name(variables: dict[str, str], name: str) -> None:
    assert launchers.name(variables) == name


@pytest.mark.parametrize(("argv", "command_line", "is_command"), [
    (["-m", "info"], ["python", "-m", "pgaspy", "info"], True),
    (["-m", "info"], ["python", "-X", "dev", "-mpgaspy", "info"], True),
    (["-m"], ["python", "-m", "pgaspy"], True),
    (["-m", "pgaspy"], ["python", "-m", "pgaspy.algorithms.lu", "pgaspy"], False),
    (["-m", "100"], ["python", "-m", "pgaspy.algorithms.lu", "100"], False),
    (["/usr/bin/pgaspy", "run", "x.py"], ["python", "/usr/bin/pgaspy", "run", "x.py"], True),
    (["pgaspy.py"], ["python", "pgaspy.py"], False),
    (["-c", "pgaspy"], ["python", "-c", "import pgaspy", "pgaspy"], False),
    ([""], ["python"], False),
    ([], ["embedded"], False),
])
def test_is_command(argv: list[str], command_line: list[str], is_command: bool) -> None:
    assert launchers.is_command(argv, command_line) is is_command


RANK_0 = {"PMIX_NAMESPACE": "job", "PMIX_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_MCA_btl": "self", "HOME": "/"}


def test_a_child_of_a_process_stands_apart() -> None:
    variables = dict(RANK_0)
    launchers.stand_apart(7, variables)
    launchers.stand_apart(7, variables)  # again, as a reloaded module does
    assert {name: variables[name] for name in RANK_0} == RANK_0
    launchers.stand_apart(8, variables)
    assert set(variables) == {"OMPI_MCA_btl", "HOME", launchers.MARK}
    launchers.stand_apart(9, variables)  # its own child
    launchers.check_size(1, variables)


def test_a_job_that_a_process_starts_is_one() -> None:
    variables = dict(RANK_0)
    launchers.stand_apart(7, variables)
    variables |= {"PMIX_NAMESPACE": "another"}
    launchers.stand_apart(8, variables)
    assert variables["PMIX_RANK"] == "0"


def test_a_job_that_a_process_starts_is_one_also_if_its_variables_are_the_same() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        variables = {"PMI_RANK": "0", "PMI_FD": str(ours.fileno()), "PMI_SIZE": "2"}
        of_process = {**variables, "PMI_FD": "1000000"}
        for found, is_launched in (variables, True), (of_process, False):
            launchers.stand_apart(1, found)
            launchers.stand_apart(2, found)
            assert ("PMI_RANK" in found) == is_launched


def test_who_was_not_launched_leaves_no_mark() -> None:
    variables = {"HOME": "/", "SLURM_JOB_ID": "3"}
    launchers.stand_apart(7, variables)
    assert variables == {"HOME": "/", "SLURM_JOB_ID": "3"}
