"""A small model whose nodes and weights have the names that exporters give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def small_model(folder: Path) -> Path:
    """Conv 3x3 + Relu, Conv 1x1, flatten, MatMul 64 → 32 with bias and Relu, Gemm 32 → 10 (transB)."""
    rng = np.random.default_rng(7)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    half_sparse = rng.standard_normal((64, 32)).astype(np.float32)
    half_sparse[:, :16] = 0
    nodes = [
        helper.make_node("Conv", ["x", "conv1.weight"], ["/conv1/Conv_output_0"], "/conv1/Conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["/conv1/Conv_output_0"], ["/act1/Relu_output_0"], "/act1/Relu"),
        helper.make_node("Conv", ["/act1/Relu_output_0", "conv2.weight"], ["/conv2/Conv_output_0"], "/conv2/Conv"),
        helper.make_node("Flatten", ["/conv2/Conv_output_0"], ["/Flatten_output_0"], "/Flatten"),
        helper.make_node("MatMul", ["/Flatten_output_0", "fc1.weight"], ["/fc1/MatMul_output_0"], "/fc1/MatMul"),
        helper.make_node("Add", ["/fc1/MatMul_output_0", "fc1.bias"], ["/fc1/Add_output_0"], "/fc1/Add"),
        helper.make_node("Relu", ["/fc1/Add_output_0"], ["/act2/Relu_output_0"], "/act2/Relu"),
        helper.make_node("Gemm", ["/act2/Relu_output_0", "fc2.weight", "fc2.bias"], ["y"], "/fc2/Gemm", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [
            weight("conv1.weight", 8, 3, 3, 3),
            weight("conv2.weight", 4, 8, 1, 1),
            numpy_helper.from_array(half_sparse, "fc1.weight"),
            weight("fc1.bias", 32),
            weight("fc2.weight", 10, 32),
            weight("fc2.bias", 10),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = folder / "small.onnx"
    onnx.save(model, path)
    return path
