"""Arrays that are joined and taken apart, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(30.0).reshape(6, 5)
Z = np.arange(24).reshape(2, 3, 4)
V = np.arange(6, dtype="i")


def same(found: Any, expected: Any) -> None:
    """The same arrays, in lists and tuples of the same lengths."""
    if isinstance(expected, list | tuple):
        collectively(type(found) is type(expected) and len(found) == len(expected), f"{found}")
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert_equal(found, expected)


def on_globals(x: Any, layout: str | None = None) -> Any:
    """NumPy's arrays as global ones, in nested lists and tuples, too."""
    if isinstance(x, list | tuple):
        return type(x)(on_globals(one, layout) for one in x)
    return pg.array(x, layout=layout and layout_of(layout, x.shape)) if isinstance(x, np.ndarray) else x


ARRAYS: dict[str, Any] = {
    "vectors": (V, V[::2], V[:0]), "matrices": (X, X[:, ::-1]), "of three dimensions": (Z, Z), "one": (X,),
    "numbers": (2, 3.5, np.array(4)), "mixed": (X[:, 0], V), "with a NumPy array": (X, [[1] * 5] * 6),
    "of two kinds": (V.reshape(2, 3), Z[:, :, 0] * 1j),
}
JOINING = ("hstack", "vstack", "dstack", "column_stack", "concatenate", "concat", "stack", "atleast_1d", "atleast_2d",
           "atleast_3d", "broadcast_arrays")


@pytest.mark.parametrize("name", JOINING)
@pytest.mark.parametrize("arrays", ARRAYS)
def test_joined(name: str, arrays: str) -> None:
    given = ARRAYS[arrays]
    for module in (pg, np):
        made = on_globals(given)
        if module is np and not any(isinstance(x, pg.GlobalArray) for x in made):
            continue
        try:
            expected = joined(np, name, given)
        except ValueError:
            raises_everywhere(ValueError, ".", lambda module=module, made=made: joined(module, name, made))
        else:
            same(joined(module, name, made), expected)


def joined(module: Any, name: str, arrays: Any) -> Any:
    function = getattr(module, name)
    return function(*arrays) if name.startswith(("atleast", "broadcast")) else function(arrays)


@pytest.mark.parametrize("layout", NAMES)
def test_layouts(layout: str) -> None:
    a, c = on_globals((X, Z), layout)
    assert_equal(pg.vstack((a, a[1])), np.vstack((X, X[1])))
    assert_equal(pg.hstack((a, a[:, ::2])), np.hstack((X, X[:, ::2])))
    assert_equal(pg.dstack((a, a)), np.dstack((X, X)))
    assert_equal(pg.column_stack((a[:, 1], a)), np.column_stack((X[:, 1], X)))
    assert_equal(pg.block([[a, a[:, :1]], [a[0], 7]]), np.block([[X, X[:, :1]], [X[0], 7]]))
    same(pg.array_split(c, 3, 2), np.array_split(Z, 3, 2))
    same(pg.split(a, [1, -2]), np.split(X, [1, -2]))
    same(pg.unstack(c, axis=1), tuple(np.moveaxis(Z, 1, 0)))


@pytest.mark.parametrize("arguments", [
    {"dtype": "f"}, {"dtype": "i", "casting": "unsafe"}, {"dtype": "D", "casting": "safe"}, {"casting": "no"},
    {"dtype": "i"}, {"dtype": "f", "casting": "safe"}, {"casting": "equiv"}], ids=repr)
@pytest.mark.parametrize("name", ["hstack", "vstack", "concatenate", "stack"])
def test_casts(name: str, arguments: dict[str, Any]) -> None:
    for given in ((X, X), (X, X.astype("f"))):
        try:
            expected = getattr(np, name)(given, **arguments)
        except TypeError as error:
            text = str(error).partition("(")[0]
            raises_everywhere(TypeError, text, lambda given=given: getattr(pg, name)(on_globals(given), **arguments))
        else:
            assert_equal(getattr(pg, name)(on_globals(given), **arguments), expected)


def test_into_an_array_that_is_there() -> None:
    a = pg.array(X)
    for name, shape, axis in (("concatenate", (12, 5), 0), ("stack", (6, 2, 5), 1), ("concatenate", (60,), None)):
        out, expected = pg.zeros(shape, "f"), np.zeros(shape, "f")
        collectively(getattr(np, name)((a, X), axis, out) is out)
        assert_equal(out, getattr(np, name)((X, X), axis, expected))
    out = pg.zeros((12, 5), int)
    pg.concatenate((a, a), 0, out, casting="unsafe")
    assert_equal(out, np.concatenate((X, X)).astype(int))
    raises_everywhere(TypeError, "Cannot cast", lambda: pg.concatenate((a, a), out=out))
    raises_everywhere(TypeError, "both", lambda: pg.concatenate((a, a), out=out, dtype=int))
    raises_everywhere(ValueError, "wrong shape", lambda: pg.concatenate((a, a, a), out=out))
    raises_everywhere(TypeError, "global arrays", lambda: pg.concatenate((a, a), out=np.zeros((12, 5))))


