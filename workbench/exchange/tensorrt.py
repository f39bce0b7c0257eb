"""TensorRT's layer times: `trtexec --exportProfile=FILE`.

A JSON list: `{"count": iterations}`, then for each layer `name`, `timeMs` (all iterations), `averageMs`, newer also
`medianMs`, and `percentage`. A layer that stands for several ONNX nodes has their names joined by ` + `.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile, imported_operator, imported_profile, whole_of
from workbench.exchange.joining import NOT_FOUND, ModelNames, check_found, found_note
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord

_SEPARATORS = re.compile(r"\s*(?:\+|\|\||,)\s*|PWN\(|\)|\(|\[|\]|\{|\}|\.\.\.")
_MOVING = re.compile(r"[Rr]eformat", re.ASCII)


def looks_like(source: Source) -> bool:
    """Whether the JSON is a list of layers with times."""
    document = source.document
    return isinstance(document, list) and any(
        isinstance(e, dict) and "name" in e and ("averageMs" in e or "timeMs" in e) for e in document[:3]
    )


def read(source: Source) -> ImportedProfile:
    """The layers with their median (or mean) times. Raises `FormatError` for entries without name or time."""
    assert isinstance(source.document, list)
    path = source.path
    count = 0
    layers: list[tuple[str, float]] = []
    exact = True
    for number, entry in enumerate(source.document):
        if not isinstance(entry, dict):
            raise FormatError(f"entry {number} is no JSON object", where=path, remedy="write the profile again")
        if "count" in entry and "name" not in entry:
            count = whole_of(entry["count"]) or 0
            continue
        exact &= "medianMs" in entry
        layers.append((str(entry.get("name", "")), _time(entry, number, count, path)))
    names = ModelNames(source.model) if source.model else None
    parts = [_parts(name) for name, _ in layers]
    everything = {part for several in parts for part in several}
    operators = [
        _operator(i, name, ms, own, everything, names)
        for i, ((name, ms), own) in enumerate(zip(layers, parts, strict=True))
    ]
    notes = ["measured on a GPU by TensorRT: perf ratios of a CPU's sparse engine don't hold for it"]
    if not exact:
        notes.append("times are means over the iterations: the file has no medians")
    if names is not None:
        found = sum(1 for own in parts if any(names.has(part) for part in own))
        check_found([name for name, _ in layers], found, path, names.path)
        notes += found_note(found, len(layers), names.path)
    else:
        notes.append("the file holds no weights: give the model with --model to know them")
    profile = imported_profile(
        path,
        operators,
        runtime="TensorRT",
        model=names.info if names else None,
        batch=source.batch,
        cores=source.cores,
        iterations=count,
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


def _time(entry: Mapping[str, object], number: int, count: int, path: Path) -> float:
    value = entry.get("medianMs", entry.get("averageMs"))
    if value is None and count and isinstance(entry.get("timeMs"), int | float):
        value = float(entry["timeMs"]) / count  # type: ignore[arg-type]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise FormatError(
            f"entry {number} ({entry.get('name', 'without a name')!r}): its time is {value!r}, expected milliseconds",
            where=path,
            remedy="write it with trtexec --exportProfile",
        )
    return float(value)


def _parts(name: str) -> list[str]:
    """The ONNX names in a layer's name: `/conv1/Conv + PWN(/act/Sigmoid, /act/Mul)` has three."""
    if _MOVING.search(name):
        return []
    return [part.strip() for part in _SEPARATORS.split(name) if part and part.strip()]


def _operator(
    index: int, name: str, ms: float, own: list[str], everything: set[str], names: ModelNames | None
) -> OperatorRecord:
    place = names.join(own, everything) if names is not None else NOT_FOUND
    unknown = (False, "moves data only") if not own else (False, "weight unknown: import with --model")
    return imported_operator(
        index,
        place.operator_type or _guessed_type(name, own),
        name,
        ms,
        layer_id=place.layer_id,
        post_ops=place.post_ops if place.weight else (),
        weight=place.weight,
        support=place.support if names is not None and own else unknown,
    )


def _guessed_type(name: str, own: list[str]) -> str:
    """The last word of the first node's name, `Conv` for `/conv1/Conv_3`; engines keep it from the export."""
    if not own:
        return "Reformat" if _MOVING.search(name) else "?"
    return re.sub(r"_\d+$", "", own[0].rstrip("/").rpartition("/")[2]) or "?"
