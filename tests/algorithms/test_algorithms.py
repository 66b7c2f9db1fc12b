"""The algorithms, as functions on several layouts and as programs; on any number of processes."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgaspy as pg
from pgaspy.algorithms import _command_lines as programs
from pgaspy.algorithms import cholesky as cholesky_program
from pgaspy.algorithms import heat as heat_program
from pgaspy.algorithms import lu as lu_program
from pgaspy.algorithms import summa as summa_program
from pgaspy.algorithms import triangular_solve as triangular_program
from pgaspy.algorithms.cannon import cannon
from pgaspy.algorithms.heat import error_of_known_solution, heat
from pgaspy.algorithms.summa import summa
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

Q = math.isqrt(pg.SIZE)
IS_SQUARE = Q * Q == pg.SIZE
LAYOUTS = [
    None,
    pg.Distribution("cyclic(5)", "cyclic(5)"),
    pg.Distribution("cyclic(3)", "block", grid=(1, pg.SIZE)),
    pg.Distribution("block", "cyclic(2)", grid=(pg.SIZE, 1)),
]


def operands(rng: np.random.Generator, m: int, n: int, k: int, dtype: Any = float) -> list[np.ndarray[Any, Any]]:
    return [rng.integers(-9, 10, shape).astype(dtype) for shape in ((m, n), (n, k), (m, k))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that all processes share."""
    return Path(pg.COMM.bcast(str(tmp_path)))


def exit_code(main: Callable[[list[str]], None], *arguments: Any) -> int:
    """The code that a program ends with on every process."""
    code: Any = 0
    try:
        main([str(a) for a in arguments])
    except SystemExit as end:
        code = end.code
    codes = set(pg.COMM.allgather(code))
    collectively(len(codes) == 1, f"ended with {code}, others otherwise")
    return int(code)


@pytest.mark.parametrize(("name", "first"), [("summa", "    if A.ndim != 2"), ("svd", "    check_operand(A)"),
                                             ("eigh", "    check_operand(A)")])
