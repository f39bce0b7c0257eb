"""One worksheet being written: values by their type, formulas, comments, input rules."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.book.formulas import Scope, area, column_letters
from workbench.book.layout import PlacedSheet, Value
from workbench.book.names import quoted_sheet
from workbench.book.styles import Styles
from workbench.book.template import Cell, Column, Template, Validation
from workbench.book.text import escaped, fitted, needs_quote, writer_cannot_hold

_COMMENT_CHARACTERS = 42
"""Characters on a line of a comment's box."""


@dataclass(frozen=True)
class Page:
    """A worksheet with what is needed to write into it. Rows and columns are 0-based."""

    workbook: Any
    worksheet: Any
    """XlsxWriter's, which has no types."""
    template: Template
    styles: Styles
    sheet: PlacedSheet
    scope: Scope
    odd_texts: list[str]
    """Texts that XlsxWriter would write wrongly; placeholders stand for them until `put_texts`."""

    def filled(self, text: str) -> str:
        """`text` with `{field}` replaced by the sheet's fields."""
        fields = self.sheet.data.fields

        def field(match: re.Match[str]) -> str:
            if match[1] not in fields:
                return match[0]
            value = fields[match[1]]
            return "" if value is None else str(value)

        return re.sub(r"\{(\w+)\}", field, text)

    def role(self, entry: Cell | Column, record: Mapping[str, Value]) -> str:
        """The role of an entry's cell: the record's own, else the sheet's, where one names it."""
        if not entry.role_field:
            return entry.role
        return str(record.get(entry.role_field) or self.sheet.data.fields.get(entry.role_field) or entry.role)

    def write(
        self,
        row: int,
        at: int,
        value: Value,
        style: Any,
        spec: Column | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`value` as a constant of its type. Texts stay texts, whatever they look like."""
        sheet = self.worksheet
        if value is None or value == "" or (isinstance(value, float) and value != value):
            sheet.write_blank(row, at, None, style)
        elif isinstance(value, bool):
            sheet.write_boolean(row, at, value, style)
        elif isinstance(value, int | float):
            sheet.write_number(row, at, value, style)
        else:
            text = fitted(value)
            if writer_cannot_hold(text):
                self.odd_texts.append(text)
                text = _placeholder(len(self.odd_texts) - 1)
            elif needs_quote(text) and spec is not None:
                style = self.styles.row_cell(spec.role, spec.format, quote_prefix=True, **(extra or {}))
            sheet.write_string(row, at, text, style)

    def formula(self, row: int, at: int, formula: str, style: Any) -> None:
        """An expanded formula without a cached value."""
        self.worksheet.write_formula(row, at, f"={formula.removeprefix('=')}", style, "")

    def blanks(self, row: int, columns: range, style: Any) -> None:
        """Empty cells that only have a look."""
        for at in columns:
            self.worksheet.write_blank(row, at, None, style)

    def comment(self, row: int, at: int, text: str) -> None:
        """A note that opens under the pointer."""
        lines = -(-len(text) // _COMMENT_CHARACTERS) + 1
        self.worksheet.write_comment(
            row,
            at,
            text,
            {
                "font_name": self.template.style.font,
                "font_size": 9,
                "width": 260,
                "height": 15 * lines + 8,
                "color": self.styles.color("note"),
            },
        )

    def validate(self, name: str, row: int, at: int, last_row: int, last_at: int) -> None:
        """What the cells accept, by the name of the template's validation."""
        rule = self._rule(self.template.validations[name], row, at)
        self.worksheet.data_validation(row, at, last_row, last_at, rule)

    def define(self, name: str, reference: str) -> None:
        """A defined name for an area of this sheet; `{p}` is the profile's part."""
        for word, text in {"p": self.sheet.data.object_name, **self.sheet.data.words}.items():
            name = name.replace(f"{{{word}}}", text)
        self.workbook.define_name(name, f"={quoted_sheet(self.sheet.data.name)}!{reference}")

    def define_cell(self, name: str, row: int, at: int) -> None:
        """A defined name for one cell."""
        self.define(name, area(row, at))

    def _rule(self, spec: Validation, row: int, at: int) -> dict[str, Any]:
        rule: dict[str, Any] = {
            "ignore_blank": True,
            "error_title": "Not accepted",
            "error_message": spec.message[:255],
        }
        if spec.prompt:
            rule |= {"input_title": "Input", "input_message": spec.prompt[:255]}
        if spec.kind in ("list", "suggestions"):
            if spec.kind == "suggestions":
                rule["error_type"] = "information"
            source: Any = list(spec.choices)
            if spec.source:
                source = "=" + self.scope.expand(spec.source, self.sheet)
            return rule | {"validate": "list", "source": source}
        if spec.kind == "custom":
            formula = spec.formula.replace("@", f"{column_letters(at)}{row + 1}")
            return rule | {"validate": "custom", "value": f"={formula}"}
        minimum = spec.minimum or 0
        if spec.maximum is None:
            return rule | {"validate": "decimal", "criteria": ">", "value": minimum}
        return rule | {"validate": "decimal", "criteria": "between", "minimum": minimum, "maximum": spec.maximum}


def _placeholder(number: int) -> str:
    # The leading space makes XlsxWriter keep white space.
    return f" \u2060workbench-text-{number:06d}\u2060"


def put_texts(path: Path, texts: Sequence[str]) -> None:
    """Replace the placeholders in the shared strings of the file by the texts that XlsxWriter can't write."""
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
