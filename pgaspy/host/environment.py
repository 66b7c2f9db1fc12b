"""The environment variables of pgaspy: the one place where their names, values and defaults are."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["VARIABLES", "Variable", "check", "value"]

PREFIX = "PGASPY_"


@dataclass(frozen=True)
class Variable:
    """What a variable may be.

    Attributes
    ----------
    default
        What stands for a variable that is not set, or empty.
    values
        All that it may be; anything where there are none.
    may_differ
        Whether the processes of a job may have it differently.
    is_seconds
        Whether it is a number of seconds.
    """

    default: str = ""
    values: tuple[str, ...] = ()
    may_differ: bool = False
    is_seconds: bool = False


VARIABLES: Mapping[str, Variable] = {
    "PGASPY_ABORT_AFTER": Variable("10", is_seconds=True),
    "PGASPY_CACHE": Variable(may_differ=True),  # a folder of the host
    "PGASPY_CHECK": Variable("0", ("0", "1")),
    "PGASPY_EXECUTOR": Variable("lazy", ("lazy", "inorder")),
    "PGASPY_FALLBACK": Variable("0", ("0", "1")),
    "PGASPY_FPE": Variable("ignore", ("ignore", "warn", "raise")),
    "PGASPY_JIT": Variable("1", ("0", "1")),
    "PGASPY_LIBM": Variable("0", ("0", "1")),
    "PGASPY_MARCH": Variable("native"),
    "PGASPY_TIMEOUT": Variable(is_seconds=True),
    "PGASPY_TRACE": Variable(may_differ=True),  # rank 0's counts
    "PGASPY_TRACEBACK": Variable("short", ("short", "full"), may_differ=True),
}


def value(name: str) -> str:
    """What a variable is set to, or its default."""
    return os.environ.get(name) or VARIABLES[name].default


def check(comm: MPI.Intracomm) -> None:
    """Refuse variables that differ between processes or are set to what they cannot be. Collective.

    Rank 0 warns of unknown ones.

    Raises
    ------
    ValueError
        On all processes alike.
    """
    own = tuple(value(name) for name, variable in VARIABLES.items() if not variable.may_differ)
    if comm.size > 1 and comm.allreduce(own, op=_agreed) is None:
        raise ValueError(_difference(comm.allgather(own)))
    for name, variable in VARIABLES.items():
        if variable.values and value(name) not in variable.values:
            raise ValueError(f"{name}={value(name)} is not one of {', '.join(variable.values)}")
        if variable.is_seconds and value(name) and not _is_positive(value(name)):
            raise ValueError(f"{name}={value(name)} is not a positive number of seconds, of at most a year")
    if comm.rank == 0:
        for name in sorted(os.environ):
            if name.startswith(PREFIX) and name not in VARIABLES:
                warnings.warn(_unknown(name), stacklevel=2)


MAX_SECONDS = 366 * 86400
"""What clocks and timers take: 1e10, for never, is more than some do."""


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) <= MAX_SECONDS
    except ValueError:
        return False


def _agreed(a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return a if a == b else None


def _difference(found: Sequence[tuple[str, ...]]) -> str:
    """What differs, and where."""
    names = [name for name, variable in VARIABLES.items() if not variable.may_differ]
    sentences = []
    for name, values in zip(names, zip(*found, strict=True), strict=True):
        ranks = defaultdict(list)
        for rank, one in enumerate(values):
            ranks[one].append(rank)
        if len(ranks) > 1:
            parts = [f"{one!r} on rank {numbers[0]}{f' and {len(numbers) - 1} more' if numbers[1:] else ''}"
                     for one, numbers in ranks.items()]
            sentences.append(f"{name} differs between processes: {', '.join(parts)}")
    return f"{'; '.join(sentences)}. Set it for all of them: mpirun -x NAME, srun --export=ALL"


def _unknown(name: str) -> str:
    import difflib  # for this error only

    endings = [known.removeprefix(PREFIX) for known in VARIABLES]  # what they have in common tells nothing
    near = difflib.get_close_matches(name.removeprefix(PREFIX), endings, n=1)
    return f"{name} is no variable of pgaspy: " + (
        f"did you mean {PREFIX}{near[0]}?" if near else f"there are {', '.join(VARIABLES)}")
