"""The gallery: that its page is that of the programs as they are, and that its pictures show what they should.

The pixels of a picture are numbers from 0, for the least of the values that are drawn, to 255, for the largest.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from _driver import names
from PIL import Image

from tests.jobs import ROOT

GALLERY = runpy.run_path(str(ROOT / "tools" / "gallery.py"))
MIDDLE = 127.5

Pixels = Any


def test_all_are_shown() -> None:
    assert sorted(name for section in GALLERY["SECTIONS"].values() for name in section) == names()


def test_the_page_is_up_to_date() -> None:
    written = GALLERY["PAGE"].read_text()
    assert written == GALLERY["page"](GALLERY["speeds_of"](written)), "call python tools/gallery.py"
    assert "not measured" not in written


def test_the_pictures_are_small() -> None:
    files = sorted(GALLERY["PICTURES"].iterdir())
    assert [file.name for file in files] == [f"{name}.png" for name in names()]
    assert sum(file.stat().st_size for file in files) < 600_000


@pytest.mark.parametrize("name", names())
def test_cores_are_short(name: str) -> None:
    assert sum(len(lines) for _, lines in GALLERY["functions"](name)) <= 40


# What they show -------------------------------------------------------------------------------------------------------


def around_middle(p: Pixels, low: float, high: float) -> Pixels:
    """The pixels at some distances from the middle, of which 1 is that of the edges."""
    y, x = (np.linspace(-1, 1, n) for n in p.shape)
    distance = np.hypot(y[:, None], x)
    return p[(low <= distance) & (distance < high)]


def tiles(p: Pixels, n_rows: int, n_columns: int) -> Sequence[Pixels]:
    """The pictures that make up one, row by row."""
    height, width = p.shape[0] / n_rows, p.shape[1] / n_columns
    return [p[round(i * height):round((i + 1) * height), round(j * width):round((j + 1) * width)]
            for i in range(n_rows) for j in range(n_columns)]


def is_even(p: Pixels, slack: int = 2) -> bool:
    """Whether a picture is its own mirror image, left for right."""
    return bool((abs(p - p[:, ::-1]) <= slack).all())


def place(p: Pixels, level: int) -> Pixels:
    """The mean place of the pixels of a level, as parts of the height and the width."""
    return np.argwhere(p == level).mean(axis=0) / p.shape


def mandelbrot(p: Pixels) -> bool:
    """The set is as high above the axis as below; its large disc is in it, the left edge is not."""
    return bool((p == p[::-1]).all()) and p[len(p) // 2, int(0.75 * len(p))] == 255 and p[0, 0] < 60


def black_scholes(p: Pixels) -> bool:
    """Options at the money are worth most, and more where share and strike are dear."""
    n = len(p)
    rows = np.arange(n // 4, n // 2)
    best = p.argmax(axis=1)[rows]
    return bool((abs(best - rows) < 0.35 * rows).all()) and p[-1, -1] > 200 and (np.diff(p.diagonal()) >= -1).all()


def n_body(p: Pixels) -> bool:
    """Half of the bodies are left of the middle, and none in the upper right corner."""
    left, right = p[:, :len(p) // 2].sum(), p[:, len(p) // 2:].sum()
    return 0.7 < left / right < 1.4 and p[:len(p) // 6, -len(p) // 4:].sum() == 0


def knn(p: Pixels) -> bool:
    """The spiral is lighter than what is between its arms, and the corners are dark."""
    row = p[len(p) // 2]
    peaks = (row[1:-1] >= row[:-2]) & (row[1:-1] > row[2:]) & (row[1:-1] > 190)
    return max(p[0, 0], p[-1, 0], p[-1, -1]) < 90 and peaks.sum() >= 8


def lattice_boltzmann_2d(p: Pixels) -> bool:
    """Behind the cylinder vortices turn to the right and to the left; nothing turns within it."""
    wake = p[:, p.shape[1] // 3:]
    cylinder = p[round(0.52 * len(p)), round(0.2 * p.shape[1])]
    return (wake > 250).mean() > 0.02 < (wake < 5).mean() and abs(cylinder - MIDDLE) < 2


def lattice_boltzmann_3d(p: Pixels) -> bool:
    """Nothing flows in the sphere and at the walls; flow is fastest beside the sphere or far behind it."""
    inside = p[len(p) // 2, p.shape[1] // 4]
    return not p[0].any() and not p[-1].any() and inside == 0 and p[len(p) // 2, -10] > 200


def jacobi(p: Pixels) -> bool:
    """Rings are sharp: black and white, and nothing between."""
    return bool((np.minimum(p, 255 - p) <= 1).all()) and 0.2 < (p > MIDDLE).mean() < 0.5 and p[0, 0] <= 1


def jacobi_stencil(p: Pixels) -> bool:
    """It becomes colder downwards, and to the right."""
    down, right = p[:, len(p) // 2], p[len(p) // 2]
    return bool((np.diff(down) <= 0).all()) and bool((np.diff(right) <= 0).all()) and down[0] == 255


def monte_carlo_pi(p: Pixels) -> bool:
    """The pixels of the quarter of a circle are lighter, and pi / 4 of all."""
    y, x = (np.arange(n) / (n - 1) for n in p.shape)
    inside = np.hypot(1 - y[:, None], x) < 1
    return p[inside].mean() > 1.8 * p[~inside].mean() and abs(inside.mean() - np.pi / 4) < 0.02


def summa(p: Pixels) -> bool:
    """The product of a matrix with its transpose, scaled, is symmetric."""
    return bool((abs(p - p.T) <= 1).all()) and p.std() > 20


def stencil_views(p: Pixels) -> bool:
    """Waves on a torus: as much above zero as below, and the same on opposite edges."""
    return abs(p.mean() - MIDDLE) < 15 and abs(p[:, 0] - p[:, -1]).max() < 30


def shallow_water(p: Pixels) -> bool:
    """Waves: as many crests as troughs of water that is one deep on the mean, and crests that cross."""
    return p.max() == 255 and p.min() == 0 and p.std() > 15 and abs(np.diff(p, axis=0)).max() < 128


def n_body_vectors(p: Pixels) -> bool:
    """The ball is dense in the middle, and there is nothing at the corners."""
    return around_middle(p, 0, 0.3).mean() > 2 * around_middle(p, 0.5, 0.9).mean() and not around_middle(
        p, 1.2, 1.5).any()


def laplace(p: Pixels) -> bool:
    """The contours of x^2 - y^2 are those of its negative, mirrored."""
    return bool((abs(p + p.T - 255) < 25).mean() > 0.98)


def wiener_filter(p: Pixels) -> bool:
    """The data have a gap, and what is found in its place varies; elsewhere it is smoother."""
    data, found = tiles(p, 1, 2)
    gap = data == np.bincount(data.ravel()).argmax()
    rough = [abs(np.diff(a, axis=0))[~gap[1:]].mean() for a in (data, found)]
    return 0.05 < gap.mean() < 0.3 and found[gap].std() > 8 and rough[1] < 0.5 * rough[0]


def power_spectrum(p: Pixels) -> bool:
    """A smooth field: neighbours differ much less than others."""
    return abs(np.diff(p, axis=0)).mean() < 0.4 * abs(p - p.T).mean()


def slabs(p: Pixels) -> bool:
    """The light is where the opening is, and as wide to both sides."""
    return around_middle(p, 0, 0.35).mean() > 5 * around_middle(p, 0.7, 1).mean() and is_even(p, 6)


def finite_differences(p: Pixels) -> bool:
    """The first wave has one sign, the second of each row both, half and half."""
    first, second, *_ = tiles(p, 2, 4)
    return first.mean() > MIDDLE + 40 and abs(second.mean() - MIDDLE) < 8 and second.std() > 30


def orthonormal_states(p: Pixels) -> bool:
    """The lowest state has one sign, the next two have both, along one direction each."""
    first, second, third, *_ = tiles(p, 2, 3)
    return (first.max() == 255 or first.min() == 0) and is_even(first) and all(
        abs(state.mean() - MIDDLE) < 2 and state.std() > 20 for state in (second, third)) and is_even(second)


def conjugate_gradients(p: Pixels) -> bool:
    """The potential is least in the middle of the disc, at a tenth of the width from the middle."""
    return bool(np.hypot(*(place(p, 0) - (0.6, 0.45))) < 0.05)


def multigrid(p: Pixels) -> bool:
    """Nine columns of hills and valleys, of the same height on both sides."""
    above = p[len(p) // 4] > p[0, 0]
    return is_even(p) and np.count_nonzero(np.diff(above)) >= 8


def navier_stokes(p: Pixels) -> bool:
    """Vortices: neighbours turn the other way."""
    means = [tile.mean() - p.mean() for tile in tiles(p, 2, 2)]
    return all(abs(mean) > 15 for mean in means) and np.sign(means).tolist() in ([1, -1, -1, 1], [-1, 1, 1, -1])


def game_of_life(p: Pixels) -> bool:
    """Most cells are dead, some are as old as the world, and some young."""
    return bool((p == 0).mean() > 0.8) and (p > 250).sum() > 20 and ((p > 0) & (p < 200)).sum() > 20


def pca(p: Pixels) -> bool:
    """Waves in the first two pictures, and one spot in the third."""
    first, second, third = tiles(p, 1, 3)
    far = abs(third - np.median(third))
    return min(first.std(), second.std()) > 40 and np.hypot(
        *(np.argwhere(far > 0.8 * far.max()).mean(axis=0) / third.shape - (0.6, 0.35))) < 0.1


def k_means(p: Pixels) -> bool:
    """Nine clusters of about one size, on a background."""
    shares = [np.mean(abs(p - 255 * label / 9) < 10) for label in range(1, 10)]
    return min(shares) > 0.02 and max(shares) < 0.15 < np.mean(p == 0)


def page_rank(p: Pixels) -> bool:
    """Most is given within the groups, which are along the diagonal."""
    inside = np.kron(np.eye(12), np.ones((20, 20))) > 0
    steps = np.arange(240) * len(p) // 240
    return p[np.ix_(steps, steps)][inside].mean() > 1.2 * p.mean()


def logistic_regression(p: Pixels) -> bool:
    """Chances are high in one arm of the spiral, low in the other, and change slowly."""
    return abs(np.diff(p, axis=0)).max() < 40 and (p > 200).mean() > 0.2 < (p < 55).mean()


def particles_in_cells(p: Pixels) -> bool:
    """Particles meet along two lines of each direction, or leave them."""
    return all(line.max() - line.min() > 30 for line in (p.mean(axis=0), p.mean(axis=1)))


SHOWS: dict[str, Callable[[Pixels], Any]] = {name: globals()[name] for name in names()}


@pytest.mark.parametrize("name", names())
def test_what_is_shown(name: str) -> None:
    with Image.open(GALLERY["PICTURES"] / f"{name}.png") as image:
        assert image.mode == "P"
        assert SHOWS[name](np.asarray(image).astype(int))
