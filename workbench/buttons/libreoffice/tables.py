"""Tables: Excel's tables are LibreOffice's database ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import xlwings as xw
from xlwings import base_classes as base

from workbench.buttons.libreoffice.addresses import Area
from workbench.buttons.libreoffice.bridge import LibreOfficeError, NotSupported, guarded

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.ranges import Range
    from workbench.buttons.libreoffice.sheets import Sheet

_NO_STYLES = "Calc draws no table styles; colour the cells"


@guarded
class Tables(base.Tables):
    """The tables of a sheet."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    @property
    def api(self) -> Any:
        return self.sheet.book.collection("DatabaseRanges")

    @property
    def parent(self) -> Sheet:
        return self.sheet

    def _all(self) -> list[Table]:
        ranges, sheet = self.api, self.sheet.index - 1
        candidates = (ranges.getByIndex(i) for i in range(ranges.Count))
        tables = [Table(self.sheet, table) for table in candidates if table.DataArea.Sheet == sheet]
        return sorted(tables, key=lambda table: (table.area.row, table.area.column))

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Table]:
        return iter(self._all())

    def __contains__(self, name: str) -> bool:
        return any(table.name.lower() == name.lower() for table in self._all())

    def __call__(self, name_or_index: int | str) -> Table:
        tables = self._all()
        if isinstance(name_or_index, int):
            return tables[name_or_index - 1]
        for table in tables:
            if table.name.lower() == name_or_index.lower():
                return table
        raise xw.NoSuchObjectError(f"the sheet {self.sheet.name!r} has no table {name_or_index!r}")

    def add(
        self,
        source_type: object = None,
        source: Any = None,
        link_source: object = None,
        has_headers: bool = True,
        destination: object = None,
        table_style_name: str | None = None,
        name: str | None = None,
    ) -> Table:
        """Make `source` a table; a single cell becomes a header with an empty row. No style is drawn."""
        area = source.impl.area
        if area.rows == 1:
            area = Area(area.row, area.column, 2, area.columns)
        ranges = self.api
        taken = {known.lower() for known in ranges.ElementNames}
        if name is None:
            number = 1
            while f"table{number}" in taken:
                number += 1
            name = f"Table{number}"
        elif name.lower() in taken:
            raise LibreOfficeError(f"the book already has a table {name!r}", remedy="choose another name")
        whole = self.sheet.range((area.row, area.column, area.rows, area.columns))
        ranges.addNewByName(name, whole.api.RangeAddress)
        made = ranges.getByName(name)
        made.ContainsHeader = bool(has_headers)
        made.AutoFilter = True
        return Table(self.sheet, made)


@guarded
class Table(base.Table):
    """A table. `api` is the `com.sun.star.sheet.DatabaseRange`."""

    def __init__(self, sheet: Sheet, table: Any) -> None:
        self.sheet, self.uno = sheet, table

    @property
    def api(self) -> Any:
        return self.uno

    @property
    def parent(self) -> Sheet:
        return self.sheet

    @property
    def name(self) -> str:
        return str(self.uno.Name)

    @name.setter
    def name(self, value: str) -> None:
        self.uno.Name = value

    @property
    def display_name(self) -> str:
        return self.name

    @display_name.setter
    def display_name(self, value: str) -> None:
        self.uno.Name = value

    @property
    def area(self) -> Area:
        return Area.of(self.uno.DataArea)

    def _rows(self, first: int, count: int) -> Range | None:
        area = self.area
        if count < 1:
            return None
        return self.sheet.range((area.row + first, area.column, count, area.columns))

    @property
    def range(self) -> Range | None:
        return self._rows(0, self.area.rows)

    @property
    def header_row_range(self) -> Range | None:
        return self._rows(0, 1) if self.show_headers else None

    @property
    def data_body_range(self) -> Range | None:
        header, total = int(self.show_headers), int(self.show_totals)
        return self._rows(header, self.area.rows - header - total)

    @property
    def totals_row_range(self) -> Range | None:
        return self._rows(self.area.rows - 1, 1) if self.show_totals else None

    @property
    def insert_row_range(self) -> Range | None:
        """The one empty row below the header of a table without data; None where it has some."""
        body = self.data_body_range
        if body is None or body.shape[0] != 1 or any(value != "" for value in body.api.getDataArray()[0]):
            return None
        return body

    @property
    def show_headers(self) -> bool:
        return bool(self.uno.ContainsHeader)

    @show_headers.setter
    def show_headers(self, value: bool) -> None:
        if bool(value) == self.show_headers:
            return
        area = self.uno.DataArea
        area.StartRow += -1 if value else 1
        self.uno.DataArea = area
        self.uno.ContainsHeader = bool(value)

    @property
    def show_totals(self) -> bool:
        return bool(self.uno.TotalsRow)

    @show_totals.setter
    def show_totals(self, value: bool) -> None:
        if bool(value) == self.show_totals:
            return
        area = self.uno.DataArea
        area.EndRow += 1 if value else -1
        self.uno.DataArea = area
        self.uno.TotalsRow = bool(value)

    @property
    def show_autofilter(self) -> bool:
        return bool(self.uno.AutoFilter)

    @show_autofilter.setter
    def show_autofilter(self, value: bool) -> None:
        self.uno.AutoFilter = bool(value)

    def resize(self, range: Any) -> None:
        rng = getattr(range, "impl", range)
        self.uno.DataArea = rng.api.RangeAddress

    def _no_style(self) -> Any:
        raise NotSupported("a table's style", _NO_STYLES)

    def _set_no_style(self, value: object) -> None:
        raise NotSupported("a table's style", _NO_STYLES)

    table_style = property(_no_style, _set_no_style)
    show_table_style_column_stripes = property(_no_style, _set_no_style)
    show_table_style_row_stripes = property(_no_style, _set_no_style)
    show_table_style_first_column = property(_no_style, _set_no_style)
    show_table_style_last_column = property(_no_style, _set_no_style)
