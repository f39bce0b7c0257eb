"""A workbook's perf ratios replaced by ones measured on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.book.plan import Plan, read_plan
from workbench.book.read import Book, open_book
from workbench.calibration.cache import CalibrationCache
from workbench.calibration.measure import Calibration, ShapeMeasurement, calibrate_shapes, is_noisy
from workbench.calibration.product import Layout, require_numba
from workbench.calibration.timing import FEWEST_BLOCKS, NOISY_ABOVE
from workbench.errors import BookError, WorkbenchError
from workbench.files import refuse_if_open_elsewhere
from workbench.profile import RatioTable, Source
from workbench.profiling.machine import usable_cores

Shape = tuple[int, ...]
Progress = Callable[[str, float], None]
Measure = Callable[..., Calibration]
_KERNEL_OF = {("fp32", "fp32"): "fp32", ("u8", "s8"): "int8"}
"""Element types of activations and weight → the kernel that does them."""


@dataclass(frozen=True)
class CalibratedRow:
    """A row of the ratio table and what became of it."""

    shape: Shape
    measured: ShapeMeasurement | None
    before: Mapping[float, float]
    """Level → ratio that the table held."""
    source_before: str
    written: bool
    reason: str = ""
    """Why the row was not written."""
    note: str = ""

    @property
    def label(self) -> str:
        """`256x1024`."""
        return "x".join(map(str, self.shape))


@dataclass(frozen=True)
class CalibratedProfile:
    """What was measured and written for one profile."""

    profile: str
    threads: int
    layout: Layout
    levels: tuple[float, ...]
    machine: str
    kernel: str
    rows: tuple[CalibratedRow, ...]
    speedup_before: float
    speedup_after: float

    @property
    def written(self) -> int:
        """How many rows of the table now hold measured ratios."""
        return sum(row.written for row in self.rows)


def calibrate_book(
    book: str | Path,
    out: str | Path | None = None,
    *,
    profile: str | None = None,
    levels: Sequence[float] | None = None,
    layout: Layout = "row",
    budget_s: float | None = None,
    overwrite: bool = False,
    cache: CalibrationCache | None = None,
    progress: Progress | None = None,
    measure: Measure = calibrate_shapes,
) -> tuple[CalibratedProfile, ...]:
    """Measure the 4x1 perf ratios of a workbook's weight shapes here and write them into its ratio tables.

    For every weight shape of supported operators of `profile` (all profiles where None), fp32 or int8, dense ONNX
    Runtime and the sparse kernel are timed in turn at the shape's tokens and the profile's threads. `levels` are
    columns of the table, all of them where None. Rows whose source is `user` stay unless `overwrite`; measurements that
    are too noisy are not written. `budget_s` bounds the measuring of a profile. Measurements are kept in `cache`
    (of the user, where None) for other workbooks. Every formula is recalculated; `out` leaves `book` as it is.

    Raises `MissingExtra` without Numba, `BookError` for profiles and levels that the workbook doesn't have.
    """
    require_numba()
    target = Path(out) if out is not None else Path(book)
    refuse_if_open_elsewhere(target)
    opened = open_book(book)
    plans = [read_plan(opened, name) for name in ([profile] if profile else opened.profile_names)]
    for plan in plans:
        _check_threads(plan)
    chosen = {plan.profile: _levels(opened, plan.profile, levels) for plan in plans}
    kept = CalibrationCache() if cache is None else cache
    calibrated: list[tuple[Plan, Calibration, tuple[CalibratedRow, ...]]] = []
    for number, plan in enumerate(plans):
        stage = _stage(progress, plan.profile if len(plans) > 1 else "", number, len(plans))
        tokens, dtypes, skipped, notes = _shapes(plan)
        done = measure(
            tokens,
            chosen[plan.profile],
            tokens,
            plan.threads,
            layout=layout,
            dtypes=dtypes,
            budget_s=budget_s,
            cache=kept,
            progress=stage,
        )
        rows = _rows(opened.ratio_table(plan.profile), done, {**skipped, **done.skipped}, notes, overwrite=overwrite)
        calibrated.append((plan, done, rows))
    speeds = _write(opened, target, calibrated)
    return tuple(
        CalibratedProfile(
            plan.profile, plan.threads, layout, chosen[plan.profile], done.machine, done.kernel, rows, *speed
        )
        for (plan, done, rows), speed in zip(calibrated, speeds, strict=True)
    )


def _check_threads(plan: Plan) -> None:
    usable = len(usable_cores())
    if plan.threads > usable:
        raise WorkbenchError(
            f"profile {plan.profile!r} is of {plan.threads} threads, and this process may use {usable} cores",
            where=plan.book,
            remedy="calibrate on the machine of the profile, or choose another with --profile",
        )


def _levels(book: Book, profile: str, wanted: Sequence[float] | None) -> tuple[float, ...]:
    columns = book.ratio_table(profile).levels
    if not wanted:
        return columns
    lost = [level for level in wanted if level not in columns]
    if lost:
        raise BookError(
            f"the ratio table of {profile!r} has no column for {lost[0]:.4g} (it has {_listed(columns)})",
            where=book.path,
            remedy="type the level over a header of the table, or into its free column",
        )
    return tuple(dict.fromkeys(wanted))


def _listed(levels: Iterable[float]) -> str:
    return ", ".join(f"{level:.4g}" for level in levels)


def _stage(progress: Progress | None, profile: str, number: int, parts: int) -> Progress | None:
    if progress is None:
        return None

    def report(stage: str, done: float) -> None:
        progress(f"{profile}: {stage}" if profile else stage, (number + done) / parts)

    return report


def _shapes(plan: Plan) -> tuple[dict[Shape, int], dict[Shape, str], dict[Shape, str], dict[Shape, str]]:
    """Of each shape: tokens and dtype to measure it with, why it can't be measured, what to know of it.

    A shape that runs in several ways is measured in the one where most of its time goes.
    """
    times: dict[Shape, dict[tuple[str, int], float]] = {}
    skipped: dict[Shape, str] = {}
    for o in plan.operators:
        if not o.shape or not o.supported:
            continue
        dtype = _KERNEL_OF.get((o.dtype, o.weight_dtype))
        if dtype is None:
            reason = f"its operators take {o.dtype} by {o.weight_dtype}; the kernels do fp32, and u8 by s8"
            skipped.setdefault(o.shape, reason)
        elif o.tokens is None:
            skipped.setdefault(o.shape, f"the tokens of operator {o.name!r} are unknown")
        else:
            ways = times.setdefault(o.shape, {})
            ways[dtype, o.tokens] = ways.get((dtype, o.tokens), 0.0) + o.latency_ms
    chosen = {shape: max(ways, key=lambda way: ways[way]) for shape, ways in times.items()}
    notes = {}
    for shape, (dtype, tokens) in chosen.items():
        others = [f"{d} at M={m}" for d, m in sorted(times[shape]) if (d, m) != (dtype, tokens)]
        if others:
            share = times[shape][dtype, tokens] / (sum(times[shape].values()) or 1.0)
            notes[shape] = (
                f"measured as {dtype} at M={tokens}, where {share:.0%} of its time goes; "
                f"it also runs as {', '.join(others)}"
            )
        elif shape in skipped:
            notes[shape] = f"not for all of its operators: {skipped[shape]}"
    return (
        {shape: tokens for shape, (_, tokens) in chosen.items()},
        {shape: dtype for shape, (dtype, _) in chosen.items()},
        {shape: reason for shape, reason in skipped.items() if shape not in chosen},
        notes,
    )


def _rows(
    table: RatioTable,
    done: Calibration,
    skipped: Mapping[Shape, str],
    notes: Mapping[Shape, str],
    *,
    overwrite: bool,
) -> tuple[CalibratedRow, ...]:
    measured: dict[Shape, ShapeMeasurement] = {m.shape: m for m in done.shapes}
    rows: list[CalibratedRow] = []
    listed = {row.shape for row in table.rows}
    for row in table.rows:
        found = measured.get(row.shape)
        reason = skipped.get(row.shape, "")
        if found is None:
            reason = reason or "no supported operator has this shape"
        elif found.noisy:
            reason = _noise(found)
        elif row.source.strip().casefold().startswith(Source.USER.value) and not overwrite:
            reason = "its source is 'user' (--overwrite replaces it)"
        rows.append(
            CalibratedRow(row.shape, found, row.ratios, row.source, not reason, reason, notes.get(row.shape, ""))
        )
    rows += [
        CalibratedRow(shape, found, {}, "", False, "the ratio table has no row for it")
        for shape, found in measured.items()
        if shape not in listed
    ]
    return tuple(rows)


def _noise(found: ShapeMeasurement) -> str:
    level, worst = max(found.levels.items(), key=lambda item: (is_noisy(item[1]), item[1].spread))
    if worst.blocks < FEWEST_BLOCKS:
        return (
            f"too noisy: other programs took {found.busy:.0%} of the cores, and {worst.blocks} of the blocks of timing "
            "were undisturbed"
        )
    return f"too noisy: at {level:.4g} the ratio spreads by ±{worst.spread:.0%} (at most ±{NOISY_ABOVE:.0%} is taken)"


def _write(
    book: Book, target: Path, calibrated: Sequence[tuple[Plan, Calibration, tuple[CalibratedRow, ...]]]
) -> list[tuple[float, float]]:
    """Put the rows into the workbook; (before, after) of each profile's estimated speed-up."""
    from workbench.recalc import open_workbook

    with open_workbook(book.path) as workbook:
        workbook.recalculate()
        parts = [book.objects[plan.profile] for plan, _, _ in calibrated]
        before = [_number(workbook.value(f"estimated_speedup_{part}")) for part in parts]
        changed = False
        for part, (_, done, rows) in zip(parts, calibrated, strict=True):
            sources = {row.shape: row for row in done.table.rows}
            for row in rows:
                if not row.written:
                    continue
                fresh = sources[row.shape]
                for level, ratio in fresh.ratios.items():
                    workbook.set(f"ratios_{part}[{row.label}][{100 * level:.6g}%]", ratio)
                workbook.set(f"ratios_{part}[{row.label}][source]", fresh.source)
                changed = True
        workbook.recalculate()
        after = [_number(workbook.value(f"estimated_speedup_{part}")) for part in parts]
        if changed or target != book.path:
            workbook.save(target)
    return list(zip(before, after, strict=True))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
