"""The sparse kernels as operators of ONNX Runtime: `Sparse4x1` and `Sparse4x1Int8` of domain `workbench.calibration`.

A node has one input, the activations [..., K] (feature-major: [K, M]), and one output [..., N] ([N, M]).
Its attribute `job` is the address of a job in this process, which holds weight, bias and activation. The
work runs on the threads of the session's own pool, so that sparse and dense operators take turns on the
same threads and a graph needs no cuts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
import onnx
from numba import types
from onnx import helper

from workbench.calibration.codegen import call1, call2, call3, call5, load_int64, store_int64
from workbench.calibration.compiling import callback
from workbench.calibration.kernels import Job, plan, work
from workbench.calibration.packing import PackedInt8, PackedWeight
from workbench.calibration.product import Floats, Int8Linear, JobMemory, Layout, int8_unavailable, job_memory
from workbench.calibration.runtime import API_VERSION, Api, CustomOperators, call, function_address

DOMAIN = "workbench.calibration"
OPERATOR = "Sparse4x1"
"""fp32 activations."""
INT8_OPERATOR = "Sparse4x1Int8"
"""u8 activations, fp32 result."""
_RANK = 8
_INVALID_ARGUMENT = 2


class _Slot(IntEnum):
    """Slots after the kernel's own: addresses of C functions, and room for what they return."""

    GET_INPUT = Job.SIZE
    GET_OUTPUT = Job.SIZE + 1
    GET_DATA = Job.SIZE + 2
    GET_INFO = Job.SIZE + 3
    GET_RANK = Job.SIZE + 4
    GET_DIMS = Job.SIZE + 5
    RELEASE_INFO = Job.SIZE + 6
    PARALLEL_FOR = Job.SIZE + 7
    CREATE_STATUS = Job.SIZE + 8
    WORK = Job.SIZE + 9
    MESSAGE = Job.SIZE + 10
    VALUE = Job.SIZE + 11
    INFO = Job.SIZE + 12
    RANK = Job.SIZE + 13
    DIMS = Job.SIZE + 14


_SPARE = 14 + _RANK
_API_SLOTS = {
    _Slot.GET_INPUT: Api.KERNEL_CONTEXT_GET_INPUT,
    _Slot.GET_OUTPUT: Api.KERNEL_CONTEXT_GET_OUTPUT,
    _Slot.GET_DATA: Api.GET_TENSOR_MUTABLE_DATA,
    _Slot.GET_INFO: Api.GET_TENSOR_TYPE_AND_SHAPE,
    _Slot.GET_RANK: Api.GET_DIMENSIONS_COUNT,
    _Slot.GET_DIMS: Api.GET_DIMENSIONS,
    _Slot.RELEASE_INFO: Api.RELEASE_TENSOR_TYPE_AND_SHAPE,
    _Slot.PARALLEL_FOR: Api.KERNEL_CONTEXT_PARALLEL_FOR,
    _Slot.CREATE_STATUS: Api.CREATE_STATUS,
}
_MESSAGE = ctypes.create_string_buffer(b"Sparse4x1: the activations do not fit the weight")

# Numba wants plain integers for compile-time constants.
_WORKERS, _UNITS, _X, _Y = int(Job.WORKERS), int(Job.UNITS), int(Job.X), int(Job.Y)
_N, _K, _M, _FEATURE = int(Job.N), int(Job.K), int(Job.M), int(Job.FEATURE_MAJOR)
(
    _GET_INPUT, _GET_OUTPUT, _GET_DATA, _GET_INFO, _GET_RANK, _GET_DIMS, _RELEASE_INFO, _PARALLEL_FOR,
    _CREATE_STATUS, _WORK, _TEXT, _VALUE, _INFO, _RANK_OUT, _DIMS,
) = (int(slot) for slot in _Slot)  # fmt: skip


@callback(types.void(types.int64, types.int64))
def _work(job: int, worker: int) -> None:
    work(job, worker)


