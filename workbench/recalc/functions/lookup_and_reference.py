"""Excel's reference functions: INDEX, OFFSET, INDIRECT, CHOOSE, ROW, ADDRESS and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.coerce import to_numbers
from workbench.recalc.functions._lookup import picked
from workbench.recalc.functions.information import formulas_of
from workbench.recalc.functions.logical import branch, chosen_where
from workbench.recalc.operators import aligned, joined_codes
from workbench.recalc.printer import column_letters, quoted_sheet
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Reference, Region
from workbench.recalc.registry import ANY, ARRAY, INTEGER, LOGICAL, TEXT, Call, Operand, lazy, opt, scalar, vector
from workbench.recalc.values import (
    BLANK,
    CellErrorValue,
    Failure,
    Floats,
    NotEvaluable,
    Scalar,
    Unvectorisable,
    Value,
    codes_where,
    error,
    error_codes,
    from_rows,
    numbers,
    with_errors,
)
from workbench.recalc.values import scalar as value_of


def _integers(call: Call, index: int, default: float) -> tuple[Floats, Any]:
    """An argument truncated, with its error codes."""
    if call.missing(index):
        return np.full((1, 1, 1, 1), default if index >= len(call) else 0.0), None
    num, codes = to_numbers(call.value(index))
    return np.trunc(num), codes


# --- INDEX


@lazy("INDEX", minimum=2, maximum=4, returns_reference=True)
def index(call: Call) -> Operand:
    """The element at a row and column, a whole row or column for 0; a reference when the first argument is one."""
    operand = call.operand(0)
    if isinstance(operand, Value) or not isinstance(operand, Reference):
        operand = call.array(0)
    row, codes1 = _integers(call, 1, 0.0)
    column, codes2 = _integers(call, 2, -1.0)
    area, codes3 = _integers(call, 3, 1.0)
    if not (_fit(row.shape, column.shape) and _fit(row.shape, area.shape) and _fit(column.shape, area.shape)):
        return error(CellErrorValue.NA)
    codes = joined_codes(codes1, codes2, codes3)
    if len(call) < 4 or call.missing(3):
        area = np.ones((1, 1, 1, 1))
    if isinstance(operand, Reference):
        if area.size != 1:
            raise Unvectorisable
        which = int(area.flat[0])
        if not 1 <= which <= len(operand.regions):
            return error(CellErrorValue.REF if which > 0 else CellErrorValue.VALUE)
        region = operand.regions[which - 1]
        if codes is None and row.size == 1 and column.size == 1:
            return _part(region, int(row.flat[0]), int(column.flat[0]))
        operand = Reference((region,))
    elif area.size != 1 or area.flat[0] != 1:
        return error(CellErrorValue.REF)
    table = call.dereferenced(operand)
    return _elements(table, row, column, codes)


def _split(rows: int, columns: int, row: Any, column: Any) -> tuple[Any, Any]:
    """Row and column where only one number was given (column -1): along a single row it is the column."""
    given = np.broadcast_to(column == -1, np.broadcast_shapes(np.shape(row), np.shape(column)))
    if not given.any():
        return row, column
    if rows == 1 and columns > 1:
        return np.where(given, 1, row), np.where(given, row, column)
    return row, np.where(given, 0 if columns > 1 else 1, column)


def _part(region: Region, row: int, column: int) -> Operand:
    if not region.rigid:
        raise Unvectorisable
    if column == -1:
        if region.rows == 1 and region.columns > 1:
            row, column = 1, row
        else:
            column = 0 if region.columns > 1 else 1
    if row < 0 or column < 0:
        return error(CellErrorValue.VALUE)
    if row > region.rows or column > region.columns:
        return error(CellErrorValue.REF)
    row1, row2 = (region.row1 + row - 1,) * 2 if row else (region.row1, region.row2)
    column1, column2 = (region.column1 + column - 1,) * 2 if column else (region.column1, region.column2)
    down, right = region.step_row1, region.step_column1
    return Reference((Region(region.sheet, row1, column1, row2, column2, down, right, down, right),))


def _elements(table: Value, row: Floats, column: Floats, codes: Any) -> Value:
    rows, columns = table.shape[2:]
    row, column = _split(rows, columns, row, column)
    whole_rows, whole_columns = bool((row == 0).any()), bool((column == 0).any())
    if (whole_rows and not (row == 0).all()) or (whole_columns and not (column == 0).all()):
        raise Unvectorisable
    failed = None
    if not (_within(row, rows) and _within(column, columns)):
        failed = codes_where(
            ((row < 0) | (column < 0), CellErrorValue.VALUE), ((row > rows) | (column > columns), CellErrorValue.REF)
        )
    if whole_rows and row.shape[2:] == (1, 1):
        row = np.arange(1.0, rows + 1).reshape(1, 1, -1, 1)
    if whole_columns and column.shape[2:] == (1, 1):
        column = np.arange(1.0, columns + 1).reshape(1, 1, 1, -1)
    at = (row if failed is None else np.clip(row, 1, rows)).astype(np.intp) - 1
    to = (column if failed is None else np.clip(column, 1, columns)).astype(np.intp) - 1
    if not _fit(at.shape, to.shape):
        raise Failure(CellErrorValue.NA)
    out = picked(table, at, to)
    codes = joined_codes(codes, failed)
    return out if codes is None else with_errors(out, codes)


def _within(numbers: Any, last: int) -> bool:
    return bool(np.min(numbers) >= 0 and np.max(numbers) <= last)


def _fit(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one, other, strict=True))


# --- CHOOSE


@lazy("CHOOSE", minimum=2, returns_reference=True)
def choose(call: Call) -> Operand:
    """The argument of that number."""
    which, codes = to_numbers(call.value(0))
    which = np.trunc(which)
    if which.size == 1 and codes is None:
        at = int(which.flat[0])
        if not 1 <= at < len(call):
            return error(CellErrorValue.VALUE)
        return value_of(0.0) if call.missing(at) else call.operand(at)
    out = error(CellErrorValue.VALUE)
    for at in range(1, len(call)):
        here = which == at
        if here.any():
            out = chosen_where(here, branch(call, at, which.shape[2:] == (1, 1)), out)
    return out if codes is None else with_errors(out, codes)


# --- OFFSET and INDIRECT


def _steps(call: Call, index: int) -> tuple[int, int]:
    """A truncated argument for the first cell of the family and its constant step from cell to cell."""
    if call.missing(index):
        return 0, 0
    num, codes = to_numbers(call.value(index))
    num = np.trunc(num)
    if codes is not None:
        if codes.size > 1:
            raise Unvectorisable
        raise Failure(_error_of(codes))
    if num.shape[0] > 1:
        raise Unvectorisable
    flat = num.reshape(-1)
    steps = np.diff(flat)
    if steps.size and (steps != steps[0]).any():
        raise Unvectorisable
    return int(flat[0]), int(steps[0]) if steps.size else 0


def _error_of(codes: Any) -> CellErrorValue:
    return next(one for one in CellErrorValue if one.code == int(np.asarray(codes).flat[0]))


@lazy("OFFSET", minimum=3, maximum=5, volatile=True, returns_reference=True)
def offset(call: Call) -> Operand:
    """A reference moved by rows and columns, and resized; #REF! beyond the sheet's edges."""
    region = call.reference(0).single
    if region is None:
        return error(CellErrorValue.VALUE)
    if not region.rigid:
        raise Unvectorisable
    if any(not call.missing(at) and call.value(at).shape[2:] != (1, 1) for at in range(1, len(call))):
        return _offset_cells(call, region)
    (rows, rows_step), (columns, columns_step) = _steps(call, 1), _steps(call, 2)
    height, width = region.rows, region.columns
    if not call.missing(3):
        height, varies = _steps(call, 3)
        if varies:
            raise Unvectorisable
    if not call.missing(4):
        width, varies = _steps(call, 4)
        if varies:
            raise Unvectorisable
    if height == 0 or width == 0:
        return error(CellErrorValue.REF)
    row1, column1 = region.row1 + rows, region.column1 + columns
    row2, column2 = row1 + height - 1, column1 + width - 1
    if height < 0:
        row1, row2 = row1 + height + 1, row1
    if width < 0:
        column1, column2 = column1 + width + 1, column1
    down, right = region.step_row1 + rows_step, region.step_column1 + columns_step
    moved = Region(region.sheet, row1, column1, row2, column2, down, right, down, right)
    if not moved.inside and not moved.moves:
        return error(CellErrorValue.REF)
    return Reference((moved,))


