"""Finding the constant weights of a model's matrix products and convolutions, as in the original file.

A weight may stand behind Transpose, Reshape, Cast, DequantizeLinear or a Constant node; the chain of steps
between initializer and product is kept, so that a weight can be read as N x K and written back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from workbench.profile import BLOCK_ROWS
from workbench.profiling.dtypes import SHORT_NAMES
from workbench.profiling.loading import tensor_array

_WEIGHT_INPUTS: dict[str, tuple[int, ...]] = {
    "MatMul": (1, 0),
    "Gemm": (1, 0),
    "FusedMatMul": (1, 0),
    "FusedGemm": (1, 0),
    "TransposeMatMul": (1, 0),
    "MatMulInteger": (1, 0),
    "MatMulIntegerToFloat": (1, 0),
    "DynamicQuantizeMatMul": (1,),
    "QLinearMatMul": (3, 0),
    "QGemm": (3,),
    "MatMulNBits": (1,),
    "Attention": (1,),
    "QAttention": (1,),
    "Conv": (1,),
    "ConvTranspose": (1,),
    "FusedConv": (1,),
    "ConvInteger": (1,),
    "QLinearConv": (3,),
    "LSTM": (1,),
    "GRU": (1,),
    "RNN": (1,),
    "DynamicQuantizeLSTM": (1,),
}
"""Operator → its inputs that may be the weight, the usual one first."""

_QUANTIZATION_INPUTS: dict[str, dict[int, tuple[int, int]]] = {
    "QLinearMatMul": {3: (4, 5), 0: (1, 2)},
    "QLinearConv": {3: (4, 5)},
    "QGemm": {3: (4, 5)},
    "MatMulInteger": {1: (-1, 3), 0: (-1, 2)},
    "MatMulIntegerToFloat": {1: (3, 5), 0: (2, 4)},
    "DynamicQuantizeMatMul": {1: (2, 3)},
    "ConvInteger": {1: (-1, 3)},
    "QAttention": {1: (4, 7)},
}
"""Operator → weight input → (scale input, zero point input); -1 where there is none."""

CONVOLUTIONS = frozenset({"Conv", "ConvTranspose", "FusedConv", "ConvInteger", "QLinearConv"})
RECURRENT = frozenset({"LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"})
PRODUCTS = frozenset(_WEIGHT_INPUTS) - CONVOLUTIONS - RECURRENT
"""Operators that are matrix products."""

_RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})
_SCALING = ("Mul", "Div", "Sub")
_BEHIND = ("Transpose", "Reshape", "Cast", "DequantizeLinear", "Identity", "Squeeze", "Unsqueeze", "Flatten")


@dataclass(frozen=True)
class Step:
    """One operator between an initializer and its product."""

    op_type: str
    perm: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    """The shape after the step."""


@dataclass(frozen=True)
class Quantization:
    """Scale and zero point of a quantized weight, in the layout of the stored initializer."""

    scale: NDArray[np.float64]
    zero_point: NDArray[np.float64]


@dataclass(frozen=True)
class Product:
    """A matrix product or convolution of the original model whose weight is a constant."""

    node: str
    """The node's name in the model; may be empty."""
    op_type: str
    output: str
    """The node's first output, which identifies it where the name is empty."""
    activation: str
    """The tensor that is multiplied by the weight."""
    weight_name: str
    """The initializer (or Constant output) that holds the weight."""
    stored_dims: tuple[int, ...]
    dtype: str
    shape: tuple[int, ...]
    """N x K for a product of rank 2; the ONNX dims (N, C/groups, kernel…) for a convolution."""
    output_first: bool
    """Whether the weight, as the product gets it, has the output channels first (N x K)."""
    steps: tuple[Step, ...]
    groups: int
    quantization: Quantization | None
    supported: bool
    reason: str
    """Why `supported` is what it is."""
    shared_by: int = 1

    @property
    def is_convolution(self) -> bool:
        """Whether the operator is a convolution."""
        return self.op_type in CONVOLUTIONS

    @property
    def parameters(self) -> int:
        """Elements of the weight."""
        return int(np.prod(self.stored_dims))

    def index_map(self) -> NDArray[np.intp]:
        """N x K array: where each element stands in the flattened stored initializer."""
        index = np.arange(self.parameters, dtype=np.intp).reshape(self.stored_dims)
        for step in self.steps:
            if step.perm is not None:
                index = index.transpose(step.perm)
            elif step.shape is not None:
                index = index.reshape(step.shape)
        if self.op_type == "ConvTranspose":
            # C x M/groups x kernel…: output channels are the second axis.
            index = np.moveaxis(index, 1, 0)
        if self.is_convolution or self.op_type in RECURRENT:
            split = (index.shape[0], -1) if self.is_convolution else (-1, index.shape[-1])
            return index.reshape(split)
        return index if self.output_first else np.swapaxes(index, -1, -2)

    def read(self, model: onnx.ModelProto, folder: Path) -> NDArray[np.float32]:
        """The weight as float32 N x K (convolutions: N x everything else), dequantized."""
        stored = tensor_array(stored_tensor(model, self.weight_name), folder)
        values = stored.astype(np.float32)
        if self.quantization is not None:
            values = ((values - self.quantization.zero_point) * self.quantization.scale).astype(np.float32)
        return np.ascontiguousarray(values.ravel()[self.index_map()], dtype=np.float32)

    def zero_mask(self, model: onnx.ModelProto, folder: Path) -> NDArray[np.bool_]:
        """N x K: which elements are zero (equal to the zero point for a quantized weight)."""
        stored = tensor_array(stored_tensor(model, self.weight_name), folder).astype(np.float32)
        zero = np.zeros((), np.float64) if self.quantization is None else self.quantization.zero_point
        mask: NDArray[np.bool_] = (stored == zero).ravel()[self.index_map()]
        return mask

    def zero_out(self, model: onnx.ModelProto, folder: Path, mask: NDArray[np.bool_]) -> None:
        """Set the elements where `mask` (N x K) holds to zero, in `model`; its data becomes internal."""
        tensor = stored_tensor(model, self.weight_name)
        stored = np.array(tensor_array(tensor, folder))
        zero = np.zeros(1) if self.quantization is None else self.quantization.zero_point
        zeros = np.broadcast_to(zero, stored.shape).astype(stored.dtype).ravel()
        flat = stored.ravel()
        places = self.index_map()[mask]
        flat[places] = zeros[places]
        tensor.CopyFrom(numpy_helper.from_array(flat.reshape(stored.shape), tensor.name))


