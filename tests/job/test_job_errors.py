"""Jobs in which a process fails while the others wait for it, or compute: all get an error, and none hangs.

Processes that do not get it in time are ended, and so do not say what they are expected to.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs import run, run_job

START = """
import os, resource, signal, sys, time
import pgaspy as pg
from mpi4py import MPI
from pgaspy.execution import engine, queue, schedules
from pgaspy.scheduling import schedule

def internal_error(*_):
    raise AssertionError("a mistake of pgaspy")

def fail_in(module, name):
    setattr(module, name, internal_error)

def say(*words):
    with open("said", "a") as file:  # the launcher may drop what is printed when the job is aborted
        file.write(" ".join(map(str, ("rank", pg.RANK, *words))) + "\\n")

def tried(name, call):
    try:
        found = call()
    except BaseException as error:
        found = f"{type(error).__name__} {error}".rstrip()
    say(name, found)

A = pg.arange(64.0)
pg.sync()
MPI.COMM_WORLD.Barrier()  # so that no process hears of a failure before it comes to what is tried
queue.Queue.computes_at_once = False
"""
AT_ONCE = """
queue.Queue.computes_at_once = True
"""
JOB = 'JobError the job has failed: '


def job(tmp_path: Path, program: str, n: int = 2) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(START + program)
    (tmp_path / "said").touch()
    done = run_job(n, "program.py", cwd=tmp_path)
    done.stdout += (tmp_path / "said").read_text()
    return done


def lines(done: subprocess.CompletedProcess[str]) -> set[str]:
    """What processes said, in any order."""
    return {re.sub(r"(at program.py:).*", r"\1", line) for line in done.stdout.splitlines() if line.startswith("rank")}


WAITS = """
if pg.RANK == 1:
    fail_in(schedules, "schedule_of")
B = A[::-1] + 1
tried("waits", lambda: {call})
tried("flushes", pg.sync)
tried("takes the communicator", lambda: pg.COMM.rank)
tried("local", lambda: A.local()[0])
tried("the other", lambda: B.local()[0])
"""


@pytest.mark.parametrize("call", ["float(B.sum())", "pg.sync()", "B.local()", "B.gather()"])
def test_an_internal_error_is_an_error_of_all_who_wait(tmp_path: Path, call: str) -> None:
    done = job(tmp_path, WAITS.format(call=call))
    assert done.returncode, "the error was caught, and the job has failed nevertheless"
    failed = f"{JOB}AssertionError: a mistake of pgaspy, on rank 1, at program.py:"
    expected = {"rank 1 waits AssertionError a mistake of pgaspy", f"rank 0 waits {failed}"}
    for rank in range(2):
        expected |= {f"rank {rank} {name} {failed}" for name in ("flushes", "takes the communicator", "the other")}
        expected.add(f"rank {rank} local {32.0 * rank}")
    assert lines(done) == expected, done.stderr


SHORT_MEMORY = """
n = 1 << 23
A = pg.zeros(n)
pg.sync()
MPI.COMM_WORLD.Barrier()
if pg.RANK == 0:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (50 << 20), -1))
def use():
    B, C, D = A + 1, A + 2, A + 3
    pg.sync()
    return float(B[0]), float(B[n - 1]), float(C[0]), float(D.sum() / n)
tried("uses", use)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
tried("flushes", lambda: float(A[1]))
tried("local", lambda: A.local().sum())
"""


def test_memory_that_one_process_lacks(tmp_path: Path) -> None:
    done = job(tmp_path, SHORT_MEMORY)
    assert done.returncode
    found = lines(done)
    assert any(line.startswith("rank 0 uses ") and "MemoryError" in line for line in found), done.stderr
    assert {line[:len(f"rank 1 uses {JOB}")] for line in found} >= {
        f"rank 1 uses {JOB}"} | {"rank 0 local 0.0", "rank 1 local 0.0"}, f"{found} {done.stderr}"
    assert sum(f" flushes {JOB}" in line for line in found) == 2


SHORT_MEMORY_FOR_OPERANDS = """
n = 1 << 22
x, i, m = np.ones(n), np.arange(n, dtype=np.int32), np.ones(n, bool)
A, B = pg.zeros(n), pg.zeros(n)
pg.sync()
MPI.COMM_WORLD.Barrier()
if pg.RANK == 1:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), -1))
try:
    {statement}
