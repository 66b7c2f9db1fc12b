"""Cosine and sine transforms, and those of real vectors that are dealt out, against SciPy and NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import scipy.fft

import pgaspy as pg
from pgaspy.fft import cosines, one_dimension, real_vectors
from tests.together import collectively, raises_everywhere

pytestmark = pytest.mark.mpi

NAMES = [f"{inverse}{kind}{n}" for inverse in ("", "i") for kind in ("dct", "dst") for n in ("", "n")]


def assert_close(found: pg.GlobalArray, expected: np.ndarray, tolerance: float) -> None:
    elements = found.gather()
    collectively(elements.shape == expected.shape and np.allclose(
        elements, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max())), f"{elements}, not {expected}")


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_any_arguments(name: str, kind: int) -> None:
    rng = random.Random(f"{name} {kind}")
    for dtype in ("d", "f", "i", "F", "e"):
        shape = tuple(rng.randint(2, 7) for _ in range(rng.randint(1, 3)))
        x = (np.random.default_rng(5).random(shape) * 9).astype(dtype)
        dims = [rng.choice(["block", "cyclic(2)", "*"]) for _ in shape]
        a = pg.array(x, layout=pg.Distribution(*dims)) if rng.random() < 0.8 else pg.array(x.T).T
        options: dict[str, Any] = {"norm": rng.choice([None, "ortho", "forward"]), "type": kind,
                                   "orthogonalize": rng.choice([None, True, False])}
        if name.endswith("n"):
            axes = rng.sample(range(len(shape)), rng.randint(1, len(shape)))
            options["axes"] = axes
            if rng.random() < 0.5:
                options["s"] = [rng.randint(2, 9) for _ in axes]
        else:
            options["axis"] = rng.randrange(-len(shape), len(shape))
            options["n"] = rng.choice([None, 3, 8])
        found = getattr(pg.fft, name)(a, **options)
        expected = getattr(scipy.fft, name)(x, **options)
        collectively(found.dtype == expected.dtype, f"{found.dtype}, {expected.dtype}")
        assert_close(found, expected, 1e-12 if expected.dtype in ("d", "D") else 2e-5)


def test_a_long_view_that_one_process_has() -> None:
    x = np.arange(99_991.0)
    a = pg.array(x)
    if pg.SIZE == 1:
        assert_close(pg.fft.dct(a[::-1]), scipy.fft.dct(x[::-1]), 1e-12)


def test_one_dimension() -> None:
    x = np.random.default_rng(5).random(100)
    a = pg.array(x)
    assert_close(pg.fft.dct(a), scipy.fft.dct(x), 1e-12)
    assert_close(pg.fft.idstn(pg.fft.dstn(a)), x, 1e-12)


@pytest.mark.parametrize("options", [{"axes": 0}, {"axes": -1, "s": 5}, {"axes": (1,), "s": np.int64(3)}])
def test_integers_as_axes_and_lengths(options: dict[str, Any]) -> None:
    x = np.random.default_rng(5).random((4, 6))
    assert_close(pg.fft.dctn(pg.array(x), **options), scipy.fft.dctn(x, **options), 1e-14)


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    a = pg.ones((4, 5))
    raises_everywhere(ValueError, "invalid type", lambda: pg.fft.dct(a, 5))
    raises_everywhere(ValueError, "norm", lambda: pg.fft.dst(a, norm="orthogonal"))
    raises_everywhere(RuntimeError, "two elements at least", lambda: pg.fft.dct(a, 1, 1))
    raises_everywhere(ValueError, "data points", lambda: pg.fft.dct(a, n=0))
    raises_everywhere(ValueError, "unique", lambda: pg.fft.dctn(a, axes=(0, 0)))
    raises_everywhere(TypeError, "no transform", lambda: pg.fft.dct(pg.array(["x"])))
    monkeypatch.setattr(cosines, "MAX_COPIED", 10)
    if pg.SIZE > 1:
        raises_everywhere(ValueError, "dealt out", lambda: pg.fft.dct(pg.ones(11)))
    assert_close(pg.fft.dct(pg.ones(11, onenode=0)), scipy.fft.dct(np.ones(11)), 1e-12)


@pytest.mark.parametrize("n", [64, 60, 202, 35, 1000])
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_real_vectors_that_are_dealt_out(monkeypatch: pytest.MonkeyPatch, norm: Any, dtype: str, n: int) -> None:
    for module in one_dimension, real_vectors:
        monkeypatch.setattr(module, "MAX_COPIED", 16)
    x = np.random.default_rng(n).random(n).astype(dtype)
    tolerance = 1e-12 if dtype == "d" else 1e-4
    spectrum = np.fft.rfft(x, norm=norm)
    found = pg.fft.rfft(pg.array(x), norm=norm)
    collectively(found.dtype == spectrum.dtype)
    assert_close(found, spectrum, tolerance)
    spectrum[0] += 3j  # which is taken to be real
    spectrum[-1] += 2j if n % 2 == 0 else 0
    for name in "irfft", "hfft":
        expected = getattr(np.fft, name)(spectrum, n, norm=norm)
        found = getattr(pg.fft, name)(pg.array(spectrum), n, norm=norm)
        collectively(found.dtype == expected.dtype)
        assert_close(found, expected, tolerance)
