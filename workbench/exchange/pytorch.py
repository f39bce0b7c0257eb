"""PyTorch's Chrome trace: `torch.profiler.profile(record_shapes=True)` and `export_chrome_trace`.

Operators are the outermost ATen calls on the CPU (`aten::linear`, not the `aten::addmm` inside), one a row for
each place in an iteration; iterations are the `ProfilerStep#n` of a schedule. Times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.errors import FormatError
from workbench.exchange.imported import (
    ImportedProfile,
    imported_operator,
    imported_profile,
    rank_two_support,
    weight_in,
)
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord, Tensor, Weight

_CATEGORIES = ("cpu_op", "Operator")
_DTYPES = {
    "float": "fp32", "double": "fp64", "c10::Half": "fp16", "c10::BFloat16": "bf16", "signed char": "s8",
    "unsigned char": "u8", "int": "s32", "long int": "s64", "long": "s64", "bool": "bool",
}  # fmt: skip
_WEIGHT_PLACE = {"aten::linear": 1, "aten::addmm": 2, "quantized::linear": 1}
"""Operator → the input that is its weight: by what the operator is for, it is a parameter."""
_TURNED = frozenset({"aten::addmm"})
"""Their weight is K x N."""


def looks_like(source: Source) -> bool:
    """Whether the trace has ATen operators."""
    return any(isinstance(e, dict) and str(e.get("name")).startswith("aten::") for e in source.events)


@dataclass(frozen=True)
class _Call:
    name: str
    start_us: float
    duration_us: float
    inputs: tuple[Tensor, ...]


def read(source: Source) -> ImportedProfile:
    """The operators of the iterations. Raises `FormatError` where no operator ran."""
    path = source.path
    events = [e for e in source.events if isinstance(e, dict) and e.get("ph") == "X"]
    every = _runs(events, path)
    # The first steps may hold work that happens once; the last is what repeats.
    runs = [run for run in every if [c.name for c in run] == [c.name for c in every[-1]]]
    counted = runs[1:] or runs
    times = np.array([[call.duration_us for call in run] for run in counted]) / 1000
    medians, minima = np.median(times, axis=0), times.min(axis=0)
    operators = [_operator(i, call, float(medians[i]), float(minima[i])) for i, call in enumerate(counted[0])]
    notes = [
        "PyTorch's trace names no layers and does not say what is constant: the weight of aten::linear and "
        "aten::addmm is taken for one, its share of zeros for 0"
    ]
    if len(runs) < len(every):
        notes.append(f"{len(every) - len(runs)} of {len(every)} steps ran other operators than the last: left out")
    if source.model is not None:
        notes.append("PyTorch's operators have no ONNX names: the model was not joined")
    if any(e.get("cat") in ("kernel", "Kernel") for e in events):
        notes.append("the trace has GPU kernels: the times here are the CPU's, which launches them")
    if not any(t.shape is not None for call in counted[0] for t in call.inputs):
        notes.append("the trace has no shapes, so weights are unknown: profile with record_shapes=True")
    profile = imported_profile(
        path,
        operators,
        runtime="PyTorch",
        batch=source.batch,
        cores=source.cores,
        warmup=len(runs) - len(counted),
        iterations=len(counted),
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


def _runs(events: Sequence[Mapping[str, object]], path: Path) -> list[list[_Call]]:
    calls = _outermost([e for e in events if e.get("cat") in _CATEGORIES], path)
    if not calls:
        raise FormatError("no ATen operator ran on the CPU", where=path, remedy="profile with ProfilerActivity.CPU")
    steps = sorted(
        (_time(e, "ts", path), _time(e, "dur", path))
        for e in events
        if str(e.get("name")).startswith("ProfilerStep#") and e.get("cat") in (*_CATEGORIES, "user_annotation")
    )
    runs = [[c for c in calls if start <= c.start_us < start + duration] for start, duration in steps] or [calls]
    runs = [run for run in runs if run]
    if not runs:
        raise FormatError("no operator ran within a ProfilerStep", where=path, remedy="call profiler.step() after runs")
    return runs


def _outermost(events: Sequence[Mapping[str, object]], path: Path) -> list[_Call]:
    """The operators that no other operator of their thread contains, by time."""
    ordered = sorted(
        (e for e in events if not str(e.get("name")).startswith("ProfilerStep#")),
        key=lambda e: (_time(e, "ts", path), -_time(e, "dur", path)),
    )
    ends: dict[tuple[str, str], float] = {}
    found: list[_Call] = []
    for event in ordered:
        thread = (str(event.get("pid")), str(event.get("tid")))
        start, duration = _time(event, "ts", path), _time(event, "dur", path)
        if start < ends.get(thread, float("-inf")):
            continue
        ends[thread] = start + duration
        found.append(_Call(str(event.get("name")), start, duration, _inputs(event)))
    return found


def _time(event: Mapping[str, object], key: str, path: Path) -> float:
    value = event.get(key)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if not number >= 0:
        raise FormatError(
            f"event {event.get('name')!r}: {key!r} is {value!r}, expected microseconds", where=path,
            remedy="export the trace again",
        )  # fmt: skip
    return number


def _inputs(event: Mapping[str, object]) -> tuple[Tensor, ...]:
    args = event.get("args")
    if not isinstance(args, dict):
        return ()
    dims = args.get("Input Dims", args.get("Input dims"))
    types = args.get("Input type")
    if not isinstance(dims, list):
        return ()
    kinds = types if isinstance(types, list) and len(types) == len(dims) else [""] * len(dims)
    return tuple(
        Tensor("", _shape(shape), _DTYPES.get(str(kind), "?"))
        for shape, kind in zip(dims, kinds, strict=True)
        if str(kind) not in ("Scalar", "ScalarList") and (shape != [] or kind not in ("", "None"))
    )


def _shape(dims: object) -> tuple[int, ...] | None:
    if isinstance(dims, list) and all(isinstance(d, int) for d in dims):
        return tuple(dims)
    return None


def _operator(index: int, call: _Call, median: float, minimum: float) -> OperatorRecord:
    weight = _weight(call)
    first = call.inputs[0].shape if call.inputs else None
    flops = None
    if weight is not None:
        rows = call.inputs[1].shape if call.name in _TURNED and len(call.inputs) > 1 else first
        flops = 2.0 * float(np.prod(rows)) * weight.shape[0] if rows else None
    return imported_operator(
        index,
        call.name,
        f"{call.name}_{index}",
        median,
        inputs=call.inputs,
        weight=weight,
        support=rank_two_support(weight.shape) if weight else (False, "no weight known from the trace"),
        minimum_ms=minimum,
        flops=flops,
    )


def _weight(call: _Call) -> Weight | None:
    place = _WEIGHT_PLACE.get(call.name)
    if place is None or place >= len(call.inputs):
        return None
    shape = call.inputs[place].shape
    if shape is None or len(shape) != 2:
        return None
    turned = shape[::-1] if call.name in _TURNED else shape
    return weight_in(turned, (call.inputs[place],), 0.0)
