"""Reading the events that ONNX Runtime's profiler writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import FormatError
from workbench.profiling.dtypes import RUNTIME_NAMES

EVENT_LIMIT = 900_000
"""ONNX Runtime drops events after one million, with a line on stderr alone."""


@dataclass(frozen=True)
class NodeEvent:
    """One run of one node. Times in microseconds from the session's start."""

    node: str
    op_type: str
    start_us: float
    duration_us: float
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    """(short dtype, shape) of the inputs that the runtime lists; pre-packed weights are missing."""
    outputs: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class RunEvents:
    """One run of the model and its top-level node events in order."""

    start_us: float
    duration_us: float
    nodes: tuple[NodeEvent, ...]


def read_events(path: Path) -> list[dict[str, object]]:
    """The events of a profile file. Raises `FormatError` where it isn't one or was cut short."""
    try:
        document = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except json.JSONDecodeError as error:
        raise FormatError(
            f"the JSON is broken or cut short at line {error.lineno}", where=path, remedy="write the profile again"
        ) from None
    if not isinstance(document, list) or not all(isinstance(e, dict) for e in document):
        raise FormatError("this is no ONNX Runtime profile (a JSON list of events)", where=path)
    return document


def group_runs(events: Sequence[Mapping[str, object]]) -> list[RunEvents]:
    """Events as runs, in order; only top-level nodes (a loop's body counts in the loop's time)."""
    timed = [e for e in events if isinstance(e.get("ts"), int | float) and isinstance(e.get("dur"), int | float)]
    timed.sort(key=lambda e: (float(e["ts"]), -float(e["dur"])))  # type: ignore[arg-type]
    runs: list[tuple[float, float, list[NodeEvent]]] = []
    end_of_run = end_of_node = -1.0
    for event in timed:
        start, duration = float(event["ts"]), float(event["dur"])  # type: ignore[arg-type]
        if event.get("name") == "model_run":
            runs.append((start, duration, []))
            end_of_run, end_of_node = start + duration, -1.0
        elif event.get("cat") == "Node" and str(event.get("name")).endswith("_kernel_time"):
            if not runs or start > end_of_run or start + duration <= end_of_node:
                continue
            end_of_node = start + duration
            runs[-1][2].append(_node_event(event, start, duration))
    return [RunEvents(start, duration, tuple(nodes)) for start, duration, nodes in runs]


def _node_event(event: Mapping[str, object], start: float, duration: float) -> NodeEvent:
    arguments = event.get("args")
    args = arguments if isinstance(arguments, dict) else {}
    return NodeEvent(
        str(event["name"]).removesuffix("_kernel_time"),
        str(args.get("op_name", "")),
        start,
        duration,
        _types(args.get("input_type_shape")),
        _types(args.get("output_type_shape")),
    )


def _types(listed: object) -> tuple[tuple[str, tuple[int, ...]], ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(
        (RUNTIME_NAMES.get(str(name), str(name)), tuple(int(d) for d in shape))
        for entry in listed
        if isinstance(entry, dict)
        for name, shape in entry.items()
    )
