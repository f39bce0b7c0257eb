"""Theoretical operations and bytes of an operator, from its run-time shapes.

Two operations per multiply-add everywhere, the number of rows (M) included. Operators that only move data
count 0. None where no rule is known, so that nothing unknown passes for 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import onnx

from workbench.profiling.dtypes import ITEM_BYTES

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """One run of a node. Shapes are None where unknown or the optional tensor is absent."""

    node: onnx.NodeProto
    inputs: tuple[Shape | None, ...]
    outputs: tuple[Shape | None, ...]

    def attribute(self, name: str, default: int) -> int:
        """An integer attribute."""
        return next((int(a.i) for a in self.node.attribute if a.name == name), default)

    def input(self, place: int) -> Shape:
        """An input's shape. Raises `_Unknown`."""
        shape = self.inputs[place] if place < len(self.inputs) else None
        if shape is None:
            raise _Unknown
        return shape

    @property
    def output(self) -> Shape:
        """The first output's shape. Raises `_Unknown`."""
        if not self.outputs or self.outputs[0] is None:
            raise _Unknown
        return self.outputs[0]


class _Unknown(Exception):
    """A shape that the rule needs is not known."""


Rule = Callable[[Call], float]
_RULES: dict[str, Rule] = {}


def rule(*operators: str) -> Callable[[Rule], Rule]:
    """Register a function as the count for `operators`."""

    def register(function: Rule) -> Rule:
        _RULES.update(dict.fromkeys(operators, function))
        return function

    return register


def operator_flops(call: Call) -> float | None:
    """Operations of one run; None where the operator or a shape is unknown."""
    found = _RULES.get(call.node.op_type)
    if found is None:
        return None
    try:
        return float(found(call))
    except _Unknown:
        return None


_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})
"""The runtime hands the same memory on."""
_PICKERS = frozenset({"Gather", "GatherElements", "GatherND", "Slice", "EmbedLayerNormalization"})
"""They read of a table what they put out, not all of it."""

Typed = tuple[Shape | None, str]
"""A tensor's shape and short dtype."""


def operator_bytes(operator_type: str, inputs: Sequence[Typed], outputs: Sequence[Typed]) -> float | None:
    """Bytes of all tensors, each read or written once; None where one is unknown.

    Views move nothing, and what picks from a table reads as much of it as it puts out.
    """
    if operator_type in _VIEWS or operator_type == "Shape":
        return 0.0
    read = [_tensor_bytes(shape, dtype) for shape, dtype in inputs]
    written = [_tensor_bytes(shape, dtype) for shape, dtype in outputs]
    if None in read or None in written:
        return None
    total = sum(b for b in written if b is not None)
    most = total if operator_type in _PICKERS else float("inf")
    return total + sum(min(b, most) for b in read if b is not None)


def _tensor_bytes(shape: Shape | None, dtype: str) -> float | None:
    return None if shape is None or dtype not in ITEM_BYTES else float(prod(shape) * ITEM_BYTES[dtype])


@rule("MatMul", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "FusedMatMul", "TransposeMatMul",
      "FusedMatMulActivation")  # fmt: skip
def _matmul(call: Call) -> float:
    """2·M·N·K for each product of the batch."""
    first = call.input(0)
    if len(first) < 2:
        depth = first[0] if first else 1
    else:
        depth = first[-2] if call.attribute("transA", 0) else first[-1]
    return 2.0 * prod(call.output) * depth


@rule("QLinearMatMul")
def _qlinear_matmul(call: Call) -> float:
    return 2.0 * prod(call.output) * call.input(0)[-1]


@rule("MatMulNBits")
def _matmul_nbits(call: Call) -> float:
    return 2.0 * prod(call.output) * call.attribute("K", 0)


@rule("Gemm", "FusedGemm", "QGemm")
def _gemm(call: Call) -> float:
    """2·M·N·K, and M·N for the bias."""
    first = call.input(0)
    depth = first[0] if call.attribute("transA", 0) else first[1]
    places = {"QGemm": 6}
    place = places.get(call.node.op_type, 2)
    bias = len(call.node.input) > place and bool(call.node.input[place])
    return prod(call.output) * (2.0 * depth + bias)


@rule("Conv", "FusedConv", "NhwcFusedConv", "NhwcConv", "ConvInteger")
def _conv(call: Call) -> float:
    """2·prod(output)·(C/groups)·prod(kernel), and the bias; dilation moves taps, it adds none."""
    weight = call.input(1)
    bias = len(call.node.input) > 2 and bool(call.node.input[2]) and call.node.op_type != "ConvInteger"
    return prod(call.output) * (2.0 * prod(weight[1:]) + bias)


@rule("QLinearConv")
def _qlinear_conv(call: Call) -> float:
    return 2.0 * prod(call.output) * prod(call.input(3)[1:])


