"""Range: a rectangle of cells; what is in them is in `contents`, how they look in `formats`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.buttons.libreoffice.addresses import Area
from workbench.buttons.libreoffice.bridge import (
    LibreOfficeError,
    NotSupported,
    closed_meanwhile,
    enum_value,
    guarded,
    properties,
    typed_properties,
)
from workbench.buttons.libreoffice.contents import Contents
from workbench.buttons.libreoffice.formats import ALL, CONTENTS, FORMATS, Characters, Note

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.names import Name
    from workbench.buttons.libreoffice.sheets import Sheet
    from workbench.buttons.libreoffice.tables import Table

_INSERT = {"down": "DOWN", "right": "RIGHT"}
_DELETE = {"up": "UP", "left": "LEFT"}


@guarded
class Range(Contents):
    """A rectangle of cells. `api` is the UNO range, fetched when it is first needed."""

    max_cells_per_read = None
    max_cells_per_write = None

    def __init__(self, sheet: Sheet, area: Area, typed: str = "") -> None:
        self.sheet, self.area = sheet, area
        self.arg1_input = typed
        self.options: dict[str, Any] = {}
        self._uno: Any = None

    @property
    def api(self) -> Any:
        if self._uno is None:
            a = self.area
            if a.rows < 1 or a.columns < 1:
                raise LibreOfficeError("an empty range has no cells")
            self._uno = self.sheet.uno.getCellRangeByPosition(a.column - 1, a.row - 1, a.end_column - 1, a.end_row - 1)
        return self._uno

    def why_refused(self) -> LibreOfficeError | None:
        """Why a call on these cells failed, as far as that can be told afterwards."""
        if self.sheet.book.doc.Sheets is None:
            return closed_meanwhile()
        if self.sheet.is_protected:
            return LibreOfficeError(
                "the sheet is protected and these cells are locked",
                where=f"{self.sheet.book.name}, {_sheet_prefix(self.sheet.name)}{self.area.text(False, False)}",
                remedy="unprotect the sheet (Tools > Protect Sheet), or write to unlocked cells",
            )
        if self.sheet.book.is_read_only:
            return LibreOfficeError(
                "the book is open read-only", where=self.sheet.book.name, remedy="save a copy of it"
            )
        return None

    @property
    def cell(self) -> Any:
        """The UNO cell at the top left."""
        return self.sheet.uno.getCellByPosition(self.area.column - 1, self.area.row - 1)

    @property
    def row(self) -> int:
        return self.area.row

    @property
    def column(self) -> int:
        return self.area.column

    @property
    def shape(self) -> tuple[int, int]:
        return self.area.rows, self.area.columns

    @property
    def coords(self) -> tuple[str, int, int, int, int]:
        return self.sheet.name, self.row, self.column, *self.shape

    @property
    def address(self) -> str:
        return self.area.text()

    def get_address(self, row_absolute: bool, col_absolute: bool, external: bool) -> str:
        text = self.area.text(row_absolute, col_absolute)
        return f"'[{self.sheet.book.name}]{self.sheet.name}'!{text}" if external else text

    def __len__(self) -> int:
        return self.area.rows * self.area.columns

    def __call__(self, arg1: int, arg2: int | None = None) -> Range:
        if arg2 is None:
            down, right = divmod(arg1 - 1, self.area.columns)
        else:
            down, right = arg1 - 1, arg2 - 1
        if self.row + down < 1 or self.column + right < 1:
            raise IndexError("rows and columns count from 1")
        return Range(self.sheet, Area(self.row + down, self.column + right, 1, 1))

    # Clearing, moving, looking around

    def clear_contents(self) -> None:
        self.api.clearContents(CONTENTS)

    def clear_formats(self) -> None:
        self.api.clearContents(FORMATS)

    def clear(self) -> None:
        self.api.clearContents(ALL)

    def end(self, direction: str) -> Range:
        """Where Ctrl+arrow would go: the last filled cell before a gap, or the first after one."""
        down, right = {"d": (1, 0), "u": (-1, 0), "r": (0, 1), "l": (0, -1)}[direction[0].lower()]
        cursor = self.sheet.uno.createCursor()
        cursor.gotoEndOfUsedArea(False)
        used = Area.of(cursor.RangeAddress)
        if down:
            last = max(used.end_row, self.row)
            line = self.sheet.range((1, self.column, last, 1)).api.getDataArray()
            filled = [row[0] != "" for row in line]
            limit, at, step = self.sheet.extent[0], self.row - 1, down
        else:
            last = max(used.end_column, self.column)
            filled = [value != "" for value in self.sheet.range((self.row, 1, 1, last)).api.getDataArray()[0]]
            limit, at, step = self.sheet.extent[1], self.column - 1, right
        found = _end_of_run(filled, at, step, limit)
        return self.sheet.range((found + 1, self.column) if down else (self.row, found + 1))

    @property
    def current_region(self) -> Range:
        cursor = self.sheet.uno.createCursorByRange(self.api)
        cursor.collapseToCurrentRegion()
        return self.sheet.area(cursor.RangeAddress)

    def insert(self, shift: str | None = None, copy_origin: str | None = None) -> None:
        mode = self._whole() or (_INSERT[shift] if shift else "RIGHT" if self.area.rows > self.area.columns else "DOWN")
        self.sheet.uno.insertCells(self.api.RangeAddress, enum_value("com.sun.star.sheet.CellInsertMode", mode))

    def delete(self, shift: str | None = None) -> None:
        mode = self._whole() or (_DELETE[shift] if shift else "LEFT" if self.area.rows >= self.area.columns else "UP")
        self.sheet.uno.removeRange(self.api.RangeAddress, enum_value("com.sun.star.sheet.CellDeleteMode", mode))

    def _whole(self) -> str:
        rows, columns = self.sheet.extent
        return "ROWS" if self.area.columns == columns else "COLUMNS" if self.area.rows == rows else ""

    def copy(self, destination: Any = None) -> None:
        """Copy to `destination`, or remember for `paste()`; the system's clipboard is left alone."""
        if destination is None:
            self.sheet.book.app.clipboard = self
        else:
            self._copy_to(destination.impl)

    def _copy_to(self, target: Range) -> None:
        if target.sheet.book.doc.RuntimeUID != self.sheet.book.doc.RuntimeUID:
            raise NotSupported("copying cells with their formats into another book", "copy the values, or the sheet")
        target.sheet.uno.copyRange(target.cell.CellAddress, self.api.RangeAddress)

    def paste(
        self, paste: str | None = None, operation: str | None = None, skip_blanks: bool = False, transpose: bool = False
    ) -> None:
        source = self.sheet.book.app.clipboard
        if source is None:
            raise LibreOfficeError("nothing was copied before", remedy="call copy() on a range first")
        if operation:
            raise NotSupported(f"paste with operation {operation!r}")
        self._take(source, paste or "all", skip_blanks, transpose)

    def copy_from(
        self, source_range: Any, copy_type: str = "all", skip_blanks: bool = False, transpose: bool = False
    ) -> None:
        self._take(source_range.impl, copy_type, skip_blanks, transpose)

    def _take(self, source: Range, what: str, skip_blanks: bool, transpose: bool) -> None:
        if skip_blanks or (transpose and what == "all"):
            raise NotSupported("paste with skip_blanks or transpose")
        if what == "all":
            source._copy_to(self)
            return
        if what not in ("values", "formulas"):
            raise NotSupported(f"pasting only {what!r}")
        rows = source.raw_value if what == "values" else source.api.getFormulaArray()
        if transpose:
            rows = list(zip(*rows, strict=True))
        target = self.sheet.range((self.row, self.column, len(rows), len(rows[0])))
        if what == "values":
            target.raw_value = rows
        else:
            target.api.setFormulaArray(tuple(map(tuple, rows)))

    def move(self, destination: Any) -> None:
        target = destination.impl
        target.sheet.uno.moveRange(target.cell.CellAddress, self.api.RangeAddress)

    def select(self) -> None:
        self.sheet.activate()
        controller = self.sheet.book.doc.CurrentController
        if controller is not None:
            controller.select(self.api)

    def group(self, by: str) -> None:
        self.sheet.uno.group(self.api.RangeAddress, _orientation(by))

    def ungroup(self, by: str) -> None:
        self.sheet.uno.ungroup(self.api.RangeAddress, _orientation(by))

    def autofill(self, destination: Any, type_: str = "fill_default") -> None:
        if type_ not in ("fill_default", "fill_copy", "fill_series"):
            raise NotSupported(f"autofill of type {type_!r}")
        target: Range = destination.impl
        down = target.area.rows > self.area.rows
        count = self.area.rows if down else self.area.columns
        direction = enum_value("com.sun.star.sheet.FillDirection", "TO_BOTTOM" if down else "TO_RIGHT")
        target.api.fillAuto(direction, count)

    # Merging, links, notes, names, tables

    def merge(self, across: bool) -> None:
        parts = [
            self(i + 1, 1).sheet.range((self.row + i, self.column, 1, self.area.columns)) for i in range(self.area.rows)
        ]
        self.api.merge(False)
        for part in parts if across else [self]:
            part.api.merge(True)

    def unmerge(self) -> None:
        self.api.merge(False)

    @property
    def merge_area(self) -> Range:
        cursor = self.sheet.uno.createCursorByRange(self.cell)
        cursor.collapseToMergedArea()
        return self.sheet.area(cursor.RangeAddress)

    @property
    def merge_cells(self) -> bool:
        return len(self.merge_area) > 1 if len(self) == 1 else bool(self.api.getIsMerged())

    @property
    def hyperlink(self) -> str:
        fields = self.cell.TextFields
        if not fields.Count:
            raise Exception("The cell doesn't seem to contain a hyperlink!")
        return str(fields.getByIndex(0).URL)

    def add_hyperlink(self, address: str, text_to_display: str | None = None, screen_tip: str | None = None) -> None:
        link = self.sheet.book.doc.createInstance("com.sun.star.text.TextField.URL")
        link.URL, link.Representation = address, text_to_display or address
        cell = self.cell
        cell.String = ""
        text = cell.getText()
        text.insertTextContent(text.createTextCursor(), link, False)

    @property
    def characters(self) -> Characters:
        return Characters(self.cell)

    @property
    def note(self) -> Note | None:
        return Note(self) if self.cell.Annotation.String else None

    def add_note(self, text: str) -> Note:
        self.sheet.uno.Annotations.insertNew(self.cell.CellAddress, text)
        return Note(self)

    @property
    def comment(self) -> None:
        raise NotSupported("Range.comment", "Calc has notes, no threaded comments")

    @property
    def name(self) -> Name | None:
        wanted = f"={_sheet_prefix(self.sheet.name)}{self.address}"
        for name in self.sheet.book.names:
            if name.refers_to == wanted:
                return name
        return None

    @name.setter
    def name(self, value: str) -> None:
        self.sheet.book.names.add(value, f"{_sheet_prefix(self.sheet.name)}{self.address}")

    @property
    def table(self) -> Table | None:
        for table in self.sheet.tables:
            if table.area.holds(Area(self.row, self.column, 1, 1)):
                return table
        return None

    def to_pdf(self, path: str, quality: str | None = None) -> None:
        settings = typed_properties(Selection=self.api)
        self.sheet.book.doc.storeToURL(
            Path(path).resolve().as_uri(), properties(FilterName="calc_pdf_Export", FilterData=settings)
        )


def _end_of_run(filled: list[bool], at: int, step: int, limit: int) -> int:
    """The index that Ctrl+arrow reaches from `at` along a line of `limit` cells, `filled` at its beginning."""

    def is_filled(i: int) -> bool:
        return 0 <= i < len(filled) and filled[i]

    if is_filled(at) and is_filled(at + step):
        while is_filled(at + step):
            at += step
        return at
    at += step
    while 0 <= at < len(filled) and not filled[at]:
        at += step
    if at < 0:
        return 0
    return limit - 1 if at >= len(filled) else at


def _orientation(by: str) -> Any:
    kind = "COLUMNS" if by.startswith("c") else "ROWS"
    return enum_value("com.sun.star.table.TableOrientation", kind)


def _sheet_prefix(name: str) -> str:
    from workbench.buttons.libreoffice.names import _quoted

    return _quoted(name) + "!"
