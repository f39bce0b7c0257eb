"""A real sparse run against the workbook's estimate of it.

The model is pruned as planned, optimized by ONNX Runtime as usual, and run twice in turn: dense, and with the
targeted products done by the sparse kernel inside the same graph. Predicted figures come from the workbook.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from workbench.calibration.product import kernel_name, require_numba
from workbench.calibration.pruning import prune_model, save_model
from workbench.calibration.runtime import Session
from workbench.calibration.timing import FEWEST_BLOCKS, REJECT_ABOVE, Spread, time_in_turn
from workbench.errors import ModelError, WorkbenchError
from workbench.profiling.inputs import Arrays, dims_of, load_inputs, make_inputs, model_inputs, resolve_dims
from workbench.profiling.loading import LoadedModel, load_model
from workbench.profiling.machine import usable_cores
from workbench.profiling.origin import trace_origins
from workbench.profiling.runs import OptimizedModel, Plan, optimize
from workbench.profiling.samples import resolve_model
from workbench.profiling.trace import group_runs, read_events
from workbench.profiling.weights import find_products

Progress = Callable[[str, float], None]
TOLERANCE = 1e-3
"""Largest difference of outputs, relative to the largest output, that rounding may explain."""
_BLOCK_S = 0.15
_BLOCKS = 21
_PROFILED_ROWS = 7
_RUNS_IN_A_ROW = 5


@dataclass(frozen=True)
class PredictedOperator:
    """An operator as the workbook has it: one row of the operators sheet."""

    index: int
    name: str
    layer_id: str
    operator_type: str
    shape: str
    latency_ms: float
    target: float
    """Aimed share of zeros; 0 where there is none."""
    ratio: float
    """Perf ratio that the workbook applies."""
    aim_ms: float
    """aim to sparse latency."""


@dataclass(frozen=True)
class Prediction:
    """What the workbook says of one profile, read from its cells."""

    profile: str
    batch: int
    dims: Mapping[str, int]
    threads: int
    end_to_end_ms: float
    estimated_ms: float
    total_ms: float
    total_aim_ms: float
    operators: tuple[PredictedOperator, ...]

    @property
    def targets(self) -> dict[str, float]:
        """Layer id → target, of the operators to prune."""
        return {o.layer_id: o.target for o in self.operators if o.target > 0 and o.layer_id}


@dataclass(frozen=True)
class ValidatedOperator:
    """Predicted and real time of one operator, ms; medians."""

    index: int
    name: str
    layer_id: str
    operator_type: str
    shape: str
    target: float
    ratio: float
    book_dense_ms: float
    dense_ms: float
    """Measured now, dense."""
    predicted_ms: float
    """The workbook's aim to sparse latency."""
    sparse_ms: float
    """Measured now, in the sparse run."""
    replaced: bool
    note: str = ""

    @property
    def real_ratio(self) -> float:
        """Dense time / sparse time, both measured now."""
        return self.dense_ms / self.sparse_ms if self.sparse_ms else float("nan")

    @property
    def error(self) -> float:
        """Predicted over real, minus 1."""
        return self.predicted_ms / self.sparse_ms - 1 if self.sparse_ms else float("nan")


