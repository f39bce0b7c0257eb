"""Buttons into a workbook file: form buttons and VBA (.xlsm), or the xlwings add-in's settings (.xlsx)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from workbench.book.insert.parts import OFFICE, Element, Parts, main
from workbench.book.insert.workbook import WorkbookPart
from workbench.buttons.excel import conf
from workbench.buttons.excel.removal import remove_buttons
from workbench.buttons.excel.shapes import Button, Drawing, column_pixels, first_free_pixel, row_pixels
from workbench.buttons.excel.vba_project import vba_project
from workbench.errors import BookError
from workbench.files import refuse_if_open_elsewhere, replacing
from workbench.resources import templates_folder

MODULES = ("WorkbenchButtons", "WorkbenchLibreOffice")
_PLAIN = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
_WITH_MACROS = "application/vnd.ms-excel.sheet.macroEnabled.main+xml"
_VBA_LINK = "http://schemas.microsoft.com/office/2006/relationships/vbaProject"
_VBA_TYPE = "application/vnd.ms-office.vbaProject"
_VML_TYPE = "application/vnd.openxmlformats-officedocument.vmlDrawing"
_BEHIND_VML = (
    "legacyDrawingHF",
    "drawingHF",
    "picture",
    "oleObjects",
    "controls",
    "webPublishItems",
    "tableParts",
    "extLst",
)


@dataclass(frozen=True)
class BookInstalled:
    """A workbook that has buttons now."""

    book: Path
    sheet: str
    buttons: tuple[str, ...]
    """Titles; empty for the add-in way, which has xlwings' own Run main."""
    main: Path | None = None
    """The Python file that Run main calls."""


def install_buttons(
    book: Path,
    buttons: Sequence[Button],
    *,
    out: Path | None = None,
    sheet: str | None = None,
    python: str | None = None,
) -> BookInstalled:
    """Write `book` as an .xlsm with form buttons on `sheet` (the first by default), VBA and a sheet xlwings.conf.

    Everything else stays as it is. Buttons of ours that are there already are renewed. Raises `BookError` where
    the book has a VBA project of its own, or a signature.
    """
    target = out or book.with_suffix(".xlsm")
    if target.suffix.lower() != ".xlsm":
        raise BookError("a workbook with macros is an .xlsm", where=target, remedy="name the output .xlsm")
    with _Changing(book, target) as changing:
        parts, workbook = changing.parts, changing.workbook
        _refuse_foreign_vba(parts, workbook)
        for name in workbook.sheet_names:
            remove_buttons(parts, workbook.sheet_part(name), [button.macro for button in buttons])
        chosen = _chosen_sheet(parts, workbook, sheet)
        conf.add(parts, workbook, conf.settings(python), renew=python is not None)
        _add_to_sheet(parts, workbook.sheet_part(chosen), buttons)
        own, sheets = _name_code(parts, workbook)
        _set_project(parts, workbook, vba_project(_modules(buttons), sheets, workbook=own))
        _declare_workbook(parts, workbook, _WITH_MACROS)
    return BookInstalled(target, chosen, tuple(button.title for button in buttons))


def sheet_with_buttons(book: Path, macros: Collection[str]) -> str | None:
    """The first sheet that has one of our form buttons, None where none has."""
    parts = Parts(book)
    try:
        workbook = WorkbookPart(parts)
        found = (name for name in workbook.sheet_names if remove_buttons(parts, workbook.sheet_part(name), macros))
        return next(found, None)
    finally:
        parts.close()  # nothing is written: what was removed stays in the file


def uninstall_buttons(book: Path, macros: Sequence[str], *, out: Path | None = None) -> tuple[Path, bool]:
    """Write `book` without our buttons, VBA and settings sheet, as .xlsx; returns the file and whether any was there.

    A workbook that has none of them is left alone.
    """
    target = out or book.with_suffix(".xlsx")
    with _Changing(book, target) as changing:
        parts, workbook = changing.parts, changing.workbook
        found = [remove_buttons(parts, workbook.sheet_part(name), macros) for name in workbook.sheet_names]
        has_conf = conf.remove(parts, workbook)
        project = workbook.linked("vbaProject")
        if project:
            _refuse_foreign_vba(parts, workbook)
            parts.drop_links(workbook.part, "vbaProject")
            parts.remove(project)
        _declare_workbook(parts, workbook, _type_for(target))
        changing.wanted = bool(sum(found) or has_conf or project)
    return target, changing.wanted


