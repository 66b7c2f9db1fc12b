"""Files in memory: saving and loading, against system calls that write and read the same bytes, and NumPy on rank 0."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import pgaspy as pg
from bench.timing import Result, in_turns, ratio, report

SHAPE = 2048, 2048
LAYOUTS = {"by default": None, "cyclic in columns": pg.Distribution("*", "cyclic(1)")}


def measured(folder: Path, name: str, layout: pg.Distribution | None) -> list[Result]:
    """An array in a layout, saved and loaded; each process by itself writes a new file of its share, and reads it."""
    A = pg.ones(SHAPE, layout=layout)
    ours, raw, numpys = folder / "ours.npy", folder / f"raw{pg.RANK}", folder / "numpys.npy"
    run: Any = np.ones(A.size // pg.SIZE)
    into: Any = np.empty_like(run)
    saved = in_turns(lambda: pg.save(ours, A), lambda: raw.write_bytes(run),
                     lambda: np.save(numpys, x) if (x := A.gather(root=0)) is not None else None,
                     before=pg.COMM.Barrier, repeats=9)
    loaded = in_turns(lambda: pg.load(ours, layout=layout).local(),
                      lambda: raw.open("rb", buffering=0).readinto(into),
                      lambda: pg.array(pg.COMM.bcast(np.load(numpys) if pg.RANK == 0 else None), layout=layout).local(),
                      before=pg.COMM.Barrier, repeats=9)
    gbytes = A.nbytes / 1e9
    results = []
    for what, (own, least, numpy) in ("save", saved), ("load", loaded):
        speed = gbytes / median(own)
        results += [Result(f"{what}, {name}, against a file of each process", speed, "GB/s", "the system",
                           gbytes / median(least), ratio(least, own), at_most=True),
                    Result(f"{what}, {name}, against all on rank 0", speed, "GB/s", "NumPy", gbytes / median(numpy),
                           ratio(own, numpy))]
    return results


def main() -> None:
    """Measure on any number of processes."""
    in_memory = Path("/dev/shm")
    where = in_memory if in_memory.is_dir() and os.access(in_memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as own:
        folder = Path(pg.COMM.bcast(own))
        results = [x for name, layout in LAYOUTS.items() for x in measured(folder, name, layout)]
        pg.COMM.Barrier()
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
