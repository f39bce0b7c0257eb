"""Pruning a model's weights in 4x1 blocks, so that a plan in a workbook and a model agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.calibration.packing import pruning_mask
from workbench.errors import ModelError, WorkbenchError
from workbench.files import replacing
from workbench.profile import ModelInfo
from workbench.profiling.loading import LoadedModel, load_model
from workbench.profiling.samples import resolve_model
from workbench.profiling.weights import Product, find_products, zero_ratios

_LARGEST_FILE = 1_800_000_000
"""Bytes of weights above which tensors go to a file of their own (protobuf ends at 2 GiB)."""


@dataclass(frozen=True)
class PrunedLayer:
    """What became of one targeted product."""

    layer_id: str
    weight_name: str
    shape: tuple[int, ...]
    target: float
    """Share of 4x1 blocks that was to become zero."""
    zero_block_ratio: float
    """Share of 4x1 blocks that are zero now."""
    zero_ratio: float
    """Share of elements that are zero now."""
    zero_block_ratio_before: float
    note: str = ""


@dataclass(frozen=True)
class PrunedModel:
    """A pruned model and what was done."""

    proto: onnx.ModelProto
    source: ModelInfo
    """The model that was pruned."""
    layers: tuple[PrunedLayer, ...]
    """The targeted products, in graph order."""


def layer_id_of(product: Product) -> str:
    """What a workbook calls the product: its node's name, or its output where the node has none."""
    return product.node or product.output


def prune_model(model: LoadedModel, targets: Mapping[str, float]) -> PrunedModel:
    """A copy of `model` with the weights of the layers in `targets` (layer id → level, 0 to 1) pruned.

    In each weight the share `level` of the 4x1 blocks becomes zero, to the nearest whole block (a half goes up):
    those of least Euclidean norm, all of a weight ranked together, quantized weights by their real values
    and set to the zero point. Zero blocks already there count. Nothing else changes. A weight that several
    targeted products share is pruned once, to the highest of their targets.

    Raises `ModelError` for a layer id that the model doesn't have or whose weight has no 4x1 blocks, and
    `WorkbenchError` for a level outside 0 to 1.
    """
    by_id = {layer_id_of(p): p for p in find_products(model.proto, model.folder)}
    for layer, level in targets.items():
        _check_target(layer, level, by_id, model.path)
    chosen = [p for p in by_id.values() if layer_id_of(p) in targets]
    before = {p.output: zero_ratios(p.zero_mask(model.proto, model.folder))[1] or 0.0 for p in chosen}
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    notes = {p.output: "" for p in chosen}
    for sharing in _sharing(chosen):
        levels = [targets[layer_id_of(p)] for p in sharing]
        level = max(levels)
        first = sharing[0]
        first.zero_out(proto, model.folder, _mask(first, proto, model.folder, level))
        for product in sharing:
            if targets[layer_id_of(product)] != level:
                notes[product.output] = f"shares its weight with a layer of target {level:.0%}"
            elif product.output_first != first.output_first:
                notes[product.output] = "uses a shared weight turned: its blocks lie across the pruned ones"
    layers = []
    for product in chosen:
        elements, blocks = zero_ratios(product.zero_mask(proto, model.folder))
        layers.append(
            PrunedLayer(
                layer_id=layer_id_of(product),
                weight_name=product.weight_name,
                shape=product.shape,
                target=targets[layer_id_of(product)],
                zero_block_ratio=blocks or 0.0,
                zero_ratio=elements,
                zero_block_ratio_before=before[product.output],
                note=notes[product.output],
            )
        )
    return PrunedModel(proto, model.info, tuple(layers))


def prunable_layers(model: LoadedModel) -> tuple[str, ...]:
    """Layer ids of the products that the 4x1 pattern fits, in graph order."""
    return tuple(layer_id_of(p) for p in find_products(model.proto, model.folder) if p.supported)


def prune_file(model: str | Path, output: Path, targets: Mapping[str, float] | float) -> PrunedModel:
    """Prune the model file `model` (or sample) and write it to `output`, in one file where protobuf can hold it.

    `targets` is a level for each layer id, or one level for every product that the 4x1 pattern fits.
    Only values of weights differ from the model read. Raises what `load_model` and `prune_model` raise.
    """
    source = resolve_model(model)
    loaded = load_model(source)
    if output.exists() and output.resolve() == source.resolve():
        raise WorkbenchError("this would overwrite the model that is read", where=output, remedy="name another file")
    wanted = dict.fromkeys(prunable_layers(loaded), targets) if isinstance(targets, int | float) else targets
    if not wanted:
        raise ModelError(
            "there is nothing to prune: no layer has a target",
            where=source,
            remedy="set targets in the operators sheet",
        )
    pruned = prune_model(loaded, wanted)
    save_model(pruned.proto, loaded.folder, output)
    return pruned


def save_model(proto: onnx.ModelProto, folder: Path, output: Path) -> None:
    """Write `proto`, whose external data is in `folder`; large models get `<output>.data` beside."""
    onnx.load_external_data_for_model(proto, str(folder))
    size = sum(len(t.raw_data) for t in proto.graph.initializer)
    with replacing(output) as temporary:
        if size > _LARGEST_FILE:
            data = output.with_name(f"{output.name}.data")
            data.unlink(missing_ok=True)
            onnx.save_model(proto, temporary, save_as_external_data=True, location=data.name)
        else:
            temporary.write_bytes(proto.SerializeToString())


def _check_target(layer: str, level: float, known: Mapping[str, Product], where: Path) -> None:
    if not 0.0 <= level <= 1.0:
        raise WorkbenchError(
            f"the target of {layer!r} is {level:g}, which is no share of zeros", where=where, remedy="choose 0 to 1"
        )
    if layer not in known:
        raise ModelError(
            f"the model has no product with a constant weight called {layer!r}",
            where=where,
            remedy="use the workbook that was made from this model",
        )
    product = known[layer]
    if not product.supported:
        raise ModelError(
            f"layer {layer!r} can't be pruned in 4x1 blocks: {product.reason}",
            where=where,
            remedy="clear its target in the operators sheet",
        )


def _sharing(products: Sequence[Product]) -> list[list[Product]]:
    """Products grouped by the weight that they use."""
    groups: dict[str, list[Product]] = {}
    for product in products:
        groups.setdefault(product.weight_name, []).append(product)
    return list(groups.values())


def _mask(product: Product, proto: onnx.ModelProto, folder: Path, level: float) -> NDArray[np.bool_]:
    return pruning_mask(product.read(proto, folder), level)
