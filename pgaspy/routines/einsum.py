"""Einstein's sums: products of arrays whose dimensions have labels, summed over those that the result does not have."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

import pgaspy as pg
from pgaspy.array import into, made
from pgaspy.caches import cached
from pgaspy.contraction import contract, without_ones
from pgaspy.creation import as_global
from pgaspy.dispatch import implements
from pgaspy.global_assign import copied
from pgaspy.linalg.diagonals import copied_diagonal

__all__ = ["einsum"]


@implements(np.einsum)
def einsum(*operands: Any, out: pg.GlobalArray | None = None, optimize: Any = True, dtype: DTypeLike | None = None,
           order: str = "K", casting: str = "safe") -> pg.GlobalArray:
    """The products of arrays, summed over the labels of dimensions that the result does not have. Collective.

    Parameters
    ----------
    operands
        The subscripts, as `"ij,jk->ik"`, and an array for each term; or arrays, each followed by the list of its
        labels, integers or `...`, and at the end that of the result. A label that comes twice in a term stands for a
        diagonal; `...` for the other dimensions, which broadcast. Without a result, it has the labels that come once,
        in their order.
    out
        An array of the result's shape, to which the result is assigned, and which is returned.
    optimize
        How the order of products is chosen, two at a time: as for `numpy.einsum_path`.
    dtype
        In which it is computed; by default that of all arrays together.
    order
        As in NumPy, and without effect.
    casting
        Which casts to `dtype` are allowed.

    Returns
    -------
    A new array, or a view where dimensions of one array are only exchanged. Products of two arrays are made by BLAS,
    where the larger one lies, and the other comes to it; those of two matrices lie as those of `@`.

    Raises
    ------
    ValueError
        If the subscripts do not fit the arrays, or extents of one label differ.
    TypeError
        For a dtype that the arrays are not cast to.

    Examples
    --------
    >>> import pgaspy as pg
    >>> A = pg.arange(6).reshape(2, 3)
    >>> pg.einsum("ij,kj->ik", A, A).gather()
    array([[ 5, 14],
           [14, 50]])
    >>> int(pg.einsum("ij->", A))
    15
    """
    terms, result, arrays = _parsed(operands)
    arrays = [_cast(as_global(x), dtype, casting) for x in arrays]
    common = np.result_type(*(x.dtype for x in arrays))
    factors = [_Factor(x.astype(common, copy=False), term)
               for x, term in zip(arrays, terms, strict=True)]
    factors = [_Factor(*x) for x in without_ones([_without_repeats(x) for x in factors])]
    for positions in _path(factors, result, optimize):
        taken = [factors.pop(k) for k in sorted(positions, reverse=True)][::-1]
        factors.append(_joined(taken, {*result, *itertools.chain(*(x.labels for x in factors))}))
    found = _ordered(factors[0], result)
    if not result and not found._is_number:
        found = made(*copied(found._base, found._view))
    return into(found, (out,))


class _Factor(NamedTuple):
    """An array, and the labels of its dimensions."""

    array: pg.GlobalArray
    labels: Sequence[Any]


def _cast(x: pg.GlobalArray, dtype: DTypeLike | None, casting: Any) -> pg.GlobalArray:
    if dtype is None:
        return x
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"einsum: operand of dtype {x.dtype} cannot be cast to {np.dtype(dtype)} by the rule "
                        f"{casting!r}")
    return x.astype(dtype, copy=False)


# Subscripts -----------------------------------------------------------------------------------------------------------


def _parsed(operands: Sequence[Any]) -> tuple[Sequence[Sequence[Any]], Sequence[Any], Sequence[Any]]:
    """The labels of each term and of the result, and the arrays; those that `...` stands for are integers below 0."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand, or at least one "
                         "operand and its corresponding subscripts list")
    if isinstance(operands[0], str):
        arrays = operands[1:]
        return *_labels_of_text(operands[0], tuple(map(np.ndim, arrays))), arrays
    pairs = len(operands) // 2
    arrays = operands[:2 * pairs:2]
    return *_labels([[*x] for x in operands[1:2 * pairs:2]], [*operands[-1]] if len(operands) % 2 else None,
                    tuple(map(np.ndim, arrays))), arrays


@cached
def _labels_of_text(text: str, ndims: tuple[int, ...]) -> tuple[Sequence[Sequence[Any]], Sequence[Any]]:
    left, arrow, right = text.replace(" ", "").partition("->")
    return _labels([_of_text(term) for term in left.split(",")], _of_text(right) if arrow else None, ndims)


