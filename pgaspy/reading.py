"""An element that one process has, and all of them read: handed to them at once, where it was not often before.

It is what an assignment to an array that all have would send, and others are told of it as of that; but here no array
has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.caches import cached
from pgaspy.execution import recording
from pgaspy.execution.direct import Direct
from pgaspy.forms import copying
from pgaspy.job.procgrid import world
from pgaspy.layout import replicated
from pgaspy.planning.view import View, whole
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.collectives import handed_out
from pgaspy.scheduling.operations import Computed

__all__ = ["read"]


def read(base: Base, view: View) -> NDArray[Any] | None:
    """The element of a 0-d view; None if it is not read so. Collective."""
    root, storage, dtype = view.only_holder, base.storage, base.dtype
    if root is None or storage.lender is not storage:
        return None
    job = world()
    copy = Base(replicated((), job.size), dtype)

    def add_nodes(direct: Direct) -> None:
        handed_out(direct, 1, view, dtype, root, 0, job.rank)

    direct = recording.read_at_once(_call(view, dtype), (copy.storage, storage), add_nodes)
    return None if direct is None else np.ndarray((), dtype, direct.memories[-1].bytes)


@cached
def _call(view: View, dtype: np.dtype[Any]) -> Computed:
    """What others are told."""
    return Computed(copying(dtype, False).said, (whole(replicated((), view.layout.n_procs)), view))
