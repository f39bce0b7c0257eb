"""Neural Engine's files with the model at hand: layer ids, weight names and what the files leave out of weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile
from workbench.exchange.joining import ModelNames, check_found, found_note
from workbench.profile import OperatorRecord, Weight


def with_model(found: ImportedProfile, path: Path, model: Path | None) -> ImportedProfile:
    """`found` joined with `model` by the names of operators, outputs and weights; as it is where that is None.

    Shapes and stated sparsities of the file stand. Raises `FormatError` where the file is of another model.
    """
    if model is None or found.profile is None:
        return found
    names = ModelNames(model)
    profile = found.profile
    own = [_names(op) for op in profile.operators]
    everything = {name for several in own for name in several}
    operators = []
    known = 0
    for op, several in zip(profile.operators, own, strict=True):
        place = names.join(several, everything, product=op.weight is not None)
        by_name = (
            next((w for t in op.inputs if (w := names.weight_called(_plain(t.name)))), None) if op.weight else None
        )
        weight = by_name or place.weight
        known += bool(place.layer_id or by_name)
        if op.weight is not None and weight is not None:
            op = replace(op, weight=_merged(op.weight, weight, op, path, names.path))
        operators.append(replace(op, layer_id=place.layer_id or op.layer_id))
    check_found([op.name for op in profile.operators], known, path, names.path)
    notes = found_note(known, len(operators), names.path)
    joined = replace(profile, operators=tuple(operators), model=names.info, warnings=(*profile.warnings, *notes))
    return replace(found, profile=joined, notes=(*found.notes, *notes))


def _names(op: OperatorRecord) -> list[str]:
    return [op.name, *(_plain(t.name) for t in op.outputs)]


def _plain(name: str) -> str:
    """The engine adds `:0` to tensor names."""
    return name.removesuffix(":0")


def _merged(stated: Weight, known: Weight, op: OperatorRecord, path: Path, model: Path) -> Weight:
    if sorted(stated.shape) != sorted(known.shape):
        raise FormatError(
            f"operator {op.name!r} has a weight of {stated.label}, and {known.name!r} in {model.name} is {known.label}",
            where=path,
            remedy="it is a profile of another model: name the right one with --model, or leave --model out",
        )
    same = abs(stated.zero_ratio - known.zero_ratio) < 5e-5
    unstated = not op.note.startswith("weight assumed")
    if unstated and not same:
        return replace(stated, name=known.name, dtype=known.dtype)
    return replace(known, shape=stated.shape)
