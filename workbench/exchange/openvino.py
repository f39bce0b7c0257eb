"""OpenVINO's performance counters: `benchmark_app -report_type average_counters` or `detailed_counters`.

Columns separated by `;`: layerName, execStatus, layerType, execType, realTime (ms), cpuTime (ms). A detailed report
holds a block for each inference, each with its header and a `Total` row; layers' times are medians over blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile, csv_rows, imported_operator, imported_profile, number_of
from workbench.exchange.joining import NOT_FOUND, ModelNames, check_found, found_note
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord

_COLUMNS = ("layerName", "execStatus", "layerType", "execType", "realTime (ms)")
_PRODUCTS = frozenset({"FullyConnected", "MatMul", "Convolution", "Deconvolution", "Gemm", "GroupConvolution"})
_DTYPES = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "i8": "s8", "u8": "u8", "f64": "fp64"}


@dataclass(frozen=True)
class _Layer:
    name: str
    kind: str
    kernel: str
    """e.g. `brgemm_avx512_bf16`."""


def looks_like(source: Source) -> bool:
    """Whether the file has the counters' header."""
    return source.text.lstrip().startswith("layerName") and "execType" in source.text[:200]


def read(source: Source) -> ImportedProfile:
    """The layers that were executed. Raises `FormatError` for missing columns, bad numbers, uneven blocks."""
    path = source.path
    blocks = _blocks(source.text, path)
    layers = [layer for layer, _ in blocks[0]]
    for number, block in enumerate(blocks):
        if [layer for layer, _ in block] != layers:
            raise FormatError(
                f"inference {number} has other layers ({len(block)}) than the first ({len(layers)})",
                where=path,
                remedy="the file is cut short or of several models: write it again",
            )
    times = np.array([[ms for _, ms in block] for block in blocks])
    names = ModelNames(source.model) if source.model else None
    medians, minima = np.median(times, axis=0), times.min(axis=0)
    operators = [
        _operator(i, layer, float(medians[i]), float(minima[i]), layers, names) for i, layer in enumerate(layers)
    ]
    notes = ["execution times are OpenVINO's own: it fuses and reorders operators otherwise than ONNX Runtime"]
    if names is not None:
        found = sum(1 for layer in layers if names.has(layer.name))
        check_found([layer.name for layer in layers], found, path, names.path)
        notes += found_note(found, len(layers), names.path)
    else:
        notes.append("the file holds no weights: give the model with --model to know them")
    profile = imported_profile(
        path,
        operators,
        runtime="OpenVINO",
        model=names.info if names else None,
        batch=source.batch,
        cores=source.cores,
        iterations=len(blocks),
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


def _blocks(text: str, path: Path) -> list[list[tuple[_Layer, float]]]:
    blocks: list[list[tuple[_Layer, float]]] = []
    place: dict[str, int] = {}
    closed = True
    for number, row in enumerate(csv_rows(path, text, ";"), 1):
        if not row or not row[0].strip():
            continue
        if row[0] == _COLUMNS[0]:
            place = _places(row, number, path)
            closed = True
            continue
        if row[0] == "Total" and not any(c.strip() for c in row[1:4]):
            closed = True
            continue
        if not place:
            place = _places(row, number, path)  # raises: the header is missing
        if len(row) <= max(place.values()):
            raise FormatError(
                f"row {number} has {len(row)} columns, expected {len(place) + 1}", where=path,
                remedy="the file is cut short: write or copy it again",
            )  # fmt: skip
        if closed:
            blocks.append([])
            closed = False
        if row[place["execStatus"]].rpartition(".")[2] == "EXECUTED":
            ms = number_of(row[place["realTime (ms)"]], path, f"row {number}, column 'realTime (ms)'")
            kind, kernel = row[place["layerType"]], row[place["execType"]]
            blocks[-1].append((_Layer(row[0], kind, kernel), ms))
    blocks = [block for block in blocks if block]
    if not blocks:
        raise FormatError("no layer was executed", where=path, remedy="write the report again after a run")
    return blocks


def _places(row: Sequence[str], number: int, path: Path) -> dict[str, int]:
    missing = next((name for name in _COLUMNS if name not in row), None)
    if missing is not None:
        raise FormatError(
            f"row {number}: there is no column {missing!r}", where=path,
            remedy="write the report with benchmark_app -report_type detailed_counters",
        )  # fmt: skip
    return {name: row.index(name) for name in _COLUMNS}


def _operator(
    index: int, layer: _Layer, median: float, minimum: float, layers: Sequence[_Layer], names: ModelNames | None
) -> OperatorRecord:
    place = NOT_FOUND
    if names is not None:
        others = [other.name for other in layers]
        place = names.join([layer.name], others, product=layer.kind in _PRODUCTS)
    support = place.support if names is not None else (False, "weight unknown: import with --model")
    dtype = _DTYPES.get(layer.kernel.rpartition("_")[2], "")
    return imported_operator(
        index,
        layer.kind,
        layer.name,
        median,
        layer_id=place.layer_id,
        post_ops=place.post_ops if place.weight else (),
        weight=place.weight,
        support=support,
        minimum_ms=minimum,
        note=f"kernel {layer.kernel}" + (f", run in {dtype}" if dtype and dtype != "fp32" else ""),
    )
