"""ONNX Runtime's profile: the JSON that `SessionOptions.enable_profiling` writes.

With the model, the graph that ran is made again by the same optimization, and its nodes are joined with the events
by name; operators and weights are then those that profiling the model here would give. Without it, weights are
unknown: the runtime packs constant weights beforehand and its events leave them out.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile, imported_operator, imported_profile
from workbench.exchange.joining import check_found, check_shape
from workbench.exchange.source import Source
from workbench.profile import OperatorRecord, Provenance, Tensor
from workbench.profiling.trace import NodeEvent, RunEvents, group_runs

if TYPE_CHECKING:
    import onnx

    from workbench.profiling.loading import LoadedModel

_SESSION_EVENTS = ("model_loading_uri", "model_loading_array", "session_initialization", "model_run")

_LEVELS = ("ENABLE_ALL", "ENABLE_EXTENDED", "ENABLE_BASIC", "DISABLE_ALL")
"""Optimization levels to try, the usual one first."""


def looks_like(source: Source) -> bool:
    """Whether the JSON is a list of the runtime's events."""
    if not isinstance(source.document, list):
        return False
    return any(
        isinstance(e, dict)
        and (
            (e.get("cat") == "Session" and e.get("name") in _SESSION_EVENTS)
            or (e.get("cat") == "Node" and str(e.get("name")).endswith("_kernel_time"))
        )
        for e in source.document[:100]
    )


def read(source: Source) -> ImportedProfile:
    """The top-level nodes' median times over the runs after the first. Raises `FormatError` where none ran."""
    path = source.path
    events = [e for e in source.events if isinstance(e, dict)]
    every = _grouped(events, path)
    runs = _usual_runs(every, path)
    counted = runs[1:] or runs
    times = np.array([[node.duration_us for node in run.nodes] for run in counted]) / 1000
    model, batch = None, source.batch
    if source.model is not None:
        graph = _best_graph(source.model, counted[0].nodes, source.cores)
        model = graph.model.info
        operators, notes = graph.records(counted[0].nodes, _Times(times), path)
        batch = batch or graph.batch(counted[0].nodes)
    else:
        operators = [_unjoined(i, node, _Times(times)) for i, node in enumerate(counted[0].nodes)]
        notes = ["the file holds no weights: give the model with --model to know them"]
    providers = _providers(events)
    if providers - {"CPUExecutionProvider"}:
        notes.append(f"operators ran on {', '.join(sorted(providers))}: a CPU's perf ratios hold for the CPU only")
    if len(runs) < len(every):
        notes.append(f"{len(every) - len(runs)} of {len(every)} runs ran other operators than the usual: left out")
    if len(runs) == 1:
        notes.append("the file holds one run only, which includes warming up")
    profile = imported_profile(
        path,
        operators,
        runtime=", ".join(["onnxruntime", *sorted(providers)]),
        model=model,
        profiled_ms=float(np.median([run.duration_us for run in counted])) / 1000,
        batch=batch,
        cores=source.cores,
        warmup=len(runs) - len(counted),
        iterations=len(counted),
        warnings=notes,
    )
    return ImportedProfile(profile, notes=tuple(notes))


@dataclass(frozen=True)
class _Times:
    """Runs x operators, ms."""

    all_ms: NDArray[np.float64]

    def median(self, place: int) -> float:
        return float(np.median(self.all_ms[:, place]))

    def minimum(self, place: int) -> float:
        return float(self.all_ms[:, place].min())

    def spread(self, place: int) -> float:
        from workbench.profiling.statistics import within_spread

        return float(within_spread(self.all_ms[:, place])) if len(self.all_ms) > 1 else float("nan")


