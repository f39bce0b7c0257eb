"""What the buttons do, written once against xlwings; the work is done by the functions that the commands use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session
from workbench.errors import BookError, WorkbenchError

if TYPE_CHECKING:
    from pandas import DataFrame

    from workbench.book import Book
    from workbench.profile import PerformanceProfile
    from workbench.recalc import Report

_PROFILE = Setting("profile", "", "the profile's name; empty: the one of the sheet in front, or the only one")
_MODEL = Setting("model", "", "the ONNX model's path; empty: the profile's model, beside the book")
_REQUIRED_MODEL = Setting("model", "", "the ONNX model's path, or the name of a sample model", required=True)
_SECONDS = Setting("seconds", "20", "seconds of measuring, at most; 0 estimates from FLOPs without measuring")
_SAME = 1e-9
"""Two engines' results that differ relatively by less are the same: they add in another order."""


@action("Recalculate")
def recalculate(session: Session, settings: dict[str, str]) -> Outcome:
    """Recalculate every formula here, and with the workbench's engine; list formulas that it can't evaluate."""
    from workbench.recalc import recompute

    if session.edits:
        session.progress("Setting cells", 0.2)
        report = session.write(session.edits)
        session.book.app.calculate()
    else:
        session.progress("Recalculating", 0.2)
        as_before = session.snapshot()
        was_modified = session.host.is_modified
        session.book.app.calculate()
        session.progress("Recalculating with the workbench", 0.5)
        report = recompute(as_before, write=False)
        if not was_modified and not report.changed_count:
            session.host.mark_saved()
    rows = _kept_rows(report)
    message = f"Recalculated {report.formulas} formulas{_speed(session)}"
    if rows:
        return Outcome(f"{message}; {len(rows) - 1} could not be evaluated by the workbench", rows, exit_code=3)
    return Outcome(message)


@action("Check")
def check(session: Session, settings: dict[str, str]) -> Outcome:
    """Compare every formula's value here with the workbench's own, and list the cells that differ."""
    from workbench.recalc import recompute

    session.progress("Recalculating", 0.2)
    session.book.app.calculate()
    session.progress("Comparing", 0.5)
    report = recompute(session.copy_as_calculated(), write=False)
    differing = [(c.cell, c.before, c.after) for c in report.changed if not _is_same(c.before, c.after)]
    kept = _kept_rows(report)
    if not differing and not kept:
        return Outcome(f"Checked {report.formulas} formulas: all values agree")
    rows: list[tuple[object, ...]] = []
    if differing:
        rows += [("cell", "here", "workbench"), *((cell, _shown(a), _shown(b)) for cell, a, b in differing)]
    return Outcome(
        f"Checked {report.formulas} formulas: {len(differing)} differ, {max(len(kept) - 1, 0)} could not be evaluated",
        rows + kept,
        exit_code=1 if differing else 3,
    )


@action("Profile again", [_PROFILE, _MODEL, _SECONDS])
def profile_again(session: Session, settings: dict[str, str]) -> Outcome:
    """Measure the profile of the sheet in front once more; its ratios, targets and sparse support stay."""
    from workbench.book.fields import targets_by_name
    from workbench.book.insert import add_profile
    from workbench.profiling import profile_model

    seconds = _seconds(settings)
    with session.changing_file() as copy:
        book = _profiles_in(copy)
        name = _chosen_profile(session, book, settings["profile"])
        facts = book.facts(name)
        measured = profile_model(
            _model_path(session, settings["model"], str(facts["model"] or "")),
            name=name,
            batch=_whole(facts["batch"]),
            cores=_whole(facts["cores"]),
            budget_s=seconds or 1.0,
            measure=seconds > 0,
            progress=session.progress,
        )
        kept = book.operators(name).drop_duplicates("operator name").set_index("operator name")
        targets = {op: None if blank else target for op, target, blank in _column(kept, "aim to weight sparse ratio")}
        measured = _with_support(measured, {op: bool(value) for op, value, _ in _column(kept, "sparse support")})
        add_profile(
            copy,
            measured,
            replace=True,
            ratios=book.ratio_table(name),
            targets=targets_by_name(measured, targets),
        )
    return Outcome(f"Profiled {name} again{_speed(session, name)}")


def _column(operators: DataFrame, header: str) -> Iterator[tuple[str, Any, bool]]:
    """(operator, value, whether the cell is empty) of a column."""
    values = operators[header]
    return zip(map(str, operators.index), values, values.isna(), strict=True)


