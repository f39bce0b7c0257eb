"""Which cells a formula may read, found from its tree without evaluating it."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.recalc.model import Model
from workbench.recalc.nodes import (
    Apply,
    Binary,
    CellReference,
    FunctionCall,
    NameReference,
    Node,
    SpillReference,
    TableReference,
    Unary,
)
from workbench.recalc.place import Place, region_of
from workbench.recalc.references import Region
from workbench.recalc.registry import FUNCTIONS
from workbench.recalc.values import NotEvaluable

_PLACE_ONLY = frozenset({"ROW", "COLUMN", "ROWS", "COLUMNS", "AREAS", "SHEET", "ISREF", "FORMULATEXT", "ISFORMULA"})
"""Functions that look at where their first argument is, not at what is in it."""

_BY_ADDRESS = frozenset({"OFFSET", "INDIRECT", "CELL"})
"""Functions whose reads are known only when they are evaluated."""


@dataclass
class Precedents:
    """The regions read by a family (bounding boxes over its cells)."""

    regions: list[Region] = field(default_factory=list)
    unknown: bool = False
    """Whether it may read cells that the tree doesn't name: reads are then watched while it is evaluated."""
    volatile: bool = False
    """Whether it is to be evaluated again even though nothing it reads has changed."""


def precedents_of(model: Model, node: Node, place: Place) -> Precedents:
    """What a formula at `place` reads."""
    finder = _Finder(model, place)
    finder.visit(node)
    finder.found.regions = list(dict.fromkeys(finder.found.regions))
    return finder.found


class _Finder:
    def __init__(self, model: Model, place: Place) -> None:
        self.model = model
        self.place = place
        self.first = place.part(0, 1)
        self.last = place.part(place.count - 1, 1)
        self.found = Precedents()
        self._names: set[tuple[str, int]] = set()

    def visit(self, node: Node) -> None:
        match node:
            case CellReference():
                self.cells(node)
            case TableReference():
                self.table(node)
            case NameReference(name, sheets):
                sheet: int | None = self.place.sheet
                if sheets is not None:
                    sheet = None if sheets.book is not None else self.model.sheet_index(sheets.first)
                if sheet is not None:
                    self.name(name.upper(), sheet)
            case Binary(operator, left, right):
                if operator == ":":
                    self.found.unknown = self.found.volatile = True
                self.visit(left)
                self.visit(right)
            case Unary(_, operand) | SpillReference(operand):
                self.visit(operand)
            case FunctionCall(name, arguments):
                self.call(name, arguments)
            case Apply(function, arguments):
                self.visit(function)
                for argument in arguments:
                    self.visit(argument)
            case _:
                pass

    def call(self, name: str, arguments: tuple[Node, ...]) -> None:
        function = FUNCTIONS.get(name)
        if function is not None:
            self.found.volatile = self.found.volatile or function.volatile
        else:
            self.name(name, self.place.sheet)
        if name in _BY_ADDRESS:
            self.found.unknown = self.found.volatile = True
        skipped = 0
        if arguments and (name in _PLACE_ONLY or name == "OFFSET") and isinstance(arguments[0], CellReference):
            skipped = 1
        for argument in arguments[skipped:]:
            self.visit(argument)

    def cells(self, node: CellReference) -> None:
        if node.sheets is None:
            self.area(node, self.place.sheet)
            return
        if node.sheets.book is not None:
            return
        first = self.model.sheet_index(node.sheets.first)
        last = first if node.sheets.last is None else self.model.sheet_index(node.sheets.last)
        if first is not None and last is not None:
            for sheet in range(min(first, last), max(first, last) + 1):
                self.area(node, sheet)

    def area(self, node: CellReference, sheet: int) -> None:
        one = region_of(node.area, sheet, self.first)
        two = one if self.place.count == 1 else region_of(node.area, sheet, self.last)
        if one is None or two is None:
            return
        moved = region_of(node.area, sheet, self.place)
        if moved is not None and moved.moves:
            edges = (moved.row1, moved.row2, moved.column1, moved.column2)
            end = moved.at(self.place.count - 1)
            if min(edges) < 0 or not end.inside:
                self.found.unknown = self.found.volatile = True
                return
        self.found.regions.append(_bounding(one, two))

    def table(self, node: TableReference) -> None:
        one = self.model.table_region(node, self.first.sheet, self.first.row, self.first.column)
        two = one
        if self.place.count > 1 and "#this row" in node.items:
            two = self.model.table_region(node, self.last.sheet, self.last.row, self.last.column)
            if one is None or two is None:
                whole = TableReference(node.table, (), node.first, node.last)
                one = two = self.model.table_region(whole, self.first.sheet, self.first.row, self.first.column)
        if one is not None and two is not None:
            self.found.regions.append(_bounding(one, two))

    def name(self, name: str, sheet: int) -> None:
        if (name, sheet) in self._names:
            return
        self._names.add((name, sheet))
        try:
            definition = self.model.name_definition(name, sheet)
        except NotEvaluable:
            return
        if definition is not None:
            self.visit(definition)
        elif self.model.has_table(name):
            self.table(TableReference(name))


def _bounding(a: Region, b: Region) -> Region:
    if a == b:
        return a
    return Region(
        a.sheet,
        min(a.row1, b.row1),
        min(a.column1, b.column1),
        max(a.row2, b.row2),
        max(a.column2, b.column2),
    )
