"""From the nodes that ran back to the original model's nodes and weights.

ONNX Runtime rewrites the graph: it fuses, folds, reorders layouts and renames. What it keeps are the *output
tensor names* of what it leaves or fuses. So the optimized nodes' outputs are anchored to original tensors
(by name, then by undoing known renamings, then through layout and quantization nodes), and walking up the
original graph from a node's anchored outputs to its anchored inputs meets the nodes that it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from workbench.profiling.weights import CONVOLUTIONS, PRODUCTS, RECURRENT, Product

_PASS_THROUGH = frozenset(
    {"ReorderOutput", "ReorderInput", "Transpose", "QuantizeLinear", "DequantizeLinear", "Cast", "Reshape"}
)
_RENAMINGS = (
    (re.compile(r"_nchwc$"), ""),
    (re.compile(r"_token_\d+$"), ""),
    (re.compile(r"^fused "), ""),
    (re.compile(r"/MatMulAddFusion/?$"), ""),
    (re.compile(r"_transformed$"), ""),
    (re.compile(r"_quant$"), ""),
    (re.compile(r"_output_quantized$"), ""),
)
_WITHOUT_WORK = frozenset({"Constant", "Identity"})
_NO_POST_OPERATOR = frozenset({"DequantizeLinear", "QuantizeLinear", "Cast", "Reshape", "Transpose", "Shape"})
WEIGHTED = PRODUCTS | CONVOLUTIONS | RECURRENT | {"NhwcFusedConv", "QLinearConv"}
"""Runtime operators that multiply by a weight, where there is one."""


@dataclass(frozen=True)
class Origin:
    """The original nodes that one node of the optimized graph stands for."""

    members: tuple[onnx.NodeProto, ...]
    """In the original graph's order, without constants; empty where nothing was found."""
    main: onnx.NodeProto | None
    """The member that does the work: the product, or the one of the same type as the node that ran."""
    product: Product | None
    """The product among the members whose weight the node uses."""
    post_ops: tuple[str, ...]
    """What was fused behind the main node: `bias` adds a constant, `sum` another activation, `gelu`, `relu`, …"""
    other_weights: tuple[str, ...] = ()
    """Weights of further products among the members (a fused attention holds three)."""


def trace_origins(
    original: onnx.ModelProto, optimized: onnx.GraphProto, products: Iterable[Product]
) -> tuple[Origin, ...]:
    """An `Origin` for each node of `optimized`, in order."""
    graph = _OriginalGraph(original)
    nodes = list(optimized.node)
    anchors = _anchors(nodes, graph)
    by_output = {p.output: p for p in products}
    sizes = {t.name: int(np.prod(t.dims)) for t in optimized.initializer}
    targets = set(anchors.values())
    found: list[Origin] = []
    for node in nodes:
        outputs = [anchors[o] for o in node.output if o in anchors]
        members = graph.between(outputs, {anchors.get(i, i) for i in node.input if i}, targets)
        mine = [by_output[m.output[0]] for m in members if m.output[0] in by_output]
        if not _multiplies_by_a_weight(node):
            mine = []
        stored = {sizes[i] for i in node.input if i in sizes}
        product = next((p for p in mine if p.parameters in stored), mine[0] if mine else None)
        main = _main(node, members, product)
        found.append(
            Origin(
                tuple(members),
                main,
                product,
                _with_runtime_fusions(node, _post_operators(members, main, graph.constants), product),
                tuple(p.weight_name for p in mine if p is not product),
            )
        )
    return tuple(found)


def _multiplies_by_a_weight(node: onnx.NodeProto) -> bool:
    kind = node.op_type.removeprefix("Nhwc").removeprefix("Fused").removeprefix("Quick")
    return node.op_type in WEIGHTED or kind in WEIGHTED


def _main(node: onnx.NodeProto, members: Sequence[onnx.NodeProto], product: Product | None) -> onnx.NodeProto | None:
    if product is not None:
        return next(m for m in members if product.output in m.output)
    kinds = (node.op_type, node.op_type.removeprefix("Fused"), node.op_type.removeprefix("QLinear"))
    same = next((m for m in members if m.op_type in kinds), None)
    return same if same is not None else members[0] if len(members) == 1 else None


