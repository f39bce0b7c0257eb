"""Grids and Excel tables of a sheet: headers, records, spare rows, totals, conditional formats."""

from __future__ import annotations

import re
from typing import Any

from workbench.book.formulas import area, column_letters
from workbench.book.layout import PlacedColumn, PlacedSection, Record, records_of
from workbench.book.page import Page
from workbench.book.template import Column


def draw_grid(page: Page, placed: PlacedSection) -> None:
    """A grid, or a table, with everything that belongs to it."""
    section = placed.section
    if section.kind == "table":
        _table(page, placed)
    elif section.name:
        last = placed.columns[-1]
        page.define(section.name, area(placed.header, placed.left, placed.last, last.at + last.column.span - 1))
    for column in placed.columns:
        _header(page, placed, column)
        _column(page, placed, column)
        if column.column.name and section.kind == "grid":
            page.define(column.column.name, area(placed.first, column.at, placed.last, column.at))
    if section.total_label:
        _total(page, placed)
    if section.spare_hidden:
        for row in range(placed.first + max(1, placed.count), placed.last + 1):
            page.worksheet.set_row(row, None, None, {"hidden": True})
    _marks(page, placed)


def _table(page: Page, placed: PlacedSection) -> None:
    name = placed.section.name.replace("{p}", page.sheet.data.object_name)
    columns: list[dict[str, Any]] = []
    for column in placed.columns:
        options: dict[str, Any] = {"header": column.header, "header_format": _header_style(page, placed, column)}
        if column.column.formula:
            options["formula"] = _formula(page, placed, column, placed.first)
        columns.append(options)
    first, last = placed.columns[0].at, placed.columns[-1].at
    page.worksheet.add_table(placed.header, first, placed.last, last, {"name": name, "style": None, "columns": columns})


def _align(column: Column) -> str:
    if column.align:
        return column.align
    return "left" if column.format.startswith("text") else "right"


def _indent(column: PlacedColumn, placed: PlacedSection) -> int | None:
    """Keeps a text off the number to its left."""
    return 1 if _align(column.column) == "left" and column.at > placed.left else None


def _header_style(page: Page, placed: PlacedSection, column: PlacedColumn) -> Any:
    spec = column.column
    extra: dict[str, Any] = {"indent": _indent(column, placed) or 0}
    if spec.header_format:
        extra["num_format"] = page.template.formats[spec.header_format]
        extra["text_wrap"] = False
    if spec.header_role:
        role = page.template.roles[spec.header_role]
        if role.fill:
            extra["bg_color"] = page.styles.color(role.fill)
        if role.color:
            extra["font_color"] = page.styles.color(role.color)
        extra["locked"] = not role.unlocked
    return page.styles.header(_align(spec), **extra)


def _header(page: Page, placed: PlacedSection, column: PlacedColumn) -> None:
    spec, row, at = column.column, placed.header, column.at
    style = _header_style(page, placed, column)
    if spec.header_value == "item":
        page.worksheet.write_number(row, at, float(column.item or 0), style)
    elif spec.header_value == "blank":
        page.worksheet.write_blank(row, at, None, style)
    elif spec.header.startswith("="):
        page.formula(row, at, page.scope.expand(spec.header, page.sheet, None, column), style)
    else:
        page.worksheet.write_string(row, at, column.header, style)
    page.blanks(row, range(at + 1, at + spec.span), style)
    if spec.header_validation:
        page.validate(spec.header_validation, row, at, row, at)
    if spec.help:
        page.comment(row, at, spec.help)