def zero_ratios(mask: NDArray[np.bool_]) -> tuple[float, float | None]:
    """Share of zero elements, and of all-zero 4x1 blocks (4 consecutive output channels by 1 input channel).

    `mask` is N x K. The second is None where N is not divisible by 4.
    """
    if not mask.size:
        return 0.0, None
    elements = float(mask.mean())
    if mask.ndim != 2 or mask.shape[0] % BLOCK_ROWS:
        return elements, None
    blocks = mask.reshape(mask.shape[0] // BLOCK_ROWS, BLOCK_ROWS, mask.shape[1]).all(axis=1)
    return elements, float(blocks.mean())


def stored_tensor(model: onnx.ModelProto, name: str) -> onnx.TensorProto:
    """The initializer, or the value of the Constant node, called `name`. Raises `KeyError`."""
    for scope in _scopes(model.graph, {}):
        if name in scope.tensors:
            return scope.tensors[name]
    raise KeyError(name)


def find_products(model: onnx.ModelProto, folder: Path | None = None) -> tuple[Product, ...]:
    """Every matrix product and convolution with a constant weight, in graph order, inner graphs included.

    `folder` holds the model's external data; only scales and zero points are read.
    """
    folder = folder or Path()
    found: list[Product] = []
    for scope in _scopes(model.graph, {}):
        for node in scope.graph.node:
            product = _product(node, scope, folder)
            if product is not None:
                found.append(product)
    uses = Counter(p.weight_name for p in found)
    return tuple(replace(p, shared_by=uses[p.weight_name]) for p in found)


@dataclass(frozen=True)
class _Scope:
    graph: onnx.GraphProto
    tensors: dict[str, onnx.TensorProto]
    producers: dict[str, onnx.NodeProto]
    constants: frozenset[str]


def _scopes(graph: onnx.GraphProto, outer: dict[str, onnx.TensorProto]) -> Iterator[_Scope]:
    """`graph` and its inner graphs, each with the tensors that it sees."""
    tensors = dict(outer)
    tensors.update((t.name, t) for t in graph.initializer)
    producers: dict[str, onnx.NodeProto] = {}
    constants = set(tensors)
    for node in graph.node:
        producers.update((o, node) for o in node.output if o)
        value = next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)
        if node.op_type == "Constant" and value is not None:
            tensors[node.output[0]] = value
        inner = any(a.HasField("g") or a.graphs for a in node.attribute)
        if node.op_type not in _RANDOM and not inner and all(not i or i in constants for i in node.input):
            constants.update(node.output)
    yield _Scope(graph, tensors, producers, frozenset(constants))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _scopes(attribute.g, tensors)
            for inner_graph in attribute.graphs:
                yield from _scopes(inner_graph, tensors)


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)