def _offset_cells(call: Call, region: Region) -> Value:
    """OFFSET by arrays of rows and columns, as in `N(OFFSET(A1,{0,1,2},0))`: the values of the cells there."""
    sizes = [1.0 if call.missing(at) else call.scalar(at) for at in (3, 4)]
    single = region.rows == region.columns == 1 or not (call.missing(3) or call.missing(4))
    if sizes != [1.0, 1.0] or not single:
        raise NotEvaluable("asks OFFSET for several ranges at once")
    if call.lanes != (1, 1):
        raise Unvectorisable
    (rows, columns), _ = aligned([call.value(at) for at in (1, 2)])
    down, codes1 = to_numbers(rows)
    right, codes2 = to_numbers(columns)
    down, right = np.broadcast_arrays(np.trunc(down)[0, 0], np.trunc(right)[0, 0])
    cells: list[list[Scalar]] = []
    for line in zip(down.tolist(), right.tolist(), strict=True):
        cells.append([])
        for r, c in zip(*line, strict=True):
            row, column = region.row1 + int(r), region.column1 + int(c)
            place = Region(region.sheet, row, column, row, column)
            cells[-1].append(call.dereferenced(Reference((place,))).item() if place.inside else CellErrorValue.REF)
    out = from_rows(cells)
    codes = joined_codes(codes1, codes2)
    return out if codes is None else with_errors(out, codes)


