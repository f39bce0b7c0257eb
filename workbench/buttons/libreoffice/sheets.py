"""Sheets and Sheet, with page setup and frozen panes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import xlwings as xw
from xlwings import base_classes as base

from workbench.buttons.libreoffice.addresses import Area, parse
from workbench.buttons.libreoffice.bridge import NotSupported, guarded
from workbench.buttons.libreoffice.drawings import Pictures, Shapes
from workbench.buttons.libreoffice.formats import ALL, CONTENTS, FORMATS
from workbench.buttons.libreoffice.names import Names
from workbench.buttons.libreoffice.ranges import Range
from workbench.buttons.libreoffice.tables import Tables

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.books import Book


@guarded
class Sheets(base.Sheets):
    """The sheets of a book, in their order."""

    def __init__(self, book: Book) -> None:
        self.book = book

    @property
    def api(self) -> Any:
        return self.book.collection("Sheets")

    def __len__(self) -> int:
        return int(self.api.Count)

    def __iter__(self) -> Iterator[Sheet]:
        sheets = self.api
        return iter([Sheet(self.book, sheets.getByIndex(i)) for i in range(sheets.Count)])

    @property
    def active(self) -> Sheet:
        controller = self.book.doc.CurrentController
        return Sheet(self.book, controller.ActiveSheet if controller else self.api.getByIndex(0))

    def __call__(self, name_or_index: int | str) -> Sheet:
        sheets = self.api
        if isinstance(name_or_index, int):
            if not 1 <= name_or_index <= sheets.Count:
                raise xw.NoSuchObjectError(f"the book has no sheet {name_or_index}")
            return Sheet(self.book, sheets.getByIndex(name_or_index - 1))
        for name in sheets.ElementNames:
            if name.lower() == name_or_index.lower():
                return Sheet(self.book, sheets.getByName(name))
        raise xw.NoSuchObjectError(f"the book has no sheet {name_or_index!r}")

    def __contains__(self, name: str) -> bool:
        return name.lower() in (known.lower() for known in self.api.ElementNames)

    def add(self, before: Sheet | None = None, after: Sheet | None = None, name: str | None = None) -> Sheet:
        """A new sheet, made the active one; before the active sheet by default, as in Excel."""
        if before is None and after is None:
            before = self.active
        position = before.index - 1 if before is not None else after.index  # type: ignore[union-attr]
        made = name or self.free_name("Sheet")
        self.api.insertNewByName(made, position)
        sheet = self(made)
        sheet.activate()
        return sheet

    def free_name(self, stem: str, pattern: str = "{}{}", first: int = 1) -> str:
        taken = {name.lower() for name in self.api.ElementNames}
        number = first
        while pattern.format(stem, number).lower() in taken:
            number += 1
        return pattern.format(stem, number)


@guarded
class Sheet(base.Sheet):
    """A sheet. `api` is the `com.sun.star.sheet.Spreadsheet`."""

    def __init__(self, book: Book, sheet: Any) -> None:
        self._book, self.uno = book, sheet
        self._extent: tuple[int, int] | None = None

    @property
    def api(self) -> Any:
        return self.uno

    @property
    def book(self) -> Book:
        return self._book

    @property
    def name(self) -> str:
        return str(self.uno.Name)

    @name.setter
    def name(self, value: str) -> None:
        self.uno.Name = value

    @property
    def index(self) -> int:
        return int(self.uno.RangeAddress.Sheet) + 1

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns that a sheet has in this LibreOffice."""
        if self._extent is None:
            whole = self.uno.RangeAddress
            self._extent = whole.EndRow + 1, whole.EndColumn + 1
        return self._extent

    @property
    def names(self) -> Names:
        return Names(self._book, self)

    @property
    def tables(self) -> Tables:
        return Tables(self)

    @property
    def visible(self) -> bool:
        return bool(self.uno.IsVisible)

    @visible.setter
    def visible(self, value: bool) -> None:
        self.uno.IsVisible = bool(value)

    @property
    def is_protected(self) -> bool:
        return bool(self.uno.isProtected())

    @property
    def cells(self) -> Range:
        return Range(self, Area(1, 1, *self.extent))

    def range(self, arg1: Any, arg2: Any = None) -> Range:
        return parse(self, arg1, arg2)

    def area(self, address: Any) -> Range:
        """The range of a `com.sun.star.table.CellRangeAddress` on this sheet."""
        return Range(self, Area.of(address))

    def activate(self) -> None:
        controller = self._book.doc.CurrentController
        if controller is not None:
            controller.setActiveSheet(self.uno)

    select = activate

    def delete(self) -> None:
        self._book.doc.Sheets.removeByName(self.name)

    def clear_contents(self) -> None:
        self.uno.clearContents(CONTENTS)

    def clear_formats(self) -> None:
        self.uno.clearContents(FORMATS)

    def clear(self) -> None:
        self.uno.clearContents(ALL)

    def autofit(self, axis: str | None = None) -> None:
        self.used_range.autofit(axis)

    @property
    def used_range(self) -> Range:
        cursor = self.uno.createCursor()
        cursor.gotoStartOfUsedArea(False)
        cursor.gotoEndOfUsedArea(True)
        return self.area(cursor.RangeAddress)

    def copy(self, before: Sheet | None, after: Sheet | None) -> None:
        neighbour = before or after
        assert neighbour is not None
        target = neighbour.book
        position = neighbour.index - 1 if before is not None else neighbour.index
        sheets = Sheets(target)
        if target.doc.RuntimeUID == self._book.doc.RuntimeUID:
            sheets.api.copyByName(self.name, sheets.free_name(self.name, "{} ({})", 2), position)
            return
        name = self.name
        taken = name.lower() in (known.lower() for known in sheets.api.ElementNames)
        at = sheets.api.importSheet(self._book.doc, name, position)
        if taken and sheets.api.getByIndex(at).Name.lower() == name.lower():
            sheets.api.getByIndex(at).Name = sheets.free_name(name, "{} ({})", 2)

    def move(self, before: Sheet | None, after: Sheet | None) -> None:
        neighbour = before or after
        assert neighbour is not None
        position = neighbour.index - 1 if before is not None else neighbour.index
        self._book.doc.Sheets.moveByName(self.name, position)

    @property
    def page_setup(self) -> PageSetup:
        return PageSetup(self)

    @property
    def freeze_panes(self) -> FreezePanes:
        return FreezePanes(self)

    @property
    def show_gridlines(self) -> bool:
        self.activate()
        return bool(self._book.doc.CurrentController.ShowGrid)

    @show_gridlines.setter
    def show_gridlines(self, value: bool) -> None:
        self.activate()
        self._book.doc.CurrentController.ShowGrid = bool(value)

    @property
    def notes(self) -> list[Any]:
        notes = self.uno.Annotations
        cells = (notes.getByIndex(i).Position for i in range(notes.Count))
        return [self.range((cell.Row + 1, cell.Column + 1)).note for cell in cells]

    @property
    def charts(self) -> Any:
        raise NotSupported("Sheet.charts", "draw charts with the workbook's writer")

    @property
    def shapes(self) -> Shapes:
        return Shapes(self)

    @property
    def pictures(self) -> Pictures:
        return Pictures(self)

    @property
    def comments(self) -> Any:
        raise NotSupported("Sheet.comments", "Calc has notes, no threaded comments")

    def to_html(self, path: str) -> None:
        raise NotSupported("Sheet.to_html()")


@guarded
class PageSetup(base.PageSetup):
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    @property
    def api(self) -> Any:
        return self.sheet.uno

    @property
    def print_area(self) -> str | None:
        areas = self.sheet.uno.getPrintAreas()
        return ",".join(self.sheet.area(area).address for area in areas) or None

    @print_area.setter
    def print_area(self, value: str | None) -> None:
        ranges = [self.sheet.range(part) for part in value.split(",")] if value else []
        self.sheet.uno.setPrintAreas(tuple(part.api.RangeAddress for part in ranges))


@guarded
class FreezePanes(base.FreezePanes):
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    def freeze_at(self, frozen_range: Any) -> None:
        """Freeze the rows and columns of `frozen_range`, which starts at A1."""
        rng = self.sheet.range(frozen_range) if isinstance(frozen_range, str) else frozen_range
        rows, columns = rng.shape
        limit_rows, limit_columns = self.sheet.extent
        self.sheet.activate()
        controller = self.sheet.book.doc.CurrentController
        controller.freezeAtPosition(0 if columns >= limit_columns else columns, 0 if rows >= limit_rows else rows)

    def unfreeze(self) -> None:
        self.sheet.activate()
        self.sheet.book.doc.CurrentController.freezeAtPosition(0, 0)
