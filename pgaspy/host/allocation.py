"""What the C library keeps of the memory that a program frees, where the environment says nothing else.

By default, glibc maps blocks of more than 128 KiB, and unmaps them when they are freed, until it has seen that one was;
and it gives the end of its heap back from twice that on. So the pages of a temporary of some hundred KiB take longer
than to compute it.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["keep_what_is_freed"]

MAPPED_FROM, KEPT = 32 << 20, 64 << 20
"""Bytes of a block that is mapped, the most that glibc comes to by itself; and that are kept at the end of the heap."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

VARIABLES = "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_"


def keep_what_is_freed() -> None:
    """Have it kept for what is allocated next."""
    if any(name in os.environ for name in VARIABLES) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # which others than glibc may not have
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MAPPED_FROM)
        mallopt(M_TRIM_THRESHOLD, KEPT)
