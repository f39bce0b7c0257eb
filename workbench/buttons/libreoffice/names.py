"""Defined names, of a book and of a sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xlwings import base_classes as base

from workbench.buttons.libreoffice.bridge import LibreOfficeError, guarded, struct
from workbench.buttons.libreoffice.formulas import to_calc, to_excel

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.books import Book
    from workbench.buttons.libreoffice.ranges import Range
    from workbench.buttons.libreoffice.sheets import Sheet


@guarded
class Names(base.Names):
    """The names of a sheet, or (`sheet` None) of the book: its own and, as in Excel, those of its sheets."""

    def __init__(self, book: Book, sheet: Sheet | None) -> None:
        self.book, self.sheet = book, sheet

    @property
    def api(self) -> Any:
        return self.sheet.uno.NamedRanges if self.sheet is not None else self.book.collection("NamedRanges")

    def _all(self) -> Iterator[Name]:
        names = self.api
        for i in range(names.Count):
            yield Name(self.book, names, names.getByIndex(i), self.sheet)
        if self.sheet is None:
            for sheet in self.book.sheets:
                yield from sheet.names._all()

    def snapshot(self) -> list[tuple[str, Name]]:
        return [(name.name, name) for name in self._all()]

    def __len__(self) -> int:
        return sum(1 for _ in self._all())

    def __iter__(self) -> Iterator[Name]:
        return self._all()

    def _find(self, name: str) -> Name | None:
        owner, _, plain = name.rpartition("!")
        if owner:
            owner = owner.strip("'").replace("''", "'")
            if self.sheet is not None and self.sheet.name.lower() != owner.lower():
                return None
            if owner not in self.book.sheets:
                return None
            sheet: Sheet | None = self.book.sheets(owner)
        else:
            sheet = self.sheet
        names = (sheet.uno if sheet is not None else self.book.doc).NamedRanges
        for known in names.ElementNames:
            if known.lower() == plain.lower():
                return Name(self.book, names, names.getByName(known), sheet)
        return None

    def contains(self, name_or_index: str | int) -> bool:
        if isinstance(name_or_index, int):
            return 1 <= name_or_index <= len(self)
        return self._find(name_or_index) is not None

    def __call__(self, name_or_index: str | int) -> Name:
        if isinstance(name_or_index, int):
            return list(self._all())[name_or_index - 1]
        found = self._find(name_or_index)
        if found is None:
            raise KeyError(name_or_index)
        return found

    def add(self, name: str, refers_to: str) -> Name:
        """Define `name` (`Sheet1!name` for one sheet only); an existing one is redefined."""
        owner, _, plain = name.rpartition("!")
        sheet = self.book.sheets(owner.strip("'").replace("''", "'")) if owner else self.sheet
        names = (sheet.uno if sheet is not None else self.book.doc).NamedRanges
        content = to_calc("=" + refers_to.removeprefix("="))[1:]
        if names.hasByName(plain):
            names.removeByName(plain)
        names.addNewByName(plain, content, struct("com.sun.star.table.CellAddress", 0, 0, 0), 0)
        return Name(self.book, names, names.getByName(plain), sheet)


@guarded
class Name(base.Name):
    """A defined name; `Sheet1!name` where it belongs to one sheet."""

    def __init__(self, book: Book, names: Any, name: Any, sheet: Sheet | None) -> None:
        self.book, self.names, self.uno, self.sheet = book, names, name, sheet

    @property
    def api(self) -> Any:
        return self.uno

    @property
    def name(self) -> str:
        plain = str(self.uno.Name)
        return plain if self.sheet is None else f"{_quoted(self.sheet.name)}!{plain}"

    @name.setter
    def name(self, value: str) -> None:
        self.uno.Name = value.rpartition("!")[2]

    def delete(self) -> None:
        self.names.removeByName(self.uno.Name)

    @property
    def refers_to(self) -> str:
        return to_excel("=" + str(self.uno.Content))

    @refers_to.setter
    def refers_to(self, value: str) -> None:
        self.uno.setContent(to_calc("=" + value.removeprefix("="))[1:])

    @property
    def refers_to_range(self) -> Range:
        from workbench.buttons.libreoffice.sheets import Sheet

        cells = self.uno.getReferredCells()
        if cells is None:
            raise LibreOfficeError(f"the name {self.name!r} stands for {self.refers_to}, which is no range")
        return Sheet(self.book, cells.Spreadsheet).area(cells.RangeAddress)


def _quoted(sheet: str) -> str:
    return sheet if re.match(r"^[^\W\d]\w*$", sheet) else "'" + sheet.replace("'", "''") + "'"
