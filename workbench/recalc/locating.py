"""References in formulas → where they point, for all cells of a family; implicit intersection."""

from __future__ import annotations

from workbench.recalc.nodes import CellReference, Sheets, TableReference
from workbench.recalc.place import Place, region_of
from workbench.recalc.references import Reference, Region
from workbench.recalc.registry import Lambda, Operand
from workbench.recalc.values import ERROR, CellErrorValue, NotEvaluable, Unvectorisable, Value, error
from workbench.recalc.workspace import Workspace


def cells(workspace: Workspace, place: Place, node: CellReference) -> Operand:
    """The reference that a cell, range or 3-D reference stands for; #REF! when it is off the sheet."""
    area, sheets = node.area, node.sheets
    if sheets is None:
        region = region_of(area, place.sheet, place)
        return Reference((region,)) if region is not None else error(CellErrorValue.REF)
    if sheets.book is not None:
        raise NotEvaluable(f"reads another workbook, [{sheets.book}]{sheets.first}")
    regions = []
    for index in _sheets(workspace, sheets):
        region = region_of(area, index, place)
        if region is None:
            return error(CellErrorValue.REF)
        regions.append(region)
    return Reference(tuple(regions)) if regions else error(CellErrorValue.REF)


def _sheets(workspace: Workspace, sheets: Sheets) -> range | tuple[int, ...]:
    first = workspace.sheet_index(sheets.first)
    if first is None:
        return ()
    if sheets.last is None:
        return (first,)
    last = workspace.sheet_index(sheets.last)
    return () if last is None else range(min(first, last), max(first, last) + 1)


def table(workspace: Workspace, place: Place, node: TableReference) -> Operand:
    """The reference that a structured reference stands for."""
    if node.table and not workspace.has_table(node.table):
        return error(CellErrorValue.REF)
    region = workspace.table_region(node, place.sheet, place.row, place.column)
    if region is None:
        return error(CellErrorValue.VALUE if "#this row" in node.items else CellErrorValue.REF)
    if "#this row" not in node.items or place.count == 1:
        return Reference((region,))
    if place.across:
        return Reference((region,))
    end = place.row + place.count - 1
    if workspace.table_region(node, place.sheet, end, place.column) is None:
        raise Unvectorisable
    return Reference((Region(region.sheet, region.row1, region.column1, region.row2, region.column2, 1, 0, 1, 0),))


def joined_reference(place: Place, lanes: tuple[int, int], operator: str, first: Operand, second: Operand) -> Operand:
    """Two references joined by `:` (range), ` ` (intersection) or `,` (union)."""
    for side in (first, second):
        if isinstance(side, Value):
            if lanes != (1, 1):  # INDEX gives values where its place varies
                raise Unvectorisable
            return side if side.any(ERROR) else error(CellErrorValue.VALUE)
        if isinstance(side, Lambda):
            return error(CellErrorValue.VALUE)
    assert isinstance(first, Reference) and isinstance(second, Reference)
    if operator == ",":
        return Reference(first.regions + second.regions)
    pairs = [(a, b) for a in first.regions for b in second.regions]
    if any(a.moves or b.moves for a, b in pairs) and place.count > 1:
        raise Unvectorisable
    if operator == ":":
        sheets = {region.sheet for pair in pairs for region in pair}
        if len(sheets) != 1:
            return error(CellErrorValue.VALUE)
        regions = [region.at(0) for region in first.regions + second.regions]
        return Reference(
            (
                Region(
                    sheets.pop(),
                    min(r.row1 for r in regions),
                    min(r.column1 for r in regions),
                    max(r.row2 for r in regions),
                    max(r.column2 for r in regions),
                ),
            )
        )
    common = tuple(c for a, b in pairs if (c := _common(a.at(0), b.at(0))) is not None)
    return Reference(common) if common else error(CellErrorValue.NULL)


def intersected(place: Place, operand: Operand) -> Operand:
    """Implicit intersection: the cell of a range in the formula's own row or column."""
    if isinstance(operand, Value):
        return operand if operand.shape[2:] == (1, 1) else operand[:, :, :1, :1]
    if isinstance(operand, Lambda):
        return operand
    region = operand.single
    if region is None:
        return error(CellErrorValue.VALUE)
    if region.rows == 1 and region.columns == 1 and region.rigid:
        return operand
    if region.moves and place.count > 1 and not region.rigid:
        raise Unvectorisable
    if place.count == 1 and region.moves:
        region = region.at(0)
    first, last = place, place.part(place.count - 1, 1)
    end = region.at(place.count - 1)
    row1 = row2 = column1 = column2 = 0
    if region.rows > 1 and region.columns > 1:
        return error(CellErrorValue.VALUE)
    if region.columns == 1:
        inside = [region.row1 <= first.row <= region.row2, end.row1 <= last.row <= end.row2]
        row1, row2, column1, column2 = first.row, place.down_step, region.column1, region.step_column1
    else:
        inside = [
            region.column1 <= first.column <= region.column2,
            end.column1 <= last.column <= end.column2,
        ]
        row1, row2, column1, column2 = region.row1, region.step_row1, first.column, place.right_step
    if not all(inside):
        if place.count > 1:
            raise Unvectorisable
        return error(CellErrorValue.VALUE)
    return Reference((Region(region.sheet, row1, column1, row1, column1, row2, column2, row2, column2),))


def _common(a: Region, b: Region) -> Region | None:
    row1, row2 = max(a.row1, b.row1), min(a.row2, b.row2)
    column1, column2 = max(a.column1, b.column1), min(a.column2, b.column2)
    if a.sheet != b.sheet or row1 > row2 or column1 > column2:
        return None
    return Region(a.sheet, row1, column1, row2, column2)
