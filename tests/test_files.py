from __future__ import annotations

import errno
import io
import itertools
import json
import math
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

import pgaspy as pg
from pgaspy import files
from pgaspy.dims import whole_dim
from pgaspy.distribution import default_layout
from pgaspy.fileio import agreement, runs
from pgaspy.fileio.formats import Header
from pgaspy.layout import Layout
from tests.together import assert_equal, collectively, raises_everywhere

pytestmark = pytest.mark.mpi

D = pg.Distribution

LAYOUTS = {
    0: [None],
    1: [None, D("block"), D("cyclic"), D("cyclic(3)"), D("*")],
    2: [None, D("cyclic", "block"), D("cyclic(3)", "cyclic(2)"), D("*", "cyclic(3)"), D("block", "*"),
        D("block", "*", grid=(1, pg.SIZE), axes=(0, None))],
    3: [None, D("*", "cyclic", "block"), D("cyclic(2)", "*", "*")],
}
CASES = [(shape, layout) for shape in [(), (1,), (23,), (0,), (7, 9), (1, 5), (4, 0), (3, 5, 4)]
         for layout in LAYOUTS[len(shape)]]


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """One folder for all processes, made by the first one: pytest clears old ones away, which only one may do."""
    return pg.COMM.bcast(request.getfixturevalue("tmp_path") if pg.RANK == 0 else None)


def numbers(shape: tuple[int, ...], dtype: Any = float) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def npy_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def write(path: Path, content: bytes) -> Path:
    """Let rank 0 make a file."""
    if pg.RANK == 0:
        path.write_bytes(content)
    pg.COMM.Barrier()
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_saved(path: Path, expected: np.ndarray) -> None:
    """The file is NumPy's, byte by byte, and the only one in its folder."""
    pg.COMM.Barrier()
    collectively(path.read_bytes() == npy_bytes(expected), f"{path} differs")
    collectively(names(path.parent) == [path.name], f"left behind: {names(path.parent)}")
    pg.COMM.Barrier()


@contextmanager
def limited_file_size(nbytes: int) -> Iterator[None]:
    """Let writes beyond a size fail, on this process, meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# Round trips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "layout"), CASES, ids=str)
def test_save_and_load(folder: Path, shape: tuple[int, ...], layout: pg.Distribution | None) -> None:
    expected = numbers(shape)
    pg.save(folder / "a.npy", pg.array(expected, layout=layout))
    assert_saved(folder / "a.npy", expected)
    loaded = pg.load(folder / "a.npy", layout=layout)
    assert_equal(loaded, expected)
    collectively(loaded.layout == pg.empty(shape, layout=layout).layout, f"{loaded.layout}")


@pytest.mark.parametrize(("shape", "layout"), CASES, ids=str)
def test_load_from_fortran_order_and_foreign_byte_order(folder: Path, shape: tuple[int, ...],
                                                       layout: pg.Distribution | None) -> None:
    expected = numbers(shape)
    path = write(folder / "a.npy", npy_bytes(np.array(expected, expected.dtype.newbyteorder("S"), order="F")))
    assert_equal(pg.load(path, layout=layout), expected)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_processes_with_parts_of_other_orders_go_on_together(folder: Path, columns: int) -> None:
    expected = numbers((5, columns))
    path = write(folder / "a.npy", npy_bytes(np.asfortranarray(expected)))
    loaded = pg.load(path, layout=D("*", "block"))
    collectively(float(pg.ones(3).sum()) == 3)
    assert_equal(loaded, expected)


def test_a_file_that_takes_the_place_of_another_while_it_is_opened(folder: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes read the same one: the last one has found the former at first."""
    former, latter = folder / "former.npy", folder / "latter.npy"
    pg.save(former, pg.zeros(1000))
    pg.save(latter, pg.ones(1000))
    open_regular, calls = runs.open_regular, itertools.count()

    def opened(path: str, flags: int) -> int:
        return open_regular(str(former if next(calls) < 2 and pg.RANK == pg.SIZE - 1 else latter), flags)

    monkeypatch.setattr(runs, "open_regular", opened)
    loaded = pg.load(latter)
    assert_equal(loaded, np.full(1000, float(pg.SIZE > 1)))
    if pg.SIZE > 1:
        monkeypatch.setattr(runs, "open_regular",
                            lambda _, flags: open_regular(str(former if pg.RANK else latter), flags))
        raises_everywhere(ValueError, "latter.npy is not the same file.*take its place", lambda: pg.load(latter))


