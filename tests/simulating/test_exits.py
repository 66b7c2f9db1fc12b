"""How programs end that are simulated: with what they have registered, and not by themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.jobs import run

SIMULATE = ("-m", "pgaspy", "simulate", "program.py", "-n", "3", "--value", "1")


@pytest.mark.parametrize("how", ["os._exit(0)", "at_exit.leave()"])
def test_a_program_that_leaves_its_process_is_refused(how: str, tmp_path: Path) -> None:
    (tmp_path / "at_exit.py").write_text("from os import _exit\ndef leave(): _exit(0)\n")
    (tmp_path / "program.py").write_text(f"import os, at_exit\nimport pgaspy as pg\npg.ones(8).sum()\n{how}\n")
    done = run([sys.executable, *SIMULATE], tmp_path)
    assert done.returncode
    assert "os._exit ends a process without its job" in done.stderr
    assert ".py:" in done.stderr


def test_a_child_of_a_program_leaves_its_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os\nimport pgaspy as pg\nchild = os.fork()\nif not child: os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n")
    done = run([sys.executable, *SIMULATE], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "played 3 processes" in done.stdout


def test_what_is_registered_is_called_at_the_end_of_each_script(tmp_path: Path) -> None:
    (tmp_path / "at_exit.py").write_text("import atexit\natexit.register(open('said', 'a').write, 'first ')\n")
    (tmp_path / "program.py").write_text("""
import atexit
import sys
import at_exit
import pgaspy as pg
A = pg.ones(8)

@atexit.register
def last():
    global A
    A += 1
    print('a handler')
    with open('called', 'a') as file:
        print(float(A.sum()), pg.SIZE, pg.RANK, file=file)

atexit.register(last)
atexit.register(print, 'never')
atexit.unregister(print)
sys.exit(0)
""")
    done = run([sys.executable, *SIMULATE], tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "called").read_text().splitlines() == [f"1.0 3 {rank}" for rank in (0, 0, 1, 1, 2, 2)]
    assert (tmp_path / "said").read_text() == 3 * "first "
    assert "a handler" not in done.stdout
    assert "critical path" in done.stdout
