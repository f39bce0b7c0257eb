"""Tokens to expression trees: precedence climbing over Excel's operators.

Trees are relative to the formula's cell: coordinates without `$` are offsets from (`row`, `column`), so the
cells of a family have equal trees. With the default base of A1 offsets and coordinates are the same.
"""

from __future__ import annotations

import re

from workbench.recalc.lexer import FormulaError, Token, tokens
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
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS
from workbench.recalc.values import ERROR_OF_TEXT, CellErrorValue

PRECEDENCE: dict[str, int] = {
    "=": 1,
    "<>": 1,
    "<": 1,
    ">": 1,
    "<=": 1,
    ">=": 1,
    "&": 2,
    "+": 3,
    "-": 3,
    "*": 4,
    "/": 4,
    "^": 5,
}
"""Binary operators of values; all associate to the left. Above them: `%`, then unary minus, then references."""

DEEPEST = 128
"""Levels of nesting; Excel allows 64."""

_PREFIX = re.compile(r"^(?:_xlfn\.|_xlws\.|_xlpm\.|_xlop\.|_xludf\.)+", re.IGNORECASE)
_CELL = re.compile(r"(\$?)([A-Za-z]{1,3})(\$?)(\d+)")
_THIS_ROW = "#this row"


def parse(text: str, row: int = 0, column: int = 0) -> Node:
    """The tree of a formula, given without its leading `=`, in the cell (row, column) counted from 0.

    Raises `FormulaError`.
    """
    return parse_tokens(tokens(text), text, row, column)


def parse_tokens(found: list[Token], text: str, row: int = 0, column: int = 0) -> Node:
    """As `parse`, of a text whose tokens are known."""
    parser = _Parser(found, text, row, column)
    try:
        return parser.formula()
    except RecursionError:
        raise parser.fail("is nested too deeply") from None


