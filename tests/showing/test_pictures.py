"""Pictures: what is in them, and that they are drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pgaspy as pg
from pgaspy.commands import main
from pgaspy.commands.trace import KINDS, Lane, lanes_from_events, shares
from pgaspy.layout import Layout, one_process, replicated
from pgaspy.showing import pictures

pytest.importorskip("matplotlib")


def interval(category: str, start: float, stop: float, pid: int = 1) -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": category, "ts": start * 1e6, "dur": (stop - start) * 1e6, "pid": pid}


def named(rank: int, host: str = "one") -> dict[str, object]:
    return {"ph": "M", "name": "process_name", "pid": rank + 1, "args": {"name": f"rank {rank} of 2, {host}"}}


EVENTS = [named(1), named(0), interval("flush", 1, 4), interval("computing", 1, 3), interval("compiling", 1, 2),
          interval("waiting", 3, 3.5), interval("flush", 0, 2, pid=2)]


# Timelines ------------------------------------------------------------------------------------------------------------


def test_lanes() -> None:
    first, second = lanes_from_events(EVENTS)
    assert (first.name, second.name) == ("rank 0", "rank 1")
    assert first.intervals["computing"].tolist() == [[1, 3]]
    assert [lane.name for lane in lanes_from_events([named(0), named(1, "two")])] == ["rank 0, one", "rank 1, two"]


def test_shares_of_moments() -> None:
    lane, _ = lanes_from_events(EVENTS)
    found = shares(lane, np.array([0.0, 0.5, 2.5, 4.5]))
    assert list(found) == list(KINDS)
    np.testing.assert_allclose(found["compiling"], [0, 0.5, 0])
    np.testing.assert_allclose(found["computing"], [0, 0.25, 0.25])
    np.testing.assert_allclose(found["waiting"], [0, 0, 0.25])
    np.testing.assert_allclose(found["flush"], [0, 0, 0.25])
    np.testing.assert_allclose(found["program"], [1, 0.25, 0.25])
    np.testing.assert_allclose(sum(shares(Lane("rank 0", {}), np.array([0.0, 1.0])).values()), [1])


@pytest.mark.parametrize(("options", "written"), [([], "run.png"), (["-o", "other.svg", "--from", "1"], "other.svg"),
                                                  (["--to", "2"], "run.png")])
def test_a_timeline_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], written: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text(json.dumps({"traceEvents": EVENTS}))
    done = CliRunner().invoke(main, ["trace", "run.json", *options])
    assert (done.exit_code, done.output) == (0, f"{written}\n"), done.output
    start = Path(written).read_bytes()[:5]
    assert start == (b"<?xml" if written.endswith("svg") else b"\x89PNG\r")


@pytest.mark.parametrize(("text", "options", "words"), [
    ("{}", [], "is no timeline that PGASPY_TRACE has written"), ("no JSON", [], "is no timeline"),
    ("\udcff" * 5000, [], "is no timeline"),
    (json.dumps({"traceEvents": EVENTS}), ["--from", "9"], "the run ends at 4 s"),
    (json.dumps({"traceEvents": EVENTS}), ["-o", "run.doc"], "doc"),
])
def test_what_cannot_be_drawn(tmp_path: Path, text: str, options: list[str], words: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    done = CliRunner().invoke(main, ["trace", str(path), *options])
    assert done.exit_code == 1
    assert words in done.output
    assert "Traceback" not in done.output
    assert len(done.output) < 1000


# Layouts and messages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [
    pg.Distribution("cyclic(3)", "block").bind((17, 12), 6),
    pg.Distribution("block", "*", "cyclic(2)").bind((7, 3, 5), 4),
    pg.Distribution("cyclic(3)").bind((10,), 3), replicated((4, 4), 3), one_process((5, 6), 4, 2),
    pg.Distribution("cyclic(64)", "cyclic(64)").bind((500, 70), 6)])
def test_blocks_have_the_colours_of_their_owners(layout: Layout) -> None:
    owners, edges = pictures._owners(layout)
    for index in np.ndindex(*(min(n, 40) for n in layout.shape)):
        block = [int(np.searchsorted(edge, i, side="right")) - 1
                 for edge, i in zip(edges[-min(layout.ndim, 2):], index[:2], strict=False)]
        if not any(index[2:]):
            row, column = block if layout.ndim > 1 else (0, block[0])
            assert owners[row, column] == layout.owner_from_global_index(index)


def test_more_blocks_than_can_be_seen() -> None:
    layout = pg.Distribution("cyclic(1)", "*").bind((1000, 5), 4)
    owners, edges = pictures._owners(layout)
    assert owners.shape == (pictures.MAX_BLOCKS, 1)
    assert edges[0][-1] == pictures.MAX_BLOCKS
    assert "the first 256 blocks" in pictures._about(layout, edges)


def statement() -> None:
    a, b = pg.empty(60), pg.empty(60)
    a[1:] = b[:-1]
    a.sum()


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_traffic_is_that_of_each_process(size: int) -> None:
    found = pg.explain(statement, size=size).traffic()
    assert found.shape == (size, size)
    assert not found.diagonal().any()
    for rank in range(size):
        if rank + 1 < size:
            assert found[rank, rank + 1] >= 8  # the element that each hands on
    plan = pg.explain(statement, size=size, rank=size // 2).operations[0]
    assert plan.nbytes_sent == (8 if size > 1 and size // 2 + 1 < size else 0)


@pytest.mark.parametrize("size", [1, 3, 16])
def test_pictures_are_drawn(tmp_path: Path, size: int) -> None:
    pg.draw(pg.explain(statement, size=size), tmp_path / "messages.png")
    pg.draw(pg.Distribution("cyclic(3)", "block").bind((17, 12), size), tmp_path / "layout.svg")
    pg.draw(pg.empty((4, 5)))
    assert {path.name for path in tmp_path.iterdir()} == {"messages.png", "layout.svg"}
