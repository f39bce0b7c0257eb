"""Small ONNX models for tests, made on the spot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dims = Sequence[int | str]


def initializer(name: str, values: object, dtype: object = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Dims],
    outputs: Sequence[str],
    initializers: Sequence[onnx.TensorProto] = (),
    *,
    opset: int = 13,
    element_type: int = TensorProto.FLOAT,
    domains: dict[str, int] | None = None,
) -> onnx.ModelProto:
    """A model whose inputs have `element_type` and whose outputs have no stated shape."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(n, element_type, list(d)) for n, d in inputs.items()],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        list(initializers),
    )
    for output in graph.output:
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in (domains or {}).items())]
    made = helper.make_model(graph, opset_imports=opsets)
    made.ir_version = 8
    return made


def product(rows: Dims = ("batch", 8), outputs: int = 12, *, name: str = "product", seed: int = 0) -> onnx.ModelProto:
    """One MatMul of a `rows` input with an 8 x `outputs` weight called `weight`."""
    weight = np.random.default_rng(seed).standard_normal((8, outputs))
    node = helper.make_node("MatMul", ["x", "weight"], ["y"], name=name)
    return model([node], {"x": rows}, ["y"], [initializer("weight", weight)])