@lazy("INDIRECT", minimum=1, maximum=2, volatile=True, returns_reference=True)
def indirect(call: Call) -> Operand:
    """The reference that a text spells, in A1 or (second argument FALSE) R1C1 notation."""
    text = call.scalar(0)
    style = call.scalar(1) if len(call) > 1 else True
    for argument in (text, style):
        if isinstance(argument, CellErrorValue):
            return error(argument)
    if not isinstance(text, str):
        return error(CellErrorValue.REF)
    return call.parsed_reference(text, True if len(call) < 2 else bool(style))


# --- where and how large


def _edge(call: Call, axis: int) -> Operand:
    if len(call) == 0:
        return numbers(call.position()[axis])
    operand = call.operand(0)
    if isinstance(operand, Value) and operand.shape[2:] == (1, 1) and error_codes(operand) is not None:
        return operand
    if not isinstance(operand, Reference):
        return error(CellErrorValue.VALUE)
    if operand.single is None:
        return error(CellErrorValue.REF)
    region = operand.single
    if region.moves and not region.rigid:
        raise Unvectorisable
    count = call.lanes[1] if region.moves else 1
    lanes = np.arange(count, dtype=np.float64).reshape(1, -1, 1, 1)
    if axis == 0:
        along = np.arange(region.rows, dtype=np.float64).reshape(1, 1, -1, 1)
        return numbers(region.row1 + 1 + along + lanes * region.step_row1)
    along = np.arange(region.columns, dtype=np.float64).reshape(1, 1, 1, -1)
    return numbers(region.column1 + 1 + along + lanes * region.step_column1)


@lazy("ROW", maximum=1)
def row(call: Call) -> Operand:
    """The row of the formula's cell, or of each row of a reference."""
    return _edge(call, 0)


@lazy("COLUMN", maximum=1)
def column(call: Call) -> Operand:
    """The column of the formula's cell, or of each column of a reference."""
    return _edge(call, 1)


