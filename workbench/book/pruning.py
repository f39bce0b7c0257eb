"""Pruning a model as a workbook plans it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.book.plan import Plan, read_plan
from workbench.book.read import open_book
from workbench.calibration.pruning import PrunedLayer, prune_file
from workbench.errors import BookError
from workbench.profiling.samples import resolve_model


@dataclass(frozen=True)
class PrunedAsPlanned:
    """What `prune_as_planned` wrote."""

    output: Path
    plan: Plan
    layers: tuple[PrunedLayer, ...]
    """In the model's order."""
    notes: tuple[str, ...]
    """What a reader must know: operators left out, another model than the profile's."""


def prune_as_planned(
    model: str | Path, book: str | Path, output: str | Path, *, profile: str | None = None
) -> PrunedAsPlanned:
    """Write `model` to `output` with the weights pruned to the targets of the operators sheet.

    Blocks of 4 output channels by 1 input channel of least Euclidean norm go, in each weight to the nearest
    whole block. The targets are those in force: an operator's own, or the dashboard's one for all; operators
    without sparse support stay dense. Raises `BookError` where nothing is planned and `ModelError` where the
    model doesn't have the layers of the book.
    """
    plan = read_plan(open_book(book), profile)
    if not plan.targets:
        raise BookError(
            f"profile {plan.profile!r} has no target on a supported operator",
            where=plan.book,
            remedy="set 'aim to weight sparse ratio' in its operators sheet",
        )
    notes = [f"operator {o.name!r} has no layer id, so its weight stays as it is" for o in plan.nameless]
    pruned = prune_file(resolve_model(model), Path(output), plan.targets)
    if plan.model_hash and pruned.source.sha256 != plan.model_hash:
        notes.append(f"the profile was made from another model file ({plan.model}); layers were matched by name")
    notes += [f"{layer.layer_id}: {layer.note}" for layer in pruned.layers if layer.note]
    return PrunedAsPlanned(Path(output), plan, pruned.layers, tuple(notes))
