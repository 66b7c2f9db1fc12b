"""The layouts on which the tests of whole operations run."""

from __future__ import annotations

import pgaspy as pg
from pgaspy.layout import Layout, one_process, replicated

__all__ = ["NAMES", "layout_of"]

NAMES = ("block", "cyclic(2)", "cyclic(3) columns", "first dimension", "replicated rows", "one process", "replicated")


def layout_of(name: str, shape: tuple[int, ...]) -> Layout:
    """A layout of the name for a shape, over all processes of this job."""
    ndim, size = len(shape), pg.SIZE
    if name == "one process":
        return one_process(shape, size, size - 1)
    if name == "replicated" or not ndim:
        return replicated(shape, size)
    if name == "first dimension":
        return pg.Distribution("block", *["*"] * (ndim - 1)).bind(shape, size)
    if name == "cyclic(3) columns":
        return pg.Distribution(*["*"] * (ndim - 1), "cyclic(3)").bind(shape, size)
    if name == "replicated rows":
        grid = (2, size // 2) if size % 2 == 0 else (size, 1)
        return pg.Distribution("cyclic(2)", *["*"] * (ndim - 1), grid=grid, axes=(1, *[None] * (ndim - 1))).bind(
            shape, size)
    return pg.Distribution(*[name] * ndim).bind(shape, size)
