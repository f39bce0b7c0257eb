"""The sheet `xlwings.conf`: which Python Excel starts, and which action the add-in's Run main runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from xml.sax.saxutils import escape

from workbench.book.insert.parts import MAIN, OFFICE, Parts, children, main, relationships_part
from workbench.book.insert.workbook import WorkbookPart

SHEET = "xlwings.conf"
ACTION = "WORKBENCH_ACTION"
MARK = "the Python that has the workbench, on Windows"
"""By this text in C1 we know our own sheet."""

_WORKSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"

Row = tuple[str, str, str]
"""Key, value, what it means."""


def settings(python: str | None = None) -> list[Row]:
    """The rows that Excel's VBA and xlwings' add-in read; `python` is the interpreter on Excel's machine."""
    windows = python or (sys.executable if sys.platform.startswith("win") else "python")
    mac = python or (sys.executable if sys.platform == "darwin" else "python3")
    return [
        ("INTERPRETER_WIN", windows, MARK),
        ("INTERPRETER_MAC", mac, "the same on macOS"),
        ("SHOW CONSOLE", "FALSE", "TRUE shows what Python prints (Windows)"),
    ]


def action_row(default: str) -> Row:
    """What Run main runs, chosen in a list."""
    return ACTION, default, "what xlwings' Run main runs: choose from the list"


def add(
    parts: Parts, workbook: WorkbookPart, rows: Sequence[Row], choices: Sequence[str] = (), *, renew: bool = False
) -> None:
    """Add the sheet as the last one; `choices` are the values that the action's cell takes.

    A sheet of that name stays as a person set it up; with `renew`, one of ours is written anew.
    """
    part = workbook.sheet_part(SHEET)
    if part and not (renew and _is_ours(parts, workbook)):
        return
    if not part:
        part = parts.fresh("xl/worksheets/sheet1.xml")
        parts.declare(part, _WORKSHEET)
        workbook.add_sheet(SHEET, part, len(workbook.sheet_names))
    parts.put(part, _sheet_xml(rows, choices).encode())


def remove(parts: Parts, workbook: WorkbookPart) -> bool:
    """Take our sheet out, with its place in the workbook; False where there is none, or a person's own."""
    part = workbook.sheet_part(SHEET)
    if not part or not _is_ours(parts, workbook):
        return False
    position = [name.casefold() for name in workbook.sheet_names].index(SHEET)
    root = parts.editable(workbook.part)
    sheets = root.find(main("sheets"))
    assert sheets is not None
    item = list(children(sheets, "sheet"))[position]
    link_id = item.get(f"{{{OFFICE}}}id", "")
    sheets.remove(item)
    names = root.find(main("definedNames"))
    for name in list(children(names, "definedName")) if names is not None else ():
        scope = name.get("localSheetId")
        if scope is not None and int(scope) == position:
            names.remove(name)  # type: ignore[union-attr]
        elif scope is not None and int(scope) > position:
            name.set("localSheetId", str(int(scope) - 1))
    for view in root.iterfind(f"{main('bookViews')}/{main('workbookView')}"):
        for attribute in ("activeTab", "firstSheet"):
            at = int(view.get(attribute, "0"))
            if at >= position and at > 0:
                view.set(attribute, str(at - 1))
    links = parts.editable(relationships_part(workbook.part))
    for link in list(links):
        if link.get("Id") == link_id:
            links.remove(link)
    parts.remove(part)
    return True


def _is_ours(parts: Parts, workbook: WorkbookPart) -> bool:
    """Whether the cell C1 holds what we wrote there."""
    for cell in parts.tree(workbook.sheet_part(SHEET)).iter(main("c")):
        if cell.get("r") == "C1":
            if cell.get("t") != "s":
                return "".join(map(str, cell.itertext())) == MARK
            strings = list(children(parts.tree(workbook.linked("sharedStrings")), "si"))
            return "".join(map(str, strings[int(cell.findtext(main("v"), "0"))].itertext())) == MARK
    return False


def _sheet_xml(rows: Sequence[Row], choices: Sequence[str]) -> str:
    body, rule = [], ""
    for number, (key, value, meaning) in enumerate(rows, 1):
        cells = "".join(
            _cell(f"{column}{number}", text) for column, text in zip("ABC", (key, value, meaning), strict=True)
        )
        body.append(f'<row r="{number}">{cells}</row>')
        if key == ACTION and choices:
            listed = escape('"' + ",".join(choices) + '"')
            rule = (
                f'<dataValidations count="1"><dataValidation type="list" allowBlank="0" showErrorMessage="1" '
                f'sqref="B{number}"><formula1>{listed}</formula1></dataValidation></dataValidations>'
            )
    widths = enumerate((22, 46, 54), 1)
    columns = "".join(f'<col min="{n}" max="{n}" width="{width}" customWidth="1"/>' for n, width in widths)
    return (
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="{MAIN}">'
        f"<cols>{columns}</cols><sheetData>{''.join(body)}</sheetData>{rule}</worksheet>"
    )


def _cell(address: str, text: str) -> str:
    return f'<c r="{address}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