def _labels(terms: list[list[Any]], result: list[Any] | None, ndims: tuple[int, ...]) -> tuple[
        Sequence[Sequence[Any]], Sequence[Any]]:
    """The labels of terms for arrays of so many dimensions, and of the result."""
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in the subscripts, but {len(ndims)} operands")
    full = [_with_all(term, ndim) for term, ndim in zip(terms, ndims, strict=True)]
    others = range(min((label for term in full for label in term if _is_other(label)), default=0), 0)
    if result is None:
        once = [label for label in sorted({*itertools.chain(*full)} - {*others})
                if sum(term.count(label) for term in full) == 1]
        return full, [*others, *once]
    if others and Ellipsis not in result:
        raise ValueError("output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                         "provided to broadcast the extra dimensions.")
    result = _replace_dots(result, [*others])
    if len({*result}) != len(result):
        raise ValueError("einstein sum subscripts string includes a label in the output more than once")
    if unknown := [label for label in result if not any(label in term for term in full)]:
        raise ValueError(f"einstein sum subscripts string included output subscript {str(unknown[0])!r} which never "
                         "appeared in an input")
    return full, result


def _is_other(label: Any) -> bool:
    return isinstance(label, int) and label < 0


def _of_text(term: str) -> list[Any]:
    """The labels of a term, with an Ellipsis where it has one."""
    labels = [*term.replace("...", "…")]
    if any(label != "…" and label not in string.ascii_letters for label in labels):
        raise ValueError(f"invalid subscript in einstein sum subscripts string {term!r}: they are letters, and ...")
    return [Ellipsis if label == "…" else label for label in labels]


def _with_all(term: list[Any], ndim: int) -> list[Any]:
    """A label for each dimension: those of the Ellipsis are counted from the last."""
    n_others = ndim - sum(label is not Ellipsis for label in term)
    if n_others < 0:
        raise ValueError("einstein sum subscripts string contains too many subscripts for an operand of "
                         f"{ndim} dimensions")
    if n_others and Ellipsis not in term:
        raise ValueError("operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                         "provided to broadcast the extra dimensions.")
    return _replace_dots(term, [*range(-n_others, 0)])


def _replace_dots(term: list[Any], others: list[Any]) -> list[Any]:
    if Ellipsis not in term:
        return term
    k = term.index(Ellipsis)
    if Ellipsis in term[k + 1:]:
        raise ValueError("einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...')")
    return [*term[:k], *others, *term[k + 1:]]


# Products -------------------------------------------------------------------------------------------------------------


def _without_repeats(factor: _Factor) -> _Factor:
    """A diagonal for each label that comes twice."""
    x, labels = factor.array, [*factor.labels]
    while (repeated := next((label for label in labels if labels.count(label) > 1), None)) is not None:  # 0 is one
        first = labels.index(repeated)
        second = labels.index(repeated, first + 1)
        if x.shape[first] != x.shape[second]:
            raise ValueError(f"dimensions in single operand for collapsing index {str(repeated)!r} don't match "
                             f"({x.shape[first]} != {x.shape[second]})")
        x = copied_diagonal(x, 0, first, second)
        labels = [label for k, label in enumerate(labels) if k not in (first, second)] + [repeated]
    return _Factor(x, labels)


def _path(factors: Sequence[_Factor], result: Sequence[Any], optimize: Any) -> Iterable[Sequence[int]]:
    """Which factors are joined, one after the other: their positions among those that are left."""
    if len(factors) < 3:
        return [tuple(range(len(factors)))]
    known = {*itertools.chain(*(x.labels for x in factors))}
    if len(known) > len(string.ascii_letters):
        raise ValueError(f"einsum: {len(known)} labels; in three terms or more, there may be "
                         f"{len(string.ascii_letters)}")
    letters = dict(zip(sorted(known, key=str), string.ascii_letters, strict=False))
    text = ",".join("".join(letters[label] for label in x.labels) for x in factors)
    text += f"->{''.join(letters[label] for label in result)}"
    if isinstance(optimize, bool):
        return _greedy_path(text, tuple([x.array.shape for x in factors]))
    shapes = [np.broadcast_to(np.empty(()), x.array.shape) for x in factors]
    return np.einsum_path(text, *shapes, optimize=optimize)[0][1:]


@cached
def _greedy_path(text: str, shapes: tuple[tuple[int, ...], ...]) -> Iterable[Sequence[int]]:
    return np.einsum_path(text, *[np.broadcast_to(np.empty(()), shape) for shape in shapes], optimize="greedy")[0][1:]


def _joined(factors: Sequence[_Factor], wanted: Iterable[Any]) -> _Factor:
    """The products of factors, summed over what nobody wants."""
    first, *others = factors
    for k, other in enumerate(others):
        kept = {*wanted, *itertools.chain(*(x.labels for x in others[k + 1:]))}
        a, b = _summed(first, kept | {*other.labels}), _summed(other, kept | {*first.labels})
        labels = [label for label in dict.fromkeys([*a.labels, *b.labels]) if label in kept]
        first = _Factor(contract(*a, *b, labels), labels)
    return _summed(first, wanted)


def _summed(factor: _Factor, wanted: Iterable[Any]) -> _Factor:
    """The sum over the labels that nobody wants."""
    axes = tuple(d for d, label in enumerate(factor.labels) if label not in wanted)
    if not axes:
        return factor
    return _Factor(factor.array.sum(axes, factor.array.dtype), [label for label in factor.labels if label in wanted])


def _ordered(factor: _Factor, result: Sequence[Any]) -> pg.GlobalArray:
    """The array with its dimensions in the order of the result."""
    x, labels = factor.array, [*factor.labels]
    return x if labels == [*result] else x.transpose([labels.index(label) for label in result])
