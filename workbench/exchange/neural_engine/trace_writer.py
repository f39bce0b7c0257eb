"""The Chrome trace `profiling_<time>_<instance>.json` of three levels: model, iteration, operator.

As the engine writes it: operators stand back to back, an iteration lasts the sum of its operators and the model
the sum of its iterations, so that nesting and sums hold exactly. Times are whole microseconds where the runtime's
are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from workbench.errors import WorkbenchError
from workbench.exchange.cells import percent
from workbench.exchange.neural_engine.csv_writer import free_file
from workbench.files import replacing
from workbench.profile import OperatorRecord, PerformanceProfile, Tensor
from workbench.profiling.trace import RunEvents


class TraceEvent(TypedDict, total=False):
    """A complete event (`ph` is `X`); `ts` and `dur` in microseconds."""

    cat: str
    dur: float
    name: str
    ph: str
    pid: int
    tid: str
    ts: float
    args: dict[str, str]


def write_trace(
    profile: PerformanceProfile,
    runs: Sequence[RunEvents],
    directory: str | Path,
    *,
    instance: int | None = None,
    when: datetime | None = None,
) -> Path:
    """Write the measured `runs` of `profile` into `directory` (made where missing) and return the file."""
    events = trace_events(profile, runs)
    path = free_file(directory, "json", profile.instance if instance is None else instance, when or profile.created)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.write('{"otherData": {}, "traceEvents": [')
        for number, event in enumerate(events):
            out.write(",\n" if number else "\n")
            out.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
        out.write("\n]}\n")
    return path


def trace_document(profile: PerformanceProfile, runs: Sequence[RunEvents]) -> dict[str, object]:
    """The whole trace as one JSON object."""
    return {"otherData": {}, "traceEvents": list(trace_events(profile, runs))}


def trace_events(profile: PerformanceProfile, runs: Sequence[RunEvents]) -> Iterator[TraceEvent]:
    """The events, each level before what it contains. Node i of every run must be operator i of the profile."""
    wrong = next((n for n, run in enumerate(runs) if len(run.nodes) != len(profile.operators)), None)
    if wrong is not None:
        raise WorkbenchError(
            f"run {wrong} has {len(runs[wrong].nodes)} operators and the profile {len(profile.operators)}",
            where=f"profile {profile.name!r}",
            remedy="write the runs of the same measurement",
        )
    return _events(profile, runs)


def _events(profile: PerformanceProfile, runs: Sequence[RunEvents]) -> Iterator[TraceEvent]:
    durations = [[_plain(node.duration_us) for node in run.nodes] for run in runs]
    yield _event("inference", "model_inference", "inference", 0, sum(sum(d) for d in durations))
    arguments = [_arguments(op) for op in profile.operators]
    start: float = 0
    for number, times in enumerate(durations):
        yield _event("iteration", f"Iteration{number}", "Iteration", start, sum(times))
        for op, args, duration in zip(profile.operators, arguments, times, strict=True):
            event = _event(op.operator_type, op.name, "Operator", start, duration)
            # The runtime times an operator as a whole; preparing shapes is part of its forward time.
            event["args"] = {"reshape_time": "0ms", "forward_time": f"{duration / 1000:g}ms", **args}
            yield event
            start += duration


def _event(category: str, name: str, thread: str, start: float, duration: float) -> TraceEvent:
    return {"cat": category, "dur": duration, "name": name, "ph": "X", "pid": 0, "tid": thread, "ts": start}


def _plain(duration_us: float) -> float:
    return int(duration_us) if float(duration_us).is_integer() else duration_us


def _arguments(op: OperatorRecord) -> dict[str, str]:
    return {
        "input_tensor_name": ",".join(t.name for t in op.inputs),
        "input_type": ",".join(t.dtype for t in op.inputs),
        "input_shape": _shapes(op.inputs),
        "output_tensor_name": ",".join(t.name for t in op.outputs),
        "output_type": ",".join(t.dtype for t in op.outputs),
        "output_shape": _shapes(op.outputs),
        "attributes": _attributes(op),
    }


def _shapes(tensors: Iterable[Tensor]) -> str:
    return ",".join("?" if t.shape is None else "*".join(map(str, t.shape)) for t in tensors)


def _attributes(op: OperatorRecord) -> str:
    """`append_op:gelu;weight_shape:256x1024;…`, sorted by name as the engine's map is."""
    found = {"append_op": ",".join(op.post_ops)} if op.post_ops else {}
    if op.weight is not None:
        found["sparse_support"] = "true" if op.sparse_support else "false"
        found["weight_shape"] = op.weight.label
        found["weight_sparse_ratio"] = percent(op.weight.zero_ratio, 2)
    return ";".join(f"{name}:{value}" for name, value in sorted(found.items()))
