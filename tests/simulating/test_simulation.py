"""Programs in jobs of any size: their scripts are what processes do, and few of them stand for all."""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from pgaspy.commands.simulate_report import as_text
from pgaspy.kernels import jit
from pgaspy.scheduling import kernel_nodes
from pgaspy.scheduling.conversations import Conversation
from pgaspy.simulating import simulation
from pgaspy.simulating.conversing import rounds_of, with_rounds
from pgaspy.simulating.graphs import Begin, Pass, Wait, Work, graph
from pgaspy.simulating.machine import Machine
from pgaspy.simulating.measuring import KernelTimes
from pgaspy.simulating.network import Network
from pgaspy.simulating.parts import Clock, Part
from pgaspy.simulating.player import play
from pgaspy.simulating.ranks import Classes
from pgaspy.simulating.scripts import CommandLine, LocalShape, Script, script_of
from pgaspy.simulating.settings import Settings, SimulationError
from pgaspy.simulating.simulation import Simulation, simulate
from pgaspy.simulating.tasks import Cost, TaskTimes, cost_from_text
from tests.simulated import Job

FILE = str(Path(__file__).parent / "programs.py")
MACHINE = Machine(latency=2e-6, bandwidth=1e9, flops=1e9, memory=((math.inf, 1e10),), products=1e10)


def program(name: str, n: int, n_steps: int = 4) -> CommandLine:
    return CommandLine(FILE, False, [name, str(n), str(n_steps)])


def settings(value: float | None = 1.0, **options: Any) -> Settings:
    return Settings(MACHINE, TaskTimes({"add_product": Cost(seconds=1e-3)}), value, **options)


def simulated(name: str, n: int, size: int, n_steps: int = 4, **options: Any) -> Simulation:
    return simulate(program(name, n, n_steps), size, settings(**options))


def computing(found: Script) -> float:
    return sum(node.seconds for step in found.steps if isinstance(step, Begin) for node in step.graph.nodes)


