"""Running a model: the optimized graph, plain runs for end-to-end time, profiled runs for operator times."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.errors import ModelError
from workbench.profiling.inputs import Arrays
from workbench.profiling.loading import LoadedModel
from workbench.profiling.sessions import on_cores, open_session, run_once, session_options
from workbench.profiling.statistics import within_spread
from workbench.profiling.trace import EVENT_LIMIT, RunEvents, group_runs, read_events

if TYPE_CHECKING:
    import onnxruntime as ort

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is done, 0 to 1."""

STEADY = 0.01
"""A session ends early once the median of its run times is known this well (relative)."""
FEWEST_ITERATIONS = 50
EVENTS_A_SESSION = 120_000


@dataclass(frozen=True)
class Plan:
    """How much to measure. `iterations` None means: until steady, or the session's share of the budget is spent."""

    warmup: int
    iterations: int | None
    sessions: int
    budget_s: float
    threads: int
    cores: tuple[int, ...]


@dataclass(frozen=True)
class OptimizedModel:
    """The graph that ONNX Runtime makes of the model, its nodes renamed to `n0`, `n1`, …"""

    graph: onnx.GraphProto
    """With the runtime's own node names."""
    path: Path
    """The renamed graph's file, in the measurement's temporary folder."""


@dataclass(frozen=True)
class Timings:
    """What was measured. Milliseconds; one array a session."""

    plain_ms: list[NDArray[np.float64]]
    """Per session: run times without profiling."""
    profiled_ms: list[NDArray[np.float64]]
    """Per session: run times with profiling on."""
    operators_ms: list[NDArray[np.float64]]
    """Per session: iterations x operators."""
    runs: tuple[RunEvents, ...]
    """The last session's profiled runs, after warm-up."""
    warnings: tuple[str, ...]


def optimize(model: LoadedModel, plan: Plan, folder: Path) -> OptimizedModel:
    """Let ONNX Runtime optimize the model as a normal session does, and keep the result in `folder`."""
    options = session_options(plan.threads)
    saved = folder / "optimized.onnx"
    options.optimized_model_filepath = str(saved)
    if model.external_bytes or model.path.stat().st_size > 1_500_000_000:
        # Saved beside the optimized graph: it could not find external data of the original's folder.
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "optimized.data")
        options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "0")
    session = open_unique(model, options)
    del session
    optimized = onnx.load(saved, load_external_data=False)
    original_names = onnx.GraphProto()
    original_names.CopyFrom(optimized.graph)
    for i, node in enumerate(optimized.graph.node):
        node.name = f"n{i}"
    renamed = folder / "renamed.onnx"
    renamed.write_bytes(optimized.SerializeToString())
    return OptimizedModel(original_names, renamed)


def open_unique(model: LoadedModel, options: ort.SessionOptions) -> ort.InferenceSession:
    """A session of the model with every node named and no name twice (ONNX Runtime refuses doubles)."""
    names = [node.name for node in model.proto.graph.node]
    if all(names) and len(set(names)) == len(names):
        return open_session(model.path, options, model.path)
    copy = onnx.ModelProto()
    copy.CopyFrom(model.proto)
    name_nodes(copy.graph)
    if model.external_bytes:
        config = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(config, str(model.folder.resolve()))
    return open_session(copy.SerializeToString(), options, model.path)


def name_nodes(graph: onnx.GraphProto) -> None:
    """Give unnamed nodes the name `OpType_index`, and doubles a number."""
    taken: set[str] = set()
    for i, node in enumerate(graph.node):
        base = node.name or f"{node.op_type}_{i}"
        name, n = base, 1
        while name in taken:
            name, n = f"{base}_{n}", n + 1
        node.name = name
        taken.add(name)


