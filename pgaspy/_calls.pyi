"""Operators and assignments, in C; see _calls.c."""

from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from pgaspy.caches import Cache
from pgaspy.forms import Form
from pgaspy.planning.view import View
from pgaspy.scheduling.base import Base
from pgaspy.scheduling.functions import AnyFunction

def begin(recording: ModuleType, state: ContextVar[Any] | None, base: type, storage: type, scalar: type,
          shared_storage: type, form_of: Callable[..., Form | None], copying: Callable[..., Form],
          result_of: Callable[[View, View | None], View | bool | None], fail: Callable[[Any, Any, bool], None],
          settle: Callable[[Base, View], None], record: Callable[..., None], borrowers: set[Any], lent: set[Any],
          elementwise: int, max_elements: int, max_bytes: int, n_tags: int, batch: int, /) -> None:
    """Say what is what in Python: what is under way, and NumPy's floating-point state; the classes of bases, of their
    storages, of numbers, and of the storages of those that borrow from others; how a function is computed, and elements
    are copied; how a result is seen (False: operands do not lie alike), what becomes of an error, and of who borrows
    what is written to; what records an operation; who borrows elements, and has views of them; the address of the
    kernels' function; the most elements, and from how many bytes on memory is used again; how many tags an operand
    takes; and how many operations are compared together.
    """

def compute(key: tuple[Any, ...], form: Form, views: tuple[View | None, ...],
            memories: tuple[Any, ...], /) -> bool | None:
    """Have each process compute its part of a statement, if all that it reads lies there; whether it did. Collective.

    Views are those of all operands, in the order of memory, the output's last, and None for a number; memories are
    their storages, and the number. It is False where it is to be recorded, as `Queue.may_compute` tells of the key;
    and None where it is not computed so, as something is cast, lies elsewhere, is written before it is read, or borrows
    its elements.
    """

def forget(rank: int, /) -> None:
    """Forget where results lie, as in another job; this process has a rank there."""

def have_arrays(array: type, number: type, element: type, reference: type, known_calls: Cache, made: Callable[..., Any],
                record_operator: Callable[..., Any], record_in_place: Callable[..., None],
                record_assigned: Callable[..., None], max_small: int, /) -> None:
    """Have the classes of global arrays, of numbers, of elements, and of references to who borrows; what is known of
    calls; what makes an array; what records what is not known; and the most elements of an array that is small.
    """

def known_result(function: AnyFunction, /, *operands: Any) -> Any:
    """The new array for a function of global arrays and Python numbers of one dtype, which is recorded; None where that
    is not known, or arrays are small, or there is anything else. What is known of it is as for `recorded`.
    """

def laid_out(views: tuple[View | None, ...], itemsizes: tuple[int, ...],
             rank: int, /) -> tuple[tuple[int, ...], int, list[int], list[int]] | None:
    """Where all lies of which `rank` computes its part of the last of some views, of one shape; None for a number.

    The part's shape, and the number of its elements; per view, an offset and strides in its part of the base, in bytes.
    None where the part is no interval of each dimension, in ascending order, or has more elements than are computed at
    once, or another view is not found to lie alike.
    """

def record_in_place(known: tuple[Any, ...], x: Any, y: Any, number: complex | None, /) -> None:
    """Record what is known of a function of a global array, and another one or a Python number, into the first: of the
    statement, and the dtype of the number.
    """

def recorded(known: tuple[Any, ...], x: Any, y: Any, number: complex | None, /) -> Any:
    """The new array for a function of a global array, and another one or a Python number, if there is one. Known of it
    are the statement, the new array's view, layout, dtype and class, and the dtype of the number.
    """

_attempts: object
"""What methods of arrays attempt in C, see `_attempts.h`."""
