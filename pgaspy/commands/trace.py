"""`pgaspy trace`: the timeline of a run, which `PGASPY_TRACE` has written, as a picture with a lane for each process.

A lane is a row of moments, each filled from below with the shares of what the process did in it: so a picture of a
million events shows as much as one of a hundred.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Lane", "draw_lanes", "lanes_from_events", "shares", "trace"]

KINDS = {
    "computing": ("#2f6db3", "computing"),
    "waiting": ("#e8962e", "waiting for messages"),
    "planning": ("#8a4fa3", "planning"),
    "compiling": ("#c23b3b", "compiling"),
    "flush": ("#9aa7b4", "recording, starting messages"),
    "program": ("#e9ecef", "the program itself"),
}
"""What a process does, from the bottom of its lane: the colour, and what people call it."""

N_MOMENTS = 1200
"""Along the picture, at most."""

MAX_POINTS = 400_000
"""Of all lanes together; with many of them, the moments are longer."""


@dataclass(frozen=True)
class Lane:
    """What one process did.

    Attributes
    ----------
    name
        Its rank, and the host where there are several.
    intervals
        Per category of events, (start, stop) in seconds, in ascending order: shape (n, 2).
    """

    name: str
    intervals: Mapping[str, NDArray[np.float64]]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
              help="The picture, .png or .svg (or what else matplotlib writes); by default beside FILE, as .png.")
@click.option("--from", "start", type=float, default=0.0, help="Begin so many seconds after the start of the run.")
@click.option("--to", "stop", type=float, help="End so many seconds after the start of the run.")
def trace(file: Path, output: Path | None, start: float, stop: float | None) -> None:
    """Draw the timeline of a run, FILE: a lane for each process, when it computed, waited and planned.

    FILE is what the run with PGASPY_TRACE=FILE wrote; https://ui.perfetto.dev shows it event by event.
    """
    try:
        lanes = lanes_from_events(json.loads(file.read_text())["traceEvents"])
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{file} is no timeline that PGASPY_TRACE has written: {type(error).__name__}: "
                                   f"{error}") from error
    end = max((found[-1, 1] for lane in lanes for found in lane.intervals.values() if len(found)), default=0.0)
    stop = end if stop is None else min(stop, end)
    if not start < stop:
        raise click.ClickException(f"nothing from {start} s to {stop} s: the run ends at {end:.3g} s")
    try:
        figure = draw_lanes(lanes, start, stop, file.name)
    except ImportError as error:
        raise click.ClickException(f"{error}: pip install matplotlib") from error
    output = output or file.with_suffix(".png")
    try:
        figure.savefig(output, dpi=150)
    except (OSError, ValueError) as error:  # an ending that is none of a picture
        raise click.ClickException(str(error)) from error
    click.echo(str(output))


def lanes_from_events(events: Sequence[Mapping[str, Any]]) -> list[Lane]:
    """The lanes of the processes, by rank."""
    names: dict[int, tuple[str, str]] = {}
    intervals: dict[int, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event["ph"] == "X":
            start = event["ts"] / 1e6
            intervals[event["pid"]][event["cat"]].append((start, start + event["dur"] / 1e6))
        elif event["name"] == "process_name":
            rank, _, host = event["args"]["name"].partition(", ")
            names[event["pid"]] = rank.partition(" of ")[0], host
    several = len({host for _, host in names.values()}) > 1
    return [Lane(f"{names[p][0]}, {names[p][1]}" if several else names[p][0],
                 {kind: np.array(sorted(found)).reshape(-1, 2) for kind, found in intervals[p].items()})
            for p in sorted(names)]


def shares(lane: Lane, edges: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The share of each moment, between two of the edges, that a process spent on each of `KINDS`; the sum is 1."""
    spent = {kind: _spent(lane.intervals.get(kind, np.empty((0, 2))), edges) for kind in KINDS if kind != "program"}
    in_flush = spent["flush"]
    spent["computing"] -= spent["compiling"]  # which lies in it
    spent["flush"] = in_flush - sum(found for kind, found in spent.items() if kind != "flush")
    spent["program"] = np.diff(edges) - in_flush
    return {kind: np.clip(spent[kind] / np.diff(edges), 0, 1) for kind in KINDS}


def _spent(intervals: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The time of disjoint intervals that lies between each two edges."""
    if not len(intervals):
        return np.zeros(len(edges) - 1)
    until_stop = np.cumsum(intervals[:, 1] - intervals[:, 0])
    until_start = np.concatenate(([0.0], until_stop[:-1]))
    return np.diff(np.interp(edges, intervals.ravel(), np.column_stack((until_start, until_stop)).ravel()))


def draw_lanes(lanes: Sequence[Lane], start: float, stop: float, title: str) -> Figure:
    """The picture, from `start` to `stop` in seconds."""
    from pgaspy.showing.pictures import new_figure

    figure = new_figure((11, min(1.6 + 0.45 * len(lanes), 14)))
    axes = figure.subplots()
    edges = np.linspace(start, stop, max(min(N_MOMENTS, MAX_POINTS // max(len(lanes), 1)), 2) + 1)
    sums = dict.fromkeys(KINDS, 0.0)
    for row, lane in enumerate(lanes):
        found = shares(lane, edges)
        _draw_lane(axes, row, edges, found)
        means = {kind: float(values.mean()) for kind, values in found.items()}
        for kind in KINDS:
            sums[kind] += means[kind] / len(lanes)
        if len(lanes) <= 32:
            axes.text(1.005, row, f"{means['computing']:.0%} computing\n{means['waiting']:.0%} waiting", va="center",
                      fontsize=7, color="0.3", transform=axes.get_yaxis_transform())
    step = -(-len(lanes) // 32)
    axes.set_yticks(range(0, len(lanes), step), [lane.name for lane in lanes[::step]])
    axes.set(xlim=(start, stop), ylim=(len(lanes) - 0.5, -0.5), xlabel="seconds")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles = [axes.fill_between([], [], color=KINDS[kind][0], label=f"{KINDS[kind][1]}, {share:.0%}")
               for kind, share in sums.items() if share >= 0.0005]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False,
                  title=title)
    return figure


def _draw_lane(axes: Axes, row: int, edges: NDArray[np.float64], found: Mapping[str, NDArray[np.float64]]) -> None:
    height = 0.8
    bottom = np.full(len(edges), row + height / 2)
    for kind, share in found.items():
        if share.any():
            top = bottom - height * np.append(share, share[-1])
            axes.fill_between(edges, bottom, top, step="post", color=KINDS[kind][0], linewidth=0)
            bottom = top
