"""Indexing by arrays: 10 million random elements, against NumPy on one process, and mpi4py by hand on several."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from bench.timing import Result, in_turns, ratio, report

N = 10_000_000


def by_hand(read: bool, x: np.ndarray, i: np.ndarray, values: np.ndarray) -> None:
    """Sort by owner, exchange counts, indices and values."""
    comm, size = pg.COMM, pg.SIZE
    edges = np.arange(size + 1) * N // size
    owners = np.searchsorted(edges, i, side="right") - 1
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=size)
    theirs = np.empty_like(counts)
    comm.Alltoall(counts, theirs)
    wanted, asked = i[order], np.empty(theirs.sum(), np.int64)
    comm.Alltoallv((wanted, counts), (asked, theirs))
    asked -= edges[pg.RANK]
    if read:
        found = np.empty(len(i))
        comm.Alltoallv((x[asked], theirs), (found, counts))
        values[order] = found
    else:
        brought = np.empty(len(asked))
        comm.Alltoallv((values[order], counts), (brought, theirs))
        x[asked] = brought


def measured(kind: str, indices: np.ndarray) -> list[Result]:
    """Read and written, by these indices."""
    layout = pg.Distribution("block")
    a, i = pg.random.default_rng(0).random(N), pg.array(indices, layout=layout)
    values = pg.zeros(N)
    read, read_theirs = np.array(a.local()), np.zeros(len(a.local()))
    own = np.array(i.local())
    if pg.SIZE == 1:
        def read_by_numpy() -> None:
            read[own]

        def written_by_numpy() -> None:
            read[own] = read_theirs
        rival, gathered, scattered = "NumPy", read_by_numpy, written_by_numpy
    else:
        rival = "mpi4py by hand"

        def gathered() -> None:
            by_hand(True, read, own, read_theirs)

        def scattered() -> None:
            by_hand(False, read, own, read_theirs)
    results = []
    goals = (1.3 if kind == "random" else None, None) if pg.SIZE == 1 else (0.9, 0.9)

    def assign() -> None:
        a[i] = values

    for name, ours, theirs, goal in (("a[i]", lambda: a[i], gathered, goals[0]),
                                     ("a[i] = x", assign, scattered, goals[1])):
        times, their_times = in_turns(ours, theirs, before=pg.COMM.Barrier, repeats=5)
        results.append(Result(f"{name}, 10 M {kind} indices", N / min(times) / 1e6, "M/s", rival,
                              N / min(their_times) / 1e6, ratio(times, their_times), goal))
    return results


def tables() -> list[Result]:
    """Looked up in a short table, which a program with mpi4py would hold on each process."""
    a, i = pg.random.default_rng(0).random(1000), pg.random.default_rng(1).integers(0, 1000, N)
    table, own = a.gather(), np.array(i.local())
    times, their_times = in_turns(lambda: a[i], lambda: table[own], before=pg.COMM.Barrier, repeats=5)
    return [Result("a[i], 10 M indices of 1000 elements", N / min(times) / 1e6, "M/s", "NumPy on a table of its own",
                   N / min(their_times) / 1e6, ratio(times, their_times), 1.0)]


def masks() -> list[Result]:
    """Assigned and added up where a mask is true."""
    a = pg.random.default_rng(0).random(N) - 0.5
    mask = a > 0
    x, m = np.array(a.local()), np.array(mask.local())

    def assign() -> None:
        a[mask] = 0

    def assign_numpy() -> None:
        x[m] = 0

    def add() -> None:
        a[mask] += 1

    def add_numpy() -> None:
        x[m] += 1

    results = []
    for name, ours, theirs, goal in (
            ("a[m] = 0", assign, assign_numpy, 1.5), ("a[m] += 1", add, add_numpy, 1.5),
            ("a[a > 0.2].sum()", lambda: a[a > 0.2].sum().item(), lambda: x[x > 0.2].sum().item(), 1.5),
            ("a[m]", lambda: a[mask], lambda: x[m], None)):
        times, their_times = in_turns(ours, theirs, before=pg.COMM.Barrier, repeats=5)
        results.append(Result(f"{name}, 10 M elements", N / min(times) / 1e6, "M/s", "NumPy on the local part",
                              N / min(their_times) / 1e6, ratio(times, their_times), goal))
    return results


def main() -> None:
    """Measure."""
    rng = np.random.default_rng(1)
    random, near = rng.integers(0, N, N), np.clip(np.arange(N) + rng.integers(-2, 3, N), 0, N - 1)
    results = [*measured("random", random), *measured("neighbouring", near), *tables(), *masks()]
    if MPI.COMM_WORLD.rank == 0:
        report(results)


if __name__ == "__main__":
    main()
