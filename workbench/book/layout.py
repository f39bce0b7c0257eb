"""Where everything of a sheet stands: sections in zones, columns and cells at addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workbench.book.template import Column, Section, Sheet, Template

Value = str | float | int | bool | None
Record = Mapping[str, Value]


@dataclass(frozen=True)
class SheetData:
    """What a sheet is filled with."""

    sheet_id: str
    name: str
    """The sheet's name."""
    fields: Mapping[str, Value]
    """For cells, titles and placeholders in texts."""
    records: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """Record lists by name, for grids and tables."""
    lists: Mapping[str, Sequence[str | float]] = field(default_factory=dict)
    """Lists that columns repeat over, instead of the template's."""
    object_name: str = ""
    """The profile's part of defined names, `{p}`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Further placeholders of formulas and names: `{word}` → text."""


@dataclass(frozen=True)
class PlacedColumn:
    """A column at its place; `item` is what it repeats for, the `number`th."""

    column: Column
    header: str
    item: str | float | None
    number: int
    at: int
    """0-based sheet column."""


@dataclass(frozen=True)
class PlacedSection:
    """A section at its place. Rows are 0-based sheet rows."""

    section: Section
    row: int
    """First row: the title's, or the header's where there is none."""
    left: int
    width: int
    """Number of sheet columns of its zone."""
    header: int = 0
    first: int = 0
    """First data row."""
    count: int = 0
    """Records."""
    columns: tuple[PlacedColumn, ...] = ()
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    end: int = 0
    """The row after it."""

    @property
    def last(self) -> int:
        """Last data row, spare rows included."""
        return self.first + max(1, self.count + self.section.spare) - 1

    def column(self, column_id: str) -> list[PlacedColumn]:
        """The columns of that id (several where it repeats), by id or header."""
        found = [c for c in self.columns if c.column.id == column_id]
        return found or [c for c in self.columns if c.header == column_id]


@dataclass(frozen=True)
class PlacedSheet:
    """A sheet with everything at its place."""

    sheet: Sheet
    data: SheetData
    sections: Mapping[str, PlacedSection]
    widths: Mapping[int, float]
    """0-based column → width in characters."""
    zones: Mapping[str, tuple[int, int]]
    """Zone → first column, number of columns."""
    table_names: Mapping[str, str]
    """Section → the name of its Excel table."""


def place_sheet(template: Template, data: SheetData) -> PlacedSheet:
    """The layout of `data`'s sheet."""
    sheet = template.sheet(data.sheet_id)
    columns = {s.id: _expanded(template, s, data) for s in sheet.sections}
    zones, widths = _zones(sheet, columns)
    cursors = dict.fromkeys(zones, 0)
    placed: dict[str, PlacedSection] = {}
    for section in sheet.sections:
        if section.optional and not records_of(section, data):
            continue
        full = not section.zone
        zone = section.zone or next(iter(zones))
        row = max(cursors.values()) if full else cursors[zone]
        left, width = zones[zone]
        if full:
            last_left, last_width = list(zones.values())[-1]
            width = last_left + last_width - left
        chart = section.chart
        if chart is not None and chart.beside in placed:
            row = placed[chart.beside].row
        if chart is not None and (chart.columns or chart.offset):
            left, width = left + chart.offset, chart.columns or width - chart.offset
        one = _place(section, data, row, left, width, columns[section.id])
        placed[section.id] = one
        for name in zones if full else (zone,):
            cursors[name] = max(cursors[name], one.end + section.gap)
        for column in one.columns:
            if column.column.width is not None:
                widths[column.at] = _width(column.column, records_of(section, data))
    tables = {s.id: s.name.replace("{p}", data.object_name) for s in sheet.sections if s.kind == "table" and s.name}
    return PlacedSheet(sheet, data, placed, widths, zones, tables)


def _expanded(template: Template, section: Section, data: SheetData) -> list[tuple[Column, str | float | None, int]]:
    result: list[tuple[Column, str | float | None, int]] = []
    for column in section.columns:
        if column.repeat:
            items = data.lists.get(column.repeat, template.lists.get(column.repeat, ()))
            result += [(column, item, number) for number, item in enumerate(items, 1)]
        else:
            result.append((column, None, 0))
    return result


