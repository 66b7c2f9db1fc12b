"""Statements that hold, show or wait for arrays: containers, leases, scalars, what one process does alone, errors."""

from __future__ import annotations

import numpy as np

from tests.campaign.rows import Row
from tests.campaign.writing import ANY, Refused, Writer, key_text
from tests.randomly import random_key

__all__ = ["ROWS"]

MAX_LEASES = 3


def _hold(writer: Writer, name: str) -> None:
    """An array is kept by something else than a name."""
    plain = [x for x in writer.holders if x.isidentifier()]
    if name == "[cycle]":
        x = writer.pick(exact=False)
        writer.say(writer.rng.choice((f"lose({x})", f"lose({x} + {x})", "lose(pg.ones(5))")))
        if writer.rng.random() < 0.3:
            writer.say("gc.collect()")
        return
    if not plain:
        raise Refused
    x = writer.rng.choice(plain)
    box = writer.name("box")
    make, take = {
        "[list]": (f"[0, {x}]", f"{box}[1]"), "[dict]": (f"{{'key': {x}}}", f"{box}['key']"),
        "[attribute]": (f"Box({x})", f"{box}.value"), "[closure]": (f"closure({x})", f"{box}()"),
        "[generator]": (f"generator({x})", f"next({box})"),
    }[name]
    writer.say(f"{box} = {make}")
    if name == "[generator]":
        writer.say(f"next({box})")  # which then holds it
    writer.say(f"del {x}")
    writer.holders[writer.holders.index(x)] = take


def _lease(writer: Writer, name: str) -> None:
    """A view of the local part lives on, and is looked at now and then."""
    rng = writer.rng
    if writer.leases and (name == "[look]" or len(writer.leases) >= MAX_LEASES):
        x = rng.choice(writer.leases)
        writer.say(f"look({x}, {writer.lease_tolerance(x)})")
        if rng.random() < 0.4:
            writer.leases.remove(x)
            writer.say(f"del {x}")
        return
    x = writer.pick(kinds=ANY, exact=False)
    value = writer.value(x)
    if not value.ndim or value.dtype.kind == "c" or value.dtype == np.float16:
        raise Refused
    key = tuple(slice(None, None, rng.choice((1, 1, 2, -1))) for _ in value.shape)
    found = writer.name("w")
    is_memory = value.dtype.kind not in "mM" and rng.random() < 0.3
    writer.say(f"{found} = lease({x}, ({key_of_slices(key)}), {is_memory})")
    writer.take_lease(found, x)
    if rng.random() < 0.3 and x in writer.holders:
        writer.drop(x)


def key_of_slices(key: tuple[slice, ...]) -> str:
    return "".join(f"slice(None, None, {k.step}), " for k in key)


def _local(writer: Writer, name: str) -> None:
    """Written to through local views: hoisted ones, and blocks."""
    x = writer.pick_owned()
    if name == "array.blocks":
        writer.say(f"each_block({x}, negate)")
        return
    found = writer.name("h")
    writer.say(f"{found} = local({x})")
    writer.say(f"negate({found})")
    key = key_text(random_key(writer.rng, writer.value(x).shape))
    if writer.value(x).dtype.kind != "b":
        writer.say(f"{x}[{key}] += 1")
        writer.say(f"negate({found})")
    writer.say(f"del {found}")


def _alone(writer: Writer, name: str) -> None:
    """What one process does by itself."""
    rng = writer.rng
    x = writer.pick(kinds=ANY, exact=False)
    look = f"look({x}, {writer.tolerance(x)})"
    what = {"sync": "pg.sync()", "array.local": look, "array.global_indices": look,
            "RANK": f"time.sleep({rng.choice((0.0005, 0.002, 0.01))})", "stats": "pg.stats()",
            "explain": f"pg.explain(lambda: {x} + 1)"}[name]
    who = f"if pg.RANK == {rng.randrange(writer.n_procs)}: " if name == "RANK" or rng.random() < 0.7 else ""
    writer.say(f"{who}{what}")


