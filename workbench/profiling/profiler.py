"""The whole way from a model to its profile."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from workbench.errors import ModelError
from workbench.profile import OperatorRecord, PerformanceProfile, Provenance
from workbench.profiling.inputs import (
    Arrays,
    ResolvedDims,
    dims_of,
    load_inputs,
    make_inputs,
    model_inputs,
    resolve_dims,
)
from workbench.profiling.loading import LoadedModel, load_model
from workbench.profiling.machine import chosen_cores, this_machine
from workbench.profiling.origin import trace_origins
from workbench.profiling.records import (
    TensorType,
    Timing,
    array_types,
    initializer_types,
    operator_record,
    weight_records,
)
from workbench.profiling.runs import OptimizedModel, Plan, Progress, Timings, open_unique, optimize
from workbench.profiling.runs import measure as measure_runs
from workbench.profiling.samples import resolve_model
from workbench.profiling.sessions import run_once, runtime_version, session_options
from workbench.profiling.statistics import spread_over_sessions
from workbench.profiling.trace import RunEvents
from workbench.profiling.weights import find_products

DEFAULT_WARMUP = 3
DEFAULT_SESSIONS = 5
DEFAULT_BUDGET_S = 20.0


@dataclass(frozen=True)
class Measurement:
    """A profile and the single runs behind it, for a trace."""

    profile: PerformanceProfile
    runs: tuple[RunEvents, ...]
    """The last profiled session's runs; node i of a run is `profile.operators[i]`."""


def profile_model(
    model: str | Path,
    *,
    name: str = "baseline",
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    cores: int | None = None,
    inputs: Path | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
    sessions: int | None = None,
    budget_s: float = DEFAULT_BUDGET_S,
    measure: bool = True,
    peak_gflops: float | None = None,
    progress: Progress | None = None,
) -> PerformanceProfile:
    """Profile `model` (a file or a sample's name); see `measure_model` for the parameters.

    With `measure=False` nothing runs: shapes come from shape inference and latencies are estimated from
    FLOPs and a peak of `peak_gflops` (measured on this machine when None).
    """
    if measure:
        return measure_model(
            model, name=name, batch=batch, dims=dims, cores=cores, inputs=inputs, iterations=iterations,
            warmup=warmup, sessions=sessions, budget_s=budget_s, progress=progress,
        ).profile  # fmt: skip
    from workbench.profiling.estimate import estimate_model

    return estimate_model(
        model, name=name, batch=batch, dims=dims, cores=cores, peak_gflops=peak_gflops, progress=progress
    )


def measure_model(
    model: str | Path,
    *,
    name: str = "baseline",
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    cores: int | tuple[int, ...] | None = None,
    inputs: Path | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
    sessions: int | None = None,
    budget_s: float = DEFAULT_BUDGET_S,
    instances: int = 1,
    instance: int = 0,
    progress: Progress | None = None,
) -> Measurement:
    """Run `model` with ONNX Runtime and time every operator.

    Plain sessions (end-to-end time) and profiled sessions (operator times) alternate, `sessions` of each;
    each ends after `iterations` runs or, where that is None, when its median is steady or its share of
    `budget_s` seconds is spent. `cores` is a number of cores, or the cores themselves. Symbolic dimensions
    come from `dims` and `batch`, else from defaults that the profile names; `inputs` is an .npz file.
    Raises `ModelError` for a model or inputs that can't be used, `WorkbenchError` for too many cores.
    """
    progress = progress or _silent
    progress("reading the model", 0.0)
    loaded = load_model(resolve_model(model))
    used = chosen_cores(cores)
    feeds, resolved = _inputs(loaded, batch, dims or {}, inputs)
    plan = Plan(
        DEFAULT_WARMUP if warmup is None else warmup,
        iterations,
        sessions or DEFAULT_SESSIONS,
        budget_s,
        len(used),
        used,
    )
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        progress("optimizing the graph", 0.0)
        _try_once(loaded, feeds, plan)
        optimized = optimize(loaded, plan, Path(folder))
        timings = measure_runs(loaded, optimized, feeds, plan, progress)
    progress("matching operators with weights", 1.0)
    operators = _records(loaded, optimized, feeds, timings)
    plain = [np.asarray(s) for s in timings.plain_ms]
    profile = PerformanceProfile(
        name=name,
        model=loaded.info,
        machine=this_machine(),
        batch=resolved.batch,
        dims=dict(resolved.values),
        assumed_dims=resolved.assumed,
        cores=len(used),
        threads=plan.threads,
        instances=instances,
        runtime=runtime_version(),
        operators=operators,
        end_to_end_ms=float(np.median([np.median(s) for s in plain])),
        end_to_end_spread=float(spread_over_sessions(plain)),
        profiled_ms=float(np.median([np.median(s) for s in timings.profiled_ms])),
        warmup=plan.warmup,
        iterations=min(len(s) for s in timings.operators_ms),
        sessions=plan.sessions,
        created=datetime.now().replace(microsecond=0),
        provenance=Provenance.MEASURED,
        warnings=(*timings.warnings, *_warnings(plan, operators)),
        instance=instance,
        settings={"model path": str(loaded.path.resolve())},
    )
    return Measurement(profile, timings.runs)


