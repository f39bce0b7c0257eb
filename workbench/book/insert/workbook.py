"""The workbook part: sheets and their order, defined names, the places that count sheets."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection
from dataclasses import dataclass

from lxml import etree

from workbench.book.insert.parts import OFFICE, Element, Parts, children, main
from workbench.errors import BookError

_BEFORE_NAMES = (
    "fileVersion",
    "fileSharing",
    "workbookPr",
    "AlternateContent",
    "revisionPtr",
    "absPath",
    "workbookProtection",
    "bookViews",
    "sheets",
    "functionGroups",
    "externalReferences",
)
_SHEET_OF = re.compile(r"(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^\s'!,()+\-*/&=<>^;:{}\"]+))!")


@dataclass(frozen=True)
class DefinedName:
    """A defined name; `scope` is the position of the sheet it is local to, None for the whole book."""

    name: str
    text: str
    scope: int | None

    def sheets(self) -> set[str]:
        """The names, in lower case, of the sheets that it refers to."""
        return {
            (match["quoted"] or match["plain"]).replace("''", "'").casefold() for match in _SHEET_OF.finditer(self.text)
        }


class WorkbookPart:
    """Reads and changes a package's workbook part."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        found = next((link.target for link in parts.links("") if link.kind == "officeDocument"), "")
        if not found or found not in parts:
            raise BookError("this package has no workbook part", where=parts.path)
        self.part = found
        parts.tree(found)

    @property
    def sheet_names(self) -> list[str]:
        """Names of all sheets, in order of their tabs."""
        return [item.get("name", "") for item in self._sheets(self._parts.tree(self.part))]

    def sheet_part(self, name: str) -> str:
        """The part of the sheet of that name, in any case; empty where there is no such worksheet."""
        for item in self._sheets(self._parts.tree(self.part)):
            if item.get("name", "").casefold() == name.casefold():
                link = self._parts.link(self.part, item.get(f"{{{OFFICE}}}id", ""))
                return link.target if link is not None and link.kind == "worksheet" else ""
        return ""

    def linked(self, kind: str) -> str:
        """The part of a kind that the workbook leads to (`styles`, `sharedStrings`, …); empty where none."""
        links = self._parts.links(self.part)
        return next((link.target for link in links if link.kind == kind and link.target in self._parts), "")

    @property
    def structure_locked(self) -> bool:
        """Whether the workbook's structure is protected."""
        found = self._parts.tree(self.part).find(main("workbookProtection"))
        return found is not None and found.get("lockStructure", "0") in ("1", "true")

    def add_sheet(self, name: str, part: str, position: int) -> None:
        """Put a sheet at a tab position; what counts tabs (names' scopes, the active tab) moves on."""
        root = self._parts.editable(self.part)
        link_id = self._parts.add_link(self.part, f"{OFFICE}/worksheet", part)
        sheets = root.find(main("sheets"))
        if sheets is None:
            raise BookError("the workbook part lists no sheets", where=self._parts.path)
        fresh = etree.Element(main("sheet"), name=name)
        taken = [int(item.get("sheetId", "0")) for item in self._sheets(root)]
        fresh.set("sheetId", str(max(taken, default=0) + 1))
        fresh.set(f"{{{OFFICE}}}id", link_id)
        sheets.insert(position, fresh)
        for item in self._names(root):
            scope = item.get("localSheetId")
            if scope is not None and int(scope) >= position:
                item.set("localSheetId", str(int(scope) + 1))
        for view in root.iterfind(f"{main('bookViews')}/{main('workbookView')}"):
            for attribute in ("activeTab", "firstSheet"):
                if int(view.get(attribute, "0")) >= position:
                    view.set(attribute, str(int(view.get(attribute, "0")) + 1))

    # Defined names

    @property
    def names(self) -> list[DefinedName]:
        """All defined names."""
        return [_defined(item) for item in self._names(self._parts.tree(self.part))]

    def add_name(self, element: Element, scope: int | None) -> None:
        """A copy of the `definedName`, local to the sheet at position `scope`."""
        root = self._parts.editable(self.part)
        fresh = copy.deepcopy(element)
        fresh.tail = None
        if fresh.get("localSheetId") is not None:
            del fresh.attrib["localSheetId"]
        if scope is not None:
            fresh.set("localSheetId", str(scope))
        container = root.find(main("definedNames"))
        if container is None:
            container = etree.Element(main("definedNames"))
            place = sum(
                1 for item in root if isinstance(item.tag, str) and etree.QName(item).localname in _BEFORE_NAMES
            )
            root.insert(place, container)
        container.append(fresh)

    def drop_names(self, names: Collection[tuple[str, int | None]]) -> None:
        """Remove the defined names of these lower-case names and scopes."""
        found = [i for i in self._names(self._parts.tree(self.part)) if _identity(i) in names]
        if not found:
            return
        root = self._parts.editable(self.part)
        for item in self._names(root):
            if _identity(item) in names:
                container = item.getparent()
                assert container is not None
                container.remove(item)
                if len(container) == 0:
                    root.remove(container)

    def name_elements(self) -> list[Element]:
        """The `definedName` elements, to be read only."""
        return self._names(self._parts.tree(self.part))

    @staticmethod
    def _sheets(root: Element) -> list[Element]:
        found = root.find(main("sheets"))
        return [] if found is None else list(children(found, "sheet"))

    @staticmethod
    def _names(root: Element) -> list[Element]:
        found = root.find(main("definedNames"))
        return [] if found is None else list(children(found, "definedName"))


def _defined(item: Element) -> DefinedName:
    scope = item.get("localSheetId")
    return DefinedName(item.get("name", ""), item.text or "", None if scope is None else int(scope))


def _identity(item: Element) -> tuple[str, int | None]:
    one = _defined(item)
    return one.name.casefold(), one.scope
