"""Sessions of ONNX Runtime that do one product several times: dense, and with the sparse kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from workbench.calibration.packing import PackedWeight
from workbench.calibration.product import Int8Linear, Layout
from workbench.calibration.runtime import Session
from workbench.profiling.trace import group_runs, read_events

Floats = NDArray[np.float32]
REPEATS = 4
"""Products in a run, with weights of their own: as in a network, threads are awake and weights not at hand."""
OUTPUTS = tuple(f"y{i}" for i in range(REPEATS))
_OPSETS = {"": 17, "workbench.calibration": 1, "com.microsoft": 1}


def dense_int8_session(linear: Int8Linear, tokens: int, threads: int, trace: str = "") -> Session:
    """REPEATS times MatMulIntegerToFloat of u8 `x` (tokens x K), which QDQ products become."""
    stored = [
        numpy_helper.from_array(np.array(1, np.float32), "x_scale"),
        numpy_helper.from_array(np.array(linear.zero, np.uint8), "x_zero"),
        numpy_helper.from_array(linear.scale, "scale"),
        numpy_helper.from_array(np.zeros(len(linear.scale), np.int8), "zero"),
    ]
    turned = np.ascontiguousarray(linear.weight.T)
    stored += [numpy_helper.from_array(turned, f"w{i}") for i in range(REPEATS)]
    nodes = [
        helper.make_node(
            "MatMulIntegerToFloat",
            ["x", f"w{i}", "x_scale", "scale", "x_zero", "zero"],
            [f"y{i}"],
            domain="com.microsoft",
        )
        for i in range(REPEATS)
    ]
    outputs, inputs = linear.weight.shape
    model = _model(nodes, (tokens, inputs), (tokens, outputs), stored, TensorProto.UINT8, among=bool(trace))
    return Session(model, threads=threads, outputs=OUTPUTS, optimize=False, profile_prefix=trace)


def sparse_int8_session(linear: Int8Linear, tokens: int, threads: int, trace: str = "") -> Session:
    """REPEATS times the int8 sparse kernel for u8 `x`, tokens x K, in ONNX Runtime."""
    from workbench.calibration import sparse_op

    jobs = [sparse_op.int8_job(linear, threads=threads) for _ in range(REPEATS)]
    nodes = [
        sparse_op.sparse_node(job, "x", f"y{i}", f"sparse{i}", sparse_op.INT8_OPERATOR) for i, job in enumerate(jobs)
    ]
    outputs, inputs = linear.weight.shape
    model = _model(nodes, (tokens, inputs), (tokens, outputs), [], TensorProto.UINT8, among=bool(trace))
    custom = sparse_op.custom_operators(jobs)
    return Session(model, threads=threads, outputs=OUTPUTS, optimize=False, custom=custom, profile_prefix=trace)


def dense_session(weight: Floats, tokens: int, threads: int, trace: str = "") -> Session:
    """REPEATS times MatMul of `x` (tokens x K) with the N x K weight, each with a copy of it."""
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"]) for i in range(REPEATS)]
    turned = np.ascontiguousarray(weight.T)
    stored = [numpy_helper.from_array(turned, f"w{i}") for i in range(REPEATS)]
    model = _model(nodes, (tokens, weight.shape[1]), (tokens, weight.shape[0]), stored, among=bool(trace))
    # Optimizing would notice that all of them are the same.
    return Session(model, threads=threads, outputs=OUTPUTS, optimize=False, profile_prefix=trace)


def sparse_session(packed: PackedWeight, tokens: int, threads: int, layout: Layout, trace: str = "") -> Session:
    """REPEATS times the sparse kernel for `x`, tokens x K (row) or K x tokens (feature), in ONNX Runtime."""
    from workbench.calibration import sparse_op

    jobs = [sparse_op.operator_job(packed.copy(), threads=threads, layout=layout) for _ in range(REPEATS)]
    nodes = [sparse_op.sparse_node(job, "x", f"y{i}", f"sparse{i}") for i, job in enumerate(jobs)]
    shapes = (tokens, packed.inputs), (tokens, packed.outputs)
    if layout == "feature":
        shapes = shapes[0][::-1], shapes[1][::-1]
    model = _model(nodes, *shapes, [], among=bool(trace))
    custom = sparse_op.custom_operators(jobs)
    return Session(model, threads=threads, outputs=OUTPUTS, optimize=False, custom=custom, profile_prefix=trace)


def _model(
    nodes: Sequence[onnx.NodeProto],
    x: tuple[int, int],
    y: tuple[int, int],
    stored: Sequence[onnx.TensorProto],
    element: int = TensorProto.FLOAT,
    *,
    among: bool,
) -> bytes:
    """A model of the products `nodes` of one x.

    With `among` each of them stands among others, as in a network: an operator on all threads has just made its
    activations, and one reads its result. What the cores then fetch from one another is part of a product's time.
    """
    stored = list(stored)
    if among:
        stored.append(numpy_helper.from_array(np.zeros((), helper.tensor_dtype_to_np_dtype(element)), "nothing"))
        placed: list[onnx.NodeProto] = []
        for i, node in enumerate(nodes):
            product = onnx.NodeProto()
            product.CopyFrom(node)
            product.input[0], product.output[0] = f"h{i}", f"p{i}"
            placed += [
                helper.make_node("Max", ["x", "nothing"], [f"h{i}"], name=f"before{i}"),
                product,
                helper.make_node("Relu", [f"p{i}"], [f"y{i}"], name=f"after{i}"),
            ]
        nodes = placed
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", element, x)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, y) for name in OUTPUTS],
        stored,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data


def product_times(trace: Path) -> NDArray[np.float64]:
    """Runs x REPEATS: ms of the products in the trace of a session of these."""
    runs = group_runs(read_events(trace))
    kept = [[e.duration_us for e in run.nodes if not e.node.startswith(("before", "after"))] for run in runs]
    return np.array(kept) / 1000
