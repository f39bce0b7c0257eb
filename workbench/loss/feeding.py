"""A session whose prunable weights are inputs, so that pruning one costs a plain run and no new session.

Weights become graph inputs and are handed over with each run, without a copy. All else of the model is
optimised as usual. What is lost is what the runtime does to constant weights once (packing, folding a
Transpose or DequantizeLinear), a few percent of a run where M is large.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.loss.layers import PrunableLayer, folded
from workbench.loss.patterns import Pattern, group_scores, removed_groups
from workbench.profiling.inputs import Arrays
from workbench.profiling.loading import LoadedModel, tensor_array
from workbench.profiling.runs import name_nodes
from workbench.profiling.sessions import open_session, reason, session_options
from workbench.profiling.weights import stored_tensor

_FEEDABLE = frozenset("fiub")


class FedSession:
    """The model with the weights of `layers` as inputs; `weights` holds their current values by name."""

    def __init__(self, model: LoadedModel, layers: Iterable[PrunableLayer], threads: int, outputs: list[str]) -> None:
        self.path: Path = model.path
        self.outputs = outputs
        self.weights: Arrays = {
            layer.product.weight_name: np.array(
                tensor_array(stored_tensor(model.proto, layer.product.weight_name), model.folder)
            )
            for layer in layers
        }
        options = session_options(threads)
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(model.folder.resolve())
        )
        self._session = open_session(_with_fed_weights(model, self.weights), options, model.path)

    def run(self, feeds: Arrays) -> Arrays:
        """The outputs for `feeds` with the weights as they are now."""
        try:
            values = self._session.run(self.outputs, {**feeds, **self.weights})
        except Exception as error:
            if not type(error).__module__.startswith("onnxruntime") and not isinstance(error, ValueError):
                raise
            raise ModelError(
                f"the model can't be run with this data: {reason(error)}",
                where=self.path,
                remedy="check the arrays' shapes and values against the model's inputs",
            ) from None
        return {name: np.asarray(value) for name, value in zip(self.outputs, values, strict=True)}


class LayerPruner:
    """Prunes one layer's weight in place, level after level, and puts it back."""

    def __init__(self, model: LoadedModel, layer: PrunableLayer, pattern: Pattern, stored: NDArray[np.generic]) -> None:
        """`stored` is the weight as the session gets it; it is changed in place."""
        product = layer.product
        scores = group_scores(layer.weight(model), pattern)
        index = folded(product.index_map())
        rows, columns = index.shape
        groups = index.reshape(rows // pattern.rows, pattern.rows, columns).transpose(0, 2, 1)
        order = np.argsort(scores, axis=None, kind="stable")
        self._places = groups.reshape(-1, pattern.rows)[order]
        self._pattern = pattern
        self._stored = stored
        self._dense = stored.copy()
        self._removed = 0
        zero = np.zeros(1) if product.quantization is None else product.quantization.zero_point
        self._zeros = np.broadcast_to(zero, stored.shape).astype(stored.dtype).reshape(-1)

    def prune(self, level: float) -> None:
        """Zero (set to the zero point) the groups of least magnitude; only what the level before didn't."""
        count = int(removed_groups([level], len(self._places), self._pattern)[0])
        if count < self._removed:
            self.restore()
        places = self._places[self._removed : count].reshape(-1)
        self._stored.reshape(-1)[places] = self._zeros[places]
        self._removed = count

    def restore(self) -> None:
        """The dense weight again."""
        self._stored[...] = self._dense
        self._removed = 0


def feedable(model: LoadedModel, layer: PrunableLayer) -> str:
    """Why the layer's weight can't be made an input; empty where it can."""
    name = layer.product.weight_name
    top = {t.name for t in model.proto.graph.initializer}
    top |= {n.output[0] for n in model.proto.graph.node if n.op_type == "Constant"}
    if name not in top:
        return "the weight is inside a branch or loop"
    stored = tensor_array(stored_tensor(model.proto, name), model.folder)
    if stored.dtype.kind not in _FEEDABLE:
        return f"weights of type {layer.product.dtype} can't be handed to the runtime"
    return ""


def _with_fed_weights(model: LoadedModel, weights: Arrays) -> bytes:
    """The model's bytes with the named constants turned into inputs."""
    source = model.proto
    graph = onnx.GraphProto()
    declared = {value.name for value in source.graph.input}
    for tensor in source.graph.initializer:
        if tensor.name not in weights:
            graph.initializer.add().CopyFrom(tensor)
    types = {name: onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in weights.items()}
    graph.node.extend(n for n in source.graph.node if n.op_type != "Constant" or n.output[0] not in weights)
    graph.input.extend(source.graph.input)
    graph.input.extend(
        onnx.helper.make_tensor_value_info(name, types[name], array.shape)
        for name, array in weights.items()
        if name not in declared
    )
    graph.output.extend(source.graph.output)
    graph.value_info.extend(v for v in source.graph.value_info if v.name not in weights)
    graph.sparse_initializer.extend(source.graph.sparse_initializer)
    graph.quantization_annotation.extend(source.graph.quantization_annotation)
    graph.name = source.graph.name or "model"
    fed = onnx.ModelProto()
    fed.ir_version = max(source.ir_version, 4)
    fed.opset_import.extend(source.opset_import)
    fed.functions.extend(source.functions)
    fed.graph.CopyFrom(graph)
    name_nodes(fed.graph)
    try:
        return bytes(fed.SerializeToString())
    except ValueError:
        raise ModelError(
            "the rest of the model is above 2 GB", where=model.path, remedy="save it with external data"
        ) from None
