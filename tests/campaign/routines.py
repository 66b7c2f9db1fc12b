"""Statements with the functions that are composed of others."""

from __future__ import annotations

from tests.campaign.rows import Row
from tests.campaign.writing import Writer

__all__ = ["ROWS"]


def _compare(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick()
    y = rng.choice((x, writer.operand(writer.value(x).shape), writer.pick()))
    given = f"{x}, {y}" if name in ("isclose", "allclose", "array_equal", "array_equiv") else x
    text = f"{rng.choice(('pg', 'np')) if name != 'isscalar' else 'pg'}.{name}({given})"
    if name in ("allclose", "array_equal", "array_equiv", "isrealobj", "iscomplexobj", "isscalar"):
        text = f"pg.array({text})"
    writer.bind(f"{text}.copy()" if name == "real_if_close" else text)


ROWS = (
    Row(_compare, ("isclose", "allclose", "array_equal", "array_equiv", "isposinf", "isneginf", "isreal", "iscomplex",
                   "isrealobj", "iscomplexobj", "isscalar", "real_if_close"), 1),
)