def _product(node: onnx.NodeProto, scope: _Scope, folder: Path) -> Product | None:
    places = _WEIGHT_INPUTS.get(node.op_type)
    if places is None:
        return None
    place = next((p for p in places if p < len(node.input) and node.input[p] in scope.constants), None)
    if place is None:
        return None
    others = [node.input[p] for p in (0, 1) if p != place and p < len(node.input)]
    activation = others[0] if others else node.input[0]
    if activation in scope.constants:
        return None
    traced = _trace_back(node.input[place], scope, folder)
    if traced is None:
        return None
    name, steps, quantization, followed = traced
    tensor = scope.tensors[name]
    dims = tuple(tensor.dims)
    if place in _QUANTIZATION_INPUTS.get(node.op_type, {}):
        quantization = _operator_quantization(node, place, dims, scope, folder)
    seen = next((s.shape for s in reversed(steps) if s.shape is not None), dims)
    output_first = _output_first(node, place)
    groups = _attribute(node, "group", 1) if node.op_type in CONVOLUTIONS else 1
    if node.op_type == "ConvTranspose":
        shape = (seen[1] * groups, seen[0] // groups, *seen[2:])
    elif node.op_type in CONVOLUTIONS or node.op_type in RECURRENT or len(seen) < 2 or output_first:
        shape = seen
    else:
        shape = (*seen[:-2], seen[-1], seen[-2])
    supported, reason = _support(node.op_type, shape, followed)
    return Product(
        node.name, node.op_type, node.output[0], activation, name, dims,
        SHORT_NAMES.get(tensor.data_type, "?"), shape, output_first, tuple(steps), groups, quantization,
        supported, reason,
    )  # fmt: skip


def _output_first(node: onnx.NodeProto, place: int) -> bool:
    """Whether the weight's rows are output channels: Y = X·W has them last, Y = X·Wᵀ and Y = W·X first."""
    if node.op_type in CONVOLUTIONS or node.op_type in RECURRENT:
        return True
    as_first_operand = place == 0
    turned = bool(_attribute(node, "transA" if as_first_operand else "transB", 0))
    return turned != as_first_operand


def _support(op_type: str, shape: tuple[int, ...], followed: bool) -> tuple[bool, str]:
    if op_type in RECURRENT:
        return False, "recurrent layer: its weights are not one matrix product"
    if op_type in CONVOLUTIONS:
        if all(size == 1 for size in shape[2:]):
            return False, "1x1 convolution: a product in some engines; set TRUE to include it"
        return False, "convolution, not a matrix product"
    if op_type == "MatMulNBits":
        return False, "weight is packed in blocks of a few bits"
    if len(shape) != 2:
        return False, f"weight has rank {len(shape)}, not 2"
    if not followed:
        return False, "weight is computed by the graph, not stored"
    if shape[0] % BLOCK_ROWS:
        return False, f"{shape[0]} output channels are not divisible by {BLOCK_ROWS}"
    return True, "matrix product with a constant weight"


def _trace_back(tensor: str, scope: _Scope, folder: Path) -> tuple[str, list[Step], Quantization | None, bool] | None:
    """Initializer behind `tensor`, the steps from it, its quantization, and whether all steps are known."""
    chain: list[onnx.NodeProto] = []
    followed = True
    while tensor not in scope.tensors:
        node = scope.producers.get(tensor)
        if node is None or not node.input:
            return None
        followed = followed and (node.op_type in _BEHIND or node.op_type in _SCALING)
        chain.append(node)
        constant = [i for i in node.input if i in scope.constants]
        if not constant:
            return None
        tensor = node.input[0] if node.op_type in _BEHIND else max(constant, key=lambda i: _size(i, scope))
    steps: list[Step] = []
    quantization: Quantization | None = None
    shape = tuple(scope.tensors[tensor].dims)
    for node in reversed(chain):
        if node.op_type == "DequantizeLinear":
            axis = _attribute(node, "axis", 1)
            quantization = _quantization(node.input[1], node.input[2:3], axis, shape, scope, folder)
            quantization = _in_stored_layout(quantization, steps)
            steps.append(Step(node.op_type))
            continue
        if node.op_type in _SCALING:
            scaled = _scaled(node, quantization, shape, scope, folder)
            followed = followed and scaled is not None
            quantization = None if scaled is None else _in_stored_layout(scaled, steps)
            steps.append(Step(node.op_type))
            continue
        step = _step(node, shape, scope, folder)
        if step is None:
            followed = False
            steps.append(Step(node.op_type))
            continue
        steps.append(step)
        shape = step.shape or shape
    return tensor, steps, quantization, followed


def _size(tensor: str, scope: _Scope) -> float:
    return float(np.prod(scope.tensors[tensor].dims)) if tensor in scope.tensors else np.inf


def _step(node: onnx.NodeProto, shape: tuple[int, ...], scope: _Scope, folder: Path) -> Step | None:
    """What `node` does to a tensor of `shape`; None where it does more than move elements."""
    kind = node.op_type
    if kind in ("Cast", "Identity"):
        return Step(kind)
    if kind == "Transpose":
        perm = next((tuple(a.ints) for a in node.attribute if a.name == "perm"), ())
        perm = perm or tuple(reversed(range(len(shape))))
        return Step(kind, perm, tuple(shape[p] for p in perm))
    if kind == "Flatten":
        axis = _attribute(node, "axis", 1)
        return Step(kind, None, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))))
    index = np.empty(shape, dtype=np.int8)
    if kind == "Reshape" and node.input[1] in scope.tensors:
        wanted = [int(v) for v in tensor_array(scope.tensors[node.input[1]], folder).ravel()]
        if not _attribute(node, "allowzero", 0):
            wanted = [shape[i] if v == 0 else v for i, v in enumerate(wanted)]
        return Step(kind, None, index.reshape(wanted).shape)
    if kind in ("Squeeze", "Unsqueeze"):
        axes = next((list(a.ints) for a in node.attribute if a.name == "axes"), None)
        if axes is None and len(node.input) > 1 and node.input[1] in scope.tensors:
            axes = [int(v) for v in tensor_array(scope.tensors[node.input[1]], folder).ravel()]
        if kind == "Squeeze":
            squeezed = index.squeeze() if axes is None else index.squeeze(tuple(axes))
            return Step(kind, None, squeezed.shape)
        return Step(kind, None, np.expand_dims(index, tuple(axes or ())).shape)
    return None