except BaseException as error:
    say("calls", type(error).__name__)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
tried("waits", lambda: float(pg.ones(4).sum()))
tried("local", lambda: A.local()[0])
"""


@pytest.mark.parametrize("statement", ["A + x", "B[...] = x", "A[i]", "A[m]", "A @ x",
                                       "pg.take(A, i, mode='wrap')"])
def test_memory_that_one_process_lacks_for_what_all_record(tmp_path: Path, statement: str) -> None:
    done = job(tmp_path, "import numpy as np" + SHORT_MEMORY_FOR_OPERANDS.format(statement=statement))
    assert done.returncode
    found = {line[:len(f"rank 0 waits {JOB}")] for line in lines(done)}
    assert found - {"rank 0 calls JobError"} == {f"rank {rank} waits {JOB}" for rank in range(2)} | {
        "rank 1 calls MemoryError", "rank 0 local 0.0", "rank 1 local 0.0"}, f"{lines(done)} {done.stderr}"


AT_ONCE_WITHOUT_MEMORY = """
from pgaspy.scheduling import base
def none_left(*_):
    raise MemoryError("none left")
A = pg.ones(1 << 15)
A + 1
pg.sync()
MPI.COMM_WORLD.Barrier()
if pg.RANK == 1:
    base.backend.allocate = none_left
def use():
    B = A + 1
    return float(B.sum())
tried("uses", use)
"""


def test_memory_that_one_process_lacks_for_what_is_computed_at_once(tmp_path: Path) -> None:
    done = job(tmp_path, AT_ONCE + AT_ONCE_WITHOUT_MEMORY)
    assert done.returncode
    assert lines(done) == {"rank 1 uses MemoryError none left",
                           f"rank 0 uses {JOB}MemoryError: none left, on rank 1, at program.py:"}, done.stderr


def test_memory_that_is_too_short_for_a_thread(tmp_path: Path) -> None:
    """Of which the one that fails needs another."""
    done = job(tmp_path, """
import _thread
def start(function, arguments):
    raise RuntimeError("can't start new thread")
if pg.RANK == 1:
    _thread.start_new_thread = start
    fail_in(schedules, "schedule_of")
B = A[::-1] + 1
tried("waits", lambda: float(B.sum()))
tried("the other", lambda: B.local()[0])
""")
    assert done.returncode
    failed = f"{JOB}AssertionError: a mistake of pgaspy, on rank 1, at program.py:"
    assert lines(done) == {
        "rank 1 waits AssertionError a mistake of pgaspy", f"rank 0 waits {failed}", f"rank 0 the other {failed}",
        f"rank 1 the other {failed}"}, done.stderr


INTERRUPTED = """
B = A[::-1] + 1
if pg.RANK == 0:
    def handler(*_):
        MPI.COMM_WORLD.send("is interrupted", 1)
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    tried("waits", lambda: float(B.sum()))
else:
    MPI.COMM_WORLD.recv(source=0)
    tried("waits", lambda: float(B.sum()))
