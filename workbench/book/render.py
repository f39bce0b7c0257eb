"""Placed sheets into an XLSX file, by XlsxWriter.

XlsxWriter rather than openpyxl writes new books: it is faster, and what it writes is compared with files made
by Excel in its own tests. It never touches an existing file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from workbench.book.cells import draw_cells
from workbench.book.charts import add_chart
from workbench.book.formulas import Scope
from workbench.book.grids import draw_grid
from workbench.book.layout import PlacedSection, PlacedSheet, SheetData, place_sheet
from workbench.book.page import Page, put_texts
from workbench.book.styles import Styles
from workbench.book.template import Template

_PIXELS_PER_POINT = 96 / 72
_DEFAULT_WIDTH = 8.43
"""Excel's, in characters."""
_TEXT_WIDTH = 118
"""Characters that a line of a text section holds before it wraps."""


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
    styles = Styles(workbook, template)
    odd_texts: list[str] = []
    sheets = [
        (sheet, Scope(own | {s.sheet.id: s for s in group}, template.path)) for group in placed for sheet in group
    ]
    sheets.sort(key=lambda one: _rank(one[0], order, groups))
    # All sheets exist before the first formula: names may refer to later ones.
    pages = [
        Page(workbook, workbook.add_worksheet(sheet.data.name, _Worksheet), template, styles, sheet, scope, odd_texts)
        for sheet, scope in sheets
    ]
    for page in pages:
        _fill(page, protect=protect)
    try:
        workbook.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        if error.args and isinstance(error.args[0], OSError):
            raise error.args[0] from error  # disk full and the like, for `replacing` to explain
        raise
    if odd_texts:
        put_texts(path, odd_texts)