@pytest.mark.parametrize("name", ["stencil", "summa"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_the_messages_are_those_of_the_program(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as processes start whose queues and engines are real."""
    monkeypatch.setattr(sys, "argv", [FILE, name, "24", "4"])
    job = Job(lambda: runpy.run_path(FILE) and None, [lambda n: False] * size)
    scripts = [script_of(program(name, 24), size, rank, settings()) for rank in range(size)]
    messages = [(rank, *found) for rank, own in enumerate(scripts) for found in own.messages()]
    assert len(messages) == job.network.n_started
    sent = sorted((rank, node.peer, tag, node.nbytes) for rank, node, tag in messages if not node.is_receive)
    assert sent == sorted((node.peer, rank, tag, node.nbytes) for rank, node, tag in messages if node.is_receive)


def test_a_kernel_takes_what_its_bytes_take_or_its_operations() -> None:
    def seconds(**speeds: Any) -> float:
        machine = Machine(kernel=0.0, **speeds)
        return computing(script_of(program("stencil", 1002, 1), 1, 0, Settings(machine, TaskTimes({}))))

    # ones are written, the views of one array are read once, and a copy is made, as the array is written to
    by_bytes = seconds(flops=1e18, memory=((math.inf, 1e9),))
    assert by_bytes == pytest.approx(8e-9 * 1e6 * (1 + 1 + 1 + 2), rel=0.05)
    assert seconds(flops=1e9, memory=((math.inf, 1e18),)) == pytest.approx(4e-9 * 1e6, rel=0.05)


def test_kernels_that_are_measured_take_some_time() -> None:
    """As long as they take here, whatever is said of the machine; once per shapes."""
    times = KernelTimes()
    machine = Machine(kernel=0.0, flops=1.0, memory=((math.inf, 1.0),))

    def seconds() -> float:
        found = script_of(program("stencil", 300, 1), 1, 0, Settings(machine, TaskTimes({}), kernels=times))
        (step,) = (step for step in found.steps if isinstance(step, Begin))
        return sum(node.seconds for node in step.graph.nodes if "add" in node.name or node.name == "copy")

    assert 1e-7 < seconds() < 1.0
    assert seconds() == seconds()


def test_each_process_draws_what_it_takes_of_what_was_measured(tmp_path: Path) -> None:
    """What was measured together takes together what it took in one round; and each process is held up by itself."""
    class Times(KernelTimes):
        def of(self, nodes: Any, nbytes_of: Any, nbytes_besides: int) -> Any:
            return {node: [float(k) for k in range(100)] for node in nodes if node.name == "copy"}

    file = tmp_path / "loop.py"
    file.write_text("import pgaspy as np\na, b = np.zeros(100), np.zeros(100)\nfor _ in range(30):\n"
                    "    a[1:-1] = b[1:-1]\n    b[1:-1] = a[1:-1]\n    np.sync()\n")
    scripts = [script_of(CommandLine(str(file), False), 2, rank, settings(kernels=Times())) for rank in range(2)]
    drawn = [[{*step.seconds.values()} for step in script.steps if isinstance(step, Begin) and step.seconds]
             for script in scripts]
    assert all(len(seconds) == 1 for own in drawn for seconds in own)
    assert all(len(set().union(*own)) > 10 for own in drawn)
    assert drawn[0] != drawn[1]


def test_a_process_takes_what_was_measured_in_its_place(tmp_path: Path) -> None:
    """Of two that measure, the second is slow: so it is in the job."""
    class Times(KernelTimes):
        def __init__(self, seconds: float) -> None:
            super().__init__()
            self._seconds = seconds

        def of(self, nodes: Any, nbytes_of: Any, nbytes_besides: int) -> Any:
            return {node: [self._seconds] for node in nodes if isinstance(node, kernel_nodes.KernelCall)}

    class Together:
        def __init__(self, rank: int, others: list[Any]) -> None:
            self.rank, self.size, self._others = rank, 2, others

        def allgather(self, own: Any) -> list[Any]:
            self._others.append(own)
            return self._others

    file = tmp_path / "alone.py"
    file.write_text("import pgaspy as np\na = np.zeros(100)\na += 1\nnp.sync()\n")
    found: list[Any] = []
    for rank, seconds in enumerate((1.0, 3.0)):
        options = settings(kernels=Times(seconds), together=Together(rank, found))
        both = simulate(CommandLine(str(file), False), 4, options)
    assert [round(course.totals.computing) for course in both.courses.values()] == [1, 3, 1, 3]


def test_kernels_are_measured_after_all_arrays_that_the_program_had_besides(tmp_path: Path) -> None:
    """Those, too, that it made after the first time."""
    class Times(KernelTimes):
        besides: ClassVar[list[int]] = []

        def of(self, nodes: Any, nbytes_of: Any, nbytes_besides: int) -> Any:
            self.besides.append(nbytes_besides)
            return super().of(nodes, nbytes_of, nbytes_besides)

    file = tmp_path / "later.py"
    file.write_text("import pgaspy as np\na, others = np.zeros(100), []\nfor _ in range(4):\n    a += 1\n"
                    "    np.sync()\n    others.append(np.zeros(1000))\n")
    script_of(CommandLine(str(file), False), 1, 0, settings(kernels=Times()))
    assert max(Times.besides) == 800 + 3 * 8000  # of four, the last one is made at the end


def test_what_is_too_much_to_measure_is_refused() -> None:
    with pytest.raises(SimulationError, match="too much to measure them here: leave out --measure"):
        script_of(program("stencil", 30_000, 1), 1, 0, settings(kernels=KernelTimes()))


def test_kernels_are_measured_as_they_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program that goes on for long has them."""
    requests = []

    def request(*_: Any) -> jit.Request:
        requests.append(jit.Request(lambda: None, lambda: None))
        requests[-1].run()
        return requests[-1]

    monkeypatch.setattr(kernel_nodes, "_loop", kernel_nodes._Loop)
    monkeypatch.setattr(jit, "request", request)
    script_of(program("stencil", 300, 1), 1, 0, Settings(MACHINE, TaskTimes({}), kernels=KernelTimes()))
    assert requests


def test_what_python_takes_is_measured_with_kernels() -> None:
    """What recurs takes one of the times of the later half, or else what is said of statements."""
    def seconds(**options: Any) -> float:
        return simulated("thinks", 20, 1, 5, **options).courses[0].totals.program

    assert 5 * 0.01 < seconds(kernels=KernelTimes()) < 0.5
    assert seconds() == pytest.approx(6 * MACHINE.statement + 6 * MACHINE.flush)


def test_the_memory_is_as_fast_as_it_is_for_so_many_bytes() -> None:
    machine = Machine(memory=((1e3, 8e9), (1e5, 2e9)))
    assert [machine.memory_speed(n) for n in (10, 1e3, 1e4, 1e5, 1e9)] == pytest.approx([8e9, 8e9, 4e9, 2e9, 2e9])


@pytest.mark.parametrize(("name", "n", "n_steps"), [("heat", 1200, 5), ("summa", 240, 4)])
def test_few_processes_stand_for_all(name: str, n: int, n_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found of a job is the same, but for some per cent, whether all of its processes are played, or few."""
    few = simulated(name, n, 48, n_steps)
    monkeypatch.setattr(simulation, "MAX_ALL", 48)
    all_of_them = simulated(name, n, 48, n_steps)
    assert len(few.courses) < len(all_of_them.courses) == 48

    def figures(found: Simulation) -> list[float]:
        whole = {rank: course.totals for rank, course in found.courses.items()}
        return [max(own.seconds for own in whole.values()), *(found.mean(whole, name) for name in (
            "computing", "n_messages", "nbytes"))]

    assert figures(few) == pytest.approx(figures(all_of_them), rel=0.06)


def test_a_job_of_a_million_processes() -> None:
    """Local parts of 80 GB each are not allocated, and few processes are played."""
    found = simulated("stencil", 10**8, 10**6, 2)
    assert len(found.courses) < 20
    totals = found.phases[0]
    assert found.mean(totals, "computing") > 0.9 * max(own.seconds for own in totals.values())
    assert found.mean(totals, "n_messages") == pytest.approx(4 * 2, rel=0.01)


def test_waiting_is_what_messages_take_longer_than_computing() -> None:
    """On a slow link the edges of a grid take longer than its inside."""
    def waiting(bandwidth: float) -> float:
        machine = Machine(latency=1e-6, bandwidth=bandwidth, memory=((math.inf, 1e10),), overhead=0.0, kernel=0.0,
                          statement=0.0, flush=0.0)
        found = simulate(program("stencil", 500, 8), 4, Settings(machine, TaskTimes({})))
        totals = found.courses[0].totals
        assert totals.computing + totals.waiting == pytest.approx(totals.seconds)
        return totals.waiting / totals.seconds

    assert waiting(1e10) < 0.05
    assert waiting(1e6) > 0.9


def test_a_local_view_is_not_allocated() -> None:
    """Its products take what the machine's take: a job whose matrices would fill 2 TB of this machine."""
    n = 500_000
    found = script_of(program("local_products", n, 2), 4, 0, settings())
    products = [step.seconds for step in found.steps if isinstance(step, Pass) and step.name == "matmul"]
    assert products == pytest.approx([2 * (n // 2) ** 3 / MACHINE.products] * 2)


@pytest.mark.parametrize(("name", "value", "words"), [
    ("heat", None, r"a value is read.*--value.*programs.py:26 in heat: if float\(delta\)"),
    ("local_eigenvalues", 1.0, r"eigvalsh of a local view.*pg.schedule.*programs.py:\d+ in local_eigenvalues"),
    ("indexed", 1.0, r"follow from what arrays hold.*--spread.*programs.py:\d+"),
    ("local_maximum", 1.0, r"max of a local view.*pg.schedule.*programs.py:\d+ in local_maximum"),
    ("saves", 1.0, r"simulated job has no files.*programs.py:\d+ in saves"),
    ("fails", 1.0, r"IndexError.*programs.py:\d+ in fails"),
])
def test_what_cannot_be_simulated_is_named(name: str, value: float | None, words: str) -> None:
    with pytest.raises(SimulationError, match=words):
        script_of(program(name, 20), 4, 1, settings(value))


def test_what_a_program_imports_is_made_for_each_process(tmp_path: Path) -> None:
    """Its arrays are those of the process that is played, and not of the one before."""
    (tmp_path / "arrays_of_mine.py").write_text("import pgaspy as pg\nA = pg.ones((60, 60))\n")
    (tmp_path / "main.py").write_text("from arrays_of_mine import A\nA[1:] = A[:-1].copy()\n")
    found = simulate(CommandLine(str(tmp_path / "main.py"), False), 4, settings())
    assert sum(course.totals.n_messages for course in found.courses.values()) > 0
    assert "arrays_of_mine" not in sys.modules
    assert str(tmp_path) not in sys.path


def test_a_program_ends_when_it_has_read_enough() -> None:
    def n_kernels(max_values: int | None) -> int:
        found = script_of(program("heat", 100, 7), 1, 0, settings(max_values=max_values))
        return sum(isinstance(step, Begin) for step in found.steps)

    assert n_kernels(3) < n_kernels(5) < n_kernels(None)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("spread", [1, 2, 100])
def test_items_of_index_arrays_are_spread(size: int, spread: int) -> None:
    """What one process sends, another one receives, also where the last parts are empty."""
    messages = [(rank, found, tag) for rank in range(size)
                for found, tag in script_of(program("indexed", 240), size, rank, settings(spread=spread)).messages()]
    assert sorted((rank, found.peer, tag, found.nbytes) for rank, found, tag in messages if not found.is_receive) == (
        sorted((found.peer, rank, tag, found.nbytes) for rank, found, tag in messages if found.is_receive))
    assert simulated("indexed", 240, size, spread=spread).courses[0].totals.seconds > 0


def test_rounds_of_a_conversation() -> None:
    """Those that tell who has what; then the items, each process's in equal parts; each round waits for the last."""
    node = Conversation(lambda memories, link: iter(()), "gather", 6, carries=[[2], [0, 1]])  # type: ignore[arg-type]
    rounds = rounds_of(node, 5, 6, 3, [60, 30, 12].__getitem__)
    assert rounds == [[(1, 512)], [(2, 512)], [(4, 512)], [(2, 4), (4, 4)], [(2, 30), (4, 30)]]
    before, after = Work("before", 1.0), Work("after", 1.0)
    made = with_rounds(graph([before, Work("gather", 0.5), after], [(0, 1), (1, 2)]), {1: rounds}, 5, 6, 0.25)
    assert made.begins == {1: 3}
    assert made.nodes[0].successors == (3,)
    assert [(work.peer, work.nbytes) for work in made.nodes if work.is_communication and not work.is_receive] == [
        (0, 512), (1, 512), (3, 512), (1, 4), (3, 4), (1, 30), (3, 30)]
    steps = {rank: [Begin(with_rounds(graph([before, Work("gather", 0.5), after], [(0, 1), (1, 2)]),
                                          {1: rounds}, rank, 6, 0.25)), Wait()] for rank in range(6)}
    for course in play(steps, Network(latency=2.0)).values():
        assert course.totals.seconds == 1 + 0.25 + 5 * (2 + 0.25) + 0.5 + 1


def test_a_program_whose_checks_fail_on_what_it_reads_ends() -> None:
    found = simulated("reads_and_fails", 20, 4)
    assert found.status == 1
    assert "ends with status 1: what it has read is --value" in as_text(found)


@pytest.mark.parametrize("name", ["keeps", "keeps_and_exits"])
def test_what_a_name_keeps_at_the_end_is_executed(name: str) -> None:
    assert computing(script_of(program(name, 1000), 2, 0, settings())) > 0


def test_a_program_that_does_nothing_has_no_path() -> None:
    assert "critical path" not in as_text(simulated("nothing", 20, 4))


def test_tasks_cost_what_is_said_or_what_is_measured() -> None:
    said, measured = TaskTimes({"work": Cost(speed=1e9)}), TaskTimes({})
    calls = []

    def seconds(times: TaskTimes) -> float:
        def work(x: Any, factor: float) -> None:
            calls.append((x.shape, x.strides, factor))

        return times("test.<locals>.work", work, [LocalShape((100, 10), np.dtype(float), (4096, -8)), 2.0])

    assert seconds(said) == 8000 / 1e9
    assert not calls
    assert 0 < seconds(measured) < 1
    assert set(calls) == {((100, 10), (4096, -8), 2.0)}
    n_calls = len(calls)
    seconds(measured)
    assert len(calls) == n_calls


@pytest.mark.parametrize("text", ["add", "=2ms", "add=", "add=2", "add=2kg", "add=-2ms"])
def test_wrong_costs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"add|no name"):
        cost_from_text(text)


def test_local_parts_are_shapes() -> None:
    """Operators and slices cost time; what needs elements is refused."""
    spent: list[tuple[str, float]] = []
    clock = Clock(MACHINE, lambda name, seconds: spent.append((name, seconds)), lambda dtype: dtype.type(3), ValueError)
    x = Part.of((1000, 500), np.dtype(float), clock)
    assert ((x[::2] + 1).shape, x.T.shape, (x[0] > 0).dtype, len(x)) == ((500, 500), (500, 1000), np.dtype(bool), 1000)
    assert spent[0] == ("add", pytest.approx((2 * 500 * 500 + 1) * 8 / 1e10))
    x[1:] += 2
    assert (x @ x.T).shape == (1000, 1000)
    assert spent[-1] == ("matmul", 2 * 1000 * 1000 * 500 / 1e10)
    assert float(x.sum()) == 3.0
    assert x.sum(axis=1).shape == (1000,)
    assert [(x > 0).sum(axis=0).dtype, x.sum(axis=0, dtype="f4").dtype] == [int, "f4"]
    for wrong in (lambda: np.linalg.svd(x), lambda: np.asarray(x), lambda: float(x[0])):
        with pytest.raises(ValueError, match=r"pg\.schedule"):
            wrong()


def test_classes_of_processes() -> None:
    classes = Classes({(4, 6), (), (3,)}, 24)
    assert classes.grids == [(4, 6)]
    assert classes.examples == [0, 3, 5, 12, 15, 17, 18, 21, 23]
    assert sum(classes.shares([0, 3, 8, 15]).values()) == pytest.approx(1)
    assert classes.of(8) == classes.of(15) == ((1, 1),)
    assert sum(map(classes.population, {classes.of(rank): rank for rank in range(24)}.values())) == 24
    assert classes.line(7, 8) == {6, 7, 8, 9, 10, 11}
    assert classes.line(7, 13) == {1, 7, 13, 19}
    assert classes.line(7, 14) == {7}