@callback(types.int64(types.int64, types.int64))
def _compute(job: int, context: int) -> int:
    """KernelComputeV2: returns null, or an OrtStatus that ONNX Runtime reports."""
    status: int = call3(load_int64(job, _GET_INPUT), context, 0, job + 8 * _VALUE)
    if status != 0:
        return status
    value = load_int64(job, _VALUE)
    status = call2(load_int64(job, _GET_DATA), value, job + 8 * _X)
    if status != 0:
        return status
    status = call2(load_int64(job, _GET_INFO), value, job + 8 * _INFO)
    if status != 0:
        return status
    info = load_int64(job, _INFO)
    call2(load_int64(job, _GET_RANK), info, job + 8 * _RANK_OUT)
    rank = load_int64(job, _RANK_OUT)
    dims = job + 8 * _DIMS
    feature_major = load_int64(job, _FEATURE) != 0
    fits = 0 < rank <= _RANK and (not feature_major or rank == 2)
    if fits:
        call3(load_int64(job, _GET_DIMS), info, dims, rank)
    call1(load_int64(job, _RELEASE_INFO), info)
    channels = 0 if feature_major else rank - 1
    if not fits or load_int64(dims, channels) != load_int64(job, _K):
        return int(call2(load_int64(job, _CREATE_STATUS), _INVALID_ARGUMENT, load_int64(job, _TEXT)))
    tokens = 1
    for i in range(rank):
        if i != channels:
            tokens *= load_int64(dims, i)
    store_int64(job, _M, tokens)
    store_int64(dims, channels, load_int64(job, _N))
    status = call5(load_int64(job, _GET_OUTPUT), context, 0, dims, rank, job + 8 * _VALUE)
    if status != 0:
        return status
    status = call2(load_int64(job, _GET_DATA), load_int64(job, _VALUE), job + 8 * _Y)
    if status != 0:
        return status
    plan(job)
    if load_int64(job, _UNITS) < 2 or load_int64(job, _WORKERS) < 2:
        call2(load_int64(job, _WORK), job, 0)
        return 0
    parallel_for, workers = load_int64(job, _PARALLEL_FOR), load_int64(job, _WORKERS)
    return int(call5(parallel_for, context, load_int64(job, _WORK), workers, 0, job))


def operator_job(
    packed: PackedWeight, *, threads: int, bias: Floats | None = None, activation: str = "", layout: Layout = "row"
) -> JobMemory:
    """The job of a `Sparse4x1` node for a session of `threads` threads; it must outlive the session."""
    job = job_memory(packed, bias=bias, activation=activation, layout=layout, workers=threads, spare=_SPARE)
    return _for_operator(job, int(_work.address or 0))


def int8_job(linear: Int8Linear, *, threads: int, packed: PackedInt8 | None = None) -> JobMemory:
    """The job of a `Sparse4x1Int8` node, as `operator_job`. Raises `ValueError` on a CPU without VNNI."""
    reason = int8_unavailable()
    if reason:
        raise ValueError(reason)
    from workbench.calibration.kernels_int8 import work_int8_callback

    return _for_operator(linear.job(threads, _SPARE, packed), int(work_int8_callback.address or 0))


def _for_operator(job: JobMemory, work_address: int) -> JobMemory:
    for slot, function in _API_SLOTS.items():
        job.slots[slot] = np.int64(function_address(function))
    job.slots[_Slot.WORK] = np.int64(work_address)
    job.slots[_Slot.MESSAGE] = ctypes.addressof(_MESSAGE)
    return job


def sparse_node(job: JobMemory, activations: str, output: str, name: str, operator: str = OPERATOR) -> onnx.NodeProto:
    """The node that runs `job`."""
    return helper.make_node(operator, [activations], [output], name=name, domain=DOMAIN, job=job.address)


