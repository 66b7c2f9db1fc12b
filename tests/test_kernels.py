"""The C kernels against NumPy, without MPI."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from pgaspy import kernels as k

RNG = np.random.default_rng(7)
SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 100, 1000]
ROWS = sorted(k._elementwise)
REDUCTIONS = sorted(k._reductions)
CHARS = "?BilfdFD"
# Bit for bit with NumPy; the others are within 4 ULP.
MATHS = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "arctan2", "hypot",
}  # fmt: skip
# Complex products are fused where the CPU allows: bit for bit only if NumPy's build agrees on that.
COMPLEX_MATHS = MATHS | {"absolute", "multiply", "square"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 5e-324,
           1e-20, 1e-8, 1e5, 1e10, 1e22, 1e300, -1e300, 709.0, 710.0, -745.0, -746.0, 88.0, 89.0,
           -104.0, 1e-40, np.pi, np.pi / 2, 20.0, -20.0, 1 - 1e-9, 1 + 1e-9, 1.7e308, 127.5, 1024.0]  # fmt: skip


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = k.get_threads()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    k.set_threads(before)


def values(char: str, n: int, name: str = "") -> np.ndarray:
    """Random values of a type in the range in which the operation is interesting."""
    if char == "?":
        return RNG.integers(0, 2, n).astype(bool)
    if char in "Bil":
        low = 0 if char == "B" else -70 if "shift" in name else -300
        x = RNG.integers(low, 255, n)
        x[RNG.random(n) < 0.1] = 0
        info = np.iinfo(char)
        x = x.astype(char)
        x[RNG.random(n) < 0.05] = info.min
        x[RNG.random(n) < 0.05] = info.max
        return x
    if char in "FD":
        real = char.lower()
        return (values(real, n, name) + 1j * values(real, n, name)).astype(char)
    x = RNG.normal(size=n) * RNG.choice([0.01, 1, 10], n)
    if name in ("arcsin", "arccos", "arctanh"):
        x = np.tanh(x)
    elif name.startswith("log") or name == "arccosh":
        x = np.abs(x) + (name == "arccosh")
    elif name == "remainder" or name == "floor_divide":
        x = np.round(x * 4) / 4
    return x.astype(char)


def run(name: str, types: str, operands: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    row = k.lookup(name, types)
    assert row is not None
    operands = [np.broadcast_to(x, out.shape) for x in operands] + [out]
    call = k.ElementwiseCall(row, out.shape, [x.strides for x in operands])
    call.call(*map(k.address, operands))
    return out


def numpy_says(name: str, types: str, operands: list[np.ndarray]) -> np.ndarray:
    out = types[-1]
    if name == "copy":
        return operands[0].astype(out)
    return np.asarray(getattr(np, name)(*operands)).astype(out)


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance in units of the last place of b; NaNs and infinities must agree."""
    if a.dtype.kind == "c":
        return np.maximum(ulps(a.real, b.real), ulps(a.imag, b.imag))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    tiny = np.finfo(a.dtype).tiny
    return np.where(same, 0, np.abs(a - b) / np.spacing(np.maximum(np.abs(b), tiny)))


