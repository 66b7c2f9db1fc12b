"""In which order the elements of results lie: as NumPy's do, in that of the operands."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.flushes import have_recorded, kernels_of
from tests.layouts import layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

ORDERS = [*itertools.permutations(range(3))][1:]

LAYOUTS = ("block", "cyclic(2)", "first dimension", "one process")

COMPUTATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number": lambda xp, x, y: 2 * x + 1,
    "several arrays": lambda xp, x, y: xp.sin(x) * y - y / (2 + x * x),
    "of other orders": lambda xp, x, y: (x + y) * xp.ascontiguousarray(y),
    "sections": lambda xp, x, y: (x[1:] + y[:-1])[:, ::2] * 3,
    "reversed": lambda xp, x, y: x[::-1, :, ::-1] + y[::-1],
    "in place": lambda xp, x, y: in_place(x * 2, y),
    "assigned": lambda xp, x, y: assigned(x + y, y),
    "rows": lambda xp, x, y: x * y[0] + y[:, :, :1],
    "a new dimension": lambda xp, x, y: x[:, None] - y[None],
    "two results": lambda xp, x, y: sum(np.divmod(x, 0.3 + y)),
    "chosen": lambda xp, x, y: xp.where(x > y, x, -y),
    "transposed again": lambda xp, x, y: (x + y).T + (x - y).T,
    "summed": lambda xp, x, y: (x * y).sum(axis=(0, 2), keepdims=True) + (x - y).max(axis=1, keepdims=True),
    "joined": lambda xp, x, y: xp.concatenate([x + y, x - y], axis=1),
    "reshaped": lambda xp, x, y: (x + y).reshape(-1)[3:20],
    "summed up": lambda xp, x, y: xp.cumsum(x + y, axis=1),
    "sorted": lambda xp, x, y: xp.sort(x + y, axis=0),
    "picked": lambda xp, x, y: (x + y)[[2, 0, 1], :, [1, 1, 0]],
    "masked": lambda xp, x, y: (x + y)[x > y],
}


def in_place(x: Any, y: Any) -> Any:
    x += y
    x[1:] *= y[:-1]
    return x


def assigned(x: Any, y: Any) -> Any:
    x[...] = y
    x[:2, 1:] = x[1:3, :-1]
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("computed", COMPUTATIONS)
def test_values_are_those_of_numpy(computed: str, layout: str) -> None:
    draw = np.random.default_rng(1)
    A, B = draw.random((5, 4, 6)), draw.random((5, 4, 6))
    a, b = (pg.array(x, layout=layout_of(layout, x.shape)) for x in (A, B))
    for axes in ORDERS:
        for _ in range(2):  # at once, and recorded
            found = COMPUTATIONS[computed](pg, a.transpose(axes), b.transpose(axes))
            expected = COMPUTATIONS[computed](np, A.transpose(axes), B.transpose(axes))
            assert_equal(found, expected, exact=False)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, complex, bool])
def test_reductions_of_transposed_arrays(dtype: Any) -> None:
    A = np.random.default_rng(2).integers(0, 2, (6, 7, 5)).astype(dtype)
    a = pg.array(A)
    for axes in ORDERS:
        for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2)):
            assert_equal((a.transpose(axes) * True).sum(axis=axis), A.transpose(axes).sum(axis=axis))
            assert_equal(a.transpose(axes)[:, ::-1].any(axis=axis, keepdims=True),
                         A.transpose(axes).any(axis=axis, keepdims=True))


def test_results_lie_as_their_operands_do() -> None:
    a = pg.arange(1200.0).reshape(20, 30, 2)
    for axes in ORDERS:
        view = a.transpose(axes)
        found = np.sqrt(view + 1) * view
        collectively(found.layout == view.layout, f"{found.layout} is not {view.layout}")
        collectively(order_of(found.local()) == order_of(view.local()), f"in another order than {axes}")


def order_of(local: np.ndarray) -> list[int]:
    """The dimensions of a local part, from that of the longest stride on; without those of one element."""
    return [int(d) for d in np.argsort(local.strides)[::-1] if local.shape[d] > 1]


def test_operands_in_different_orders_give_rows() -> None:
    a = pg.ones((40, 40))
    collectively((a.T + a).local().flags.c_contiguous and (a + a.T).local().flags.c_contiguous, "not in rows")


def test_a_transposed_result_refuses_what_any_array_does() -> None:
    found = pg.ones((4, 5)).T * 2
    raises_everywhere(ValueError, "broadcast", lambda: found + pg.ones((4, 5)))
    raises_everywhere(IndexError, "out of bounds", lambda: found[5])


def test_what_is_computed_at_once_is_what_others_record(monkeypatch: pytest.MonkeyPatch) -> None:
    A = np.random.default_rng(3).random((6, 5, 4))
    a = pg.array(A)
    if pg.RANK == 0:
        have_recorded(monkeypatch)
    for axes in ORDERS:
        found, expected = a.transpose(axes) * 2, A.transpose(axes) * 2
        for k in range(4):
            found += a.transpose(axes)
            found *= 0.5
            found[...] = found + k
            found[0] = k
            expected = (expected + A.transpose(axes)) * 0.5 + k
            expected[0] = k
            pg.sync()
        assert_equal(found, expected)


def test_transposed_arrays_share_kernels_as_others_do() -> None:
    a = pg.ones((300, 400))

    def program(x: Any) -> Any:
        y = (x * 2 + x) / 3
        y -= x
        return y, (x * y).sum(), (y + x).max(axis=0)

    of_rows, of_columns = (kernels_of(lambda x=x: [program(x) for _ in range(3)][-1]) for x in (a, a.T))
    collectively(of_rows == of_columns, f"{of_columns} operations and kernels of columns, {of_rows} of rows")


@pytest.mark.parametrize("shape", [(6, 8), (600, 800)])
def test_casts_keep_the_order(shape: tuple[int, int]) -> None:
    x = np.arange(48.0).reshape(6, 8) if shape == (6, 8) else np.random.default_rng(2).normal(size=shape)
    a = pg.array(x, layout=pg.Distribution("*", "block")).T
    for found, is_turned in ((a.astype("f"), True), (a.astype("i"), True), (a.astype("d"), True),
                             (a.astype("f", "C"), False), (a.copy(), False), (a[::-1, 1:].astype("f"), True)):
        local = found.local()
        collectively(not local.size or (local.flags.f_contiguous if is_turned else local.flags.c_contiguous))
    assert_equal(a.astype("f") + 1, x.T.astype("f") + 1)
    assert_equal(a[::-1, 1:].astype("i"), x.T[::-1, 1:].astype("i"))