def _size(call: Call, axis: int) -> Operand:
    operand = call.operand(0)
    if isinstance(operand, Reference):
        region = operand.single
        if region is None:
            return error(CellErrorValue.REF)
        count = call.lanes[1] if region.moves else 1
        lanes = np.arange(count, dtype=np.float64).reshape(1, -1, 1, 1)
        if axis == 0:
            return numbers(np.abs(region.rows - 1 + lanes * (region.step_row2 - region.step_row1)) + 1)
        return numbers(np.abs(region.columns - 1 + lanes * (region.step_column2 - region.step_column1)) + 1)
    value = call.array(0)
    if value.shape[2:] == (1, 1) and error_codes(value) is not None:
        return value
    return value_of(float(value.shape[2 + axis]))


@lazy("ROWS", minimum=1, maximum=1)
def rows(call: Call) -> Operand:
    """How many rows a reference or an array has."""
    return _size(call, 0)


@lazy("COLUMNS", minimum=1, maximum=1)
def columns(call: Call) -> Operand:
    """How many columns a reference or an array has."""
    return _size(call, 1)


@lazy("AREAS", minimum=1, maximum=1)
def areas(call: Call) -> Operand:
    """How many areas a reference has."""
    return value_of(float(len(call.reference(0).regions)))


@lazy("FORMULATEXT", minimum=1, maximum=1)
def formulatext(call: Call) -> Operand:
    """The formula of each cell; #N/A where there is none."""
    return formulas_of(call, call.reference(0))


@scalar("ADDRESS", INTEGER, INTEGER, opt(INTEGER, 1.0, empty=True), opt(LOGICAL, True, empty=True), opt(TEXT))
def address(row: float, column: float, kind: float, a1: bool, sheet: str | None) -> Scalar:
    """The text of a cell's address."""
    if not 1 <= row <= MAX_ROWS or not 1 <= column <= MAX_COLUMNS or kind not in (1, 2, 3, 4):
        return CellErrorValue.VALUE
    fixed_row, fixed_column = kind in (1, 2), kind in (1, 3)
    if a1:
        text = "$" * fixed_column + column_letters(int(column) - 1) + "$" * fixed_row + str(int(row))
    else:
        down = str(int(row)) if fixed_row else f"[{int(row)}]"
        across = str(int(column)) if fixed_column else f"[{int(column)}]"
        text = f"R{down}C{across}"
    if sheet is None:
        return text
    return (quoted_sheet(sheet) if sheet else "") + "!" + text


@vector("HYPERLINK", ANY, opt(ANY))
def hyperlink(link: Value, shown: Value | None) -> Value:
    """What the cell shows."""
    return link if shown is None else shown


@vector("TRANSPOSE", ARRAY)
def transpose(array: Value) -> Value:
    """Rows as columns."""
    axes = (0, 1, 3, 2)
    return Value(
        array.kind if isinstance(array.kind, int) else array.kind.transpose(axes),
        array.num.transpose(axes),
        None if array.text is None else array.text.transpose(axes),
    )


@lazy("TRIMRANGE", minimum=1, maximum=3, returns_reference=True)
def trimrange(call: Call) -> Operand:
    """A range without its empty outer rows and columns: 1 leading, 2 trailing, 3 both, 0 none of them."""
    operand = call.operand(0)
    value = call.dereferenced(operand)
    if value.shape[:2] != (1, 1):
        raise Unvectorisable
    trims = [3 if call.missing(i) else call.scalar(i) for i in (1, 2)]
    full = value.kinds[0, 0] != BLANK
    spans: list[tuple[int, int]] = []
    for axis, trim in enumerate(trims):
        if isinstance(trim, CellErrorValue):
            return error(trim)
        if trim not in (0, 1, 2, 3):
            return error(CellErrorValue.VALUE)
        used = np.flatnonzero(full.any(axis=1 - axis))
        if not used.size:
            return error(CellErrorValue.REF)
        first = int(used[0]) if trim in (1, 3) else 0
        last = int(used[-1]) if trim in (2, 3) else full.shape[axis] - 1
        spans.append((first, last))
    (top, bottom), (left, right) = spans
    if isinstance(operand, Reference) and operand.single is not None:
        region = operand.single.at(0)
        row1, column1 = region.row1, region.column1
        return Reference((Region(region.sheet, row1 + top, column1 + left, row1 + bottom, column1 + right),))
    return value[:, :, top : bottom + 1, left : right + 1]
