"""Putting the sparse kernel into a network: products of the graph that runs become `Sparse4x1` nodes.

The graph is the one that ONNX Runtime made of the model; nothing else in it changes, so the graph needs no
cuts and every other operator runs as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from workbench.calibration.packing import pack
from workbench.calibration.product import Floats, Int8Linear, JobMemory, int8_unavailable
from workbench.calibration.sparse_op import DOMAIN, INT8_OPERATOR, OPERATOR, int8_job, operator_job, sparse_node
from workbench.profile import BLOCK_ROWS

_PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "FusedGemm")
_ACTIVATIONS = {"": "", "Relu": "relu", "Tanh": "tanh"}


@dataclass(frozen=True, eq=False)
class SparseGraph:
    """A graph with sparse products in it."""

    model: onnx.ModelProto
    jobs: tuple[JobMemory, ...]
    """What the nodes run; they must outlive every session of the model."""
    replaced: tuple[int, ...]
    """Places of the nodes that became sparse."""
    refused: Mapping[int, str]
    """Place of a node that was asked for and stays dense → why."""


@dataclass(frozen=True, eq=False)
class _Linear:
    """act(X·Wᵀ + bias) as read from a node."""

    weight: Floats
    bias: Floats | None
    activation: str


def substitute(optimized: onnx.ModelProto, places: tuple[int, ...], threads: int) -> SparseGraph:
    """A copy of `optimized` in which the nodes at `places` run the sparse kernel on `threads` threads."""
    model = onnx.ModelProto()
    model.CopyFrom(optimized)
    tensors = {t.name: t for t in model.graph.initializer}
    jobs: list[JobMemory] = []
    replaced: list[int] = []
    refused: dict[int, str] = {}
    for place in places:
        node = model.graph.node[place]
        linear = _linear(node, tensors)
        if isinstance(linear, str):
            refused[place] = linear
            continue
        if isinstance(linear, Int8Linear):
            job, operator = int8_job(linear, threads=threads), INT8_OPERATOR
        else:
            packed = pack(linear.weight)
            job = operator_job(packed, threads=threads, bias=linear.bias, activation=linear.activation)
            operator = OPERATOR
        node.CopyFrom(sparse_node(job, node.input[0], node.output[0], node.name, operator))
        jobs.append(job)
        replaced.append(place)
    used = {name for node in model.graph.node for name in node.input} | {o.name for o in model.graph.output}
    kept = [t for t in model.graph.initializer if t.name in used or _in_inner_graph(model.graph)]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return SparseGraph(model, tuple(jobs), tuple(replaced), refused)


def _in_inner_graph(graph: onnx.GraphProto) -> bool:
    """Whether inner graphs, which see the outer initializers, exist."""
    return any(a.HasField("g") or a.graphs for node in graph.node for a in node.attribute)


def _linear(node: onnx.NodeProto, tensors: Mapping[str, onnx.TensorProto]) -> _Linear | Int8Linear | str:
    """What the node computes, or why the kernels can't."""
    if node.op_type == "MatMulIntegerToFloat":
        return _int8_linear(node, tensors)
    if node.op_type not in _PRODUCTS:
        return f"the kernels do not do {node.op_type}"
    stored = tensors.get(node.input[1])
    if stored is None:
        return "the weight is not a stored second operand"
    if stored.data_type != onnx.TensorProto.FLOAT or len(stored.dims) != 2:
        return f"the weight is {onnx.TensorProto.DataType.Name(stored.data_type).lower()}, rank {len(stored.dims)}"
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if any(attributes.get(name) for name in ("transA", "transBatchA", "transBatchB")):
        return "the activations are turned"
    activation = attributes.get("activation", b"").decode()
    if activation not in _ACTIVATIONS:
        return f"the fused activation {activation} is not offered by the kernel"
    weight = numpy_helper.to_array(stored) * np.float32(attributes.get("alpha", 1.0))
    weight = weight if attributes.get("transB") else weight.T
    if weight.shape[0] % BLOCK_ROWS:
        return f"{weight.shape[0]} output channels are not divisible by {BLOCK_ROWS}"
    bias = None
    if len(node.input) > 2 and node.input[2]:
        added = tensors.get(node.input[2])
        if added is None or int(np.prod(added.dims)) not in (1, weight.shape[0]):
            return "what is added is not a bias"
        values = numpy_helper.to_array(added).ravel() * np.float32(attributes.get("beta", 1.0))
        bias = np.ascontiguousarray(np.broadcast_to(values, weight.shape[:1]), dtype=np.float32)
    return _Linear(np.ascontiguousarray(weight, dtype=np.float32), bias, _ACTIVATIONS[activation])


def _int8_linear(node: onnx.NodeProto, tensors: Mapping[str, onnx.TensorProto]) -> Int8Linear | str:
    """(A - a_zero)·(B - b_zero) · a_scale·b_scale + bias, of ONNX Runtime's contributed operators."""
    if int8_unavailable():
        return int8_unavailable()
    names = [*node.input, "", "", ""][:7]
    stored = [numpy_helper.to_array(tensors[name]) if name in tensors else None for name in names]
    weight, x_scale, w_scale, x_zero, w_zero, bias = stored[1:]
    if weight is None or weight.dtype != np.int8 or weight.ndim != 2:
        return "the weight is not a stored s8 matrix"
    if x_scale is None or w_scale is None or (names[4] and x_zero is None) or (names[6] and bias is None):
        return "its activations are quantized at run time, and the int8 kernel takes fixed scales"
    if x_zero is not None and x_zero.dtype != np.uint8:
        return "its activations are signed, and the int8 kernel takes unsigned ones"
    if names[5] and (w_zero is None or w_zero.any()):
        return "the weight's zero point is not 0"
    if weight.shape[1] % BLOCK_ROWS:
        return f"{weight.shape[1]} output channels are not divisible by {BLOCK_ROWS}"
    return Int8Linear(
        np.ascontiguousarray(weight.T),
        np.ascontiguousarray(np.broadcast_to((x_scale * w_scale).ravel(), weight.shape[1]), dtype=np.float32),
        0 if x_zero is None else int(x_zero.ravel()[0]),
        None if bias is None else bias.astype(np.float32).ravel(),
    )
