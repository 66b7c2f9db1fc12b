"""Run all benchmarks: a table on the screen, a CSV with the machine described in `bench/results/`.

Usage: python -m bench [NAME ...]
"""

from __future__ import annotations

import csv
import datetime
import json
import os
import platform
import subprocess
import sys
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np
from tabulate import tabulate

from bench import processes
from bench.processes import ROOT
from bench.timing import NOTE, RESULT, Result

BENCHMARKS: dict[str, list[tuple[int, list[str]]]] = {
    "kernels": [(1, [])],
    "importing": [(1, [])],
    "overhead": [(1, [])],
    "small_arrays": [(1, [])],
    "steps": [(1, []), (2, [])],
    "first_time": [(1, []), (2, [])],
    "loops": [(1, []), (2, [])],
    "textbook": [(1, [])],
    "histograms": [(1, []), (2, [])],
    "plans": [(1, [])],
    "movement": [(2, [])],
    "files": [(1, []), (2, [])],
    "scans": [(1, []), (2, [])],
    "order": [(1, []), (2, [])],
    "indexing": [(1, []), (2, [])],
    "einsum": [(1, []), (2, [])],
    "fft": [(2, ["--unbound"])],
    "products": [(2, ["--unbound"])],
    "factorisations": [(2, ["--unbound"])],
    "memory_of_factorisations": [(1, [])],
    "heat": [(1, []), (2, [])],
    "shared_cores": [(1, []), (2, [])],
    "black_scholes": [(1, []), (2, [])],
    "link_heat": [(1, [])],
    "link_summa": [(1, [])],
    "link_fft": [(1, [])],
    "papers": [(1, [])],
}
"""Per module, the runs: the number of processes of each, and options for the launcher.

Unbound, so that NumPy, on one of two processes, can use the cores of both. Those on a link, of memory, of textbooks and
of papers start jobs by themselves.
"""

TIMEOUT_SECONDS = 240
TIMEOUTS = {"papers": 3600}
"""Of those that start many jobs."""


def run(module: str, n_processes: int, options: list[str]) -> list[Result]:
    """Run one benchmark in processes of its own.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    done = processes.run(processes.command_of(f"bench.{module}", n_processes, options),
                         timeout=TIMEOUTS.get(module, TIMEOUT_SECONDS))
    if done.returncode:
        raise RuntimeError(f"bench.{module} on {n_processes} process(es) failed:\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(NOTE):
            print(line.removeprefix(NOTE))
    return [Result(**json.loads(line.removeprefix(RESULT))) for line in lines if line.startswith(RESULT)]


def machine() -> str:
    """The processor, its cores, and the versions that matter."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = models[0] if models else model
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, "
            f"NumPy {np.__version__}, {blas['name']} {blas['version']}, "
            f"OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', 'by itself')}")


def main() -> None:
    """Run, print and store."""
    names = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}. Options are for a "
                 "benchmark by itself: python -m bench.NAME --help")
    results, failures = [], []
    for name in names:
        for n_processes, options in BENCHMARKS[name]:
            try:
                results += run(name, n_processes, options)
            except (RuntimeError, subprocess.TimeoutExpired) as error:  # the others are worth having
                failures.append(str(error))
    header = ["benchmark", "pgaspy", "unit", "rival", "rival's", "compared", "goal", "reached"]
    shown = {None: "", True: "yes", False: "NO"}
    rows = [[r.name, f"{r.value:.4g}", r.unit, r.rival, "" if r.rival_value is None else f"{r.rival_value:.4g}",
             r.compared, r.wanted, shown[r.reached]]
            for r in results]
    print(machine())
    print(tabulate(rows, header, disable_numparse=True))
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{now}.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["machine", *(f.name for f in fields(Result)), "reached"])
        writer.writerows([machine(), *astuple(r), r.reached] for r in results)
    print(f"stored in {path.relative_to(ROOT)}")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
