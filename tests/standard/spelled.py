"""A library whose functions are called as the standard lets them be called: by position, or by name."""

from __future__ import annotations

import inspect
from typing import Any

from tests.standard.functions import FUNCTIONS

__all__ = ["Spelled"]


class Spelled:
    """The names of a library; a call of a function of the standard is spelled another way than it is written.

    By name, what can be named is, with the standard's defaults where nothing is given; by position, what can be
    without a name is.
    """

    def __init__(self, library: Any, by_name: bool, prefix: str = "") -> None:
        self._library, self._by_name, self._prefix = library, by_name, prefix

    def __getattr__(self, name: str) -> Any:
        found, full = getattr(self._library, name), self._prefix + name
        if full in ("linalg", "fft"):
            return Spelled(found, self._by_name, f"{full}.")
        if full not in FUNCTIONS:
            return found
        signature = inspect.signature(FUNCTIONS[full])
        return lambda *args, **kwargs: self._call(found, signature.bind(*args, **kwargs))

    def _call(self, function: Any, bound: inspect.BoundArguments) -> Any:
        if not self._by_name:
            return function(*bound.args, **bound.kwargs)
        bound.apply_defaults()
        args, kwargs = [], {}
        for name, x in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(x)
            elif kind is inspect.Parameter.POSITIONAL_ONLY:
                args.append(x)
            elif not type(x).__module__.startswith("array_api_strict"):  # its word for no argument
                kwargs[name] = "cpu" if name == "device" else x
        return function(*args, **kwargs)
