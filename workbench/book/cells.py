"""Labelled cells and cards of a sheet."""

from __future__ import annotations

from typing import Any

from workbench.book.layout import PlacedSection
from workbench.book.page import Page
from workbench.book.template import Cell


def draw_cells(page: Page, placed: PlacedSection) -> None:
    """A section of labelled cells, or of cards, with their names and rules."""
    draw = _card if placed.section.kind == "cards" else _line
    for cell in placed.section.cells:
        if cell.id not in placed.cells:
            continue
        row, at = placed.cells[cell.id]
        draw(page, placed, cell)
        if cell.validation:
            page.validate(cell.validation, row, at, row, at)
        if cell.name:
            page.define_cell(cell.name, row, at)


def _line(page: Page, placed: PlacedSection, cell: Cell) -> None:
    """`label | value | note` on one row."""
    row, at = placed.cells[cell.id]
    fields = page.sheet.data.fields
    line = {"bottom": 1, "bottom_color": page.styles.color("line")}
    role = page.role(cell, fields)
    label = page.styles.make(bold=cell.bold, **line)
    page.blanks(row, range(placed.left, at), label)
    page.worksheet.write_string(row, placed.left, cell.label, label)
    if cell.help:
        page.comment(row, placed.left, cell.help)
    look: dict[str, Any] = {"bold": True if cell.bold else None, "align": cell.align or None}
    if not page.template.roles[role].unlocked:
        look |= line
    style = page.styles.cell(role, cell.format, **look)
    if placed.section.wide_values:
        _wide_value(page, placed, cell, style, page.styles.cell(role, cell.format, shrink=True, **look))
        return
    _value(page, row, at, cell, style)
    note = str(fields.get(cell.note_field) or "") if cell.note_field else cell.note
    small = page.styles.small(indent=1, **line)
    page.blanks(row, range(at + 1, placed.left + placed.width), small)
    if note and at + 1 < placed.left + placed.width:
        page.write(row, at + 1, note, small)


def _wide_value(page: Page, placed: PlacedSection, cell: Cell, style: Any, shrunk: Any) -> None:
    """A value over all columns to the section's edge, in smaller type and with a comment where it is longer."""
    row, at = placed.cells[cell.id]
    last = placed.left + placed.width - 1
    value = page.sheet.data.fields.get(cell.field)
    room = sum(page.sheet.widths.get(i, 8.43) for i in range(at, last + 1)) * 1.05
    long = isinstance(value, str) and len(value) > room
    page.worksheet.merge_range(row, at, row, last, "", shrunk if long else style)
    _value(page, row, at, cell, shrunk if long else style)
    if long:
        page.comment(row, at, str(value)[:2000])


def _card(page: Page, placed: PlacedSection, cell: Cell) -> None:
    """A figure in large type, its label above and its note below."""
    row, at = placed.cells[cell.id]
    styles, sizes = page.styles, page.template.style
    role = page.template.roles[page.role(cell, page.sheet.data.fields)]
    fill = {"bg_color": styles.color("card"), "pattern": 1, "align": "left", "indent": 1}
    edge = {"left": 5, "left_color": styles.color("accent" if cell.bold else "rule")}
    value = styles.make(
        **fill,
        **edge,
        bold=True,
        font_size=sizes.card_size,
        num_format=page.template.formats[cell.format],
        font_color=styles.color(role.color or "ink"),
        italic=role.italic,
    )
    label = styles.make(**fill, **edge, font_size=9, font_color=styles.color("muted"))
    note = styles.small(**fill, **edge)
    last = at + cell.columns - 1
    for line, text, style in ((row - 1, cell.label, label), (row, "", value), (row + 1, cell.note, note)):
        if last > at:
            page.worksheet.merge_range(line, at, line, last, text, style)
        else:
            page.worksheet.write_string(line, at, text, style)
    if cell.note.startswith("="):
        page.formula(row + 1, at, page.scope.expand(cell.note, page.sheet), note)
    elif cell.note_field:
        page.write(row + 1, at, str(page.sheet.data.fields.get(cell.note_field) or ""), note)
    _value(page, row, at, cell, value)
    if cell.help:
        page.comment(row - 1, at, cell.help)


def _value(page: Page, row: int, at: int, cell: Cell, style: Any) -> None:
    if cell.formula:
        page.formula(row, at, page.scope.expand(cell.formula, page.sheet), style)
    else:
        page.write(row, at, page.sheet.data.fields.get(cell.field) if cell.field else cell.value, style)
