"""What `layout` has in C; see _layouts.c."""

from pgaspy.layout import Held, Layout

def begin(held: type, /) -> None:
    """Have the class of what is held."""

def held(layout: Layout, rank: int, /) -> Held:
    """What a rank holds of an array with a layout."""
