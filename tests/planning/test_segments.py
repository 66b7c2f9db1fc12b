"""Segments of one dimension of two sides, against counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pgaspy.dims import BlockDim, CyclicDim, Dim, whole_dim
from pgaspy.planning.segments import LENGTH, few_segments, local_slice, part_segments, ranges_by_coord, segments
from pgaspy.planning.view import Section
from tests.costs import cheaply
from tests.randomly import places

STEPS = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 12, 13, -1, -2, -3, -6, -11])


@st.composite
def sections(draw: st.DrawFn, extent: int) -> Section:
    """A section of the given extent of any dimension that is just large enough, or a little larger."""
    step = draw(STEPS)
    before, after = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    span = (extent - 1) * abs(step) + 1 if extent else 0
    n, p = before + span + after, draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["block", "cyclic", "whole"]))
    if kind == "block":
        dim: Dim = BlockDim(n, p, 0, n)
    elif kind == "cyclic":
        block = draw(st.integers(1, 6))
        dim = CyclicDim(n, p, 0, block, draw(st.integers(0, p - 1)), draw(st.integers(1, block)))
    else:
        dim = whole_dim(n)
    return Section(dim, before if step > 0 or not extent else before + span - 1, step, extent)


PAIRS = st.integers(0, 40).flatmap(lambda n: st.tuples(sections(n), sections(n)))


def section_places(section: Section) -> NDArray[np.int64]:
    """Owner and local index of each index of a section."""
    return places(section.dim)[:, section.start + section.step * np.arange(section.extent)]


@given(PAIRS)
def test_segments(pair: tuple[Section, Section]) -> None:
    own, other = pair
    (own_owner, own_local), (other_owner, other_local) = section_places(own), section_places(other)
    for coord in range(own.dim.n_procs):
        found = segments(own, coord, other)
        expected = np.flatnonzero(own_owner == coord)
        covered = [i for start, n in zip(found.start, found.length, strict=True) for i in range(start, start + n)]
        assert covered == expected.tolist()
        for start, n, mine, theirs, peer in zip(
                found.start, found.length, found.own, found.other, found.coord, strict=True):
            i = np.arange(start, start + n)
            assert (other_owner[i] == peer).all()
            np.testing.assert_array_equal(own_local[i], mine + found.own_step * np.arange(n))
            np.testing.assert_array_equal(other_local[i], theirs + found.other_step * np.arange(n))


@given(PAIRS)
def test_few_segments(pair: tuple[Section, Section]) -> None:
    """In plain integers, where they are found, as in general."""
    own, other = pair
    for coord in range(own.dim.n_procs):
        found, expected = few_segments(own, coord, other), segments(own, coord, other)
        if found is None:
            assert any(isinstance(dim, CyclicDim) and dim.n_procs > 1 for dim in (own.dim, other.dim))
            continue
        columns = expected.own, expected.other, expected.coord, expected.length
        assert found == [*zip(*(column.tolist() for column in columns), strict=True)]


def test_few_segments_are_few() -> None:
    n = 2**20
    assert few_segments(Section(whole_dim(n), 0, 1, n), 0, Section(BlockDim(n, n, 0, n), 0, 1, n)) is None


@given(PAIRS)
def test_runs(pair: tuple[Section, Section]) -> None:
    own, other = pair
    (own_owner, own_local), (other_owner, other_local) = section_places(own), section_places(other)
    for coord in range(own.dim.n_procs):
        ranges = ranges_by_coord(own, coord, other)
        assert set(ranges) == set(other_owner[own_owner == coord].tolist())
        for peer, table in ranges.items():
            i = np.flatnonzero((own_owner == coord) & (other_owner == peer))
            mine = np.concatenate([row[0] + row[1] * np.arange(row[LENGTH]) for row in table])
            theirs = np.concatenate([row[2] + row[3] * np.arange(row[LENGTH]) for row in table])
            np.testing.assert_array_equal(mine, own_local[i])
            np.testing.assert_array_equal(theirs, other_local[i])


@given(st.integers(0, 40).flatmap(sections))
def test_local_slice(section: Section) -> None:
    owner, local = section_places(section)
    found = [local_slice(section, coord) for coord in range(section.dim.n_procs)]
    for coord, part in enumerate(found):
        expected = local[owner == coord]
        if part is None:
            assert section.dim.block % abs(section.step)
            continue
        held = np.arange(section.dim.local_extent(coord))
        np.testing.assert_array_equal(held[part], expected)


@given(st.integers(0, 40).flatmap(sections))
def test_a_view_has_a_numpy_form_on_all_processes_or_none(section: Section) -> None:
    found = [local_slice(section, coord) for coord in range(section.dim.n_procs)]
    assert len({part is None for part in found}) == 1


@given(st.integers(0, 40).flatmap(sections))
def test_part_segments(section: Section) -> None:
    owner, local = section_places(section)
    index = section.start + section.step * np.arange(section.extent)
    parts = [int(section.dim.part_from_index(i)) for i in index]
    numbers = [abs(part - parts[0]) for part in parts]
    for coord in range(section.dim.n_procs):
        found = []
        for number, first, length in part_segments(section, coord):
            found += [(number, first + section.step * k) for k in range(length)]
        expected = [(numbers[i], local[i]) for i in np.flatnonzero(owner == coord)]
        assert found == expected


@pytest.mark.parametrize("coord", range(4))
def test_aligned_sections_are_one_run(coord: int) -> None:
    for dim in (BlockDim(1000, 4, 0, 1000), CyclicDim(1000, 4, 0, 10), CyclicDim(1000, 4, 0, 1)):
        section = Section(dim, 0, 1, 1000)
        (peer, table), = ranges_by_coord(section, coord, section).items()
        assert (peer, len(table)) == (coord, 1)
    whole, cyclic = Section(whole_dim(1000), 0, 1, 1000), Section(CyclicDim(1000, 4, 0, 1), 0, 1, 1000)
    assert len(ranges_by_coord(whole, 0, whole)[0]) == 1
    assert len(ranges_by_coord(cyclic, coord, whole)[0]) == 1


def test_cost_follows_the_own_part() -> None:
    """A process's segments of a dimension with 2**40 elements over 2**20 processes."""
    dim = CyclicDim(2**26, 2**20, 0, 16)
    found = cheaply(lambda: segments(Section(dim, 1, 1, 2**26 - 1), 12345, Section(dim, 0, 1, 2**26 - 1)))
    assert found.length.sum() == 64
    assert len(found.start) == 8
