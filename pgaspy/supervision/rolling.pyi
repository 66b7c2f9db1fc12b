"""The digest of a program, in C; see rolling.c."""

from collections.abc import Callable
from types import CodeType
from typing import Any

from pgaspy.layout import Layout
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Storage
from pgaspy.scheduling.nodes import Scalar
from pgaspy.scheduling.operations import Computed, Recipe

class ProgramDigest:
    """See `Digests`."""

    n_entries: int
    n_pending: int
    rolling: int

    def __init__(self, max_latest: int, /) -> None:
        """With so many of the latest operations known."""

    def take_one(self, operation: Recipe | Computed, storages: tuple[Storage, ...], values: tuple[Any, ...],
                 code: CodeType | None, instruction: int, /) -> int:
        """Take a collective operation, with all that a recorded one has; the program's digest after it.

        Its arrays get numbers, if they have none, in the order in which operations use them. So a number is the same on
        every process, where the operations are, whatever else a process made or tried. Of its values, numbers go into a
        digest of their own.
        """

    def take_fields(self, fields: tuple[Any, ...], n_fields: int, stamped: tuple[int, ...], /) -> dict[int, int]:
        """Take what is collective among operations, which have so many fields each: see `RecordedOperation`.

        Returns the program's digests after those at some places among them, in rising order.
        """

    def take_call(self, words: str, digest: int, /) -> None:
        """Take a call that is no operation."""

    def take_pending(self) -> bytes:
        """The digests that nobody has taken, of 64 bits each: that of an operation, and that of its numbers."""

    def latest(self, index: int, /) -> tuple[Any, tuple[tuple[int, ...], ...] | None, CodeType | None, int] | None:
        """What is known of an operation: its name, or function, and the shapes of its arrays, or the words of a call
        and None; the place of the program. None if it is not known any more, or not yet.
        """

def digest_of(operation: Recipe | Computed, /) -> int:
    """That of a recipe, or of what was computed without one, which keeps it."""

def digest_of_view(view: View, /) -> int:
    """That of a view, which keeps it."""

def begin(computed: type[Computed], scalar: type[Scalar], storage: type[Storage], view: type[View],
          digest_of_form: Callable[[tuple[Any, ...]], int], digest_of_layout: Callable[[Layout], int],
          digest_of_fields: Callable[[Recipe], int], /) -> None:
    """Say what computes the digests of what C knows nothing of."""
