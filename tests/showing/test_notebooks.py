"""A notebook's engines as the processes of a job: ipyparallel, where it is installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.jobs import run

pytest.importorskip("ipyparallel")

NOTEBOOK = """
import ipyparallel

if __name__ == "__main__":
    with ipyparallel.Cluster(n=2, engines="mpi", log_level=40) as client:
        engines = client[:]
        engines.block = True
        engines.execute("import pgaspy as pg; A = pg.arange(10.0); total = float(A.sum())")
        assert sorted(engines["pg.RANK"]) == [0, 1]
        assert engines["pg.SIZE"] == [2, 2]
        assert engines["total"] == [45.0, 45.0]
        engines.execute("whole = (2 * A).gather(root=0)")  # for which nobody waits but rank 0
        assert [whole is None for whole in engines["whole"]] == [rank > 0 for rank in engines["pg.RANK"]]
        printed = engines.execute("pg.print_once(A)", block=False)
        printed.wait()
        assert sorted(printed.stdout) == ["", "[0. 1. 2. 3. 4. 5. 6. 7. 8. 9.]\\n"]
        try:
            engines.execute("A + pg.ones(3)")
        except ipyparallel.CompositeError as error:
            assert "operands could not be broadcast" in str(error)
        assert engines["float(A.max())"] == [9.0, 9.0]  # the engines are there yet
    print("right")
"""


@pytest.mark.long
def test_engines_are_one_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    options = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    done = run(["env", *options, sys.executable, "notebook.py"], tmp_path)
    assert done.stdout == "right\n", done.stderr
