"""Conway's game of life on a torus: from cells by chance, and how old they become."""

from _driver import Program, main

import pgaspy as np


def problem(size):
    """Cells, of which a third is alive, and an edge around them."""
    rng = np.random.default_rng(1970)
    cells = np.zeros((size + 2, size + 2), dtype=np.uint8)
    cells[1:-1, 1:-1] = rng.random((size, size)) < 1 / 3
    return (cells,)


def game_of_life(cells, steps):
    """The cells after some generations, and for how long each has been alive."""
    age = np.zeros(cells[1:-1, 1:-1].shape, int)
    for step in steps:
        cells[0], cells[-1] = cells[-2], cells[1]
        cells[:, 0], cells[:, -1] = cells[:, -2], cells[:, 1]
        inner = cells[1:-1, 1:-1]
        neighbours = (cells[:-2, :-2] + cells[:-2, 1:-1] + cells[:-2, 2:] + cells[1:-1, :-2]
                      + cells[1:-1, 2:] + cells[2:, :-2] + cells[2:, 1:-1] + cells[2:, 2:])
        alive = (neighbours == 3) | ((neighbours == 2) & (inner == 1))
        inner[...] = alive
        age = (age + 1) * alive
    return cells, age


def checks(result, size, steps):
    """What is alive has an age, and what is not has none."""
    cells, age = result
    return {"cells with an age that are dead": (float(((age > 0) != (cells[1:-1, 1:-1] == 1)).sum()), 0)}


def picture(result):
    """The older a cell, the brighter it is."""
    return np.log(1 + result[1])


PROGRAM = Program(problem, game_of_life, checks, picture, size=2000, steps=200, unit="Mcell/s", tolerance=0,
                  work=lambda size, steps: size**2 * steps / 1e6, colours="plasma")

if __name__ == "__main__":
    main(PROGRAM)
