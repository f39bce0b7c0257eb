"""New profiles' lines in the Summary of an existing workbook.

The person may have moved, added or edited columns, rows and cells: the area is found by its defined name,
columns by their headers, and only the lines of the profiles at hand are written.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from workbench.book.formulas import Scope
from workbench.book.insert.cells import SheetCells, address
from workbench.book.insert.parts import Element, main
from workbench.book.insert.sheets import Splice
from workbench.book.layout import PlacedColumn, PlacedSection, SheetData, place_sheet
from workbench.book.template import Section, Template
from workbench.book.text import escaped

_AREA = re.compile(r".*!(\$?[A-Z]{1,3}\$?\d+):(\$?[A-Z]{1,3}\$?\d+)")


@dataclass(frozen=True)
class _Area:
    sheet: str
    header: int
    last: int
    left: int
    right: int


def summary_section(template: Template, rows: str = "profiles") -> tuple[str, Section] | None:
    """The template's grid of all profiles (of `rows`), with the id of its sheet."""
    for sheet in template.sheets:
        for section in sheet.sections:
            if sheet.per == "book" and section.kind == "grid" and section.rows == rows and section.name:
                return sheet.id, section
    return None


def extend_summary(splice: Splice, template: Template, data: SheetData, rows: str = "profiles") -> str:
    """Write a line for each profile of `data` (the rendered Summary's); give what couldn't be done, or nothing."""
    declared = summary_section(template, rows)
    if declared is None:
        return "the template has no summary of profiles"
    section = declared[1]
    area = _find(splice, section.name)
    if area is None:
        return f"the workbook has no area {section.name!r}, so its summary has no line for this profile"
    cells = SheetCells(splice.target, splice.workbook.sheet_part(area.sheet), splice.workbook.linked("sharedStrings"))
    rendered = place_sheet(template, data)
    source = rendered.sections[section.id]
    columns = _columns(cells, area, source)
    if not columns:
        return f"the headers of {section.name!r} on sheet {area.sheet!r} are none of the template's"
    records = data.records[section.rows]
    moved = _moved(source, area, columns)
    here = dataclasses.replace(rendered, sections={**rendered.sections, section.id: moved})
    scope = Scope({here.sheet.id: here}, template.path)
    lines = _lines(splice, data.name)
    models = _models(cells, area, columns)
    for number, record in enumerate(records):
        row, fresh = _row_of(cells, area, columns, str(record["profile"]))
        if row is None:
            return f"the summary has no free line left in {section.name!r} on sheet {area.sheet!r}"
        for own, at in columns:
            if own.column.formula and (own.column.spare == "formula" or not fresh) and cells.has_formula(row, at):
                continue
            cell = lines.get((source.first + number, own.at))
            if cell is None:
                continue
            splice.rewrite_cell(cell)
            formula = cell.find(main("f"))
            if formula is not None:
                words = {"p": str(record.get("p", ""))}
                place = dataclasses.replace(own, at=at)
                formula.text = scope.expand(own.column.formula, here, moved, place, row, words=words).lstrip("=")
            cells.put(row, at, cell, restyle=bool(own.column.role_field))
        cells.show(row)
    if rows == "profiles":
        _subtitle(cells, area, models, _models(cells, area, columns))
    return ""


def _find(splice: Splice, name: str) -> _Area | None:
    for defined in splice.workbook.names:
        match = _AREA.fullmatch(defined.text)
        if defined.name.casefold() == name.casefold() and match is not None and len(defined.sheets()) == 1:
            wanted = next(iter(defined.sheets()))
            sheet = next((s for s in splice.workbook.sheet_names if s.casefold() == wanted), "")
            if sheet and splice.workbook.sheet_part(sheet):
                (header, left), (last, right) = address(match[1]), address(match[2])
                return _Area(sheet, header, last, left, right)
    return None


def _columns(cells: SheetCells, area: _Area, source: PlacedSection) -> list[tuple[PlacedColumn, int]]:
    """The template's columns with the sheet columns that bear their headers; none where the profile's is missing."""
    headers = {cells.text(area.header, at): at for at in range(area.right, area.left - 1, -1)}
    found = [(own, headers[own.header]) for own in source.columns if own.header in headers]
    return found if any(own.column.field == "profile" for own, _ in found) else []


def _moved(source: PlacedSection, area: _Area, columns: Sequence[tuple[PlacedColumn, int]]) -> PlacedSection:
    """The section as it stands in the existing sheet."""
    return dataclasses.replace(
        source,
        section=dataclasses.replace(source.section, spare=0),
        row=area.header,
        left=area.left,
        width=area.right - area.left + 1,
        header=area.header,
        first=area.header + 1,
        count=area.last - area.header,
        columns=tuple(dataclasses.replace(own, at=at) for own, at in columns),
    )


def _row_of(
    cells: SheetCells, area: _Area, columns: Sequence[tuple[PlacedColumn, int]], profile: str
) -> tuple[int | None, bool]:
    """The profile's line, or the first free one, and whether it is free."""
    key = next(at for own, at in columns if own.column.field == "profile")
    rows = range(area.header + 1, area.last + 1)
    for row in rows:
        if cells.text(row, key).casefold() == profile.casefold():
            return row, False
    written = [at for own, at in columns if own.column.spare != "formula"]
    return next((row for row in rows if all(cells.is_empty(row, at) for at in written)), None), True


def _lines(splice: Splice, sheet: str) -> Mapping[tuple[int, int], Element]:
    """The cells of the rendered Summary by 0-based row and column."""
    return {address(cell.get("r", "")): cell for cell in splice.rendered_sheet(sheet).iter(main("c"))}


def _models(cells: SheetCells, area: _Area, columns: Sequence[tuple[PlacedColumn, int]]) -> str:
    """The models of all lines, as the Summary's subtitle names them."""
    at = next((at for own, at in columns if own.column.field == "model_name"), None)
    if at is None:
        return ""
    names = {cells.text(row, at) for row in range(area.header + 1, area.last + 1)} - {""}
    return ", ".join(sorted(names)) if len(names) <= 3 else f"{len(names)} models"


def _subtitle(cells: SheetCells, area: _Area, old: str, new: str) -> None:
    """Bring the line of model names above the area up to date, where it still reads as it was written."""
    if not old or old == new:
        return
    for row in range(area.header):
        if cells.text(row, area.left) == old:
            fresh = etree.Element(main("c"), t="inlineStr")
            etree.SubElement(etree.SubElement(fresh, main("is")), main("t")).text = escaped(new)
            cells.put(row, area.left, fresh)
