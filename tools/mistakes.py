"""Calls kernels with a mistake on purpose, which a sanitizer has to report: see `sanitize.py`.

Usage: python tools/mistakes.py addresses|threads
"""

from __future__ import annotations

import sys

import numpy as np

from pgaspy.kernels import bindings

N = 1 << 20


def main() -> None:
    """Make the mistake."""
    {"addresses": write_out_of_bounds, "threads": write_from_all_threads}[sys.argv[1]]()


def write_out_of_bounds() -> None:
    """Fill one element more than there is."""
    out = np.empty(N)
    _negative(N + 1, [0, 8]).call(bindings.address(np.ones(1)), bindings.address(out))


def write_from_all_threads() -> None:
    """Write all results to one element."""
    bindings.set_threads(4)
    out = np.empty(1)
    _negative(N, [8, 0]).call(bindings.address(np.ones(N)), bindings.address(out))


def _negative(n: int, strides: list[int]) -> bindings.ElementwiseCall:
    row = bindings.lookup("negative", "d->d")
    assert row is not None
    return bindings.ElementwiseCall(row, (n,), [[stride] for stride in strides])


if __name__ == "__main__":
    main()