tried("flushes", pg.sync)
tried("local", lambda: A.local()[0])
"""


def test_an_interrupt_inside_pgaspy(tmp_path: Path) -> None:
    done = job(tmp_path, INTERRUPTED)
    assert done.returncode
    failed = f"{JOB}KeyboardInterrupt: , on rank 0, at program.py:"
    assert lines(done) == {
        "rank 0 waits KeyboardInterrupt", f"rank 1 waits {failed}", f"rank 0 flushes {failed}",
        f"rank 1 flushes {failed}", "rank 0 local 0.0", "rank 1 local 32.0"}, done.stderr


@pytest.mark.parametrize(("place", "n_raised"), [("queue.Queue.abandon", 1), ("alarms.Alarms.tell", 1),
                                                 ("alarms.flood_targets", 1), ("recorder.Supervision.explained", 0)])
def test_an_interrupt_while_the_job_fails(tmp_path: Path, place: str, n_raised: int) -> None:
    """The others are told of what failed first, or of the interrupt, if that is the first that is known of."""
    holder, _, name = place.rpartition(".")
    done = job(tmp_path, f"""
from pgaspy.supervision import alarms, recorder
def handler(*_):
    raise KeyboardInterrupt
if pg.RANK == 0:
    signal.signal(signal.SIGALRM, handler)
    plain = {place}
    def interrupted(*arguments):
        signal.raise_signal(signal.SIGALRM)
        return plain(*arguments)
    {holder}.{name} = interrupted
    fail_in(schedules, "schedule_of")
B = A[::-1] + 1
tried("waits", lambda: float(B.sum()))
say("handles", signal.getsignal(signal.SIGALRM) is handler)
if pg.RANK == 0:
    MPI.COMM_WORLD.recv(source=1)
else:
    MPI.COMM_WORLD.send("has heard", 0)
tried("flushes", pg.sync)
""")
    assert done.returncode
    cause = "AssertionError: a mistake of pgaspy" if n_raised else "KeyboardInterrupt: "
    failed = f"{JOB}{cause}, on rank 0, at program.py:"
    assert lines(done) == {
        "rank 0 waits KeyboardInterrupt", f"rank 1 waits {failed}", f"rank 0 flushes {failed}",
        f"rank 1 flushes {failed}", "rank 0 handles True", "rank 1 handles False"}, done.stderr


@pytest.mark.parametrize("call", ["time.sleep(60)", "comm.recv(source=1)"])
def test_a_process_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setenv("PGASPY_ABORT_AFTER", "1")
    done = job(tmp_path, f"""
comm = pg.COMM
if pg.RANK == 0:
    {call}
fail_in(schedules, "schedule_of")
tried("waits", lambda: float((A + 1).sum()))
time.sleep(60)
""")
    assert done.returncode
    assert lines(done) == {"rank 1 waits AssertionError a mistake of pgaspy"}
    assert "After 1 s not all processes have answered: the job is ended" in done.stderr


def test_what_flushes_at_different_places_fails_alike(tmp_path: Path) -> None:
    """A flush that fails with messages of others in it, which are to flush elsewhere."""
    done = job(tmp_path, """
fields = [pg.ones(64) for _ in range(43)]
others = [pg.ones(64) for _ in range(43)]
pg.sync()
H = pg.zeros(64)
for k, (one, other) in enumerate(zip(fields, others)):
    one += other
    if pg.RANK == 0 and k == 20:
        H.local()
G = fields[0][::-1].copy()
MPI.COMM_WORLD.Barrier()
if pg.RANK == 0:
    fail_in(schedules, "schedule_of")
