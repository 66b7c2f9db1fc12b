"""Compilation at run time: what is kept where, and how the program goes on without."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI

import pgaspy as pg
from pgaspy import _build_kernels
from pgaspy.host import private_folder
from pgaspy.host.private_folder import PrivateFolder
from pgaspy.kernels import bindings as k
from pgaspy.kernels import codegen, compiler, jit
from pgaspy.kernels.program import Program, Step
from pgaspy.scheduling import kernel_nodes
from tests.jobs import ROOT, run

ADD = Program("ddd", 2, "", (Step("add", "dd->d", (0, 1), 2),))
MULTIPLY = Program("ddd", 2, "", (Step("multiply", "dd->d", (0, 1), 2),))
SUBTRACT = Program("ddd", 2, "", (Step("subtract", "dd->d", (0, 1), 2),))
SUM_OF_PRODUCTS = Program("ddd", 2, "d", (Step("multiply", "dd->d", (0, 1), 3), Step("add", "dd->d", (3, 1), 2)))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("PGASPY_CACHE", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for variable in "PGASPY_JIT", "PGASPY_LIBM", "PGASPY_MARCH", "CC":
        monkeypatch.delenv(variable, raising=False)
    restart(monkeypatch)
    return tmp_path / "home" / "cache"


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(jit, "_compiler", None)
    monkeypatch.setattr(jit, "counts", jit.Counts())


def add(address: int | None) -> float:
    """What the loop at this address says of 1.5 and 2."""
    assert address is not None
    ffi = FFI()
    operands = [np.array([x]) for x in (0.0, 1.5, 2.0, -1.0)]  # the first is ignored
    loop = ffi.cast("void (*)(int64_t, char **, int64_t *)", address)
    loop(1, ffi.new("char *[]", [ffi.cast("char *", k.address(x)) for x in operands]), ffi.new("int64_t[]", [8] * 4))
    return float(operands[3][0])


def libraries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.so"))


def test_flags_are_those_of_the_static_kernels() -> None:
    _, _, _, options = _build_kernels.ffibuilder._assigned_source
    static = set(options["extra_compile_args"]) - {"-fopenmp"}
    assert {flag for flag in static if not flag.startswith("-march=")} <= set(compiler.FLAGS)
    assert ("-lmvec" in compiler.Compiler(["cc"])._libraries) == ("mvec" in _build_kernels.libraries())


def test_memory_and_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = jit.compiled(ADD)
    assert add(address) == 3.5
    assert (jit.counts.n_compiled, jit.counts.n_disk_hits, jit.counts.n_memory_hits) == (1, 0, 0)
    assert 0 < jit.counts.seconds < 60
    assert jit.compiled(ADD) == address
    assert (jit.counts.n_compiled, jit.counts.n_disk_hits, jit.counts.n_memory_hits) == (1, 0, 1)
    assert add(jit.compiled(MULTIPLY)) == 3.0
    assert add(jit.compiled(ADD, scalars=[1])) == 3.5
    assert jit.counts.n_compiled == 3 == len(libraries(cache))
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700

    restart(monkeypatch)
    assert add(jit.compiled(ADD)) == 3.5
    assert (jit.counts.n_compiled, jit.counts.n_disk_hits, jit.counts.n_memory_hits) == (0, 1, 0)


@pytest.mark.parametrize(("variable", "value"), [("PGASPY_LIBM", "1"), ("PGASPY_MARCH", "x86-64"), ("CC", "gcc -g")])
def test_what_decides_the_code_is_in_the_key(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    jit.compiled(ADD)
    restart(monkeypatch)
    monkeypatch.setenv(variable, value)
    assert add(jit.compiled(ADD)) == 3.5
    assert (jit.counts.n_compiled, jit.counts.n_disk_hits) == (1, 0)


ONE_LOOP = """
from pgaspy.kernels import jit
from pgaspy.kernels.program import Program, Step
assert jit.compiled(Program("ddd", 2, "", (Step("add", "dd->d", (0, 1), 2),))) is not None
print(jit.counts.n_compiled, jit.counts.n_disk_hits)
"""


def test_of_processes_one_compiles(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow-cc"  # slow enough for both processes to want the loop meanwhile
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || {{ echo >> {tmp_path}/calls; sleep 1; }}\ncc "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("CC", str(slow))
    processes = [subprocess.Popen([sys.executable, "-c", ONE_LOOP], stdout=subprocess.PIPE, text=True)
                 for _ in range(2)]  # fmt: skip
    assert sorted(process.communicate(timeout=60)[0].split() for process in processes) == [["0", "1"], ["1", "0"]]
    assert (tmp_path / "calls").read_text() == "\n"
    assert len(libraries(cache)) == 1
    assert add(jit.compiled(ADD)) == 3.5
    assert jit.counts.n_disk_hits == 1


def test_what_is_cut_short_is_not_loaded(cache: Path) -> None:
    """The loader maps a file, and the process is ended where that is shorter than its header says."""
    jit.compiled(ADD)
    (entry,) = libraries(cache)
    whole = entry.read_bytes()
    entry.unlink()
    entry.write_bytes(whole[:len(whole) // 2])
    entry.chmod(0o600)
    done = subprocess.run([sys.executable, "-c", ONE_LOOP], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "0"]), done.stderr
    assert entry.read_bytes()[-private_folder.SEAL_BYTES:] == whole[-private_folder.SEAL_BYTES:]


def test_a_lock_ends_with_its_holder(cache: Path) -> None:
    holder = "import sys, time; from pathlib import Path; from pgaspy.host.private_folder import PrivateFolder\n" \
             "with PrivateFolder(Path(sys.argv[1])).lock('ab'): print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holder, str(cache)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    start = time.monotonic()
    with PrivateFolder(cache).lock("ab"):
        assert time.monotonic() - start < 10


def test_a_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def lockf(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.lockf", lockf)
    assert add(jit.compiled(ADD)) == 3.5


def goes_on_in_temporary_folder(cache: Path, why: str, tmp_path: Path) -> None:
    with pytest.warns(jit.CompilationNotice, match=f"not kept in {cache}.*{why}.*PGASPY_CACHE") as notices:
        assert add(jit.compiled(ADD)) == 3.5
    assert len(notices) == 1
    assert add(jit.compiled(MULTIPLY)) == 3.0
    temporary = tmp_path.glob("pgaspy-*")
    assert [len(libraries(folder)) for folder in temporary] == [2]


def test_symbolic_links_are_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.parent.mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    goes_on_in_temporary_folder(cache, "symbolic link", tmp_path)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_folders_that_others_may_write_to_are_refused(cache: Path, tmp_path: Path, mode: int) -> None:
    cache.mkdir(parents=True)
    cache.chmod(mode)
    goes_on_in_temporary_folder(cache, f"others may write.*{mode:04o}", tmp_path)
    assert not list(cache.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folders_of_others_are_refused(cache: Path, tmp_path: Path) -> None:
    cache.mkdir(parents=True, mode=0o700)
    os.chown(cache, 12345, 12345)
    goes_on_in_temporary_folder(cache, "belongs to user 12345", tmp_path)
    assert not list(cache.iterdir())


def test_files_are_no_folders(cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    goes_on_in_temporary_folder(cache, "Not a directory", tmp_path)


@pytest.mark.parametrize("spoil", ["foreign", "writable", "link", "empty", "unsealed", "cut", "changed"])
def test_entries_that_cannot_be_trusted_are_made_anew(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    jit.compiled(ADD)
    (entry,) = libraries(cache)
    if spoil == "foreign":
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(entry, 12345, 12345)
    elif spoil == "writable":
        entry.chmod(0o620)
    elif spoil == "link":
        entry.symlink_to(entry.rename(tmp_path / "library.so"))
    else:
        whole = entry.read_bytes()
        entry.unlink()  # what is loaded already stays as it is
        entry.write_bytes({"empty": b"", "unsealed": whole[:-private_folder.SEAL_BYTES], "cut": whole[:4096],
                           "changed": whole.replace(b"\x7fELF", b"\x7fELG", 1)}[spoil])
    restart(monkeypatch)
    assert add(jit.compiled(ADD)) == 3.5
    assert (jit.counts.n_compiled, jit.counts.n_disk_hits) == (1, 0)
    status = entry.lstat()
    assert stat.S_ISREG(status.st_mode)
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), 0o600)


def test_read_only_homes(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Path.mkdir

    def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
        if path in (cache, cache.parent):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        make(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    goes_on_in_temporary_folder(cache, "Read-only file system", tmp_path)


def test_read_only_caches_are_read(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jit.compiled(ADD)
    restart(monkeypatch)
    really_open = os.open

    def open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_CREAT and "dir_fd" in options and not list(tmp_path.glob("pgaspy-*")):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return really_open(path, flags, *arguments, **options)

    monkeypatch.setattr("os.open", open)
    (cache / "lock").unlink()
    assert add(jit.compiled(ADD)) == 3.5
    assert jit.counts.n_disk_hits == 1
    with pytest.warns(jit.CompilationNotice, match="Read-only"):
        assert add(jit.compiled(MULTIPLY)) == 3.0


def test_full_disks(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler finds it full; or the folder, which then is as if it could not be made."""
    full = tmp_path / "cc"
    full.write_text(f'#!/bin/sh\ncase $PWD in {cache}) echo "ld: final link failed: No space left on device" >&2; '
                    'exit 1;; esac\nexec cc "$@"\n')
    full.chmod(0o755)
    monkeypatch.setenv("CC", str(full))
    goes_on_in_temporary_folder(cache, "No space left", tmp_path)