def _post_operators(
    members: Sequence[onnx.NodeProto], main: onnx.NodeProto | None, constants: set[str]
) -> tuple[str, ...]:
    if main is None:
        return ()
    start = next(i for i, m in enumerate(members) if m is main) + 1
    after = [m for m in members[start:] if m.op_type not in _NO_POST_OPERATOR]
    erf = {o for m in after if m.op_type == "Erf" for o in m.output}
    if erf:
        after = [m for m in after if m.op_type not in ("Div", "Mul") and not any(i in erf for i in m.input)]
    return tuple(_word(m, constants) for m in after)


def _with_runtime_fusions(node: onnx.NodeProto, found: tuple[str, ...], product: Product | None) -> tuple[str, ...]:
    """`found` and what the runtime fused in its own layout, where tensor names don't show it."""
    if product is None:
        return found
    extra: list[str] = []
    if product.is_convolution and node.domain == "com.microsoft.nchwc" and len(node.input) > 3 and node.input[3]:
        extra.append("sum")
    activation = next((a.s.decode().lower() for a in node.attribute if a.name == "activation"), "")
    if activation:
        extra.append(activation)
    kept = [word for word in found if word not in extra]
    return (*kept, *extra)


def _word(node: onnx.NodeProto, constants: set[str]) -> str:
    if node.op_type == "Add":
        return "bias" if any(i in constants for i in node.input) else "sum"
    return {"Erf": "gelu", "BatchNormalization": "batch_norm"}.get(node.op_type, node.op_type.lower())


class _OriginalGraph:
    """Producers, constants and order of the original model's main graph."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes = list(model.graph.node)
        self.order = {id(node): i for i, node in enumerate(self.nodes)}
        self.producers = {o: node for node in self.nodes for o in node.output if o}
        self.by_name = {node.name: node for node in self.nodes if node.name}
        self.constants = {t.name for t in model.graph.initializer}
        for node in self.nodes:
            if node.op_type == "Constant" or (node.input and all(not i or i in self.constants for i in node.input)):
                self.constants.update(o for o in node.output if o)
        self.tensors = set(self.producers) | {v.name for v in model.graph.input} | self.constants

    def between(self, outputs: Sequence[str], stops: set[str], anchored: set[str]) -> list[onnx.NodeProto]:
        """Nodes from `outputs` up to `stops` or another node's anchored output, in graph order."""
        members: dict[int, onnx.NodeProto] = {}
        seen: set[str] = set()
        waiting = list(outputs)
        while waiting:
            tensor = waiting.pop()
            if tensor in seen or tensor in self.constants or tensor not in self.producers:
                continue
            seen.add(tensor)
            if tensor not in outputs and (tensor in anchored or tensor in stops):
                continue
            node = self.producers[tensor]
            if id(node) not in members:
                if node.op_type not in _WITHOUT_WORK:
                    members[id(node)] = node
                waiting += [i for i in node.input if i]
        return sorted(members.values(), key=lambda node: self.order[id(node)])


def _anchors(optimized: Sequence[onnx.NodeProto], graph: _OriginalGraph) -> dict[str, str]:
    """Tensor of the optimized graph → tensor of the original one that it stands for."""
    anchors: dict[str, str] = {}
    for node in optimized:
        for position, output in enumerate(node.output):
            if not output:
                continue
            if output in graph.tensors:
                anchors[output] = output
            elif position == 0:
                renamed = _undone(node, output, graph)
                if renamed:
                    anchors[output] = renamed
    for node in optimized:
        if node.op_type in _PASS_THROUGH and node.output[0] not in anchors and node.input[0] in anchors:
            anchors[node.output[0]] = anchors[node.input[0]]
    return anchors


def _undone(node: onnx.NodeProto, output: str, graph: _OriginalGraph) -> str:
    """The original tensor that `output`, renamed by the optimizer, was; empty where unknown."""
    for name in (node.name, output):
        for candidate in _candidates(name):
            if candidate in graph.producers:
                return candidate
            if candidate in graph.by_name and graph.by_name[candidate].output:
                return str(graph.by_name[candidate].output[0])
    return ""


def _candidates(name: str) -> Iterable[str]:
    yield name
    for pattern, replacement in _RENAMINGS:
        shorter = pattern.sub(replacement, name)
        if shorter != name:
            yield from _candidates(shorter)