tried("gathers", lambda: G.gather()[:2])
tried("gathers", lambda: fields[0].gather()[:2])
""")
    assert done.returncode
    failed = f"{JOB}AssertionError: a mistake of pgaspy, on rank 0, at program.py:"
    assert lines(done) == {"rank 0 gathers AssertionError a mistake of pgaspy", f"rank 0 gathers {failed}",
                           f"rank 1 gathers {failed}"}, done.stderr


def test_a_task_that_raises_on_one_process(tmp_path: Path) -> None:
    """What nobody else sees of it is that process's own affair; a sum of it is that of all."""
    done = job(tmp_path, """
def bad(a):
    if pg.RANK == 1:
        raise ValueError("no input")
    a += 1
B = pg.zeros(8)
pg.schedule(bad, pg.update(A))
tried("syncs", pg.sync)
tried("another", lambda: B.local().sum())
tried("goes on", lambda: float((B + 1).sum()))
tried("local", lambda: A.local()[0])
MPI.COMM_WORLD.Barrier()
tried("sum", lambda: float(A.sum()))
tried("flushes", pg.sync)
tried("another", lambda: B.local().sum())
""")
    assert done.returncode
    task = "the task bad, scheduled at"
    found = {re.sub(f"{task}.*?:\\d+", task, line) for line in lines(done)}
    raised = f"{task}, raised ValueError: no input"
    failed = f"{JOB}TaskError: {raised}, on rank 1, at program.py:"
    assert found == {
        "rank 0 syncs None", f"rank 1 syncs TaskError {raised}", "rank 0 another 0.0", "rank 1 another 0.0",
        "rank 0 goes on 8.0", "rank 1 goes on 8.0", "rank 0 local 1.0", f"rank 1 local TaskError {raised}",
        f"rank 0 sum {failed}", f"rank 1 sum TaskError {raised}", f"rank 0 flushes {failed}",
        f"rank 1 flushes {failed}"}, done.stderr


def test_an_error_of_its_own_comes_first(tmp_path: Path) -> None:
    """Of a process whose task has raised, and which learns, as it waits for another one, that this has failed."""
    done = job(tmp_path, """
def bad(a):
    MPI.COMM_WORLD.send("raises", 1)
    raise ValueError("no input")
B = pg.zeros(8)
pg.sync()
if pg.RANK == 0:
    pg.schedule(bad, pg.update(A))
else:
    MPI.COMM_WORLD.recv(source=0)
    fail_in(schedules, "schedule_of")
B[...] = B[::-1]
tried("waits", lambda: B.local()[0])
tried("flushes", pg.sync)
""")
    assert done.returncode
    found = {re.sub(" the task bad.*raised", "", line) for line in lines(done)}
    failed = f"{JOB}AssertionError: a mistake of pgaspy, on rank 1, at program.py:"
    assert found == {"rank 0 waits TaskError ValueError: no input", "rank 1 waits AssertionError a mistake of pgaspy",
                     f"rank 0 flushes {failed}", f"rank 1 flushes {failed}"}, done.stderr


@pytest.mark.parametrize(("program", "status", "words"), [
    ("pg.schedule(lambda a: 1 // 0, pg.update(A))", 1, "ZeroDivisionError"),
    ("pg.schedule(lambda a: 1 // 0, pg.update(A))\ndel A", 1, "ZeroDivisionError"),
    ("pg.schedule(lambda a: 1 // 0, pg.update(A))\ntried('seen', pg.sync)", 0, ""),
    ("fail_in(schedules, 'schedule_of')\nB = pg.ones(1 << 19)", 1, "a mistake of pgaspy"),
])
def test_what_nobody_saw_is_told_at_the_end(tmp_path: Path, program: str, status: int, words: str) -> None:
    (tmp_path / "program.py").write_text(START + program)
    done = run([sys.executable, "program.py"], tmp_path)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert bool(done.stderr) == bool(words)


def test_what_a_debugger_leaves_is_no_failure(tmp_path: Path) -> None:
    """Also where a process has the marks of an exception, what it has recorded is executed at the end."""
    done = job(tmp_path, "if pg.RANK == 0:\n    sys.last_value = ValueError()\n"
                         "pg.schedule(lambda local: say('task'), A)\nB = A[::-1].copy()\n")
    assert lines(done) == {"rank 0 task", "rank 1 task"}
    assert done.returncode == 0


SPOILED = """
def fail(local):
    raise ValueError("bad value")

a, c = pg.zeros(1000), pg.ones(1000)
pg.sync()
total = c.sum()
pg.schedule(fail, pg.update(a))
if pg.RANK == 0:
    time.sleep(0.3)
tried("reads", lambda: float(total) and None)
b = None
def use():
    global b
    b = a + 1
tried("uses", use)
tried("sees", lambda: "nothing" if b is None else b.local()[:2])
"""