def test_no_folder_at_all(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.replace", full)
    with pytest.warns(jit.CompilationNotice, match="No space left") as notices:
        assert jit.compiled(ADD) is None
    assert jit.compiled(MULTIPLY) is None
    assert len(notices) == 2
    assert "either" in str(notices[1].message)
    assert not list(cache.glob("*.so*"))


def test_the_temporary_folder_goes_at_exit(cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("")
    subprocess.run([sys.executable, "-W", "ignore", "-c", ONE_LOOP], check=True, capture_output=True)
    assert not list(tmp_path.glob("pgaspy-*"))


def test_sources_that_do_not_compile(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codegen, "function", lambda name, _: f"pg_{'unknown' if name == 'subtract' else name}_dd_d")
    with pytest.warns(jit.CompilationNotice) as notices:
        assert jit.compiled(SUBTRACT) is None
    assert jit.compiled(SUBTRACT) is None
    assert jit.compiled(SUBTRACT, scalars=[1]) is None
    assert add(jit.compiled(ADD)) == 3.5
    (notice,) = (str(notice.message) for notice in notices)
    found = re.search(r"in (\S+\.c);", notice)
    assert found is not None
    assert "pg_unknown_dd_d(" in Path(found[1]).read_text()
    assert "pg_unknown_dd_d" in notice.partition("says:")[2]
    assert (jit.counts.n_failed, jit.counts.n_compiled) == (2, 1)


@pytest.mark.parametrize("script", ["echo out of licences >&2; exit 3", "echo out of licences; exit 1", "exit 1", None])
def test_compilers_that_fail(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> None:
    cc = tmp_path / "cc"
    cc.write_text(f"#!/bin/sh\n{script}\n" if script else "#!/no/such/interpreter\n")
    cc.chmod(0o755)
    monkeypatch.setenv("CC", str(cc))
    words = "exit status 1" if script == "exit 1" else "out of licences" if script else "No such file"
    with pytest.warns(jit.CompilationNotice, match=f"(?s){cc} says:.*{words}") as notices:
        assert jit.compiled(ADD) is None
    assert jit.compiled(MULTIPLY) is None
    assert len(notices) == 1
    assert len(list(cache.glob("*.c"))) == 2


def test_no_compiler(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(jit.CompilationNotice, match="no C compiler") as notices:
        assert jit.compiled(ADD) is None
    assert jit.compiled(MULTIPLY) is None
    assert len(notices) == 1
    assert not cache.exists()


def test_the_compiler_asked_for_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.warns(jit.CompilationNotice, match="CC=no-such-compiler"):
        assert jit.compiled(ADD) is None


def test_notices_of_rank_0_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.may_notify == (pg.RANK == 0)
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(jit, "may_notify", False)
    assert jit.compiled(ADD) is None


def test_switched_off(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGASPY_JIT", "0")
    assert jit.compiled(ADD) is None
    assert jit.counts == jit.Counts()
    assert not cache.exists()


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("PGASPY_CACHE", "~/own")
    assert jit._cache_folder().path == tmp_path / "me/own"
    monkeypatch.delenv("PGASPY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert jit._cache_folder().path == tmp_path / "xdg/pgaspy"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert jit._cache_folder().path == tmp_path / "me/.cache/pgaspy"


def test_users_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def getpwuid(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", getpwuid)
    for variable in "HOME", "XDG_CACHE_HOME", "PGASPY_CACHE":
        monkeypatch.delenv(variable, raising=False)
    goes_on_in_temporary_folder(Path("~/.cache/pgaspy"), "home", tmp_path)


def test_seals(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "folder")

    def is_good(content: bytes) -> bool:
        (folder.path / "file").write_bytes(content)
        return folder.use("file")

    for content in b"", b"content", bytes(10_000):
        folder.make("file", lambda where, name, content=content: Path(where, name).write_bytes(content), is_sealed=True)
        assert folder.use("file")
        sealed = (folder.path / "file").read_bytes()
        assert sealed.startswith(content)
        assert is_good(sealed)
        for n in range(0, len(sealed), 1 + len(content) // 100):
            assert not is_good(sealed[:n])
        for i in {*range(0, len(sealed), 97), *range(len(sealed) - 50, len(sealed))}:
            assert not is_good(sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1:])
        assert not is_good(sealed + b"\0")
    assert not folder.use("none")


def test_files_are_on_the_disk_before_they_have_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, done = PrivateFolder(tmp_path / "folder"), []
    replace, sync = os.replace, os.fsync

    def replaced(*arguments: Any, **options: Any) -> None:
        done.append("named")
        replace(*arguments, **options)

    def synced(descriptor: int) -> None:
        done.append(f"{os.fstat(descriptor).st_size - private_folder.SEAL_BYTES} bytes")
        sync(descriptor)

    monkeypatch.setattr("os.replace", replaced)
    monkeypatch.setattr("os.fsync", synced)
    folder.make("file", lambda where, name: Path(where, name).write_bytes(bytes(7)), is_sealed=True)
    assert done == ["7 bytes", "named"]


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    folder = PrivateFolder(tmp_path / "folder")
    for name, size, days in ("used", 100, 0), ("older", 100, 20), ("oldest", 100, 29), ("forgotten", 1, 31):
        folder.make(name, lambda where, unfinished, size=size: Path(where, unfinished).write_bytes(bytes(size)))
        then = time.time() - days * 86400
        os.utime(folder.path / name, (then, then))
    return folder


def test_what_is_not_used_goes(folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.use("oldest")
    folder.sweep()
    assert {path.name for path in folder.path.iterdir()} == {"used", "older", "oldest"}
    monkeypatch.setattr(private_folder, "KEPT_BYTES", 250)
    folder.sweep()
    assert {path.name for path in folder.path.iterdir()} == {"used", "oldest"}


def test_a_folder_is_the_one_that_was_checked(folder: PrivateFolder, tmp_path: Path) -> None:
    folder.path.rename(tmp_path / "moved")
    folder.path.mkdir()
    (folder.path / "used").write_text("of somebody else")
    assert Path(folder.pinned_path, "used").stat().st_size == 100


def test_what_is_not_finished_does_not_show(folder: PrivateFolder) -> None:
    def fail(where: str, name: str) -> None:
        Path(where, name).write_text("half")
        raise KeyboardInterrupt

    before = set(folder.path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        folder.make("new", fail)
    assert set(folder.path.iterdir()) == before


# Beside the program ---------------------------------------------------------------------------------------------------


def slow_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float = 1.0) -> None:
    """A compiler that says which process it is, takes its time, and leaves its temporary files if it is killed."""
    slow = folder / "slow-cc"
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || {{ trap "rm temporary.o; exit 9" TERM; '
                    f'touch temporary.o; echo $$ > {folder}/pid; sleep {seconds} & wait; rm temporary.o; }}\ncc "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("CC", str(slow))


def comes(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_what_is_requested_is_compiled_meanwhile(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_compiler(tmp_path, monkeypatch)
    requests = [jit.request(program) for program in (ADD, MULTIPLY, ADD)]
    assert not any(request.is_done for request in requests)
    assert comes((tmp_path / "pid").exists)
    assert os.getsid(int((tmp_path / "pid").read_text())) != os.getsid(0)  # to which a terminal sends Ctrl-C
    assert comes(lambda: all(request.is_done for request in requests))
    assert [add(request.take()) for request in requests] == [3.5, 3.0, 3.5]
    assert (jit.counts.n_compiled, jit.counts.n_memory_hits) == (2, 1)
    assert comes(lambda: jit._the_compiler()._background._thread is None)


def test_what_fails_meanwhile_is_told_by_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    request = jit.request(ADD)
    assert comes(lambda: request.is_done)
    with pytest.warns(jit.CompilationNotice, match="no C compiler") as notices:
        assert request.take() is None
    assert [notice.filename for notice in notices] == [__file__]

    restart(monkeypatch)
    monkeypatch.setattr(codegen, "source", lambda *_, **__: 1 / 0)
    request = jit.request(ADD)
    assert comes(lambda: request.is_done)
    with pytest.raises(ZeroDivisionError):
        request.take()


def test_a_program_goes_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_compiler(tmp_path, monkeypatch)
    loop = kernel_nodes._Loop(SUM_OF_PRODUCTS, frozenset())
    assert loop.address(kernel_nodes.COMPILED_FROM_WORK // 4) is None
    assert not loop.is_pending
    assert [loop.address(kernel_nodes.COMPILED_FROM_WORK) for _ in range(3)] == [None] * 3
    jit.wait()
    assert loop.address(1) is not None
    assert jit.counts.n_compiled == 1

    monkeypatch.setattr(kernel_nodes, "WAITS", True)
    assert kernel_nodes._Loop(SUM_OF_PRODUCTS, frozenset([0])).address(kernel_nodes.COMPILED_FROM_WORK) is not None


ENDS = """
import os, sys, time
from pathlib import Path
from pgaspy.kernels import jit
from pgaspy.kernels.program import Program, Step
for name in "add", "multiply", "subtract":
    jit.request(Program("ddd", 2, "", (Step(name, "dd->d", (0, 1), 2),)))
while not Path(sys.argv[1]).exists():
    time.sleep(0.01)
if not os.fork():
    jit.stop()  # as when it ends, in which it has no part
    os._exit(0)
os.wait()
os.kill(int(Path(sys.argv[1]).read_text()), 0)
"""


def test_what_is_requested_at_the_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    jit.request(ADD)
    jit.stop()
    request = jit.request(MULTIPLY)
    jit.wait()
    assert not request.is_done
    assert add(jit.compiled(ADD)) == 3.5


def has_ended(pid: str) -> bool:
    """Whether a process is gone soon after a signal, or a zombie that the one which has inherited it has not asked for.
    """
    stop = time.monotonic() + 10
    while time.monotonic() < stop:
        try:
            if Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_program_that_ends_takes_its_compiler_along(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    slow_compiler(tmp_path, monkeypatch, 60)
    if not is_kept:
        cache.parent.mkdir()
        cache.write_text("")
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", ENDS, str(tmp_path / "pid")], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - start < 30
    assert has_ended((tmp_path / "pid").read_text().strip())
    assert [path.name for path in cache.parent.rglob("*")] == (["cache", "lock"] if is_kept else ["cache"])
    assert not list(tmp_path.glob("pgaspy-*"))


def test_no_interrupt_comes_while_a_parser_is_imported() -> None:
    """Interrupts come to the main thread: what is imported by half there, is never whole again."""
    script = """if True:
        import sys, threading
        from pgaspy.kernels import jit
        class Finder:
            def find_spec(name, path, target=None):
                if name.startswith("pycparser"):
                    assert threading.current_thread() is not threading.main_thread()
        sys.meta_path.insert(0, Finder)
        assert "pycparser" not in sys.modules
        jit.RunTimeCompiler()._ffi
        assert "pycparser" in sys.modules"""
    done = run([sys.executable, "-c", script], ROOT)
    assert done.returncode == 0, done.stderr
