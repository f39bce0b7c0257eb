"""DeepSparse's layer times: `deepsparse.debug_analysis -x FILE` (older: `deepsparse.analyze`), or the same from Python.

`layer_info` has a layer each: `name`, `canonical_name` (the ONNX outputs it stands for, joined by `,`; `<none>` for
its own), `input_dims` and `output_dims` (-1: none), `kernel_dims` (K x N of the ONNX weight under the names
`output_channels`, `input_channels`), `kernel_sparsity`, `required_flops`, `average_run_time_in_ms`, `sub_layer_info`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from workbench.errors import FormatError
from workbench.exchange.imported import (
    ImportedProfile,
    imported_operator,
    imported_profile,
    rank_two_support,
    weight_in,
    whole_of,
)
from workbench.exchange.joining import NOT_FOUND, ModelNames, check_found, check_shape, found_note
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord, Tensor, Weight

_AXES = ("batches", "channels", "z", "y", "x")


def looks_like(source: Source) -> bool:
    """Whether the JSON has DeepSparse's layers, or is its benchmark's result."""
    return isinstance(source.document, dict) and (
        "layer_info" in source.document or "benchmark_result" in source.document
    )


def read(source: Source) -> ImportedProfile:
    """The layers with their mean times. Raises `FormatError` where there are none (a benchmark's result)."""
    document, path = source.document, source.path
    assert isinstance(document, dict)
    listed = document.get("layer_info")
    if not isinstance(listed, list) or not listed:
        raise FormatError(
            "this is the result of deepsparse.benchmark, which has no layers",
            where=path,
            remedy="write one with deepsparse.debug_analysis MODEL -x FILE",
        )
    layers = list(_layers(listed, path))
    names = ModelNames(source.model) if source.model else None
    everything = {part for layer in layers for part in _outputs(layer)}
    operators = [_operator(i, layer, everything, names, path) for i, layer in enumerate(layers)]
    notes = ["times are DeepSparse's means over its iterations, in its debug mode"]
    sparse = [op for op in operators if op.weight is not None and op.weight.zero_ratio >= 0.5]
    if sparse:
        notes.append(f"{len(sparse)} layers were measured sparse already: their latencies are not dense ones")
    if names is not None:
        known = [layer for layer in layers if _outputs(layer)]
        found = sum(1 for layer in known if any(names.has(o) for o in _outputs(layer)))
        check_found([str(layer.get("canonical_name")) for layer in known], found, path, names.path)
        for op in operators:
            check_shape(op, path, names.path)
        notes += found_note(found, len(layers), names.path)
    times = document.get("iteration_times")
    threads = document.get("num_threads", document.get("num_cores"))
    profile = imported_profile(
        path,
        operators,
        runtime="DeepSparse",
        model=names.info if names else None,
        batch=source.batch or whole_of(document.get("batch_size")),
        cores=source.cores or whole_of(threads),
        profiled_ms=_number(document.get("average_total_time")),
        iterations=len(times) if isinstance(times, list) else 0,
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


def _layers(listed: list[object], path: Path) -> Iterator[Mapping[str, object]]:
    """Layers, with those that only group others replaced by what they hold."""
    for number, layer in enumerate(listed):
        if not isinstance(layer, dict):
            raise FormatError(f"layer {number} is no JSON object", where=path, remedy="write the file again")
        inner = layer.get("sub_layer_info")
        timed = (
            [s for s in inner if isinstance(s, dict) and _number(s.get("average_run_time_in_ms"))]
            if isinstance(inner, list)
            else []
        )
        yield from timed or [layer]


def _outputs(layer: Mapping[str, object]) -> list[str]:
    name = str(layer.get("canonical_name") or "")
    return [] if "<none>" in name else [part for part in name.split(",") if part]


def _operator(
    index: int, layer: Mapping[str, object], everything: set[str], names: ModelNames | None, path: Path
) -> OperatorRecord:
    name = str(layer.get("name", index))
    ms = _number(layer.get("average_run_time_in_ms"))
    if ms is None:
        raise FormatError(f"layer {name!r} has no 'average_run_time_in_ms'", where=path, remedy="write the file again")
    own = _outputs(layer)
    place = names.join(own, everything) if names is not None else NOT_FOUND
    outputs = _tensor(layer.get("output_dims"), own[-1] if own else "")
    weight, support = place.weight, place.support
    if names is None:
        weight = _weight(layer)
        support = rank_two_support(weight.shape) if weight else (False, "no matrix product, or its weight is unknown")
    return imported_operator(
        index,
        place.operator_type or name.rstrip("0123456789").rstrip("_ "),
        name if not own else own[0],
        ms,
        layer_id=place.layer_id,
        post_ops=place.post_ops if place.weight else (),
        inputs=_tensor(layer.get("input_dims"), ""),
        outputs=outputs,
        weight=weight,
        support=support,
        flops=_number(layer.get("required_flops")) or None,
        note=f"DeepSparse layer {name}" if own else "",
    )


def _weight(layer: Mapping[str, object]) -> Weight | None:
    """N x K from kernel and output dims: the kernel's own names are the wrong way round for a matrix product."""
    dims = layer.get("kernel_dims")
    if not isinstance(dims, dict) or not {"output_channels", "input_channels"} <= set(dims):
        return None
    first, second = whole_of(dims["output_channels"]), whole_of(dims["input_channels"])
    spatial = [whole_of(dims.get(axis, 1)) or 1 for axis in ("z", "y", "x")]
    if not first or not second:
        return None
    zeros = _number(layer.get("kernel_sparsity")) or 0.0
    output = layer.get("output_dims")
    if max(spatial) > 1 or not str(layer.get("name", "")).startswith("gemm"):
        shape: tuple[int, ...] = (first, second, *(s for s in spatial if s > 1))
        if max(spatial) == 1:
            shape = (first, second, 1, 1)
    else:
        last = whole_of(output.get("x")) if isinstance(output, dict) else None
        shape = (second, first) if last == second or last != first else (first, second)
    return weight_in(shape, (), zeros)


def _tensor(dims: object, name: str) -> tuple[Tensor, ...]:
    if not isinstance(dims, dict):
        return ()
    sizes = [whole_of(dims.get(axis)) for axis in _AXES]
    if any(size is None for size in sizes):
        return (Tensor(name, None, "?"),) if name else ()
    return (Tensor(name, tuple(size for size in sizes if size is not None), "?"),)


def _number(value: object) -> float | None:
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18
    return float(value) if valid else None  # type: ignore[arg-type]