def test_what_is_under_way_finds_what_a_task_has_spoiled(tmp_path: Path) -> None:
    """Where the task fails after what uses its result was handed to the engine, that is spoiled as well."""
    done = job(tmp_path, SPOILED)
    seen = [line for line in done.stdout.splitlines() if " sees " in line]
    assert len(seen) == 2, done.stderr
    assert not any("[" in line for line in seen), seen
    assert done.returncode


def test_what_a_task_has_spoiled_is_not_saved(tmp_path: Path) -> None:
    """The other process waits for this one, which knows that already."""
    done = job(tmp_path, """
def fail(local):
    if pg.RANK == 1:
        raise ValueError("bad value")

pg.schedule(fail, pg.update(A))
try:
    pg.sync()
except pg.TaskError:
    pass
MPI.COMM_WORLD.Barrier()
tried("saves", lambda: pg.save("a.npy", A))
tried("goes on", lambda: float(A.sum()))
""")
    assert done.returncode
    said = {re.split("[:,]", line)[0] for line in lines(done)}
    assert said == {f"rank 0 saves {JOB[:-2]}", "rank 1 saves TaskError the task fail",
                    f"rank 0 goes on {JOB[:-2]}", f"rank 1 goes on {JOB[:-2]}"}, done.stderr


def test_pivots_that_are_no_later_rows_are_refused_everywhere(tmp_path: Path) -> None:
    done = job(tmp_path, """
a = pg.array(pg.arange(21.0).reshape(7, 3).gather())
MPI.COMM_WORLD.Barrier()
def exchange():
    pg.exchange_rows(a, pg.array([1, 0], layout=pg.Distribution("*")))
    return a.gather()
tried("exchanges", exchange)
""")
    said = lines(done)
    assert len(said) == 2, done.stderr
    assert all("pivots[1] is 0: row 1 of 7" in line for line in said)
    assert done.returncode


@pytest.mark.parametrize("ends", ["raise", pytest.param("sys.exit(0)", marks=pytest.mark.long)])
def test_others_have_time_to_save_what_they_have(tmp_path: Path, ends: str) -> None:
    """The process that has failed does not end the job before they come to their end."""
    done = job(tmp_path, f"""
if pg.RANK == 1:
    fail_in(schedules, "schedule_of")
try:
    float((A[::-1] + 1).sum())
except BaseException:
    if pg.RANK == 1:
        {ends}
    time.sleep(1.5)
    say("saves", A.local().size > 0)
""", 3)
    assert done.returncode
    assert lines(done) == {"rank 0 saves True", "rank 2 saves True"}, done.stderr


@pytest.mark.parametrize("statement", [
    "pg.combine(lambda a, b: a.T, R)",  # its elements would go elsewhere
    "pg.combine(lambda a, b: (a[0], b[1][:1]), R, pg.zeros_like(R))"])  # it would be stretched
def test_a_function_of_combine_that_returns_another_shape(tmp_path: Path, statement: str) -> None:
    done = job(tmp_path, f"""
R = pg.zeros((2, 3), layout=pg.Distribution("*", "*"))
{statement}
R.gather()
""")
    assert done.returncode != 0
    assert re.search(r"combine takes parts of shape \(2, 3\), and returned one of \([13], [23]\)", done.stderr)


FAILS_AT_ONCE = AT_ONCE + """
B = pg.zeros(64)
MPI.COMM_WORLD.Barrier()
if pg.RANK == 1:
    fail_in(engine.Engine, "start")
tried("waits", lambda: {call})
tried("flushes", pg.sync)
tried("the other", lambda: {written}.local()[0])
tried("local", lambda: A.local()[0])
"""


@pytest.mark.parametrize(("call", "written"), [("B.__setitem__(..., A[::-1])", "B"), ("float((A[::-1] + A).sum())", ""),
                                               ("A[5:].sum()", ""), ("float(A[63]) + float(A[0])", "")])
