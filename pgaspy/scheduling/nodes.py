"""The nodes of a schedule: the smallest things that are done, each with the memory that it uses.

A computing node has a method `compute`. A message is started by the engine, and is complete when its request is. All
that can be prepared is prepared: a run brings only the list of its memories, which are storages, values and buffers.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat, starmap
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgaspy.job.failures import is_interrupt
from pgaspy.kernels import bindings
from pgaspy.planning.boxes import Box
from pgaspy.planning.view import View
from pgaspy.scheduling import memory
from pgaspy.scheduling.backend import SectionCopy, backend
from pgaspy.scheduling.base import Storage, lent_view
from pgaspy.scheduling.floating_point import as_asked, noting
from pgaspy.scheduling.functions import AnyFunction

__all__ = ["STAMP_BYTES", "Buffer", "Cast", "Communication", "Copy", "FunctionCall", "Location", "Memories", "Merge",
           "Merging", "Node", "NumpyCall", "Receive", "Scalar", "Send", "TaskCall", "bytes_in", "bytes_of",
           "counted_call", "n_completed", "new_buffer", "new_buffers"]

Bytes = memory.Bytes
Merging = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""Joins two flat arrays, element by element; a ufunc, where there is one that does."""

Location = tuple[int, int]
"""A memory's number, and an offset in bytes."""


class Buffer:
    """Memory of a run that belongs to no array."""

    __slots__ = ("__weakref__", "_return", "address", "bytes")

    _return: memory.Return | None

    def __init__(self, block: Bytes, start: int, nbytes: int) -> None:
        """Bytes [start, start + nbytes) of a block."""
        self.bytes = block[start:start + nbytes]
        self.address = bindings.address(block) + start  # an empty slice has that of the block


STAMP_BYTES = 8
"""Behind each buffer, for the program's digest that a message from there may bring."""


def new_buffer(nbytes: int) -> Buffer:
    """A buffer, uninitialised."""
    if nbytes < memory.REUSED_FROM_BYTES:
        return Buffer(np.empty(nbytes + STAMP_BYTES, np.uint8), 0, nbytes)
    block = backend.allocate(nbytes + STAMP_BYTES)
    buffer = Buffer(block, 0, nbytes)
    buffer._return = memory.come_back(buffer, block)
    return buffer


def new_buffers(sizes: Sequence[int | None]) -> list[Buffer | None]:
    """Buffers of some sizes in one block of memory, uninitialised; None for each without size."""
    block = np.empty(sum(_aligned(nbytes) for nbytes in sizes if nbytes is not None), np.uint8)
    found: list[Buffer | None] = []
    start = 0
    for nbytes in sizes:
        found.append(None if nbytes is None else Buffer(block, start, nbytes))
        start += 0 if nbytes is None else _aligned(nbytes)
    return found


