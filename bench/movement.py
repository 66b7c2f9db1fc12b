"""Assignments between 2 processes, against mpi4py code that moves the same bytes."""

from __future__ import annotations

from statistics import median

import numpy as np
from mpi4py import MPI

import pgaspy as pg
from bench.timing import Result, in_turns, ratio, report

SHIFT_MBYTES = 64


def replay() -> Result:
    """A cached assignment of a few elements each way, against the raw messages of the same bytes."""
    A, B = (pg.zeros(2048, layout=pg.Distribution("block")) for _ in range(2))
    half, peer, comm = 1024, 1 - pg.RANK, pg.COMM
    send, receive = np.zeros(64), np.zeros(64)
    ours_key = slice(half - 64, half + 64)
    reverse = B[ours_key][::-1]

    def ours() -> None:
        for _ in range(1000):
            A[ours_key] = reverse

    def raw() -> None:
        for _ in range(1000):
            request = comm.Irecv(receive, peer)
            comm.Isend(send, peer).Wait()
            request.Wait()

    times, raw_times = in_turns(ours, raw, before=comm.Barrier)
    added = (median(times) - median(raw_times)) / 1000 * 1e6
    return Result("replay of a cached assignment, added to mpi4py's", added, "us", "raw mpi4py",
                  median(raw_times) / 1000 * 1e6, goal=20.0)


def shift() -> Result:
    """`A[:, :-b] = A[:, b:]` dealt out cyclic(b) over columns: all of it moves, 64 MB from each process."""
    b, n_rows = 512, 2048
    n_blocks = SHIFT_MBYTES * 2**20 // (n_rows * b * 8) * pg.SIZE
    A = pg.ones((n_rows, b * n_blocks), layout=pg.Distribution("cyclic(512)", "cyclic(512)", grid=(1, pg.SIZE)))
    local = np.ones((n_rows, b * n_blocks // pg.SIZE))
    send, receive = np.empty_like(local), np.empty_like(local)
    peer, comm = 1 - pg.RANK, pg.COMM

    def ours() -> None:
        A[:, :-b] = A[:, b:]

    def by_hand() -> None:
        # rank 0 hands over all but its first block of columns, rank 1 all of its part, in contiguous buffers
        moved = local[:, b:] if pg.RANK == 0 else local
        target = local if pg.RANK == 0 else local[:, :-b]
        out = send.reshape(-1)[: moved.size].reshape(moved.shape)
        into = receive.reshape(-1)[: target.size].reshape(target.shape)
        request = comm.Irecv(into, peer)
        np.copyto(out, moved)
        sending = comm.Isend(out, peer)
        request.Wait()
        np.copyto(target, into)
        sending.Wait()

    times, hand_times = in_turns(ours, by_hand, before=comm.Barrier, repeats=15)
    gbytes = local.nbytes / 1e9
    return Result("A[:, :-b] = A[:, b:], 64 MB from each process", gbytes / median(times), "GB/s", "mpi4py by hand",
                  gbytes / median(hand_times), ratio(times, hand_times), 0.8)


def broadcast() -> Result:
    """A panel of a matrix, replicated along the columns of the grid, against Bcast of a packed panel."""
    n, b, comm = 4096, 512, pg.COMM
    A = pg.ones((n, n), layout=pg.Distribution("block", "block", grid=(1, pg.SIZE)))
    local, panel = A.local(), np.empty((n, b))

    def raw() -> None:
        if pg.RANK == 0:
            np.copyto(panel, local[:, :b])
        comm.Bcast(panel)

    times, raw_times = in_turns(lambda: pg.replicate(A[:, :b], axis=1), raw, before=comm.Barrier, repeats=15)
    return Result("replicate(A[:, :512], axis=1), 16 MB", panel.nbytes / median(times) / 1e9, "GB/s",
                  "pack and Bcast", panel.nbytes / median(raw_times) / 1e9, ratio(times, raw_times))


def main() -> None:
    """Measure, on 2 processes."""
    assert pg.SIZE == 2, "run on 2 processes"
    results = [replay(), shift(), broadcast()]
    if MPI.COMM_WORLD.rank == 0:
        report(results)


if __name__ == "__main__":
    main()