def test_an_error_of_what_is_done_at_once_is_one_of_all_who_wait(tmp_path: Path, call: str, written: str) -> None:
    done = job(tmp_path, FAILS_AT_ONCE.format(call=call, written=written or "(A + A[::-1])"))
    assert done.returncode
    failed = f"{JOB}AssertionError: a mistake of pgaspy, on rank 1, at program.py:"
    expected = {"rank 1 waits AssertionError a mistake of pgaspy", f"rank 0 waits {failed}"}
    for rank in range(2):
        expected |= {f"rank {rank} {name} {failed}" for name in ("flushes", "the other")}
        expected.add(f"rank {rank} local {32.0 * rank}")
    assert lines(done) == expected, done.stderr


def assert_interrupted(done: subprocess.CompletedProcess[str], rank: int = 0) -> set[str]:
    """A process was interrupted in what was tried, and told the others; what was said."""
    assert done.returncode
    found = lines(done)
    assert f"rank {rank} waits KeyboardInterrupt" in found
    assert {line for line in found if "goes on" in line} == {
        f"rank {one} goes on {JOB}KeyboardInterrupt: , on rank {rank}, at program.py:" for one in range(2)}, done.stderr
    return found


def test_who_is_interrupted_in_what_is_done_at_once_tells_the_others(tmp_path: Path) -> None:
    done = job(tmp_path, AT_ONCE + """
if pg.RANK == 0:
    signal.alarm(1)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
else:
    time.sleep(2)
tried("waits", lambda: float(A[63]))
tried("goes on", lambda: float(A[0]))
""")
    assert_interrupted(done)


@pytest.mark.parametrize("call", ["pg.save('a.npy', A)", "pg.random.default_rng()", "divided()"])
def test_who_is_interrupted_in_a_call_that_waits_for_all_tells_them(tmp_path: Path, call: str) -> None:
    done = job(tmp_path, AT_ONCE + f"""
import numpy as np

def divided():
    with np.errstate(divide="raise"):
        A / 0

if pg.RANK == 0:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
else:
    time.sleep(1.5)
tried("waits", lambda: {call})
tried("goes on", lambda: float(A.sum()))
""")
    assert_interrupted(done)


@pytest.mark.parametrize("call", ["pg.save('a.npy', A)", "pg.load('b.npy')"])
def test_who_is_interrupted_while_it_moves_the_bytes_of_a_file_tells_the_others(tmp_path: Path, call: str) -> None:
    done = job(tmp_path, AT_ONCE + f"""
pg.save("b.npy", A)
if pg.RANK == 0:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    os.preadv = os.pwritev = lambda *_: signal.setitimer(signal.ITIMER_REAL, 0.3) and None or time.sleep(60)
tried("waits", lambda: {call})
tried("goes on", lambda: float(A.sum()))
say("sees", *sorted(os.listdir()))
""")
    found = assert_interrupted(done)
    assert "rank 0 sees b.npy program.py said" in found  # and not what was begun


@pytest.mark.parametrize("call", ["pg.save('a.npy', A)", "pg.load('b.npy')", "pg.random.default_rng()"])
def test_who_is_interrupted_while_it_waits_for_others_that_go_on_tells_them(tmp_path: Path, call: str) -> None:
    """They have what they waited for, and wait for what comes after it."""
    module = "generators" if "default_rng" in call else "agreement"
    done = job(tmp_path, AT_ONCE + f"""
from pgaspy.fileio import agreement, paths
from pgaspy.random import generators

def interrupted():
    time.sleep(0.5)
    raise KeyboardInterrupt

def late(*given, told={module}.told):
    time.sleep(0.2)
    return told(*given)

pg.save("b.npy", A)
if pg.RANK == 1:
    agreement.listen = paths.listen = generators.listen = interrupted
else:
    {module}.told = late
tried("waits", lambda: {call})
tried("goes on", lambda: float(A.sum()))
""")
    assert_interrupted(done, rank=1)