def column_number(letters: str) -> int:
    """A → 0, Z → 25, AA → 26."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


class _Parser:
    def __init__(self, found: list[Token], text: str, row: int, column: int) -> None:
        self.text = text
        self.row = row
        self.column = column
        self.tokens = found
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def fail(self, problem: str) -> FormulaError:
        return FormulaError(problem, self.text, self.token.position)

    def at(self, *texts: str) -> bool:
        return self.token.kind == "operator" and self.token.text in texts

    def take(self) -> Token:
        token = self.token
        self.index += 1
        return token

    def expect(self, text: str) -> None:
        if not self.at(text):
            found = f"'{self.token.text}'" if self.token.text else "the end"
            raise self.fail(f"has {found} where '{text}' was expected")
        self.index += 1

    def formula(self) -> Node:
        node = self.expression(0)
        if self.token.kind != "end":
            raise self.fail(f"has an unexpected '{self.token.text}'")
        return node

    def expression(self, lowest: int) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("is nested too deeply")
        left = self.prefixed()
        while self.token.kind == "operator" and PRECEDENCE.get(self.token.text, 0) > lowest:
            operator = self.take().text
            left = Binary(operator, left, self.expression(PRECEDENCE[operator]))
        self.depth -= 1
        return left

    def prefixed(self) -> Node:
        """Unary minus binds closer than `^`: -2^2 is 4."""
        if self.at("-", "+"):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fail("is nested too deeply")
            node: Node = Unary(self.take().text, self.prefixed())
            self.depth -= 1
        else:
            node = self.intersections()
        while self.at("%"):
            self.index += 1
            node = _percent(node)
        return node

    def union(self) -> Node:
        """Inside parentheses only, where a comma can't separate arguments."""
        node = self.expression(0)
        while self.at(","):
            self.index += 1
            node = Binary(",", node, self.expression(0))
        return node

    def intersections(self) -> Node:
        node = self.ranges()
        while self.token.spaced and (self.token.kind in _STARTS_REFERENCE or self.at("(", "@")):
            node = Binary(" ", node, self.ranges())
        return node

    def ranges(self) -> Node:
        if self.at("@"):
            self.index += 1
            return Unary("@", self.ranges())
        node = self.postfixed()
        while self.at(":"):
            self.index += 1
            node = Binary(":", node, self.postfixed())
        return node

    def postfixed(self) -> Node:
        node = self.primary()
        while True:
            if self.at("#") and not self.token.spaced:
                self.index += 1
                node = SpillReference(node)
            elif self.at("(") and not self.token.spaced and isinstance(node, Apply | FunctionCall):
                self.index += 1
                node = Apply(node, self.arguments())
            else:
                return node

    def primary(self) -> Node:
        token = self.take()
        match token.kind:
            case "number":
                return Number(float(token.text))
            case "text":
                return Text(token.text[1:-1].replace('""', '"'))
            case "error":
                return self.error(token)
            case "function":
                return self.call(token.text)
            case "sheet":
                return self.on_sheet(token.text[:-1])
            case "cell" | "columns" | "rows":
                return CellReference(self.area(token))
            case "table":
                return self.table(token.text)
            case "name":
                upper = token.text.upper()
                if upper in ("TRUE", "FALSE"):
                    return Logical(upper == "TRUE")
                return NameReference(_PREFIX.sub("", token.text))
        if token.text == "(":
            node = self.union()
            self.expect(")")
            return node
        if token.text == "{":
            return self.array()
        self.index -= 1
        raise self.fail("ends too early" if token.kind == "end" else f"has an unexpected '{token.text}'")

    def error(self, token: Token) -> Node:
        if token.text == "#REF!" and self.token.kind in ("cell", "columns", "rows", "name") and not self.token.spaced:
            self.index += 1
        return ErrorLiteral(ERROR_OF_TEXT[token.text])

    def call(self, written: str) -> Node:
        name = _PREFIX.sub("", written).upper()
        self.expect("(")
        arguments = self.arguments()
        if name == "ANCHORARRAY" and len(arguments) == 1:
            return SpillReference(arguments[0])
        if name == "SINGLE" and len(arguments) == 1:
            return Unary("@", arguments[0])
        return FunctionCall(name, arguments)

    def arguments(self) -> tuple[Node, ...]:
        found: list[Node] = []
        if self.at(")"):
            self.index += 1
            return ()
        while True:
            found.append(Missing() if self.at(",", ")") else self.expression(0))
            if self.at(","):
                self.index += 1
                continue
            self.expect(")")
            return tuple(found)

    def array(self) -> Node:
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while True:
            row.append(self.literal())
            if self.at(","):
                self.index += 1
            elif self.at(";"):
                self.index += 1
                rows.append(tuple(row))
                row = []
            else:
                self.expect("}")
                rows.append(tuple(row))
                break
        if len({len(r) for r in rows}) != 1:
            raise self.fail("has an array constant with rows of different lengths")
        return ArrayConstant(tuple(rows))

    def literal(self) -> Node:
        sign = self.take().text if self.at("-", "+") else ""
        node = self.primary()
        if isinstance(node, Number):
            return Number(-node.value) if sign == "-" else node
        if sign or not isinstance(node, Text | Logical | ErrorLiteral):
            raise self.fail("has something other than a constant in an array constant")
        return node

    def on_sheet(self, written: str) -> Node:
        quoted = written.startswith("'")
        if quoted:
            written = written[1:-1].replace("''", "'")
        book = None
        if "]" in written and (start := written.find("[")) >= 0:
            end = written.rindex("]")
            book = written[start + 1 : end]
            written = written[end + 1 :]
        first, _, last = written.partition(":")
        sheets = Sheets(first, last or None, book)
        token = self.take()
        if token.kind in ("cell", "columns", "rows"):
            return CellReference(self.area(token), sheets)
        if token.kind == "error":
            return ErrorLiteral(CellErrorValue.REF)
        if token.kind == "name":
            return NameReference(token.text, sheets)
        if token.kind == "table":
            return self.table(token.text)
        if token.kind == "function":
            return FunctionCall(f"{written}!{token.text.upper()}", self.skipped_arguments())
        self.index -= 1
        raise self.fail(f"has no cell or name after the sheet '{written}'")

    def skipped_arguments(self) -> tuple[Node, ...]:
        self.expect("(")
        return self.arguments()

    def area(self, token: Token) -> Area:
        if token.kind == "cell":
            row, row_fixed, column, column_fixed = self.corner(token.text)
            second = self.second_corner()
            if second is None:
                return Area(row, column, row, column, row_fixed, column_fixed, row_fixed, column_fixed, True)
            row2, row2_fixed, column2, column2_fixed = second
            return Area(row, column, row2, column2, row_fixed, column_fixed, row2_fixed, column2_fixed)
        first, _, last = token.text.partition(":")
        fixed1, fixed2 = first.startswith("$"), last.startswith("$")
        first, last = first.lstrip("$"), last.lstrip("$")
        if token.kind == "columns":
            c1, c2 = column_number(first), column_number(last)
            if max(c1, c2) >= MAX_COLUMNS:
                raise self.fail(f"has a column beyond XFD in '{token.text}'")
            c1, c2 = c1 - (0 if fixed1 else self.column), c2 - (0 if fixed2 else self.column)
            return Area(None, c1, None, c2, False, fixed1, False, fixed2)
        r1, r2 = int(first) - 1, int(last) - 1
        if max(r1, r2) >= MAX_ROWS or min(r1, r2) < 0:
            raise self.fail(f"has a row beyond {MAX_ROWS} in '{token.text}'")
        r1, r2 = r1 - (0 if fixed1 else self.row), r2 - (0 if fixed2 else self.row)
        return Area(r1, None, r2, None, fixed1, False, fixed2, False)

    def second_corner(self) -> tuple[int, bool, int, bool] | None:
        """The cell after `:`, when a plain cell stands there."""
        if self.at(":") and self.tokens[self.index + 1].kind == "cell":
            following = self.tokens[self.index + 2]
            if following.kind == "operator" and following.text == "#":
                return None
            self.index += 1
            return self.corner(self.take().text)
        return None

    def corner(self, text: str) -> tuple[int, bool, int, bool]:
        match = _CELL.fullmatch(text)
        assert match is not None
        row, column = int(match[4]) - 1, column_number(match[2])
        if row >= MAX_ROWS or column >= MAX_COLUMNS:
            raise self.fail(f"has a cell beyond the sheet's edge, '{text}',")
        row_fixed, column_fixed = bool(match[3]), bool(match[1])
        return (
            row if row_fixed else row - self.row,
            row_fixed,
            column if column_fixed else column - self.column,
            column_fixed,
        )

    def table(self, text: str) -> Node:
        name, _, inner = text.partition("[")
        inner = inner[:-1].strip()
        items: list[str] = []
        if inner.startswith("@"):
            items.append(_THIS_ROW)
            inner = inner[1:].strip()
            if inner and not inner.startswith("["):
                return TableReference(name, tuple(items), _unescaped(inner))
        if not inner:
            return TableReference(name, tuple(items))
        if not inner.startswith("["):
            if inner.startswith("#"):
                return TableReference(name, (inner.lower(),))
            return TableReference(name, (), _unescaped(inner))
        columns: list[str] = []
        for piece in _pieces(inner):
            if piece.startswith("#"):
                items.append(piece.lower())
            else:
                columns.append(_unescaped(piece.removeprefix("@")))
                if piece.startswith("@"):
                    items.append(_THIS_ROW)
        if len(columns) > 2:
            raise self.fail(f"has too many columns in '{text}'")
        first = columns[0] if columns else None
        last = columns[1] if len(columns) == 2 else None
        return TableReference(name, tuple(items), first, last if last != first else None)


_STARTS_REFERENCE = {"cell", "columns", "rows", "sheet", "name", "table", "function"}


def _percent(node: Node) -> Node:
    return Unary("%", node)


def _pieces(inner: str) -> list[str]:
    """The contents of the bracket pairs of `[a],[b]:[c]`."""
    found: list[str] = []
    start, i = -1, 0
    while i < len(inner):
        c = inner[i]
        if c == "'":
            i += 1
        elif c == "[":
            start = i + 1
        elif c == "]" and start >= 0:
            found.append(inner[start:i])
            start = -1
        i += 1
    return found


def _unescaped(name: str) -> str:
    return re.sub(r"'(.)", r"\1", name, flags=re.DOTALL)