def check(name: str, types: str, got: np.ndarray, expected: np.ndarray) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind in "fc":
        if types[0] in "FD" and name in COMPLEX_MATHS:
            scale = np.abs(expected)
            near = np.abs(got - expected) <= 8 * np.finfo(got.dtype).eps * scale
            good = near | (got == expected) | ~np.isfinite(expected)
            assert good.all(), (got[~good], expected[~good])
        elif name in MATHS:
            distance = ulps(got, expected)
            assert not (distance > 4).any(), (got[distance > 4], expected[distance > 4])
        else:
            np.testing.assert_array_equal(got, expected)
            finite = ~np.isnan(expected)
            if got.dtype.kind == "f":
                assert (np.signbit(got) == np.signbit(expected))[finite].all()
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("name", "types"), ROWS)
def test_row(name: str, types: str) -> None:
    inputs, out = types.split("->")
    n = 1100
    source = [values(c, 2 * n, name) for c in inputs]
    if name == "copy" and inputs in "fdFD" and out in "Bil":
        source = [(np.trunc(np.abs(source[0].real)) % 100).astype(inputs)]
    expected = numpy_says(name, types, source)
    for threads in 1, 2:
        k.set_threads(threads)
        check(name, types, run(name, types, source, np.empty(2 * n, out)), expected)

    for size in SIZES:
        views = {
            "contiguous": [x[:size] for x in source],
            "strided": [x[: 2 * size : 2] for x in source],
            "reversed": [x[:size][::-1] for x in source],
            "scalar first": [source[0][:1], *[x[:size] for x in source[1:]]],
            "scalar last": [*[x[:size] for x in source[:-1]], source[-1][:1]],
        }
        for kind, operands in views.items():
            expected = numpy_says(name, types, operands)
            expected = np.broadcast_to(expected, size)
            check(name, types, run(name, types, operands, np.empty(size, out)), expected)
            if kind == "strided":
                strided = np.empty(3 * size, out)[1::3]
                check(name, types, run(name, types, operands, strided), expected)

    square = [x[: 40 * 50].reshape(40, 50) for x in source]
    for operands in (
        [x.T for x in square],
        [square[0].T, *[x.reshape(50, 40) for x in square[1:]]],
        [x[::-1, 3:40:2].T for x in square],
        [x.reshape(5, 8, 50)[:, ::3].transpose(2, 0, 1) for x in square],
        [square[0][0, 0], *[x[:, 3:4] for x in square[1:]]],
        [x[0, 0] for x in square],
    ):
        expected = numpy_says(name, types, operands)
        check(name, types, run(name, types, operands, np.empty(expected.shape, out)), expected)
    if inputs[0] == out:
        here = [x.copy() for x in source]
        expected = numpy_says(name, types, source)
        check(name, types, run(name, types, here, here[0]), expected)


@pytest.mark.parametrize(("name", "types"), [r for r in ROWS if r[1][0] in "fd"])
def test_special_values(name: str, types: str) -> None:
    inputs, out = types.split("->")
    if name == "copy" and out in "Bil":
        pytest.skip("a cast of what does not fit is undefined")
    x = np.array(SPECIAL).astype(inputs[0])
    operands = [x] if len(inputs) == 1 else [np.repeat(x, len(x)), np.tile(x, len(x))]
    expected = numpy_says(name, types, operands)
    got = run(name, types, operands, np.empty(expected.shape, out))
    if name in ("maximum", "minimum", "fmax", "fmin"):  # which zero is up to NumPy's CPU
        got, expected = got + 0, expected + 0
    check(name, types, got, expected)
    if name in MATHS:
        zero = (got == 0) & (expected == 0)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize(
    ("name", "types"), [r for r in ROWS if r[0] in MATHS and set(r[1]) <= set("fd->")]
)
def test_maths_do_not_depend_on_position(name: str, types: str) -> None:
    n = 40000
    operands = [values(c, n, name) for c in types.split("->")[0]]
    whole = run(name, types, operands, np.empty(n, types[-1])).tobytes()
    k.set_threads(2)
    assert whole == run(name, types, operands, np.empty(n, types[-1])).tobytes()
    whole_bytes = np.frombuffer(whole, types[-1])
    for start, stop, step in (3, 20, 1), (1, 2, 1), (5, 999, 7), (100, 16, -1):
        part = [x[start:stop:step] for x in operands]
        got = run(name, types, part, np.empty(part[0].shape, types[-1]))
        assert got.tobytes() == whole_bytes[start:stop:step].tobytes()


