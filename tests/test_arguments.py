"""Arguments that are no operands, but say what to do: global numbers and arrays are taken for what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import assert_equal

pytestmark = pytest.mark.mpi

X = np.array([3.0, 0.5, 2.0, 4.0, 1.0, 5.0, 2.5, 0.0])
A = np.arange(20.0).reshape(5, 4)


def histogram(xp: Any, **options: Any) -> Any:
    counts, edges = xp.histogram(xp.array(X), **options)
    return [*counts, *edges]


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {  # of a module, of its numbers 0 to 9, and of a vector of two
    "histogram of a range": lambda xp, i, v: histogram(xp, bins=3, range=(i[0], i[5])),
    "histogram between extremes": lambda xp, i, v: histogram(xp, bins=3, range=(xp.array(X).min(), xp.array(X).max())),
    "density": lambda xp, i, v: histogram(xp, bins=3, range=v, density=True),
    "histogram of bins": lambda xp, i, v: histogram(xp, bins=[i[0], i[1], i[5]]),
    "histogram of so many": lambda xp, i, v: histogram(xp, bins=i[4]),
    "histogram2d": lambda xp, i, v: xp.histogram2d(xp.array(X), xp.array(X), bins=2, range=[(0, i[5]), v])[0],
    "histogram2d of so many": lambda xp, i, v: xp.histogram2d(xp.array(X), xp.array(X), bins=i[3])[0],
    "edges": lambda xp, i, v: xp.histogram_bin_edges(xp.array(X), 4, range=v),
    "quantile": lambda xp, i, v: xp.quantile(xp.array(X), xp.linspace(0, 1, 6)),
    "percentile": lambda xp, i, v: xp.percentile(xp.array(X), v * 10),
    "nanquantile": lambda xp, i, v: xp.nanquantile(xp.array(X), v / 10, axis=0),
    "nanpercentile": lambda xp, i, v: xp.nanpercentile(xp.array(A), [i[5], i[9]], axis=1),
    "interp": lambda xp, i, v: xp.interp(xp.array([-1.0, 0.5, 9.0]), xp.arange(3.0), xp.array(X[:3]), left=i[4],
                                         right=xp.array(X).sum()),
    "interp in periods": lambda xp, i, v: xp.interp(xp.array(X), xp.arange(3.0), xp.array(X[:3]), period=i[3]),
    "pad": lambda xp, i, v: xp.pad(xp.array(A), (v, (i[1], 0)), constant_values=i[7]),
    "roll": lambda xp, i, v: xp.roll(xp.array(A), v, axis=(0, 1)),
    "roll by a number": lambda xp, i, v: xp.roll(xp.array(X), i[3]),
    "unravel_index": lambda xp, i, v: [*xp.unravel_index(xp.array(A).argmax(), xp.array(A.shape))],
    "ravel_multi_index": lambda xp, i, v: xp.ravel_multi_index((xp.array([0, 2]), v - 1), (i[3], i[4] + 1)),
    "fftshift": lambda xp, i, v: xp.fft.fftshift(xp.array(A), axes=i[1]),
    "partition": lambda xp, i, v: xp.partition(xp.array(X), v)[[2, 5]],
    "argpartition": lambda xp, i, v: xp.argpartition(xp.array(X), i[2])[2],
    "fftfreq": lambda xp, i, v: xp.fft.fftfreq(i[5], xp.array(X)[0]),
    "rfftfreq": lambda xp, i, v: xp.fft.rfftfreq(i[5]),
    "tensordot": lambda xp, i, v: xp.tensordot(xp.array(A), xp.array(A), i[2]),
    "tensordot of axes": lambda xp, i, v: xp.tensordot(xp.array(A), xp.array(A), (i[0], i[0])),
    "lstsq": lambda xp, i, v: xp.linalg.lstsq(xp.array(A), xp.array(X[:5]), rcond=i[1] / 1e9)[2],
}


@pytest.mark.parametrize("call", CALLS)
def test_arguments_may_be_global(call: str) -> None:
    expected, found = (CALLS[call](xp, xp.arange(10), xp.array([2, 5])) for xp in (np, pg))
    if isinstance(expected, list):
        found = pg.array(found)
    assert_equal(pg.asarray(found), np.asarray(expected))


def test_integers_up_to_a_global_number() -> None:
    found = [pg.random.default_rng(5).integers(low, high, 20) for low, high in (
        (2, 7), (pg.arange(9)[2], pg.arange(9)[7]), (2, pg.ones(7).sum()))]
    for other in found[1:]:
        assert_equal(other, found[0].gather())
