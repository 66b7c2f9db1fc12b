"""Plots of what is measured: speed-up, waiting, and a timeline of one program in order and with latency hidden.

pgaspy and matplotlib are imported where they draw, as the program that makes the tables is no part of a job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.papers.figures import LATENCY_HIDING, N_CORES
from bench.papers.tables import WORDS, Found, Link, speedup

if TYPE_CHECKING:
    from pgaspy.commands.trace import Lane

__all__ = ["draw_speedups", "draw_timeline", "draw_waiting", "lanes_of_last"]

COLOURS = ("#f3c48d", "#9dbbdd", "#e8962e", "#2f6db3", "#8a9096")
"""Of groups of bars: pale and dark ones in turn for ways of running, grey for the paper."""


def draw_speedups(of_one: Mapping[str, Found], of_two: Mapping[str, Found], file: Path) -> None:
    """Draw how many times as fast as NumPy on one core each program is: on this machine; and in the paper, per core."""
    groups = {f"{words}, {processes}": [speedup(found[name], way) for name in of_one]
              for processes, found in (("1 process", of_one), ("2 processes", of_two)) for way, words in WORDS.items()}
    groups[f"the paper, latency hidden, {N_CORES} cores"] = [LATENCY_HIDING[name].hiding or np.nan for name in of_one]
    _draw_bars([*of_one], groups, "times as fast as NumPy on one core", file)


def draw_waiting(of_link: Mapping[str, Link], file: Path) -> None:
    """Draw what share of the time each program waits, on two hosts, and in the paper."""
    groups = {words: [link.waiting(way) for link in of_link.values()] for way, words in WORDS.items()}
    papers = [LATENCY_HIDING[name] for name in of_link]
    groups["the paper, blocking"] = [_or_nan(paper.waiting_blocking) for paper in papers]
    groups["the paper, latency hidden"] = [_or_nan(paper.waiting_hiding) for paper in papers]
    _draw_bars([*of_link], groups, "per cent of the time spent waiting", file)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _draw_bars(names: Sequence[str], groups: Mapping[str, Sequence[float]], label: str, file: Path) -> None:
    """Draw for each program a bar of each group; none where there is no figure."""
    from pgaspy.showing.pictures import new_figure

    figure = new_figure((11, 4.5))
    axes = figure.subplots()
    width = 0.8 / len(groups)
    for k, (title, heights) in enumerate(groups.items()):
        places = np.arange(len(names)) - 0.4 + (k + 0.5) * width
        axes.bar(places, heights, width, label=title, color=COLOURS[k])
    axes.set_xticks(range(len(names)), [LATENCY_HIDING[name].title for name in names], fontsize=8)
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(groups), frameon=False, fontsize=8)
    figure.savefig(file, dpi=150)


def draw_timeline(timeline: Path, seconds: float, title: str, file: Path) -> None:
    """Draw the last call of a run, which took so long."""
    from pgaspy.commands.trace import draw_lanes

    lanes = lanes_of_last(json.loads(timeline.read_text())["traceEvents"], seconds)
    draw_lanes(lanes, 0.0, seconds, title).savefig(file, dpi=150)


def lanes_of_last(events: Sequence[Mapping[str, Any]], seconds: float) -> list[Lane]:
    """The lanes of a run, from so many seconds before its last computation on, which is time 0 then."""
    from pgaspy.commands.trace import Lane, lanes_from_events

    lanes = lanes_from_events(events)
    start = max(lane.intervals["computing"][-1, 1] for lane in lanes) - seconds
    return [Lane(lane.name.partition(",")[0],
                 {kind: np.clip(found - start, 0, None) for kind, found in lane.intervals.items()}) for lane in lanes]
