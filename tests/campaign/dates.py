"""Statements on dates and times: datetime64 and timedelta64, of several units, NaT among them."""

from __future__ import annotations

from tests.campaign.rows import Row
from tests.campaign.writing import DATES, Refused, Writer, key_text
from tests.randomly import random_key

__all__ = ["ROWS"]

SCALARS = ("np.datetime64('1970-01-05')", "np.datetime64('1970-01-01T07:00:00')", "np.timedelta64(5, 'h')",
           "np.timedelta64(-2, 'D')", "np.timedelta64('NaT')", "2", "0.5")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def _create(writer: Writer, name: str) -> None:
    writer.pick(kinds="M" if writer.rng.random() < 0.5 else "m")


def _operand(writer: Writer, shape: tuple[int, ...]) -> str:
    kind = writer.rng.random()
    if kind < 0.3:
        return writer.rng.choice(SCALARS)
    found = writer.fitting(shape, "mM") if kind < 0.7 else None
    return found or writer.values(shape[writer.rng.randint(0, len(shape)):], writer.dtype("mM"))


def _arithmetic(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds="mM")
    if name == "isnat":
        writer.bind(f"{rng.choice(('pg', 'np'))}.isnat({x})")
        return
    y = _operand(writer, writer.value(x).shape)
    operator = rng.choice(("-", "-", "+", "+", "*", "/", "//", "%", *COMPARISONS))
    if operator in ("==", "!=") and writer.value(x).dtype.kind != writer.value(y).dtype.kind:
        raise Refused  # NumPy gives what it would raise for, if it were a function
    writer.bind(rng.choice((
        f"{x} {operator} {y}", f"{x} {operator} {y}", f"{x} {operator} {y}", f"pg.maximum({x}, {y})",
        f"pg.fmin({x}, {y})", f"-{x}", f"abs({x})", f"pg.sign({x})", f"pg.where(pg.isnat({x}), {y}, {x})")))


def _in_place(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds="mM")
    if not writer.value(x).flags.writeable:
        raise Refused
    if rng.random() < 0.5:
        writer.say(f"{x}[...] {rng.choice('+-*')}= {_operand(writer, writer.value(x).shape)}")
        return
    section = f"{x}[{key_text(random_key(rng, writer.value(x).shape))}]"
    writer.say(f"{section} = {_operand(writer, writer.value(section).shape)}")


def _reduce(writer: Writer, name: str) -> None:
    rng = writer.rng
    x = writer.pick(kinds="mM")
    axis = f"{rng.randrange(writer.value(x).ndim)}" if writer.value(x).ndim and rng.random() < 0.6 else ""
    plain = rng.choice(("sum", "mean", "min", "max", "argmin", "argmax", "any", "all"))
    if plain == "mean" and 0 in writer.value(x).shape:
        raise Refused  # NumPy warns of the mean of nothing
    writer.bind(f"{x}.{plain}({axis})")


def _convert(writer: Writer, name: str) -> None:
    writer.bind(f"{writer.pick(kinds='mM')}.astype({writer.rng.choice((*DATES, 'l'))!r})")


ROWS = (
    Row(_create, ("[dates]",), 0.7),
    Row(_arithmetic, ("[arithmetic of dates]", "[arithmetic of dates]", "[arithmetic of dates]", "isnat"), 1.5),
    Row(_in_place, ("[changed dates]",), 0.8),
    Row(_reduce, ("[reduced dates]",), 0.8),
    Row(_convert, ("[converted dates]",), 0.3),
)
