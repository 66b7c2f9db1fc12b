"""What people see of arrays: printed once, by their elements; and a `repr` that waits for nothing."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg
from tests.together import collectively

pytestmark = [pytest.mark.mpi, pytest.mark.many]


@pytest.mark.parametrize("shape", [(3,), (0,), (10, 11), (1001,), (5, 300), (40, 30, 2), (7, 200), (6, 200), (1, 2000)])
@pytest.mark.parametrize("layout", [None, "cyclic(4)"])
def test_arrays_are_printed_once_and_as_numpys(capfd: pytest.CaptureFixture[str], shape: tuple[int, ...],
                                               layout: str | None) -> None:
    expected = np.arange(np.prod(shape), dtype=float).reshape(shape) / 7
    A = pg.array(expected, layout=None if layout is None else pg.Distribution(layout, *["*"] * (len(shape) - 1)))
    printed = []
    with np.printoptions(linewidth=100):
        for show in A.show, lambda: pg.print_once("A", A[::-1], A.sum(), sep="; "):
            capfd.readouterr()
            show()
            printed.append(capfd.readouterr().out)
        texts = [f"{expected}\n", f"A; {expected[::-1]}; {float(A.sum())}\n"]
    # the other ranks have no stdout in the tests
    collectively(printed == (texts if pg.RANK == 0 else ["", ""]), f"{printed} is not {texts}")


def test_print_options_are_numpys(capfd: pytest.CaptureFixture[str]) -> None:
    expected = np.arange(100.0)
    A = pg.array(expected)
    with np.printoptions(threshold=10, edgeitems=2, precision=1):
        capfd.readouterr()
        A.show()
        printed, text = capfd.readouterr().out, f"{expected}\n"
    collectively(printed == (text if pg.RANK == 0 else ""), printed)


def test_repr_waits_for_nothing() -> None:
    """On one rank alone, of arrays and views that are recorded only."""
    A = pg.ones((30, 20)) * 2
    s = A.sum()
    if pg.RANK == 0:
        before = pg.stats()
        texts = [repr(x) for x in (A, A[1:, ::2], A.T, A[3], A[3, 4], s, pg.eye)]
        done = pg.stats() - before
        assert (done.n_flushes, done.n_recorded) == (0, 0)
        assert str(A) == f"{A}" == texts[0]
    collectively(float(s) == 1200)