def _aligned(nbytes: int) -> int:
    """With a stamp, up to the next cache line."""
    return -(-(nbytes + STAMP_BYTES) // 64) * 64


class Scalar:
    """A value that a statement was called with."""

    __slots__ = ("address", "array")

    def __init__(self, value: Any, dtype: np.dtype[Any]) -> None:
        char, kind = dtype.char, value.__class__
        is_safe = char in "dD" or (char in "lihb" and kind is int) or (
            char == "f" and kind in (int, float) and -1e38 < value < 1e38)  # else a cast may overflow
        self.array = np.array(value, dtype) if is_safe else as_asked(np.array, value, dtype)
        self.address = bindings.address(self.array)

    @property
    def bytes(self) -> Bytes:
        """Its bytes."""
        return self.array.reshape(1).view(np.uint8)


Memories = list[Any]
"""Of a run: `Storage`, `Scalar` or `Buffer` by number; None for a buffer before its first and after its last use."""


def bytes_in(memory: Any) -> Bytes:
    """A memory as bytes."""
    if isinstance(memory, Storage):
        local = memory.local
        return np.ndarray((local.nbytes,), np.uint8, local)
    found: Bytes = memory.bytes
    return found


def bytes_of(memories: Memories, number: int) -> Bytes:
    """The memory of this number as bytes."""
    return bytes_in(memories[number])


_completed = bytearray()
"""As long as the calls of functions that are complete are many: `extend` calls one and grows, both in one step of the
interpreter, so that an interrupt does not come in between."""

_NONE = repeat(None)  # compared with, so that no result is kept

MAX_COMPLETED = 1 << 20


def n_completed() -> int:
    """How many counted calls are complete: of kernels, which count themselves, and of other functions."""
    return bindings.n_completed() + len(_completed)


def counted_call(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function, and count it when it is complete.

    Raises
    ------
    StopIteration
        If the function raises one: what calls it takes that for its own end, and forgets where it was raised.
    """
    n_before = len(_completed)
    _completed.extend(map(is_, starmap(function, (arguments,)), _NONE))
    if len(_completed) == n_before:
        raise StopIteration


def forget_completed() -> None:
    """Count from the beginning, now and then; when nothing is being executed."""
    if len(_completed) > MAX_COMPLETED:
        _completed.clear()


class Node:
    """What is done at once.

    Attributes
    ----------
    successors
        The numbers of the nodes that wait for it.
    uses
        The memories that it uses, without those that last as long as the run; which lets go of each after its last use.
    last_uses
        Those that nothing uses after it where nodes are executed in order.
    allocates
        (number, bytes) of the buffers that it writes, which it makes if they are not there.
    reads, writes
        The memories that it reads; those that it writes, each with the box of it.
    overwrites
        The arrays of whose local part it alone writes every element.
    n_counted
        How many of its calls are counted when they are complete (see `n_completed`): of a node that must not run twice,
        as it reads what it writes, at least one.
    position, due
        Of its operation among those of its schedule; and of the first operation that may wait for it.
    name
        What people call it.
    nbytes_ahead, taken
        The bytes of a memory that it fills for, or by, a message, before they are needed.
    fills_named
        Whether that memory is an array which somebody holds besides.
    is_communication, is_receive, is_task
        Whether it is a message; one that comes; whether it may take any time, and lets messages wait meanwhile.
    has_parts
        Whether it can be computed in parts, so that messages are tested for in between.
    is_kernel
        Whether it is a kernel of elementwise operations, which may become part of a chain.
    is_urgent
        Whether a message waits for it, or is likely to: it is taken before others that are ready.
    talks
        Whether it is a conversation of several processes, which starts messages while it is computed.
    """

    successors: tuple[int, ...] = ()
    uses: tuple[int, ...] = ()
    last_uses: tuple[int, ...] = ()
    allocates: tuple[tuple[int, int], ...] = ()
    reads: tuple[int, ...] = ()
    writes: tuple[tuple[int, Box], ...] = ()
    overwrites: tuple[int, ...] = ()
    n_counted = 0
    position = due = 0
    name = ""
    nbytes_ahead = 0
    taken = -1
    fills_named = False
    is_communication = False
    is_receive = False
    is_task = False
    has_parts = False
    is_kernel = False
    is_urgent = False
    talks = False

    def compute(self, memories: Memories) -> None:
        """Compute."""
        raise NotImplementedError

    def name_in(self, memories: Memories) -> str:
        """What people call it in a run."""
        return self.name

    def following(self, earlier: Node) -> Node | None:
        """A node that does what an earlier one does, and then this one; None if it is better not to have that."""
        return None

    def parts(self, memories: Memories) -> Iterator[None]:
        """Compute one part after the other, each as soon as the next one is asked for; yields between them."""
        raise NotImplementedError


class Copy(Node):
    """A section of one memory copied to one of another: packing, unpacking, and what stays on this process."""

    def __init__(self, copy: SectionCopy, target: Location, source: Location, name: str,
                 nbytes_ahead: int = 0) -> None:
        self._call = copy.call
        self._target, self._target_offset = target
        self._source, self._source_offset = source
        self.name, self.nbytes_ahead, self.taken = name, nbytes_ahead, target[0]

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self._call(memories[self._target].address + self._target_offset,
                   memories[self._source].address + self._source_offset)


class Cast(Node):
    """The elements of one buffer, contiguous, as those of another dtype in another."""

    name = "cast"

    def __init__(self, target: Location, dtype: np.dtype[Any], source: Location, source_dtype: np.dtype[Any],
                 n: int) -> None:
        self._target, self._source, self._n = target, source, n
        self._dtypes = dtype, source_dtype
        self._kernel = backend.elementwise("copy", f"{source_dtype.char}->{dtype.char}", [n],
                                           [[source_dtype.itemsize], [dtype.itemsize]])

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        (target, at), (source, from_) = self._target, self._source
        if self._kernel is not None:
            self._kernel.call(memories[source].address + from_, memories[target].address + at)
            return
        to, elements = (np.ndarray((self._n,), dtype, bytes_of(memories, number), offset) for number, offset, dtype in (
            (target, at, self._dtypes[0]), (source, from_, self._dtypes[1])))
        noting("cast", np.copyto, to, elements, casting="unsafe")


class Merge(Node):
    """The n elements of several memories joined by a function of two, in their order."""

    name = "merge"

    def __init__(self, merge: Merging, dtype: np.dtype[Any], n: int, sources: Sequence[Location], target: int) -> None:
        self._merge, self._dtype, self._nbytes = merge, dtype, n * dtype.itemsize
        self._sources, self._target = sources, target
        self._kernel = None
        if isinstance(merge, np.ufunc) and getattr(np, merge.__name__, None) is merge:
            self._kernel = backend.elementwise(merge.__name__, f"{dtype.char * 2}->{dtype.char}", [n],
                                               [[dtype.itemsize]] * 3)

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        if self._kernel is not None:
            joined, *others = [memories[number].address + start for number, start in self._sources]
            target = memories[self._target].address
            for address in others:
                self._kernel.call(joined, address, target)
                joined = target
            return
        arrays = [bytes_of(memories, number)[start:start + self._nbytes].view(self._dtype)
                  for number, start in self._sources]
        bytes_of(memories, self._target).view(self._dtype)[...] = noting(
            "reduce", functools.reduce, self._merge, arrays)


class NumpyCall(Node):
    """A function without C kernel, called on NumPy views of a piece.

    Attributes
    ----------
    n_elements, nbytes
        Those of the piece, and the bytes of all operands.
    """

    n_counted = 1

    def __init__(self, function: AnyFunction | None, n_outputs: int, has_mask: bool, signature: tuple[Any, ...],
                 shape: tuple[int, ...], operands: Sequence[tuple[Location, np.dtype[Any], tuple[int, ...]]]) -> None:
        self._function, self._n_outputs, self._has_mask = function, n_outputs, has_mask
        self._signature, self._shape, self._operands = signature, shape, operands
        self.name = "copy" if function is None else function.__name__
        self.n_elements = math.prod(shape)
        self.nbytes = self.n_elements * sum(dtype.itemsize for _, dtype, strides in operands if any(strides))
        # of complex outputs of real loops NumPy says that their imaginary part is lost
        self._warns = any(dtype.kind == "c" for _, dtype, _ in operands[:n_outputs])

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        if self._warns:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                self._call(memories)
        else:
            self._call(memories)

    def _call(self, memories: Memories) -> None:
        views = [np.ndarray(self._shape, dtype, bytes_of(memories, number), offset, strides)
                 for (number, offset), dtype, strides in self._operands]
        outputs, inputs = views[: self._n_outputs], views[self._n_outputs:]
        noting("cast" if self._function is None else self.name, self._store, outputs, inputs)

    def _store(self, outputs: list[NDArray[Any]], inputs: list[NDArray[Any]]) -> None:
        if self._function is None:
            counted_call(functools.partial(np.copyto, casting="unsafe"), outputs[0], inputs[0])
            return
        options: dict[str, Any] = {"where": inputs.pop()} if self._has_mask else {}
        if self._function in _THROUGH_MEMORY and not outputs[0].flags.c_contiguous:
            found = self._function(*inputs, signature=self._signature)
            counted_call(functools.partial(np.copyto, casting="unsafe", **options), outputs[0], found)
            return
        counted_call(functools.partial(self._function, out=tuple(outputs), casting="unsafe",
                                       signature=self._signature, **options), *inputs)


_THROUGH_MEMORY = {np.isfinite, np.isinf, np.isnan, np.negative, np.signbit}
"""Of these NumPy 2.4 stores only a part, or what others are, where the output's elements do not lie side by side."""


class TaskCall(Node):
    """A task, called on the local views of its arrays.

    Attributes
    ----------
    value
        The number of the memory that has the function.
    arrays
        Of each array, the number of its storage, and the view.
    """

    is_task = True
    name = "task"
    n_counted = 1

    def __init__(self, value: int, arrays: Sequence[tuple[int, View]]) -> None:
        self.value, self.arrays = value, arrays
        self.is_begun = False  # the function is called, and may not be called again
        self._exit: SystemExit | None = None

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self.is_begun = False
        value = memories[self.value]
        function, arguments = value.bound([lent_view(memories[s], view) for s, view in self.arrays])
        self.is_begun = not value.may_be_repeated
        try:
            counted_call(function, *arguments)
        except SystemExit as error:
            self._exit = error
            raise
        except Exception as error:
            if is_interrupt(error):
                raise
            raise value.failed(error) from error

    def interrupted(self, memories: Memories) -> tuple[Exception, bool]:
        """What became of it, when it was interrupted after it had begun; and whether by itself, to end the program."""
        leaves, self._exit = self._exit, None
        error: Exception = memories[self.value].failed(leaves or KeyboardInterrupt("it was interrupted"))
        return error, leaves is not None

    def name_in(self, memories: Memories) -> str:
        """See `Node`."""
        return str(memories[self.value].name)


class FunctionCall(Node):
    """Anything else that a process does by itself, as a function of the memories.

    After an interrupt it may be called again, so that it reads nothing that it writes.
    """

    def __init__(self, function: Callable[[Memories], None], name: str, n_counted: int = 0) -> None:
        self._function = function
        self.name, self.n_counted = name, n_counted

    def compute(self, memories: Memories) -> None:
        """See `Node`."""
        self._function(memories)


class Communication(Node):
    """One message: bytes [start, stop) of a memory. Its tag is counted from the first of its operation.

    One that is stamped brings the program's digest behind the buffer that it ends. One that is said in a conversation
    is no node of its schedule.
    """

    is_communication = True
    is_said = False

    def __init__(self, number: int, start: int, stop: int, peer: int, tag: int, is_stamped: bool = False) -> None:
        self.memory, self.start_at = number, start
        self.peer, self.tag = peer, tag
        self.nbytes = stop - start
        self.is_stamped = is_stamped


class Send(Communication):
    """A message to a peer."""

    name = "send"


class Receive(Communication):
    """A message from a peer."""

    name = "receive"
    is_receive = True

    def __init__(self, number: int, start: int, stop: int, peer: int, tag: int, is_stamped: bool = False) -> None:
        super().__init__(number, start, stop, peer, tag, is_stamped)
        self.nbytes_ahead, self.taken = self.nbytes, number
