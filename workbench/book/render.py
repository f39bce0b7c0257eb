"""Placed sheets into an XLSX file, by XlsxWriter.

XlsxWriter rather than openpyxl writes new books: it is faster, and what it writes is compared with files made
by Excel in its own tests. It never touches an existing file.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from workbench.book.charts import add_chart
from workbench.book.formulas import Scope, area, column_letters
from workbench.book.layout import (
    PlacedColumn,
    PlacedSection,
    PlacedSheet,
    Record,
    SheetData,
    Value,
    place_sheet,
    records_of,
)
from workbench.book.names import quoted_sheet
from workbench.book.styles import Styles
from workbench.book.template import Cell, Column, Template, Validation
from workbench.book.text import escaped, fitted, needs_quote, writer_cannot_hold

_PIXELS_PER_POINT = 96 / 72


def render_book(template: Template, path: Path, groups: Sequence[Sequence[SheetData]], *, protect: bool) -> None:
    """Write the sheets to `path`, in order; the sheets of a group may refer to one another by sheet id.

    The first group's sheets (the book's own) are visible to all groups. Formula cells hold no cached value:
    LibreOffice and Excel compute them on load, `workbench.recalc` fills them in.
    """
    placed = [[place_sheet(template, data) for data in group] for group in groups]
    own = {sheet.sheet.id: sheet for sheet in placed[0]} if placed else {}
    order = {s.id: n for n, s in enumerate(template.sheets)}
    style = template.style
    workbook = xlsxwriter.Workbook(
        str(path),
        {"default_format_properties": {"font_name": style.font, "font_size": style.size}},
    )
    workbook.set_calc_mode("auto")
    renderer = _Renderer(workbook, template, protect)
    pages = [(sheet, Scope(own | {s.sheet.id: s for s in group}, template.path)) for group in placed for sheet in group]
    pages.sort(key=lambda page: _rank(page[0], order, groups))
    for sheet, _ in pages:
        renderer.add(sheet)
    for sheet, scope in pages:
        renderer.fill(sheet, scope)
    workbook.close()
    if renderer.odd_texts:
        _put_texts(path, renderer.odd_texts)


def _rank(sheet: PlacedSheet, order: Mapping[str, int], groups: Sequence[Sequence[SheetData]]) -> tuple[int, int, int]:
    """The book's sheets stand where the template has them, a profile's sheets side by side among them."""
    number = next(n for n, group in enumerate(groups) if sheet.data in group)
    first = min(order[data.sheet_id] for data in groups[number]) if number else order[sheet.sheet.id]
    return first, number, order[sheet.sheet.id]


class _Renderer:
    """Writes placed sheets into one XlsxWriter workbook."""

    def __init__(self, workbook: Any, template: Template, protect: bool) -> None:
        self.workbook = workbook
        self.template = template
        self.protect = protect
        self.styles = Styles(workbook, template)
        self.odd_texts: list[str] = []
        self._worksheets: dict[str, Any] = {}

    def add(self, sheet: PlacedSheet) -> None:
        """An empty worksheet, so that later formulas and names may refer to it."""
        self._worksheets[sheet.data.name] = self.workbook.add_worksheet(sheet.data.name)

    def fill(self, sheet: PlacedSheet, scope: Scope) -> None:
        """Everything of one sheet."""
        worksheet = self._worksheets[sheet.data.name]
        style = self.template.style
        worksheet.set_default_row(style.row_height)
        worksheet.hide_gridlines(2)
        worksheet.set_zoom(sheet.sheet.zoom)
        worksheet.set_tab_color(self.styles.color(sheet.sheet.tab))
        worksheet.set_landscape()
        worksheet.set_paper(9)
        worksheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.55)
        worksheet.fit_to_pages(1, sheet.sheet.pages_high)
        worksheet.set_footer("&L&8&A&R&8&P / &N")
        if sheet.sheet.freeze_rows or sheet.sheet.freeze_columns:
            worksheet.freeze_panes(sheet.sheet.freeze_rows, sheet.sheet.freeze_columns)
        if sheet.sheet.print_to:
            self._set_print_area(worksheet, sheet)
        if sheet.sheet.print_rows:
            worksheet.repeat_rows(0, sheet.sheet.print_rows - 1)
        self._set_columns(worksheet, sheet)
        heights: dict[int, float] = {}
        for placed in sheet.sections.values():
            section = placed.section
            if section.kind in ("grid", "table"):
                heights[placed.header] = max(heights.get(placed.header, 0), section.header_height)
            if section.kind == "title":
                heights[placed.row] = style.title_size * 1.55
            if section.kind == "cards":
                heights[placed.first + 1] = style.card_size * 1.6
        for row, height in heights.items():
            worksheet.set_row(row, height)
        for placed in sheet.sections.values():
            self._section(worksheet, sheet, placed, scope)
        if self.protect:
            worksheet.protect(
                "",
                {
                    "format_columns": True,
                    "format_rows": True,
                    "sort": True,
                    "autofilter": True,
                    "select_locked_cells": True,
                    "select_unlocked_cells": True,
                },
            )

    @staticmethod
    def _set_print_area(worksheet: Any, sheet: PlacedSheet) -> None:
        last = [c.at for placed in sheet.sections.values() for c in placed.column(sheet.sheet.print_to)]
        bottom = max(placed.end for placed in sheet.sections.values()) - 1
        if last:
            worksheet.print_area(0, 0, bottom, max(last))

    def _set_columns(self, worksheet: Any, sheet: PlacedSheet) -> None:
        helpers = {c.at for placed in sheet.sections.values() for c in placed.columns if c.column.helper}
        for zone in (z for z in sheet.sheet.zones if z.hidden):
            left, width = sheet.zones[zone.id]
            helpers |= set(range(left - (zone.gutter > 0), left + width))
        for at, width in sheet.widths.items():
            worksheet.set_column(at, at, width, None, {"level": 1, "hidden": True} if at in helpers else {})
        if helpers:
            worksheet.set_column(max(helpers) + 1, max(helpers) + 1, None, None, {"collapsed": True})

    def _section(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope) -> None:
        section = placed.section
        if section.kind == "title":
            self._title(worksheet, sheet, placed)
            return
        if section.kind == "chart":
            widths = [sheet.widths.get(placed.left + i, 8.43) for i in range(placed.width)]
            rows = placed.end - placed.row
            pixels = round(rows * self.template.style.row_height * _PIXELS_PER_POINT) - 4
            width = sum(int(w * 7 + 5) for w in widths) - 4
            add_chart(self.workbook, worksheet, self.styles, scope, sheet, placed, (width, pixels))
            return
        if section.title:
            style = self.styles.section_title()
            for at in range(placed.left, placed.left + placed.width):
                worksheet.write_blank(placed.row, at, None, style)
            worksheet.write_string(placed.row, placed.left, self._filled(section.title, sheet.data), style)
        if section.hint:
            hint = self._filled(section.hint, sheet.data)
            worksheet.write_string(placed.row + bool(section.title), placed.left, hint, self.styles.small())
        if section.kind == "text":
            self._text(worksheet, placed)
        elif section.kind == "legend":
            self._legend(worksheet, placed)
        elif section.kind in ("cells", "cards"):
            self._cells(worksheet, sheet, placed, scope)
        else:
            self._rows(worksheet, sheet, placed, scope)

    def _title(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection) -> None:
        style = self.template.style
        title = self.styles.make(bold=True, font_size=style.title_size, font_color=self.styles.color("ink"))
        text = self._filled(placed.section.title, sheet.data)
        self.write(worksheet, placed.row, placed.left, text, title, plain=True)
        if placed.section.hint:
            hint = self._filled(placed.section.hint, sheet.data)
            self.write(worksheet, placed.row + 1, placed.left, hint, self.styles.small(font_size=style.size))

    def _text(self, worksheet: Any, placed: PlacedSection) -> None:
        for number, line in enumerate(placed.section.text):
            row = placed.first + number
            head, bar, rest = line.partition(" | ")
            if bar:
                bold = self.styles.make(bold=True, valign="top")
                worksheet.write_string(row, placed.left, head, bold)
                body = self.styles.make(text_wrap=True, valign="top")
                worksheet.write_string(row, placed.left + 1, rest, body)
                line = rest
            else:
                worksheet.write_string(row, placed.left, line, self.styles.make(valign="top"))
            width = 105 if bar else 10_000
            worksheet.set_row(row, self.template.style.row_height * max(1, -(-len(line) // width)))

    def _legend(self, worksheet: Any, placed: PlacedSection) -> None:
        at = placed.left
        for name, role in self.template.roles.items():
            if role.meaning and at < placed.left + placed.width:
                chip = self.styles.cell(name, "text", align="center", font_size=self.template.style.small_size)
                worksheet.write_string(placed.first, at, role.meaning.partition(":")[0], chip)
                worksheet.write_comment(placed.first, at, role.meaning, {"font_size": 9, "x_scale": 1.6})
                at += 1

    @staticmethod
    def _filled(text: str, data: SheetData) -> str:
        def field(match: re.Match[str]) -> str:
            value = data.fields.get(match[1])
            return match[0] if match[1] not in data.fields else "" if value is None else str(value)

        return re.sub(r"\{(\w+)\}", field, text)

    # Labelled cells and cards

    def _cells(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope) -> None:
        for cell in placed.section.cells:
            if cell.id not in placed.cells:
                continue
            row, at = placed.cells[cell.id]
            if placed.section.kind == "cards":
                self._card(worksheet, sheet, placed, scope, cell)
            else:
                self._line(worksheet, sheet, placed, scope, cell)
            if cell.validation:
                self._validate(worksheet, cell.validation, row, at, row, at, scope, sheet)
            if cell.name:
                name = cell.name.replace("{p}", sheet.data.object_name)
                self.workbook.define_name(name, f"={quoted_sheet(sheet.data.name)}!{area(row, at)}")

    def _line(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope, cell: Cell) -> None:
        row, at = placed.cells[cell.id]
        line = {"bottom": 1, "bottom_color": self.styles.color("line")}
        unlocked = self.template.roles[self._role(cell, sheet.data.fields)].unlocked
        label = self.styles.make(bold=cell.bold, **line)
        for column in range(placed.left, at):
            worksheet.write_blank(row, column, None, label)
        worksheet.write_string(row, placed.left, cell.label, label)
        style = self.styles.cell(
            self._role(cell, sheet.data.fields),
            cell.format,
            bold=True if cell.bold else None,
            align=cell.align or None,
            **({} if unlocked else line),
        )
        if placed.section.wide_values:
            self._wide_value(worksheet, sheet, placed, scope, cell, style)
            return
        self._fill(worksheet, row, at, cell, sheet.data.fields, style, sheet, scope)
        note = str(sheet.data.fields.get(cell.note_field) or "") if cell.note_field else cell.note
        small = self.styles.small(indent=1, **line)
        for column in range(at + 1, placed.left + placed.width):
            worksheet.write_blank(row, column, None, small)
        if note and at + 1 < placed.left + placed.width:
            self.write(worksheet, row, at + 1, note, small)
        if cell.help:
            self._comment(worksheet, row, placed.left, cell.help)

    def _wide_value(
        self,
        worksheet: Any,
        sheet: PlacedSheet,
        placed: PlacedSection,
        scope: Scope,
        cell: Cell,
        style: Any,
    ) -> None:
        row, at = placed.cells[cell.id]
        last = placed.left + placed.width - 1
        worksheet.merge_range(row, at, row, last, "", style)
        self._fill(worksheet, row, at, cell, sheet.data.fields, style, sheet, scope)
        value = sheet.data.fields.get(cell.field)
        room = sum(sheet.widths.get(i, 8.43) for i in range(at, last + 1)) * 1.05
        if isinstance(value, str) and len(value) > room:
            self._comment(worksheet, row, at, value[:2000])

    def _card(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope, cell: Cell) -> None:
        row, at = placed.cells[cell.id]
        fill = {"bg_color": self.styles.color("card"), "pattern": 1, "align": "left", "indent": 1}
        edge = {"left": 5, "left_color": self.styles.color("accent" if cell.bold else "rule")}
        sizes = self.template.style
        role = self._role(cell, sheet.data.fields)
        code = self.template.formats[cell.format]
        value = self.styles.make(
            **fill, **edge, bold=True, font_size=sizes.card_size, num_format=code,
            font_color=self.styles.color(self.template.roles[role].color or "ink"),
            italic=self.template.roles[role].italic,
        )  # fmt: skip
        label = self.styles.make(**fill, **edge, font_size=9, font_color=self.styles.color("muted"))
        note = self.styles.small(**fill, **edge)
        last = at + cell.columns - 1
        texts = ((row - 1, cell.label, label), (row, "", value), (row + 1, cell.note, note))
        for line, text, style in texts:
            if last > at:
                worksheet.merge_range(line, at, line, last, text, style)
            else:
                worksheet.write_string(line, at, text, style)
        if cell.note_field or cell.note.startswith("="):
            source = Cell(id="note", formula=cell.note[1:]) if cell.note.startswith("=") else None
            if source is not None:
                formula = "=" + scope.expand(source.formula, sheet)
                worksheet.write_formula(row + 1, at, formula, note, "")
            else:
                text = str(sheet.data.fields.get(cell.note_field) or "")
                self.write(worksheet, row + 1, at, text, note)
        self._fill(worksheet, row, at, cell, sheet.data.fields, value, sheet, scope)
        if cell.help:
            self._comment(worksheet, row - 1, at, cell.help)

    @staticmethod
    def _role(entry: Cell | Column, record: Mapping[str, Value]) -> str:
        return str(record.get(entry.role_field) or entry.role) if entry.role_field else entry.role

    def _fill(
        self,
        worksheet: Any,
        row: int,
        at: int,
        cell: Cell,
        fields: Mapping[str, Value],
        style: Any,
        sheet: PlacedSheet,
        scope: Scope,
    ) -> None:
        if cell.formula:
            formula = scope.expand(cell.formula, sheet)
            worksheet.write_formula(row, at, formula if formula.startswith("=") else f"={formula}", style, "")
        else:
            value = fields.get(cell.field) if cell.field else cell.value
            self.write(worksheet, row, at, value, style)

    # Grids and tables

    def _rows(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope) -> None:
        section = placed.section
        records = records_of(section, sheet.data)
        name = section.name.replace("{p}", sheet.data.object_name)
        if section.kind == "table":
            worksheet.add_table(
                placed.header,
                placed.columns[0].at,
                placed.last,
                placed.columns[-1].at,
                {
                    "name": name,
                    "style": None,
                    "autofilter": not self.protect or True,
                    "columns": [self._table_column(c, sheet, placed, scope) for c in placed.columns],
                },
            )
        elif name:
            last = placed.columns[-1]
            ref = area(placed.header, placed.left, placed.last, last.at + last.column.span - 1)
            self.workbook.define_name(name, f"={quoted_sheet(sheet.data.name)}!{ref}")
        for column in placed.columns:
            self._header(worksheet, sheet, placed, column, scope)
            self._column(worksheet, sheet, placed, column, records, scope)
        if section.total_label:
            self._total(worksheet, sheet, placed, scope)
        if section.spare_hidden:
            for row in range(placed.first + max(1, placed.count), placed.last + 1):
                worksheet.set_row(row, None, None, {"hidden": True})
        self._marks(worksheet, sheet, placed, scope)

    def _table_column(
        self, column: PlacedColumn, sheet: PlacedSheet, placed: PlacedSection, scope: Scope
    ) -> dict[str, Any]:
        options: dict[str, Any] = {
            "header": column.header,
            "header_format": self._header_style(column, placed),
        }
        if column.column.formula:
            formula = scope.expand(column.column.formula, sheet, placed, column, placed.first)
            options["formula"] = formula if formula.startswith("=") else f"={formula}"
        return options

    def _align(self, column: Column) -> str:
        if column.align:
            return column.align
        return "left" if column.format.startswith("text") else "right"

    def _indent(self, column: PlacedColumn, placed: PlacedSection) -> int | None:
        """Keeps a text off the number to its left."""
        return 1 if self._align(column.column) == "left" and column.at > placed.left else None

    def _header_style(self, column: PlacedColumn, placed: PlacedSection) -> Any:
        spec = column.column
        extra: dict[str, Any] = {"indent": self._indent(column, placed) or 0}
        if spec.header_format:
            extra["num_format"] = self.template.formats[spec.header_format]
            extra["text_wrap"] = False
        if spec.header_role:
            role = self.template.roles[spec.header_role]
            if role.fill:
                extra["bg_color"] = self.styles.color(role.fill)
            if role.color:
                extra["font_color"] = self.styles.color(role.color)
            extra["locked"] = not role.unlocked
        return self.styles.header(self._align(spec), **extra)

    def _header(
        self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, column: PlacedColumn, scope: Scope
    ) -> None:
        spec = column.column
        style = self._header_style(column, placed)
        row = placed.header
        if spec.header_value == "item":
            worksheet.write_number(row, column.at, float(column.item or 0), style)
        elif spec.header_value == "blank":
            worksheet.write_blank(row, column.at, None, style)
        elif spec.header.startswith("="):
            formula = scope.expand(spec.header[1:], sheet, None, column)
            worksheet.write_formula(row, column.at, f"={formula}", style, "")
        else:
            worksheet.write_string(row, column.at, column.header, style)
        for extra in range(1, spec.span):
            worksheet.write_blank(row, column.at + extra, None, style)
        if spec.header_validation:
            self._validate(worksheet, spec.header_validation, row, column.at, row, column.at, scope, sheet)
        if spec.help:
            self._comment(worksheet, row, column.at, spec.help)

    def _column(
        self,
        worksheet: Any,
        sheet: PlacedSheet,
        placed: PlacedSection,
        column: PlacedColumn,
        records: Sequence[Record],
        scope: Scope,
    ) -> None:
        spec = column.column
        extra: dict[str, Any] = {"align": spec.align or None, "indent": self._indent(column, placed)}
        item = f"{column.item:g}" if isinstance(column.item, float) else str(column.item)
        field = spec.field.replace("{item}", item)
        formula_once = ""
        if spec.formula and sheet.table_names.get(placed.section.id):
            formula_once = self._formula(spec, sheet, placed, column, placed.first, scope)
        base = self.styles.row_cell(spec.role, spec.format, **extra)
        for number, record in enumerate(records):
            row = placed.first + number
            style = base
            if spec.role_field:
                style = self.styles.row_cell(self._role(spec, record), spec.format, **extra)
            if spec.formula:
                formula = formula_once or self._formula(spec, sheet, placed, column, row, scope, record)
                worksheet.write_formula(row, column.at, formula, style, "")
            else:
                self.write(worksheet, row, column.at, record.get(field) if field else spec.value, style, spec, extra)
            for more in range(1, spec.span):
                worksheet.write_blank(row, column.at + more, None, base)
        for row in range(placed.first + len(records), placed.last + 1):
            if spec.formula and spec.spare == "formula":
                formula = self._formula(spec, sheet, placed, column, row, scope)
                worksheet.write_formula(row, column.at, formula, base, "")
            else:
                worksheet.write_blank(row, column.at, None, base)
            for more in range(1, spec.span):
                worksheet.write_blank(row, column.at + more, None, base)
        if spec.validation:
            self._validate(worksheet, spec.validation, placed.first, column.at, placed.last, column.at, scope, sheet)
        self._draw_mark(worksheet, spec, placed, column)

    def _draw_mark(self, worksheet: Any, spec: Column, placed: PlacedSection, column: PlacedColumn) -> None:
        where = (placed.first, column.at, placed.last, column.at)
        color = self.styles.color(spec.mark_color)
        if spec.mark == "bar":
            worksheet.conditional_format(
                *where, {"type": "data_bar", "bar_color": color, "bar_solid": True, "bar_border_color": color,
                         "min_type": "num", "min_value": 0, "data_bar_2010": True}
            )  # fmt: skip
        elif spec.mark == "heat":
            worksheet.conditional_format(*where, {"type": "2_color_scale", "min_color": "#FFFFFF", "max_color": color})

    def _formula(
        self,
        spec: Column,
        sheet: PlacedSheet,
        placed: PlacedSection,
        column: PlacedColumn,
        row: int,
        scope: Scope,
        record: Record | None = None,
    ) -> str:
        # A record may speak for another profile than the sheet's: the Summary's lines do.
        words = {"p": str(record["p"])} if record and "p" in record else None
        formula = scope.expand(spec.formula, sheet, placed, column, row, words=words)
        return formula if formula.startswith("=") else f"={formula}"

    def _total(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope) -> None:
        row = placed.last + 1
        line = {"top": 1, "top_color": self.styles.color("accent"), "bold": True}
        for column in placed.columns:
            style = self.styles.cell("plain", column.column.format, **line)
            for more in range(column.column.span):
                worksheet.write_blank(row, column.at + more, None, style)
            if column.column.total:
                cells = area(placed.first, column.at, placed.last, column.at)
                formula = scope.expand(column.column.total.replace("{column}", cells), sheet, placed, column, row)
                worksheet.write_formula(row, column.at, f"={formula}", style, "")
        worksheet.write_string(
            row, placed.columns[0].at, placed.section.total_label, self.styles.cell("plain", "text", **line)
        )

    def _marks(self, worksheet: Any, sheet: PlacedSheet, placed: PlacedSection, scope: Scope) -> None:
        for mark in (m for m in self.template.marks if m.id in placed.section.marks):
            formula = mark.formula
            for name in set(re.findall(r"@\[([^\[\]]+)\]", formula)):
                found = placed.column(name)
                if not found:
                    continue
                # Conditional formats take plain references only, relative to the first row.
                formula = formula.replace(f"@[{name}]", f"${column_letters(found[0].at)}{placed.first + 1}")
            formula = scope.expand(formula, sheet, placed, None, placed.first)
            look: dict[str, Any] = {}
            if mark.color:
                look["font_color"] = self.styles.color(mark.color)
            if mark.fill:
                look["bg_color"] = self.styles.color(mark.fill)
            if mark.bold:
                look["bold"] = True
            style = self.workbook.add_format(look)
            targets = [c for c in placed.columns if not mark.columns or c.column.id in mark.columns]
            for left, right in _runs([(c.at, c.at + c.column.span - 1) for c in targets]):
                worksheet.conditional_format(
                    placed.first,
                    left,
                    placed.last,
                    right,
                    {"type": "formula", "criteria": f"={formula}", "format": style},
                )

    # Cells

    def write(
        self,
        worksheet: Any,
        row: int,
        at: int,
        value: Value,
        style: Any,
        spec: Column | None = None,
        extra: Mapping[str, Any] | None = None,
        *,
        plain: bool = False,
    ) -> None:
        """`value` as a constant of its type. Texts stay texts, whatever they look like."""
        if value is None or value == "" or (isinstance(value, float) and value != value):
            worksheet.write_blank(row, at, None, style)
        elif isinstance(value, bool):
            worksheet.write_boolean(row, at, value, style)
        elif isinstance(value, int | float):
            worksheet.write_number(row, at, value, style)
        else:
            text = fitted(value)
            if writer_cannot_hold(text):
                self.odd_texts.append(text)
                text = _placeholder(len(self.odd_texts) - 1)
            elif needs_quote(text) and spec is not None and not plain:
                style = self.styles.row_cell(spec.role, spec.format, quote_prefix=True, **(extra or {}))
            worksheet.write_string(row, at, text, style)

    def _comment(self, worksheet: Any, row: int, at: int, text: str) -> None:
        lines = -(-len(text) // 42) + 1
        worksheet.write_comment(
            row, at, text,
            {"font_name": self.template.style.font, "font_size": 9, "width": 260, "height": 15 * lines + 8,
             "color": self.styles.color("note")},
        )  # fmt: skip

    def _validate(
        self,
        worksheet: Any,
        name: str,
        row: int,
        at: int,
        last_row: int,
        last_at: int,
        scope: Scope,
        sheet: PlacedSheet,
    ) -> None:
        spec = self.template.validations[name]
        options = _validation_options(spec, scope, sheet, row, at)
        worksheet.data_validation(row, at, last_row, last_at, options)


def _validation_options(spec: Validation, scope: Scope, sheet: PlacedSheet, row: int, at: int) -> dict[str, Any]:
    options: dict[str, Any] = {"ignore_blank": True, "error_title": "Not accepted", "error_message": spec.message[:255]}
    if spec.prompt:
        options |= {"input_title": "Input", "input_message": spec.prompt[:255]}
    if spec.kind == "list":
        source: Any = list(spec.choices)
        if spec.source:
            source = "=" + scope.expand(spec.source, sheet)
        return options | {"validate": "list", "source": source}
    if spec.kind == "custom":
        return options | {
            "validate": "custom",
            "value": "=" + spec.formula.replace("@", f"{column_letters(at)}{row + 1}"),
        }
    if spec.maximum is None:
        return options | {"validate": "decimal", "criteria": ">", "value": spec.minimum or 0}
    return options | {
        "validate": "decimal",
        "criteria": "between",
        "minimum": spec.minimum or 0,
        "maximum": spec.maximum,
    }


def _runs(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring column spans joined."""
    joined: list[tuple[int, int]] = []
    for left, right in sorted(spans):
        if joined and left <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], right)
        else:
            joined.append((left, right))
    return joined


def _placeholder(number: int) -> str:
    # The leading space makes XlsxWriter keep white space.
    return f" \u2060workbench-text-{number:06d}\u2060"


def _put_texts(path: Path, texts: Sequence[str]) -> None:
    """Replace the placeholders in the shared strings by the texts that XlsxWriter can't write."""
    other = path.with_name(path.name + ".texts")
    try:
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as target:
            for part in source.infolist():
                content = source.read(part)
                if part.filename == "xl/sharedStrings.xml":
                    for number, text in enumerate(texts):
                        safe = escaped(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
                        content = content.replace(_placeholder(number).encode(), safe.encode())
                target.writestr(part, content)
        other.replace(path)
    finally:
        other.unlink(missing_ok=True)