@rule("ConvTranspose")
def _conv_transpose(call: Call) -> float:
    """2·prod(input)·(M/groups)·prod(kernel): each input element is spread over the kernel; and the bias."""
    bias = len(call.node.input) > 2 and bool(call.node.input[2])
    return 2.0 * prod(call.input(0)) * prod(call.input(1)[1:]) + bias * prod(call.output)


@rule("Attention", "QAttention")
def _attention(call: Call) -> float:
    """Projections to Q, K and V, scores, softmax (5 a score) and the weighted sum."""
    batch, length, hidden = call.input(0)
    projected = call.input(1)[1]
    value = projected // 3
    scores = batch * length * length
    heads = call.attribute("num_heads", 1)
    return 2.0 * batch * length * hidden * projected + 4.0 * scores * value + 5.0 * scores * heads


@rule("MultiHeadAttention")
def _multi_head_attention(call: Call) -> float:
    query, key = call.input(0), call.input(1)
    batch, length, hidden = query[0], query[1], query[-1]
    scores = batch * length * key[1]
    return 4.0 * scores * hidden + 5.0 * scores * call.attribute("num_heads", 1)


def _recurrent(gates: int) -> Rule:
    def count(call: Call) -> float:
        """Each gate: 2·(input + hidden)·hidden a step, and about 5 elementwise operations a gate element."""
        length, batch, size = call.input(0)
        directions, _, hidden = call.input(2)
        per_step = gates * hidden * (2.0 * (size + hidden) + 5.0)
        return directions * length * batch * per_step

    return count


rule("LSTM", "DynamicQuantizeLSTM")(_recurrent(4))
rule("GRU")(_recurrent(3))
rule("RNN")(_recurrent(1))


def _per_output(operations: float) -> Rule:
    return lambda call: operations * prod(call.output)


def _per_input(operations: float) -> Rule:
    return lambda call: operations * prod(call.input(0))


for _cost, _names in {
    1.0: "Add Sub Mul Div Pow Mod Neg Abs Relu LeakyRelu PRelu ThresholdedRelu Min Max Sqrt Reciprocal Floor Ceil "
    "Round Sign Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Not Where Clip Exp Log Sin Cos Tan IsNaN "
    "IsInf BitShift CumSum Trilu Dropout",
    2.0: "BiasAdd BatchNormalization",
    4.0: "Sigmoid Tanh HardSigmoid HardSwish Elu Selu Softplus Softsign Mish Erf",
    5.0: "Softmax LogSoftmax Hardmax QuickGelu BiasSoftmax",
    8.0: "Gelu FastGelu BiasGelu",
}.items():
    rule(*_names.split())(_per_output(_cost))

rule("LayerNormalization", "SkipLayerNormalization", "EmbedLayerNormalization", "GroupNorm", "InstanceNormalization",
     "GroupNormalization")(_per_output(8.0))  # fmt: skip
rule("SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", "RMSNormalization",
     "LpNormalization")(_per_output(5.0))  # fmt: skip
rule("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearAdd", "QLinearMul", "QLinearSigmoid",
     "QLinearLeakyRelu", "QLinearConcat")(_per_output(2.0))  # fmt: skip
rule("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ArgMax", "ArgMin", "GlobalAveragePool",
     "GlobalMaxPool", "QLinearGlobalAveragePool", "TopK")(_per_input(1.0))  # fmt: skip
rule("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")(_per_input(2.0))
rule("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Shape", "Size", "Gather", "GatherElements",
     "GatherND", "Concat", "Split", "Slice", "Cast", "CastLike", "Expand", "Tile", "Pad", "Constant", "ConstantOfShape",
     "Range", "OneHot", "NonZero", "ScatterND", "ScatterElements", "Resize", "Upsample", "DepthToSpace", "SpaceToDepth",
     "ReorderInput", "ReorderOutput", "MemcpyToHost", "MemcpyFromHost", "EyeLike", "ReverseSequence",
     "Compress")(lambda call: 0.0)  # fmt: skip


@rule("AveragePool", "MaxPool", "LpPool", "QLinearAveragePool")
def _pool(call: Call) -> float:
    """prod(output)·prod(kernel)."""
    kernel = next((tuple(a.ints) for a in call.node.attribute if a.name == "kernel_shape"), ())
    return float(prod(call.output) * prod(kernel))


@rule("Einsum")
def _einsum(call: Call) -> float:
    """2 for every combination of all labels."""
    equation = next((a.s.decode() for a in call.node.attribute if a.name == "equation"), "")
    sizes: dict[str, int] = {}
    for labels, place in zip(
        equation.replace(" ", "").split("->")[0].split(","), range(len(call.inputs)), strict=False
    ):
        if "." in labels:
            raise _Unknown
        sizes.update(zip(labels, call.input(place), strict=False))
    return 2.0 * prod(sizes.values())