def test_integer_semantics() -> None:
    extremes = np.array([np.iinfo("l").min, -7, -1, 0, 1, 7, np.iinfo("l").max])
    a, b = np.repeat(extremes, 7), np.tile(extremes, 7)
    for name in ("floor_divide", "remainder", "left_shift", "right_shift", "multiply", "maximum", "less"):
        out = "?" if name == "less" else "l"
        expected = numpy_says(name, f"ll->{out}", [a, b])
        check(name, f"ll->{out}", run(name, f"ll->{out}", [a, b], np.empty(49, out)), expected)


def reduce(name: str, types: str, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    row = k.reduce_lookup(name, types)
    assert row is not None
    kept = [d for d in range(x.ndim) if d not in axes]
    out = np.empty([x.shape[d] for d in kept], types[-1])
    call = k.ReduceCall(
        row,
        out.shape,
        [x.strides[d] for d in kept],
        out.strides,
        [x.shape[d] for d in axes],
        [x.strides[d] for d in axes],
    )
    call.call(k.address(x), k.address(out))
    return out


@pytest.mark.parametrize(("name", "types"), REDUCTIONS)
def test_reduction(name: str, types: str) -> None:
    x = values(types[0], 60000)
    if name == "multiply" and types[0] in "fdFD":
        x = np.exp(0.01 * x / np.maximum(1, np.abs(x))).astype(types[0])
    ufunc = getattr(np, name)
    cases = [(x[:n], (0,)) for n in (1, 2, 31, 32, 33, 511, 512, 513, 5000, 60000)]
    cases += [(x[::-3], (0,)), (x[:0].reshape(0, 3), (0,)), (x[:0].reshape(3, 0), (0,))]
    cube = x.reshape(20, 50, 60)
    for view in cube, cube[::2, ::-1, 3:50:7], cube.transpose(2, 0, 1), cube[:, 3:4], cube[:, :, :3]:
        cases += [
            (view, axes) for n in range(4) for axes in itertools.combinations(range(3), n)
        ]
    cases += [(x.reshape(600, 100), (0,)), (x.reshape(40, 1500), (0,)), (x.reshape(20000, 3), (0,)),
              (x.reshape(20000, 3), (1,)), (x.reshape(30, 2000).T, (1,))]  # fmt: skip
    for view, axes in cases:
        if name in ("maximum", "minimum") and any(view.shape[d] == 0 for d in axes):
            continue
        expected = ufunc.reduce(view, axis=axes, dtype=None if "log" in name else types[-1])
        results = []
        for threads in 1, 2, 5:
            k.set_threads(threads)
            results.append(reduce(name, types, view, axes))
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
        if types[-1] in "fdFD":
            rtol = 300 * np.finfo(types[-1]).eps
            scale = ufunc.reduce(np.abs(view), axis=axes) if name == "add" else np.abs(expected)
            assert (np.abs(results[0] - expected) <= rtol * scale).all()
        else:
            np.testing.assert_array_equal(results[0], expected)


def test_maximum_propagates_nan() -> None:
    x = RNG.normal(size=5000)
    for at in 0, 40, 4999:
        y = x.copy()
        y[at] = np.nan
        assert np.isnan(reduce("maximum", "d->d", y, (0,)))
        assert np.isnan(reduce("minimum", "d->d", y.reshape(50, 100), (0,))).sum() == 1


def test_sums_are_pairwise() -> None:
    x = (1 + RNG.random(2_000_000)).astype("f")
    exact = x.sum(dtype="d")
    for view, axes in (x, (0,)), (x.reshape(1000, 2000).T, (0, 1)):
        ours = abs(float(reduce("add", "f->f", view, axes)) - exact)
        assert ours <= max(abs(float(x.sum()) - exact), 2 * np.spacing(np.float32(exact)))
    column = np.ascontiguousarray(np.broadcast_to(x[:, None], (len(x), 16)))
    across = reduce("add", "f->f", column, (0,))
    assert (np.abs(across - exact) <= 2 * np.spacing(np.float32(exact))).all()


def test_sum_of_negative_zeros() -> None:
    assert np.signbit(reduce("add", "d->d", np.array([-0.0, -0.0]), (0,)))
    assert not np.signbit(reduce("add", "d->d", np.array([]), (0,)))


def random_runs(n_runs: int, max_length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of a dimension with the element indices of either side that they stand for."""
    rows, own, other = [], [], []
    own_end = other_end = 0
    for _ in range(n_runs):
        length = int(RNG.integers(1, max_length + 1))
        steps = [int(s) for s in RNG.integers(1, 4, 2)]
        indices = [own_end + steps[0] * np.arange(length), other_end + steps[1] * np.arange(length)]
        own_end, other_end = indices[0][-1] + 1, indices[1][-1] + 1
        if RNG.random() < 0.3:
            indices[1], steps[1] = indices[1][::-1], -steps[1]
        rows.append([indices[0][0], steps[0], indices[1][0], steps[1], length])
        own.append(indices[0])
        other.append(indices[1])
    return np.array(rows), np.concatenate(own), np.concatenate(other)


SECTIONS = [
    [], [(1, 1)], [(1, 300)], [(7, 1)], [(200, 1)], [(9, 40)], [(1, 50), (1, 60)],
    [(5, 3), (1, 7)], [(1, 90), (6, 4)], [(4, 4), (5, 5)], [(3, 2), (1, 6), (4, 3)],
    [(1, 5), (3, 6), (1, 9)],
]  # fmt: skip


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 12, 16, 32])
@pytest.mark.parametrize("dims", SECTIONS)
def test_section_copy(itemsize: int, dims: list[tuple[int, int]]) -> None:
    for order, threads in itertools.product((1, -1), (1, 2)):
        k.set_threads(threads)
        parts = [random_runs(*d) for d in dims]
        runs = [p[0] for p in parts]
        index = {
            k.OWN: [p[1] for p in parts],
            k.OTHER: [p[2] for p in parts],
            k.PACKED: [np.arange(len(p[1])) for p in parts],
        }
        for dst_side, src_side in itertools.product((k.OWN, k.OTHER, k.PACKED), repeat=2):
            shape = {s: [int(i.max()) + 1 for i in index[s]] for s in index}
            item = f"V{itemsize}"
            size = int(np.prod(shape[src_side], dtype=int)) * itemsize
            src = RNG.integers(0, 256, size, dtype="B").view(item).reshape(shape[src_side][::order])
            dst = np.zeros(shape[dst_side], item)
            if order == -1:
                src = src.T
            expected = dst.copy()
            expected[np.ix_(*index[dst_side])] = src[np.ix_(*index[src_side])]
            copy = k.SectionCopy(itemsize, runs, dst.strides, dst_side, src.strides, src_side)
            copy.call(k.address(dst), k.address(src))
            assert dst.tobytes() == expected.tobytes()


def one_run(n: int) -> np.ndarray:
    return np.array([[0, 1, 0, 1, n]])


@pytest.mark.parametrize("itemsize", [1, 4, 8, 12])
def test_big_section_copies(itemsize: int) -> None:
    k.set_threads(2)
    src = RNG.integers(0, 256, 301 * 407 * itemsize, dtype="B").view(f"V{itemsize}")
    for x in src.reshape(301, 407), src.reshape(407, 301).T, src.reshape(301, 407)[:, ::-1]:
        dst = np.zeros(x.shape, x.dtype)
        runs = [one_run(n) for n in x.shape]
        k.SectionCopy(itemsize, runs, dst.strides, k.OWN, x.strides, k.OTHER).call(
            k.address(dst), k.address(x)
        )
        assert dst.tobytes() == x.tobytes()
        single = np.array([[i, 1, 300 - i, 1, 1] for i in range(301)])
        k.SectionCopy(itemsize, [single, runs[1]], dst.strides, k.OWN, x.strides, k.OTHER).call(
            k.address(dst), k.address(x)
        )
        assert dst.tobytes() == x[::-1].tobytes()


def test_philox_known_answers() -> None:
    full = 0xFFFFFFFF
    assert k.philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert k.philox([full] * 4, [full] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    assert k.philox(*pi) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def fill(kind: str, char: str, n: int, **options: float) -> np.ndarray:
    out = np.empty(n, char)
    k.fill_random(
        kind, char, k.address(out), out.strides, k.OWN, [1], k.OWN, [one_run(n)], **options
    )
    return out


KINDS = [("random", c) for c in "fd"] + [("uniform", c) for c in "fd"]
KINDS += [("standard_normal", c) for c in "fd"] + [("integers", c) for c in "?Bil"]


@pytest.mark.parametrize(("kind", "char"), KINDS)
def test_random_does_not_depend_on_layout(kind: str, char: str) -> None:
    options = {"key": 2**63 + 11, "stream": 3}
    if kind != "random" and kind != "standard_normal":
        options |= {"low": 0, "high": 2}
    n = 40 * 1000
    k.set_threads(1)
    whole = fill(kind, char, n, **options)
    k.set_threads(2)
    assert fill(kind, char, n, **options).tobytes() == whole.tobytes()
    assert fill(kind, char, n, **options | {"stream": 4}).tobytes() != whole.tobytes()
    whole = whole.reshape(40, 1000)
    for dims in [(1, 5), (1, 300)], [(4, 3), (10, 20)], [(1, 13), (200, 1)]:
        parts = [random_runs(*d) for d in dims]
        index = np.ix_(*[p[1] for p in parts])
        out = np.zeros([len(p[1]) for p in parts][::-1], char).T
        k.fill_random(
            kind, char, k.address(out), out.strides, k.PACKED, [1000, 1], k.OWN,
            [p[0] for p in parts], **options
        )  # fmt: skip
        assert out.tobytes() == np.ascontiguousarray(whole[index]).tobytes()


def test_random_moments() -> None:
    n = 400_000
    for char in "fd":
        u = fill("random", char, n, key=1)
        assert u.min() >= 0
        assert u.max() < 1
        assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * n)
        z = fill("standard_normal", char, n, key=1).astype("d")
        assert abs(z.mean()) < 4 / np.sqrt(n)
        assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)
        assert abs((z**4).mean() - 3) < 4 * np.sqrt(96 / n)
        assert abs((z[1:] * z[:-1]).mean()) < 4 / np.sqrt(n)
        v = fill("uniform", char, n, key=1, low=-3, high=5)
        np.testing.assert_allclose(v, -3 + 8 * u, rtol=1e-6, atol=1e-6)


def test_random_integers() -> None:
    n = 100_000
    for char, low, high in ("l", -5, 12), ("i", -5, 12), ("B", 0, 256), ("?", 0, 2):
        x = fill("integers", char, n, key=5, low=low, high=high).astype("l")
        counts = np.bincount(x - low, minlength=high - low)
        assert len(counts) == high - low
        mean = n / (high - low)
        assert ((counts - mean) ** 2 / mean).sum() < (high - low) + 6 * np.sqrt(2 * (high - low))
    # A span for which Lemire's method rejects a third of the draws.
    span = 3 * 2**62
    x = fill("integers", "l", n, key=5, low=-(2**63), high=-(2**63) + span)
    thirds = np.bincount((x.view("u8") ^ np.uint64(2**63)) >> np.uint64(62), minlength=3)
    assert len(thirds) == 3
    assert (np.abs(thirds - n / 3) < 5 * np.sqrt(n / 3)).all()
    words = fill("integers", "l", 1, key=0, low=-(2**63), high=2**63)
    assert int(words[0]) % 2**64 == (0xE169C58D6627E8D5 - 2**63) % 2**64


def test_address() -> None:
    for x in np.empty(3), np.empty(0), np.empty((3, 4))[1:, ::-1], np.broadcast_to(1.0, (2, 2)):
        assert k.address(x) == x.__array_interface__["data"][0]
