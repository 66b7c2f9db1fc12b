"""The rank of pages by the links between them: power iteration, with sums over the edges of a sparse graph.

S. Brin and L. Page, *The Anatomy of a Large-Scale Hypertextual Web Search Engine*, 1998.
"""

from _driver import Program, main

import pgaspy as np

DAMPING, N_LINKS = 0.85, 8


def problem(size):
    """Links from one page to another: of pages of a group mostly within it, and more to the first ones."""
    rng = np.random.default_rng(1998)
    source, group = np.repeat(np.arange(size), N_LINKS), max(size // 12, 1)
    target = (rng.random(size * N_LINKS)**3 * group).astype(int)
    inside = rng.random(size * N_LINKS) < 0.8
    target = np.where(inside, source // group * group + target, (rng.random(size * N_LINKS)**2 * size).astype(int))
    return source, np.minimum(target, size - 1), size


def page_rank(source, target, n, steps):
    """The rank of each page, by how much the last steps changed them, and the links."""
    n_links, rank, changes = np.bincount(source, minlength=n), np.full(n, 1 / n), []
    for step in steps:
        given = np.bincount(target, weights=(rank / n_links)[source], minlength=n)
        new = DAMPING * given + (1 - DAMPING) / n
        changes.append(abs(new - rank).sum())
        rank = new
        if changes[-1] < 1e-12:
            break
    return rank, np.array(changes), source, target


def checks(result, size, steps):
    """All ranks together are 1, and each step is a contraction."""
    rank, changes, *_ = result
    return {"sum of the ranks, off 1": (abs(float(rank.sum()) - 1), 1e-12),
            "last change": (float(changes[-1]), 2 * DAMPING**(steps - 1))}


def picture(result):
    """How much rank goes from which pages, by rows, to which, by columns."""
    rank, _, source, target = result
    n = len(rank)
    given, _, _ = np.histogram2d(source, target, bins=160, range=((0, n), (0, n)), weights=rank[source])
    return np.log(1e-3 / n + given)


PROGRAM = Program(problem, page_rank, checks, picture, size=1_000_000, steps=40, unit="Mlink/s", tolerance=1e-10,
                  work=lambda size, steps: size * N_LINKS * steps / 1e6, colours="viridis")

if __name__ == "__main__":
    main(PROGRAM)
