"""ONNX Runtime through its C API, which alone lets a kernel of ours run inside a session.

Only documented functions are used, by their place in the `OrtApi` table, which the project keeps stable:
new functions are appended. API version 17 (ONNX Runtime 1.17) is the first with `KernelContext_ParallelFor`.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError, WorkbenchError

API_VERSION = 17
_POINTER = ctypes.c_void_p


class Api(IntEnum):
    """Functions used here → their place in the `OrtApi` table."""

    CREATE_STATUS = 0
    GET_ERROR_MESSAGE = 2
    CREATE_ENV = 3
    CREATE_SESSION_FROM_ARRAY = 8
    RUN = 9
    CREATE_SESSION_OPTIONS = 10
    ENABLE_PROFILING = 14
    SET_GRAPH_OPTIMIZATION_LEVEL = 23
    SET_INTRA_OP_NUM_THREADS = 24
    SET_INTER_OP_NUM_THREADS = 25
    CREATE_CUSTOM_OP_DOMAIN = 26
    CUSTOM_OP_DOMAIN_ADD = 27
    ADD_CUSTOM_OP_DOMAIN = 28
    CREATE_TENSOR_WITH_DATA = 49
    GET_TENSOR_MUTABLE_DATA = 51
    GET_TENSOR_ELEMENT_TYPE = 60
    GET_DIMENSIONS_COUNT = 61
    GET_DIMENSIONS = 62
    GET_TENSOR_TYPE_AND_SHAPE = 65
    CREATE_CPU_MEMORY_INFO = 69
    ALLOCATOR_FREE = 76
    GET_ALLOCATOR = 78
    KERNEL_INFO_GET_INT64 = 86
    KERNEL_CONTEXT_GET_INPUT = 90
    KERNEL_CONTEXT_GET_OUTPUT = 91
    RELEASE_STATUS = 93
    RELEASE_SESSION = 95
    RELEASE_VALUE = 96
    RELEASE_TENSOR_TYPE_AND_SHAPE = 99
    RELEASE_SESSION_OPTIONS = 100
    RELEASE_CUSTOM_OP_DOMAIN = 101
    SESSION_END_PROFILING = 110
    ADD_SESSION_CONFIG_ENTRY = 130
    KERNEL_CONTEXT_PARALLEL_FOR = 274


_ELEMENTS: dict[int, type[np.generic]] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
_ELEMENT_OF = {np.dtype(kind): number for number, kind in _ELEMENTS.items()}


def library_path() -> Path | None:
    """ONNX Runtime's shared library inside the installed package; None where the package has none."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "capi"
    names = ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll")
    return next((found for name in names for found in sorted(folder.glob(name))), None)


@cache
def _table() -> Any:
    path = library_path()
    if path is None:
        raise WorkbenchError(
            "the installed onnxruntime package has no shared library to run custom kernels in",
            remedy="install a newer onnxruntime from PyPI (the wheels for Linux, macOS and Windows have it)",
        )
    library = ctypes.CDLL(str(path))
    library.OrtGetApiBase.restype = _POINTER
    base = ctypes.cast(library.OrtGetApiBase(), ctypes.POINTER(_POINTER))
    get_api = ctypes.CFUNCTYPE(_POINTER, ctypes.c_uint32)(base[0] or 0)
    address = get_api(API_VERSION)
    if not address:
        raise WorkbenchError(
            f"the installed ONNX Runtime does not offer API version {API_VERSION}",
            remedy="upgrade it with: pip install -U onnxruntime",
        )
    return ctypes.cast(address, ctypes.POINTER(_POINTER))


def function_address(function: Api) -> int:
    """Where the C function is."""
    address: int = _table()[function.value]
    return address


@cache
def _function(function: Api) -> Any:
    return ctypes.CFUNCTYPE(_POINTER)(function_address(function))


def call(function: Api, *arguments: Any) -> int:
    """Call a C function; its result as an address, 0 for null. Arguments are ctypes values or ints (int64)."""
    passed = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
    return _function(function)(*passed) or 0


def check(function: Api, *arguments: Any) -> None:
    """Call a C function that returns a status; raise `ModelError` with ONNX Runtime's words on failure."""
    status = call(function, *arguments)
    if status:
        message = ctypes.string_at(call(Api.GET_ERROR_MESSAGE, status)).decode(errors="replace")
        call(Api.RELEASE_STATUS, status)
        raise ModelError(f"ONNX Runtime says: {message}")


def _created(function: Api, *arguments: Any) -> int:
    made = _POINTER()
    check(function, *arguments, ctypes.byref(made))
    return made.value or 0


@cache
def _environment() -> int:
    return _created(Api.CREATE_ENV, 3, ctypes.c_char_p(b"workbench"))


@cache
def _cpu_memory() -> int:
    return _created(Api.CREATE_CPU_MEMORY_INFO, 0, 0)


@dataclass(frozen=True, eq=False)
class CustomOperators:
    """Operators of our own for a session."""

    domain: str
    addresses: tuple[int, ...]
    """Of `OrtCustomOp` structs."""
    kept: tuple[Any, ...]
    """What must live as long as the session."""


