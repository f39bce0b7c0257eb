"""Measuring perf ratios: dense ONNX Runtime against the 4x1 sparse kernel, in turn, on the same threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from workbench.calibration.cache import CacheKey, CalibrationCache, MeasuredLevel, machine_key
from workbench.calibration.packing import PackedWeight, pack, pruning_mask
from workbench.calibration.product import Layout, kernel_name, require_numba
from workbench.calibration.runtime import Session
from workbench.calibration.timing import FEWEST_BLOCKS, NOISY_ABOVE, time_in_turn
from workbench.profile import BLOCK_ROWS, LEVELS, RatioRow, RatioTable, Source

Floats = NDArray[np.float32]
Progress = Callable[[str, float], None]
DTYPE = "fp32"
"""The element type that the kernel offers; ratios of it must not stand for int8 operators."""
REPEATS = 4
"""Products in a timed run, with weights of their own: as in a network, threads are awake and weights not at hand."""
_OUTPUTS = tuple(f"y{i}" for i in range(REPEATS))
_SECONDS_A_SHAPE = 3.0


@dataclass(frozen=True)
class ShapeMeasurement:
    """Perf ratios of one weight shape N x K at `tokens` rows of activations."""

    shape: tuple[int, int]
    tokens: int
    threads: int
    layout: Layout
    levels: Mapping[float, MeasuredLevel]
    """Pruning level → what was measured."""
    measured_on: str
    """ISO date."""
    from_cache: bool
    busy: float = 0.0
    """Share of the usable cores that other programs took meanwhile; median over the blocks of timing."""

    @property
    def noisy(self) -> bool:
        """Whether a ratio's spread is too wide to be used."""
        return any(is_noisy(level) for level in self.levels.values())

    @property
    def spread(self) -> float:
        """The widest relative half-distance of quartiles among the levels."""
        return max((level.spread for level in self.levels.values()), default=float("nan"))


@dataclass(frozen=True)
class Calibration:
    """What was measured, as a ratio table and in detail."""

    table: RatioTable
    """A row for each shape measured; noisy ones too, marked so in their source."""
    shapes: tuple[ShapeMeasurement, ...]
    skipped: Mapping[tuple[int, ...], str]
    """Shape → why it was not measured."""
    machine: str
    kernel: str


def is_noisy(level: MeasuredLevel) -> bool:
    """Whether the quartiles are too far apart, or too few blocks were undisturbed."""
    return not level.spread <= NOISY_ABOVE or level.blocks < FEWEST_BLOCKS


