"""Joining a foreign profile's layers with the ONNX model that was profiled, by names.

Engines name a layer after an ONNX node, after its output tensor, or after the last of several nodes that they
fused. So a layer's members are the nodes it names and the nodes above them that no other layer names; the matrix
product or convolution among the members has the weight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import FormatError
from workbench.profile import ModelInfo, OperatorRecord, Weight

if TYPE_CHECKING:
    import onnx

    from workbench.profiling.weights import Product

SHARE_TO_BE_FOUND = 0.3
"""A profile of which less is found in the model is taken for another model's (engines add layers of their own)."""


@dataclass(frozen=True)
class Joined:
    """A layer's place in the model."""

    layer_id: str
    """The main node's name: the product's, or the node that the layer names."""
    operator_type: str
    weight: Weight | None
    support: tuple[bool, str]
    post_ops: tuple[str, ...]


NOT_FOUND = Joined("", "", None, (False, "not found in the model"), ())


class ModelNames:
    """The nodes of a model by the names that engines use for them."""

    def __init__(self, path: Path) -> None:
        from workbench.profiling.loading import load_model
        from workbench.profiling.records import weight_records
        from workbench.profiling.samples import resolve_model
        from workbench.profiling.weights import find_products

        self.model = load_model(resolve_model(path))
        self.path = self.model.path
        products = find_products(self.model.proto, self.model.folder)
        self._products: Mapping[str, Product] = {p.output: p for p in products}
        self._weights = weight_records(self.model, products)
        self._nodes = list(self.model.proto.graph.node)
        self._order = {node.output[0]: i for i, node in enumerate(self._nodes) if node.output}
        self._producers = {o: node for node in self._nodes for o in node.output if o}
        self._named = {**self._producers, **{node.name: node for node in self._nodes if node.name}}

    @property
    def info(self) -> ModelInfo:
        """Facts of the model."""
        return self.model.info

    def has(self, name: str) -> bool:
        """Whether a node or a node's output has that name."""
        return name in self._named

    def weight_called(self, name: str) -> Weight | None:
        """The weight of that initializer name, or of the node or layer (`fc` for `fc.weight`) of that name."""
        for output, product in self._products.items():
            if name in (product.weight_name, product.node, output, product.weight_name.removesuffix(".weight")):
                return self._weights[output]
        return None

    def join(self, names: Iterable[str], others: Collection[str], *, product: bool = True) -> Joined:
        """The place of a layer that names `names`; `others` are the names of all layers.

        Without `product` the layer multiplies by no weight, and gets none.
        """
        own = [self._named[name] for name in names if name in self._named]
        if not own:
            return NOT_FOUND
        stops = {self._named[name].output[0] for name in others if name in self._named}
        members = self._members(own, stops)
        mine = [m for m in members if m.output[0] in self._products] if product else []
        main = mine[0] if mine else own[-1]
        weight = self._weights[main.output[0]] if mine else None
        return Joined(
            main.name or main.output[0],
            main.op_type,
            weight,
            self._support(main, mine),
            tuple(m.op_type.lower() for m in members if self._order[m.output[0]] > self._order[main.output[0]]),
        )

    def _members(self, own: Sequence[onnx.NodeProto], stops: Collection[str]) -> list[onnx.NodeProto]:
        """`own` and what feeds them, up to nodes that another layer names; in the graph's order."""
        found = {node.output[0]: node for node in own}
        queue = list(own)
        while queue:
            node = queue.pop()
            if node.output[0] in self._products:
                continue  # What feeds a product is another layer's work.
            for name in node.input:
                above = self._producers.get(name)
                if above is None or above.op_type == "Constant" or above.output[0] in {*stops, *found}:
                    continue
                found[above.output[0]] = above
                queue.append(above)
        return sorted(found.values(), key=lambda node: self._order[node.output[0]])

    def _support(self, main: onnx.NodeProto, products: Sequence[onnx.NodeProto]) -> tuple[bool, str]:
        if not products:
            return False, "no matrix product with a constant weight"
        product = self._products[main.output[0]]
        if len(products) > 1 and product.supported:
            return False, f"fused with {len(products) - 1} more weights; set TRUE to include it"
        return product.supported, product.reason


def check_found(names: Sequence[str], found: int, path: Path, model: Path) -> None:
    """Raise `FormatError` where so few of the profile's layers are in the model that it must be another's."""
    if names and found < SHARE_TO_BE_FOUND * len(names):
        raise FormatError(
            f"{found} of its {len(names)} operators (the first is {names[0]!r}) are in {model.name}",
            where=path,
            remedy="it is a profile of another model: name the right one with --model, or leave --model out",
        )


def check_shape(operator: OperatorRecord, path: Path, model: Path) -> None:
    """Raise `FormatError` where the weight can't give the operator's output, so that the model must be another."""
    weight = operator.weight
    output = operator.outputs[0].shape if operator.outputs else None
    if weight is None or len(weight.shape) != 2 or not output or weight.shape[0] in output:
        return
    raise FormatError(
        f"operator {operator.name!r} gives {'x'.join(map(str, output))}, "
        f"but its weight in {model.name} is {weight.label}",
        where=path,
        remedy="it is a profile of another model: name the right one with --model, or leave --model out",
    )


def found_note(found: int, total: int, model: Path) -> list[str]:
    """A sentence on what wasn't found; none where everything was."""
    if found == total:
        return []
    return [f"{total - found} of {total} operators are not in {model.name} by name: the engine added or renamed them"]
