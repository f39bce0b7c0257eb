"""Differences between two workbooks: inputs, latencies, results, by the words of the sheets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from workbench.book import Book

_OPERATOR_COLUMNS = (
    "sparse support",
    "operator latency (ms)",
    "aim to weight sparse ratio",
    "perf ratio",
    "aim to sparse latency (ms)",
)


@dataclass(frozen=True)
class Difference:
    """Something that two workbooks say differently; None where one doesn't have it."""

    profile: str
    what: str
    """`ratio`, `operator`, `total`, `estimate`, `fact` or `profile`."""
    label: str
    before: Any
    after: Any


def compare(first: str | Path, second: str | Path) -> tuple[Difference, ...]:
    """What `second` says differently from `first`, profile by profile. Values are those the files hold."""
    from workbench.book import open_book

    a, b = open_book(first), open_book(second)
    found: list[Difference] = []
    for name in dict.fromkeys((*a.profile_names, *b.profile_names)):
        if name in a.profile_names and name in b.profile_names:
            found += _of_profile(a, b, name)
        else:
            here = name in a.profile_names
            found.append(Difference(name, "profile", name, "present" if here else None, None if here else "present"))
    return tuple(found)


def _of_profile(a: Book, b: Book, name: str) -> list[Difference]:
    found: list[Difference] = []
    sections = (
        ("fact", a.facts(name), b.facts(name)),
        ("total", a.totals(name), b.totals(name)),
        ("estimate", a.estimates(name), b.estimates(name)),
        ("ratio", _cells(a.ratios(name), "weight shape"), _cells(b.ratios(name), "weight shape")),
        ("operator", _operators(a.operators(name)), _operators(b.operators(name))),
    )
    for what, before, after in sections:
        for label in dict.fromkeys((*before, *after)):
            one, other = before.get(label), after.get(label)
            if not _same(one, other):
                found.append(Difference(name, what, label, _shown(one), _shown(other)))
    return found


def _cells(table: pd.DataFrame, key: str) -> dict[str, Any]:
    columns = [c for c in table.columns if c not in (key, "operators", "share of total latency")]
    return {f"{row[key]}, {column}": row[column] for _, row in table.iterrows() for column in columns}


def _operators(table: pd.DataFrame) -> dict[str, Any]:
    """Cells by operator name; of several with one name, by their number."""
    seen: dict[str, int] = {}
    found: dict[str, Any] = {}
    for _, row in table.iterrows():
        name = str(row["operator name"])
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        found |= {f"{label}, {column}": row[column] for column in _OPERATOR_COLUMNS}
    return found


def _same(a: Any, b: Any) -> bool:
    a, b = _shown(a), _shown(b)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)


def _shown(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    return value
