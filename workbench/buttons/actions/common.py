"""What several actions share: the profile in front, the model's file, settings as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.buttons.messages import Setting
from workbench.buttons.session import Session
from workbench.errors import BookError, WorkbenchError

if TYPE_CHECKING:
    from workbench.book import Book
    from workbench.recalc import Report

PROFILE = Setting("profile", "", "the profile's name; empty: the one of the sheet in front, or the only one")
MODEL = Setting("model", "", "the ONNX model's path; empty: the profile's model, beside the book")
REQUIRED_MODEL = Setting("model", "", "the ONNX model's path, or the name of a sample model", required=True)
SECONDS = Setting("seconds", "20", "seconds of measuring, at most; 0 estimates from FLOPs without measuring")


def kept_rows(report: Report) -> list[tuple[object, ...]]:
    """The formulas without a true value, as a table with a header; empty where there are none."""
    kept = [(k.cell, "not evaluated", k.reason) for k in report.unevaluated]
    kept += [(k.cell, "stale", k.reason) for k in report.stale]
    return [("cell", "state", "reason"), *kept] if kept else []


def profiles_in(path: Path) -> Book:
    from workbench.book import open_book

    return open_book(path)


def chosen_profile(session: Session, book: Book, given: str) -> str:
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


def model_path(session: Session, given: str, profiled: str) -> str:
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


def seconds(settings: dict[str, str]) -> float:
    try:
        number = float(settings["seconds"])
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise WorkbenchError(
            f"{settings['seconds']!r} is no number of seconds", where="seconds", remedy="give 0 or more"
        )
    return number


def whole(value: object, name: str = "") -> int | None:
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


def speed(session: Session, profile: str | None = None) -> str:
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


def yes(settings: dict[str, str], name: str) -> bool:
    """A setting that is yes or no. Raises `WorkbenchError` for anything else."""
    text = settings[name].strip().casefold()
    if text in ("yes", "y", "true", "1"):
        return True
    if text in ("no", "n", "false", "0", ""):
        return False
    raise WorkbenchError(f"{settings[name]!r} is neither yes nor no", where=name, remedy="write yes or no")


def number(text: str, name: str, *, low: float = 0.0) -> float:
    """A number or percentage of at least `low`. Raises `WorkbenchError` for anything else."""
    shown = text.strip()
    try:
        value = float(shown.removesuffix("%")) / (100 if shown.endswith("%") else 1)
    except ValueError:
        value = float("nan")
    if not low <= value < float("inf"):
        raise WorkbenchError(f"{text!r} is no number of at least {low:g}", where=name, remedy="write e.g. 1.5")
    return value
