"""pgaspy: global arrays for Python programs that run on many processes.

One program text runs in every process. Global NumPy expressions and assignments act on whole distributed arrays;
`A.local()` and `A.blocks()` give the part that a process owns. See the README, and `docs/design.md`.
"""

from __future__ import annotations

import sys as _sys
import types as _types
from typing import TYPE_CHECKING, Any

# These come before what imports NumPy and MPI.
from pgaspy.host import external_settings as _external_settings
from pgaspy.host import launchers as _launchers

# isort: split
from pgaspy.job import entering as _entering  # where MPI starts

# isort: split
import numpy as _np

# `x as x` makes a name public to type checkers
from pgaspy.array import GlobalArray as GlobalArray
from pgaspy.array import GlobalArray as ndarray  # noqa: N813  (NumPy's name, for `isinstance`)
from pgaspy.concatenation import concat as concat
from pgaspy.concatenation import concatenate as concatenate
from pgaspy.concatenation import stack as stack
from pgaspy.creation import *
from pgaspy.cumulative import *
from pgaspy.differences import *
from pgaspy.distribution import Distribution as Distribution
from pgaspy.element_views import *
from pgaspy.execution.recording import sync as sync
from pgaspy.files import load as load
from pgaspy.files import save as save
from pgaspy.flat import *
from pgaspy.histograms import *
from pgaspy.inserting import *
from pgaspy.job.defaults import blocksize as _blocksize
from pgaspy.job.defaults import datalayout as datalayout
from pgaspy.job.failures import BusyError as BusyError
from pgaspy.job.failures import DivergenceError as DivergenceError
from pgaspy.job.failures import JobError as JobError
from pgaspy.job.failures import TaskError as TaskError
from pgaspy.job.procgrid import init as init
from pgaspy.job.procgrid import world as _world
from pgaspy.job.statistics import Statistics as Statistics
from pgaspy.job.statistics import stats as stats
from pgaspy.kernels.bindings import get_threads as _get_threads
from pgaspy.layout import Layout as Layout
from pgaspy.manipulation import *
from pgaspy.missing import missing as _missing
from pgaspy.movement import align as align
from pgaspy.movement import combine as combine
from pgaspy.movement import replicate as replicate
from pgaspy.multiplying import *
from pgaspy.numpy_names import *
from pgaspy.order import *
from pgaspy.pivoting import exchange_rows as exchange_rows
from pgaspy.quantiles import *
from pgaspy.searching import *
from pgaspy.selecting import *
from pgaspy.sets import *
from pgaspy.showing import notebooks as _notebooks
from pgaspy.showing.explaining import Explanation as Explanation
from pgaspy.showing.explaining import explain as explain
from pgaspy.showing.pictures import draw as draw
from pgaspy.showing.printing import print_once as print_once
from pgaspy.tasks import read as read
from pgaspy.tasks import schedule as schedule
from pgaspy.tasks import update as update
from pgaspy.tasks import write as write

if TYPE_CHECKING:
    from mpi4py import MPI

    RANK: int
    SIZE: int
    THREADS: int
    COMM: MPI.Intracomm
    BLOCKSIZE: int | None

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

# These use the names above, and come after them.
from pgaspy import fft as fft
from pgaspy import lib as lib
from pgaspy import linalg as linalg
from pgaspy import matrix_product as _matrix_product  # what arrays do for @
from pgaspy import random as random
from pgaspy import value_errors as _value_errors  # has ufuncs raise what it finds
from pgaspy.linalg.diagonals import diagonal as diagonal
from pgaspy.linalg.diagonals import trace as trace
from pgaspy.linalg.diagonals import tril as tril
from pgaspy.linalg.diagonals import triu as triu
from pgaspy.linalg.products import tensordot as tensordot
from pgaspy.linalg.products import vecdot as vecdot
from pgaspy.routines.applying import *
from pgaspy.routines.averages import *
from pgaspy.routines.bits import *
from pgaspy.routines.comparing import *
from pgaspy.routines.conversions import *
from pgaspy.routines.convolutions import *
from pgaspy.routines.distinct import *
from pgaspy.routines.einsum import *
from pgaspy.routines.elementwise import *
from pgaspy.routines.gathered import *
from pgaspy.routines.gathered import missing_function as _missing_function
from pgaspy.routines.grids import *
from pgaspy.routines.inspecting import *
from pgaspy.routines.inspecting import NamespaceInfo as __array_namespace_info__  # noqa: N813  (the standard's name)
from pgaspy.routines.interpolation import *
from pgaspy.routines.joining import *
from pgaspy.routines.nan_reductions import *
from pgaspy.routines.padding import *
from pgaspy.routines.phases import *
from pgaspy.routines.polynomials import *
from pgaspy.routines.positions import *
from pgaspy.routines.products import *
from pgaspy.routines.rearranging import *
from pgaspy.routines.stacking import *
from pgaspy.routines.windows import *

if not TYPE_CHECKING:  # to which every name would be right, then

    def __getattr__(name: str) -> Any:
        """The names that depend on the job, which starts when the first of them is read."""
        if name == "RANK":
            return _world().rank
        if name == "SIZE":
            return _world().size
        if name == "THREADS":
            _world()  # which shares out the cores
            return _get_threads()
        if name == "COMM":
            sync()
            job = _world()
            return job.communicator if job.user_comm is None else job.user_comm
        if name == "BLOCKSIZE":
            return _blocksize()
        function = _missing_function(_np, name)
        if function is None:
            raise _missing("module 'pgaspy'", name, _sys.modules[__name__], _np)
        return function


_PUBLIC_MODULES = {"blas", "fft", "lapack", "lib", "linalg", "random"}
_OF_TYPING = {"Any", "TYPE_CHECKING", "annotations"}


def __dir__() -> list[str]:
    """The public names."""
    names = {name for name, value in globals().items() if not name.startswith("_") and name not in _OF_TYPING and (
        name in _PUBLIC_MODULES or not isinstance(value, _types.ModuleType))}
    return sorted(names | _PUBLIC_MODULES | {"BLOCKSIZE", "COMM", "RANK", "SIZE", "THREADS"})
