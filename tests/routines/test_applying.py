"""Functions of the program's own, against NumPy, on all layouts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from tests.layouts import NAMES, layout_of
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

X = np.arange(30.0).reshape(6, 5) - 12
Z = np.arange(24).reshape(2, 3, 4)


def below(x: Any, limit: Any = 5) -> Any:
    return x if x < limit else limit


ALONG: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda m, x: m.apply_along_axis(np.sum, 0, x(X)),
    "a function of the library": lambda m, x: m.apply_along_axis(m.median, 1, x(Z)),
    "a vector": lambda m, x: m.apply_along_axis(np.cumsum, -1, x(Z)),
    "a shorter vector": lambda m, x: m.apply_along_axis(lambda v: v[1:] - v[:-1], 1, x(Z)),
    "a matrix": lambda m, x: m.apply_along_axis(np.diag, 1, x(Z)),
    "another dtype": lambda m, x: m.apply_along_axis(lambda v: v > 3, 0, x(Z)[:, ::-1]),
    "nothing": lambda m, x: m.apply_along_axis(lambda v: v[:0], 0, x(X)),
    "of a vector": lambda m, x: m.apply_along_axis(np.sort, 0, x(X[2])),
    "more arguments": lambda m, x: m.apply_along_axis(np.percentile, 1, x(X), 25, method="lower"),
    "of views": lambda m, x: m.apply_along_axis(np.max, 2, x(Z)[:, 1:, ::2]),
    "of none": lambda m, x: m.apply_along_axis(len, 1, x(X)[:, :0]),
    "over dimensions": lambda m, x: m.apply_over_axes(m.sum, x(Z), (0, -1)),
    "over one dimension": lambda m, x: m.apply_over_axes(functools.partial(m.max, keepdims=True), x(Z), 1),
    "of elements": lambda m, x: m.vectorize(below)(x(Z)),
    "of elements that broadcast": lambda m, x: m.vectorize(below)(x(Z), x(Z[0, :, :1])),
    "by name": lambda m, x: m.vectorize(below)(x(X), limit=x(X[0])),
    "of dtypes": lambda m, x: m.vectorize(below, otypes=[complex])(x(X), 2),
    "without elements": lambda m, x: m.vectorize(below, otypes="d")(x(X)[:0]),
    "several results": lambda m, x: m.vectorize(divmod)(x(Z), 3)[1],
    "without some": lambda m, x: m.vectorize(lambda v, table: table[int(v) % 3], excluded={1})(x(X), [5, 7, 9]),
    "without some by name": lambda m, x: m.vectorize(lambda v, t: t[int(v) % 3], excluded={"t"})(x(X), t=[5, 7, 9]),
    "pieces": lambda m, x: m.piecewise(x(X), [x(X) < -3, x(X) > 4], [lambda v: -v, 9]),
    "pieces and else": lambda m, x: m.piecewise(x(Z), [x(Z) % 2 == 0], [1.9, lambda v, k: v * k], 3),
    "pieces of one condition": lambda m, x: m.piecewise(x(X[:, 2])[::-1], x(X[:, 2]) < 0, [2, lambda v: v]),
    "pieces without any": lambda m, x: m.piecewise(x(X), [x(X) > 99], [lambda v: 1 / 0]),
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", ALONG)
def test_functions(name: str, layout: str) -> None:
    expected = ALONG[name](np, np.asarray)
    found = ALONG[name](pg, lambda x: pg.array(x, layout=layout_of(layout, x.shape)))
    assert_equal(found, expected)


def table(m: Any, x: Any) -> Callable[[Any], Any]:
    """A function that holds an array."""
    held = x(X[:, 0])
    return lambda v: float(held[int(v) % 6])


WITH_ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda m, x: m.apply_along_axis(lambda v: m.sum(v[1:]), 1, x(X)),
    "a vector": lambda m, x: m.apply_along_axis(lambda v: m.sort(v)[::-1], 1, x(Z)),
    "a list": lambda m, x: m.apply_along_axis(lambda v: [m.max(v), 3.5], 0, x(Z)),
    "a matrix": lambda m, x: m.apply_along_axis(lambda v: m.outer(v, v), 1, x(Z)),
    "of a vector": lambda m, x: m.apply_along_axis(lambda v: m.cumsum(v), 0, x(X[2])),
    "an argument": lambda m, x: m.apply_along_axis(np.dot, 0, x(X), x(X[:, 1])),
    "of elements": lambda m, x: m.vectorize(table(m, x))(x(Z)),
    "of an element": lambda m, x: m.vectorize(table(m, x))(x(Z)[1, 1, 1]),
    "of dtypes": lambda m, x: m.vectorize(table(m, x), otypes="F")(x(X)),
    "of elements that broadcast": lambda m, x: m.vectorize(lambda v, u: m.sum([v, u]))(x(Z), x(Z[0, :, :1])),
    "several results": lambda m, x: m.vectorize(lambda v: (v, table(m, x)(v)))(x(X[1]))[1],
}


@pytest.mark.parametrize("layout", NAMES)
@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_functions_that_use_global_arrays(name: str, layout: str) -> None:
    expected = WITH_ARRAYS[name](np, np.asarray)
    with pytest.warns(RuntimeWarning, match="uses global arrays") as warned:
        found = WITH_ARRAYS[name](pg, lambda x: pg.array(x, layout=layout_of(layout, x.shape)))
    assert {one.filename for one in warned} == {__file__}
    assert_equal(found, expected)


@pytest.mark.parametrize("layout", NAMES)
def test_of_numpy(layout: str) -> None:
    """NumPy's functions find these."""
    A = pg.array(X, layout=layout_of(layout, X.shape))
    assert_equal(np.apply_along_axis(np.ptp, 0, A), np.ptp(X, axis=0))
    assert_equal(np.apply_over_axes(np.sum, A, [0]), X.sum(axis=0, keepdims=True))
    assert_equal(np.piecewise(A, [A > 0], [1, -1]), np.where(X > 0, 1.0, -1.0))