@dataclass(frozen=True)
class Validation:
    """The estimate's truth for one network. Milliseconds per run of one batch; errors are shares."""

    profile: str
    model: str
    batch: int
    threads: int
    predicted_ms: float
    """The workbook's estimate. Gains of operators that could not be replaced are taken out of it."""
    book_estimate_ms: float
    """The workbook's estimate as it stands."""
    book_dense_ms: float
    dense: Spread
    sparse: Spread
    blocks: int
    """Undisturbed blocks of timing."""
    operators: tuple[ValidatedOperator, ...]
    kernel: str
    output_difference: float
    """Largest difference of the sparse run's outputs to ONNX Runtime's on the pruned model, over the largest output."""

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1: above 0 the workbook was too pessimistic."""
        return self.predicted_ms / self.sparse.median - 1

    @property
    def drift(self) -> float:
        """Dense time now over the workbook's, minus 1: what the machine's state did meanwhile."""
        return self.dense.median / self.book_dense_ms - 1

    @property
    def same_session_error(self) -> float:
        """The error that is left when the prediction starts from the dense time measured now."""
        return self.predicted_ms * (1 + self.drift) / self.sparse.median - 1

    @property
    def speedup(self) -> float:
        """Dense over sparse, both measured now."""
        return self.dense.median / self.sparse.median

    @property
    def outputs_agree(self) -> bool:
        """Whether rounding explains the difference of the outputs."""
        return self.output_difference <= TOLERANCE

    @property
    def parts(self) -> tuple[ErrorPart, ...]:
        """What the error is made of; the parts add up to it. Largest first."""
        swapped = [o for o in self.operators if o.replaced]
        others = [o for o in self.operators if not o.replaced]
        aimed, got = sum(o.dense_ms / o.ratio for o in swapped), sum(o.sparse_ms for o in swapped)
        before, after = sum(o.dense_ms for o in others), sum(o.sparse_ms for o in others)
        op_sum = self.dense_op_sum_ms
        outside = (self.dense.median - op_sum) * (aimed + before) / op_sum
        left = self.sparse.median - got - after
        now = aimed + before + outside
        found = (
            ErrorPart(
                "the machine since the profile",
                self.predicted_ms - now,
                f"dense it takes {self.dense.median:.3f} ms end to end now, {self.book_dense_ms:.3f} ms then",
            ),
            ErrorPart("the ratios", aimed - got, f"sparse products took {got:.3f} ms, their ratios say {aimed:.3f} ms"),
            ErrorPart(
                "other operators",
                before - after,
                f"they took {after:.3f} ms in the sparse run, {before:.3f} ms in the dense one",
            ),
            ErrorPart(
                "outside operators",
                outside - left,
                f"end-to-end minus operators was {left:.3f} ms, scaled from the dense run {outside:.3f} ms",
            ),
        )
        return tuple(sorted(found, key=lambda part: -abs(part.ms)))

    @property
    def dense_op_sum_ms(self) -> float:
        """Sum of the operators' times in the dense run."""
        return sum(o.dense_ms for o in self.operators)


@dataclass(frozen=True)
class ErrorPart:
    """A part of predicted minus measured."""

    title: str
    ms: float
    reason: str


def validate_model(
    model: str | Path, prediction: Prediction, *, inputs: Arrays | Path | None = None, progress: Progress | None = None
) -> Validation:
    """Run `model` sparse, as `prediction` plans it, and compare times and outputs.

    Raises `MissingExtra` without Numba, `ModelError` where the model isn't the one that the workbook is of, and
    `WorkbenchError` on a machine that other programs keep busy.
    """
    require_numba()
    progress = progress or (lambda stage, done: None)
    source = resolve_model(model)
    loaded = load_model(source)
    progress("pruning", 0.0)
    pruned = prune_model(loaded, prediction.targets)
    wanted = model_inputs(loaded.proto)
    dims = resolve_dims(wanted, prediction.batch, prediction.dims, source)
    arrays = make_inputs(loaded.proto, wanted, dims, source) if inputs is None else inputs
    if isinstance(arrays, Path):
        arrays = load_inputs(arrays, wanted)
    given = dims_of(wanted, arrays, source)
    if given.values != dims.values:
        raise ModelError(
            f"the inputs have the dimensions {_listed(given.values)}, and the profile is of {_listed(dims.values)}",
            where=source,
            remedy="give inputs of the profile's dimensions, or profile the model with these",
        )
    cores = usable_cores()[: prediction.threads]
    if len(cores) < prediction.threads:
        raise ModelError(
            f"the profile was measured on {prediction.threads} cores, and this process may use {len(cores)}",
            where=source,
            remedy="validate on the machine of the profile",
        )
    plan = Plan(3, None, 1, 10.0, prediction.threads, cores)
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        file = Path(folder) / source.name
        save_model(pruned.proto, loaded.folder, file)
        progress("optimizing the graph", 0.05)
        copy = replace(loaded, path=file, proto=pruned.proto)
        return _run(copy, optimize(copy, plan, Path(folder)), prediction, arrays, Path(folder), progress)