class Session:
    """A model in ONNX Runtime on the CPU, its operators one after the other.

    The pool's threads spin for work during a run, as they do by default, but stop when the run ends: else
    sessions timed in turn take each other's cores.
    """

    def __init__(
        self,
        model: bytes,
        *,
        threads: int,
        outputs: Sequence[str],
        optimize: bool = True,
        custom: CustomOperators | None = None,
        profile_prefix: str = "",
    ) -> None:
        """Raises `ModelError` where ONNX Runtime refuses the model. `profile_prefix` starts a trace file's name."""
        self._custom = custom
        self._session = self._domain = 0
        self._values: list[int] = []
        options = _created(Api.CREATE_SESSION_OPTIONS)
        try:
            check(Api.SET_INTRA_OP_NUM_THREADS, options, threads)
            check(Api.SET_INTER_OP_NUM_THREADS, options, 1)
            check(Api.SET_GRAPH_OPTIMIZATION_LEVEL, options, 99 if optimize else 0)
            entry = (ctypes.c_char_p(b"session.force_spinning_stop"), ctypes.c_char_p(b"1"))
            check(Api.ADD_SESSION_CONFIG_ENTRY, options, *entry)
            if profile_prefix:
                check(Api.ENABLE_PROFILING, options, ctypes.c_char_p(profile_prefix.encode()))
            if custom:
                self._domain = _created(Api.CREATE_CUSTOM_OP_DOMAIN, ctypes.c_char_p(custom.domain.encode()))
                for operator in custom.addresses:
                    check(Api.CUSTOM_OP_DOMAIN_ADD, self._domain, operator)
                check(Api.ADD_CUSTOM_OP_DOMAIN, options, self._domain)
            self._session = _created(
                Api.CREATE_SESSION_FROM_ARRAY, _environment(), ctypes.c_char_p(model), len(model), options
            )
        finally:
            call(Api.RELEASE_SESSION_OPTIONS, options)
        self._output_names = (ctypes.c_char_p * len(outputs))(*(name.encode() for name in outputs))
        self._results = (_POINTER * len(outputs))()
        self._input_names: Any = None
        self._inputs: Any = None
        self._arrays: list[NDArray[np.generic]] = []
        self._targets: list[NDArray[np.generic]] = []

    def feed(self, inputs: Mapping[str, NDArray[np.generic]]) -> None:
        """Set the inputs of the following runs; the arrays are not copied where they are contiguous."""
        self._release_inputs()
        self._arrays = [np.ascontiguousarray(array) for array in inputs.values()]
        self._input_names = (ctypes.c_char_p * len(inputs))(*(name.encode() for name in inputs))
        self._values = [_tensor(array) for array in self._arrays]
        self._inputs = (_POINTER * len(inputs))(*self._values)

    def write_into(self, results: Sequence[NDArray[np.generic]]) -> None:
        """Write the outputs of the following runs into `results`, which may be one array again and again."""
        self._release_results()
        self._targets = list(results)
        for i, array in enumerate(results):
            self._results[i] = _tensor(array)

    def run(self) -> None:
        """Run once on the inputs fed; outputs are dropped unless `write_into` said where they go."""
        self._run()
        if not self._targets:
            self._release_results()

    def outputs(self) -> list[NDArray[np.generic]]:
        """Run once; copies of the outputs."""
        self._run()
        found = [_array(value or 0) for value in self._results]
        if not self._targets:
            self._release_results()
        return found

    def end_profiling(self) -> Path:
        """Stop profiling; the trace file that ONNX Runtime wrote."""
        allocator = _created(Api.GET_ALLOCATOR)
        name = _created(Api.SESSION_END_PROFILING, self._session, allocator)
        path = Path(ctypes.string_at(name).decode())
        check(Api.ALLOCATOR_FREE, allocator, name)
        return path

    def close(self) -> None:
        """Free the session; it can't be used after."""
        self._release_inputs()
        self._release_results()
        if self._session:
            call(Api.RELEASE_SESSION, self._session)
            self._session = 0
        if self._domain:
            call(Api.RELEASE_CUSTOM_OP_DOMAIN, self._domain)
            self._domain = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        check(
            Api.RUN, self._session, _POINTER(), self._input_names, self._inputs, len(self._values),
            self._output_names, len(self._output_names), self._results,
        )  # fmt: skip

    def _release_results(self) -> None:
        for i, value in enumerate(self._results):
            call(Api.RELEASE_VALUE, value or 0)
            self._results[i] = None

    def _release_inputs(self) -> None:
        for value in self._values:
            call(Api.RELEASE_VALUE, value)
        self._values = []


def _tensor(array: NDArray[np.generic]) -> int:
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    return _created(
        Api.CREATE_TENSOR_WITH_DATA, _cpu_memory(), int(array.ctypes.data), array.nbytes, dims, array.ndim,
        _ELEMENT_OF[array.dtype],
    )  # fmt: skip


def _array(value: int) -> NDArray[np.generic]:
    info = _created(Api.GET_TENSOR_TYPE_AND_SHAPE, value)
    count, element = ctypes.c_size_t(), ctypes.c_int()
    check(Api.GET_DIMENSIONS_COUNT, info, ctypes.byref(count))
    check(Api.GET_TENSOR_ELEMENT_TYPE, info, ctypes.byref(element))
    dims = (ctypes.c_int64 * count.value)()
    check(Api.GET_DIMENSIONS, info, dims, count.value)
    call(Api.RELEASE_TENSOR_TYPE_AND_SHAPE, info)
    data = _created(Api.GET_TENSOR_MUTABLE_DATA, value)
    kind = np.dtype(_ELEMENTS[element.value])
    size = int(np.prod(list(dims))) * kind.itemsize
    return np.frombuffer(ctypes.string_at(data, size), kind).reshape(list(dims))
