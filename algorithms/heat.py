"""The heat equation by Jacobi sweeps, as a sequential NumPy program has it with one import changed.

Each point inside becomes the mean of itself and its four neighbours; the edges are kept. The field may be an elevation
model: by this equation hillslopes diffuse as well (W. E. H. Culling, *Analytical Theory of Erosion*, Journal of Geology
68, 1960).

The program as global array expressions: M. R. B. Kristensen, Y. Zheng and B. Vinter, *PGAS for Distributed Numerical
Python Targeting Multi-core Clusters*, IPDPS 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pgaspy as pg

from ._program import Parser, report, timed

__all__ = ["heat"]

TERRAINS = {"jacksboro": ("jacksboro_fault_dem.npz", "elevation"), "topobathy": ("topobathy.npz", "topo")}
"""Elevation models that matplotlib ships as sample data: the file, and the array in it."""

N_PICTURE = 800
"""The picture shows at most this many points along each dimension."""


def heat(full: pg.GlobalArray, epsilon: float, max_sweeps: float = math.inf) -> int:
    """Sweep over the field, in place, until a sweep changes it by `epsilon` or less; the number of sweeps. Collective.

    Parameters
    ----------
    full
        Shape (m, n), floating-point.
    epsilon
        In the field's unit, summed over all points.
    """
    center, up, down = full[1:-1, 1:-1], full[:-2, 1:-1], full[2:, 1:-1]
    left, right = full[1:-1, :-2], full[1:-1, 2:]
    work = pg.empty_like(center)
    delta, n_sweeps = math.inf, 0
    while delta > epsilon and n_sweeps < max_sweeps:
        work[...] = 0.2 * (center + up + down + left + right)
        delta = np.abs(center - work).sum()
        center[...] = work
        n_sweeps += 1
    return n_sweeps


def error_of_known_solution(shape: tuple[int, ...], n_sweeps: int = 10) -> float:
    """The largest error of a field whose sweeps are known, as a multiple of n_sweeps * eps. Collective.

    `sin(3 pi i / (m-1)) sin(2 pi j / (n-1))` is zero on the edges and an eigenvector of the sweep, which multiplies it
    by `0.2 (1 + 2 cos(3 pi / (m-1)) + 2 cos(2 pi / (n-1)))`. A wrong or missing neighbour anywhere shows in it.
    """
    p, q = (k * math.pi / max(n - 1, 1) for k, n in zip((3, 2), shape, strict=True))
    mode = pg.sin(p * pg.arange(shape[0]))[:, None] * pg.sin(q * pg.arange(shape[1]))
    found = mode.copy()
    for edge in found[0], found[-1], found[:, 0], found[:, -1]:
        edge[...] = 0
    heat(found, -1, n_sweeps)
    factor = 0.2 * (1 + 2 * math.cos(p) + 2 * math.cos(q))
    return float(np.abs(found - factor ** n_sweeps * mode).max()) / (n_sweeps * np.finfo(float).eps)


def load_field(file: str | None, terrain: str | None) -> pg.GlobalArray:
    """The initial field, as float64 (or as it is, if it is floating-point). Collective.

    Raises
    ------
    ValueError
        If the field is no real matrix with a point inside.
    """
    if file is not None:
        field = pg.load(file)
    else:
        from matplotlib.cbook import get_sample_data

        name, key = TERRAINS[terrain or "jacksboro"]
        path = get_sample_data(name, asfileobj=False)
        with np.load(path) as arrays:  # the same file on every process, which each keeps its part of it
            field = pg.array(arrays[key])
    if field.ndim != 2 or min(field.shape) < 3 or field.dtype.kind not in "fiu":
        raise ValueError(f"the field is an array of shape {field.shape} and dtype {field.dtype}: give a real one of "
                         "two dimensions with at least 3 points along each")
    return field.astype(field.dtype if field.dtype.kind == "f" else float, copy=False)


def draw(file: str, before: NDArray[Any] | None, after: NDArray[Any] | None, title: str) -> None:
    """Draw two fields side by side as shaded relief, on the process that has them."""
    if before is None or after is None:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LightSource, Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    light, colors = LightSource(azdeg=315, altdeg=45), Normalize(float(before.min()), float(before.max()))
    exaggeration = before.shape[0] / 6 / (float(before.max() - before.min()) or 1)
    plots = figure.subplots(1, 2)
    for plot, field, when in zip(plots, (before, after), ("before", title), strict=True):
        relief = ScalarMappable(colors, "gist_earth")
        plot.imshow(light.shade(field, relief.get_cmap(), colors, vert_exag=exaggeration, blend_mode="soft"))
        plot.set(title=when, xticks=[], yticks=[])
    figure.colorbar(relief, ax=plots, shrink=0.8)
    figure.savefig(file, dpi=120)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; see the module's docstring."""
    parser = Parser(prog="python -m pgaspy.algorithms.heat", description="Diffuse a field by Jacobi sweeps.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("field", nargs="?", metavar="field.npy", help="the initial field, of two dimensions")
    source.add_argument("--terrain", choices=TERRAINS, help="an elevation model that matplotlib ships, instead "
                                                            "(default: jacksboro)")
    parser.add_argument("--refine", type=int, default=1, metavar="R", help="repeat each point R x R times")
    parser.add_argument("--epsilon", type=float, default=1e-3,
                        help="end when a sweep changes the field by this or less, on average over its points "
                             "(default: 0.001)")
    parser.add_argument("--max-sweeps", type=int, default=1000, help="end after so many sweeps (default: 1000)")
    parser.add_argument("-o", "--output", metavar="out.npy", help="where to write the field")
    parser.add_argument("--picture", metavar="out.png", help="where to draw the field, before and after")
    arguments = parser.parse_args(argv)
    if arguments.refine < 1:
        parser.error(f"--refine {arguments.refine} is below 1")
    try:
        field = load_field(arguments.field, arguments.terrain)
        if arguments.picture:
            import matplotlib  # noqa: F401  (before the work, if at all)
    except ImportError as error:
        parser.error(f"{error}: terrains and pictures need it (pip install matplotlib)")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for dim in range(2 if arguments.refine > 1 else 0):
        field = pg.repeat(field, arguments.refine, axis=dim)

    step = max(-(-max(field.shape) // N_PICTURE), 1)
    before = field[::step, ::step].gather(root=0) if arguments.picture else None
    low, high = float(field.min()), float(field.max())
    n_sweeps, seconds = timed(heat, field, arguments.epsilon * field.size, arguments.max_sweeps)
    after = field[::step, ::step].gather(root=0) if arguments.picture else None

    if arguments.output:
        pg.save(arguments.output, field)
    if arguments.picture:
        draw(arguments.picture, before, after, f"after {n_sweeps} sweeps")
    rounding = (high - low + max(abs(low), abs(high))) * np.finfo(field.dtype).eps * max(n_sweeps, 1)
    excess = max(low - float(field.min()), float(field.max()) - high, 0.0)
    report(f"heat: {field.shape[0]} x {field.shape[1]} points, {field.dtype}, {n_sweeps} sweeps", seconds,
           f"{n_sweeps * field.size / seconds / 1e6:.1f} Mpoint/s",
           {"beyond the initial extremes / (sweeps eps max|u|)": (excess / (rounding or 1), 1),
            "error of a known solution / (sweeps eps)": (error_of_known_solution(field.shape), 10)})
    if arguments.picture and pg.RANK == 0:
        print(f"  picture: {arguments.picture}")


if __name__ == "__main__":
    main()
