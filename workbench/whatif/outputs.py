"""Which cells what-if tools watch by default, and how inputs are written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.errors import CellError, WorkbenchError
from workbench.recalc.recompute import entered_value
from workbench.recalc.values import Scalar

WATCHED = ("estimated_ms", "estimated_speedup", "total_aim_to_sparse_latency", "aim_to_sparse_support_latency_ratio")
"""First parts of the defined names that are shown of each profile."""
_MOST_VALUES = 100_000


def profiles_of(book: str | Path) -> dict[str, str]:
    """Profile → its part of defined names. Raises `BookError` where the file holds none."""
    from workbench.book import open_book

    return dict(open_book(book).objects)


def chosen_profile(book: str | Path, profile: str | None) -> tuple[str, str]:
    """The profile asked for, or the only one, with its part of defined names."""
    present = profiles_of(book)
    if profile is None and len(present) == 1:
        return next(iter(present.items()))
    found = next((name for name in present if profile is not None and name.casefold() == profile.casefold()), None)
    if found is None:
        problem = f"there is no profile {profile!r}" if profile is not None else f"there are {len(present)} profiles"
        raise WorkbenchError(problem, where=book, remedy=f"choose one with --profile: {', '.join(present)}")
    return found, present[found]


def watched_cells(parts: Sequence[str]) -> list[str]:
    """The defined names watched for the profiles with these parts of names."""
    return [f"{name}_{part}" for part in parts for name in WATCHED]


def listed_values(text: str) -> tuple[str, tuple[Scalar, ...]]:
    """`CELL=70%,80%` or `CELL=1..5:0.5` (from .. to : step) → the cell and its values. Raises `CellError`."""
    from workbench.recalc.recompute import parse_edit

    target, _ = parse_edit(text)
    listed = text[text.index("=", text.index(target) + len(target)) + 1 :]
    values: list[Scalar] = []
    for part in listed.split(","):
        values += _range(part, text) if ".." in part else [entered_value(part)]
    return target, tuple(values)


def _range(part: str, text: str) -> list[Scalar]:
    ends, _, step_text = part.partition(":")
    low_text, _, high_text = ends.partition("..")
    numbers = [entered_value(t) for t in (low_text, high_text, step_text)]
    low, high, step = numbers
    if not (isinstance(low, float) and isinstance(high, float) and isinstance(step, float)) or step <= 0:
        raise CellError(f"{part.strip()!r} in {text!r} is no range", remedy="write FROM..TO:STEP, as in 1..5:0.5")
    count = int((high - low) / step + 1e-9) + 1
    if count > _MOST_VALUES:
        raise CellError(f"{part.strip()!r} in {text!r} has {count:,} values", remedy="choose a larger step")
    return [round(low + n * step, 12) for n in range(count)]
