"""What conversations have worked out, found again while it fits, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Remembered"]

MAX_BYTES = 256 << 20
"""What the entries of a process take together; a larger one is not kept."""

MAX_ENTRIES = 16
"""So few that those of one key are soon compared."""


class Remembered:
    """Entries of a process, the last used one last. What was not used for longest is forgotten first."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, Any, int]] = []

    def find(self, key: Any, fits: Callable[[Any], bool]) -> Any:
        """The value of a key that fits, the last used one; None if there is none."""
        for n in range(len(self._entries) - 1, -1, -1):
            if self._entries[n][0] == key and fits(self._entries[n][1]):
                self._entries.append(self._entries.pop(n))
                return self._entries[-1][1]
        return None

    def keep(self, key: Any, value: Any, nbytes: int) -> None:
        """Keep a value that takes so many bytes."""
        self._entries.append((key, value, nbytes))
        while len(self._entries) > MAX_ENTRIES or sum(entry[2] for entry in self._entries) > MAX_BYTES:
            del self._entries[0]

    def forget(self, value: Any) -> None:
        """Keep a value no longer."""
        self._entries = [entry for entry in self._entries if entry[1] is not value]
