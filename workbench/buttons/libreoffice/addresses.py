"""Addresses: what xlwings calls a range by, as rows and columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.buttons.libreoffice.bridge import LibreOfficeError, NotSupported
from workbench.buttons.libreoffice.formulas import column_letters, column_number

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.ranges import Range
    from workbench.buttons.libreoffice.sheets import Sheet


@dataclass(frozen=True)
class Area:
    """A rectangle of cells; rows and columns count from 1."""

    row: int
    column: int
    rows: int
    columns: int

    @classmethod
    def of(cls, address: Any) -> Area:
        """From a `com.sun.star.table.CellRangeAddress`."""
        return cls(
            address.StartRow + 1,
            address.StartColumn + 1,
            address.EndRow - address.StartRow + 1,
            address.EndColumn - address.StartColumn + 1,
        )

    @classmethod
    def spanning(cls, first: Area, last: Area) -> Area:
        row, column = min(first.row, last.row), min(first.column, last.column)
        return cls(
            row, column, max(first.end_row, last.end_row) - row + 1, max(first.end_column, last.end_column) - column + 1
        )

    @property
    def end_row(self) -> int:
        return self.row + self.rows - 1

    @property
    def end_column(self) -> int:
        return self.column + self.columns - 1

    def holds(self, other: Area) -> bool:
        return (
            self.row <= other.row
            and other.end_row <= self.end_row
            and self.column <= other.column
            and other.end_column <= self.end_column
        )

    def text(self, row_absolute: bool = True, column_absolute: bool = True) -> str:
        """`$B$2:$D$5`."""

        def cell(row: int, column: int) -> str:
            return f"{'$' * column_absolute}{column_letters(column)}{'$' * row_absolute}{row}"

        first, last = cell(self.row, self.column), cell(self.end_row, self.end_column)
        return first if first == last else f"{first}:{last}"


_CELLS = re.compile(r"^\$?([A-Za-z]{1,3})\$?([1-9]\d*)(?::\$?([A-Za-z]{1,3})\$?([1-9]\d*))?$")
_COLUMNS = re.compile(r"^\$?([A-Za-z]{1,3}):\$?([A-Za-z]{1,3})$")
_ROWS = re.compile(r"^\$?([1-9]\d*):\$?([1-9]\d*)$")


def area_of(text: str, extent: tuple[int, int]) -> Area | None:
    """`text` (`B2`, `$B$2:D5`, `A:C`, `1:3`) as an area of a sheet of `extent`; None if it is no address."""
    found = _CELLS.match(text)
    if found:
        first = Area(int(found[2]), column_number(found[1]), 1, 1)
        last = Area(int(found[4]), column_number(found[3]), 1, 1) if found[3] else first
        area = Area.spanning(first, last)
        return area if area.end_row <= extent[0] and area.end_column <= extent[1] else None
    found = _COLUMNS.match(text)
    if found:
        ends = sorted((column_number(found[1]), column_number(found[2])))
        return Area(1, ends[0], extent[0], ends[1] - ends[0] + 1) if ends[1] <= extent[1] else None
    found = _ROWS.match(text)
    if found:
        top, bottom = sorted((int(found[1]), int(found[2])))
        return Area(top, 1, bottom - top + 1, extent[1]) if bottom <= extent[0] else None
    return None


def parse(sheet: Sheet, arg1: Any, arg2: Any = None) -> Range:
    """The range that xlwings' `sheet.range(arg1, arg2)` names."""
    from workbench.buttons.libreoffice.ranges import Range

    if arg2 is not None:
        first, last = parse(sheet, arg1), parse(sheet, arg2)
        return Range(first.sheet, Area.spanning(first.area, last.area))
    if isinstance(arg1, Range):
        return Range(arg1.sheet, arg1.area)
    if isinstance(arg1, tuple):
        if len(arg1) == 4:
            row, column, rows, columns = arg1
            return Range(sheet, Area(row, column, rows, columns))
        row, column = arg1
        if row < 1 or column < 1:
            raise IndexError("Attempted to access 0-based Range. xlwings/Excel Ranges are 1-based.")
        return Range(sheet, Area(row, column, 1, 1))
    if not isinstance(arg1, str):
        raise ValueError(f"not a range: {arg1!r}")
    return _named(sheet, arg1.strip(), arg1)


def _named(sheet: Sheet, text: str, typed: str) -> Range:
    from workbench.buttons.libreoffice.ranges import Range

    area = area_of(text, sheet.extent)
    if area is not None:
        return Range(sheet, area, typed)
    if "," in text and "[" not in text:
        raise NotSupported(f"the range {text!r}", "an area at a time")
    if "!" in text:
        owner, _, rest = text.rpartition("!")
        return parse(sheet.book.sheets(owner.strip("'").replace("''", "'")), rest)
    for names in (sheet.names, sheet.book.names):
        if names.contains(text):
            return names(text).refers_to_range
    for table in sheet.book.tables():
        if table.name.lower() == text.lower() and table.data_body_range is not None:
            return table.data_body_range
    raise LibreOfficeError(f"there is no range, name or table {text!r} in {sheet.book.name}")