@pytest.mark.parametrize("nbytes", [1, 8, 24, 40, 100])
@pytest.mark.parametrize(("shape", "layout"), [((23,), D("cyclic(3)")), ((7, 9), None), ((3, 5, 4), None)], ids=str)
def test_large_arrays_go_in_several_sections(folder: Path, monkeypatch: pytest.MonkeyPatch, nbytes: int,
                                        shape: tuple[int, ...], layout: pg.Distribution | None) -> None:
    monkeypatch.setattr(runs, "MAX_RUN_BYTES", nbytes)
    expected = numbers(shape)
    pg.save(folder / "a.npy", pg.array(expected, layout=layout))
    assert_saved(folder / "a.npy", expected)
    assert_equal(pg.load(folder / "a.npy", layout=layout), expected)
    path = write(folder / "f.npy", npy_bytes(np.asfortranarray(expected)))
    assert_equal(pg.load(path, layout=layout), expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "<u2", "<i8", "<f4", "<c16", "S3", "<U4", "<M8[s]", "<f2"])
def test_dtypes(folder: Path, dtype: str) -> None:
    expected = numbers((5, 4), "i8").astype(dtype)
    pg.save(folder / "a.npy", pg.array(expected))
    assert_saved(folder / "a.npy", expected)
    assert_equal(pg.load(folder / "a.npy"), expected)
    swapped = expected.dtype.newbyteorder(">")
    path = write(folder / "b.npy", npy_bytes(expected.astype(swapped)))
    assert_equal(pg.load(path), expected)


def test_one_process(folder: Path) -> None:
    expected = numbers((5, 4))
    last = pg.SIZE - 1
    pg.save(folder / "a.npy", pg.array(expected, onenode=last))
    assert_saved(folder / "a.npy", expected)
    loaded = pg.load(folder / "a.npy", onenode=last)
    assert_equal(loaded, expected)
    collectively(loaded.local().size == (20 if last == pg.RANK else 0), "")


def test_replicas(folder: Path) -> None:
    expected = numbers((6, 5))
    array = pg.array(expected)
    for axis in 0, 1:
        pg.save(folder / "a.npy", pg.replicate(array, axis))
        assert_saved(folder / "a.npy", expected)
    dims = default_layout((6, 5), pg.SIZE).dims
    layout = Layout(default_layout((6, 5), pg.SIZE).grid, [dims[0], whole_dim(5)])
    assert_equal(pg.load(folder / "a.npy", layout=layout), expected)


@pytest.mark.parametrize("layout", [None, D("cyclic(4)", "cyclic")], ids=str)
@pytest.mark.parametrize("key", [
    np.s_[2:9, 1:], np.s_[::2, 3], np.s_[::-1, :], np.s_[::3, ::2], np.s_[None, 4, :], np.s_[3, 4], np.s_[5:5],
], ids=str)
def test_views(folder: Path, layout: pg.Distribution | None, key: Any) -> None:
    expected = numbers((11, 8))
    array = pg.array(expected, layout=layout)
    pg.save(folder / "a.npy", array[key])
    assert_saved(folder / "a.npy", np.ascontiguousarray(expected[key]).reshape(expected[key].shape))
    pg.save(folder / "a.npy", array[key].T)
    assert_saved(folder / "a.npy", expected[key].T.copy(order="C"))