def _with_support(profile: PerformanceProfile, support: Mapping[str, bool]) -> PerformanceProfile:
    """The profile, with sparse support as a person left it in the sheet where that differs."""
    operators = tuple(
        replace(op, sparse_support=support[op.name], support_reason="set in the workbook")
        if op.name in support and support[op.name] != op.sparse_support
        else op
        for op in profile.operators
    )
    return replace(profile, operators=operators)


@action(
    "Add profile…",
    [
        Setting("name", "", "the new profile's name", required=True),
        _REQUIRED_MODEL,
        Setting("batch", "", "batch size; empty: the model's own, or 1"),
        Setting("cores", "", "CPU cores; empty: all"),
        _SECONDS,
    ],
)
def add_profile(session: Session, settings: dict[str, str]) -> Outcome:
    """Measure a model, or the same one with another batch or number of cores, and add it to the book."""
    from workbench import api

    seconds, name = _seconds(settings), settings["name"]
    with session.changing_file() as copy:
        api.profile(
            _model_path(session, settings["model"], ""),
            copy,
            name=name,
            batches=(_whole(settings["batch"], "batch"),),
            cores=(_whole(settings["cores"], "cores"),),
            budget_s=seconds or 1.0,
            measure=seconds > 0,
            progress=session.progress,
        )
    return Outcome(f"Added the profile {name}{_speed(session, name)}")


def _kept_rows(report: Report) -> list[tuple[object, ...]]:
    """The formulas without a true value, as a table with a header; empty where there are none."""
    kept = [(k.cell, "not evaluated", k.reason) for k in report.unevaluated]
    kept += [(k.cell, "stale", k.reason) for k in report.stale]
    return [("cell", "state", "reason"), *kept] if kept else []


def _is_same(one: object, other: object) -> bool:
    if one is None or other is None:
        return (one or "") == (other or "")
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers:
        a, b = float(one), float(other)  # type: ignore[arg-type]
        return abs(a - b) <= _SAME * max(abs(a), abs(b), 1e-300)
    return str(one) == str(other)


def _shown(value: object) -> object:
    return value if isinstance(value, int | float | str) or value is None else str(value)


def _profiles_in(path: Path) -> Book:
    from workbench.book import open_book

    return open_book(path)


def _chosen_profile(session: Session, book: Book, given: str) -> str:
    """The profile of the settings, of the sheet in front, or the book's only one."""
    active = given or session.front_sheet
    for name in book.profile_names:
        if active in (name, f"{name} ops"):
            return name
    if len(book.profile_names) == 1 and not given:
        return book.profile_names[0]
    raise BookError(
        f"there is no profile {given!r}" if given else f"the sheet {active!r} belongs to no profile",
        where=session.book.name,
        remedy=f"go to one of {', '.join(book.profile_names)}, and press the button again",
    )


def _model_path(session: Session, given: str, profiled: str) -> str:
    """The model as the settings name it, or the one that was profiled, beside the book."""
    folder = session.saved_path().parent
    text = given or profiled
    if not text:
        raise BookError("no model is known", where=session.book.name, remedy="name it in 'Workbench settings'")
    beside = folder / text
    if beside.exists():
        return str(beside)
    if not given:
        session.ask(f"the profile's model {profiled} is not beside the book", "give its path")
    return text


def _seconds(settings: dict[str, str]) -> float:
    try:
        seconds = float(settings["seconds"])
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise WorkbenchError(
            f"{settings['seconds']!r} is no number of seconds", where="seconds", remedy="give 0 or more"
        )
    return seconds


def _whole(value: object, name: str = "") -> int | None:
    """A positive whole number, None where there is none. Raises `WorkbenchError` for anything else."""
    if value is None or value == "":
        return None
    try:
        number = int(float(str(value)))
    except ValueError:
        number = 0
    if number < 1 or number != float(str(value)):
        raise WorkbenchError(f"{value!r} is not a whole number above 0", where=name, remedy="give e.g. 8")
    return number


def _speed(session: Session, profile: str | None = None) -> str:
    """`: baseline 1.92x` for the profiles that the book has, or for the one named; empty where it has none."""
    names = {name.name.lower(): name for name in session.book.names}
    found = []
    for key, name in names.items():
        label = key.removeprefix("estimated_speedup_")
        if label == key:
            continue
        value = name.refers_to_range.value
        sheet = name.refers_to_range.sheet.name
        if isinstance(value, float) and profile in (None, sheet):
            found.append(f"{sheet} {value:.2f}x")
    return ": " + ", ".join(found) if found else ""
