"""What people see of arrays: printed once, by their elements; and a `repr` that waits for nothing."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.together import collectively

pytestmark = pytest.mark.mpi


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


def test_what_has_arrays_in_it_is_printed_with_their_elements(capfd: pytest.CaptureFixture[str]) -> None:
    x = np.arange(4.0)
    A = pg.array(x)
    capfd.readouterr()
    pg.print_once({"k": A[:2], "n": [A.sum(), 3]}, (A[1], "text"), [])
    printed, text = capfd.readouterr().out, f"{{'k': {x[:2]}, 'n': {[x.sum(), 3]}}} {(x[1], 'text')} []\n"
    collectively(printed == (text if pg.RANK == 0 else ""), printed)


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
        assert texts[5].startswith("GlobalArray(shape=(), ")
        done = pg.stats() - before
        assert (done.n_flushes, done.n_recorded) == (0, 0)
        assert str(A) == f"{A}" == texts[0]
    collectively(float(s) == 1200)


def test_repr_of_a_result_that_is_there() -> None:
    """Also on one rank alone; not while it is recorded, or is to be changed."""
    A = pg.ones((30, 20)) * 2
    s, smallest, vector = A.sum(), A.min(axis=0), pg.array(np.arange(3), layout=pg.Distribution("*"))
    element = vector[2]
    seen = [repr(s)]
    float(s), vector.local()
    seen.append(repr(s))
    if pg.RANK == 0:
        before = pg.stats()
        assert repr(s) == seen[1]
        assert repr(element).startswith("GlobalArray(2, dtype=")
        assert repr(smallest).startswith("GlobalArray(shape=(20,), ")
        assert (pg.stats() - before).n_flushes == 0
    s += 1
    t = s * 2
    seen += [repr(s), repr(t)]
    collectively(seen[1] == "GlobalArray(1200.0, dtype=float64)", seen[1])
    collectively(all(seen[k].startswith("GlobalArray(shape=(), ") for k in (0, 2, 3)), f"{seen}")
    pg.sync()
    collectively(repr(s) == "GlobalArray(1201.0, dtype=float64)", repr(s))
    collectively(repr(t).startswith("GlobalArray(2402.0, "), repr(t))
    seen.clear()
    pg.explain(lambda: seen.append(repr(t)))
    collectively(seen[0].startswith("GlobalArray(shape"), f"{seen}")


def test_signatures() -> None:
    """What `help` shows has the arguments."""
    expected = {
        "sum": "axis=None, dtype=None, out=None, keepdims=False, initial=<no value>, where=True",
        "max": "axis=None, out=None, keepdims=False, initial=<no value>, where=True",
        "std": "axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=<no value>, "
               "correction=<no value>",
    }
    for name, arguments in expected.items():
        for first, owner in (("a", pg), ("self", pg.GlobalArray)):
            parameters = inspect.signature(getattr(owner, name)).parameters.values()
            assert ", ".join(str(p.replace(annotation=p.empty)) for p in parameters) == f"{first}, {arguments}"
        assert getattr(pg.ones(3), name).__name__ == name
    assert pg.GlobalArray.conj.__name__ == "conj"


PASS_ON = ("apply_along_axis", "fromfunction", "piecewise", "printoptions")


@pytest.mark.parametrize("owner", [pg, pg.fft, pg.linalg, pg.random, pg.GlobalArray])
def test_no_signature_is_hidden(owner: Any) -> None:
    """Nobody has to guess the arguments of a public function or method; some pass on what they are given."""
    public = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    hidden = [name for name, value in public.items() if inspect.isfunction(value) and name not in PASS_ON
              and "**" in str(inspect.signature(value))]
    assert not hidden, hidden


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var", "min", "max", "any", "all", "argmin", "argmax"])
def test_signatures_are_true(name: str) -> None:
    """The arguments can be given by position, and have the defaults that are shown."""
    A = pg.arange(12.0).reshape(3, 4) + 1
    parameters = [*inspect.signature(getattr(pg, name)).parameters.values()][1:]
    n_by_position = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
    expected = getattr(np, name)(A.gather())
    for n in range(n_by_position + 1):
        defaults = [p.default for p in parameters[:n]]
        collectively(np.allclose(float(getattr(pg, name)(A, *defaults)), float(expected)))
        collectively(np.allclose(float(getattr(A, name)(*defaults)), float(expected)))
    by_name = {p.name: p.default for p in parameters}
    collectively(np.allclose(float(getattr(pg, name)(A, **by_name)), float(expected)))
