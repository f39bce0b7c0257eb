"""Values for a model's symbolic dimensions and inputs."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.profiling.dtypes import SHORT_NAMES

Arrays = dict[str, NDArray[np.generic]]

_BATCH_NAMES = ("batch", "batch_size", "n", "bs", "batchsize", "dynamicdimension.0")
_DEFAULTS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("past", "cache"), 0),
    (("seq", "length", "tokens", "time"), 128),
    (("height", "width"), 224),
    (("channel",), 3),
)
_DTYPES: dict[int, type[np.generic]] = {
    onnx.TensorProto.FLOAT: np.float32,
    onnx.TensorProto.FLOAT16: np.float16,
    onnx.TensorProto.DOUBLE: np.float64,
    onnx.TensorProto.INT8: np.int8,
    onnx.TensorProto.UINT8: np.uint8,
    onnx.TensorProto.INT16: np.int16,
    onnx.TensorProto.UINT16: np.uint16,
    onnx.TensorProto.INT32: np.int32,
    onnx.TensorProto.UINT32: np.uint32,
    onnx.TensorProto.INT64: np.int64,
    onnx.TensorProto.UINT64: np.uint64,
    onnx.TensorProto.BOOL: np.bool_,
}


@dataclass(frozen=True)
class ModelInput:
    """A graph input that must be fed: each dim is a size, a symbol's name, or "" where nothing is said."""

    name: str
    element_type: int
    dims: tuple[int | str, ...]


@dataclass(frozen=True)
class ResolvedDims:
    """Sizes for every symbolic dimension."""

    values: Mapping[str, int]
    assumed: tuple[str, ...]
    """Those that a default filled, in order of appearance."""
    batch: int

    def shape(self, item: ModelInput) -> tuple[int, ...]:
        """The shape to feed to `item`; a dim without a name stands under `input:axis`."""
        return tuple(d if isinstance(d, int) else self.values[_key(item, i)] for i, d in enumerate(item.dims))


def model_inputs(proto: onnx.ModelProto) -> tuple[ModelInput, ...]:
    """The inputs that a caller must feed (initializers that are listed as inputs need no value)."""
    stored = {t.name for t in proto.graph.initializer}
    found = []
    for value in proto.graph.input:
        if value.name in stored:
            continue
        tensor = value.type.tensor_type
        dims = tuple(
            d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else d.dim_param or "" for d in tensor.shape.dim
        )
        found.append(ModelInput(value.name, tensor.elem_type if value.type.HasField("tensor_type") else -1, dims))
    return tuple(found)


def resolve_dims(
    inputs: tuple[ModelInput, ...], batch: int | None, dims: Mapping[str, int], path: Path
) -> ResolvedDims:
    """A size for every symbolic dim: from `dims`, from `batch`, else a default by name that is reported.

    The batch dim is the one whose name says so, else the first dim of an input where it is symbolic.
    Raises `ModelError` for a name that no input has, and for a batch that the model fixes otherwise.
    """
    keys = [(_key(item, i), str(d), i) for item in inputs for i, d in enumerate(item.dims) if isinstance(d, str)]
    unknown = [name for name in dims if name not in {key for key, _, _ in keys}]
    if unknown:
        known = ", ".join(dict.fromkeys(key for key, _, _ in keys)) or "none"
        raise ModelError(f"the model has no symbolic dimension {unknown[0]!r}", where=path, remedy=f"it has: {known}")
    values: dict[str, int] = {}
    assumed: list[str] = []
    batch_keys = set()
    for key, name, axis in keys:
        is_batch = name.lower() in _BATCH_NAMES or "batch" in name.lower() or (axis == 0 and not _hint(name))
        if is_batch:
            batch_keys.add(key)
        if key in values:
            continue
        if key in dims:
            if is_batch and batch not in (None, dims[key]):
                raise ModelError(
                    f"--batch says {batch} and --dim {key} says {dims[key]}", where=path, remedy="leave one of them out"
                )
            values[key] = dims[key]
        elif is_batch and batch is not None:
            values[key] = batch
        else:
            hint = _hint(name)
            values[key] = 1 if is_batch else hint if hint is not None else _by_place(inputs, key)
            assumed.append(key)
    fixed = [item.dims[0] for item in inputs if item.dims and isinstance(item.dims[0], int)]
    if batch_keys:
        used = max(values[key] for key in batch_keys)
    else:
        used = int(fixed[0]) if fixed else 1
        if batch is not None and batch != used:
            raise ModelError(
                f"batch {batch} was asked for, but the model's batch is fixed at {used}",
                where=path,
                remedy="export it with a dynamic batch dimension, or leave --batch out",
            )
    return ResolvedDims(values, tuple(assumed), used)


def make_inputs(proto: onnx.ModelProto, inputs: tuple[ModelInput, ...], dims: ResolvedDims, path: Path) -> Arrays:
    """An array for each input, by element type and name; the same on every call.

    Token ids stay within the table they index, masks are ones, token types zeros, positions count up,
    floats are standard normal.
    """
    rng = np.random.Generator(np.random.PCG64(0))
    return {item.name: _array(proto, item, dims.shape(item), rng, path) for item in inputs}


