"""Figures, and who has them, in the words of a report."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

__all__ = ["counted", "list_from_numbers", "listed", "of_bytes", "rounded"]


def counted(n: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "core"), counted(2, "core"), counted(2, "process", "processes")
    ('1 core', '2 cores', '2 processes')
    """
    return f"{n} {one if n == 1 else many or f'{one}s'}"


def list_from_numbers(numbers: Iterable[int]) -> str:
    """Ascending numbers as Linux writes them.

    >>> list_from_numbers([0, 1, 2, 8])
    '0-2,8'
    """
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ",".join(f"{run[0]}-{run[-1]}" if run[1:] else f"{run[0]}" for run in runs)


def listed(one: str, numbers: Iterable[int]) -> str:
    """Things that have ascending numbers.

    >>> listed("rank", [3]), listed("rank", [0, 1, 2, 8])
    ('rank 3', 'ranks 0-2,8')
    """
    numbers = list(numbers)
    return f"{one}{'s' if numbers[1:] else ''} {list_from_numbers(numbers)}"


def of_bytes(n: int) -> str:
    """A number of bytes, rounded.

    >>> of_bytes(80), of_bytes(2048), of_bytes(5_000_000)
    ('80 B', '2 KiB', '4.8 MiB')
    """
    size, power = float(n), 0
    while size >= 1024 and power < 4:
        size, power = size / 1024, power + 1
    return f"{size:.{int(size < 10 and size != int(size))}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def rounded(figure: float) -> str:
    """A figure with the digits that a measurement has.

    >>> rounded(97.44), rounded(2.346), rounded(0.0345)
    ('97', '2.3', '0.035')
    """
    return f"{figure:.0f}" if figure >= 10 else f"{figure:.2g}"
