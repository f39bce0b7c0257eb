"""Which edits a workbook allows: data validation, protected sheets, merged cells, tables' headers."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.errors import CellError
from workbench.recalc.coerce import format_number
from workbench.recalc.evaluate import evaluate_lanes
from workbench.recalc.lexer import FormulaError
from workbench.recalc.model import Model
from workbench.recalc.parser import parse
from workbench.recalc.place import Place
from workbench.recalc.reader import SheetPart, Source, range_region
from workbench.recalc.references import Region
from workbench.recalc.values import CellErrorValue, NotEvaluable, Scalar, Value, blank

_BLOCK = re.compile(rb"<(?:\w+:)?dataValidations\b.*?</(?:\w+:)?dataValidations>", re.DOTALL)
_PROTECTION = re.compile(rb"<(?:\w+:)?sheetProtection\b([^>]*)>")
_MERGE = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Za-z0-9:$]+)["']""")
_PREFIXED = re.compile(rb"(</?)\w+:|\s\w+:(?=[\w-]+=)|\sxmlns(?::\w+)?=(?:\"[^\"]*\"|'[^']*')")
_STYLE = re.compile(rb"""\ss=["'](\d+)["']""")
_COLUMN = re.compile(rb"<(?:\w+:)?col\s([^>]*?)/?>")
_ATTRIBUTE = re.compile(rb"""(\w+)=["']([^"']*)["']""")


@dataclass(frozen=True)
class Validation:
    """One data validation rule. `formula1` and `formula2` are relative to the top left cell of the first range."""

    ranges: tuple[Region, ...]
    kind: str
    operator: str
    formula1: str
    formula2: str
    allow_blank: bool

    def covers(self, row: int, column: int) -> bool:
        """Whether the rule holds for a cell."""
        return any(r.row1 <= row <= r.row2 and r.column1 <= column <= r.column2 for r in self.ranges)


def validations_of(part: SheetPart, sheet: int) -> list[Validation]:
    """The rules of a sheet that stop an entry (warnings and hints don't)."""
    found: list[Validation] = []
    tail = part.data.rfind(b"sheetData")
    for block in _BLOCK.finditer(part.data, max(tail, 0)):
        try:
            root = ElementTree.fromstring(_PREFIXED.sub(_bare, block[0]))
        except ElementTree.ParseError:
            continue
        for item in root.findall("dataValidation"):
            sqref = item.get("sqref") or item.findtext("sqref") or ""
            ranges = tuple(r for piece in sqref.split() if (r := range_region(piece, sheet)) is not None)
            stops = item.get("errorStyle", "stop") == "stop" and item.get("showErrorMessage") in ("1", "true")
            kind = item.get("type", "none")
            if not ranges or not stops or kind == "none":
                continue
            found.append(
                Validation(
                    ranges,
                    kind,
                    item.get("operator", "between"),
                    _formula(item, "formula1"),
                    _formula(item, "formula2"),
                    item.get("allowBlank") in ("1", "true"),
                )
            )
    return found


def _bare(match: re.Match[bytes]) -> bytes:
    return match[1] or (b" " if match[0].endswith(b":") else b"")


def _formula(item: ElementTree.Element, name: str) -> str:
    found = item.find(name)
    return "" if found is None else ((found.text or "").strip() or (found.findtext("f") or "").strip())


def check_edit(source: Source, sheet: int, row: int, column: int, label: str) -> None:
    """Raise `CellError` where the cell takes no value from a user."""
    part = source.parts[sheet]
    if part is None:
        raise CellError("this sheet holds no cells", where=label)
    tail = part.data[part.data.rfind(b"sheetData") :]
    for match in _MERGE.finditer(tail):
        area = range_region(match[1].decode(), sheet)
        if area is not None and _inside(area, row, column) and (row, column) != (area.row1, area.column1):
            raise CellError(
                "the cell is hidden under a merged one", where=label, remedy="set the top left cell of the merged range"
            )
    for table in source.model.tables.values():
        r = table.region
        if r.sheet == sheet and _inside(r, row, column) and row < r.row1 + table.header_rows:
            raise CellError(
                f"the cell is a header of the table {table.name}",
                where=label,
                remedy="rename the column in a spreadsheet program",
            )
    protection = _PROTECTION.search(tail)
    if protection is None or not re.search(rb"""\bsheet=["'](?:1|true)["']""", protection[1]):
        return
    if _locked(source, part, row, column):
        raise CellError(
            "the cell is locked and the sheet is protected",
            where=label,
            remedy="set one of the input cells, or take the protection off in a spreadsheet program",
        )


def _inside(r: Region, row: int, column: int) -> bool:
    return r.row1 <= row <= r.row2 and r.column1 <= column <= r.column2


def _locked(source: Source, part: SheetPart, row: int, column: int) -> bool:
    """Whether the style of a cell (of its column where it doesn't exist) carries the lock flag."""
    style = 0
    places = ((part.scan.rows == row) & (part.scan.column_numbers == column)).nonzero()[0]
    if places.size:
        start = int(part.scan.starts[places[-1]])
        found = _STYLE.search(part.data, start, part.data.find(b">", start))
        style = int(found[1]) if found else 0
    else:
        for match in _COLUMN.finditer(part.data, 0, max(part.data.find(b"sheetData"), 0)):
            given = dict(_ATTRIBUTE.findall(match[1]))
            if int(given.get(b"min", b"0")) <= column + 1 <= int(given.get(b"max", b"0")):
                style = int(given.get(b"style", b"0"))
    formats = _cell_formats(source)
    if style >= len(formats):
        return True
    lock = formats[style].find("{*}protection")
    return lock is None or lock.get("locked") not in ("0", "false")


