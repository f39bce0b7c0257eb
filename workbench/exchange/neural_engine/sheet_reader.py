"""The engine's CSV after a person opened it in a spreadsheet program and saved it as a workbook, as its guide says."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from workbench.errors import FormatError
from workbench.exchange.imported import ImportedProfile
from workbench.exchange.neural_engine.csv_reader import is_neural_engine_csv, read_profile_rows
from workbench.exchange.neural_engine.with_model import with_model
from workbench.exchange.source import Source


def is_workbook(path: Path) -> bool:
    """Whether the file is an XLSX (or any other OOXML) package."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as package:
        return "xl/workbook.xml" in package.namelist()


def looks_like(source: Source) -> bool:
    """Whether the first sheet begins like the engine's CSV."""
    if not is_workbook(source.path):
        return False
    rows = _rows(source.path, 1)
    return bool(rows) and is_neural_engine_csv(",".join(rows[0]))


def read(source: Source) -> ImportedProfile:
    """Profile, ratios and targets of the first sheet."""
    found = read_profile_rows(_rows(source.path), source.path, batch=source.batch, cores=source.cores)
    return with_model(found, source.path, source.model)


def load_cells(path: Path, *, read_only: bool = False, data_only: bool = False) -> Any:
    """openpyxl's workbook of the file, without its warnings of the extensions it doesn't read."""
    import warnings

    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openpyxl.load_workbook(path, read_only=read_only, data_only=data_only)


def _rows(path: Path, limit: int | None = None) -> list[list[str]]:
    try:
        book = load_cells(path, read_only=True)
        try:
            rows = book.worksheets[0].iter_rows(max_row=limit)
            return [[_text(cell.value, getattr(cell, "number_format", "")) for cell in row] for row in rows]
        finally:
            book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, IndexError) as error:
        raise FormatError("the workbook can't be read", where=path, remedy="save it again as .xlsx") from error


def _text(value: object, number_format: str) -> str:
    """The cell as the CSV would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, int | float):
        return f"{value * 100:.10g}%" if "%" in (number_format or "") else f"{value:.10g}"
    return str(value)