def _grouped(events: Sequence[Mapping[str, object]], path: Path) -> list[RunEvents]:
    """The runs in which operators ran. Raises `FormatError` for times and shapes that are none."""
    for number, event in enumerate(events):
        for key in ("ts", "dur"):
            value = event.get(key, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
                raise FormatError(
                    f"event {number} ({event.get('name')!r}): {key!r} is {value!r}, expected microseconds",
                    where=path,
                    remedy="write the profile again",
                )
    try:
        return [run for run in group_runs(events) if run.nodes]
    except (TypeError, ValueError, OverflowError):
        raise FormatError("an operator's shape is no list of numbers", where=path, remedy="write it again") from None


def _providers(events: Sequence[Mapping[str, object]]) -> set[str]:
    """The execution providers that ran operators."""
    args = (event.get("args") for event in events if event.get("cat") == "Node")
    return {str(a["provider"]) for a in args if isinstance(a, dict) and a.get("provider")}


def _usual_runs(runs: Sequence[RunEvents], path: Path) -> list[RunEvents]:
    """The runs with the most usual nodes: control flow and an early end make some differ."""
    by_nodes: dict[tuple[str, ...], list[RunEvents]] = defaultdict(list)
    for run in runs:
        by_nodes[tuple(node.node for node in run.nodes)].append(run)
    if not by_nodes:
        raise FormatError(
            "no operator ran in this ONNX Runtime profile",
            where=path,
            remedy="run the model before ending the profiling session",
        )
    return max(by_nodes.values(), key=len)


def _unjoined(index: int, node: NodeEvent, times: _Times) -> OperatorRecord:
    def tensors(types: Sequence[tuple[str, tuple[int, ...]]]) -> tuple[Tensor, ...]:
        return tuple(Tensor("", shape, dtype) for dtype, shape in types)

    return imported_operator(
        index,
        node.op_type,
        node.node,
        times.median(index),
        inputs=tensors(node.inputs),
        outputs=tensors(node.outputs),
        support=(False, "weight unknown: import with --model"),
        spread=times.spread(index),
        minimum_ms=times.minimum(index),
    )


def _best_graph(path: Path, events: Sequence[NodeEvent], cores: int | None) -> _OptimizedGraph:
    """The graph that has most of the events' nodes: it depends on the session's optimization level."""
    from workbench.profiling.loading import load_model
    from workbench.profiling.samples import resolve_model

    model = load_model(resolve_model(path))
    best: _OptimizedGraph | None = None
    for level in _LEVELS:
        graph = _OptimizedGraph(model, _optimized(model, cores or 1, level))
        if best is None or graph.found(events) > best.found(events):
            best = graph
        if best.found(events) == len(events):
            break
    assert best is not None
    return best


def _optimized(model: LoadedModel, threads: int, level: str) -> onnx.GraphProto:
    """What a session of that level and number of threads makes of the model; tensors' data stay outside."""
    import onnx
    import onnxruntime as ort

    from workbench.profiling.runs import open_unique
    from workbench.profiling.sessions import session_options

    options = session_options(threads)
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        saved = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(saved)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "optimized.data")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
        open_unique(model, options)
        return onnx.load(saved, load_external_data=False).graph


class _OptimizedGraph:
    """A graph that the runtime made of a model, with its own node names."""

    def __init__(self, model: LoadedModel, graph: onnx.GraphProto) -> None:
        from workbench.profiling.records import initializer_types

        self.model = model
        self.graph = graph
        self._types = dict(initializer_types(graph))
        self._places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, node in enumerate(graph.node):
            self._places[node.name, node.op_type].append(place)

    def found(self, events: Sequence[NodeEvent]) -> int:
        """How many of the events are nodes of the graph."""
        return sum(1 for place in self._found(events) if place is not None)

    def records(self, events: Sequence[NodeEvent], times: _Times, path: Path) -> tuple[list[OperatorRecord], list[str]]:
        """An operator for each event, and notes. Raises `FormatError` where the events are another model's."""
        from workbench.profiling.origin import trace_origins
        from workbench.profiling.records import Timing, operator_record, weight_records
        from workbench.profiling.weights import find_products

        places = self._found(events)
        names = [event.node for event in events]
        missing = [name for name, place in zip(names, places, strict=True) if place is None]
        check_found(names, len(names) - len(missing), path, self.model.path)
        products = find_products(self.model.proto, self.model.folder)
        origins = trace_origins(self.model.proto, self.graph, products)
        weights = weight_records(self.model, products)
        types = self._tensor_types(events, places)
        operators = []
        for i, (event, place) in enumerate(zip(events, places, strict=True)):
            if place is None:
                operators.append(_unjoined(i, event, times))
                continue
            timing = Timing(times.median(i), times.spread(i), times.minimum(i))
            operators.append(
                operator_record(i, self.graph.node[place], origins[place], weights, types, timing, Provenance.IMPORTED)
            )
            check_shape(operators[-1], path, self.model.path)
        notes = []
        if missing:
            notes.append(
                f"{len(missing)} of {len(names)} operators (the first is {missing[0]!r}) are not in the graph that "
                "this version of ONNX Runtime makes of the model; their weights are unknown"
            )
        return operators, notes

    def batch(self, events: Sequence[NodeEvent]) -> int | None:
        """The first dim of the graph's first input, as the run had it."""
        types = self._tensor_types(events, self._found(events))
        stored = {t.name for t in self.graph.initializer}
        for graph_input in self.graph.input:
            shape = types.get(graph_input.name, (None, ""))[0]
            if graph_input.name not in stored and shape:
                return shape[0]
        return None

    def _found(self, events: Sequence[NodeEvent]) -> list[int | None]:
        """The node of each event: the first of its name and type that no earlier event took."""
        left = {key: list(places) for key, places in self._places.items()}
        return [(left.get((e.node, e.op_type)) or [None]).pop(0) for e in events]  # type: ignore[list-item]

    def _tensor_types(
        self, events: Sequence[NodeEvent], places: Sequence[int | None]
    ) -> Mapping[str, tuple[tuple[int, ...] | None, str]]:
        types = dict(self._types)
        for event, place in zip(events, places, strict=True):
            if place is None:
                continue
            node: onnx.NodeProto = self.graph.node[place]
            for tensors, names in ((event.inputs, node.input), (event.outputs, node.output)):
                # Packed weights are missing among the inputs: then positions say nothing.
                named = [n for n in names if n]
                if len(named) == len(tensors):
                    types.update((n, (s, d)) for n, (d, s) in zip(named, tensors, strict=True) if n not in self._types)
        return types
