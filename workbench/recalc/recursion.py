"""Room on Python's stack for deep formulas."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 12_000
"""The recursion limit meanwhile: a formula of 8,192 characters can nest some thousand operators."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit for a while."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
