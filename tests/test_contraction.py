"""Products of stacks of matrices, against NumPy; and what they send."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import contraction
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

SHAPES = (((3, 4, 6), (3, 6, 5)), ((3, 4, 6), (6, 5)), ((4, 6), (3, 6, 5)), ((3, 4, 6), (6,)), ((6,), (3, 6, 5)),
          ((2, 1, 4, 6), (3, 6, 5)), ((1, 4, 6), (1, 6, 2)), ((1, 4, 6), (3, 6, 2)), ((3, 4, 1), (3, 1, 5)),
          ((3, 4, 0), (3, 0, 5)), ((0, 4, 6), (0, 6, 5)), ((3, 0, 6), (3, 6, 5)), ((7, 1, 2), (7, 2, 1)))


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_stacks(first: tuple[int, ...], second: tuple[int, ...], layout: str) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=first), rng.normal(size=second)
    a, b = (pg.array(z, layout=layout_of(layout, z.shape)) for z in (x, y))
    assert_equal(a @ b, x @ y, exact=False)
    assert_equal(x @ b, x @ y, exact=False)
    assert_equal(np.matmul(a, y), x @ y, exact=False)


@pytest.mark.parametrize(("left", "right"), [*itertools.product("?bBelfF", "bfdD")])
def test_dtypes(left: str, right: str) -> None:
    x, y = np.arange(12).reshape(2, 2, 3).astype(left), (np.arange(12) - 3).reshape(2, 3, 2).astype(right)
    assert_equal(pg.array(x) @ pg.array(y), x @ y)


def test_views() -> None:
    x = np.arange(96.0).reshape(4, 4, 6)
    a = pg.array(x)
    assert_equal(a[::-1, 1:] @ a.swapaxes(1, 2)[:, ::-1], x[::-1, 1:] @ x.swapaxes(1, 2)[:, ::-1], exact=False)
    assert_equal(a[:2] @ a[2:].swapaxes(1, 2), x[:2] @ x[2:].swapaxes(1, 2), exact=False)


def test_a_stack_that_is_dealt_out_moves_nothing() -> None:
    layout = pg.Distribution("block", "*", "*")
    a, b = pg.ones((12, 4, 4), layout=layout), pg.ones((12, 4, 4), layout=layout)
    (a @ b).gather()
    messages = pg.explain(lambda: a @ b).n_messages
    collectively(messages == 0, f"{messages} messages")
    collectively((a @ b).layout == a.layout)


def test_what_does_not_fit() -> None:
    a = pg.ones((3, 4, 6))
    raises_everywhere(ValueError, "inner extents", lambda: a @ a)
    raises_everywhere(ValueError, "broadcast", lambda: a @ pg.ones((2, 6, 4)))
    raises_everywhere(ValueError, "dimensions", lambda: pg.matmul(a, 2))


@pytest.mark.parametrize("dtype", ["d", "F", "l"])
@pytest.mark.parametrize("layout", NAMES)
def test_dimensions_that_are_summed_together(layout: str, dtype: str) -> None:
    x = (np.arange(5 * 12 * 10).reshape(5, 12, 10) % 7 - 3).astype(dtype)
    a = pg.array(x, layout=layout_of(layout, x.shape))
    for key in (np.s_[:], np.s_[:, 1:-1, 1:-1], np.s_[:, ::-1, ::3], np.s_[::2, 3:4]):
        for other, axes in (((x, a), ((1, 2), (1, 2))), ((x.swapaxes(0, 2), a.swapaxes(0, 2)), ((1, 2), (1, 0))),
                            ((x[::-1], a[::-1]), ((2, 1), (2, 1)))):
            y, b = (z.swapaxes(0, 2)[key].swapaxes(0, 2) if axes[1] == (1, 0) else z[key] for z in other)
            assert_equal(np.tensordot(a[key], b, axes=axes), np.tensordot(x[key], y, axes=axes), exact=False)
        y = x[:2, 0, :len(x[key])]
        assert_equal(np.tensordot(y, a[key], axes=1), np.tensordot(y, x[key], axes=1), exact=False)


def test_a_view_is_copied_once_for_its_product_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []

    class Counted(contraction.Scratch):
        def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
            copies.append(shape)
            super().__init__(shape, dtype)

    monkeypatch.setattr(contraction, "Scratch", Counted)
    x = np.arange(4 * 12 * 12.0).reshape(4, 12, 12)
    a, x = pg.array(x, layout=pg.Distribution("*", "block", "*"))[:, 1:-1, 1:-1], x[:, 1:-1, 1:-1]
    assert_equal(pg.tensordot(a, a, ((1, 2), (1, 2))), np.tensordot(x, x, ((1, 2), (1, 2))))
    collectively(len(copies) == 1, str(copies))
    assert_equal(pg.tensordot(np.eye(4), a, 1), x)
    collectively(len(copies) == 2, str(copies))