def calibrate_shapes(
    shapes: Iterable[tuple[int, ...]],
    levels: Sequence[float] = LEVELS,
    tokens: int | Mapping[tuple[int, ...], int] = 1024,
    threads: int = 1,
    *,
    layout: Layout = "row",
    budget_s: float | None = None,
    cache: CalibrationCache | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Perf ratios of weight shapes N x K, fp32, measured on this machine.

    `tokens` is M, the rows of the activations, for all shapes or each. Both sides run as a session of ONNX
    Runtime with one node and `threads` threads: `MatMul` with a dense weight, and the sparse kernel with random
    4x1 zeros; packing of activations is part of the kernel's time, packing of weights is not (both are done
    once). `layout` "row" is a drop-in for MatMul; "feature" takes and gives feature-major activations.
    `budget_s` bounds the measuring; shapes left over are in `skipped`, as are those that have no 4x1 blocks.

    Raises `MissingExtra` without Numba.
    """
    require_numba()
    machine = machine_key()
    kernel = kernel_name()
    wanted = list(dict.fromkeys(shapes))
    measured: list[ShapeMeasurement] = []
    skipped: dict[tuple[int, ...], str] = {}
    spent = 0.0
    for number, shape in enumerate(wanted):
        if progress:
            progress(f"measuring {'x'.join(map(str, shape))}", number / len(wanted))
        reason = _unmeasurable(shape)
        if reason:
            skipped[shape] = reason
            continue
        rows = tokens if isinstance(tokens, int) else tokens[shape]
        key = CacheKey(machine, kernel, (shape[0], shape[1]), DTYPE, rows, threads, layout)
        known = cache.find(key, levels) if cache else None
        if known:
            measured.append(_measurement(key, known.levels, known.measured_on, from_cache=True))
            continue
        share = _SECONDS_A_SHAPE if budget_s is None else (budget_s - spent) / (len(wanted) - number)
        if share <= 0:
            skipped[shape] = "the budget was spent before its turn"
            continue
        started = time.perf_counter()
        found, busy = _measure(key, levels, share)
        spent += time.perf_counter() - started
        fresh = _measurement(key, found, date.today().isoformat(), from_cache=False, busy=busy)
        measured.append(fresh)
        if cache and not fresh.noisy:
            cache.keep(key, found)
    if progress:
        progress("measured", 1.0)
    table = RatioTable(tuple(levels), tuple(_row(m, kernel, machine) for m in measured))
    return Calibration(table, tuple(measured), skipped, machine, kernel)


def _unmeasurable(shape: tuple[int, ...]) -> str:
    if len(shape) != 2:
        return f"rank {len(shape)}, not a matrix"
    if min(shape) < 1:
        return "it is empty"
    if shape[0] % BLOCK_ROWS:
        return f"{shape[0]} output channels are not divisible by {BLOCK_ROWS}"
    return ""


def _measurement(
    key: CacheKey, levels: Mapping[float, MeasuredLevel], measured_on: str, *, from_cache: bool, busy: float = 0.0
) -> ShapeMeasurement:
    return ShapeMeasurement(key.shape, key.tokens, key.threads, key.layout, levels, measured_on, from_cache, busy)


def _row(m: ShapeMeasurement, kernel: str, machine: str) -> RatioRow:
    doubt = "TOO NOISY, " if m.noisy else ""
    cpu = machine.split(" | ")[0]
    source = (
        f"{Source.MEASURED.value}: {doubt}{DTYPE}, M={m.tokens}, {m.threads} threads, {m.layout}-major, "
        f"±{m.spread:.0%}, {kernel}, {m.measured_on}, {cpu}"
    )
    return RatioRow(m.shape, {level: round(v.ratio, 3) for level, v in m.levels.items()}, 1.0, source)


def _measure(key: CacheKey, levels: Sequence[float], budget_s: float) -> tuple[dict[float, MeasuredLevel], float]:
    """Ratios at `levels`, and the share of the cores that other programs took."""
    started = time.perf_counter()
    outputs, inputs = key.shape
    rng = np.random.Generator(np.random.PCG64([outputs, inputs, key.tokens]))
    weight = rng.standard_normal((outputs, inputs), dtype=np.float32)
    activations = rng.standard_normal((key.tokens, inputs), dtype=np.float32)
    packed = [pack(np.where(pruning_mask(weight, level), np.float32(0), weight)) for level in levels]
    result = np.empty((key.tokens, outputs), np.float32)
    sessions = [dense_session(weight, key.tokens, key.threads)]
    try:
        sessions += [sparse_session(p, key.tokens, key.threads, key.layout) for p in packed]
        for number, session in enumerate(sessions):
            turned = number > 0 and key.layout == "feature"
            session.feed({"x": activations.T if turned else activations})
            session.write_into([result.reshape(result.shape[::-1]) if turned else result] * REPEATS)
        left = budget_s - (time.perf_counter() - started)
        times = time_in_turn([s.run for s in sessions], budget_s=left)
    finally:
        for session in sessions:
            session.close()
    dense = times.time_ms(0).median / REPEATS
    found = {}
    for number, (level, p) in enumerate(zip(levels, packed, strict=True), 1):
        ratio, blocks = times.ratio(0, number)
        sparse = times.time_ms(number).median / REPEATS
        found[level] = MeasuredLevel(
            ratio=ratio.median,
            low=ratio.low,
            high=ratio.high,
            dense_ms=dense,
            sparse_ms=sparse,
            gflops=p.flops(key.tokens) / sparse / 1e6,
            blocks=blocks,
        )
    return found, float(np.median(times.busy))


def dense_session(weight: Floats, tokens: int, threads: int) -> Session:
    """REPEATS times MatMul of `x` (tokens x K) with the N x K weight, each with a copy of it."""
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"]) for i in range(REPEATS)]
    turned = np.ascontiguousarray(weight.T)
    stored = [numpy_helper.from_array(turned, f"w{i}") for i in range(REPEATS)]
    model = _model(nodes, (tokens, weight.shape[1]), (tokens, weight.shape[0]), stored)
    # Optimizing would notice that all of them are the same.
    return Session(model, threads=threads, outputs=_OUTPUTS, optimize=False)


def sparse_session(packed: PackedWeight, tokens: int, threads: int, layout: Layout) -> Session:
    """REPEATS times the sparse kernel for `x`, tokens x K (row) or K x tokens (feature), in ONNX Runtime."""
    from workbench.calibration import sparse_op

    jobs = [sparse_op.operator_job(packed.copy(), threads=threads, layout=layout) for _ in range(REPEATS)]
    nodes = [sparse_op.sparse_node(job, "x", f"y{i}", f"sparse{i}") for i, job in enumerate(jobs)]
    shapes = (tokens, packed.inputs), (tokens, packed.outputs)
    if layout == "feature":
        shapes = shapes[0][::-1], shapes[1][::-1]
    model = _model(nodes, *shapes, [])
    custom = sparse_op.custom_operators(jobs)
    return Session(model, threads=threads, outputs=_OUTPUTS, optimize=False, custom=custom)


def _model(
    nodes: Sequence[onnx.NodeProto], x: tuple[int, int], y: tuple[int, int], stored: Sequence[onnx.TensorProto]
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, y) for name in _OUTPUTS],
        stored,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("workbench.calibration", 1)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data