def test_stretched_view_and_array_like(folder: Path) -> None:
    pg.save(folder / "a.npy", pg.broadcast_to(pg.array([1, 2, 3]), (4, 3)))
    assert_saved(folder / "a.npy", np.array([[1, 2, 3]] * 4))
    pg.save(folder / "a.npy", [[1.5, 2.5]])
    assert_saved(folder / "a.npy", np.array([[1.5, 2.5]]))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions_and_bytes_after_the_end(folder: Path, version: tuple[int, int]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, numbers((6,)), version=version)
    path = write(folder / "a.npy", stream.getvalue() + b"more")
    assert_equal(pg.load(path), numbers((6,)))


def test_name_gets_its_ending(folder: Path) -> None:
    pg.save(str(folder / "a"), pg.ones(4))
    assert_saved(folder / "a.npy", np.ones(4))


def test_mode_and_link_of_an_existing_file_stay(folder: Path) -> None:
    (kept := folder / "data").mkdir(exist_ok=True)
    target = write(kept / "a.npy", b"")
    if pg.RANK == 0:
        target.chmod(0o640)
        (folder / "link.npy").symlink_to(target)
    pg.COMM.Barrier()
    pg.save(folder / "link.npy", pg.ones(4))
    assert_saved(target, np.ones(4))
    collectively((folder / "link.npy").is_symlink() and target.stat().st_mode & 0o777 == 0o640, "")


@pytest.mark.parametrize("stem", ["x" * 228, "x" * 251, "\N{SNOWMAN}" * 83 + "xx", "a:b", "ufs:a", "\udcff\udc80"],
                         ids=lambda stem: ascii(stem)[:12])
def test_names_of_all_kinds(folder: Path, stem: str) -> None:
    pg.save(folder / stem, pg.arange(20.0))
    assert_saved(folder / f"{stem}.npy", np.arange(20.0))
    assert_equal(pg.load(folder / f"{stem}.npy"), np.arange(20.0))


def test_names_that_are_too_long(folder: Path) -> None:
    raises_everywhere(OSError, "too long", lambda: pg.save(folder / ("x" * 252), pg.ones(3)))
    collectively(names(folder) == [], f"{names(folder)}")


@pytest.mark.parametrize("key", [np.s_[:], np.s_[::-1], np.s_[::2, 1:3], np.s_[:0]], ids=str)
def test_save_on_the_file_that_was_read(folder: Path, key: Any) -> None:
    expected = numbers((9, 4))
    path = write(folder / "a.npy", npy_bytes(expected))
    array = pg.load(path)
    pg.save(path, array[key])
    assert_saved(path, np.ascontiguousarray(expected[key]))
    assert_equal(array, expected)
    path = write(path, npy_bytes(expected))
    pg.save(path, np.load(path, mmap_mode="r")[key])
    assert_saved(path, np.ascontiguousarray(expected[key]))


# Formats --------------------------------------------------------------------------------------------------------------


