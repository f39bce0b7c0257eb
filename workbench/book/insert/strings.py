"""Shared strings of one workbook appended to another's."""

from __future__ import annotations

import copy

from workbench.book.insert.parts import MAIN, OFFICE, Element, Parts, children, content_key

_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


class StringMerger:
    """Maps indexes of shared strings of `source` to those of `target`, which gets the missing ones."""

    def __init__(self, source: Parts, source_part: str, target: Parts, workbook: str) -> None:
        self._items = list(children(source.tree(source_part), "si")) if source_part else []
        self._target = target
        self._workbook = workbook
        self._mapped: dict[int, int] = {}
        self._root: Element | None = None
        self._count = 0
        self._known: dict[str, int] = {}

    def index(self, number: int) -> int:
        """The target's index of the source's string."""
        if number not in self._mapped:
            root = self._shared()
            item = self._items[number]
            key = content_key(item)
            if key not in self._known:
                root.append(copy.deepcopy(item))
                self._known[key] = self._count
                self._count += 1
            self._mapped[number] = self._known[key]
        return self._mapped[number]

    def finish(self, uses: int) -> None:
        """Bring the part's counts up to date after `uses` more cells point to it."""
        if self._root is None:
            return
        if self._root.get("uniqueCount") is not None:
            self._root.set("uniqueCount", str(self._count))
        if self._root.get("count") is not None:
            self._root.set("count", str(int(self._root.get("count") or 0) + uses))

    def _shared(self) -> Element:
        if self._root is None:
            links = self._target.links(self._workbook)
            part = next((link.target for link in links if link.kind == "sharedStrings"), "")
            if not part or part not in self._target:
                part = self._target.fresh("xl/sharedStrings.xml") if "xl/sharedStrings.xml" in self._target else ""
                part = part or "xl/sharedStrings.xml"
                self._target.put(part, f'<sst xmlns="{MAIN}" count="0" uniqueCount="0"/>'.encode())
                self._target.declare(part, _CONTENT_TYPE)
                self._target.add_link(self._workbook, f"{OFFICE}/sharedStrings", part)
            self._root = self._target.editable(part)
            items = list(children(self._root, "si"))
            self._count = len(items)
            for number, item in enumerate(items):
                self._known.setdefault(content_key(item), number)
        return self._root