def _zones(
    sheet: Sheet, columns: Mapping[str, list[tuple[Column, str | float | None, int]]]
) -> tuple[dict[str, tuple[int, int]], dict[int, float]]:
    zones: dict[str, tuple[int, int]] = {}
    widths: dict[int, float] = {}
    at = 0
    visible = [zone.id for zone in sheet.zones if not zone.hidden]
    full = max((_span(columns[s.id]) for s in sheet.sections if not s.zone), default=0)
    for zone in sheet.zones:
        if zone.gutter > 0:
            widths[at] = zone.gutter
            at += 1
        needed = max((_span(columns[s.id]) for s in sheet.sections if s.zone == zone.id), default=0)
        if visible and zone.id == visible[-1]:
            # A section over all zones may need more than they have; hidden zones stand behind it.
            first = zones[visible[0]][0] if zones else at
            needed = max(needed, first + full - at)
        count = max(len(zone.widths), needed)
        for i in range(count):
            widths[at + i] = zone.widths[min(i, len(zone.widths) - 1)]
        zones[zone.id] = (at, count)
        at += count
    return zones, widths


def _span(columns: list[tuple[Column, str | float | None, int]]) -> int:
    return sum(column.span for column, _, _ in columns)


def _place(
    section: Section,
    data: SheetData,
    row: int,
    left: int,
    width: int,
    columns: list[tuple[Column, str | float | None, int]],
) -> PlacedSection:
    body = row + bool(section.title and section.kind != "chart") + bool(section.hint)
    if section.kind in ("grid", "table"):
        placed: list[PlacedColumn] = []
        at = left
        for column, item, number in columns:
            placed.append(PlacedColumn(column, header_text(column, item), item, number, at))
            at += column.span
        count = len(records_of(section, data))
        first = body + 1
        last = first + max(1, count + section.spare)
        end = last + bool(section.total_label)
        return PlacedSection(section, row, left, width, body, first, count, tuple(placed), end=end)
    cells: dict[str, tuple[int, int]] = {}
    if section.kind == "cells":
        at = body
        for cell in section.cells:
            if cell.skip_empty and data.fields.get(cell.field) in (None, ""):
                continue
            cells[cell.id] = (at, left + section.value_column)
            at += 1
        return PlacedSection(section, row, left, width, first=body, cells=cells, end=at)
    if section.kind == "cards":
        at = left
        for cell in section.cells:
            at += cell.skip
            cells[cell.id] = (body + 1, at)
            at += cell.columns
        return PlacedSection(section, row, left, width, first=body, cells=cells, end=body + 3)
    if section.kind == "chart":
        assert section.chart is not None
        return PlacedSection(section, row, left, width, first=row, end=row + section.chart.rows)
    if section.kind == "title":
        return PlacedSection(section, row, left, width, first=row, end=row + 1 + bool(section.hint))
    if section.kind == "legend":
        return PlacedSection(section, row, left, width, first=body, end=body + 1)
    return PlacedSection(section, row, left, width, first=body, end=body + len(section.text))


def _width(column: Column, records: Sequence[Record]) -> float:
    """The column's width in characters, fitted to its texts where the template allows it."""
    width = column.width or 0
    if column.width_max is None:
        return width
    longest = max((len(str(record.get(column.field) or "")) for record in records), default=0)
    return max(width, min(column.width_max, longest + 2))


def header_text(column: Column, item: str | float | None) -> str:
    """The header with the item it repeats for: `{item}`, or `{percent}` for a level."""
    if item is None:
        return column.header
    percent = f"{item:.4%}".rstrip("0%").rstrip(".") if isinstance(item, float) else str(item)
    return column.header.replace("{item}", str(item)).replace("{percent}", percent)


def records_of(section: Section, data: SheetData) -> Sequence[Record]:
    """The records that a grid or table shows."""
    records = data.records.get(section.rows, ()) if section.rows else ()
    return records[: section.limit] if section.limit else records
