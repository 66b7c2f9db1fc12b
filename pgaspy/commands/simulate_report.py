"""The report of a simulation, for people and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pgaspy.host.words import counted, of_bytes
from pgaspy.simulating.machine import Machine
from pgaspy.simulating.machine import as_json as machine_as_json
from pgaspy.simulating.player import Totals
from pgaspy.simulating.simulation import Simulation

__all__ = ["as_json", "as_text"]

N_SHOWN = 6
"""Of what the critical path consists of, so much is printed."""

MAX_PHASES = 8
"""Of so many, each is printed."""


def as_text(found: Simulation) -> str:
    """A simulation in some lines."""
    phases = [_summary(found, phase) for phase in found.phases]
    rows = [f"  {name}: {_seconds(s['seconds'])}, as fast as {s['speed']:.4g} that only compute; waiting "
            f"{s['waiting']:.1%} (at most {s['max_waiting']:.1%}); per process {s['n_messages']:.4g} messages, "
            f"{of_bytes(round(s['nbytes']))}"
            for name, s in _named(phases, _summary(found, _whole(found))) if s["seconds"]]
    path = found.path
    parts = sorted([*path.seconds.items(), ("on the way", path.travelling)], key=lambda part: -part[1])
    total = sum(spent for _, spent in parts) or 1.0
    shown = ", ".join(f"{name} {spent / total:.1%}" for name, spent in parts[:N_SHOWN] if spent)
    return "\n".join([
        counted(found.size, "process", "processes"), *rows,
        *([f"  critical path: {shown}; {counted(path.n_messages, 'message')}"] if shown else []),
        *([f"  the program ends with status {found.status}: what it has read is --value"] if found.status else []),
        f"  played {counted(len(found.courses), 'process', 'processes')}, each planned in "
        f"{_seconds(found.seconds_planning)}, all played in {_seconds(found.seconds_playing)}; "
        f"{of_bytes(found.max_rss)} of memory at most"])


def as_json(reports: Sequence[Simulation], machine: Machine) -> dict[str, Any]:
    """Simulations, and the machine, for JSON."""
    return {"machine": machine_as_json(machine), "jobs": [{
        "size": found.size, "status": found.status, **_summary(found, _whole(found)),
        "phases": [_summary(found, phase) for phase in found.phases],
        "critical_path": {"seconds": dict(found.path.seconds), "travelling": found.path.travelling,
                          "n_messages": found.path.n_messages},
        "n_played": len(found.courses), "seconds_planning": found.seconds_planning,
        "seconds_playing": found.seconds_playing, "max_rss": found.max_rss} for found in reports]}


def _whole(found: Simulation) -> Mapping[int, Totals]:
    return {rank: course.totals for rank, course in found.courses.items()}


def _summary(found: Simulation, phase: Mapping[int, Totals]) -> dict[str, float]:
    """The figures of a phase: seconds, the processes that it is worth, shares of the time, and means per process."""
    seconds = max(own.seconds for own in phase.values())
    over = seconds or 1.0
    return {"seconds": seconds, "speed": found.size * found.mean(phase, "computing") / over,
            "waiting": found.mean(phase, "waiting") / over,
            "max_waiting": max(own.waiting for own in phase.values()) / over,
            "handling": found.mean(phase, "handling") / over, "program": found.mean(phase, "program") / over,
            "n_messages": found.mean(phase, "n_messages"), "nbytes": found.mean(phase, "nbytes")}


def _named(phases: Sequence[dict[str, float]], whole: dict[str, float]) -> list[tuple[str, dict[str, float]]]:
    """The phases with their names; of one, or of too many, the whole alone."""
    if not 1 < len(phases) <= MAX_PHASES:
        return [("in all", whole)]
    return [*((f"phase {k}", phase) for k, phase in enumerate(phases, 1)), ("in all", whole)]


def _seconds(seconds: float) -> str:
    """A time with the unit that fits it.

    >>> _seconds(0.00123), _seconds(3.5), _seconds(2e-6)
    ('1.23 ms', '3.5 s', '2 us')
    """
    unit, factor = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    return f"{seconds * factor:.3g} {unit}"