AT_THE_END = AT_ONCE + """
from pgaspy.kernels import bindings
from pgaspy.scheduling.operations import Computed
from pgaspy.supervision.recorder import Supervision

class Kernels:
    def __getattr__(self, name):
        return getattr(found, name)

    def pg_run_elementwise(self, *work):
        found.pg_run_elementwise(*work)
        raise KeyboardInterrupt

def interrupted(*_):
    raise KeyboardInterrupt

found = bindings.lib
if pg.RANK == 0:
    {interrupt}
    time.sleep(0.1)  # after which it looks for what others have to say
tried("waits", lambda: {call})
tried("goes on", lambda: float(A.sum()))
tried("local", lambda: A.local()[0])
"""


@pytest.mark.parametrize(("interrupt", "call"), [
    ("Supervision.see_to_others = interrupted", "A.__iadd__(1)"),
    ("Supervision.see_to_others = interrupted", "A.__setitem__(0, 7)"),
    ("bindings.lib = Kernels()", "A[:1].__ipow__(3)"), ("Computed.n_tags = property(interrupted)", "float(A[0])")])
def test_who_is_interrupted_at_the_end_of_what_is_done_at_once_tells_the_others(tmp_path: Path, interrupt: str,
                                                                               call: str) -> None:
    """It may be done, and is not taken for what is not, nor done again."""
    done = job(tmp_path, AT_THE_END.format(interrupt=interrupt, call=call))
    assert done.returncode
    found, failed = lines(done), f"{JOB}KeyboardInterrupt: , on rank 0, at program.py:"
    assert "rank 0 waits KeyboardInterrupt" in found
    assert {line for line in found if "goes on" in line} == {f"rank {rank} goes on {failed}" for rank in range(2)}
    assert f"rank 0 local {'0.0' if 'float' in call else failed}" in found


HEARD_WHILE_THERE_IS_MADE_ROOM = AT_ONCE + """
from pgaspy.execution import recording

n = 1 << 18
A, B = pg.ones(n + 200, onenode=0), pg.empty(n, onenode=1)
pg.sync()
def at_once():
    for k in range(200):
        B[...] = A[k:k + n]
def in_turn():
    engine.WINDOW_BYTES = 0
    B[...] = A[:n]
    pg.schedule(lambda a: None, A)
    B[...] = A[:n]
    B[1:] = A[1:n]
    recording.queue._flush(recording.queue.engine.catch_up, None)
def use():
    if pg.RANK == 1:
        time.sleep(1)  # so that rank 0 has to wait until something of what it sends has arrived
        raise recording.queue.fail(MemoryError("no more"))
    {way}()
tried("sends", use)
"""


@pytest.mark.parametrize("way", ["at_once", "in_turn"])
def test_what_is_heard_while_there_is_made_room_for_messages_is_raised(tmp_path: Path, way: str) -> None:
    done = job(tmp_path, HEARD_WHILE_THERE_IS_MADE_ROOM.format(way=way))
    assert done.returncode
    assert lines(done) == {"rank 1 sends MemoryError no more",
                           f"rank 0 sends {JOB}MemoryError: no more, on rank 1, at program.py:"}, done.stderr


INTERRUPTED_AT_THE_END = """
from pgaspy.execution import progress
from pgaspy.supervision.alarms import Alarms

def interrupted(*_):
    raise KeyboardInterrupt

if pg.RANK == 1:
    fail_in(schedules, "schedule_of")
B = A[::-1] + 1
tried("waits", lambda: float(B.sum()))
{where} = interrupted
if pg.RANK == 0:
    MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("where", ["progress.stop", "Alarms.wait_for_others"])
def test_an_interrupt_at_the_end_of_a_failed_job_leaves_nobody_waiting(tmp_path: Path, where: str) -> None:
    done = job(tmp_path, INTERRUPTED_AT_THE_END.format(where=where))
    assert done.returncode
