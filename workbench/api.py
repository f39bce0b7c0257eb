"""Every command as a Python function.

    from workbench import api
    made = api.profile("model.onnx", "model.xlsx", batches=(1, 8))
    made.profiles[0].operators[3].latency_ms
    api.show("model.xlsx").operators("baseline")   # a pandas DataFrame
    api.recompute("model.xlsx", edits={"ratios_baseline[256x1024][90%]": 3.8})

The others, each loaded when it is first used: verify, calibrate, prune, validate, sweep, simulate, plan, compare,
import_file, export_table, export_neural_engine.

The command line is a thin layer over these; heavy libraries are imported when a function needs them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import BookError, WorkbenchError
from workbench.profile import LossProfile, PerformanceProfile

if TYPE_CHECKING:
    from workbench.book import Book
    from workbench.loss.data import DataSource
    from workbench.loss.metrics import CustomMetric
    from workbench.profiling import Measurement

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, 0 to 1."""


@dataclass(frozen=True)
class ProfileResult:
    """What `profile` made."""

    book: Path
    profiles: tuple[PerformanceProfile, ...]
    files: tuple[Path, ...] = ()
    """Traces and CSV files written beside the book."""
    extended: bool = False
    """Whether the book existed and was added to."""
    notes: tuple[str, ...] = ()
    """What was found in the book that a person must know."""


def profile(
    model: str | Path,
    book: str | Path | None = None,
    *,
    name: str = "baseline",
    batches: Sequence[int | None] = (None,),
    dims: Mapping[str, int] | None = None,
    cores: Sequence[int | None] = (None,),
    inputs: Path | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
    sessions: int | None = None,
    budget_s: float = 20.0,
    instances: int = 1,
    trace: Path | None = None,
    csv: Path | None = None,
    measure: bool = True,
    peak_gflops: float | None = None,
    replace: bool = False,
    template: Path | None = None,
    protect: bool = False,
    progress: Progress | None = None,
) -> ProfileResult:
    """Profile `model` for every batch and number of cores, and write or extend the workbook `book`.

    Several batches or cores give a profile each, named `<name> b<batch> c<cores>` by what varies. An existing
    workbook gets the profiles added, and keeps everything else; profiles of the same name are an error
    unless `replace`. Raises `WorkbenchError`s before anything is measured where the names or the file won't do.
    """
    from workbench.profiling import resolve_model

    path = Path(book) if book is not None else Path(f"{Path(model).stem}.xlsx")
    cases = [(b, c, profile_name(name, b, c, batches, cores)) for b in batches for c in cores]
    extended = _check_target(path, [case[2] for case in cases], replace)
    if trace is not None and not measure:
        raise WorkbenchError(
            "nothing runs without measuring, so there is no trace", where="--trace", remedy="leave --no-measure out"
        )
    source = resolve_model(model)
    measurements: list[Measurement] = []
    profiles: list[PerformanceProfile] = []
    for number, (batch, core_count, label) in enumerate(cases):
        stage = _stage(progress, label if len(cases) > 1 else "", number, len(cases))
        if measure:
            made = _measured(
                source, instances, name=label, batch=batch, dims=dims, cores=core_count, inputs=inputs,
                iterations=iterations, warmup=warmup, sessions=sessions, budget_s=budget_s, progress=stage,
            )  # fmt: skip
            measurements += made
            profiles += [m.profile for m in made]
        else:
            from workbench.profiling import profile_model

            profiles.append(
                profile_model(
                    source, name=label, batch=batch, dims=dims, cores=core_count, measure=False,
                    peak_gflops=peak_gflops, progress=stage,
                )
            )  # fmt: skip
    if progress is not None:
        progress(f"writing {path}", 1.0)
    notes = _write(path, profiles, extended=extended, replace=replace, template=template, protect=protect)
    files = _side_files(profiles, measurements, trace, csv)
    return ProfileResult(path, tuple(profiles), tuple(files), extended, notes)


@dataclass(frozen=True)
class LossResult:
    """What `loss` made."""

    book: Path
    profile: LossProfile
    figures: Mapping[str, float | str | bool | None]
    """The sheet's figures: average, recovery, reduction, parameters, zeros, zero_share."""
    created: bool = False
    """Whether the book is new, with a performance profile approximated from FLOPs."""
    notes: tuple[str, ...] = ()
    """What a person must know, e.g. that the book's profile is of another model."""


def loss(
    model: str | Path,
    book: str | Path,
    *,
    name: str = "loss",
    profile: str = "",
    data: DataSource | None = None,
    metric: str | CustomMetric = "kl",
    pattern: str = "4x1",
    levels: Sequence[float] = (),
    layers: Sequence[str] = (),
    include_first: bool = False,
    include_grouped: bool = False,
    approximate: bool = False,
    dims: Mapping[str, int] | None = None,
    batch: int = 8,
    threads: int | None = None,
    resume: bool = True,
    replace: bool = False,
    template: Path | None = None,
    protect: bool = False,
    progress: Progress | None = None,
) -> LossResult:
    """Add a loss profile of `model` called `name` to the workbook `book`; see `workbench.loss.loss_profile`.

    It follows the targets of the performance profile `profile` (the book's first where that is empty). A book
    that isn't there is made, with a performance profile approximated from FLOPs.
    Raises `WorkbenchError`s before anything is measured where the name or the file won't do.
    """
    import dataclasses

    from workbench.book import check_profile_name, open_book, write_book
    from workbench.book.insert.losses import add_loss_profile, check_loss_target
    from workbench.loss import LEVELS, loss_profile

    path = Path(book)
    first = profile or "baseline"
    _check_file(path)
    created = not path.exists()
    if created:
        check_profile_name(first)
        check_profile_name(name, (first, f"{first} ops"))
    else:
        first = check_loss_target(path, name, profile, replace=replace).performance_profile
    made = loss_profile(
        model, name=name, data=data, metric=metric, pattern=pattern, levels=levels or LEVELS, layers=layers,
        include_first=include_first, include_grouped=include_grouped, approximate=approximate, dims=dims, batch=batch,
        threads=threads, resume=resume, progress=progress,
    )  # fmt: skip
    made = dataclasses.replace(made, performance_profile=first)
    if created:
        from workbench.profiling import profile_model, resolve_model

        performance = profile_model(resolve_model(model), name=first, measure=False, dims=dims)
        write_book([performance], path, loss_profiles=[made], template=template, protect=protect)
        notes: tuple[str, ...] = (f"the workbook is new: its performance profile {first!r} is approximated from FLOPs",)
    else:
        notes = add_loss_profile(path, made, replace=replace, template=template, protect=protect).notes
    opened = open_book(path)
    if opened.facts(first)["model_hash"] != made.model.sha256:
        notes += (f"the performance profile {first!r} is of another model; layers are matched by weight name",)
    return LossResult(path, made, opened.loss_figures(name), created, notes)


