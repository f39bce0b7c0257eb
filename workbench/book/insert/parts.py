"""A package under change: parts read on demand, replaced, added, removed; relationships and content types.

Parts that nobody changes are never parsed and keep their bytes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from workbench.errors import BookError
from workbench.recalc.package import Package

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CONTENT_TYPES = "[Content_Types].xml"
_RELATIONSHIPS_TYPE = "application/vnd.openxmlformats-package.relationships+xml"
_STRICT = "http://purl.oclc.org/ooxml/"

Element = etree._Element


@dataclass(frozen=True)
class Link:
    """A relationship of a part."""

    id: str
    kind: str
    """The type's last word: `worksheet`, `drawing`, …"""
    type: str
    target: str
    """The part it leads to, or the address where it is external."""
    external: bool


class Parts:
    """The parts of an open package, with the changes made so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._package = Package(path)
        self._changed: dict[str, bytes] = {}
        self._removed: set[str] = set()
        self._trees: dict[str, Element] = {}
        self._links: dict[str, list[Link]] = {}
        self._used = {name.casefold() for name in self._package.names}

    def close(self) -> None:
        """Release the file."""
        self._package.close()

    @property
    def signed(self) -> bool:
        """Whether the package carries a digital signature."""
        return self._package.signed

    def __contains__(self, name: str) -> bool:
        return name not in self._removed and (name in self._changed or name in self._package.names)

    def names(self) -> list[str]:
        """All parts there are now."""
        return sorted((set(self._package.names) | set(self._changed)) - self._removed)

    def read(self, name: str) -> bytes:
        """A part's bytes as they are now."""
        if name in self._trees:
            return _serialized(self._trees[name])
        if name in self._changed:
            return self._changed[name]
        return self._package.read(name)

    def tree(self, name: str) -> Element:
        """A part's XML, to be read only."""
        return self._trees[name] if name in self._trees else self._parsed(name)

    def editable(self, name: str) -> Element:
        """A part's XML; changes made to it are written."""
        if name not in self._trees:
            self._trees[name] = self._parsed(name)
        return self._trees[name]

    def put(self, name: str, data: bytes) -> None:
        """Add or replace a part."""
        self._trees.pop(name, None)
        self._links.pop(name, None)
        self._changed[name] = data
        self._removed.discard(name)
        self._used.add(name.casefold())

    def remove(self, name: str) -> None:
        """Take a part out, with its relationships and content type."""
        for part in (name, relationships_part(name)):
            if part in self:
                self._trees.pop(part, None)
                self._changed.pop(part, None)
                self._removed.add(part)
        self._links.pop(name, None)
        gone = {f"/{part}".casefold() for part in (name, relationships_part(name))}
        if any(item.get("PartName", "").casefold() in gone for item in self.tree(CONTENT_TYPES)):
            types = self.editable(CONTENT_TYPES)
            for item in list(types):
                if item.get("PartName", "").casefold() in gone:
                    types.remove(item)

    def fresh(self, name: str) -> str:
        """`name` with a number that no part had at any time: `xl/charts/chart7.xml`."""
        folder, file = posixpath.split(name)
        stem, dot, suffix = file.partition(".")
        stem = re.sub(r"\d+$", "", stem)
        number = 1
        while (candidate := posixpath.join(folder, f"{stem}{number}{dot}{suffix}")).casefold() in self._used:
            number += 1
        self._used.add(candidate.casefold())
        return candidate

    # Relationships

    def links(self, part: str) -> list[Link]:
        """A part's relationships; `""` is the package itself."""
        if part not in self._links:
            file = relationships_part(part)
            found = []
            if file in self:
                for item in self.tree(file).iterfind(f"{{{RELATIONSHIPS}}}Relationship"):
                    found.append(_link(item, posixpath.dirname(part)))
            self._links[part] = found
        return self._links[part]

    def link(self, part: str, link_id: str) -> Link | None:
        """The relationship of that id."""
        return next((link for link in self.links(part) if link.id == link_id), None)

    def add_link(self, part: str, kind_of: str, target: str, *, external: bool = False, link_id: str = "") -> str:
        """Add a relationship of type `kind_of` and give its id."""
        file = relationships_part(part)
        if file not in self:
            self.put(file, f'<Relationships xmlns="{RELATIONSHIPS}"/>'.encode())
            self.declare(file, _RELATIONSHIPS_TYPE)
        root = self.editable(file)
        if not link_id:
            taken = {item.get("Id") for item in root}
            link_id = next(i for n in range(1, len(taken) + 2) if (i := f"rId{n}") not in taken)
        item = etree.SubElement(root, f"{{{RELATIONSHIPS}}}Relationship", Id=link_id, Type=kind_of)
        item.set("Target", target if external else relative(target, posixpath.dirname(part)))
        if external:
            item.set("TargetMode", "External")
        self._links.pop(part, None)
        return link_id

    def drop_links(self, part: str, kind: str) -> None:
        """Remove a part's relationships of one kind."""
        if any(link.kind == kind for link in self.links(part)):
            root = self.editable(relationships_part(part))
            for item in list(root):
                if item.get("Type", "").rsplit("/", 1)[-1] == kind:
                    root.remove(item)
            self._links.pop(part, None)

    def reachable(self) -> set[str]:
        """Every part that relationships lead to."""
        found: set[str] = set()
        waiting = [""]
        while waiting:
            part = waiting.pop()
            for link in self.links(part):
                if not link.external and link.target not in found and link.target in self:
                    found.add(link.target)
                    waiting.append(link.target)
        return found

    # Content types

    def content_type(self, part: str) -> str:
        """The part's content type; empty where none is declared."""
        default = ""
        for item in self.tree(CONTENT_TYPES):
            if item.get("PartName", "").casefold() == "/" + part.casefold():
                return item.get("ContentType", "")
            if item.get("Extension", "").casefold() == part.rpartition(".")[2].casefold():
                default = item.get("ContentType", "")
        return default

    def declare(self, part: str, content_type: str) -> None:
        """Give a part its content type, by its extension's default where that says so already."""
        if not content_type or self.content_type(part) == content_type:
            return
        types = self.editable(CONTENT_TYPES)
        extension = part.rpartition(".")[2]
        defaults = [item for item in types if item.get("Extension") is not None]
        known = any(item.get("Extension", "").casefold() == extension.casefold() for item in defaults)
        if not known and extension.casefold() != "xml":
            item = etree.Element(f"{{{TYPES}}}Default", Extension=extension, ContentType=content_type)
            types.insert(len(defaults) and types.index(defaults[-1]) + 1, item)
            return
        etree.SubElement(types, f"{{{TYPES}}}Override", PartName="/" + part, ContentType=content_type)

    def write(self, out: Path) -> None:
        """Write the package as it is now."""
        for name, tree in self._trees.items():
            self._changed[name] = _serialized(tree)
        self._trees.clear()
        old = {name: data for name, data in self._changed.items() if name in self._package.names}
        new = {name: data for name, data in self._changed.items() if name not in self._package.names}
        self._package.write(out, old, new, self._removed)

    def _parsed(self, name: str) -> Element:
        data = self._changed.get(name) or self._package.read(name)
        try:
            root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
        except etree.XMLSyntaxError as problem:
            raise BookError(f"the part {name} is broken XML ({problem})", where=self.path) from None
        if str(root.tag).startswith("{" + _STRICT):
            raise BookError(
                "this is a Strict Open XML workbook, into which sheets can't be inserted",
                where=self.path,
                remedy="save it as an ordinary .xlsx workbook",
            )
        return root


