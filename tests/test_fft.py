"""Fourier transforms, against NumPy: random arguments in random layouts, long vectors, and a program that uses them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.fft import one_dimension, pencils
from pgaspy.fft.one_dimension import _square_modulo
from pgaspy.job.procgrid import world
from pgaspy.kernels import bindings
from pgaspy.scheduling import local_threads
from tests.randomly import random_layout
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

ALONG_ONE = "fft", "ifft", "rfft", "irfft", "hfft", "ihfft"
ALONG_SEVERAL = "fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"
FROM_REAL = "rfft", "ihfft", "rfft2", "rfftn"
EXTENTS = 1, 2, 3, 5, 8, 13, 30


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_lines_are_dealt_out_to_threads(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    x = np.random.default_rng(3).standard_normal((6, 4, 3))
    a, before = pg.array(x), bindings.get_threads()
    pg.sync()
    monkeypatch.setattr(local_threads, "SHARED_FROM", 1)
    bindings.set_threads(n_threads)
    try:
        for axis in range(3):
            assert_equal(pg.fft.fft(a, axis=axis), np.fft.fft(x, axis=axis), exact=False)
            assert_equal(pg.fft.irfft(pg.fft.rfft(a, axis=axis), x.shape[axis], axis), x, exact=False)
    finally:
        pg.sync()
        bindings.set_threads(before)


@pytest.mark.parametrize("shape", [(12, 10, 14), (7, 31, 6), (5, 4, 9, 6), (24, 3, 16)])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "dctn"])
def test_moves_in_parts_change_no_bit(monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...]) -> None:
    """As between hosts: one part travels while another one is transformed."""
    values = np.random.default_rng(1).standard_normal((2, *shape))
    for dtype in "dF" if name in ("fftn", "ifftn", "irfftn") else "d":
        x = (values[0] + 1j * values[1] if dtype == "F" else values[0]).astype(dtype)
        a = pg.array(x, layout=pg.Distribution("block", *["*"] * (len(shape) - 1)))
        for axes in (None, (0, 2), (2, 0), (1, 0, 2)):
            for norm in (None, "ortho", "forward"):
                found, sent = [], []
                for has_network in (False, True):
                    monkeypatch.setattr(pencils, "MESSAGE_BYTES", 64)
                    monkeypatch.setattr(world(), "has_network", has_network)
                    pg.sync()
                    before = pg.stats().nbytes_sent
                    found.append(getattr(pg.fft, name)(a, axes=axes, norm=norm))
                    pg.sync()
                    sent.append(pg.COMM.allreduce(pg.stats().nbytes_sent - before))
                    left = getattr(pg.fft, name)(a, axes=axes, norm=norm, transposed_out=True)
                    assert_equal(left, found[0].gather())
                assert_equal(found[1], found[0].gather())
                collectively(found[1].layout == found[0].layout)
                collectively(sent[1] <= sent[0] * 1.05, f"sent {sent}")


def test_parts_travel_while_others_are_transformed(monkeypatch: pytest.MonkeyPatch) -> None:
    if pg.SIZE == 1:
        return
    monkeypatch.setattr(pencils, "MESSAGE_BYTES", 1 << 10)
    n_messages, layout = [], pg.Distribution("block", "*", "*")
    for has_network in (False, True):
        monkeypatch.setattr(world(), "has_network", has_network)
        explained = pg.explain(lambda: pg.fft.fftn(pg.zeros((48, 48, 48), complex, layout=layout), transposed_out=True))
        n_messages.append(explained.n_messages)
    collectively(n_messages[1] >= 4 * n_messages[0], f"{n_messages} messages")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ALONG_ONE + ALONG_SEVERAL)
def test_random_arguments(monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    monkeypatch.setattr(one_dimension, "MAX_COPIED", 10)
    rng = random.Random(f"{name} {seed}")
    shape = [rng.choice(EXTENTS) for _ in range(rng.randint(1 + (name[-1] == "2"), 3))]
    dtype = rng.choice("fdi" if name in FROM_REAL else "fdiFD")
    values = np.random.default_rng(seed).standard_normal((2, *shape)) * 9
    x = (values[0] + 1j * values[1] if dtype in "FD" else values[0]).astype(dtype)
    a = pg.array(x, layout=random_layout(rng, x.shape, pg.SIZE))
    if rng.random() < 0.3:
        x, a = x[::-1].T, a[::-1].T
    options: dict[str, Any] = {"norm": rng.choice((None, "backward", "ortho", "forward"))}
    if name in ALONG_ONE:
        options |= {"axis": rng.randrange(-x.ndim, x.ndim), "n": rng.choice((None, 1, 4, 17))}
    elif rng.random() < 0.7:
        options["axes"] = tuple(rng.sample(range(x.ndim), rng.randint(1, x.ndim)))
        options["s"] = rng.choice((None, tuple(rng.choice((-1, 2, 9)) for _ in options["axes"])))
    if options.get("s") and name.startswith("ir"):
        options["s"] = tuple(abs(n) for n in options["s"])  # -1 has a meaning of its own there, in few versions
    with np.errstate(all="ignore"):
        try:
            expected = getattr(np.fft, name)(x, **options)
        except ValueError as error:
            raises_everywhere(ValueError, "Invalid number", lambda: getattr(pg.fft, name)(a, **options))
            assert "Invalid number" in str(error)  # noqa: PT017  (NumPy's)
            return
    found = getattr(pg.fft, name)(a, **options, transposed_out=rng.random() < 0.5)
    _assert_close(found, expected)
    assert_equal(a, x)


def _assert_close(found: pg.GlobalArray, expected: np.ndarray) -> None:
    elements, eps = found.gather(), np.finfo(expected.dtype).eps
    same = (elements.dtype, elements.shape) == (expected.dtype, expected.shape)
    collectively(same and np.allclose(elements, expected, rtol=0, atol=50 * eps * max(1, np.abs(expected).max())),
                 f"{found!r}: {elements}, not {expected}")


@pytest.mark.parametrize("n", [64, 60, 101, 2 * 53])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ALONG_ONE)
def test_vectors_that_are_dealt_out(monkeypatch: pytest.MonkeyPatch, name: str, norm: Any, n: int) -> None:
    monkeypatch.setattr(one_dimension, "MAX_COPIED", 10)
    values = np.random.default_rng(n).standard_normal((2, n))
    x = values[0] if name in FROM_REAL else values[0] + 1j * values[1]
    for length in None, n - 7:
        a = pg.array(x, layout=pg.Distribution("block"))
        _assert_close(getattr(pg.fft, name)(a, length, norm=norm), getattr(np.fft, name)(x, length, norm=norm))


def test_a_dimension_named_twice() -> None:
    """With another length each time: what is cut off depends on which comes first."""
    x = np.random.default_rng(3).normal(size=(4, 5, 3))
    for name in ("fftn", "ifftn", "irfftn"):  # the order of `rfftn` differs between versions of NumPy
        for s, axes in (((13, 2, 6), (0, 0, 1)), ((2, 13, 6), (0, 0, 1)), ((7, 3, 4), (1, 2, 1))):
            found = getattr(pg.fft, name)(pg.array(x), s, axes)
            assert_equal(found, getattr(np.fft, name)(x, s, axes), exact=False)


def test_layouts() -> None:
    a = pg.random.default_rng(1).random((12, 8, 6))
    expected = np.fft.fftn(a.gather())
    for kinds in ("block", "*", "*"), ("*", "block", "*"), ("*", "block", "block"), ("cyclic", "block", "*"):
        b = a.redistribute(pg.Distribution(*kinds))
        found = pg.fft.fftn(b)
        _assert_close(found, expected)
        collectively(found.layout == b.layout)
        left = pg.fft.fftn(b, transposed_out=True)
        _assert_close(left, expected)
        _assert_close(pg.fft.ifftn(left), a.gather() + 0j)
    _assert_close(np.fft.fftn(pg.array(a.gather(), onenode=0)), expected)


def test_out() -> None:
    a = pg.random.default_rng(2).random((6, 5))
    out = pg.empty((6, 5), complex, layout=pg.Distribution("*", "cyclic"))
    collectively(pg.fft.fft(a, out=out) is out)
    _assert_close(out, np.fft.fft(a.gather()))
    _assert_close(pg.fft.fft2(out, out=out), np.fft.fft2(np.fft.fft(a.gather())))


REFUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (ValueError, r"Invalid number of FFT data points \(0\)", lambda a: pg.fft.fft(a, 0)),
    (ValueError, r"Invalid number of FFT data points \(-1\)", lambda a: pg.fft.fft(a, -1)),
    (ValueError, r"Invalid number of FFT data points \(-1\)", lambda a: pg.fft.irfft(a, -1)),
    (ValueError, "negative dimensions", lambda a: pg.fft.fftfreq(-3)),
    (ValueError, "Invalid norm value", lambda a: pg.fft.fft(a, norm="no")),
    (ValueError, "Shape and axes have different lengths", lambda a: pg.fft.fftn(a, (2, 2), (0,))),
    (np.exceptions.AxisError, "axis 2 is out of bounds", lambda a: pg.fft.fft(a, axis=2)),
    (TypeError, "real numbers", lambda a: pg.fft.rfft(a + 1j)),
    (TypeError, "no transform of datetime64", lambda a: pg.fft.fft(a.astype(int).astype("M8[s]"))),
    (ValueError, "wrong shape", lambda a: pg.fft.fft(a, out=pg.empty(3, complex))),
    (TypeError, "Cannot cast", lambda a: pg.fft.fft(a, out=pg.empty(a.shape))),
]


@pytest.mark.parametrize(("error", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(error: type[Exception], match: str, call: Callable[[Any], Any]) -> None:
    raises_everywhere(error, match, lambda: call(pg.ones((4, 3))))


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "fftn", "irfftn"])
def test_half_precision(name: str) -> None:
    x = np.arange(12.0, dtype=np.float16).reshape(4, 3)
    found, expected = getattr(pg.fft, name)(pg.array(x)).gather(), getattr(np.fft, name)(x)
    collectively(found.dtype == expected.dtype and np.allclose(found, expected, 1e-2, 0.1), f"{found}")
    assert_equal(pg.fft.fftn(pg.array(x), axes=()), x)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_frequencies_and_shifts(n: int) -> None:
    assert_equal(pg.fft.fftfreq(n, 0.25), np.fft.fftfreq(n, 0.25))
    assert_equal(pg.fft.rfftfreq(n, 0.25), np.fft.rfftfreq(n, 0.25))
    x = np.arange(3 * n).reshape(n, 3)
    for axes in None, 0, -1, (0, 1), (1,):
        assert_equal(np.fft.fftshift(pg.array(x), axes), np.fft.fftshift(x, axes))
        assert_equal(np.fft.ifftshift(pg.array(x), axes), np.fft.ifftshift(x, axes))


def test_one_move_per_transform() -> None:
    """Slabs: the elements travel once, and once more to where they came from."""
    a = pg.ones((32, 16, 16), complex, layout=pg.Distribution("block", "*", "*"))
    share = a.nbytes // pg.SIZE * (pg.SIZE - 1) // pg.SIZE  # that each process sends
    for transposed_out, n_moves in (True, 1), (False, 2):
        pg.sync()
        before = pg.stats().nbytes_sent
        pg.fft.fftn(a, transposed_out=transposed_out).local()
        sent = pg.stats().nbytes_sent - before
        collectively(sent <= 1.2 * n_moves * share + 4096, f"{sent} bytes, not {n_moves * share}")


def poisson(np: Any, f: Any) -> Any:
    """The potential of a density on a periodic cube."""
    k = [np.fft.fftfreq(n) * n for n in f.shape]
    k2 = k[0][:, None, None] ** 2 + k[1][None, :, None] ** 2 + k[2][None, None, :f.shape[2] // 2 + 1] ** 2
    hat = np.fft.rfftn(f)
    return np.fft.irfftn(np.where(k2 == 0, 0, -hat / np.where(k2 == 0, 1, k2)), s=f.shape, axes=(0, 1, 2))


def test_a_spectral_solver() -> None:
    x = np.random.default_rng(7).standard_normal((9, 8, 6))
    _assert_close(poisson(pg, pg.array(x)), poisson(np, x))


def test_squares_of_long_vectors() -> None:
    """Those that the chirp needs are right beyond 64 bits."""
    for m in 10, 2**31 - 2, 2**33 + 6, 2**39 - 1:
        k = [0, 1, m // 3, m // 2, m - 1]
        assert _square_modulo(np.array(k), m).tolist() == [x * x % m for x in k]
