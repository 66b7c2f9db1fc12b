"""The papers' tables: what is made of the figures that jobs hand back."""

from __future__ import annotations

import numpy as np
import pytest

from bench.papers import tables
from bench.papers.figures import LATENCY_HIDING
from bench.papers.plots import lanes_of_last
from bench.papers.settings import SETTINGS, grown
from bench.papers.tables import Link

ONE = {"NumPy": {"seconds": [8.0, 9.0, 40.0]}, "in order": {"seconds": [4.0, 9.0, 10.0], "waiting": [0.5, 0.2, 0.3]},
       "hidden": {"seconds": [1.0, 1.5, 4.0], "waiting": [0.0, 0.0, 0.5]}}


def link(computing, travelling, both, waiting, values=0.0):
    """A program on two hosts, of two rounds that found the same."""
    alone = {way: {"seconds": [computing]} for way in ("in order", "hidden")}
    together = {way: {"seconds": [both], "waiting": [waiting]} for way in ("in order", "hidden")}
    together |= {"NumPy": {"seconds": [10.0]}, "link": {"seconds": [travelling], "values": [values]}}
    return Link([alone] * 2, [together] * 2)


def test_the_eight_of_the_paper_are_measured():
    assert set(SETTINGS) == set(LATENCY_HIDING)


def test_turns_are_compared_one_by_one():
    assert tables.speedup(ONE, "hidden") == 8.0  # the median of 8, 6 and 10, where that of times would give 6
    assert tables.cell(ONE, "in order") == "2.0 (30 %)"
    assert tables.cell(ONE, "hidden") == "8.0"
    assert tables.cell(None, "hidden") == ""


@pytest.mark.parametrize(("name", "cells"), [
    ("mandelbrot", ["", "18.8"]), ("jacobi", ["5.9 (54 %)", "12.8 (2 %)"]),
    ("lattice_boltzmann_2d", ["(19 %)", "(13 %)"])])
def test_the_papers_figures_are_printed_as_they_are(name, cells):
    assert tables.paper_cells(LATENCY_HIDING[name]) == cells


@pytest.mark.parametrize(("bound", "reached"), [(None, [False]), (0.2, [False]), (1.1, [True])])
def test_what_is_at_its_bound_has_no_other_goal(bound, reached):
    found = ONE if bound is None else ONE | {"bound": {"seconds": [bound * s for s in ONE["hidden"]["seconds"]]}}
    results = tables.machine_results("x", 9.0, "STREAM", found, {**ONE})
    assert [result.reached for result in results if result.reached is not None] == reached
    assert len(results) == 4 + (bound is not None)


@pytest.mark.parametrize(("found", "reached"), [
    (link(1.0, 0.5, 1.05, 0.01), [True, True]),
    (link(1.0, 0.5, 1.45, 0.33), [False, False]),
    (link(1.0, 2.0, 2.1, 0.50), [True, None]),  # nothing but waiting is left to do
    (link(1.0, 0.5, 1.25, 0.04, values=0.2), [True, True]),
])
def test_a_slow_link_is_to_cost_nothing_but_what_is_longer(found, reached):
    assert [result.reached for result in tables.link_results("x", "1gbit", found)] == reached


def test_hybrid_and_fusion_are_ratios():
    assert tables.hybrid_row("x", ONE, ONE | {"hidden": {"seconds": [4.0, 4.5, 10.0]}}) == ["x", "2.0", "8.0", "4.00"]
    assert tables.fusion_row("x", ONE, "over 5") == ["x", "2.0", "8.0", "4.0", "over 5"]
    assert tables.stencil_cell(ONE, 2) == "400 %"


@pytest.mark.parametrize(("power", "size"), [(1, 200), (2, 142), (3, 126)])
def test_a_problem_grows_by_its_work(power, size):
    assert grown(lambda n, steps: n**power * steps, 100, 2) == size
    assert grown(lambda n, steps: n**power * steps, 100, 1) == 100


def test_the_last_call_begins_at_zero():
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 0 of 1, host"}},
              *({"ph": "X", "cat": "computing", "pid": 1, "ts": ts, "dur": 1e6} for ts in (0.0, 5e6, 7e6))]
    (lane,) = lanes_of_last(events, 3.5)
    assert lane.name == "rank 0"
    np.testing.assert_array_equal(lane.intervals["computing"], [[0, 0], [0.5, 1.5], [2.5, 3.5]])