def _see(writer: Writer, name: str) -> None:
    """Values that the program reads."""
    rng = writer.rng
    plain = name.removeprefix("array.")
    kinds = {"__int__": "iub", "__index__": "iu", "__complex__": "fciub", "__round__": "f"}.get(plain, "fiub")
    x = writer.pick(kinds=kinds)
    value = writer.value(x)
    if not value.size or not np.isfinite(value).all():
        raise Refused
    index = ", ".join(str(rng.randrange(n)) for n in value.shape)
    element = f"{x}[{index}]" if index else x
    largest = rng.choice((f"{x}.max()", f"{x}.min()", element))
    texts = {
        "__float__": f"float({largest})", "__int__": f"int({largest})", "__bool__": f"bool({largest})",
        "__complex__": f"complex({element})", "__index__": f"list(range({element}))[:5]",
        "__round__": f"round({largest})", "__str__": f"str({x}.max())", "__format__": f"format({x}.min(), '.3')"
        if value.dtype.kind == "f" else f"format({x}.min())", "item": f"{x}.item({index})",
        "__len__": f"len({x})" if value.ndim else f"{x}.item()",
        "__iter__": f"[float(y.max()) for y in {x}]" if value.ndim and rng.random() < 0.9 else f"float({largest})",
    }
    if plain == "__index__" and not -100 < int(value.max()) < 100:
        raise Refused
    if value.dtype.kind == "b" and plain == "__format__":
        raise Refused
    if plain in ("__format__", "__str__") and value.dtype.kind == "f" and 0 in (value.min(), value.max()):
        raise Refused  # of which sign it is, is up to kernels
    writer.say(f"see({texts[plain]})")


def _metadata(writer: Writer, name: str) -> None:
    x = writer.pick(kinds=ANY, exact=False)
    plain = name.removeprefix("array.")
    writer.say(f"see({x}.{plain})" if name.startswith("array") else f"see(pg.{plain}({x}))")


def _gather(writer: Writer, name: str) -> None:
    x = writer.pick(kinds=ANY)
    if name == "print_once":
        if writer.value(x).dtype.kind == "c" or writer.value(x).size > 500:
            raise Refused
        writer.say(f"printed('it is', {x})")
    elif writer.rng.random() < 0.5:
        writer.say(f"collected({x}, {writer.rng.randrange(writer.n_procs)})")
    else:
        writer.say(f"check({x})")


def _wrong(writer: Writer, name: str) -> None:
    """What raises on both sides, and leaves everything as it was."""
    x = writer.pick(exact=False)
    value = writer.value(x)
    far = ", ".join("99" for _ in range(max(value.ndim, 1)))
    writer.say(writer.rng.choice((
        f"{x}[{far}]", f"{x}[{far}] = 1", f"{x} + pg.ones((11, 13, 17, 2))", f"{x}.sum(axis=9)", "pg.zeros(-1)",
        f"pg.reshape({x}, (7, 11, 13, 17))", "pg.concatenate([])", f"bool(pg.ones({value.shape} + (2,)))",
        f"float(pg.ones(({value.size + 2},)))", f"{x}[...] = values(1, (11, 13, 17, 2), 'd')",
        "pg.ones((2, 3)) @ pg.ones((4, 5))", f"pg.broadcast_to({x}, (3, 11, 13, 17))", f"{x}.transpose(0, 0)",
        "pg.ones(0).max()", "pg.ones(3).astype('nonsense')", f"{x}.fill('text')", "pg.sin('text')",
        f"pg.swapaxes({x}, 0, 9)", f"pg.stack([{x}, pg.ones((11, 13, 17))])",
        "pg.add(pg.ones(3), 1, out=pg.ones((9, 9)))",
        f"pg.invert({x} * 0.5)", "pg.repeat(pg.ones(3), -1)")))


ROWS = (
    Row(_hold, ("[list]", "[dict]", "[attribute]", "[closure]", "[generator]", "[cycle]"), 3),
    Row(_lease, ("[lease]", "[look]"), 3),
    Row(_local, ("array.local", "array.blocks"), 1.5),
    Row(_alone, ("sync", "array.local", "array.global_indices", "RANK", "stats", "explain"), 4),
    Row(_see, tuple(f"array.{x}" for x in ("__float__", "__int__", "__bool__", "__complex__", "__index__",
                                           "__round__", "__str__", "__format__", "item", "__len__", "__iter__")), 3),
    Row(_metadata, ("shape", "ndim", "size", "array.shape", "array.ndim", "array.size", "array.dtype",
                    "array.itemsize", "array.nbytes"), 0.4),
    Row(_gather, ("array.gather", "print_once"), 1.5),
    Row(_wrong, ("[wrong]",), 1.5),
)
