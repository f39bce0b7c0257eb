"""The prunable layers of a model: one for each constant weight, with why some are left out by default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.loss.patterns import Pattern
from workbench.profiling.loading import LoadedModel
from workbench.profiling.weights import RECURRENT, Product, find_products

_Element = TypeVar("_Element", bound=np.generic)

FIRST_LAYER = "first prunable layer"
GROUPED = "grouped convolution"
NOT_CHOSEN = "not among the chosen layers"

_PACKED = frozenset({"MatMulNBits", "Attention", "QAttention"})
_MOVES_ONLY = frozenset({"Transpose", "Reshape", "Cast", "Identity", "Squeeze", "Unsqueeze", "Flatten"})


@dataclass(frozen=True)
class PrunableLayer:
    """A weight that can be pruned. `product` is the first one that uses it."""

    product: Product
    skipped: str
    """Why it is left out; empty where it counts."""
    hindrance: str
    """Why it can't be pruned at all; empty where it can."""
    note: str

    @property
    def name(self) -> str:
        """What the layer is called: its node's name, else its output's."""
        return self.product.node or self.product.output

    def weight(self, model: LoadedModel) -> NDArray[np.float32]:
        """The weight as N x K; a convolution's other axes, or a stack's, are folded into one."""
        return folded(self.product.read(model.proto, model.folder))


def folded(weight: NDArray[_Element]) -> NDArray[_Element]:
    """`weight` with two axes, the output channels of a stack one after another."""
    return weight if weight.ndim == 2 else weight.reshape(-1, weight.shape[-1])


def prunable_layers(
    model: LoadedModel,
    *,
    pattern: Pattern,
    include_first: bool = False,
    include_grouped: bool = False,
    only: Sequence[str] = (),
) -> tuple[PrunableLayer, ...]:
    """A layer for each weight of a product or convolution, in graph order.

    The first layer and grouped convolutions are skipped, as in Sparsify, unless asked for; what can't be pruned
    by `pattern` always is. `only` names layers, by node or weight: those count whatever the defaults say, and
    no others. Raises `ModelError` for a name that the model doesn't have, or that can't be pruned.
    """
    products = _one_each(find_products(model.proto, model.folder))
    used = _other_uses(model.proto.graph, {p.weight_name for p in products})
    layers: list[PrunableLayer] = []
    prunable_before = False
    for product in products:
        hindrance = _hindrance(product, pattern)
        skipped = hindrance
        if not hindrance:
            if not prunable_before and not include_first:
                skipped = FIRST_LAYER
            elif product.groups > 1 and not include_grouped:
                skipped = GROUPED
            prunable_before = True
        if only:
            chosen = bool({product.node, product.output, product.weight_name} & set(only))
            if chosen and hindrance:
                raise ModelError(
                    f"the layer {product.node or product.output!r} can't be pruned: {hindrance}",
                    where=model.path,
                    remedy="leave it out of --layers" + _other_pattern(product, pattern),
                )
            skipped = hindrance or ("" if chosen else NOT_CHOSEN)
        layers.append(PrunableLayer(product, skipped, hindrance, _note(product, used.get(product.weight_name, ()))))
    _check_names(only, layers, model)
    return tuple(layers)


def _one_each(products: Iterable[Product]) -> tuple[Product, ...]:
    first: dict[str, Product] = {}
    for product in products:
        first.setdefault(product.weight_name, product)
    return tuple(first.values())


def _hindrance(product: Product, pattern: Pattern) -> str:
    kind = product.op_type
    if kind in RECURRENT or kind in _PACKED:
        return f"{kind} packs several matrices into one weight"
    if len(product.shape) < 2:
        return "the weight is a vector"
    if product.reason.startswith("weight is computed"):
        return product.reason
    if not all(product.shape):
        return "the weight is empty"
    rows = product.shape[0] if product.is_convolution else product.shape[-2]
    if not pattern.fits(rows):
        return f"{rows} output channels are not divisible by {pattern.rows}"
    return ""


def _other_pattern(product: Product, pattern: Pattern) -> str:
    fits = pattern is not Pattern.UNSTRUCTURED and not _hindrance(product, Pattern.UNSTRUCTURED)
    return ", or choose --pattern unstructured" if fits else ""


def _note(product: Product, others: Sequence[str]) -> str:
    parts = []
    if product.shared_by > 1:
        parts.append(f"weight shared by {product.shared_by} products, pruned in all")
    if others:
        parts.append(f"weight also used by {', '.join(others)}, pruned there too")
    seen = [step.op_type for step in product.steps]
    if seen:
        parts.append(f"seen through {', '.join(dict.fromkeys(seen))}")
    return "; ".join(parts)


def _other_uses(graph: onnx.GraphProto, weights: set[str]) -> dict[str, tuple[str, ...]]:
    """Weight → types of nodes that read it for something else than a product (an embedding's Gather)."""
    from workbench.profiling.weights import CONVOLUTIONS, PRODUCTS

    expected = PRODUCTS | CONVOLUTIONS | RECURRENT | _MOVES_ONLY | {"DequantizeLinear", "Mul", "Sub", "Div"}
    found: dict[str, dict[str, None]] = {}
    for node in graph.node:
        if node.op_type not in expected:
            for name in weights & set(node.input):
                found.setdefault(name, {})[node.op_type] = None
    return {name: tuple(kinds) for name, kinds in found.items()}


def _check_names(only: Sequence[str], layers: Sequence[PrunableLayer], model: LoadedModel) -> None:
    known = {n for layer in layers for n in (layer.product.node, layer.product.output, layer.product.weight_name)}
    missing = next((name for name in only if name not in known), None)
    if missing is None:
        return
    import difflib

    near = difflib.get_close_matches(missing, [n for n in known if n], n=3, cutoff=0.4)
    shown = near or [layer.name for layer in layers[:3]]
    raise ModelError(
        f"the model has no prunable layer {missing!r}",
        where=model.path,
        remedy=f"name a node or weight, e.g. {', '.join(shown)}" if shown else "it has none at all",
    )
