"""Small workbooks for the tests of recalculation, written by openpyxl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import openpyxl
from openpyxl.worksheet.formula import ArrayFormula

Cells = Mapping[str, object]


def book_of(path: Path, sheets: Mapping[str, Cells] | None = None, **cells: object) -> Path:
    """A workbook with those cells: `book_of(path, A1=1, B1="=A1*2")`, or a mapping for each sheet.

    A formula in braces, `{=…}` as `("A1:A3", "=…")`, becomes an array formula.
    """
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, content in (sheets or {"Sheet1": cells}).items():
        sheet = book.create_sheet(name)
        for address, value in content.items():
            sheet[address] = ArrayFormula(*value) if isinstance(value, tuple) else value
    book.save(path)
    return path


def with_names(path: Path, **names: str) -> Path:
    """The workbook with defined names added."""
    from openpyxl.workbook.defined_name import DefinedName

    book = openpyxl.load_workbook(path)
    for name, text in names.items():
        book.defined_names[name] = DefinedName(name, attr_text=text)
    book.save(path)
    return path


def edited_zip(path: Path, part: str, change: object) -> Path:
    """The workbook with one part changed by a function of its bytes (or left out for None)."""
    import zipfile

    with zipfile.ZipFile(path) as old:
        contents = [(entry, old.read(entry)) for entry in old.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, data in contents:
            if entry.filename == part:
                if change is None:
                    continue
                data = change(data)  # type: ignore[operator]
            new.writestr(entry.filename, data)
    return path