def _cell_formats(source: Source) -> list[ElementTree.Element]:
    names = [name for name in source.package.names if name.lower().endswith("styles.xml")]
    if not names:
        return []
    return source.package.xml(min(names, key=len)).findall("{*}cellXfs/{*}xf")


def check_value(model: Model, rules: list[Validation], place: Place, label: str, value: Scalar) -> None:
    """Raise `CellError` where a rule refuses `value`, which the cell already holds."""
    for rule in rules:
        if rule.covers(place.row, place.column):
            _check_rule(model, rule, place, label, value)


def _check_rule(model: Model, rule: Validation, place: Place, label: str, value: Scalar) -> None:
    if value is None or value == "":
        if rule.allow_blank:
            return
        raise CellError("the cell's validation allows no blank", where=label)
    shown = f"'{value}'" if isinstance(value, str) else _shown(value)
    if rule.kind == "list":
        allowed = list(_choices(model, rule, place))
        if not any(_same(value, choice) for choice in allowed):
            listed = ", ".join(_shown(choice) for choice in allowed[:12]) + (", …" if len(allowed) > 12 else "")
            raise CellError(
                f"{shown} is not one of the values that the cell takes", where=label, remedy=f"use {listed}"
            )
        return
    if rule.kind == "custom":
        truth = _first(_evaluated(model, rule, rule.formula1, place))
        if isinstance(truth, str | CellErrorValue) or not truth:
            raise CellError(
                f"{shown} doesn't meet the cell's validation", where=label, remedy=f"it must hold that {rule.formula1}"
            )
        return
    if rule.kind == "textLength":
        measured: float | None = float(len(value)) if isinstance(value, str) else float(len(_shown(value)))
    else:
        measured = float(value) if isinstance(value, float | int) else None
    if measured is None or (rule.kind == "whole" and measured != math.floor(measured)):
        wanted = {"whole": "a whole number", "decimal": "a number", "date": "a date", "time": "a time"}[rule.kind]
        raise CellError(f"{shown} is refused by the cell's validation", where=label, remedy=f"it takes {wanted}")
    low = _first(_evaluated(model, rule, rule.formula1, place))
    high = _first(_evaluated(model, rule, rule.formula2, place)) if rule.formula2 else None
    if not _compares(rule.operator, measured, low, high):
        raise CellError(
            f"{shown} is refused by the cell's validation", where=label, remedy=f"it takes {_wanted(rule, low, high)}"
        )


def _compares(operator: str, value: float, low: Scalar, high: Scalar) -> bool:
    if not isinstance(low, float | int):
        return True
    if operator in ("between", "notBetween"):
        if not isinstance(high, float | int):
            return True
        return (low <= value <= high) == (operator == "between")
    return {
        "equal": value == low,
        "notEqual": value != low,
        "greaterThan": value > low,
        "lessThan": value < low,
        "greaterThanOrEqual": value >= low,
        "lessThanOrEqual": value <= low,
    }.get(operator, True)


def _wanted(rule: Validation, low: Scalar, high: Scalar) -> str:
    words = {
        "between": f"{_shown(low)} to {_shown(high)}",
        "notBetween": f"no value from {_shown(low)} to {_shown(high)}",
        "equal": _shown(low),
        "notEqual": f"anything but {_shown(low)}",
        "greaterThan": f"more than {_shown(low)}",
        "lessThan": f"less than {_shown(low)}",
        "greaterThanOrEqual": f"{_shown(low)} or more",
        "lessThanOrEqual": f"{_shown(low)} or less",
    }[rule.operator]
    return f"a text of length {words}" if rule.kind == "textLength" else words


def _choices(model: Model, rule: Validation, place: Place) -> Iterator[Scalar]:
    text = rule.formula1
    if text.startswith('"') and text.endswith('"'):
        for item in text[1:-1].replace('""', '"').split(","):
            yield item.strip()
        return
    value = _evaluated(model, rule, text, place)
    for item in value.grid().reshape(-1).tolist():
        if item is not None:
            yield item


def _evaluated(model: Model, rule: Validation, formula: str, place: Place) -> Value:
    top = rule.ranges[0]
    row, column = min(r.row1 for r in rule.ranges), min(r.column1 for r in rule.ranges)
    if not formula:
        return blank()
    try:
        node = parse(
            formula, row if len(rule.ranges) > 1 else top.row1, column if len(rule.ranges) > 1 else top.column1
        )
        return evaluate_lanes(model, node, place, arrays=True)
    except (FormulaError, NotEvaluable) as problem:
        raise CellError(f"the validation rule '{formula}' can't be evaluated: {problem}") from None


def _first(value: Value) -> Scalar:
    return value.item()


def _same(value: Scalar, choice: Scalar) -> bool:
    if isinstance(value, str) or isinstance(choice, str):
        return _shown(value) == _shown(choice)
    return value == choice


def _shown(value: Scalar) -> str:
    if value is None:
        return "blank"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return format_number(value) if isinstance(value, float | int) else str(value)
