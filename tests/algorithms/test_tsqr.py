"""QR factorisations of tall matrices, by LAPACK's test ratios."""

from __future__ import annotations

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.algorithms.tsqr import tsqr
from tests.algorithms.test_qr import check_factors
from tests.matrices import NAMES, named_matrix, random_matrix
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi


class TestTSQR:
    @pytest.mark.parametrize("shape", [(0, 0), (3, 0), (1, 1), (5, 5), (40, 17), (301, 8), (7, 6)], ids=str)
    @pytest.mark.parametrize("dtype", "dF")
    @pytest.mark.parametrize("rows", ["block", "cyclic(2)"])
    def test_shapes(self, shape: tuple[int, int], dtype: str, rows: str) -> None:
        a = random_matrix(shape, dtype)
        A = pg.array(a, layout=pg.Distribution(rows, "*"))
        Q, R = tsqr(A)
        q, r = Q.gather(), R.gather()
        collectively(q.dtype == r.dtype == a.dtype and q.shape == shape and R.layout.is_replicated)
        collectively(bool((r.diagonal() >= 0).all()) and not np.tril(r, -1).any(), f"{r}")
        check_factors(a, q, r)
        assert_equal(A, a)

    @pytest.mark.parametrize("name", NAMES)
    def test_matrices(self, name: str) -> None:
        a = np.vstack((named_matrix(name, 12), random_matrix((60, 12)) * named_matrix(name, 12)[0]))
        if name == "singular":
            a[:, 6] = a[:, 0] + a[:, -1]
        A = pg.array(a, layout=pg.Distribution("block", "*"))
        try:
            Q, R = tsqr(A)
        except np.linalg.LinAlgError:
            Q = None
        told = pg.COMM.allgather(Q is None)
        collectively(len(set(told)) == 1, f"{told}")
        if Q is None:
            collectively(np.linalg.cond(a / np.maximum(np.abs(a).max(axis=0), 1e-300)) > 1e10, "it is well conditioned")
        else:
            check_factors(a, Q.gather(), R.gather())

    @pytest.mark.parametrize("power", [0, 4, 8, 12])
    def test_ill_conditioned(self, power: int) -> None:
        u, _ = np.linalg.qr(random_matrix((200, 10)))
        v, _ = np.linalg.qr(random_matrix((10, 10)))
        a = (u * 10.0 ** -np.linspace(0, power, 10)) @ v * 10.0 ** np.arange(-50, 50, 10)
        Q, R = tsqr(pg.array(a, layout=pg.Distribution("block", "*")))
        check_factors(a, Q.gather(), R.gather())

    @pytest.mark.parametrize("bad", ["zero", "dependent", "nearly dependent", "nan", "inf"])
    def test_raises_everywhere(self, bad: str) -> None:
        a = random_matrix((30, 6))
        if bad in ("nan", "inf"):
            a[17, 2] = float(bad)
        else:
            a[:, 3] = 0 if bad == "zero" else a[:, 1] + a[:, 5]
            a[0, 3] += 1e-15 if bad == "nearly dependent" else 0
        A = pg.array(a, layout=pg.Distribution("block", "*"))
        raises_everywhere(np.linalg.LinAlgError, "nearly dependent", lambda: tsqr(A))

    def test_refuses_other_shapes_and_layouts(self) -> None:
        raises_everywhere(ValueError, "no more columns", lambda: tsqr(pg.ones((3, 4))))
        raises_everywhere(ValueError, "no more columns", lambda: tsqr(pg.ones(3)))
        if pg.SIZE > 1:
            A = pg.ones((9, 4), layout=pg.Distribution("*", "block"))
            raises_everywhere(ValueError, "redistribute", lambda: tsqr(A))
