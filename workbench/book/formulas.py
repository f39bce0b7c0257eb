"""Placeholders of template formulas, turned into references.

{p}                          the profile's part of defined names; likewise {item}, {n} of a repeated column
{i}                          the row's number in its grid, from 1
{section.cell}               a labelled cell's address
{section.column}             a column's data cells, spare rows included (of a table: a structured reference)
{section.column#}            its header cell (or cells, where it repeats)
{section.first:last}         the rectangle from one column to another; with # their headers
{section.column@2}           the cell in its second row
{sheet:section.…}            the same on another sheet of the profile, or of the book
@[column]                    the cell of this row in another column, by id or header
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.book.layout import PlacedColumn, PlacedSection, PlacedSheet
from workbench.book.names import quoted_sheet
from workbench.book.template_file import TemplateError

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_THIS_ROW = re.compile(r"([@^])\[([^\[\]]+)\]")
_REPEATED = re.compile(r"(?P<id>\w+)/(?P<nth>\d+)")
_REFERENCE = re.compile(
    r"(?:(?P<sheet>\w+):)?(?P<section>\w+)\.(?P<a>\w+(?:/\d+)?)(?::(?P<b>\w+(?:/\d+)?))?(?P<header>#)?(?:@(?P<row>\d+))?"
)


@dataclass(frozen=True)
class Scope:
    """What placeholders can point to: the sheets of one profile and of the book, by sheet id."""

    sheets: Mapping[str, PlacedSheet]
    template_path: str

    def expand(
        self,
        formula: str,
        here: PlacedSheet,
        section: PlacedSection | None = None,
        column: PlacedColumn | None = None,
        row: int | None = None,
        *,
        absolute_sheet: bool = False,
        words: Mapping[str, str] | None = None,
    ) -> str:
        """`formula` with its placeholders replaced, for a cell of `here` in 0-based `row`.

        `absolute_sheet`: plain references with the sheet's name, as charts need them.
        """
        texts = {"p": here.data.object_name, **here.data.words} | dict(words or {})
        if section is not None and row is not None:
            texts["i"] = str(row - section.first + 1)
        if column is not None and column.item is not None:
            texts["item"] = f"{column.item:g}" if isinstance(column.item, float) else str(column.item)
            texts["n"] = str(column.number)
        for word, text in texts.items():
            formula = formula.replace(f"{{{word}}}", text)
        formula = _PLACEHOLDER.sub(lambda m: self._reference(m[1], here, formula, absolute_sheet), formula)
        if section is not None and ("@[" in formula or "^[" in formula):
            return _THIS_ROW.sub(
                lambda m: self._this_row(m[2], here, section, (row or 0) - (m[1] == "^"), formula), formula
            )
        return formula

    def _reference(self, text: str, here: PlacedSheet, formula: str, absolute_sheet: bool) -> str:
        match = _REFERENCE.fullmatch(text)
        sheet = here
        if match and match["sheet"]:
            if match["sheet"] not in self.sheets:
                raise self._error(f"no sheet {match['sheet']!r} for {{{text}}}", formula)
            sheet = self.sheets[match["sheet"]]
        if match is None or match["section"] not in sheet.sections:
            raise self._error(f"{{{text}}} names no section", formula)
        section = sheet.sections[match["section"]]
        prefix = quoted_sheet(sheet.data.name) + "!" if sheet is not here or absolute_sheet else ""
        if match["a"] in section.cells:
            row, at = section.cells[match["a"]]
            return prefix + area(row, at)
        first = _columns(section, match["a"])
        last = _columns(section, match["b"]) if match["b"] else first
        if not first or not last:
            raise self._error(f"{{{text}}} names no cell or column", formula)
        left, right = first[0].at, last[-1].at
        if match["header"]:
            return prefix + area(section.header, left, section.header, right)
        if match["row"]:
            row = section.first + int(match["row"]) - 1
            return prefix + area(row, left, row, right)
        table = sheet.table_names.get(section.section.id)
        if table and left == right and not absolute_sheet:
            return f"{table}[{escaped_header(first[0].header)}]"
        return prefix + area(section.first, left, section.last, right)

    def _this_row(self, name: str, here: PlacedSheet, section: PlacedSection, row: int, formula: str) -> str:
        table = here.table_names.get(section.section.id)
        found = _columns(section, name)
        if not found and not table and ":" in name:
            ends = [_columns(section, part) for part in name.split(":", 1)]
            if all(ends):
                return f"${column_letters(ends[0][0].at)}{row + 1}:${column_letters(ends[1][-1].at)}{row + 1}"
        if not found:
            raise self._error(f"@[{name}] names no column of section {section.section.id!r}", formula)
        if table:
            return f"{table}[[#This Row],[{escaped_header(found[0].header)}]]"
        return f"${column_letters(found[0].at)}{row + 1}"

    def _error(self, problem: str, formula: str) -> TemplateError:
        return TemplateError(problem, where=f"{self.template_path}: formula {formula!r}", remedy="mend it there")


def _columns(section: PlacedSection, name: str) -> list[PlacedColumn]:
    """The columns that `name` means: by id or header, or `id/2` for the second of a repeated one."""
    match = _REPEATED.fullmatch(name)
    if match is None:
        return section.column(name)
    return [c for c in section.column(match["id"]) if c.number == int(match["nth"])]


def escaped_header(header: str) -> str:
    """A column's header inside a structured reference."""
    return re.sub(r"(['#\[\]@])", r"'\1", header)


def column_letters(at: int) -> str:
    """0 → A, 26 → AA."""
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def area(row: int, left: int, last_row: int | None = None, right: int | None = None) -> str:
    """An absolute reference from 0-based rows and columns: `$B$3`, `$B$3:$D$9`."""
    start = f"${column_letters(left)}${row + 1}"
    end = f"${column_letters(left if right is None else right)}${(row if last_row is None else last_row) + 1}"
    return start if start == end else f"{start}:{end}"