def test_what_has_the_dimensions_is_a_view() -> None:
    a = pg.array(V)
    pg.atleast_3d(a)[0, 2, 0] = 70
    pg.array_split(a, 2)[1][0] = 80
    pg.unstack(a[None])[0][5] = 90
    assert_equal(a, np.array([0, 1, 70, 80, 4, 90], "i"))
    collectively(pg.atleast_1d(a) is a and pg.broadcast_arrays(a, 1)[0] is a)
    number = a.sum()
    pg.atleast_1d(number)[0] = 0
    collectively(int(number) == 245)


BLOCKS: dict[str, Any] = {
    "a number": 3, "an array": X, "a list": [X, X[:, :2]], "of numbers": [1, 2.5, 3],
    "rows": [[V], [V]], "a frame": [[0, V, 1], [V[:, None], np.ones((6, 6), "B"), V[:, None]], [0, V, 1]],
    "of uneven rows": [[X[:, :2], X[:, 2:]], [X]], "deep": [[[Z, Z[:, :, :1]], [Z[:, :, ::-1], Z[:, :, 1:2]]]],
    "of more dimensions": [Z, Z], "one deep": [[X]], "empty": [[X[:0]], [X]],
}
BAD_BLOCKS: dict[str, tuple[Any, type[Exception], str]] = {
    "an empty list": ([], ValueError, "List at arrays cannot be empty"),
    "an empty list inside": ([[X], []], ValueError, r"List at arrays\[1\] cannot be empty"),
    "a tuple": (((X, X),), TypeError, "arrays is a tuple"),
    "a tuple inside": ([(X, X)], TypeError, r"arrays\[0\] is a tuple"),
    "depths": ([[X], X], ValueError, "List depths are mismatched"),
    "extents": ([X, X[:2]], ValueError, "Mismatched array shapes in block along axis -1"),
    "rows": ([[X], [X[:, 1:]]], ValueError, "Mismatched array shapes in block along axis -2"),
}


@pytest.mark.parametrize("blocks", BLOCKS)
def test_blocks(blocks: str) -> None:
    given = BLOCKS[blocks]
    found = pg.block(on_globals(given))
    assert_equal(found, np.block(given))
    if blocks not in ("a number", "of numbers"):
        assert_equal(np.block(on_globals(given)), np.block(given))


@pytest.mark.parametrize("blocks", BAD_BLOCKS)
def test_bad_blocks(blocks: str) -> None:
    given, error, text = BAD_BLOCKS[blocks]
    with pytest.raises(error):
        np.block(given)
    raises_everywhere(error, text, lambda: pg.block(on_globals(given)))


def test_a_block_is_a_copy() -> None:
    a = pg.array(X)
    found = pg.block(a)
    found[...] = 0
    assert_equal(a, X)


PARTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "array_split": lambda np, x, z: [np.array_split(x, 4), np.array_split(x, 9, axis=1), np.array_split(z, 2, -1)],
    "at indices": lambda np, x, z: np.array_split(x, [0, 2, 2, 9]),
    "backwards": lambda np, x, z: np.array_split(x, (4, -3, 1)),
    "none": lambda np, x, z: np.split(x, []),
    "split": lambda np, x, z: [np.split(x, 3), np.split(x, 5, 1), np.split(z, 2, axis=-1), np.split(x, [2])],
    "hsplit": lambda np, x, z: [np.hsplit(x, 5), np.hsplit(x[0], [1, 3]), np.hsplit(z, 3)],
    "vsplit": lambda np, x, z: [np.vsplit(x, 3), np.vsplit(z, [1])],
    "dsplit": lambda np, x, z: np.dsplit(z, 2),
    "at an array": lambda np, x, z: np.split(x, V[1:3]),
    "append": lambda np, x, z: [np.append(x, x[:1], axis=0), np.append(x, z), np.append(z, 5), np.append(z, [1.5])],
}
WRONG: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "no parts": ("larger than 0", lambda np, x, z: np.array_split(x, 0)),
    "unequal": ("equal division", lambda np, x, z: np.split(x, 4)),
    "no dimension": ("1 or more", lambda np, x, z: np.hsplit(x.sum(), 1)),
    "one": ("2 or more", lambda np, x, z: np.vsplit(x[0], 1)),
    "two": ("3 or more", lambda np, x, z: np.dsplit(x, 1)),
    "lengths": ("number of dimensions|match exactly", lambda np, x, z: np.append(x, z, 0)),
    "nothing": ("at least one", lambda np, x, z: np.hstack(())),
    "shapes": ("broadcast|mismatch", lambda np, x, z: np.broadcast_arrays(x, z)),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    a, c = on_globals((X, Z))
    same(PARTS[name](pg, a, c), PARTS[name](np, X, Z))
    same(PARTS[name](np, a, c), PARTS[name](np, X, Z))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    text, call = WRONG[name]
    with pytest.raises(ValueError, match=text):
        call(np, X, Z)
    raises_everywhere(ValueError, text, lambda: call(pg, *on_globals((X, Z))))


def test_parts_at_a_global_array() -> None:
    same(pg.split(pg.array(X), pg.array(V[1:3])), np.split(X, V[1:3]))
    raises_everywhere(ValueError, "1-d", lambda: pg.unstack(pg.ones(())))
    collectively(pg.broadcast_shapes((2, 1), (3,)) == (2, 3) and pg.broadcast_arrays() == ())


def test_more_parts_than_a_list_may_have_are_refused() -> None:
    raises_everywhere(OverflowError, "index-sized|too large", lambda: pg.array_split(pg.arange(5), 1e300))
