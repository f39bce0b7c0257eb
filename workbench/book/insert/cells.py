"""Reading and setting single cells of an existing sheet, whatever else is there."""

from __future__ import annotations

import copy
import re

from lxml import etree

from workbench.book.formulas import column_letters
from workbench.book.insert.parts import Element, Parts, children, main
from workbench.book.text import unescaped
from workbench.errors import BookError

_ADDRESS = re.compile(r"\$?([A-Z]{1,3})\$?(\d+)")


class SheetCells:
    """The cells of one worksheet part by 0-based row and column."""

    def __init__(self, parts: Parts, part: str, strings: str) -> None:
        self._root = parts.editable(part)
        found = self._root.find(main("sheetData"))
        if found is None:
            raise BookError(f"the part {part} has no sheetData", where=parts.path)
        self._data: Element = found
        self._strings = list(children(parts.tree(strings), "si")) if strings else []
        self._rows = {int(row.get("r", "0")) - 1: row for row in children(found, "row")}

    def find(self, row: int, at: int) -> Element | None:
        """The cell's element."""
        line = self._rows.get(row)
        if line is None:
            return None
        return next((cell for cell in children(line, "c") if cell.get("r") == f"{column_letters(at)}{row + 1}"), None)

    def text(self, row: int, at: int) -> str:
        """What the cell holds, as text; empty where it holds nothing."""
        cell = self.find(row, at)
        if cell is None:
            return ""
        if cell.get("t") == "inlineStr":
            return _plain_text(cell.find(main("is")))
        value = cell.findtext(main("v")) or ""
        if cell.get("t") == "s" and value.isdigit() and int(value) < len(self._strings):
            return _plain_text(self._strings[int(value)])
        return unescaped(value) if cell.get("t") == "str" else value

    def is_empty(self, row: int, at: int) -> bool:
        """Whether the cell holds neither formula nor value."""
        cell = self.find(row, at)
        return cell is None or (cell.find(main("f")) is None and self.text(row, at) == "")

    def has_formula(self, row: int, at: int) -> bool:
        """Whether the cell holds a formula."""
        cell = self.find(row, at)
        return cell is not None and cell.find(main("f")) is not None

    def put(self, row: int, at: int, source: Element, *, restyle: bool = False) -> None:
        """Set the cell to what `source` holds; its own format stays unless `restyle`."""
        fresh = copy.deepcopy(source)
        fresh.tail = None
        fresh.set("r", f"{column_letters(at)}{row + 1}")
        line = self._line(row)
        old = self.find(row, at)
        if old is not None:
            if not restyle:
                fresh.attrib.pop("s", "")
                if old.get("s") is not None:
                    fresh.set("s", str(old.get("s")))
            line.replace(old, fresh)
            return
        place = sum(1 for cell in children(line, "c") if address(cell.get("r", "A1"))[1] < at)
        line.insert(place, fresh)
        if line.get("spans") is not None:
            del line.attrib["spans"]

    def show(self, row: int) -> None:
        """Unhide the row."""
        line = self._rows.get(row)
        if line is not None and line.get("hidden") is not None:
            del line.attrib["hidden"]

    def _line(self, row: int) -> Element:
        if row not in self._rows:
            fresh = etree.Element(main("row"), r=str(row + 1))
            place = sum(1 for other in self._rows if other < row)
            self._data.insert(place, fresh)
            self._rows[row] = fresh
        return self._rows[row]


def address(text: str) -> tuple[int, int]:
    """`$B$3` → 0-based row and column."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"no cell address: {text!r}")
    at = 0
    for letter in match[1]:
        at = at * 26 + ord(letter) - 64
    return int(match[2]) - 1, at - 1


def _plain_text(item: Element | None) -> str:
    """A string's text, its runs joined, phonetic hints left out."""
    if item is None:
        return ""
    own = item.findtext(main("t")) or ""
    return unescaped(own + "".join(run.findtext(main("t")) or "" for run in children(item, "r")))