def measure(model: LoadedModel, optimized: OptimizedModel, inputs: Arrays, plan: Plan, progress: Progress) -> Timings:
    """Plain and profiled sessions in turn, one alive at a time."""
    plain: list[NDArray[np.float64]] = []
    profiled: list[NDArray[np.float64]] = []
    operators: list[NDArray[np.float64]] = []
    runs: list[RunEvents] = []
    slices = 2 * plan.sessions
    with on_cores(plan.cores), tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        for number in range(plan.sessions):
            label = f"session {number + 1} of {plan.sessions}"
            plain.append(
                _plain_session(model, inputs, plan, _part(progress, f"{label}: plain runs", 2 * number, slices))
            )
            stage = _part(progress, f"{label}: profiled runs", 2 * number + 1, slices)
            runs = _profiled_session(optimized, inputs, plan, Path(folder), stage)
            profiled.append(np.array([r.duration_us for r in runs]) / 1000)
            operators.append(np.array([[e.duration_us for e in r.nodes] for r in runs]) / 1000)
    return Timings(plain, profiled, operators, tuple(runs), tuple(_doubts(operators)))


def _part(progress: Progress, label: str, number: int, parts: int) -> Callable[[float], None]:
    return lambda done: progress(label, (number + min(done, 1.0)) / parts)


def _plain_session(
    model: LoadedModel, inputs: Arrays, plan: Plan, progress: Callable[[float], None]
) -> NDArray[np.float64]:
    session = open_unique(model, session_options(plan.threads))
    for _ in range(plan.warmup):
        run_once(session, inputs, model.path)
    return _timed(lambda: session.run(None, inputs), plan, None, progress)


def _profiled_session(
    optimized: OptimizedModel, inputs: Arrays, plan: Plan, folder: Path, progress: Callable[[float], None]
) -> list[RunEvents]:
    import onnxruntime as ort

    options = session_options(plan.threads)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "trace")
    session = open_session(optimized.path, options, optimized.path)
    for _ in range(plan.warmup):
        run_once(session, inputs, optimized.path)
    nodes = len(optimized.graph.node) + 2
    cap = max(min(EVENTS_A_SESSION, EVENT_LIMIT) // nodes - plan.warmup, 1)
    _timed(lambda: session.run(None, inputs), plan, cap, progress)
    written = Path(session.end_profiling())
    try:
        runs = group_runs(read_events(written))[plan.warmup :]
    finally:
        written.unlink(missing_ok=True)
    complete = [r for r in runs if [e.node for e in r.nodes] == [e.node for e in runs[0].nodes]]
    if not complete or not complete[0].nodes:
        raise ModelError("ONNX Runtime's profile has no operators", where=optimized.path, remedy="upgrade onnxruntime")
    return complete


def _timed(
    run: Callable[[], object], plan: Plan, cap: int | None, progress: Callable[[float], None]
) -> NDArray[np.float64]:
    """Run times in ms, until `plan` or `cap` says enough."""
    budget = plan.budget_s / (2 * plan.sessions)
    times: list[float] = []
    started = time.perf_counter()
    while True:
        before = time.perf_counter()
        run()
        now = time.perf_counter()
        times.append((now - before) * 1000)
        n, spent = len(times), now - started
        if plan.iterations is not None:
            progress(n / plan.iterations)
            if n >= plan.iterations or (cap is not None and n >= cap):
                break
            continue
        progress(spent / budget)
        if (n >= 3 and spent >= budget) or (cap is not None and n >= cap) or spent >= 4 * budget:
            break
        if n >= FEWEST_ITERATIONS and n % 25 == 0 and float(within_spread(np.array(times))) < STEADY:
            break
    progress(1.0)
    return np.array(times)


def _doubts(operators: list[NDArray[np.float64]]) -> list[str]:
    """What makes the medians doubtful, in sentences."""
    everything = np.concatenate(operators)
    ratio = float(np.median(everything, axis=0).sum() / np.median(everything.sum(axis=1)))
    if not 0.95 <= ratio <= 1.05:
        return [
            f"timings have more than one mode: the sum of operator medians is {ratio:.0%} of the median sum; "
            "measure again on a quieter machine"
        ]
    return []