class Turned:
    """Arrays of three dimensions, of which the first one changes fastest, and the second one slowest."""

    suffix = ".turned"

    def read_header(self, file: BinaryIO, path: str) -> Header:
        shape, char = json.loads(file.read(100))
        return self._header(tuple(shape), np.dtype(char))

    def write_header(self, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Header:
        file.write(json.dumps([shape, dtype.char]).encode().ljust(100))
        return self._header(shape, dtype)

    def _header(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Header:
        size = dtype.itemsize
        return Header(shape, dtype, 100, (size, shape[2] * shape[0] * size, shape[0] * size))


@pytest.mark.parametrize("layout", LAYOUTS[3], ids=str)
def test_any_format_that_says_where_elements_lie(folder: Path, monkeypatch: pytest.MonkeyPatch,
                                                 layout: pg.Distribution | None) -> None:
    monkeypatch.setattr(files, "FORMAT", Turned())
    expected = numbers((3, 5, 4))
    pg.save(folder / "a", pg.array(expected, layout=layout))
    pg.COMM.Barrier()
    written = (folder / "a.turned").read_bytes()[100:]
    collectively(written == expected.transpose(1, 2, 0).tobytes(), "elements lie elsewhere")
    assert_equal(pg.load(folder / "a.turned", layout=layout), expected)


# Errors ---------------------------------------------------------------------------------------------------------------


def test_load_refuses_what_is_not_there(folder: Path) -> None:
    raises_everywhere(FileNotFoundError, "missing.npy", lambda: pg.load(folder / "missing.npy"))
    raises_everywhere(IsADirectoryError, "directory", lambda: pg.load(folder))
    raises_everywhere(TypeError, "PathLike", lambda: pg.load(3))  # type: ignore[arg-type]
    assert_equal(pg.ones(3) + 1, np.full(3, 2.0))


@pytest.mark.parametrize(("content", "error", "match"), [
    (b"", ValueError, r"not an \.npy file, it begins with b''"),
    (b"hello world", ValueError, r"not an \.npy file, it begins with b'hello wo'"),
    (b"PK\x03\x04rest", ValueError, r"\.npz archive"),
    (b"\x93NUMPY\x09\x00rest of it", ValueError, r"version \(9, 0\)"),
    (npy_bytes(np.ones(6))[:40], ValueError, r"bad\.npy has no valid \.npy header: EOF"),
    (npy_bytes(np.ones(6)).replace(b"(6,), } ", b"(-6,), }"), ValueError, "negative extent"),
    (npy_bytes(np.ones(6))[:10] + b"(" * 118, ValueError, r"no valid \.npy header"),
    (npy_bytes(np.ones((2, 6)))[:-1], ValueError, r"cut short.*\(2, 6\).*224 bytes, the file has 223"),
    (npy_bytes(np.ones(6)).replace(b"(6,), }      ", b"(10000000,), }"), ValueError, "cut short.*80000128 bytes"),
    (npy_bytes(np.array([1, None])), ValueError, "pickled objects.*allow_pickle"),
    (npy_bytes(np.zeros(3, [("x", "f8"), ("y", "i4")])), TypeError, "structured"),
], ids=lambda value: repr(value)[:20])
def test_load_refuses_bad_files(folder: Path, content: bytes, error: type[Exception], match: str) -> None:
    path = write(folder / "bad.npy", content)
    raises_everywhere(error, match, lambda: pg.load(path))
    assert_equal(pg.ones(3) + 1, np.full(3, 2.0))


def test_load_refuses_a_layout_that_does_not_fit(folder: Path) -> None:
    path = write(folder / "a.npy", npy_bytes(np.ones((4, 4))))
    raises_everywhere(ValueError, "dimensions", lambda: pg.load(path, layout=D("block")))
    raises_everywhere(ValueError, "exclude", lambda: pg.load(path, layout=D("block", "*"), onenode=0))


def test_load_refuses_a_file_without_permission(folder: Path) -> None:
    path = write(folder / "a.npy", npy_bytes(np.ones(4)))
    if pg.RANK == 0:
        path.chmod(0)
    pg.COMM.Barrier()
    if os.geteuid() == 0:
        pytest.skip("the superuser may read everything")
    raises_everywhere(PermissionError, "a.npy", lambda: pg.load(path))


def test_save_refuses_places_that_are_no_files(folder: Path) -> None:
    if pg.RANK == 0:
        (folder / "d.npy").mkdir()
        os.mkfifo(folder / "pipe.npy")
    pg.COMM.Barrier()
    raises_everywhere(FileNotFoundError, "nowhere", lambda: pg.save(folder / "nowhere" / "a.npy", pg.ones(4)))
    raises_everywhere(IsADirectoryError, "d.npy", lambda: pg.save(folder / "d", pg.ones(4)))
    raises_everywhere(OSError, "not a regular file", lambda: pg.save(folder / "pipe", pg.ones(4)))
    raises_everywhere(TypeError, "object", lambda: pg.save(folder / "a", np.array([None, 1])))
    collectively(names(folder) == ["d.npy", "pipe.npy"], f"{names(folder)}")


@pytest.mark.parametrize("path", ["pipe.npy", "/dev/zero", "/dev/null"])
def test_load_refuses_pipes_and_devices(folder: Path, path: str) -> None:
    if pg.RANK == 0:
        os.mkfifo(folder / "pipe.npy")
    pg.COMM.Barrier()
    raises_everywhere(OSError, f"not a regular file.*{path}", lambda: pg.load(folder / path))
    if path.startswith("/dev"):
        raises_everywhere(NotADirectoryError, path, lambda: pg.save(path + "/a", pg.ones(3)))


@contextmanager
def in_folder_of_its_own(folder: Path) -> Iterator[Path]:
    """The last process works in `b`, in a folder where the others work in `a`."""
    for name in "a", "b":
        (folder / name).mkdir(exist_ok=True)
    own = folder / ("b" if pg.RANK == pg.SIZE - 1 else "a")
    pg.COMM.Barrier()
    before = Path.cwd()
    os.chdir(own)
    try:
        yield own
    finally:
        os.chdir(before)


@pytest.mark.skipif(pg.SIZE == 1, reason="one process has one folder")
def test_files_that_one_process_cannot_open(folder: Path) -> None:
    expected = numbers((5, 4))
    array = pg.array(expected)
    last = pg.SIZE - 1
    where = rf"No such file.* \(on rank {last} at {socket.gethostname()}\): '{folder}/b/a.npy'"
    with in_folder_of_its_own(folder):
        if pg.RANK == 0:
            np.save("a.npy", expected)
        pg.COMM.Barrier()
        raises_everywhere(FileNotFoundError, where, lambda: pg.load("a.npy"))
        raises_everywhere(FileNotFoundError, where, lambda: pg.save("a.npy", array + 1))
        assert_saved(folder / "a" / "a.npy", expected)
        collectively(names(folder / "b") == [], f"{names(folder / 'b')}")
        assert_equal(pg.load(folder / "a" / "a.npy"), expected)


@pytest.mark.skipif(pg.SIZE == 1, reason="one process has one file")
def test_files_that_are_others_on_other_processes(folder: Path) -> None:
    words = "a.npy is not the same file on every process"
    with in_folder_of_its_own(folder) as own:
        if pg.RANK in (0, pg.SIZE - 1):
            np.save("a.npy", np.ones(4))
        pg.COMM.Barrier()
        raises_everywhere(ValueError, f"{words}.*working directories.*absolute", lambda: pg.load("a.npy"))
        if pg.RANK == pg.SIZE - 1:
            np.save("a.npy", np.ones(5))
        open_regular = runs.open_regular
        with pytest.MonkeyPatch.context() as patch:  # one path, as if each process were on a machine of its own
            patch.setattr(runs, "open_regular", lambda path, flags: open_regular(str(own / "a.npy"), flags))
            raises_everywhere(ValueError, f"{words}, it has 160 bytes on one and 168 on another.*share",
                              lambda: pg.load(folder / "a" / "a.npy"))


@pytest.mark.skipif(pg.SIZE == 1, reason="one process has one file")
def test_saving_to_one_file_on_each_process_is_refused(folder: Path) -> None:
    path = folder / f"a{pg.RANK}.npy"
    try:
        pg.save(path, pg.ones(4))
        message = ""
    except ValueError as error:
        message = str(error)
    collectively(f"{path} is not the same file on every process, as paths" in message, message)
    collectively(names(folder) == [], f"{names(folder)}")


def test_many_failures_are_counted() -> None:
    places = [(rank, f"node{rank}") for rank in range(agreement.MAX_NAMED)]
    assert agreement._on(1, 1, places[:1]) == ""
    assert agreement._on(9, 2, places[:2]) == " (on rank 0 at node0, rank 1 at node1)"
    assert agreement._on(9, 8, places).endswith("rank 3 at node3, and 4 more)")
    assert agreement._on(9, 9, places) == " (on every rank)"


def test_paths_with_null_characters(folder: Path) -> None:
    raises_everywhere(ValueError, "null character", lambda: pg.load(f"{folder}/a\0b"))
    raises_everywhere(ValueError, "null character", lambda: pg.save(f"{folder}/a\0b", pg.ones(3)))


def test_failed_write_leaves_the_file_as_it_was(folder: Path) -> None:
    expected = numbers((300, 200))
    array = pg.array(expected, layout=D("block", "cyclic(7)"))
    pg.save(folder / "a.npy", array)
    with limited_file_size(100_000):
        raises_everywhere(OSError, "a.npy", lambda: pg.save(folder / "a.npy", array + 1))
    assert_saved(folder / "a.npy", expected)
    pg.save(folder / "a.npy", array + 1)
    assert_saved(folder / "a.npy", expected + 1)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError("no memory left")])
