"""A workbook's table as a file of another format: CSV, JSON, Markdown, Parquet, or an Excel table alone.

A new format is a function `(table, out)` and its line in `FORMATS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import MissingExtra, WorkbenchError
from workbench.exchange.cells import csv_line, safe

if TYPE_CHECKING:
    import pandas as pd


def csv_text(table: pd.DataFrame) -> str:
    """Commas between columns, decimal points, texts that look like formulas quoted as text, empty for unknown."""
    lines = [csv_line(safe(str(column)) for column in table.columns)]
    lines += [csv_line(_cell(value) for value in row) for row in table.itertuples(index=False)]
    return "".join(lines)


def json_text(table: pd.DataFrame) -> str:
    """A list of objects, one a row; null for unknown."""
    records = [{str(k): _number(v) for k, v in row.items()} for row in table.to_dict("records")]
    return json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def markdown_text(table: pd.DataFrame) -> str:
    """A pipe table; numbers to the right, with six digits."""
    numeric = [all(isinstance(v, int | float) and not isinstance(v, bool) for v in table[c]) for c in table.columns]
    lines = [
        "| " + " | ".join(_markdown(str(c)) for c in table.columns) + " |",
        "|" + "|".join("---:" if right else "---" for right in numeric) + "|",
    ]
    lines += ["| " + " | ".join(_markdown(_shown(v)) for v in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def write_parquet(table: pd.DataFrame, out: Path) -> None:
    """Columns of one type each; columns of mixed types as text. Needs pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("exporting Parquet", "pyarrow", "parquet") from None
    typed = table.copy()
    typed.columns = _distinct([str(c) for c in table.columns])
    for column in typed.columns:
        typed[column] = _one_type(typed[column])
    typed.to_parquet(out, engine="pyarrow", index=False)


def write_xlsx(table: pd.DataFrame, out: Path) -> None:
    """One sheet with one Excel table; texts stay texts."""
    import xlsxwriter

    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(str(out), options)
    sheet = book.add_worksheet("table")
    headers = _distinct([str(c) for c in table.columns])
    rows = max(len(table), 1)
    sheet.add_table(
        0, 0, rows, max(len(headers) - 1, 0), {"name": "exported", "columns": [{"header": h} for h in headers]}
    )
    for r, row in enumerate(table.itertuples(index=False), 1):
        for c, value in enumerate(row):
            plain = _number(value)
            if plain is not None:
                sheet.write(r, c, plain[:32767] if isinstance(plain, str) else plain)
    sheet.freeze_panes(1, 0)
    sheet.autofit()
    book.close()


TEXT_FORMATS: dict[str, Callable[[Any], str]] = {"csv": csv_text, "json": json_text, "markdown": markdown_text}
FILE_FORMATS: dict[str, Callable[[Any, Path], None]] = {"parquet": write_parquet, "xlsx-table": write_xlsx}


def table_text(table: pd.DataFrame, kind: str) -> str:
    """The table as the text of a text format."""
    return TEXT_FORMATS[kind](table)


def write_table(table: pd.DataFrame, kind: str, out: Path) -> None:
    """Write the table to `out`, atomically. Raises `WorkbenchError` for an unknown format."""
    from workbench.files import replacing

    if kind not in TEXT_FORMATS and kind not in FILE_FORMATS:
        raise WorkbenchError(
            f"there is no format {kind!r}",
            where="--format",
            remedy=f"use one of {', '.join((*TEXT_FORMATS, *FILE_FORMATS))}",
        )
    with replacing(out) as temporary:
        if kind in TEXT_FORMATS:
            temporary.write_text(table_text(table, kind), encoding="utf-8", newline="")
        else:
            FILE_FORMATS[kind](table, temporary)


def _number(value: object) -> Any:
    """`value` as plain data; None for NaN, infinity and pandas' own empties."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    item = getattr(value, "item", None)
    return _number(item()) if callable(item) else str(value)


def _cell(value: object) -> str:
    plain = _number(value)
    if plain is None:
        return ""
    return safe(plain) if isinstance(plain, str) else repr(plain)


def _shown(value: object) -> str:
    plain = _number(value)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return str(plain).upper()
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())


def _distinct(names: list[str]) -> list[str]:
    """Names with a number behind doubles, compared without case, and none empty."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        base, n = name or "column", 1
        new = base
        while new.casefold() in taken:
            n += 1
            new = f"{base} {n}"
        taken.add(new.casefold())
        found.append(new)
    return found


def _one_type(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    values = [_number(v) for v in column]
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} and kinds:
        return pd.Series([math.nan if v is None else float(v) for v in values], index=column.index)
    if kinds == {bool}:
        return pd.Series(values, index=column.index, dtype="boolean")
    return pd.Series([None if v is None else str(v) for v in values], index=column.index, dtype="string")
