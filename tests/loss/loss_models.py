"""Small models for the loss tests, made on the spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Floats = NDArray[np.float32]


def chain(weights: dict[str, Floats], *, batch: int | str = "batch", softmax: bool = False) -> onnx.ModelProto:
    """x · w1 · w2 · … , each product a node named after its weight; weights are K x N."""
    nodes, at = [], "x"
    for name in weights:
        nodes.append(helper.make_node("MatMul", [at, name], [f"{name}_out"], name=f"/{name}"))
        at = f"{name}_out"
    if softmax:
        nodes.append(helper.make_node("Softmax", [at], ["y"], name="/softmax", axis=-1))
    else:
        nodes.append(helper.make_node("Identity", [at], ["y"], name="/out"))
    first = next(iter(weights.values()))
    return _model(nodes, weights, (batch, first.shape[0]))


def branches(scales: dict[str, float], size: int = 16, seed: int = 3) -> onnx.ModelProto:
    """y = stem(x) + sum of branches stem(x) · w, the weights normal with each branch's own scale."""
    rng = np.random.default_rng(seed)
    weights = {"stem": rng.standard_normal((size, size)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "stem"], ["h0"], name="/stem")]
    at = "h0"
    for number, (name, scale) in enumerate(scales.items(), 1):
        weights[name] = (scale * rng.standard_normal((size, size))).astype(np.float32)
        nodes.append(helper.make_node("MatMul", ["h0", name], [f"{name}_out"], name=f"/{name}"))
        nodes.append(helper.make_node("Add", [at, f"{name}_out"], [f"h{number}"], name=f"/add{number}"))
        at = f"h{number}"
    nodes.append(helper.make_node("Identity", [at], ["y"], name="/out"))
    return _model(nodes, weights, ("batch", size))


def int8_linear(seed: int = 0) -> onnx.ModelProto:
    """x through a float layer, then a layer whose int8 weight stands behind DequantizeLinear and Transpose."""
    rng = np.random.default_rng(seed)
    quantized = rng.integers(-100, 100, (12, 8), dtype=np.int8)
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["h"], name="/first"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], name="/dq", axis=0),
        helper.make_node("Transpose", ["w"], ["wt"], name="/turn", perm=[1, 0]),
        helper.make_node("MatMul", ["h", "wt"], ["y"], name="/second"),
    ]
    tensors = {
        "first": rng.standard_normal((8, 8)).astype(np.float32),
        "q": quantized,
        "scale": np.linspace(0.01, 0.03, 12, dtype=np.float32),
        "zero": np.full(12, 3, dtype=np.int8),
    }
    return _model(nodes, tensors, ("batch", 8))


def half_linear(seed: int = 0) -> onnx.ModelProto:
    """Two products in fp16 weights, cast to fp32 where they are used; the second through Reshape."""
    rng = np.random.default_rng(seed)
    nodes = [
        helper.make_node("Cast", ["first"], ["first32"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "first32"], ["h"], name="/first"),
        helper.make_node("Cast", ["flat"], ["flat32"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["flat32", "dims"], ["second32"], name="/reshape"),
        helper.make_node("MatMul", ["h", "second32"], ["y"], name="/second"),
    ]
    tensors = {
        "first": rng.standard_normal((8, 8)).astype(np.float16),
        "flat": rng.standard_normal(96).astype(np.float16),
        "dims": np.array([8, 12], dtype=np.int64),
    }
    return _model(nodes, tensors, ("batch", 8))


def shared_weight(seed: int = 0) -> onnx.ModelProto:
    """An embedding table that the last product uses, too, and a weight that two products share."""
    rng = np.random.default_rng(seed)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["e"], name="/embed"),
        helper.make_node("MatMul", ["e", "start"], ["s"], name="/start"),
        helper.make_node("MatMul", ["s", "twice"], ["a"], name="/a"),
        helper.make_node("MatMul", ["a", "twice"], ["b"], name="/b"),
        helper.make_node("Transpose", ["table"], ["back"], name="/back", perm=[1, 0]),
        helper.make_node("MatMul", ["b", "back"], ["y"], name="/logits"),
    ]
    tensors = {
        "table": rng.standard_normal((20, 8)).astype(np.float32),
        "start": rng.standard_normal((8, 8)).astype(np.float32),
        "twice": (rng.standard_normal((8, 8)) / 3).astype(np.float32),
    }
    return _model(nodes, tensors, ("batch", "tokens"), input_name="ids", input_type=TensorProto.INT64)


def convolutions(seed: int = 0) -> onnx.ModelProto:
    """A convolution, a grouped one, and a 1x1 one."""
    rng = np.random.default_rng(seed)
    nodes = [
        helper.make_node("Conv", ["x", "c1"], ["a"], name="/c1", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "c2"], ["b"], name="/c2", pads=[1, 1, 1, 1], group=4),
        helper.make_node("Conv", ["b", "c3"], ["y"], name="/c3"),
    ]
    tensors = {
        "c1": rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "c2": rng.standard_normal((8, 2, 3, 3)).astype(np.float32),
        "c3": rng.standard_normal((12, 8, 1, 1)).astype(np.float32),
    }
    return _model(nodes, tensors, ("batch", 3, 6, 6))


def saved(model: onnx.ModelProto, folder: Path, name: str = "model.onnx") -> Path:
    path = folder / name
    onnx.save(model, path)
    return path


def _model(
    nodes: list[onnx.NodeProto],
    tensors: dict[str, NDArray[np.generic]],
    shape: tuple[int | str, ...],
    *,
    input_name: str = "x",
    input_type: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(input_name, input_type, list(shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def two_inputs(seed: int = 0) -> onnx.ModelProto:
    """y = (x + z) · w1 · w2, with a batch and a sequence dimension that both inputs have."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.standard_normal((8, 8)).astype(np.float32) for name in ("w1", "w2")}
    made = chain(weights)
    graph = made.graph
    del graph.input[:]
    for name in ("x", "z"):
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "sequence", 8]))
    graph.node.insert(0, helper.make_node("Add", ["x", "z"], ["sum"], name="/sum"))
    graph.node[1].input[0] = "sum"
    return made