@pytest.mark.parametrize("number", [0, 1])
def test_failure_of_one_process_is_one_of_all(folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception,
                                              number: int) -> None:
    """In whichever call: nobody waits for those that failed, and what was there before stays."""
    monkeypatch.setattr(runs, "MAX_RUN_BYTES", 80)
    array = pg.array(numbers((40, 20)))
    pg.save(folder / "a.npy", array)
    for call in "preadv", "pwritev":
        calls = itertools.count()
        before = getattr(os, call)

        def failing(*given: Any, before: Any = before, calls: Iterator[int] = calls) -> int:
            if pg.RANK == pg.SIZE - 1 and next(calls) == number:
                raise error
            moved: int = before(*given)
            return moved

        monkeypatch.setattr(os, call, failing)
        where = f" .on rank {pg.SIZE - 1} at .*" if pg.SIZE > 1 else ""
        raises_everywhere(OSError, f"(left|left on device){where}: .*a.npy",
                          lambda: pg.save(folder / "a.npy", array + 1) if call == "pwritev"  # noqa: B023
                          else pg.load(folder / "a.npy"))
        monkeypatch.setattr(os, call, before)
    assert_saved(folder / "a.npy", numbers((40, 20)))
    assert_equal(pg.load(folder / "a.npy"), numbers((40, 20)))