def test_frompyfunc() -> None:
    quotient, remainder = pg.frompyfunc(divmod, 2, 2)(pg.array(Z), 5)
    assert_equal(quotient, Z // 5)
    assert_equal(remainder, Z % 5)
    of_one = pg.frompyfunc(below, 1, 1)
    collectively(of_one.__name__ == "below")
    assert_equal(of_one(pg.array(X)), np.minimum(X, 5))
    raises_everywhere(TypeError, "takes 1 arguments, 2 were", lambda: of_one(1, 2))
    raises_everywhere(TypeError, "gave 1 results, where 2", lambda: pg.frompyfunc(below, 1, 2)(pg.array(X)))
    raises_everywhere(TypeError, "callable", lambda: pg.frompyfunc(3, 1, 1))


def test_each_element_is_asked_for_once() -> None:
    """And the first once more on every process."""
    asked = []

    def note(x: Any) -> Any:
        asked.append(x)
        return x
    A = pg.arange(20)
    assert_equal(pg.vectorize(note)(A), np.arange(20))
    collectively(len(asked) == 1 + A.local().size, f"{asked}")


@pytest.mark.parametrize("call", [
    lambda f, A: pg.vectorize(f)(A), lambda f, A: pg.frompyfunc(f, 1, 1)(A),
    lambda f, A: pg.vectorize(lambda x, y: f(x), excluded={1})(A, 3),
    lambda f, A: pg.apply_along_axis(lambda v: f(v[0]), 1, A[:, None])])
def test_what_a_function_raises(call: Callable[..., Any]) -> None:
    """One process raises it at the call; several, later, with the function's name and the line of the call."""
    def root(x: Any) -> Any:
        if x > 0:
            raise ValueError("there is no root")
        return x
    A = pg.arange(200) * 1.0
    pg.sync()
    if pg.SIZE == 1:
        with pytest.raises(ValueError, match=r"^there is no root$"):
            call(root, A)
        pg.sync()
        return
    found = call(root, A)
    raises_everywhere(pg.TaskError, r"the function .*(root|<lambda>), given at .*test_applying.py:\d+, raised "
                      "ValueError: there is no root", pg.sync)
    raises_everywhere(pg.TaskError, "there is no root", found.local)


def test_what_is_refused() -> None:
    A = pg.array(X)
    raises_everywhere(ValueError, "iteration dimensions are 0", lambda: pg.apply_along_axis(len, 0, A[:, :0]))
    raises_everywhere(np.exceptions.AxisError, "out of bounds", lambda: pg.apply_along_axis(len, 2, A))
    raises_everywhere(ZeroDivisionError, "zero", lambda: pg.apply_along_axis(lambda v: 1 // 0, 0, A))
    raises_everywhere(TypeError, "object", lambda: pg.apply_along_axis(lambda v: [None], 0, A))
    raises_everywhere(ValueError, "correct shape", lambda: pg.apply_over_axes(lambda a, axis: a[0, 0], A, 0))
    raises_everywhere(TypeError, "apply_along_axis", lambda: pg.vectorize(len, signature="(n)->()"))
    raises_everywhere(ValueError, "size 0", lambda: pg.vectorize(below)(A[:0]))
    raises_everywhere(TypeError, "numbers as results", lambda: pg.vectorize(str)(A))
    raises_everywhere(ValueError, "broadcast", lambda: pg.vectorize(below)(A, A[0, :2]))
    raises_everywhere(ValueError, "1 condition", lambda: pg.piecewise(A, [A > 0], [1, 2, 3]))


@pytest.mark.parametrize("shape", [(6, 4), (300, 400)])
def test_functions_are_called_before_what_they_refer_to_changes(shape: tuple[int, int]) -> None:
    x, found = pg.ones(shape), []
    for k in range(3):
        found.append((pg.apply_along_axis(lambda v: v * k, 0, x),  # noqa: B023
                      pg.vectorize(lambda v: v + k)(x)))  # noqa: B023
    for k, (product, total) in enumerate(found):
        assert_equal(product, np.full(shape, 1.0 * k))
        assert_equal(total, np.full(shape, 1.0 + k))
