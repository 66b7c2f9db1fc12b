"""Kernels that are cut beside what a process has of what all hand to all: while that travels, the rest is computed."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.execution import recording
from pgaspy.job.procgrid import world
from pgaspy.kernels.bindings import Leaves
from pgaspy.scheduling import elementwise
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("one_flush")]

Arrays = tuple[pg.GlobalArray, ...]


def sums(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    return (x[:, None] + y * 2,)


def sums_by_rows(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    found = x[:, None] * y
    return found, found.sum(axis=1), found.max(axis=1)


def sums_alone(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    return (1 / (1 + (x[:, None] - y)**2)).sum(axis=1), (x[:, None] < y).any(axis=1)


def sums_by_columns(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    found = np.sqrt(x[:, None]**2 + y**2)
    return found, found.sum(axis=0), found.sum()


def squares_of_distances(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    points = np.stack([x, x + 1, -x], axis=1)
    return (points @ points.T - y,) if len(x) == len(y) else (points @ points.T,)


def into_itself(x: pg.GlobalArray, y: pg.GlobalArray) -> Arrays:
    found = x[:, None] - y
    found += found[:, 0:1]
    found -= x[0] * y
    x += found[:, -1]
    return found, x


PROGRAMS = [sums, sums_by_rows, sums_alone, sums_by_columns, squares_of_distances, into_itself]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_no_bit_and_no_message_changes(monkeypatch: pytest.MonkeyPatch, program: Callable[..., Arrays],
                                       seed: int) -> None:
    monkeypatch.setattr(elementwise, "CUT_FROM_ELEMENTS", 1)
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    n, m = rng.choice((5, 40, 301)), rng.choice((40, 301, 1024, 2500))
    if program is squares_of_distances:
        m = n
    x, y = numbers.standard_normal(n), numbers.standard_normal(m)
    layouts = rng.choice(NAMES), rng.choice(NAMES[:4])
    found, sent = [], []
    for has_network in (False, True):
        monkeypatch.setattr(world(), "has_network", has_network)
        a, b = (pg.array(v, layout=layout_of(name, v.shape)) for v, name in zip((x, y), layouts, strict=True))
        pg.sync()
        recording.forget()
        before = pg.stats()
        found.append(program(a, b))
        pg.sync()
        done = pg.stats() - before
        sent.append((done.n_sends, done.nbytes_sent))
    collectively(sent[0] == sent[1], f"sent {sent}")
    for one, several in zip(*found, strict=True):
        assert_equal(several, one.gather())


@pytest.mark.parametrize(("n", "m"), [(8, 700), (40, 64), (64, 40)])
def test_leaves_are_cut_throughout_where_a_row_is_sent(monkeypatch: pytest.MonkeyPatch, n: int, m: int) -> None:
    """Though not all of the row is."""
    monkeypatch.setattr(elementwise, "CUT_FROM_ELEMENTS", 1)
    monkeypatch.setattr(world(), "has_network", True)
    numbers = np.random.default_rng(n)
    x, y = numbers.integers(-9, 9, n), numbers.integers(-9, 9, m)
    a, b = (pg.array(v, layout=pg.Distribution("block")) for v in (x, y))
    for i in (0, n // 2 - 1, n // 2, n - 1):
        pg.sync()
        recording.forget()
        found = a[:, None] - b
        sums, row = found.sum(axis=0), b - found[i]
        del found
        assert_equal(sums, (x[:, None] - y).sum(axis=0))
        assert_equal(row, y - (x[i] - y))


@pytest.mark.parametrize("with_sums", [False, True])
def test_what_is_here_is_a_piece(monkeypatch: pytest.MonkeyPatch, with_sums: bool) -> None:
    """Where rows are reduced, as much of it as consists of whole leaves."""
    n, n_pieces = 2048, []
    for has_network in (False, True):
        monkeypatch.setattr(world(), "has_network", has_network)
        a = pg.zeros((n, n), layout=pg.Distribution("block", "*"))
        x = pg.zeros(n, layout=pg.Distribution("block"))

        def distances(a: pg.GlobalArray = a, x: pg.GlobalArray = x) -> object:
            found = a - x
            return found.sum(axis=1) if with_sums else found

        n_pieces.append(sum(o.n_pieces for o in pg.explain(distances).operations))
    step = Leaves((n, n), 1, 2).rows if with_sums else 1
    first, stop = (min(rank * -(-n // pg.SIZE), n) for rank in (pg.RANK, pg.RANK + 1))
    low, high = -(-first // step) * step, n if stop == n else stop // step * step
    assert n_pieces[1] - n_pieces[0] == (len({low, high} - {0, n}) if low < high else 0)
