"""State has an owner: what modules keep and change is the job's, or the process's, or a cache."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import threading
import types
import typing
import weakref
from collections.abc import Iterator
from itertools import repeat
from operator import attrgetter
from pathlib import PurePath
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import pgaspy as pg
from pgaspy._caches import Cached
from pgaspy.alone import quick
from pgaspy.caches import Cache, cached
from pgaspy.execution import recording
from pgaspy.job import defaults, procgrid
from pgaspy.job.procgrid import begin_anew
from pgaspy.job.statistics import Statistics, counts
from pgaspy.kernels import jit
from pgaspy.kernels.bindings import ffi
from pgaspy.scheduling.functions import Function
from tests.test_architecture import FOLDERS, OF_ALL

OF_THE_JOB = {
    "alone.small.is_on", "execution.recording._instead", "execution.recording._noted", "execution.recording.queue",
    "job.defaults._of_job", "job.procgrid._world", "job.statistics.counts", "kernels.jit.counts",
    "kernels.jit.may_notify", "supervision.recorder._of_job"}
"""What the beginning of a job makes anew."""

OF_THE_PROCESS = {
    "caches.kept_types": "caches of pure functions stay",
    "caches.kept": "caches of pure functions stay",
    "execution.progress._helper": "the thread that makes progress",
    "execution.progress._is_over": "the thread that makes progress",
    "execution.schedules._phases": "what the interpreter's collector of garbage is doing",
    "fortran._one_at_a_time": "the thread that imports BLAS and LAPACK",
    "job.abandoned._kept": "messages of a job that has ended may still arrive there",
    "job.endings._comm_of_errors": "how the process ends",
    "job.endings._failure": "how the process ends",
    "job.entering._process": "how the process ends",
    "kernels.jit._compiler": "compiled kernels stay: their machine code is referred to",
    "scheduling.backend.backend": "the C kernels, which keep nothing",
    "scheduling.base.borrowers": "elements of arrays, and sections, that the program holds",
    "scheduling.base.lent": "NumPy views that the program holds",
    "scheduling.floating_point._default_state": "NumPy's own, which stays what it is",
    "scheduling.floating_point._noted": "the errors of one operation, while it is executed",
    "scheduling.floating_point.silent": "a context that nothing is set in but NumPy's state",
    "scheduling.floating_point.silent_state": "NumPy's own, which stays what it is",
    "scheduling.floating_point.variable": "NumPy's own, which stays what it is",
    "scheduling.memory._free": "memory is used again",
    "scheduling.memory._kept_bytes": "memory is used again",
    "scheduling.memory._returned": "memory is used again",
    "scheduling.nodes._completed": "calls that are complete are counted with those of C, which never begin anew"}

REGISTRIES = {"alone.small.kinds", "caches.own_sizes", "dispatch.HANDLED", "execution.tiers.when_disturbed",
              "host.external_settings.SETTINGS", "job.endings.before_abort",
              "job.procgrid.when_ended", "job.procgrid.when_started", "job.statistics.when_asked",
              "statements.refusals"}
"""What modules fill while they are imported, and nothing changes after that."""

CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "move_to_end", "pop", "popitem", "popleft",
            "remove", "reverse", "setdefault", "sort", "update"}
"""The methods that change lists, dictionaries and sets."""

UNCHANGING = (
    type(None), type(np._NoValue), bool, int, float, complex, str, bytes, type, range, slice, frozenset, PurePath,
    re.Pattern, np.dtype, np.ufunc,
    functools.partial, attrgetter, repeat, staticmethod, classmethod, weakref.ref, Cache, type(ffi.NULL),
    types.FunctionType, quick.Method, types.BuiltinFunctionType, type(MPI.buffer.fromaddress), types.MappingProxyType,
    types.GenericAlias, types.UnionType, type(typing.Optional[int]), type(typing.Literal[1]),  # noqa: UP045
    typing.ParamSpec, typing.TypeVar)
CONTAINERS = (dict, set, list, tuple, Function)


def is_unchanging(x: Any) -> bool:
    """Whether an object stays as it is, as far as its type tells; or is a cache, in the bound that all share."""
    if isinstance(x, tuple):
        return all(map(is_unchanging, x))
    if isinstance(x, np.ndarray):
        return not x.size
    if isinstance(x, functools._lru_cache_wrapper):
        return False
    if isinstance(x, Cached):
        return True
    is_frozen = getattr(getattr(type(x), "__dataclass_params__", None), "frozen", False)
    return is_frozen or isinstance(x, UNCHANGING) or inspect.isdatadescriptor(x)


class Module:
    """A module's text, and what it does to what modules keep.

    Attributes
    ----------
    changed
        What it changes, as `module.name`.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name, self.tree = name, ast.parse(text)
        self._modules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pgaspy"):
                for alias in node.names:
                    origin = f"{node.module}.{alias.name}".removeprefix("pgaspy.")
                    (self._modules if origin in NAMES else self._names)[alias.asname or alias.name] = origin
        self.changed = {*self._changed()}

    def _changed(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Global):
                yield from (f"{self.name}.{name}" for name in node.names)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                yield from self._origin(node.func.value)
            elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                yield from self._origin(node.value if isinstance(node, ast.Subscript) else node)

    def _origin(self, node: ast.expr) -> Iterator[str]:
        """The name that an expression is, in this module or in another one."""
        if isinstance(node, ast.Name):
            yield self._names.get(node.id, f"{self.name}.{node.id}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._modules:
            yield f"{self._modules[node.value.id]}.{node.attr}"


def texts() -> dict[str, str]:
    """The modules of pgaspy, with their texts."""
    return {".".join([*package.split("."), *path.relative_to(folder).with_suffix("").parts][1:]): path.read_text()
            for package, folder in FOLDERS.items() for path in folder.rglob("*.py") if path.stem not in OF_ALL}


NAMES = frozenset(texts())


def kept(name: str, tree: ast.AST, owner: Any) -> Iterator[tuple[str, Any]]:
    """What a module or a class keeps, and the classes in it, by the text that assigns it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from kept(f"{name}.{node.name}", node, vars(owner)[node.name])
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((f"{name}.{target.id}", vars(owner)[target.id]) for target in targets
                        if isinstance(target, ast.Name) and target.id in vars(owner) and target.id[:2] != "__")
        elif not isinstance(node, ast.FunctionDef):
            yield from kept(name, node, owner)


def state() -> set[str]:
    """What modules keep and change; and what may change, by its type, and has not the name of a constant."""
    modules = [Module(name, text) for name, text in texts().items()]
    found = dict(pair for module in modules
                 for pair in kept(module.name, module.tree, importlib.import_module(f"pgaspy.{module.name}")))
    changed = set().union(*(module.changed for module in modules))
    return {name for name, value in found.items() if name in changed or not (
        is_unchanging(value) or (isinstance(value, CONTAINERS) and name.rpartition(".")[2].isupper()))}


def test_what_modules_keep_is_known() -> None:
    """What is new here is to be made when a job begins, or is the process's for a reason that is said."""
    assert state() == OF_THE_JOB | {*OF_THE_PROCESS} | REGISTRIES


@pytest.mark.parametrize(("text", "changed"), [
    ("found = {}\ndef f(): found['x'] = 1", {"m.found"}),
    ("found = []\ndef f(): found.append(1)", {"m.found"}),
    ("found = None\ndef f():\n  global found\n  found = 1", {"m.found"}),
    ("from pgaspy.kernels import jit\ndef f(): jit.may_notify = False", {"kernels.jit.may_notify"}),
    ("from pgaspy.kernels.jit import counts as c\ndef f(): c.update(x=1)", {"kernels.jit.counts"}),
    ("from pgaspy.job import abandoned\ndef f(): abandoned._kept.extend([1])", {"job.abandoned._kept"}),
    ("found = {}\ndef f(): return found['x']", set())])
def test_changes_are_found(text: str, changed: set[str]) -> None:
    assert Module("m", text).changed == changed


@pytest.mark.parametrize("value", [{}, [], set(), bytearray(), ([],), threading.Lock(), object(), np.zeros(1),
                                   functools.cache(len)])
def test_what_may_change_is_found(value: Any) -> None:
    assert not is_unchanging(value)


@pytest.mark.parametrize("value", [1, "x", (1, "x"), frozenset(), np.float64, cached(len), Cache(), len])
def test_what_stays_is_found(value: Any) -> None:
    assert is_unchanging(value)


def test_the_state_of_a_job_is_made_anew() -> None:
    owners = [(recording, "queue"), (defaults, "_of_job"), (procgrid, "_world")]
    before = [getattr(module, name) for module, name in owners]
    counts.n_flushes, jit.counts.n_compiled = 7, 7
    begin_anew()
    assert pg.stats() == Statistics()
    assert all(getattr(module, name) is not old for (module, name), old in zip(owners, before, strict=True))
