"""Times SUMMA on two hosts, its products alone, and the link."""

from __future__ import annotations

import json
import sys
from statistics import median

import numpy as np

import pgaspy as pg
from bench.jobs import hand_back, seconds_and_waiting
from pgaspy.algorithms._command_lines import product_residual
from pgaspy.algorithms.summa import summa
from pgaspy.blas import add_product


def main(n: int, panels: list[int], repeats: int) -> None:
    """Measure n x n products with panels of these widths, in turns with their limits."""
    layout = pg.Distribution("block", "block", grid=(pg.SIZE, 1))
    rng = pg.random.default_rng(1)
    A, B = rng.random((n, n), layout=layout), rng.random((n, n), layout=layout)
    C = pg.zeros((n, n), layout=layout)
    a, b, c = A.local().copy(), np.ones((n, n)), np.zeros(C.local().shape)

    def products(panel: int) -> None:
        for k in range(0, n, panel):
            add_product(c, a[:, k:k + panel], b[k:k + panel])

    def send_panel(panel: int) -> None:
        if pg.RANK == 0:
            pg.COMM.Send(b[:panel], 1)
        else:
            pg.COMM.Recv(b[:panel], 0)

    send_panel(panels[0])
    found: dict[int, dict[str, list[float]]] = {
        panel: {"summa": [], "waiting": [], "products": [], "link": []} for panel in panels}
    for _ in range(repeats):
        for panel, times in found.items():
            seconds, shares = seconds_and_waiting(summa, A, B, C, panel)
            times["summa"].append(seconds)
            times["waiting"] += [] if shares is None else [max(shares)]
            times["products"].append(seconds_and_waiting(products, panel)[0])
            # each panel of B crosses the link once, from the process that owns it
            times["link"].append(seconds_and_waiting(send_panel, panel)[0] * n / panel)
    error = product_residual(A * (repeats * len(panels)), B, C)
    if not error <= 4:
        raise AssertionError(f"the product is wrong: residual {error}")
    hand_back({panel: {key: median(values) if values else None for key, values in times.items()}
               for panel, times in found.items()})


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
