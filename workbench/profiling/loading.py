"""Reading and checking an ONNX file before anything runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import numpy_helper

from workbench.errors import ModelError
from workbench.profile import ModelInfo

_ONNX_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class LoadedModel:
    """An ONNX model as read from `path`; external tensors are checked but stay on disk."""

    path: Path
    proto: onnx.ModelProto
    info: ModelInfo

    @property
    def folder(self) -> Path:
        """Where external data is looked up."""
        return self.path.parent

    @property
    def external_bytes(self) -> int:
        """Bytes of tensor data kept in other files."""
        return sum(_external_length(t, self.folder) for t in all_tensors(self.proto.graph) if _is_external(t))


def load_model(path: str | Path, *, weights_needed: bool = True) -> LoadedModel:
    """Read an ONNX model and check what can be checked without running it.

    Without `weights_needed`, external data may be missing: for what looks at the architecture only.

    Raises `ModelError` for a missing file, a file that is no ONNX model, damaged or missing external data,
    external data outside the model's folder, and operators that no installed opset knows.
    """
    path = Path(path)
    if not path.exists():
        raise ModelError("no such file", where=path, remedy="name an .onnx file or a sample model")
    if not path.is_file():
        raise ModelError("this is not a file", where=path, remedy="name an .onnx file")
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = f"can't be read ({error.strerror})"
        raise ModelError(reason, where=path, remedy="check its permissions") from error
    proto = _parse(data, path)
    if weights_needed:
        _check_external_data(proto, path)
    _check_operators(proto, path)
    info = ModelInfo(
        name=path.name,
        sha256=hashlib.sha256(data).hexdigest(),
        opset=opset_of(proto),
        producer=" ".join(filter(None, (proto.producer_name, proto.producer_version))),
        parameters=sum(int(np.prod(t.dims)) for t in all_tensors(proto.graph) if t.data_type != onnx.TensorProto.INT64),
        nodes=len(proto.graph.node),
    )
    return LoadedModel(path, proto, info)


def opset_of(proto: onnx.ModelProto) -> int:
    """The version of the default operator set."""
    return max((o.version for o in proto.opset_import if o.domain in _ONNX_DOMAINS), default=1)


def tensor_array(tensor: onnx.TensorProto, folder: Path) -> NDArray[np.generic]:
    """The tensor's values; external data is read from `folder`."""
    return np.asarray(numpy_helper.to_array(tensor, base_dir=str(folder)))


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """`graph` and the graphs inside its nodes (branches, loop bodies)."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_graphs(attribute.g)
            for inner in attribute.graphs:
                yield from all_graphs(inner)


def all_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every tensor stored in the model: initializers and constants, of inner graphs too."""
    for part in all_graphs(graph):
        yield from part.initializer
        for node in part.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def _parse(data: bytes, path: Path) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        # Every exporter writes ir_version (field 1, a varint) first.
        if data[:1] == b"\x08":
            raise ModelError(
                "the ONNX file is damaged or cut short", where=path, remedy="export or copy it again"
            ) from None
        raise ModelError("this is not an ONNX model", where=path, remedy="name an .onnx file") from None
    if not proto.graph.node or not proto.ir_version:
        raise ModelError("this is not an ONNX model, or one without operators", where=path, remedy="name an .onnx file")
    return proto


def _is_external(tensor: onnx.TensorProto) -> bool:
    return tensor.data_location == onnx.TensorProto.EXTERNAL


def _external_fields(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _external_length(tensor: onnx.TensorProto, folder: Path) -> int:
    fields = _external_fields(tensor)
    if "length" in fields:
        return int(fields["length"])
    return (folder / fields["location"]).stat().st_size - int(fields.get("offset", 0))


def _check_external_data(proto: onnx.ModelProto, path: Path) -> None:
    folder = path.parent.resolve()
    for tensor in all_tensors(proto.graph):
        if not _is_external(tensor):
            continue
        fields = _external_fields(tensor)
        location = fields.get("location", "")
        named = f"tensor {tensor.name!r} has its data in {location!r}"
        file = (folder / location).resolve() if location else folder
        if not location or Path(location).is_absolute() or not file.is_relative_to(folder):
            raise ModelError(
                f"{named}, which is outside the model's folder",
                where=path,
                remedy="keep external data beside the model and save it with a relative location",
            )
        if not file.is_file():
            raise ModelError(f"{named}, which is missing", where=path, remedy=f"put it into {path.parent}")
        try:
            end = int(fields.get("offset", 0)) + int(fields.get("length", 0))
        except ValueError:
            problem = f"{named} at a place that is no number"
            raise ModelError(problem, where=path, remedy="export it again") from None
        if file.stat().st_size < end:
            raise ModelError(f"{named}, which is cut short", where=path, remedy="copy or export it again")


def _check_operators(proto: onnx.ModelProto, path: Path) -> None:
    opset = opset_of(proto)
    newest = onnx.defs.onnx_opset_version()
    if opset > newest:
        raise ModelError(
            f"it needs operator set {opset}, and the installed onnx knows up to {newest}",
            where=path,
            remedy="upgrade onnx and onnxruntime, or export with an older opset",
        )
    local = {(f.domain, f.name) for f in proto.functions}
    domains = {o.domain for o in proto.opset_import}
    for graph in all_graphs(proto.graph):
        for node in graph.node:
            if (node.domain, node.op_type) in local:
                continue
            if node.domain in _ONNX_DOMAINS:
                if not onnx.defs.has(node.op_type, opset, ""):
                    raise ModelError(
                        f"node {node.name or node.output[0]!r} has the operator {node.op_type!r}, "
                        f"which operator set {opset} does not know",
                        where=path,
                        remedy="check the export, or the model's opset_import",
                    )
            elif node.domain not in domains:
                raise ModelError(
                    f"node {node.name or node.output[0]!r} is of domain {node.domain!r}, "
                    "which the model does not import",
                    where=path,
                    remedy="check the export",
                )
