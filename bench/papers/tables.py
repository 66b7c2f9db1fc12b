"""What jobs have found becomes rows as the papers print them, and results that are compared with goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from bench.papers.figures import Paper
from bench.timing import Result

__all__ = ["WORDS", "Found", "Link", "cell", "fusion_row", "hybrid_row", "link_results", "link_row", "machine_results",
           "paper_cells", "percent_waiting", "seconds", "speedup", "stencil_cell"]

Found = Mapping[str, Mapping[str, Sequence[float]]]
"""What a job hands back: per way of running and per figure, what each turn has found."""

WORDS = {"in order": "in order", "hidden": "latency hidden"}
"""Ways of running."""

GOAL_BOUND = 1.25
"""The time of a program that is at its bound, over that of the bound."""

GOAL_LONGER = 1.1
"""On a slow link: the time over the longer of computing and the link."""

GOAL_WAITING = 5.0
"""In per cent, where computing takes longer than the link."""


def seconds(found: Found, way: str) -> float:
    """The median of the times."""
    return median(found[way]["seconds"])


def speedup(found: Found, way: str) -> float:
    """How many times as fast as NumPy: the median over the turns."""
    return ratio(found["NumPy"]["seconds"], found[way]["seconds"])


def percent_waiting(found: Found, way: str) -> float:
    """The share of the time that the process which waits longest spends so, in per cent: the median over the turns."""
    return 100 * median(found[way]["waiting"])


def over_bound(found: Found) -> float | None:
    """The time over that of the bound; None without one."""
    return ratio(found["hidden"]["seconds"], found["bound"]["seconds"]) if "bound" in found else None


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the ratios of what was measured side by side."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))


class Link(NamedTuple):
    """A program on two hosts, in rounds of two jobs: a problem for each host, and one for both together."""

    alone: Sequence[Found]
    together: Sequence[Found]

    def computing(self, way: str) -> list[float]:
        """Per round, the seconds of computing by itself."""
        return [seconds(found, way) for found in self.alone]

    def link(self) -> list[float]:
        """Per round, the seconds of what travels, by itself."""
        return [seconds(found, "link") for found in self.together]

    def values(self) -> list[float]:
        """Per round, the seconds of the values that are read, which nothing can hide."""
        return [median(found["link"]["values"]) for found in self.together]

    def both(self, way: str) -> list[float]:
        """Per round, the seconds of the program."""
        return [seconds(found, way) for found in self.together]

    def limits(self) -> list[float]:
        """Per round, the least that the program can take: the longer of computing and link, and values."""
        return [max(computing, link) + values for computing, link, values
                in zip(self.computing("hidden"), self.link(), self.values(), strict=True)]

    def waiting(self, way: str) -> float:
        """As `percent_waiting`: the median over the rounds."""
        return median(percent_waiting(found, way) for found in self.together)

    def speedup(self, way: str) -> float:
        """As `speedup`: the median over the rounds."""
        return median(speedup(found, way) for found in self.together)

    @property
    def computes_longer(self) -> bool:
        """Whether computing takes longer than the link."""
        return median(self.computing("hidden")) > median(self.link())


def cell(found: Found | Link | None, way: str) -> str:
    """How many times as fast as NumPy, and the share of the time spent waiting, as papers print it."""
    if found is None:
        return ""
    if isinstance(found, Link):
        return in_words(found.speedup(way), found.waiting(way))
    return in_words(speedup(found, way), percent_waiting(found, way))


def in_words(times: float | None, waiting: float | None) -> str:
    """A speed-up and a share, of which there may be one."""
    parts = ["" if times is None else f"{times:.1f}", f"({waiting:.0f} %)" if waiting else ""]
    return " ".join(filter(None, parts))


def paper_cells(paper: Paper) -> list[str]:
    """The two figures of the paper: blocking, and latency hidden."""
    return [in_words(paper.blocking, paper.waiting_blocking), in_words(paper.hiding, paper.waiting_hiding)]


def machine_results(name: str, goal: float, bound: str, of_one: Found, of_two: Found) -> list[Result]:
    """The results of a program on this machine; one that is at its bound has no other goal.

    Parameters
    ----------
    goal
        How many times as fast as NumPy the program is to be on one process.
    bound
        What its bound is called.
    """
    over = over_bound(of_one)
    is_bound = over is not None and over <= GOAL_BOUND
    results = [Result(f"{name}, {processes}, {words}", seconds(found, way) * 1e3, "ms", "NumPy",
                      seconds(found, "NumPy") * 1e3, speedup(found, way),
                      goal if found is of_one and way == "hidden" and not is_bound else None)
               for processes, found in (("1 process", of_one), ("2 processes", of_two)) for way, words in WORDS.items()]
    if over is not None:
        results.append(Result(f"{name}, 1 process, latency hidden", seconds(of_one, "hidden") * 1e3, "ms", bound,
                              seconds(of_one, "bound") * 1e3, over, GOAL_BOUND if is_bound else None, at_most=True))
    return results


def link_results(name: str, rate: str, link: Link) -> list[Result]:
    """The results of a program on two hosts."""
    title = f"{name} over {rate}, latency hidden"
    return [Result(title, median(link.both("hidden")) * 1e3, "ms", "longer of computing and link, and values",
                   median(link.limits()) * 1e3, ratio(link.both("hidden"), link.limits()), GOAL_LONGER, at_most=True),
            Result(f"{title}: waiting", link.waiting("hidden"), "% of the time",
                   goal=GOAL_WAITING if link.computes_longer else None)]


def link_row(title: str, link: Link) -> list[str]:
    """A program in the table of two hosts: times in ms, and the time over the longer one."""
    times = link.computing("hidden"), link.link(), link.values(), link.both("in order"), link.both("hidden")
    over = ratio(link.both("hidden"), link.limits())
    return [title, *(f"{median(found) * 1e3:.1f}" for found in times), f"{over:.2f}",
            *(f"{link.waiting(way):.0f} %" for way in WORDS)]


def stencil_cell(found: Found | Link | None, n_processes: int) -> str:
    """The speed-up over so many times NumPy's, in per cent."""
    if found is None:
        return ""
    times = found.speedup("hidden") if isinstance(found, Link) else speedup(found, "hidden")
    return f"{100 * times / n_processes:.0f} %"


def hybrid_row(title: str, of_one: Found, of_two: Found) -> list[str]:
    """A program by a process per core, and by a process with a thread per core: speed-ups, and how these compare."""
    blocking, hybrid = speedup(of_two, "hidden"), speedup(of_one, "hidden")
    return [title, f"{blocking:.1f}", f"{hybrid:.1f}", f"{hybrid / blocking:.2f}"]


def fusion_row(title: str, found: Found, paper: str) -> list[str]:
    """A program without fusion and with it: speed-ups, how these compare, and the paper's figure."""
    gain = ratio(found["in order"]["seconds"], found["hidden"]["seconds"])
    return [title, *(f"{speedup(found, way):.1f}" for way in WORDS), f"{gain:.1f}", paper]
