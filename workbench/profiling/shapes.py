"""Every tensor's shape without a run: ONNX shape inference, with shape arithmetic worked out between rounds."""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from workbench.errors import ModelError
from workbench.profiling.inputs import ResolvedDims, model_inputs
from workbench.profiling.loading import LoadedModel, tensor_array
from workbench.profiling.runs import name_nodes

_LARGEST_VALUE = 4096
"""Elements of the largest tensor whose values are worked out; shapes and index vectors are small."""
_ROUNDS = 24


def inferred_graph(model: LoadedModel, dims: ResolvedDims) -> onnx.GraphProto:
    """The graph with `dims` put into its inputs and every shape inferred that can be.

    Raises `ModelError` where the model's shapes contradict each other.
    """
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    name_nodes(proto.graph)
    wanted = {item.name: dims.shape(item) for item in model_inputs(model.proto)}
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, wanted.get(value.name, ()), strict=False):
            dim.dim_value = size
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    known = _small_constants(model)
    for _ in range(_ROUNDS):
        del proto.graph.value_info[:]
        proto = _inferred(proto, model)
        if not _work_out(proto, known):
            break
    return proto.graph


def _inferred(proto: onnx.ModelProto, model: LoadedModel) -> onnx.ModelProto:
    try:
        return onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:
        if not type(error).__module__.startswith("onnx"):
            raise
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"shapes can't be inferred: {reason}", where=model.path, remedy="set sizes with --batch and --dim NAME=V"
        ) from None


def _small_constants(model: LoadedModel) -> dict[str, NDArray[np.generic]]:
    return {
        t.name: tensor_array(t, model.folder)
        for t in model.proto.graph.initializer
        if np.prod(t.dims) <= _LARGEST_VALUE
    }


def _work_out(proto: onnx.ModelProto, known: dict[str, NDArray[np.generic]]) -> bool:
    """Turn nodes whose small values are known into initializers; whether any was."""
    graph = proto.graph
    shapes = {v.name: _shape(v) for v in (*graph.input, *graph.value_info, *graph.output)}
    shapes.update((t.name, tuple(t.dims)) for t in graph.initializer)
    kept: list[onnx.NodeProto] = []
    for node in graph.node:
        values = _values(node, known, shapes, proto)
        if values is None:
            kept.append(node)
            continue
        for name, value in zip(node.output, values, strict=False):
            known[name] = value
            graph.initializer.append(numpy_helper.from_array(value, name))
    changed = len(kept) < len(graph.node)
    del graph.node[:]
    graph.node.extend(kept)
    return changed


def _values(
    node: onnx.NodeProto,
    known: dict[str, NDArray[np.generic]],
    shapes: dict[str, tuple[int, ...] | None],
    proto: onnx.ModelProto,
) -> list[NDArray[np.generic]] | None:
    if any(a.HasField("g") or a.graphs for a in node.attribute):
        return None
    if node.op_type == "Shape":
        shape = shapes.get(node.input[0])
        if shape is None:
            return None
        start, end = (next((int(a.i) for a in node.attribute if a.name == n), None) for n in ("start", "end"))
        return [np.array(shape[start:end], dtype=np.int64)]
    if node.op_type == "Constant":
        value = next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)
        if value is None or np.prod(value.dims) > _LARGEST_VALUE or value.data_location == onnx.TensorProto.EXTERNAL:
            return None
        return [np.asarray(numpy_helper.to_array(value))]
    if not node.input or any(i and i not in known for i in node.input):
        return None
    sizes = [shapes.get(o) for o in node.output if o]
    if any(s is not None and np.prod(s) > _LARGEST_VALUE for s in sizes) or node.op_type in ("Expand", "Tile"):
        return None
    try:
        model = onnx.helper.make_model(
            onnx.helper.make_graph(
                [node],
                "value",
                [onnx.helper.make_tensor_value_info(i, onnx.TensorProto.UNDEFINED, None) for i in set(node.input) if i],
                [onnx.helper.make_tensor_value_info(o, onnx.TensorProto.UNDEFINED, None) for o in node.output if o],
            ),
            opset_imports=list(proto.opset_import),
        )
        made = ReferenceEvaluator(model).run(None, {i: known[i] for i in node.input if i})
    except Exception:  # the reference evaluator lacks operators and raises all kinds; the node then stays
        return None
    return [np.asarray(v) for v in made]


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...] | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape") or not all(d.HasField("dim_value") for d in tensor.shape.dim):
        return None
    return tuple(d.dim_value for d in tensor.shape.dim)
