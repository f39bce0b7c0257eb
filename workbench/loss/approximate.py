"""Sensitivity from the architecture alone, for a model whose weights are not at hand.

After SparseML's `pruning_loss_sens_approx`: a layer that sees many features for each of its parameters, or
changes their number, is taken to be more sensitive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import onnx

from workbench.loss.layers import PrunableLayer
from workbench.profiling.inputs import model_inputs, resolve_dims
from workbench.profiling.loading import LoadedModel
from workbench.profiling.shapes import inferred_graph


def approximate_sensitivity(input_volume: float, output_volume: float, parameters: int) -> float:
    """`(input volume + output volume) / parameters x max(in / out, out / in)`; 0 without parameters."""
    if not parameters:
        return 0.0
    change = 1.0
    if input_volume and output_volume:
        change = max(input_volume / output_volume, output_volume / input_volume)
    return (input_volume + output_volume) / parameters * change


def approximate_sensitivities(
    model: LoadedModel, layers: Sequence[PrunableLayer], dims: Mapping[str, int] | None = None
) -> dict[str, float]:
    """By weight name; a volume is the number of elements for one sample. Layers of unknown shape are left out.

    `dims` sets symbolic dimensions; others take the defaults of a performance profile.
    """
    volumes = _volumes(model, dims or {})
    found: dict[str, float] = {}
    for layer in layers:
        product = layer.product
        given, made = volumes.get(product.activation), volumes.get(product.output)
        if given is not None and made is not None:
            found[product.weight_name] = approximate_sensitivity(given, made, product.parameters)
    return found


def _volumes(model: LoadedModel, dims: Mapping[str, int]) -> dict[str, float]:
    bare = _without_external_data(model)
    resolved = resolve_dims(model_inputs(model.proto), None, dims, model.path)
    graph = inferred_graph(bare, resolved)
    volumes: dict[str, float] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
            volumes[value.name] = float(math.prod(d.dim_value for d in tensor.shape.dim)) / max(resolved.batch, 1)
    return volumes


def _without_external_data(model: LoadedModel) -> LoadedModel:
    """The model with tensors that are kept in other files as inputs: their shapes are known, their values not."""
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    graph = proto.graph
    declared = {value.name for value in graph.input}
    kept = []
    for tensor in graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            kept.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    rest = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del graph.initializer[:]
    graph.initializer.extend(rest)
    return LoadedModel(model.path, proto, model.info)