def _listed(dims: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(dims.items())) or "none"


def _run(
    pruned: LoadedModel,
    optimized: OptimizedModel,
    prediction: Prediction,
    inputs: Arrays,
    folder: Path,
    progress: Progress,
) -> Validation:
    from workbench.calibration.sparse_op import custom_operators
    from workbench.calibration.substitution import substitute

    graph = onnx.load(optimized.path)
    rows = _rows_by_place(pruned, optimized, prediction)
    targets = prediction.targets
    places = tuple(place for place, row in rows.items() if row.layer_id in targets)
    progress("packing weights", 0.1)
    sparse = substitute(graph, places, prediction.threads)
    if not sparse.replaced:
        reason = next(iter(sparse.refused.values()), "no operator has a target")
        raise ModelError(
            f"none of the planned products can run in the sparse kernels: {reason}",
            where=pruned.info.name,
            remedy="validate a profile with targets on products that they do",
        )
    outputs = [o.name for o in graph.graph.output]
    dense_bytes, sparse_bytes = graph.SerializeToString(), sparse.model.SerializeToString()

    def dense_session(prefix: str = "") -> Session:
        return Session(dense_bytes, threads=prediction.threads, outputs=outputs, optimize=False, profile_prefix=prefix)

    def sparse_session(prefix: str = "") -> Session:
        custom = custom_operators(sparse.jobs)
        return Session(
            sparse_bytes,
            threads=prediction.threads,
            outputs=outputs,
            optimize=False,
            custom=custom,
            profile_prefix=prefix,
        )

    with dense_session() as dense_run, sparse_session() as sparse_run:
        dense_run.feed(inputs)
        sparse_run.feed(inputs)
        difference = _difference(dense_run.outputs(), sparse_run.outputs())
        progress("timing dense and sparse runs in turn", 0.2)
        times = time_in_turn([dense_run.run, sparse_run.run], blocks=_BLOCKS, block_s=_BLOCK_S)
    _, blocks = times.ratio(0, 1)
    if blocks < FEWEST_BLOCKS:
        raise WorkbenchError(
            f"the machine is too busy to time a run: {blocks} of {len(times.busy)} blocks of runs were undisturbed, "
            f"other programs took {np.median(times.busy):.0%} of its cores",
            where=pruned.info.name,
            remedy="try again when it is idle",
        )
    progress("timing operators", 0.7)
    dense_ms, sparse_ms = _operator_times((dense_session, sparse_session), inputs, folder)
    operators = tuple(
        ValidatedOperator(
            index=row.index,
            name=row.name,
            layer_id=row.layer_id,
            operator_type=row.operator_type,
            shape=row.shape,
            target=row.target,
            ratio=row.ratio,
            book_dense_ms=row.latency_ms,
            dense_ms=dense_ms.get(place, 0.0),
            predicted_ms=row.aim_ms,
            sparse_ms=sparse_ms.get(place, 0.0),
            replaced=place in sparse.replaced,
            note=sparse.refused.get(place, ""),
        )
        for place, row in rows.items()
    )
    kept = sum(o.book_dense_ms - o.predicted_ms for o in operators if not o.replaced)
    scale = prediction.end_to_end_ms / prediction.total_ms
    progress("done", 1.0)
    return Validation(
        profile=prediction.profile,
        model=pruned.info.name,
        batch=prediction.batch,
        threads=prediction.threads,
        predicted_ms=prediction.estimated_ms + kept * scale,
        book_estimate_ms=prediction.estimated_ms,
        book_dense_ms=prediction.end_to_end_ms,
        dense=times.time_ms(0),
        sparse=times.time_ms(1),
        blocks=blocks,
        operators=operators,
        kernel=kernel_name(),
        output_difference=difference,
    )


