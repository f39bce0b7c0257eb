"""Our buttons out of a sheet, however the program that saved it last wrote them down.

We write VML alone. Excel adds, when it saves, a `control` with its properties in a part of their own, and a hidden
shape in the sheet's drawing; LibreOffice writes the first of these, and doesn't show at the next opening what it wrote.
"""

from __future__ import annotations

from collections.abc import Collection

from lxml import etree

from workbench.book.insert.parts import OFFICE, Element, Parts, main, relationships_part
from workbench.buttons.excel.shapes import Drawing

_MARKUP = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_A14 = "{http://schemas.microsoft.com/office/drawing/2010/main}"


def remove_buttons(parts: Parts, part: str, macros: Collection[str]) -> int:
    """Take the buttons that run one of `macros` off the sheet `part`; returns how many there were."""
    if not part:
        return 0
    controls = _remove_controls(parts, part, macros)
    found = parts.tree(part).find(main("legacyDrawing"))
    link = parts.link(part, found.get(f"{{{OFFICE}}}id", "")) if found is not None else None
    if link is None or link.target not in parts:
        return controls
    drawing = Drawing(parts.read(link.target))
    removed = drawing.remove(macros)
    if removed and drawing.is_empty:
        root = parts.editable(part)
        reference = root.find(main("legacyDrawing"))
        if reference is not None:
            root.remove(reference)
        parts.drop_links(part, "vmlDrawing")
        parts.remove(link.target)
    elif removed:
        parts.put(link.target, drawing.bytes())
    _remove_hidden_shapes(parts, part, removed)
    return max(len(removed), controls)


def macro_name(text: str) -> str:
    """`[0]!WbCheck`, `WorkbenchButtons.WbCheck` → `WbCheck`."""
    return text.replace("!", ".").rpartition(".")[2]


def _remove_controls(parts: Parts, part: str, macros: Collection[str]) -> int:
    tag = main("control")
    if next(parts.tree(part).iter(tag), None) is None:
        return 0
    root = parts.editable(part)
    removed = 0
    for control in list(root.iter(tag)):
        properties = control.find(main("controlPr"))
        if properties is None or macro_name(properties.get("macro", "")) not in macros:
            continue
        link = parts.link(part, control.get(f"{{{OFFICE}}}id", ""))
        if link is not None:
            _drop_link(parts, part, link.id)
            parts.remove(link.target)
        _detach(control)
        removed += 1
    for container in list(root.iter(main("controls"))):
        if next(container.iter(tag), None) is None:
            _detach(container)
    return removed


def _detach(item: Element) -> None:
    """Remove `item`, and the markup for older programs around it that would be left empty."""
    parent = item.getparent()
    assert parent is not None
    parent.remove(item)
    while (len(parent) == 0 and str(parent.tag).startswith(_MARKUP)) or _is_only_fallback(parent):
        item, parent = parent, parent.getparent()
        assert parent is not None
        parent.remove(item)


def _is_only_fallback(item: Element) -> bool:
    return item.tag == f"{_MARKUP}AlternateContent" and all(child.tag == f"{_MARKUP}Fallback" for child in item)


def _drop_link(parts: Parts, part: str, link_id: str) -> None:
    links = parts.editable(relationships_part(part))
    for link in list(links):
        if link.get("Id") == link_id:
            links.remove(link)


def _remove_hidden_shapes(parts: Parts, part: str, shape_ids: Collection[str]) -> None:
    """Excel's second picture of a form control, in the sheet's drawing, tied to the first by its id."""
    name = next((link.target for link in parts.links(part) if link.kind == "drawing"), "")
    if not name or not shape_ids:
        return
    tied = [item for item in parts.tree(name).iter(f"{_A14}compatExt") if item.get("spid") in shape_ids]
    if not tied:
        return
    root = parts.editable(name)
    for item in list(root.iter(f"{_A14}compatExt")):
        if item.get("spid") in shape_ids:
            anchor = _anchor_of(item)
            if anchor is not None and anchor.getparent() is not None:
                _detach(anchor)


def _anchor_of(item: Element) -> Element | None:
    above: Element | None = item
    while above is not None and not etree.QName(above).localname.endswith("Anchor"):
        above = above.getparent()
    return above