def test_what_takes_several_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_CALL_BYTES", 24)
    expected = numbers((7, 9))
    pg.save(folder / "a.npy", pg.array(expected))
    assert_saved(folder / "a.npy", expected)
    assert_equal(pg.load(folder / "a.npy"), expected)


def test_a_file_that_becomes_shorter_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pg.save(folder / "a.npy", pg.ones(100))
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda descriptor, buffers, start: read(descriptor, buffers, start + 10_000))
    raises_everywhere(OSError, "0 of .* bytes were moved.*a.npy", lambda: pg.load(folder / "a.npy"))


@pytest.mark.parametrize(("shape", "n_procs", "lead"), [
    ((100, 7), 4, 0), ((3, 100), 4, 1), ((2, 3, 50), 6, 1), ((2, 3, 50), 8, 2), ((1000, 2), 5000, 0), ((1, 1, 5), 9, 2),
])
def test_sections_follow_one_another(shape: tuple[int, ...], n_procs: int, lead: int) -> None:
    places = np.arange(math.prod(shape)).reshape(shape)
    found = list(runs.sections(shape, n_procs, 8))
    collectively(all(len(cut.key) == lead + 1 for cut in found))
    collectively([places[cut.key].flat[0] for cut in found] == [cut.first for cut in found])
    collectively(np.array_equal(np.concatenate([places[cut.key].ravel() for cut in found]), places.ravel()))


def test_saving_a_part_while_one_process_has_a_local_view(folder: Path) -> None:
    """There everything is executed at once: it comes before the call on the others as well."""
    z = np.arange(12.0).reshape(3, 4) * (1 + 2j)
    a = pg.array(z)
    local = a.local() if pg.RANK == 0 else None
    pg.save(folder / "imag.npy", a.imag)
    assert_equal(pg.load(folder / "imag.npy"), z.imag)
    del local