def _rows_by_place(
    pruned: LoadedModel, optimized: OptimizedModel, prediction: Prediction
) -> dict[int, PredictedOperator]:
    """Node of the optimized graph → its row in the workbook. Raises `ModelError` where they don't agree."""
    products = find_products(pruned.proto, pruned.folder)
    origins = trace_origins(pruned.proto, optimized.graph, products)
    waiting = {(o.layer_id, o.operator_type): o for o in prediction.operators}
    rows: dict[int, PredictedOperator] = {}
    for place, (node, origin) in enumerate(zip(optimized.graph.node, origins, strict=True)):
        layer = origin.main if origin.main is not None else origin.members[-1] if origin.members else None
        if layer is None:
            continue
        row = waiting.pop((layer.name or layer.output[0], node.op_type), None)
        if row is not None:
            rows[place] = row
    lost = [o.layer_id for o in waiting.values() if o.target > 0 and o.layer_id]
    if lost:
        raise ModelError(
            f"the optimized graph has no operator for the layer {lost[0]!r} of profile {prediction.profile!r}",
            where=pruned.path.name,
            remedy="validate with the model and the version of ONNX Runtime that the profile was made with",
        )
    return rows


def _difference(dense: list[NDArray[np.generic]], sparse: list[NDArray[np.generic]]) -> float:
    """Largest absolute difference over the largest absolute value, the worst of the outputs."""
    worst = 0.0
    for expected, found in zip(dense, sparse, strict=True):
        largest = float(np.abs(expected.astype(np.float64)).max(initial=0.0))
        distance = np.abs(expected.astype(np.float64) - found.astype(np.float64)).max(initial=0.0)
        worst = max(worst, float(distance) / largest if largest else float(distance))
    return worst


def _operator_times(opened: Sequence[Callable[[str], Session]], inputs: Arrays, folder: Path) -> list[dict[int, float]]:
    """Median ms of each node by place for each kind of session, over undisturbed profiled runs made in turn."""
    sessions = [make(str(folder / f"trace{number}")) for number, make in enumerate(opened)]
    try:
        for session in sessions:
            session.feed(inputs)
        runs = [partial(_several, session) for session in sessions]
        quiet = time_in_turn(runs, blocks=_PROFILED_ROWS, block_s=0.0).quiet
        return [_medians(session.end_profiling(), quiet) for session in sessions]
    finally:
        for session in sessions:
            session.close()


def _several(session: Session) -> None:
    for _ in range(_RUNS_IN_A_ROW):
        session.run()


def _medians(trace: Path, quiet: NDArray[np.bool_]) -> dict[int, float]:
    """Place of a node → median ms over the runs of quiet rows, or of all rows where none was quiet.

    The first run of a row, cold and after another session, is left out.
    """
    runs = group_runs(read_events(trace))
    each = len(runs) // len(quiet)
    used = [
        run
        for number, run in enumerate(runs)
        if number % _RUNS_IN_A_ROW and (not quiet.any() or quiet[min(number // each, len(quiet) - 1)])
    ]
    places = [int(event.node[1:]) for event in used[0].nodes]
    same = [run for run in used if [int(e.node[1:]) for e in run.nodes] == places]
    durations = np.array([[event.duration_us for event in run.nodes] for run in same]) / 1000
    whole = durations.sum(axis=1)
    usual = durations[whole <= REJECT_ABOVE * np.quantile(whole, 0.25)]
    return dict(zip(places, np.median(usual, axis=0).tolist(), strict=True))
