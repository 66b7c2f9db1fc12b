"""Quantities with units, as people write them: 2us, 9kB, 10GB/s, 50GFLOPS."""

from __future__ import annotations

import re

__all__ = ["quantity"]

PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
            "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}

FACTORS = {"s": {"s": 1.0}, "B": {"B": 1.0}, "B/s": {"B/s": 1.0, "bit/s": 1 / 8},
           "FLOPS": {"FLOPS": 1.0, "FLOP/s": 1.0}}
"""Per unit, what stands for it, and how much of it that is."""


def quantity(text: str, unit: str) -> float:
    """A positive quantity in a unit, one of `FACTORS`.

    Raises
    ------
    ValueError
        If the text is none, with an example of one.

    >>> quantity("2us", "s"), quantity("10 GB/s", "B/s"), quantity("80Mbit/s", "B/s"), quantity("1e3FLOPS", "FLOPS")
    (2e-06, 10000000000.0, 10000000.0, 1000.0)
    """
    names = "|".join(map(re.escape, FACTORS[unit]))
    prefixes = "|".join(sorted(PREFIXES, key=len, reverse=True))
    found = re.fullmatch(rf"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)\s*({prefixes})({names})\s*", text)
    if found is None or float(found[1]) == 0:
        example = {"s": "2us", "B": "9kB", "B/s": "10GB/s", "FLOPS": "50GFLOPS"}[unit]
        raise ValueError(f"{text!r} is no positive number of {unit} with its unit, such as {example}")
    return float(found[1]) * (PREFIXES[found[2]] * FACTORS[unit][found[3]])
