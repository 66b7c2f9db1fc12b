"""NumPy's names that are the same here: ufuncs, which take global arrays as they are, dtypes and constants.

Which there are depends on NumPy. The stub beside this file says to type checkers what is in all versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_OTHERS = {
    "False_", "ScalarType", "True_", "base_repr", "binary_repr", "broadcast_shapes", "datetime_data", "dtype",
    "errstate", "finfo", "format_float_positional", "format_float_scientific", "get_printoptions", "geterr",
    "iinfo", "index_exp", "isdtype", "issubdtype", "iterable", "little_endian", "min_scalar_type", "mintypecode",
    "ndindex", "newaxis", "poly1d", "printoptions", "promote_types", "s_", "sctypeDict", "set_printoptions", "seterr",
    "typecodes", "typename", "ufunc",
}
_REPLACED = {"matmul", "matvec", "vecdot", "vecmat"}
"""Ufuncs along whole dimensions that pgaspy has functions for."""


def _is_taken(name: str, value: Any) -> bool:
    return name in _OTHERS or isinstance(value, np.ufunc | float) or (
        isinstance(value, type) and issubclass(value, np.generic))


_TAKEN = {name: value for name, value in vars(np).items()
          if not name.startswith("_") and name not in _REPLACED and _is_taken(name, value)}
globals().update(_TAKEN)
__all__ = [*_TAKEN]
