"""Einstein's sums of the usual forms, against the best that one writes by hand with `@`, `*`, `sum` and transposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pgaspy as pg
from bench.timing import Result, in_turns, ratio, report

N, n, b, m = 3000, 1200, 64, 200
"""Rows of matrices (M, N), of those that are multiplied (A, B), the matrices in a stack (S, T), and their rows."""

GOAL = 1 / 1.2
"""Where it takes a millisecond. What is shorter takes some 20 us more, as subscripts are looked up."""

Arrays = dict[str, Any]

FORMS: dict[str, tuple[str, Callable[[Arrays], Any]]] = {
    "ij->ji": ("M", lambda x: x["M"].T),
    "ii->": ("M", lambda x: pg.trace(x["M"])),
    "ii->i": ("M", lambda x: pg.diagonal(x["M"])),
    "ij->": ("M", lambda x: x["M"].sum()),
    "ij->j": ("M", lambda x: x["M"].sum(axis=0)),
    "ij->i": ("M", lambda x: x["M"].sum(axis=1)),
    "i,i->": ("vw", lambda x: x["v"] @ x["w"]),
    "i,j->ij": ("vw", lambda x: x["v"][:, None] * x["w"]),
    "ij,j->i": ("Mv", lambda x: x["M"] @ x["v"]),
    "i,ij->j": ("vM", lambda x: x["v"] @ x["M"]),
    "ij,jk->ik": ("AB", lambda x: x["A"] @ x["B"]),
    "ij,kj->ik": ("AB", lambda x: x["A"] @ x["B"].T),
    "ij,ij->ij": ("MN", lambda x: x["M"] * x["N"]),
    "ij,ij->": ("MN", lambda x: (x["M"] * x["N"]).sum()),
    "ij,ij->i": ("MN", lambda x: (x["M"] * x["N"]).sum(axis=1)),
    "ij,jk,kl->il": ("ABA", lambda x: x["A"] @ x["B"] @ x["A"]),
    "i,ij,j->": ("vMw", lambda x: x["v"] @ (x["M"] @ x["w"])),
    "bij,bjk->bik": ("ST", lambda x: x["S"] @ x["T"]),
    "bij,bkj->bik": ("ST", lambda x: x["S"] @ x["T"].mT),
    "bij,jk->bik": ("SC", lambda x: x["S"] @ x["C"]),
    "bij->bji": ("S", lambda x: x["S"].mT),
    "bij,bij->b": ("ST", lambda x: (x["S"] * x["T"]).sum(axis=(1, 2))),
}
"""Subscripts, the arrays, and what one writes."""


def main() -> None:
    """Measure."""
    rng = pg.random.default_rng(0)
    whole = pg.Distribution("block", "*", "*")
    x = {"A": rng.random((n, n)), "B": rng.random((n, n)), "v": rng.random(N), "w": rng.random(N),
         "M": rng.random((N, N)), "N": rng.random((N, N)),
         "S": rng.random((b, m, m)).redistribute(whole), "T": rng.random((b, m, m)).redistribute(whole),
         "C": rng.random((m, m))}
    results = []
    for subscripts, (names, by_hand) in FORMS.items():
        ours, theirs = in_turns(partial(pg.einsum, subscripts, *[x[name] for name in names]), partial(by_hand, x),
                                before=pg.COMM.Barrier, repeats=7)
        seconds = min(theirs)
        results.append(Result(f"einsum({subscripts!r})", min(ours) * 1e6, "us", "by hand", seconds * 1e6,
                              ratio(ours, theirs), GOAL if seconds > 1e-3 else None))
    if pg.RANK == 0:
        report(results)


if __name__ == "__main__":
    main()