def _silent(stage: str, done: float) -> None:
    """No progress is shown."""


def _inputs(
    model: LoadedModel, batch: int | None, dims: Mapping[str, int], file: Path | None
) -> tuple[Arrays, ResolvedDims]:
    wanted = model_inputs(model.proto)
    if file is not None:
        arrays = load_inputs(file, wanted)
        return arrays, dims_of(wanted, arrays, file)
    resolved = resolve_dims(wanted, batch, dims, model.path)
    return make_inputs(model.proto, wanted, resolved, model.path), resolved


def _try_once(model: LoadedModel, inputs: Arrays, plan: Plan) -> None:
    """Run the model once, so that trouble is reported, with the model's own names, before anything is timed."""
    run_once(open_unique(model, session_options(plan.threads)), inputs, model.path)


def _records(
    model: LoadedModel, optimized: OptimizedModel, inputs: Arrays, timings: Timings
) -> tuple[OperatorRecord, ...]:
    products = find_products(model.proto, model.folder)
    origins = trace_origins(model.proto, optimized.graph, products)
    weights = weight_records(model, products)
    events = timings.runs[-1].nodes
    types: dict[str, TensorType] = {**initializer_types(optimized.graph), **array_types(inputs)}
    nodes = optimized.graph.node
    places = [int(event.node[1:]) for event in events]
    for place, event in zip(places, events, strict=True):
        named = [o for o in nodes[place].output if o]
        types.update((o, (shape, dtype)) for o, (dtype, shape) in zip(named, event.outputs, strict=False))
    medians = np.median([np.median(s, axis=0) for s in timings.operators_ms], axis=0)
    spreads = spread_over_sessions(timings.operators_ms)
    minima = np.min([s.min(axis=0) for s in timings.operators_ms], axis=0)
    return tuple(
        operator_record(
            i,
            nodes[place],
            origins[place],
            weights,
            types,
            Timing(float(medians[i]), float(spreads[i]), float(minima[i])),
            Provenance.MEASURED,
        )
        for i, place in enumerate(places)
    )


def _warnings(plan: Plan, operators: tuple[OperatorRecord, ...]) -> list[str]:
    found = []
    if plan.sessions == 1:
        found.append("one session only: spreads don't contain the differences between sessions")
    lost = [o for o in operators if o.note == "not found in the original model"]
    if lost:
        share = sum(o.latency_ms for o in lost) / max(sum(o.latency_ms for o in operators), 1e-12)
        found.append(f"{len(lost)} operators ({share:.0%} of the time) could not be found in the original model")
    if not operators:
        raise ModelError("no operator ran", remedy="check the model")
    return found