def show(book: str | Path) -> Book:
    """The workbook's tables as pandas data frames, with the values that the file holds."""
    from workbench.book import open_book

    return open_book(book)


_ELSEWHERE = {
    "recompute": "workbench.recalc:recompute",
    "verify": "workbench.recalc.verify:verify",
    "calibrate": "workbench.book.calibration:calibrate_book",
    "prune": "workbench.book.pruning:prune_as_planned",
    "validate": "workbench.book.validation:validate_book",
    "sweep": "workbench.whatif.sweep:sweep",
    "simulate": "workbench.whatif.simulate:simulate",
    "plan": "workbench.whatif.plan:plan",
    "compare": "workbench.whatif.compare:compare",
    "import_file": "workbench.book.foreign:import_file",
    "export_table": "workbench.book.foreign:export_table",
    "export_neural_engine": "workbench.book.foreign:export_neural_engine",
}
"""The other commands' functions: where they are defined."""


def __getattr__(name: str) -> object:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'workbench.api' has no attribute {name!r}")
    module, _, function = _ELSEWHERE[name].partition(":")
    return getattr(importlib.import_module(module), function)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE})


def profile_name(
    name: str, batch: int | None, cores: int | None, batches: Sequence[int | None], all_cores: Sequence[int | None]
) -> str:
    """`name`, with the batch and the cores behind where they vary: `baseline b8 c2`."""
    parts = [name]
    if len(batches) > 1:
        parts.append(f"b{batch}")
    if len(all_cores) > 1:
        parts.append(f"c{cores}")
    return " ".join(parts)


def _stage(progress: Progress | None, label: str, number: int, parts: int) -> Progress | None:
    if progress is None:
        return None

    def report(stage: str, done: float) -> None:
        progress(f"{label}: {stage}" if label else stage, (number + done) / parts)

    return report


def _check_target(path: Path, names: Sequence[str], replace: bool) -> bool:
    """Whether `path` is a workbook to extend. Raises where it can't be, before any time is spent."""
    from workbench.book import check_profile_name, open_book

    for name in names:
        check_profile_name(name)
    _check_file(path)
    if not path.exists():
        return False
    present = {p.casefold(): p for p in open_book(path).profile_names}
    again = next((present[n.casefold()] for n in names if n.casefold() in present), None)
    if again is not None and not replace:
        raise BookError(
            f"the workbook has a profile {again!r} already", where=path, remedy="give another --name, or --replace it"
        )
    return True


def _check_file(path: Path) -> None:
    """Raise where `path` can't be a workbook that is written."""
    from workbench.files import refuse_if_open_elsewhere

    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        raise BookError("a workbook's name ends in .xlsx", where=path, remedy="choose another output with -o")
    if path.is_dir() or not path.parent.is_dir():
        what = "this is a folder" if path.is_dir() else f"the folder {path.parent} does not exist"
        raise BookError(what, where=path, remedy="choose another output with -o")
    refuse_if_open_elsewhere(path)


def _measured(source: Path, instances: int, **options: object) -> list[Measurement]:
    from workbench.profiling import measure_model

    if instances == 1:
        return [measure_model(source, **options)]  # type: ignore[arg-type]
    from workbench.profiling.instances import measure_instances

    return list(measure_instances(source, instances, **options))  # type: ignore[arg-type]


def _write(
    path: Path,
    profiles: Sequence[PerformanceProfile],
    *,
    extended: bool,
    replace: bool,
    template: Path | None,
    protect: bool,
) -> tuple[str, ...]:
    from workbench.book import write_book
    from workbench.book.insert import add_profiles

    if extended:
        return add_profiles(path, profiles, replace=replace, template=template, protect=protect).notes
    write_book(profiles, path, template=template, protect=protect)
    return ()


def _side_files(
    profiles: Sequence[PerformanceProfile],
    measurements: Sequence[Measurement],
    trace: Path | None,
    csv: Path | None,
) -> list[Path]:
    """Neural Engine files, where asked for."""
    if trace is None and csv is None:
        return []
    from workbench.exchange.neural_engine import write_profile_csv, write_trace

    written: list[Path] = []
    if csv is not None:
        from workbench.book.fields import default_target

        # The workbook's targets, so that both say the same.
        written += [write_profile_csv(p, csv, targets=[default_target(op) for op in p.operators]) for p in profiles]
    if trace is not None:
        written += [write_trace(m.profile, m.runs, trace) for m in measurements]
    return written
