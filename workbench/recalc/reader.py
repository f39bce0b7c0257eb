"""An .xlsx or .xlsm file → the model: sheets' values, raw formulas, defined names, tables."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import BookError
from workbench.recalc import hiding
from workbench.recalc.model import Model, Table
from workbench.recalc.package import Package
from workbench.recalc.parser import column_number
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Region
from workbench.recalc.richerrors import rich_errors
from workbench.recalc.sheetxml import Scan, plain_text, scan, shared_strings, without_markup
from workbench.recalc.store import Sheet, Store
from workbench.recalc.values import CellErrorValue, Objects

_RELATIONSHIP_ID = re.compile(r"\{.*/relationships\}id")
_RANGE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})(?::\$?([A-Za-z]{1,3})\$?(\d{1,7}))?")
_RESAVE = "open it in a spreadsheet program and save it as .xlsx"


@dataclass
class SheetPart:
    """A worksheet part: its text as it is in the file, and the scan of it."""

    name: str
    part: str
    data: bytes
    scan: Scan


@dataclass
class Source:
    """A workbook file as read. `parts` has an entry for each sheet; None for chart and dialog sheets."""

    package: Package
    model: Model
    parts: list[SheetPart | None]
    hidden_names: frozenset[str] = frozenset()
    """Upper-case defined names that are hidden from users."""
    warnings: list[str] = field(default_factory=list)
    rich_errors: dict[int, CellErrorValue] = field(default_factory=dict)
    """What the `vm` indices of errors stand for."""
    chain: str | None = None
    """The part that lists formula cells (calcChain), where there is one."""


def read_source(path: Path) -> Source:
    """The workbook at `path`. Raises `BookError`."""
    package = Package(path)
    try:
        return _read(package, path)
    except BaseException:
        package.close()
        raise


def _read(package: Package, path: Path) -> Source:
    workbook_part = _workbook_part(package)
    root = package.xml(workbook_part)
    related = package.relationships(workbook_part)
    strings = _strings(package, related)
    store, parts, paths = _sheets(package, root, related, strings)
    model = Model(store)
    properties = root.find("{*}workbookPr")
    model.date1904 = properties is not None and properties.get("date1904") in ("1", "true")
    hidden = _define_names(model, root, len(parts))
    for index, part in enumerate(parts):
        if part is None:
            continue
        filters = [hiding.sheet_filter(part.data)]
        if b"tablePart" in part.data:
            filters += _add_tables(package, model, index, paths[index])
        regions = [range_region(text, index) for text in filters if text is not None]
        hiding.note_hidden_rows(model, index, part.data, part.scan, [r for r in regions if r is not None])
        hiding.note_subtotals(model, index, part.scan)
    newer = rich_errors(package, related) if any(part is not None and part.scan.rich for part in parts) else {}
    if newer:
        _set_rich_errors(store, parts, newer)
    chain = next((target for kind, target in related.values() if kind == "calcChain"), None)
    warnings = []
    if package.signed:
        warnings.append(f"{path.name} carries a digital signature, which any change of the file makes invalid")
    if chain is not None and not package.has(chain):
        chain = None
    return Source(package, model, parts, hidden, warnings, newer, chain)


def _workbook_part(package: Package) -> str:
    for kind, target in package.relationships("").values():
        if kind == "officeDocument":
            if not package.has(target):
                break
            return target
    if package.has("xl/workbook.xml"):
        return "xl/workbook.xml"
    raise BookError("this zip file holds no workbook", where=package.path, remedy=_RESAVE)


def _strings(package: Package, related: dict[str, tuple[str, str]]) -> Objects | None:
    part = next((target for kind, target in related.values() if kind == "sharedStrings"), None)
    if part is None:
        return None
    return shared_strings(without_markup(package.read(part)))


def _sheets(
    package: Package, root: ElementTree.Element, related: dict[str, tuple[str, str]], strings: Objects | None
) -> tuple[Store, list[SheetPart | None], list[str]]:
    sheets: list[Sheet] = []
    parts: list[SheetPart | None] = []
    paths: list[str] = []
    for item in root.findall("{*}sheets/{*}sheet"):
        name = item.get("name", "")
        identifier = next((v for k, v in item.attrib.items() if _RELATIONSHIP_ID.fullmatch(k)), "")
        if identifier and identifier not in related:
            raise BookError(f"the sheet {name} has no part", where=package.path, remedy=_RESAVE)
        kind, target = related.get(identifier, ("macrosheet", ""))
        paths.append(target)
        if kind != "worksheet":
            parts.append(None)
            sheets.append(Sheet(name))
            continue
        data = package.read(target)
        if b"<!--" in data or b"<![CDATA[" in data:
            data = without_markup(data)
        found = scan(data, strings, f"{package.path}, {target}")
        parts.append(SheetPart(name, target, data, found))
        sheets.append(Sheet(name, found.columns))
    if not sheets:
        raise BookError("the workbook has no sheets", where=package.path, remedy=_RESAVE)
    return Store(sheets), parts, paths


def _set_rich_errors(store: Store, parts: list[SheetPart | None], newer: dict[int, CellErrorValue]) -> None:
    for index, part in enumerate(parts):
        for row, column, metadata in [] if part is None else part.scan.rich:
            if metadata in newer and isinstance(store.cell(index, row, column), CellErrorValue):
                store.write(index, row, column, newer[metadata])


def _define_names(model: Model, root: ElementTree.Element, sheets: int) -> frozenset[str]:
    hidden = set()
    for item in root.findall("{*}definedNames/{*}definedName"):
        name, text, local = item.get("name", ""), (item.text or "").strip(), item.get("localSheetId")
        if not name or not text:
            continue
        sheet = int(local) if local and local.isdigit() and int(local) < sheets else None
        model.define(name, text.removeprefix("="), sheet)
        if item.get("hidden") in ("1", "true") or name.startswith("_xl"):
            hidden.add(name.upper())
    return frozenset(hidden)


def _add_tables(package: Package, model: Model, sheet: int, part: str) -> list[str | None]:
    """Adds the tables of a sheet; the ranges of their active filters."""
    filters = []
    for kind, target in package.relationships(part).values():
        if kind != "table":
            continue
        root = package.xml(target)
        name = root.get("displayName") or root.get("name") or ""
        region = range_region(root.get("ref", ""), sheet)
        if region is None:
            raise BookError(f"the table {name} has the range '{root.get('ref', '')}'", where=package.path)
        columns = tuple(
            plain_text(column.get("name", "").encode()) for column in root.findall("{*}tableColumns/{*}tableColumn")
        )
        header, totals = _count(root, "headerRowCount", 1), _count(root, "totalsRowCount", 0)
        model.tables[name.lower()] = Table(name, region, header, totals, columns)
        filters.append(hiding.table_filter(root))
    return filters


def _count(root: ElementTree.Element, name: str, default: int) -> int:
    written = root.get(name, "")
    return int(written) if written.isdecimal() and len(written) < 8 else default


def range_region(text: str, sheet: int) -> Region | None:
    """The region of `A1` or `A1:B2`; None when it is none, or off the sheet."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    row1, column1 = int(match[2]) - 1, column_number(match[1])
    row2, column2 = (int(match[4]) - 1, column_number(match[3])) if match[3] else (row1, column1)
    if min(row1, row2) < 0 or max(row1, row2) >= MAX_ROWS or max(column1, column2) >= MAX_COLUMNS:
        return None
    return Region(sheet, row1, column1, row2, column2).ordered()