def _quantization(
    scale: str,
    zero_point: Sequence[str],
    axis: int,
    shape: tuple[int, ...],
    scope: _Scope,
    folder: Path,
) -> Quantization:
    """Scale and zero point spread so that they broadcast over a tensor of `shape`."""

    def spread(name: str, default: float) -> NDArray[np.float64]:
        if name not in scope.tensors:
            return np.full((), default)
        values = np.asarray(tensor_array(scope.tensors[name], folder), dtype=np.float64)
        if values.size == 1:
            return values.reshape(())
        if values.ndim == 1 and shape and values.size == shape[axis % len(shape)]:
            return values.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])
        if values.ndim == len(shape):
            for i, (have, want) in enumerate(zip(values.shape, shape, strict=True)):
                if have != want:
                    values = np.repeat(values, -(-want // have), axis=i).take(np.arange(want), axis=i)
        return values

    return Quantization(spread(scale, 1.0), spread(zero_point[0] if zero_point else "", 0.0))


def _scaled(
    node: onnx.NodeProto, before: Quantization | None, shape: tuple[int, ...], scope: _Scope, folder: Path
) -> Quantization | None:
    """Dequantization written out as Sub and Mul (or Div) with constants; None where it is something else."""
    factors = [i for i in node.input if i in scope.tensors and _size(i, scope) < np.prod(shape)]
    if len(factors) != 1 or (node.op_type != "Mul" and node.input[1] != factors[0]):
        return None
    value = np.asarray(tensor_array(scope.tensors[factors[0]], folder), dtype=np.float64)
    if value.ndim > len(shape):
        return None
    value = value.reshape((1,) * (len(shape) - value.ndim) + value.shape)
    if node.op_type == "Sub":
        return Quantization(np.ones(()), value) if before is None else None
    scale = value if node.op_type == "Mul" else 1.0 / value
    return (
        Quantization(scale, np.zeros(())) if before is None else Quantization(before.scale * scale, before.zero_point)
    )


def _in_stored_layout(quantization: Quantization, steps: list[Step]) -> Quantization:
    """`quantization` as it is before `steps` (a DequantizeLinear may come after a Transpose)."""

    def undone(values: NDArray[np.float64]) -> NDArray[np.float64]:
        for step in reversed(steps):
            if values.ndim and step.perm is not None:
                values = values.transpose(np.argsort(step.perm))
        return values

    return Quantization(undone(quantization.scale), undone(quantization.zero_point))


def _operator_quantization(
    node: onnx.NodeProto, place: int, dims: tuple[int, ...], scope: _Scope, folder: Path
) -> Quantization:
    scale_at, zero_at = _QUANTIZATION_INPUTS[node.op_type][place]
    names = ["" if at < 0 or at >= len(node.input) else node.input[at] for at in (scale_at, zero_at)]
    axis = 0 if node.op_type in CONVOLUTIONS else -1
    return _quantization(names[0], [names[1]], axis, dims, scope, folder)
