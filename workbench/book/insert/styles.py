"""Formats of one workbook appended to another's: cell formats, fonts, fills, borders, number formats, dxfs.

What the other workbook has already is used again, so that adding many sheets doesn't multiply formats.
"""

from __future__ import annotations

import copy

from lxml import etree

from workbench.book.insert.parts import Element, Parts, children, content_key, main
from workbench.errors import BookError

CELL_FORMAT_LIMIT = 65_490
"""Cell formats that Excel takes in one workbook."""

_BUILT_IN = 164
"""Number formats below this id are the program's own."""

_ORDER = ("numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs", "tableStyles")
_PARTS_OF_FORMAT = {"fontId": "fonts", "fillId": "fills", "borderId": "borders"}
_APPLY = ("applyFont", "applyFill", "applyBorder", "applyNumberFormat")


class StyleMerger:
    """Maps the format indexes of the stylesheet `source` to those of `target`, appending what is missing."""

    def __init__(self, source: Parts, source_part: str, target: Parts, target_part: str) -> None:
        self._source = source.tree(source_part)
        self._target_parts, self._target_part = target, target_part
        self._where = target.path
        self._known: dict[str, dict[str, int]] = {}
        self._mapped: dict[str, dict[int, int]] = {}
        self._codes: dict[str, int] = {}
        for item in self._items(target.tree(target_part), "numFmts"):
            self._codes.setdefault(item.get("formatCode", ""), int(item.get("numFmtId", "0")))
        self._source_codes = {
            int(item.get("numFmtId", "0")): item.get("formatCode", "") for item in self._items(self._source, "numFmts")
        }

    def cell_format(self, index: int) -> int:
        """The target's index of the source's cell format."""
        return self._index("cellXfs", index)

    def differential(self, index: int) -> int:
        """The target's index of the source's differential format (of conditional formats and tables)."""
        return self._index("dxfs", index)

    @staticmethod
    def _items(root: Element, container: str) -> list[Element]:
        found = root.find(main(container))
        return [] if found is None else [item for item in found if isinstance(item.tag, str)]

    def _index(self, container: str, index: int) -> int:
        mapped = self._mapped.setdefault(container, {})
        if index not in mapped:
            items = self._items(self._source, container)
            if not 0 <= index < len(items):
                raise BookError(f"a format {index} of {container} is used that isn't there", where=self._where)
            mapped[index] = self._append(container, self._translated(container, items[index]))
        return mapped[index]

    def _translated(self, container: str, item: Element) -> Element:
        fresh = copy.deepcopy(item)
        if container == "cellXfs":
            for name, other in _PARTS_OF_FORMAT.items():
                fresh.set(name, str(self._index(other, int(item.get(name, "0")))))
            fresh.set("numFmtId", str(self._number_format(int(item.get("numFmtId", "0")))))
            # The named style is the target's own; what it says doesn't count for this cell.
            fresh.set("xfId", "0")
            _apply_all(fresh)
        if container == "dxfs":
            for own in children(fresh, "numFmt"):
                own.set("numFmtId", str(self._number_format(int(own.get("numFmtId", "0")), own.get("formatCode", ""))))
        return fresh

    def _number_format(self, number: int, code: str = "") -> int:
        code = code or self._source_codes.get(number, "")
        if not code or (number < _BUILT_IN and number not in self._source_codes):
            return number
        if code not in self._codes:
            root = self._target_parts.editable(self._target_part)
            taken = {int(item.get("numFmtId", "0")) for item in self._items(root, "numFmts")}
            fresh = max({_BUILT_IN - 1, *taken}) + 1
            item = etree.SubElement(self._container("numFmts"), main("numFmt"), numFmtId=str(fresh))
            item.set("formatCode", code)
            self._count("numFmts")
            self._codes[code] = fresh
        return self._codes[code]

    def _append(self, container: str, item: Element) -> int:
        if container not in self._known:
            self._known[container] = {}
            for number, other in enumerate(self._items(self._target_parts.tree(self._target_part), container)):
                if container == "cellXfs":
                    other = copy.deepcopy(other)
                    _apply_all(other)
                self._known[container].setdefault(content_key(other), number)
        known = self._known[container]
        key = content_key(item)
        if key not in known:
            parent = self._container(container)
            parent.append(item)
            known[key] = self._count(container) - 1
            if container == "cellXfs" and known[key] >= CELL_FORMAT_LIMIT:
                raise BookError(f"the workbook has more than {CELL_FORMAT_LIMIT:,} cell formats", where=self._where)
        return known[key]

    def _container(self, name: str) -> Element:
        root = self._target_parts.editable(self._target_part)
        found = root.find(main(name))
        if found is None:
            found = etree.Element(main(name))
            before = set(_ORDER[: _ORDER.index(name)])
            place = sum(1 for item in root if isinstance(item.tag, str) and etree.QName(item).localname in before)
            root.insert(place, found)
        return found

    def _count(self, container: str) -> int:
        """Bring the container's `count` up to date and give it."""
        parent = self._container(container)
        number = sum(1 for item in parent if isinstance(item.tag, str))
        parent.set("count", str(number))
        return number


def _apply_all(cell_format: Element) -> None:
    """Say of every part of a cell format that it counts, so that equal formats look equal."""
    for name in _APPLY:
        cell_format.set(name, "1")
    for name in ("alignment", "protection"):
        flag = f"apply{name.capitalize()}"
        if cell_format.find(main(name)) is not None:
            cell_format.set(flag, "1")
        elif cell_format.get(flag) is not None:
            del cell_format.attrib[flag]
