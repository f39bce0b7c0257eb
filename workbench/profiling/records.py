"""Joining the optimized graph, its origins and the measured times into operator records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import onnx

from workbench.profile import OperatorRecord, Provenance, Tensor, Weight
from workbench.profiling.dtypes import SHORT_NAMES
from workbench.profiling.flops import Call, operator_bytes, operator_flops
from workbench.profiling.loading import LoadedModel
from workbench.profiling.origin import WEIGHTED, Origin
from workbench.profiling.weights import Product, zero_ratios

TensorType = tuple[tuple[int, ...] | None, str]
"""(shape, short dtype)"""


@dataclass(frozen=True)
class Timing:
    """An operator's time: median and minimum in ms, relative half-width of the median's 95 % interval."""

    median_ms: float
    spread: float
    minimum_ms: float


def weight_records(model: LoadedModel, products: Sequence[Product]) -> dict[str, Weight]:
    """Product output → its weight with zero ratios; weights that several products share are read once."""
    masks: dict[tuple[str, bool], tuple[float, float | None]] = {}
    found: dict[str, Weight] = {}
    for product in products:
        key = (product.weight_name, product.output_first)
        if key not in masks:
            masks[key] = zero_ratios(product.zero_mask(model.proto, model.folder))
        elements, blocks = masks[key]
        found[product.output] = Weight(
            name=product.weight_name,
            shape=product.shape,
            dtype=product.dtype,
            zero_ratio=elements,
            zero_block_ratio=blocks if len(product.shape) == 2 else None,
            parameters=product.parameters,
            seen_through=tuple(step.op_type for step in product.steps),
            shared_by=product.shared_by,
        )
    return found


def operator_record(
    index: int,
    node: onnx.NodeProto,
    origin: Origin,
    weights: Mapping[str, Weight],
    types: Mapping[str, TensorType],
    timing: Timing,
    provenance: Provenance,
) -> OperatorRecord:
    """The record of one operator. `types` knows the tensors of the optimized graph."""
    inputs = tuple(_tensor(name, types) for name in node.input if name)
    outputs = tuple(_tensor(name, types) for name in node.output if name)
    product = origin.product
    weight = weights[product.output] if product is not None else None
    supported, reason = _support(node, origin)
    layer = origin.main if origin.main is not None else origin.members[-1] if origin.members else None
    return OperatorRecord(
        index=index,
        operator_type=node.op_type,
        name=node.name or (layer.name if layer is not None and layer.name else f"{node.op_type}_{index}"),
        layer_id=(layer.name or layer.output[0]) if layer is not None else "",
        post_ops=origin.post_ops,
        inputs=inputs,
        outputs=outputs,
        weight=weight,
        sparse_support=supported,
        support_reason=reason,
        latency_ms=timing.median_ms,
        latency_spread=timing.spread,
        latency_min_ms=timing.minimum_ms,
        flops=_flops(node, product, types),
        bytes_moved=operator_bytes(
            node.op_type, [(t.shape, t.dtype) for t in inputs], [(t.shape, t.dtype) for t in outputs]
        ),
        parameters=weight.parameters if weight is not None else 0,
        provenance=provenance,
        note=_note(node, origin),
    )


def initializer_types(graph: onnx.GraphProto) -> dict[str, TensorType]:
    """Types of the tensors stored in the graph."""
    return {t.name: (tuple(t.dims), SHORT_NAMES.get(t.data_type, "?")) for t in graph.initializer}


def array_types(arrays: Mapping[str, np.ndarray]) -> dict[str, TensorType]:
    """Types of the arrays that are fed."""
    return {
        name: (tuple(a.shape), SHORT_NAMES[onnx.helper.np_dtype_to_tensor_dtype(a.dtype)]) for name, a in arrays.items()
    }


def _tensor(name: str, types: Mapping[str, TensorType]) -> Tensor:
    shape, dtype = types.get(name, (None, "?"))
    return Tensor(name, shape, dtype)


def _support(node: onnx.NodeProto, origin: Origin) -> tuple[bool, str]:
    product = origin.product
    if product is not None:
        if origin.other_weights and product.supported:
            return False, f"fused with {len(origin.other_weights)} more weights; set TRUE to include it"
        return product.supported, product.reason
    if node.op_type in WEIGHTED or node.op_type.startswith("Fused"):
        return False, "no constant weight: both operands are activations"
    return False, "no matrix product"


def _flops(node: onnx.NodeProto, product: Product | None, types: Mapping[str, TensorType]) -> float | None:
    def shapes(names: Sequence[str]) -> list[tuple[int, ...] | None]:
        return [types.get(name, (None, ""))[0] if name else None for name in names]

    inputs, outputs = shapes(node.input), shapes(node.output)
    if product is not None and product.is_convolution:
        # Blocked layouts pad channels; the original weight has the true ones.
        place = 3 if node.op_type == "QLinearConv" else 1
        if place < len(inputs):
            inputs[place] = product.stored_dims
        first = outputs[0]
        if first is not None and node.op_type != "ConvTranspose" and len(first) == len(product.shape):
            spatial = prod(first) // first[0] // first[1] if first[1] else 0
            outputs[0] = (first[0], product.shape[0], spatial, *(1,) * (len(first) - 3))
    return operator_flops(Call(node, tuple(inputs), tuple(outputs)))


def _note(node: onnx.NodeProto, origin: Origin) -> str:
    if not origin.members:
        return "added by the runtime" if node.op_type.startswith("Reorder") else "not found in the original model"
    notes = []
    if origin.other_weights:
        notes.append(f"also holds {', '.join(origin.other_weights)}")
    if origin.main is None and len(origin.members) > 1:
        kinds = list(dict.fromkeys(m.op_type for m in origin.members))
        notes.append(f"fused from {', '.join(kinds)}")
    return "; ".join(notes)
