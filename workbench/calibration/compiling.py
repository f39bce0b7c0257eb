"""Compiling with a cache on disk that never serves code of another version.

Numba's own cache looks only at the file of the function itself, by its time and size. Kernels here call one
another across files and share constants, so the cache's folder is named by the contents of all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import cfunc, njit

Function = Callable[..., Any]


@cache
def _folder() -> str:
    from workbench.profiling.samples import cache_folder

    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return str(cache_folder() / "numba" / digest.hexdigest()[:16])


@contextmanager
def _own_cache() -> Iterator[None]:
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = _folder()
    try:
        yield
    finally:
        config.CACHE_DIR = before


def compiled(signature: Any, *, parallel: bool = False) -> Callable[[Function], Any]:
    """Compile at once for one signature; runs without the interpreter's lock, divides as NumPy does."""

    def decorate(function: Function) -> Any:
        with _own_cache():
            return njit(signature, nogil=True, cache=True, error_model="numpy", parallel=parallel)(function)

    return decorate


def callback(signature: Any) -> Callable[[Function], Any]:
    """Compile at once into a C function, whose place is its `address`."""

    def decorate(function: Function) -> Any:
        with _own_cache():
            return cfunc(signature, cache=True)(function)

    return decorate
