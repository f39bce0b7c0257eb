"""Measuring perf ratios: dense ONNX Runtime against the 4x1 sparse kernel, in turn, on the same threads."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.calibration.cache import CacheKey, CalibrationCache, MeasuredLevel, machine_key
from workbench.calibration.packing import PackedInt8, PackedWeight, pack, pack_int8, pruning_mask
from workbench.calibration.product import Int8Linear, Layout, int8_unavailable, kernel_name, require_numba
from workbench.calibration.runtime import Session
from workbench.calibration.sessions import (
    REPEATS,
    dense_int8_session,
    dense_session,
    product_times,
    sparse_int8_session,
    sparse_session,
)
from workbench.calibration.timing import FEWEST_BLOCKS, NOISY_ABOVE, BlockTimes, time_in_turn
from workbench.profile import BLOCK_ROWS, LEVELS, RatioRow, RatioTable, Source

Progress = Callable[[str, float], None]
DTYPES = ("fp32", "int8")
"""Element types that the kernels offer: fp32, and u8 activations by s8 weights to fp32. A ratio holds for one."""
_BLOCKS = 11
_BLOCK_S = 0.02
_CALLS = 4
"""Of a run in a block of timing whose own length is 0: one that does not count, and 3."""
_SECONDS_A_SHAPE = 6.0


@dataclass(frozen=True)
class ShapeMeasurement:
    """Perf ratios of one weight shape N x K at `tokens` rows of activations."""

    shape: tuple[int, int]
    tokens: int
    threads: int
    layout: Layout
    dtype: str
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
    dtypes: Mapping[tuple[int, ...], str] | None = None,
    budget_s: float | None = None,
    cache: CalibrationCache | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Perf ratios of weight shapes N x K measured on this machine.

    `tokens` is M, the rows of the activations, for all shapes or each. Both sides run as a session of ONNX
    Runtime with nodes of one kind and `threads` threads: `MatMul` with a dense weight, and the sparse kernel
    with random 4x1 zeros. For shapes that `dtypes` calls int8 these are `MatMulIntegerToFloat` and the int8
    kernel. Each product stands among operators that make its activations and read its result. Packing of
    activations is part of the kernel's time, packing of weights, which is done once, is not. `layout` "row" is a
    drop-in for MatMul; "feature" takes and gives feature-major activations.
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
        dtype = (dtypes or {}).get(shape, DTYPES[0])
        reason = _unmeasurable(shape, dtype, layout)
        if reason:
            skipped[shape] = reason
            continue
        rows = tokens if isinstance(tokens, int) else tokens[shape]
        key = CacheKey(machine, kernel, (shape[0], shape[1]), dtype, rows, threads, layout)
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


def _unmeasurable(shape: tuple[int, ...], dtype: str, layout: Layout) -> str:
    if dtype == "int8" and int8_unavailable():
        return int8_unavailable()
    if dtype == "int8" and layout != "row":
        return "the int8 kernel takes row-major activations only"
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
    return ShapeMeasurement(
        key.shape, key.tokens, key.threads, key.layout, key.dtype, levels, measured_on, from_cache, busy
    )  # fmt: skip


def _row(m: ShapeMeasurement, kernel: str, machine: str) -> RatioRow:
    doubt = "TOO NOISY, " if m.noisy else ""
    cpu = machine.split(" | ")[0]
    source = (
        f"{Source.MEASURED.value}: {doubt}{m.dtype}, M={m.tokens}, {m.threads} threads, {m.layout}-major, "
        f"±{m.spread:.0%}, {kernel}, {m.measured_on}, {cpu}"
    )
    return RatioRow(m.shape, {level: round(v.ratio, 3) for level, v in m.levels.items()}, 1.0, source)


def _measure(key: CacheKey, levels: Sequence[float], budget_s: float) -> tuple[dict[float, MeasuredLevel], float]:
    """Ratios at `levels`, and the share of the cores that other programs took."""
    started = time.perf_counter()
    outputs, inputs = key.shape
    rng = np.random.Generator(np.random.PCG64([outputs, inputs, key.tokens]))
    packed: list[PackedWeight | PackedInt8]
    activations: NDArray[np.generic]
    opened: list[Callable[[str], Session]]
    if key.dtype == "int8":
        linear = _random_linear(rng, outputs, inputs)
        activations = rng.integers(0, 256, (key.tokens, inputs), np.uint8)
        pruned = [replace(linear, weight=_pruned(linear.weight, level)) for level in levels]
        packed = [pack_int8(p.weight) for p in pruned]
        opened = [partial(dense_int8_session, linear, key.tokens, key.threads)]
        opened += [partial(sparse_int8_session, p, key.tokens, key.threads) for p in pruned]
    else:
        weight = rng.standard_normal((outputs, inputs), dtype=np.float32)
        activations = rng.standard_normal((key.tokens, inputs), dtype=np.float32)
        fp32 = [pack(_pruned(weight, level)) for level in levels]
        packed = list(fp32)
        opened = [partial(dense_session, weight, key.tokens, key.threads)]
        opened += [partial(sparse_session, p, key.tokens, key.threads, key.layout) for p in fp32]
    left = budget_s - (time.perf_counter() - started)
    times = _product_times(opened, activations, outputs, turned=key.layout == "feature", budget_s=left)
    dense = times.time_ms(0).median
    found = {}
    for number, (level, p) in enumerate(zip(levels, packed, strict=True), 1):
        ratio, blocks = times.ratio(0, number)
        sparse = times.time_ms(number).median
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


def _product_times(
    opened: Sequence[Callable[[str], Session]],
    activations: NDArray[np.generic],
    outputs: int,
    *,
    turned: bool,
    budget_s: float,
) -> BlockTimes:
    """The time of a product in sessions timed in turn, by ONNX Runtime's own trace; all but the first take it turned.

    The trace is what a profile's operator latencies come from, too.
    """
    result = np.empty((activations.shape[0], outputs), np.float32)
    sessions: list[Session] = []
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        try:
            for number, make in enumerate(opened):
                session = make(str(Path(folder) / f"trace{number}"))
                sessions.append(session)
                feature = turned and number > 0
                session.feed({"x": np.ascontiguousarray(activations.T) if feature else activations})
                session.write_into([result.reshape(result.shape[::-1]) if feature else result] * REPEATS)
            repeats = [_repeats(session) for session in sessions]
            runs = [partial(_run_times, session, n) for session, n in zip(sessions, repeats, strict=True)]
            times = time_in_turn(runs, blocks=_BLOCKS, block_s=0.0, budget_s=budget_s)
            columns = [
                _block_medians(session.end_profiling(), len(times.busy), n)
                for session, n in zip(sessions, repeats, strict=True)
            ]
        finally:
            for session in sessions:
                session.close()
    return BlockTimes(np.stack(columns, axis=1), times.busy)


def _repeats(session: Session) -> int:
    """How many runs fill a third of a block's time."""
    session.run()
    started = time.perf_counter()
    session.run()
    return max(1, min(50, round(_BLOCK_S / (_CALLS - 1) / (time.perf_counter() - started))))


def _run_times(session: Session, count: int) -> None:
    for _ in range(count):
        session.run()


def _block_medians(trace: Path, blocks: int, count: int) -> NDArray[np.float64]:
    """ms of a product in each block: median over its runs, without those of the first call."""
    every = product_times(trace)[-blocks * _CALLS * count :].mean(axis=1)
    medians: NDArray[np.float64] = np.median(every.reshape(blocks, _CALLS * count)[:, count:], axis=1)
    return medians


def _pruned(weight: NDArray[Any], level: float) -> NDArray[Any]:
    return np.where(pruning_mask(weight, level), weight.dtype.type(0), weight)


def _random_linear(rng: np.random.Generator, outputs: int, inputs: int) -> Int8Linear:
    weight = rng.integers(-127, 128, (outputs, inputs), np.int8)
    return Int8Linear(weight, np.full(outputs, 1e-3, np.float32), 128)