def test_a_copied_file_is_a_program(name: str, first: str, tmp_path: Path) -> None:
    """Its own function is what is run, wherever it lies."""
    text = Path(summa_program.__file__).with_name(f"{name}.py").read_text()
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(first, f"    print('this one')\n{first}"))
    if pg.SIZE == 1:
        done = subprocess.run([sys.executable, file, "50"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"this one\n{name}: ")
        assert "50 x 50" in done.stdout


@pytest.mark.parametrize("name", ["cannon", "cholesky", "eigh", "heat", "jacobi", "lu", "qr", "summa", "svd",
                                  "triangular_solve"])
def test_programs_run_by_their_names_without_warnings(name: str) -> None:
    if pg.SIZE == 1:
        done = subprocess.run([sys.executable, "-W", "error", "-m", f"pgaspy.algorithms.{name}", "--help"],
                              capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: python -m pgaspy.algorithms.{name}")


class TestSumma:
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    @pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (17, 23, 9), (2, 40, 3), (31, 4, 31), (5, 0, 4)])
    @pytest.mark.parametrize("panel", [4, 512])
    def test_is_the_product(self, layout: Any, m: int, n: int, k: int, panel: int) -> None:
        a, b, c = operands(np.random.default_rng(m + n), m, n, k)
        A, B, C = (pg.array(x, layout=layout) for x in (a, b, c))
        summa(A, B, C, panel)
        assert_equal(C, c + a @ b)

    @pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
    def test_dtypes(self, dtype: Any) -> None:
        a, b, c = operands(np.random.default_rng(3), 12, 13, 14, dtype)
        A, B, C = (pg.array(x) for x in (a, b, c))
        summa(A, B, C)
        assert_equal(C, c + a @ b)

    def test_views_that_lie_alike(self) -> None:
        a, b, c = operands(np.random.default_rng(4), 20, 22, 24)
        A, B, C = (pg.array(x, layout=LAYOUTS[1]) for x in (a, b, c))
        summa(A[3:, 1:12], B[2:13, 4:], C[3:, 4:], panel=4)
        c[3:, 4:] += a[3:, 1:12] @ b[2:13, 4:]
        assert_equal(C, c)

    @pytest.mark.parametrize(("m", "n", "k"), [(23, 3, 19), (21, 20, 2), (3, 21, 20), (4, 30, 5)])
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_whatever_is_largest_stays(self, layout: Any, m: int, n: int, k: int) -> None:
        a, b, c = operands(np.random.default_rng(m + n), m, n, k)
        A, B, C = (pg.array(x, layout=y) for x, y in ((a, layout), (b, LAYOUTS[1]), (c, LAYOUTS[3])))
        summa(A, B, C, panel=3)
        assert_equal(C, c + a @ b)
        summa(pg.array(a.T).T, pg.array(b.T, layout=layout).T, C, panel=2, beta=0)
        assert_equal(C, a @ b)

    @pytest.mark.parametrize("rows", ["block", "cyclic(7)"])
    def test_long_operands_stay_where_they_are(self, rows: str) -> None:
        """Also those whose rows lie on a grid of one axis, as what `column_stack` makes of vectors."""
        s = np.random.default_rng(9).integers(-9, 10, (6000, 3)).astype(float)
        S, C = pg.array(s, layout=pg.Distribution(rows, "*")), pg.zeros((3, 3))
        pg.sync()
        before = pg.stats()
        summa(S.T, S, C)
        pg.sync()
        sent = (pg.stats() - before).nbytes_sent
        collectively(sent < s.nbytes // 20, f"{sent} bytes")
        assert_equal(C, s.T @ s)

    def test_factors(self) -> None:
        a, b, c = operands(np.random.default_rng(8), 20, 3, 4)
        for x, y, z in ((a, b, c), (b.T, a.T, c.T), (a[:, :0], b[:0], c)):
            C = pg.array(z)
            summa(pg.array(x), pg.array(y), C, beta=2)
            assert_equal(C, 2 * z + x @ y)

    def test_refuses_other_shapes(self) -> None:
        A, B = pg.ones((6, 5)), pg.ones((5, 4))
        raises_everywhere(ValueError, "do not conform", lambda: summa(A, B, pg.zeros((5, 4))))

    def test_program(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        a, b, _ = operands(np.random.default_rng(5), 7, 8, 9, int)
        pg.save(folder / "a.npy", a)
        pg.save(folder / "b.npy", b)
        assert exit_code(programs.summa_program, folder / "a.npy", folder / "b.npy", "-o", folder / "c.npy") == 0
        assert_equal(pg.load(folder / "c.npy"), (a @ b).astype(float))
        out = capsys.readouterr().out
        collectively(("GFLOP/s" in out) == (pg.RANK == 0), out)
        assert exit_code(programs.summa_program, 33, "--panel", 7) == 0

    @pytest.mark.parametrize("arguments", [[], ["missing.npy"], ["missing.npy", "missing.npy"], [0], [5, "--panel", 0]])
    def test_wrong_arguments_are_told_once(self, arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        assert exit_code(programs.summa_program, *arguments) == 2
        printed = capsys.readouterr()
        collectively(("error:" in printed.err) == (pg.RANK == 0) and not printed.out, printed.err)

    def test_a_wrong_result_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(summa_program, "add_product", lambda c, a, b, *_: None)
        assert exit_code(programs.summa_program, 10) == 1


class TestCannon:
    @pytest.mark.every
    @pytest.mark.skipif(not IS_SQUARE, reason="needs a square number of processes")
    @pytest.mark.parametrize("block", [1, 5])
    @pytest.mark.parametrize("kind", ["block", "cyclic"])
    def test_is_the_product(self, block: int, kind: str) -> None:
        n = block * Q
        dim = kind if kind == "block" else f"cyclic({block})"
        a, b, c = operands(np.random.default_rng(n), n, n, n)
        A, B, C = (pg.array(x, layout=pg.Distribution(dim, dim)) for x in (a, b, c))
        cannon(A, B, C)
        assert_equal(C, c + a @ b)
        assert_equal(A, a)
        assert_equal(B, b)

    @pytest.mark.every
    def test_program_and_what_it_refuses(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert exit_code(programs.cannon_program, 6 * Q) == (0 if IS_SQUARE else 2)
        said = capsys.readouterr().err
        collectively(("square grid" in said) == (pg.RANK == 0 and not IS_SQUARE), said)
        if Q > 1 and IS_SQUARE:
            assert exit_code(programs.cannon_program, 6 * Q + 1) == 2

    def test_refuses_other_layouts(self) -> None:
        grid = (pg.SIZE, 1)
        A = pg.ones((2 * pg.SIZE, 2 * pg.SIZE), layout=pg.Distribution("cyclic(1)", "cyclic(1)", grid=grid))
        raises_everywhere(ValueError, "square grid" if pg.SIZE > 1 else "one block", lambda: cannon(A, A, A.copy()))


class TestLU:
    def test_program(self, folder: Path) -> None:
        a = np.random.default_rng(6).random((30, 30))
        pg.save(folder / "a.npy", a)
        assert exit_code(programs.lu_program, folder / "a.npy", "-o", folder / "lu.npy", "--block", 7) == 0
        F = pg.load(folder / "lu.npy").gather()
        product = (np.tril(F, -1) + np.eye(30)) @ np.triu(F)
        assert_equal(np.sort(product, axis=0), np.sort(a, axis=0), exact=False)  # in another order of rows
        assert exit_code(programs.lu_program, 50, "--block", 8, "--grid-rows", pg.SIZE) == 0
        assert exit_code(programs.lu_program, 50, "--block", 0) == 2
        assert exit_code(programs.lu_program, 50, "--grid-rows", 0) == 2

    def test_a_wrong_result_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lu_program, "add_product", lambda c, a, b, alpha: None)
        assert exit_code(programs.lu_program, 50, "--block", 8) == 1


class TestCholesky:
    def test_program(self, folder: Path) -> None:
        a = np.random.default_rng(6).random((30, 30))
        pg.save(folder / "a.npy", a @ a.T)
        assert exit_code(programs.cholesky_program, folder / "a.npy", "-o", folder / "u.npy", "--block", 7) == 0
        U = np.triu(pg.load(folder / "u.npy").gather())
        assert_equal(U.T @ U, a @ a.T, exact=False)
        assert exit_code(programs.cholesky_program, 50, "--block", 8, "--grid-rows", 1) == 0
        pg.save(folder / "a.npy", -a @ a.T)
        assert exit_code(programs.cholesky_program, folder / "a.npy") == 2

    def test_a_wrong_result_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cholesky_program, "add_product", lambda c, a, b, alpha: None)
        assert exit_code(programs.cholesky_program, 50, "--block", 8) == 1


class TestTriangularSolve:
    @pytest.mark.parametrize("columns", [1, 70])
    def test_program(self, folder: Path, columns: int) -> None:
        arguments = ["--columns", columns, "--block", 8, "--grid-rows", pg.SIZE, "-o", folder / "x.npy"]
        assert exit_code(programs.triangular_solve_program, 90, *arguments) == 0
        assert exit_code(programs.triangular_solve_program, 90, "--upper", *arguments) == 0
        collectively(pg.load(folder / "x.npy").shape == (90, columns))

    def test_a_wrong_result_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(triangular_program, "add_product", lambda c, a, b, *_: None)
        assert exit_code(programs.triangular_solve_program, 50, "--block", 8) == 1


class TestHeat:
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_is_the_numpy_program(self, layout: Any) -> None:
        u = np.random.default_rng(7).random((19, 14))
        full = pg.array(u, layout=layout)
        n_sweeps = heat(full, 0.5)
        for _ in range(n_sweeps):
            work = 0.2 * (u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            delta = np.abs(u[1:-1, 1:-1] - work).sum()
            u[1:-1, 1:-1] = work
        assert_equal(full, u)
        collectively(n_sweeps > 1 and delta <= 0.5, f"{n_sweeps} sweeps, the last changed by {delta}")

    @pytest.mark.parametrize("shape", [(3, 3), (4, 50), (21, 20)])
    def test_known_solution(self, shape: tuple[int, int]) -> None:
        assert error_of_known_solution(shape) < 10

    def test_program(self, folder: Path) -> None:
        u = np.random.default_rng(8).random((12, 10))
        pg.save(folder / "u.npy", u)
        assert exit_code(heat_program.main, folder / "u.npy", "--max-sweeps", 3, "--refine", 2,
                         "-o", folder / "v.npy") == 0
        v = pg.load(folder / "v.npy")
        assert v.shape == (24, 20)
        assert_equal(v[0], np.repeat(u[0], 2))
        assert exit_code(heat_program.main, folder / "u.npy", "--max-sweeps", 0) == 0

    def test_terrain_and_picture(self, folder: Path) -> None:
        pytest.importorskip("matplotlib")
        assert exit_code(heat_program.main, "--terrain", "topobathy", "--max-sweeps", 5,
                         "--picture", folder / "heat.png") == 0
        collectively(pg.RANK > 0 or (folder / "heat.png").stat().st_size > 0)

    def test_wrong_fields(self, folder: Path) -> None:
        pg.save(folder / "line.npy", np.ones(5))
        assert exit_code(heat_program.main, folder / "line.npy") == 2
        assert exit_code(heat_program.main, "missing.npy") == 2
        assert exit_code(heat_program.main, "--refine", 0) == 2