def _column(page: Page, placed: PlacedSection, column: PlacedColumn) -> None:
    spec, at = column.column, column.at
    records = records_of(placed.section, page.sheet.data)
    extra: dict[str, Any] = {"align": spec.align or None, "indent": _indent(column, placed)}
    item = f"{column.item:g}" if isinstance(column.item, float) else str(column.item)
    field = spec.field.replace("{item}", item)
    in_table = spec.formula and page.sheet.table_names.get(placed.section.id)
    same = _formula(page, placed, column, placed.first) if in_table else ""
    base = page.styles.row_cell(spec.role, spec.format, **extra)
    for number, record in enumerate(records):
        row = placed.first + number
        style = page.styles.row_cell(page.role(spec, record), spec.format, **extra) if spec.role_field else base
        if spec.formula:
            page.formula(row, at, same or _formula(page, placed, column, row, record), style)
        else:
            page.write(row, at, record.get(field) if field else spec.value, style, spec, extra)
        page.blanks(row, range(at + 1, at + spec.span), base)
    for row in range(placed.first + len(records), placed.last + 1):
        if spec.formula and spec.spare == "formula":
            page.formula(row, at, _formula(page, placed, column, row), base)
        else:
            page.worksheet.write_blank(row, at, None, base)
        page.blanks(row, range(at + 1, at + spec.span), base)
    if spec.validation:
        page.validate(spec.validation, placed.first, at, placed.last, at)
    _draw_mark(page, placed, column)


def _formula(page: Page, placed: PlacedSection, column: PlacedColumn, row: int, record: Record | None = None) -> str:
    # A record may speak for another profile than the sheet's: the Summary's lines do.
    words = {"p": str(record["p"])} if record and "p" in record else None
    formula = page.scope.expand(column.column.formula, page.sheet, placed, column, row, words=words)
    return f"={formula.removeprefix('=')}"


def _draw_mark(page: Page, placed: PlacedSection, column: PlacedColumn) -> None:
    where = (placed.first, column.at, placed.last, column.at)
    color = page.styles.color(column.column.mark_color)
    if column.column.mark == "bar":
        bar = {"type": "data_bar", "bar_color": color, "bar_solid": True, "bar_border_color": color}
        page.worksheet.conditional_format(*where, bar | {"min_type": "num", "min_value": 0, "data_bar_2010": True})
    elif column.column.mark == "heat":
        page.worksheet.conditional_format(*where, {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": color})


def _total(page: Page, placed: PlacedSection) -> None:
    row = placed.last + 1
    line = {"top": 1, "top_color": page.styles.color("accent"), "bold": True}
    for column in placed.columns:
        style = page.styles.cell("plain", column.column.format, **line)
        page.blanks(row, range(column.at, column.at + column.column.span), style)
        if column.column.total:
            cells = area(placed.first, column.at, placed.last, column.at)
            total = column.column.total.replace("{column}", cells)
            page.formula(row, column.at, page.scope.expand(total, page.sheet, placed, column, row), style)
    label = page.styles.cell("plain", "text", **line)
    page.worksheet.write_string(row, placed.columns[0].at, placed.section.total_label, label)


def _marks(page: Page, placed: PlacedSection) -> None:
    """Conditional formats by formula over the section's rows."""
    for mark in (m for m in page.template.marks if m.id in placed.section.marks):
        formula = mark.formula
        for name in set(re.findall(r"@\[([^\[\]]+)\]", formula)):
            found = placed.column(name)
            if found:
                # Conditional formats take plain references only, relative to the first row.
                formula = formula.replace(f"@[{name}]", f"${column_letters(found[0].at)}{placed.first + 1}")
        formula = page.scope.expand(formula, page.sheet, placed, None, placed.first)
        look: dict[str, Any] = {}
        if mark.color:
            look["font_color"] = page.styles.color(mark.color)
        if mark.fill:
            look["bg_color"] = page.styles.color(mark.fill)
        if mark.bold:
            look["bold"] = True
        rule = {"type": "formula", "criteria": f"={formula}", "format": page.workbook.add_format(look)}
        spans = [
            (c.at, c.at + c.column.span - 1) for c in placed.columns if not mark.columns or c.column.id in mark.columns
        ]
        for left, right in _runs(spans):
            page.worksheet.conditional_format(placed.first, left, placed.last, right, rule)


def _runs(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring column spans joined."""
    joined: list[tuple[int, int]] = []
    for left, right in sorted(spans):
        if joined and left <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], right)
        else:
            joined.append((left, right))
    return joined
