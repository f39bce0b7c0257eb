"""Names and numbers in the cells of a text table: nothing is run by a spreadsheet, everything comes back.

A spreadsheet takes a CSV cell that begins with `=`, `+`, `-` or `@` for a formula, quoted or not. Such text gets
an apostrophe in front, which makes it text in every program; `shown` takes it off again. Text that has the
apostrophe by itself gets one more, so both directions are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NEEDS_QUOTES = re.compile('[",\r\n]')
_RUNS = re.compile(r"'*[\s\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_QUOTED = re.compile(r"'+[\s\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def safe(text: str) -> str:
    """`text` as a cell that no spreadsheet runs."""
    return "'" + text if _RUNS.match(text) else text


def shown(cell: str) -> str:
    """The inverse of `safe`."""
    return cell[1:] if _QUOTED.match(cell) else cell


def csv_line(cells: Iterable[str]) -> str:
    """A line of a CSV file, with its end. Cells with commas, quotes or line ends are quoted.

    Python's own writer leaves a lone carriage return unquoted where lines end otherwise, and readers break there.
    """
    return ",".join('"' + c.replace('"', '""') + '"' if _NEEDS_QUOTES.search(c) else c for c in cells) + "\n"


def percent(ratio: float, digits: int | None = None) -> str:
    """`0.9` as `90%`; with `digits`, as `90.00%`."""
    return f"{ratio * 100:.{digits}f}%" if digits is not None else f"{round(ratio * 100, 10):g}%"
