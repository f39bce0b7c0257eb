"""The expression tree of a formula: frozen nodes without positions, so that equal trees are equal formulas.

References come in two notations. *Absolute* trees hold the rows and columns as written. *Relative* trees
(`relative.py`) hold offsets from the formula's own cell where the text had no `$`; two cells of a family have
equal relative trees. `Cell` holds both: `row_fixed` says how to read `row`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from workbench.recalc.values import CellErrorValue


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Text:
    value: str


@dataclass(frozen=True, slots=True)
class Logical:
    value: bool


@dataclass(frozen=True, slots=True)
class ErrorLiteral:
    value: CellErrorValue


@dataclass(frozen=True, slots=True)
class Missing:
    """An empty argument, as the second one of `F(1,)`."""


@dataclass(frozen=True, slots=True)
class ArrayConstant:
    """`{1,2;3,4}`: rows of literals."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheet part of a reference: `Sheet1!`, `Jan:Mar!`, `[1]Sheet1!`."""

    first: str
    last: str | None = None
    book: str | None = None


@dataclass(frozen=True, slots=True)
class Area:
    """Rows and columns from 0, both ends included; None for whole columns (rows) or whole rows (columns).

    A fixed coordinate is absolute; one that is not fixed is an offset from the formula's cell once relative.
    """

    row1: int | None
    column1: int | None
    row2: int | None
    column2: int | None
    row1_fixed: bool = False
    column1_fixed: bool = False
    row2_fixed: bool = False
    column2_fixed: bool = False
    single: bool = False
    """Written as one cell, `A1`, not as a range."""


@dataclass(frozen=True, slots=True)
class CellReference:
    """An area, on the formula's own sheet when `sheets` is None."""

    area: Area
    sheets: Sheets | None = None


@dataclass(frozen=True, slots=True)
class NameReference:
    """A defined name, a LET or LAMBDA variable; with a sheet, a name of that sheet's scope."""

    name: str
    sheets: Sheets | None = None


@dataclass(frozen=True, slots=True)
class TableReference:
    """`Table[[#This Row],[first]:[last]]`. `items` are `#all #data #headers #totals #this row`, lower case."""

    table: str
    items: tuple[str, ...] = ()
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class SpillReference:
    """`A1#`: the range that the formula in A1 spilled into."""

    anchor: Node


@dataclass(frozen=True, slots=True)
class Unary:
    """Operator `-`, `+`, `@` before, or `%` after the operand."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """Operators `^ * / + - & = <> < > <= >=`, and of references `:` (range), ` ` (intersection), `,` (union)."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call; `name` in upper case without `_xlfn.` and `_xlws.`."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """The call of an expression: `LAMBDA(x,x+1)(2)`."""

    function: Node
    arguments: tuple[Node, ...]


Node: TypeAlias = (
    Number
    | Text
    | Logical
    | ErrorLiteral
    | Missing
    | ArrayConstant
    | CellReference
    | NameReference
    | TableReference
    | SpillReference
    | Unary
    | Binary
    | FunctionCall
    | Apply
)