def relationships_part(part: str) -> str:
    """`xl/worksheets/sheet1.xml` → `xl/worksheets/_rels/sheet1.xml.rels`."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", name + ".rels")


def relative(target: str, folder: str) -> str:
    """The path that leads from `folder` to `target`."""
    return posixpath.relpath("/" + target, "/" + folder)


def main(name: str) -> str:
    """A SpreadsheetML tag."""
    return f"{{{MAIN}}}{name}"


def children(parent: Element, name: str) -> Iterator[Element]:
    """The SpreadsheetML children of that name, of a container that may be missing."""
    return parent.iterfind(main(name))


def content_key(item: Element) -> str:
    """The element's content, whatever its order of attributes, prefixes and white space."""
    parts = [str(item.tag)]
    attributes: Mapping[str, str] = {str(name): str(value) for name, value in item.attrib.items()}
    parts += [f"{name}={_plain(value)}" for name, value in sorted(attributes.items())]
    parts += [content_key(child) for child in item if isinstance(child.tag, str)]
    return "(" + " ".join(parts) + ")" + (item.text or "")


def _link(item: Element, folder: str) -> Link:
    target = item.get("Target", "")
    external = item.get("TargetMode") == "External"
    if not external:
        target = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
    kind_of = item.get("Type", "")
    return Link(item.get("Id", ""), kind_of.rsplit("/", 1)[-1], kind_of, target, external)


def _serialized(root: Element) -> bytes:
    data: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data


def _plain(value: str) -> str:
    return {"true": "1", "false": "0"}.get(value, value)