_MAIN = '''"""Started by the xlwings add-in's Run main. Written by `workbench buttons install`."""

from workbench.buttons.calling import main

__all__ = ["main"]
'''


def install_add_in_way(
    book: Path, actions: Sequence[str], *, out: Path | None = None, python: str | None = None
) -> BookInstalled:
    """Write an .xlsx whose actions the xlwings add-in's *Run main* starts, and the Python file that it calls.

    The sheet xlwings.conf says which action that is. Run main imports a module named like the book, so the
    book's name has to be a Python identifier.
    """
    target = out or book
    if target.suffix.lower() not in (".xlsx", ".xlsm"):
        raise BookError("this is no .xlsx or .xlsm", where=target, remedy="name such a file")
    if not target.stem.isidentifier():
        raise BookError(
            f"Run main imports a Python module named like the book, which {target.stem!r} can't be",
            where=target,
            remedy="use letters, digits and _ only: -o model_book.xlsx",
        )
    module = target.with_suffix(".py")
    if module.exists() and module.read_text(encoding="utf-8", errors="replace") != _MAIN:
        raise BookError("Run main needs this name for its own file", where=module, remedy="rename the book: -o NAME")
    with _Changing(book, target) as changing:
        rows = [*conf.settings(python), conf.action_row(actions[0])]
        if target.suffix.lower() == ".xlsx" and changing.workbook.linked("vbaProject"):
            raise BookError(
                "the book has macros, which an .xlsx can't hold",
                where=book,
                remedy="name the output .xlsm, or take the buttons out first: workbench buttons uninstall",
            )
        conf.add(changing.parts, changing.workbook, rows, actions, renew=True)
        _declare_workbook(changing.parts, changing.workbook, _type_for(target))
    with replacing(module) as temporary:
        temporary.write_text(_MAIN, encoding="utf-8")
    return BookInstalled(target, conf.SHEET, (), module)


def remove_main(book: Path) -> bool:
    """Delete the file that Run main calls, where it is ours."""
    module = book.with_suffix(".py")
    if not module.exists() or module.read_text(encoding="utf-8", errors="replace") != _MAIN:
        return False
    module.unlink()
    return True


class _Changing:
    """A workbook's parts under change; written to `target` at the end unless `wanted` was made False."""

    def __init__(self, book: Path, target: Path) -> None:
        self.target = target
        self.wanted = True
        refuse_if_open_elsewhere(book)
        refuse_if_open_elsewhere(target)
        self.parts = Parts(book)
        self.workbook = WorkbookPart(self.parts)
        if self.parts.signed:
            self.parts.close()
            raise BookError(
                "the workbook is digitally signed, and any change would void the signature",
                where=book,
                remedy="remove the signature, or write another workbook",
            )

    def __enter__(self) -> _Changing:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self.wanted:
                with replacing(self.target) as temporary:
                    self.parts.write(temporary)
        finally:
            self.parts.close()


def _modules(buttons: Sequence[Button]) -> dict[str, str]:
    """The VBA modules from `templates/vba`, with a macro for each button."""
    folder = templates_folder() / "vba"
    sources = {name: (folder / f"{name}.bas").read_text(encoding="utf-8") for name in MODULES}
    macros = [
        f'\nPublic Sub {button.macro}()\n    RunWorkbench "{_action(button.macro)}"\nEnd Sub\n' for button in buttons
    ]
    sources[MODULES[0]] += "".join(macros)
    return sources


