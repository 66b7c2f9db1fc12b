"""The names of `numpy.lib` that work on global arrays."""

from __future__ import annotations

from pgaspy.lib import stride_tricks as stride_tricks

__all__ = ["stride_tricks"]
