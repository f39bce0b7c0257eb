"""Expression trees to formula text: canonical, without prefixes; `parse(unparse(tree)) == tree`."""

from __future__ import annotations

import re

from workbench.recalc.nodes import (
    Apply,
    Area,
    ArrayConstant,
    Binary,
    CellReference,
    ErrorLiteral,
    FunctionCall,
    Logical,
    Missing,
    NameReference,
    Node,
    Number,
    Sheets,
    SpillReference,
    TableReference,
    Text,
    Unary,
)
from workbench.recalc.parser import PRECEDENCE

_PLAIN_SHEET = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-\-/:-@\[-^`{-\x7f]*")
_LIKE_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[rR]\d*[cC]\d*|[A-Za-z]{1,3}")
_SPECIAL = re.compile(r"([\[\]#'@])")

_UNARY, _POSTFIX, _INTERSECTION, _RANGE, _PRIMARY = 6, 7, 8, 9, 10
"""Levels above the binary operators' 1 to 5."""


def unparse(node: Node, row: int = 0, column: int = 0) -> str:
    """The formula text, without `=`, of a tree relative to the cell (row, column)."""
    return _Printer(row, column).text(node, 0)


def column_letters(number: int) -> str:
    """0 → A, 25 → Z, 26 → AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def address(row: int, column: int) -> str:
    """(0, 0) → A1."""
    return f"{column_letters(column)}{row + 1}"


def quoted_sheet(name: str) -> str:
    """A sheet name as it stands before `!`."""
    if _PLAIN_SHEET.fullmatch(name) and not _LIKE_CELL.fullmatch(name) and name.upper() not in ("TRUE", "FALSE"):
        return name
    return "'" + name.replace("'", "''") + "'"


class _Printer:
    def __init__(self, row: int, column: int) -> None:
        self.row = row
        self.column = column

    def text(self, node: Node, lowest: int) -> str:
        written, level = self.written(node)
        return written if level > lowest else f"({written})"

    def written(self, node: Node) -> tuple[str, int]:
        match node:
            case Number(value):
                return _number(value), _PRIMARY
            case Text(value):
                return '"' + value.replace('"', '""') + '"', _PRIMARY
            case Logical(value):
                return "TRUE" if value else "FALSE", _PRIMARY
            case ErrorLiteral(value):
                return value.text, _PRIMARY
            case Missing():
                return "", _PRIMARY
            case ArrayConstant(rows):
                return "{" + ";".join(",".join(self.text(item, 0) for item in r) for r in rows) + "}", _PRIMARY
            case CellReference(area, sheets):
                return _prefix(sheets) + self.area(area), _PRIMARY if area.single else _RANGE
            case NameReference(name, sheets):
                return _prefix(sheets) + name, _PRIMARY
            case TableReference():
                return _table(node), _PRIMARY
            case SpillReference(anchor):
                return self.text(anchor, _RANGE) + "#", _PRIMARY
            case Unary("%", operand):
                return self.text(operand, _POSTFIX - 1) + "%", _POSTFIX
            case Unary("@", operand):
                return "@" + self.text(operand, _RANGE - 1), _RANGE - 1
            case Unary(operator, operand):
                return operator + self.text(operand, _UNARY - 1), _UNARY
            case Binary(":", left, right):
                return f"{self.text(left, _RANGE - 1)}:{self.text(right, _RANGE)}", _RANGE
            case Binary(" ", left, right):
                return f"{self.text(left, _INTERSECTION - 1)} {self.text(right, _INTERSECTION)}", _INTERSECTION
            case Binary(",", left, right):
                first, _ = self.written(left) if _is_union(left) else (self.text(left, 0), 0)
                return f"{first},{self.text(right, 0)}", 0
            case Binary(operator, left, right):
                level = PRECEDENCE[operator]
                return f"{self.text(left, level - 1)}{operator}{self.text(right, level)}", level
            case FunctionCall(name, arguments):
                return f"{name}({self.arguments(arguments)})", _PRIMARY
            case Apply(function, arguments):
                return f"{self.text(function, _RANGE)}({self.arguments(arguments)})", _PRIMARY

    def arguments(self, nodes: tuple[Node, ...]) -> str:
        return ",".join(self.text(node, 0) for node in nodes)

    def area(self, area: Area) -> str:
        if area.row1 is None or area.row2 is None:
            assert area.column1 is not None and area.column2 is not None
            first = self.letters(area.column1, area.column1_fixed)
            return f"{first}:{self.letters(area.column2, area.column2_fixed)}"
        if area.column1 is None or area.column2 is None:
            return f"{self.digits(area.row1, area.row1_fixed)}:{self.digits(area.row2, area.row2_fixed)}"
        first = self.letters(area.column1, area.column1_fixed) + self.digits(area.row1, area.row1_fixed)
        if area.single:
            return first
        return f"{first}:{self.letters(area.column2, area.column2_fixed)}{self.digits(area.row2, area.row2_fixed)}"

    def letters(self, column: int, fixed: bool) -> str:
        return "$" + column_letters(column) if fixed else column_letters(column + self.column)

    def digits(self, row: int, fixed: bool) -> str:
        return f"${row + 1}" if fixed else str(row + self.row + 1)


def _is_union(node: Node) -> bool:
    return isinstance(node, Binary) and node.operator == ","


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e", "E")


def _prefix(sheets: Sheets | None) -> str:
    if sheets is None:
        return ""
    names = [sheets.first] + ([sheets.last] if sheets.last else [])
    whole = (f"[{sheets.book}]" if sheets.book is not None else "") + ":".join(names)
    if not sheets.first and sheets.book is not None:
        return whole + "!"
    if all(quoted_sheet(name) == name for name in names) and (sheets.book is None or sheets.book.isalnum()):
        return whole + "!"
    return "'" + whole.replace("'", "''") + "'!"


def _table(node: TableReference) -> str:
    columns = [_SPECIAL.sub(r"'\1", name) for name in (node.first, node.last) if name is not None]
    if not node.items and len(columns) < 2:
        return f"{node.table}[{columns[0] if columns else ''}]"
    if len(node.items) == 1 and not columns:
        return f"{node.table}[{node.items[0]}]" if node.items[0] != "#this row" else f"{node.table}[[#this row]]"
    pieces = [f"[{item}]" for item in node.items]
    if columns:
        pieces.append(":".join(f"[{name}]" for name in columns))
    return f"{node.table}[{','.join(pieces)}]"
