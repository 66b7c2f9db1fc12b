"""What `layout` has in C; see _layouts.c."""

from typing import Any

def begin(held: type, /) -> None:
    """Have the class of what is held."""

def held(layout: Any, rank: int, /) -> Any:
    """What a rank holds of an array with a layout."""
