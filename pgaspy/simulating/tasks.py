"""What tasks take: what is said of them, or else what a call takes on this process, on arrays of the same shapes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pgaspy.host.units import quantity
from pgaspy.host.words import of_bytes
from pgaspy.scheduling.nodes import counted_call
from pgaspy.simulating.measuring import PassedThrough
from pgaspy.simulating.scripts import LocalShape
from pgaspy.simulating.settings import SimulationError

__all__ = ["Cost", "TaskTimes", "cost_from_text"]

MAX_MEASURED_BYTES = 1 << 30
"""What a task is measured on has so many bytes at most."""

N_MEASURED, SECONDS_MEASURED = 200, 0.3
"""So many calls are measured, or as many as take so long; and one before, which is not counted."""


class Cost(NamedTuple):
    """What is said of a task: the seconds of a call, or the bytes of its local views per second."""

    seconds: float = 0.0
    speed: float = math.inf


def cost_from_text(text: str) -> tuple[str, Cost]:
    """A name and what it costs, such as `add_product=2ms` or `fill=10GB/s`.

    Raises
    ------
    ValueError
        If it is neither.

    >>> cost_from_text("fill=10GB/s")
    ('fill', Cost(seconds=0.0, speed=10000000000.0))
    """
    name, equals, cost = text.partition("=")
    if not name or not equals:
        raise ValueError(f"{text!r} is no name and cost, such as add_product=2ms or fill=10GB/s")
    try:
        return name, Cost(seconds=quantity(cost, "s"))
    except ValueError:
        try:
            return name, Cost(speed=quantity(cost, "B/s"))
        except ValueError:
            raise ValueError(f"{cost!r} is no cost of {name}: give seconds, such as 2ms, or bytes of its local views "
                             "per second, such as 10GB/s") from None


class TaskTimes:
    """The seconds of tasks; each is measured again and again, once per shapes, and takes one of the times then."""

    def __init__(self, costs: Mapping[str, Cost], threads: int | None = None) -> None:
        """Measured with so many threads."""
        self._costs, self._threads = costs, threads
        self._measured: dict[Any, Sequence[float]] = {}
        self._rng = Random(1996)
        self.used: set[str] = set()

    def __call__(self, name: str, function: Callable[..., Any], arguments: Sequence[Any],
                 nbytes_besides: int = 0) -> float:
        """Those of one call, before which so many bytes have been read, which leave the caches to them."""
        shapes = tuple(x for x in arguments if isinstance(x, LocalShape))
        said = next((key for key in (name, name.rpartition(".")[2]) if key in self._costs), None)
        if said is not None:
            self.used.add(said)
            cost = self._costs[said]
            return cost.seconds + sum(x.nbytes for x in shapes) / cost.speed
        key = name, shapes
        if key not in self._measured:
            with threadpool_limits(self._threads):
                self._measured[key] = _measured(name, function, arguments, sum(x.nbytes_spanned for x in shapes),
                                                nbytes_besides)
        return self._rng.choice(self._measured[key])


def _measured(name: str, function: Callable[..., Any], arguments: Sequence[Any], nbytes: int,
              nbytes_besides: int) -> Sequence[float]:
    remedy = f"--cost {name.rpartition('.')[2]}=... says what it takes"
    if nbytes > MAX_MEASURED_BYTES:
        raise SimulationError(f"the task {name} works on {of_bytes(nbytes)}, too much to measure it here: {remedy}")
    rng = np.random.default_rng(2012)
    given = [_filled(x, rng) if isinstance(x, LocalShape) else x for x in arguments]
    others, times = PassedThrough(nbytes_besides), list[float]()
    begin = time.perf_counter()
    try:
        while len(times) <= N_MEASURED and (len(times) < 2 or time.perf_counter() - begin < SECONDS_MEASURED):
            others.pass_through()
            start = time.perf_counter()
            counted_call(function, *[x() if isinstance(of, LocalShape) else x
                                     for x, of in zip(given, arguments, strict=True)])
            times.append(time.perf_counter() - start)
    except Exception as error:
        raise SimulationError(f"the task {name}, measured on arrays of random numbers, raises {type(error).__name__}: "
                              f"{error}; {remedy}") from error
    return times[1:]


def _filled(x: LocalShape, rng: np.random.Generator) -> Callable[[], NDArray[Any]]:
    """What makes a local view, as for each call: of numbers at the same distances in memory, of which caches may have
    room for few.
    """
    if 0 in x.shape:
        return lambda: np.empty(x.shape, x.dtype)
    n = x.nbytes_spanned // x.dtype.itemsize
    numbers = rng.standard_normal(n).astype(x.dtype) if x.dtype.kind in "fc" else np.ones(n, x.dtype)
    first = sum((n - 1) * -stride for n, stride in zip(x.shape, x.strides, strict=True) if stride < 0)
    return lambda: np.ndarray(x.shape, x.dtype, numbers, first, x.strides)
