"""The cells that a formula is evaluated for, and where its references point from there."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.recalc.nodes import Area, Binary, CellReference, FunctionCall, Node, Unary
from workbench.recalc.references import LONG, MAX_COLUMNS, MAX_ROWS, Region


@dataclass(frozen=True, slots=True)
class Place:
    """The cells that are evaluated together: the first one, how many, and whether they go right or down."""

    sheet: int
    row: int
    column: int
    count: int = 1
    across: bool = False

    def part(self, start: int, count: int) -> Place:
        """`count` of the cells, from number `start`."""
        if self.across:
            return Place(self.sheet, self.row, self.column + start, count, True)
        return Place(self.sheet, self.row + start, self.column, count)

    @property
    def down_step(self) -> int:
        return int(not self.across and self.count > 1)

    @property
    def right_step(self) -> int:
        return int(self.across and self.count > 1)


def reads_whole_columns(node: Node) -> bool:
    """Whether an expression names whole columns, or ranges about as long."""
    match node:
        case CellReference(area):
            return area.row1 is None or area.row2 is None or area.row2 - area.row1 >= LONG
        case Binary(_, left, right):
            return reads_whole_columns(left) or reads_whole_columns(right)
        case Unary(_, operand):
            return reads_whole_columns(operand)
        case FunctionCall(_, arguments):
            return any(reads_whole_columns(argument) for argument in arguments)
    return False


def region_of(area: Area, sheet: int, place: Place) -> Region | None:
    """The region of an area seen from `place`, moving where it is relative; None when it is off the sheet."""
    row1, row2, down1, down2 = 0, MAX_ROWS - 1, 0, 0
    column1, column2, right1, right2 = 0, MAX_COLUMNS - 1, 0, 0
    if area.row1 is not None and area.row2 is not None:
        row1, down1 = (area.row1, 0) if area.row1_fixed else (area.row1 + place.row, place.down_step)
        row2, down2 = (area.row2, 0) if area.row2_fixed else (area.row2 + place.row, place.down_step)
    if area.column1 is not None and area.column2 is not None:
        column1, right1 = (area.column1, 0) if area.column1_fixed else (area.column1 + place.column, place.right_step)
        column2, right2 = (area.column2, 0) if area.column2_fixed else (area.column2 + place.column, place.right_step)
    region = Region(sheet, row1, column1, row2, column2, down1, right1, down2, right2)
    if place.count == 1:
        region = Region(sheet, row1, column1, row2, column2).ordered()
        if region.row1 < 0 or region.column1 < 0 or region.row2 >= MAX_ROWS or region.column2 >= MAX_COLUMNS:
            # relative references of names wrap around the sheet's edge
            row1, row2 = row1 % MAX_ROWS, row2 % MAX_ROWS
            column1, column2 = column1 % MAX_COLUMNS, column2 % MAX_COLUMNS
            return Region(sheet, row1, column1, row2, column2).ordered()
    return region
