"""The machine that a job is simulated on: its processes, and the network between them. Pure.

All in seconds, bytes and operations per second, of one process with the threads that it has.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pgaspy.simulating.network import Network

__all__ = ["Machine", "machine_from_file"]


@dataclass(frozen=True)
class Machine:
    """Speeds and times; the defaults are those of a process with eight cores on a cluster of today.

    Attributes
    ----------
    latency, bandwidth, gap
        Of messages: LogGP's L, 1/G and g.
    burst
        Bytes that a link lets through at once after it was idle.
    overhead
        What each message takes of the processor at either end, with what the engine does for it: o.
    copying
        The speed at which processors copy messages at either end; infinite where the network does it by itself.
    flops
        Elementwise operations: additions and the like, in cache.
    products
        Operations of matrix products on local views.
    memory
        (bytes, speed): that of what is read and written, each array once, by kernels that work on so many bytes. The
        last is that of the memory.
    kernel, engine
        What it takes to start a computation; and what of that the engine takes, as besides a measured one.
    statement, flush
        What it takes to record a statement; and to hand those over that are executed together.
    threads
        Those of a process; None for as many as this one has, where tasks are measured.
    """

    latency: float = 2e-6
    bandwidth: float = 10e9
    gap: float = 0.0
    burst: float = 0.0
    overhead: float = 5e-6
    copying: float = math.inf
    flops: float = 50e9
    products: float = 200e9
    memory: tuple[tuple[float, float], ...] = ((math.inf, 50e9),)
    kernel: float = 5e-6
    engine: float = 3e-6
    statement: float = 5e-6
    flush: float = 20e-6
    threads: int | None = None

    @property
    def network(self) -> Network:
        """The network's parameters."""
        return Network(self.latency, self.overhead, self.gap, 1 / self.bandwidth, 1 / self.copying, self.burst)

    def memory_speed(self, nbytes: float) -> float:
        """That of kernels that work on so many bytes: between two that were measured, by the logarithm of the size."""
        sizes = [size for size, _ in self.memory]
        k = bisect_left(sizes, nbytes)
        if k == 0 or k == len(sizes):
            return self.memory[min(k, len(sizes) - 1)][1]
        (low, before), (high, after) = self.memory[k - 1:k + 1]
        share = 0.0 if math.isinf(high) else math.log(nbytes / low) / math.log(high / low)
        return before ** (1 - share) * after ** share


def machine_from_file(path: Path, given: Mapping[str, Any]) -> Machine:
    """The machine of a report of `pgaspy selftest --json`, with what is given besides.

    Raises
    ------
    ValueError
        If the file holds none.
    """
    try:
        found = json.loads(path.read_text())["machine"]
        known = {field.name for field in fields(Machine)}
        values: dict[str, Any] = {name: math.inf if value is None else value
                                  for name, value in found.items() if name in known}
        if not isinstance(values["threads"], int):
            raise ValueError(f"threads: {values['threads']}")
        values["memory"] = tuple((float(size), float(speed)) for size, speed in values["memory"])
        speeds = [values[name] for name in ("bandwidth", "copying", "flops", "products") if name in values]
        others = [value for name, value in values.items() if name != "memory"]
        if not (all(value >= 0 for value in others) and all([*speeds, *(speed for _, speed in values["memory"])])):
            raise ValueError(f"not all of {values} are numbers, and speeds above zero")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no report that `pgaspy selftest --json` has written: {type(error).__name__}: "
                         f"{error}") from error
    return Machine(**{**values, **given})


def as_json(machine: Machine) -> dict[str, Any]:
    """The machine for JSON, which has no infinity."""
    return {name: None if value == math.inf else value for name, value in asdict(machine).items()}
