"""Reading the engine's Chrome trace: operators with their times over the iterations.

A latency is the median over the iterations after the first (which prepares shapes), reshape and forward time
together. The trace doesn't say which inputs are constants: a matrix product's second input of rank 2 that no
operator of the trace made counts as its weight, and the row says so. Its share of zeros is unknown.
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
    json_of,
    rank_two_support,
    shape_of,
    weight_in,
)
from workbench.exchange.neural_engine.csv_reader import named_time
from workbench.exchange.neural_engine.with_model import with_model
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord, Tensor, Weight

_PRODUCTS = frozenset({"innerproduct", "matmul"})
_ASSUMED = "weight assumed: the second input, which no operator of the trace made"


def is_neural_engine_trace(document: object) -> bool:
    """Whether a JSON document is a trace of the engine's three levels."""
    if not isinstance(document, dict):
        return False
    events = document.get("traceEvents")
    return isinstance(events, list) and any(
        isinstance(e, dict) and e.get("tid") in ("inference", "Operator") and e.get("cat") for e in events
    )


def looks_like(source: Source) -> bool:
    """Whether the source is such a trace."""
    return is_neural_engine_trace(source.document)


def read(source: Source) -> ImportedProfile:
    """The same as `read_trace`, joined with the model where there is one."""
    found = _read(source.document, source.path, source.batch, source.cores)
    return with_model(found, source.path, source.model)


def read_trace(path: str | Path, *, batch: int | None = None, cores: int | None = None) -> ImportedProfile:
    """The profile of the trace. Raises `FormatError` where levels are missing or iterations differ."""
    path = Path(path)
    return _read(json_of(path), path, batch, cores)


def _read(document: object, path: Path, batch: int | None, cores: int | None) -> ImportedProfile:
    runs = _runs(document, path)
    counted = runs[1:] or runs
    times = np.array([[event.duration_us for event in run] for run in counted]) / 1000
    medians, minima = np.median(times, axis=0), times.min(axis=0)
    first = counted[0]
    made = {t.name for event in first for t in event.outputs}
    operators = [_operator(i, event, float(medians[i]), float(minima[i]), made) for i, event in enumerate(first)]
    notes = []
    if any(op.note == _ASSUMED for op in operators):
        notes.append(
            "the trace does not say which tensors are constants: the second input of a matrix product counts as its "
            "weight where no operator made it, and its share of zeros as 0"
        )
    created, instance = named_time(path)
    profile = imported_profile(
        path,
        operators,
        runtime="Neural Engine",
        created=created,
        batch=batch,
        cores=cores,
        warmup=len(runs) - len(counted),
        iterations=len(counted),
        instance=instance,
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


@dataclass(frozen=True)
class _Event:
    kind: str
    name: str
    duration_us: float
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attributes: Mapping[str, str]


def _runs(document: object, path: Path) -> list[list[_Event]]:
    """The operators of each iteration, in order; iterations are the same operators."""
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise FormatError("there are no 'traceEvents'", where=path, remedy="name a Chrome trace")
    runs: list[list[_Event]] = []
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise FormatError(f"event {number} is no JSON object", where=path, remedy="write the trace again")
        if event.get("tid") == "Iteration":
            runs.append([])
        elif event.get("tid") == "Operator":
            if not runs:
                raise FormatError(
                    f"event {number}: an operator stands before the first iteration", where=path,
                    remedy="name a trace of the engine's three levels",
                )  # fmt: skip
            runs[-1].append(_event(event, number, path))
    if not runs or not runs[0]:
        raise FormatError("the trace has no operators", where=path, remedy="name a trace of the engine's three levels")
    names = [e.name for e in runs[0]]
    for number, run in enumerate(runs):
        if [e.name for e in run] != names:
            raise FormatError(
                f"iteration {number} has other operators ({len(run)}) than the first ({len(names)})",
                where=path,
                remedy="the trace is cut short or of several models: write it again",
            )
    return runs


def _event(event: Mapping[str, object], number: int, path: Path) -> _Event:
    duration = event.get("dur")
    if not isinstance(duration, int | float) or isinstance(duration, bool) or not 0 <= duration < 1e15:
        raise FormatError(f"event {number}: 'dur' is {duration!r}, expected microseconds", where=path)
    listed = event.get("args")
    args = {str(k): str(v) for k, v in listed.items()} if isinstance(listed, dict) else {}
    pairs = (part.partition(":") for part in args.get("attributes", "").split(";") if part)
    return _Event(
        str(event.get("cat", "")),
        str(event.get("name", "")),
        float(duration),
        _tensors(args, "input"),
        _tensors(args, "output"),
        {name: value for name, _, value in pairs},
    )


def _tensors(args: Mapping[str, str], side: str) -> tuple[Tensor, ...]:
    """Tensors joined by `,`. Where the parts don't fit together (a comma in a name), shapes stay unknown."""
    names, types = args.get(f"{side}_tensor_name", ""), args.get(f"{side}_type", "").rstrip(",")
    if not names:
        return ()
    dtypes = types.split(",")
    parts = names.split(",")
    parts = [*parts[: len(dtypes) - 1], ",".join(parts[len(dtypes) - 1 :])]
    shapes = [shape_of(text.replace("*", "x")) for text in args.get(f"{side}_shape", "").split(",")]
    known = shapes if len(shapes) == len(parts) else [None] * len(parts)
    dtypes = dtypes if len(dtypes) == len(parts) else ["?"] * len(parts)
    return tuple(Tensor(n, s, t) for n, s, t in zip(parts, known, dtypes, strict=True))


def _operator(index: int, event: _Event, median: float, minimum: float, made: set[str]) -> OperatorRecord:
    weight, support, note = _weight(event, made)
    post = event.attributes.get("append_op", "")
    return imported_operator(
        index,
        event.kind,
        event.name,
        median,
        post_ops=tuple(post.split(",")) if post else (),
        inputs=event.inputs,
        outputs=event.outputs,
        weight=weight,
        support=support,
        minimum_ms=minimum,
        note=note,
    )


def _weight(event: _Event, made: set[str]) -> tuple[Weight | None, tuple[bool, str], str]:
    stated = shape_of(event.attributes.get("weight_shape", ""))
    if stated:
        zeros = event.attributes.get("weight_sparse_ratio", "0%").rstrip("%")
        ratio = float(zeros) / 100 if zeros.replace(".", "", 1).isdigit() else 0.0
        supported = event.attributes.get("sparse_support") == "true"
        return weight_in(stated, event.inputs, ratio), (supported, "as the file says"), ""
    second = event.inputs[1] if event.kind.lower() in _PRODUCTS and len(event.inputs) > 1 else None
    if second is None or second.name in made or second.shape is None or len(second.shape) != 2:
        return None, (False, "no constant weight"), ""
    shape = _outputs_first(second.shape, event.outputs)
    return weight_in(shape, event.inputs, 0.0), rank_two_support(shape), _ASSUMED


def _outputs_first(dims: Sequence[int], outputs: Sequence[Tensor]) -> tuple[int, ...]:
    """N x K: the engine stores weights so; turned where only the other way fits the result."""
    last = outputs[0].shape[-1] if outputs and outputs[0].shape else None
    return tuple(dims) if last is None or dims[0] == last or dims[1] != last else tuple(reversed(dims))