class _Worksheet(Worksheet):  # type: ignore[misc]
    """XlsxWriter's, with a memory: it searches each formula some 26 times, and a table's column repeats one."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        prepared: dict[tuple[str, bool], str] = self.__dict__.setdefault("_prepared", {})
        key = (formula, expand_future_functions)
        if key not in prepared:
            prepared[key] = super()._prepare_formula(formula, expand_future_functions)
        return prepared[key]


def _rank(sheet: PlacedSheet, order: Mapping[str, int], groups: Sequence[Sequence[SheetData]]) -> tuple[int, int, int]:
    """The book's sheets stand where the template has them, a profile's sheets side by side among them."""
    number = next(n for n, group in enumerate(groups) if sheet.data in group)
    first = min(order[data.sheet_id] for data in groups[number]) if number else order[sheet.sheet.id]
    return first, number, order[sheet.sheet.id]


def _fill(page: Page, *, protect: bool) -> None:
    """Everything of one sheet."""
    worksheet, sheet, style = page.worksheet, page.sheet, page.template.style
    worksheet.set_default_row(style.row_height)
    worksheet.hide_gridlines(2)
    worksheet.set_zoom(sheet.sheet.zoom)
    worksheet.set_tab_color(page.styles.color(sheet.sheet.tab))
    if sheet.sheet.freeze_rows or sheet.sheet.freeze_columns:
        worksheet.freeze_panes(sheet.sheet.freeze_rows, sheet.sheet.freeze_columns)
    _set_printing(worksheet, sheet)
    _set_columns(worksheet, sheet)
    heights: dict[int, float] = {}
    for placed in sheet.sections.values():
        kind = placed.section.kind
        if kind in ("grid", "table"):
            heights[placed.header] = max(heights.get(placed.header, 0), placed.section.header_height)
        elif kind == "title":
            heights[placed.row] = style.title_size * 1.55
        elif kind == "cards":
            heights[placed.first + 1] = style.card_size * 1.6
    for row, height in heights.items():
        worksheet.set_row(row, height)
    for placed in sheet.sections.values():
        _section(page, placed)
    if protect:
        allowed = ("format_columns", "format_rows", "sort", "autofilter", "select_locked_cells")
        worksheet.protect("", dict.fromkeys((*allowed, "select_unlocked_cells"), True))


def _set_printing(worksheet: Any, sheet: PlacedSheet) -> None:
    worksheet.set_landscape()
    worksheet.set_paper(9)
    worksheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.55)
    worksheet.fit_to_pages(1, sheet.sheet.pages_high)
    worksheet.set_footer("&L&8&A&R&8&P / &N")
    if sheet.sheet.print_rows:
        worksheet.repeat_rows(0, sheet.sheet.print_rows - 1)
    if sheet.sheet.print_to:
        last = [c.at for placed in sheet.sections.values() for c in placed.column(sheet.sheet.print_to)]
        bottom = max(placed.end for placed in sheet.sections.values()) - 1
        worksheet.print_area(0, 0, bottom, max(last))


def _set_columns(worksheet: Any, sheet: PlacedSheet) -> None:
    helpers = {c.at for placed in sheet.sections.values() for c in placed.columns if c.column.helper}
    for zone in (z for z in sheet.sheet.zones if z.hidden):
        left, width = sheet.zones[zone.id]
        helpers |= set(range(left - (zone.gutter > 0), left + width))
    for at, characters in sheet.widths.items():
        worksheet.set_column(at, at, characters, None, {"level": 1, "hidden": True} if at in helpers else {})
    if helpers:
        worksheet.set_column(max(helpers) + 1, max(helpers) + 1, None, None, {"collapsed": True})


def _section(page: Page, placed: PlacedSection) -> None:
    section = placed.section
    if section.kind == "title":
        _title(page, placed)
        return
    if section.kind == "chart":
        widths = [page.sheet.widths.get(placed.left + i, _DEFAULT_WIDTH) for i in range(placed.width)]
        rows = placed.end - placed.row
        pixels = round(rows * page.template.style.row_height * _PIXELS_PER_POINT) - 4
        add_chart(page, placed, (sum(int(w * 7 + 5) for w in widths) - 4, pixels))
        return
    if section.title:
        style = page.styles.section_title()
        page.blanks(placed.row, range(placed.left, placed.left + placed.width), style)
        page.worksheet.write_string(placed.row, placed.left, page.filled(section.title), style)
    if section.hint:
        hint = page.filled(section.hint)
        page.worksheet.write_string(placed.row + bool(section.title), placed.left, hint, page.styles.small())
    if section.kind == "text":
        _text(page, placed)
    elif section.kind == "legend":
        _legend(page, placed)
    elif section.kind in ("cells", "cards"):
        draw_cells(page, placed)
    else:
        draw_grid(page, placed)


def _title(page: Page, placed: PlacedSection) -> None:
    style = page.template.style
    title = page.styles.make(bold=True, font_size=style.title_size, font_color=page.styles.color("ink"))
    page.write(placed.row, placed.left, page.filled(placed.section.title), title)
    if placed.section.hint:
        hint = page.filled(placed.section.hint)
        page.write(placed.row + 1, placed.left, hint, page.styles.small(font_size=style.size))


def _text(page: Page, placed: PlacedSection) -> None:
    """Lines of text; `head | rest` stands in two columns."""
    for number, line in enumerate(placed.section.text):
        row = placed.first + number
        head, bar, rest = line.partition(" | ")
        lines = 1
        if bar:
            page.worksheet.write_string(row, placed.left, head, page.styles.make(bold=True, valign="top"))
            page.worksheet.write_string(row, placed.left + 1, rest, page.styles.make(text_wrap=True, valign="top"))
            lines = max(1, -(-len(rest) // _TEXT_WIDTH))
        else:
            page.worksheet.write_string(row, placed.left, line, page.styles.make(valign="top"))
        page.worksheet.set_row(row, page.template.style.row_height * lines)


def _legend(page: Page, placed: PlacedSection) -> None:
    """A chip for each role that has a meaning."""
    at = placed.left
    for name, role in page.template.roles.items():
        if role.meaning and at < placed.left + placed.width:
            chip = page.styles.cell(name, "text", align="center", font_size=page.template.style.small_size)
            page.worksheet.write_string(placed.first, at, role.meaning.partition(":")[0], chip)
            page.comment(placed.first, at, role.meaning)
            at += 1