_P = ctypes.c_void_p
_SIGNATURES: dict[str, Any] = {
    "CreateKernel": ctypes.CFUNCTYPE(_P, _P, _P, _P),
    "GetName": ctypes.CFUNCTYPE(_P, _P),
    "GetExecutionProviderType": ctypes.CFUNCTYPE(_P, _P),
    "GetInputType": ctypes.CFUNCTYPE(ctypes.c_int, _P, ctypes.c_size_t),
    "GetInputTypeCount": ctypes.CFUNCTYPE(ctypes.c_size_t, _P),
    "GetOutputType": ctypes.CFUNCTYPE(ctypes.c_int, _P, ctypes.c_size_t),
    "GetOutputTypeCount": ctypes.CFUNCTYPE(ctypes.c_size_t, _P),
    "KernelCompute": _P,
    "KernelDestroy": ctypes.CFUNCTYPE(None, _P),
    "GetInputCharacteristic": ctypes.CFUNCTYPE(ctypes.c_int, _P, ctypes.c_size_t),
    "GetOutputCharacteristic": ctypes.CFUNCTYPE(ctypes.c_int, _P, ctypes.c_size_t),
    "GetInputMemoryType": ctypes.CFUNCTYPE(ctypes.c_int, _P, ctypes.c_size_t),
    "GetVariadicInputMinArity": ctypes.CFUNCTYPE(ctypes.c_int, _P),
    "GetVariadicInputHomogeneity": ctypes.CFUNCTYPE(ctypes.c_int, _P),
    "GetVariadicOutputMinArity": ctypes.CFUNCTYPE(ctypes.c_int, _P),
    "GetVariadicOutputHomogeneity": ctypes.CFUNCTYPE(ctypes.c_int, _P),
    "CreateKernelV2": _P,
    "KernelComputeV2": _P,
    "InferOutputShapeFn": _P,
    "GetStartVersion": ctypes.CFUNCTYPE(ctypes.c_int, _P),
    "GetEndVersion": ctypes.CFUNCTYPE(ctypes.c_int, _P),
}
"""The fields of `OrtCustomOp` after `version`, up to API version 17, in order."""


class _CustomOp(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), *_SIGNATURES.items()]


_NAMES = {name: ctypes.create_string_buffer(name.encode()) for name in (OPERATOR, INT8_OPERATOR)}


def _create_kernel(operator: int, api: int, info: int) -> int:
    """The kernel's state is the job: its address, from the node's attribute."""
    job = ctypes.c_int64()
    call(Api.KERNEL_INFO_GET_INT64, info, ctypes.c_char_p(b"job"), ctypes.byref(job))
    return job.value


_FLOAT, _UINT8 = 1, 2
_BODIES: dict[str, Any] = {
    "CreateKernel": _create_kernel,
    "GetExecutionProviderType": lambda op: None,
    "GetInputTypeCount": lambda op: 1,
    "GetOutputType": lambda op, index: _FLOAT,
    "GetOutputTypeCount": lambda op: 1,
    "KernelDestroy": lambda kernel: None,
    "GetInputCharacteristic": lambda op, index: 0,
    "GetOutputCharacteristic": lambda op, index: 0,
    "GetInputMemoryType": lambda op, index: 0,
    "GetVariadicInputMinArity": lambda op: 1,
    "GetVariadicInputHomogeneity": lambda op: 1,
    "GetVariadicOutputMinArity": lambda op: 1,
    "GetVariadicOutputHomogeneity": lambda op: 1,
    "GetStartVersion": lambda op: 1,
    "GetEndVersion": lambda op: 2**31 - 1,
}


@cache
def _custom_operator(operator_name: str) -> _CustomOp:
    """The `OrtCustomOp` of an operator; made once, kept for the life of the process."""
    operator = _CustomOp(version=API_VERSION)
    element = _UINT8 if operator_name == INT8_OPERATOR else _FLOAT
    own = {
        "GetName": lambda op: ctypes.addressof(_NAMES[operator_name]),
        "GetInputType": lambda op, index: element,
    }
    for name, body in (_BODIES | own).items():
        setattr(operator, name, _SIGNATURES[name](body))
    operator.KernelComputeV2 = _compute.address
    return operator


def custom_operators(jobs: Sequence[JobMemory]) -> CustomOperators:
    """Both operators for a session whose nodes run `jobs`."""
    operators = [_custom_operator(name) for name in _NAMES]
    return CustomOperators(DOMAIN, tuple(map(ctypes.addressof, operators)), (*operators, *jobs))