def load_inputs(file: Path, inputs: tuple[ModelInput, ...]) -> Arrays:
    """Inputs from an .npz file. Raises `ModelError` where names, types or fixed dims don't agree."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays: Arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise ModelError("no such file", where=file, remedy="name an .npz file") from None
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError) as error:
        raise ModelError(
            f"this is no readable .npz file ({error})", where=file, remedy="write it with numpy.savez"
        ) from None
    wanted = {item.name for item in inputs}
    missing, extra = sorted(wanted - set(arrays)), sorted(set(arrays) - wanted)
    if missing or extra:
        problem = f"no array for the input {missing[0]!r}" if missing else f"{extra[0]!r} is no input of the model"
        raise ModelError(problem, where=file, remedy=f"it needs: {', '.join(sorted(wanted))}")
    for item in inputs:
        check_input(item, arrays[item.name], file)
    return arrays


def check_input(item: ModelInput, array: NDArray[np.generic], where: Path) -> None:
    """Raise `ModelError` where `array` can't be fed to `item`."""
    dtype = _DTYPES.get(item.element_type)
    if dtype is not None and array.dtype != dtype:
        raise ModelError(
            f"input {item.name!r} is {array.dtype}, and the model takes {np.dtype(dtype)}",
            where=where,
            remedy="convert the array",
        )
    agrees = len(array.shape) == len(item.dims) and all(
        isinstance(want, str) or want == have for want, have in zip(item.dims, array.shape, strict=False)
    )
    if not agrees:
        shown = "x".join(str(d or "?") for d in item.dims) or "scalar"
        raise ModelError(
            f"input {item.name!r} has shape {'x'.join(map(str, array.shape)) or 'scalar'}, and the model takes {shown}",
            where=where,
            remedy="reshape the array",
        )


def dims_of(inputs: tuple[ModelInput, ...], arrays: Arrays, path: Path) -> ResolvedDims:
    """The sizes that given arrays imply. Raises `ModelError` where one symbol gets two sizes."""
    values: dict[str, int] = {}
    batch = 1
    for item in inputs:
        for axis, dim in enumerate(item.dims):
            size = arrays[item.name].shape[axis]
            if isinstance(dim, str):
                key = _key(item, axis)
                if values.setdefault(key, size) != size:
                    raise ModelError(
                        f"dimension {key!r} is {values[key]} in one input and {size} in {item.name!r}",
                        where=path,
                        remedy="give all inputs the same size there",
                    )
    first = next((arrays[i.name].shape[0] for i in inputs if arrays[i.name].ndim), batch)
    return ResolvedDims(values, (), int(first))


def _key(item: ModelInput, axis: int) -> str:
    return str(item.dims[axis]) or f"{item.name}:{axis}"


def _hint(name: str) -> int | None:
    lowered = name.lower()
    return next((size for words, size in _DEFAULTS if any(word in lowered for word in words)), None)


def _by_place(inputs: tuple[ModelInput, ...], key: str) -> int:
    """A default by where the dim stands: pixels of an image-like input, else a sequence's length."""
    for item in inputs:
        for axis in range(len(item.dims)):
            if not isinstance(item.dims[axis], int) and _key(item, axis) == key:
                if len(item.dims) == 4:
                    return 3 if axis == 1 else 224
                return 128 if axis == 1 or len(item.dims) == 1 else 16
    return 1


def _array(
    proto: onnx.ModelProto, item: ModelInput, shape: tuple[int, ...], rng: np.random.Generator, path: Path
) -> NDArray[np.generic]:
    dtype = _DTYPES.get(item.element_type)
    if dtype is None:
        kind = SHORT_NAMES.get(item.element_type, "not a tensor")
        raise ModelError(
            f"input {item.name!r} has the type {kind}, for which no values can be made up",
            where=path,
            remedy="give the inputs with --inputs FILE.npz, or wrap the model",
        )
    name = item.name.lower()
    if dtype is np.bool_:
        return np.ones(shape, dtype)
    if "mask" in name:
        return np.ones(shape, dtype)
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    if "type" in name or "segment" in name:
        return np.zeros(shape, dtype)
    if "position" in name and shape:
        return np.broadcast_to(np.arange(shape[-1]), shape).astype(dtype)
    if not shape:
        return np.ones(shape, dtype)
    limit = _table_size(proto, item.name)
    if limit is None:
        limit = 256 if np.dtype(dtype).itemsize == 1 else 2
    top = min(limit, int(np.iinfo(np.dtype(dtype).name).max) + 1)
    return rng.integers(0, max(top, 1), shape).astype(dtype)


def _table_size(proto: onnx.ModelProto, name: str) -> int | None:
    """Rows of the table that the ids in `name` index: the first dim of a Gather's data, through Casts."""
    stored = {t.name: tuple(t.dims) for t in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Constant":
            stored.update((node.output[0], tuple(a.t.dims)) for a in node.attribute if a.name == "value")
    names = {name}
    sizes = []
    for node in proto.graph.node:
        if node.op_type in ("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze") and node.input[0] in names:
            names.add(node.output[0])
        if node.op_type in ("Gather", "EmbedLayerNormalization") and len(node.input) > 1:
            table, ids = (node.input[0], node.input[1]) if node.op_type == "Gather" else (node.input[2], node.input[0])
            if ids in names and len(stored.get(table, ())) >= 1:
                sizes.append(stored[table][0])
    return min(sizes) if sizes else None