def _action(macro: str) -> str:
    """`WbProfileAgain` → `profile_again`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", macro.removeprefix("Wb")).lower()


def _chosen_sheet(parts: Parts, workbook: WorkbookPart, wanted: str | None) -> str:
    worksheets = [name for name in workbook.sheet_names if workbook.sheet_part(name)]
    if wanted is None:
        return worksheets[0]
    for name in worksheets:
        if name.casefold() == wanted.casefold():
            return name
    raise BookError(
        f"the workbook has no sheet {wanted!r}", where=parts.path, remedy=f"use one of {', '.join(worksheets)}"
    )


def _refuse_foreign_vba(parts: Parts, workbook: WorkbookPart) -> None:
    """Raise where the VBA project has modules that aren't ours: merging into it needs Excel."""
    project = workbook.linked("vbaProject")
    if not project:
        return
    listed = re.findall(rb"Module=(\w+)", parts.read(project))
    foreign = {name.decode("ascii", "replace") for name in listed} - set(MODULES)
    if foreign or not listed:
        named = f" ({', '.join(sorted(foreign))})" if foreign else ""
        raise BookError(
            f"the workbook has macros of its own{named}, into which ours can't be put from outside Excel",
            where=parts.path,
            remedy="import the modules of templates/vba in Excel's editor, or use --add-in",
        )


def _add_to_sheet(parts: Parts, part: str, buttons: Sequence[Button]) -> None:
    root = parts.editable(part)
    found = root.find(main("legacyDrawing"))
    link = parts.link(part, found.get(f"{{{OFFICE}}}id", "")) if found is not None else None
    drawing = Drawing(parts.read(link.target) if link is not None else None)
    drawing.add(buttons, first_free_pixel(root), column_pixels(root), row_pixels(root))
    name = link.target if link is not None else parts.fresh("xl/drawings/vmlDrawing1.vml")
    parts.put(name, drawing.bytes())
    if link is None:
        parts.declare(name, _VML_TYPE)
        item = etree.Element(main("legacyDrawing"), nsmap={"r": OFFICE})
        item.set(f"{{{OFFICE}}}id", parts.add_link(part, f"{OFFICE}/vmlDrawing", name))
        behind = next((child for child in root if _local(child) in _BEHIND_VML), None)
        if behind is None:
            root.append(item)
        else:
            behind.addprevious(item)


def _name_code(parts: Parts, workbook: WorkbookPart) -> tuple[str, list[str]]:
    """Give workbook and worksheets the code names that VBA knows them by, where they have none; returns them."""
    root = parts.editable(workbook.part)
    properties = root.find(main("workbookPr"))
    if properties is None:
        properties = etree.Element(main("workbookPr"))
        version = root.find(main("fileVersion"))
        root.insert(0 if version is None else root.index(version) + 1, properties)
    own = properties.get("codeName") or "ThisWorkbook"
    properties.set("codeName", own)
    sheets = [part for name in workbook.sheet_names if (part := workbook.sheet_part(name))]
    known = {part: _code_name(parts.tree(part)) for part in sheets}
    taken = {name.casefold() for name in known.values() if name} | {own.casefold(), *map(str.casefold, MODULES)}
    for part in sheets:
        if known[part]:
            continue
        number = 1
        while f"sheet{number}" in taken:
            number += 1
        known[part] = f"Sheet{number}"
        taken.add(f"sheet{number}")
        sheet = parts.editable(part)
        item = sheet.find(main("sheetPr"))
        if item is None:
            item = etree.Element(main("sheetPr"))
            sheet.insert(0, item)
        item.set("codeName", known[part])
    return own, [known[part] for part in sheets]


def _code_name(sheet: Element) -> str:
    item = sheet.find(main("sheetPr"))
    return item.get("codeName", "") if item is not None else ""


def _set_project(parts: Parts, workbook: WorkbookPart, project: bytes) -> None:
    part = workbook.linked("vbaProject")
    if not part:
        part = "xl/vbaProject.bin"
        parts.add_link(workbook.part, _VBA_LINK, part)
    parts.put(part, project)
    parts.declare(part, _VBA_TYPE)


def _type_for(path: Path) -> str:
    """Excel opens a file only where its name and its content type agree."""
    return _WITH_MACROS if path.suffix.lower() == ".xlsm" else _PLAIN


def _declare_workbook(parts: Parts, workbook: WorkbookPart, content_type: str) -> None:
    if parts.content_type(workbook.part) == content_type:
        return
    for item in parts.editable("[Content_Types].xml"):
        if item.get("PartName", "").casefold() == "/" + workbook.part.casefold():
            item.set("ContentType", content_type)
            return
    parts.declare(workbook.part, content_type)


def _local(item: Element) -> str:
    return etree.QName(item).localname if isinstance(item.tag, str) else ""
