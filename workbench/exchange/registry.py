"""The formats that can be imported, each recognized by its content.

A new format is a module with `looks_like(source)` and `read(source)`, and its line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import FormatError
from workbench.exchange import deepsparse, onnxruntime, openvino, pytorch, tensorrt, timings
from workbench.exchange.imported import ImportedProfile, json_of, text_of
from workbench.exchange.neural_engine import csv_reader, sheet_reader, trace_reader
from workbench.exchange.source import Source


@dataclass(frozen=True)
class Format:
    """A kind of file that can be imported."""

    name: str
    looks_like: Callable[[Source], bool]
    read: Callable[[Source], ImportedProfile]


FORMATS: tuple[Format, ...] = (
    Format("Neural Engine workbook", sheet_reader.looks_like, sheet_reader.read),
    Format("Neural Engine CSV", csv_reader.looks_like, csv_reader.read),
    Format("Neural Engine trace", trace_reader.looks_like, trace_reader.read),
    Format("ONNX Runtime profile", onnxruntime.looks_like, onnxruntime.read),
    Format("OpenVINO counters", openvino.looks_like, openvino.read),
    Format("TensorRT profile", tensorrt.looks_like, tensorrt.read),
    Format("DeepSparse analysis", deepsparse.looks_like, deepsparse.read),
    Format("PyTorch trace", pytorch.looks_like, pytorch.read),
    Format("SPDY timings", timings.looks_like_spdy, timings.read_spdy),
    Format("SparseML timings", timings.looks_like_sparseml, timings.read_sparseml),
)


def detect(path: str | Path) -> Format:
    """The format of the file, by its content. Raises `FormatError` where it is none of `FORMATS`."""
    return _format_of(_source(Path(path)))


def read_any(
    path: str | Path, model: str | Path | None = None, *, batch: int | None = None, cores: int | None = None
) -> ImportedProfile:
    """Import the file, whatever its format.

    `model` is the ONNX model that was profiled: it gives the weights that most formats lack. `batch` and `cores`
    are facts that the file doesn't say. Raises `FormatError` with row, column or event for what can't be read.
    """
    return read_with_format(path, model, batch=batch, cores=cores)[1]


def read_with_format(
    path: str | Path, model: str | Path | None = None, *, batch: int | None = None, cores: int | None = None
) -> tuple[Format, ImportedProfile]:
    """`read_any`, and the format it found."""
    source = _source(Path(path), Path(model) if model is not None else None, batch, cores)
    found = _format_of(source)
    return found, found.read(source)


def _source(path: Path, model: Path | None = None, batch: int | None = None, cores: int | None = None) -> Source:
    if sheet_reader.is_workbook(path):
        return Source(path, "", None, model, batch, cores)
    text = text_of(path)
    if not text.strip():
        raise FormatError("the file is empty", where=path, remedy="write or copy it again")
    document = json_of(path, text) if text.lstrip()[:1] in ("{", "[") else None
    return Source(path, text, document, model, batch, cores)


def _format_of(source: Source) -> Format:
    found = next((f for f in FORMATS if f.looks_like(source)), None)
    if found is None and not source.text:
        raise FormatError(
            "this workbook does not begin with a Neural Engine profile's ratio table",
            where=source.path,
            remedy="name a profiler's file, or use the workbook as it is",
        )
    if found is None:
        raise FormatError(
            "this is none of the formats that can be imported",
            where=source.path,
            remedy=f"there are: {', '.join(f.name for f in FORMATS)}",
        )
    return found
