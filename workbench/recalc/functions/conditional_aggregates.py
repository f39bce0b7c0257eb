"""SUMIF, COUNTIFS, MAXIFS and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.recalc.functions._conditional import Conditions, conditions, first_errors, parts, reduced
from workbench.recalc.functions._windows import Windows, windows_of
from workbench.recalc.operators import finite, joined_codes
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Reference, Region
from workbench.recalc.registry import Call, Operand, lazy
from workbench.recalc.values import CellErrorValue, Failure, Floats, Value, blank, codes_where, numbers


def _region(call: Call, index: int) -> Region:
    """An argument that has to be a range; #VALUE! for an array, as Excel has it, and for several areas."""
    region = call.reference(index).single
    if region is None:
        raise Failure(CellErrorValue.VALUE)
    return region


def _read(call: Call, regions: Sequence[Region]) -> tuple[list[Value], Windows | None]:
    """The values of ranges of the same size; where these grow from cell to cell, of the blocks that hold them."""
    windows = windows_of(regions, call.lanes[1])
    if windows is not None:
        regions = [windows.block(region) for region in regions]
    return [call.dereferenced(Reference((region,))) for region in regions], windows


def _asked(call: Call, first: int, measured: Sequence[Region] = ()) -> tuple[list[Value], Conditions]:
    """The values of `measured`, and the criteria from argument `first` on."""
    if (len(call) - first) % 2:
        raise Failure(CellErrorValue.VALUE)
    places = range(first, len(call), 2)
    values, windows = _read(call, [*measured, *(_region(call, index) for index in places)])
    pairs: list[Value] = []
    for index, value in zip(places, values[len(measured) :], strict=True):
        pairs += (value, call.value(index + 1))
    asked = conditions(pairs, windows)
    if any(value.shape[2:] != asked.grid for value in values[: len(measured)]):
        raise Failure(CellErrorValue.VALUE)
    return values[: len(measured)], asked


def _measured(call: Call) -> tuple[Value, Conditions]:
    """What the functions with several criteria measure, and their criteria."""
    values, asked = _asked(call, 1, [_region(call, 0)])
    return values[0], asked


def _measured_by_one(call: Call) -> tuple[Value, Conditions]:
    """What SUMIF and AVERAGEIF measure: as large as the range, from the top left cell of the third argument."""
    range_ = _region(call, 0)
    if call.missing(2):
        values, windows = _read(call, [range_])
        asked = conditions((values[0], call.value(1)), windows)
        return values[0], asked
    corner = _region(call, 2)
    if range_.moves:
        grown = _sized(corner, range_.rows, range_.columns)
        grown = replace(grown, step_row2=corner.step_row1 + range_.step_row2 - range_.step_row1)
        values, windows = _read(call, [range_, grown])
        return values[1], conditions((values[0], call.value(1)), windows)
    asked = conditions((call.dereferenced(Reference((range_,))), call.value(1)))
    rows, columns = asked.grid
    rows_left, columns_left = MAX_ROWS - corner.row1, MAX_COLUMNS - corner.column1
    fitted = _sized(corner, min(rows, rows_left), min(columns, columns_left))
    measured = call.dereferenced(Reference((fitted,)))
    if measured.shape[2:] != (rows, columns):
        raise Failure(CellErrorValue.REF)
    return measured, asked


def _sized(corner: Region, rows: int, columns: int) -> Region:
    """The range of a size from the top left cell of another, moving with it."""
    down, right = corner.step_row1, corner.step_column1
    row2, column2 = corner.row1 + rows - 1, corner.column1 + columns - 1
    return Region(corner.sheet, corner.row1, corner.column1, row2, column2, down, right, down, right)


def _codes(asked: Conditions, marks: Floats | None) -> Any:
    if marks is None:
        return None
    return first_errors(reduced(asked, [(marks, np.minimum, np.inf)])[0])


def _sum(measured: Value, asked: Conditions) -> Value:
    nums, _, marks = parts(measured)
    return finite(reduced(asked, [(nums, np.add, 0.0)])[0], _codes(asked, marks))


def _average(measured: Value, asked: Conditions) -> Value:
    nums, counted, marks = parts(measured)
    total, count = reduced(asked, [(nums, np.add, 0.0), (counted, np.add, 0.0)])
    none = codes_where((count == 0, CellErrorValue.DIV0))
    return finite(total / np.where(count == 0, 1.0, count), joined_codes(_codes(asked, marks), none))


def _count(asked: Conditions) -> Floats:
    ones: Floats = np.broadcast_to(np.float64(1), asked.ranges[0].shape)
    return reduced(asked, [(ones, np.add, 0.0)])[0]


def _counted(call: Call) -> Value:
    _, asked = _asked(call, 0)
    region = _region(call, 0)
    unread = region.rows * region.columns - asked.grid[0] * asked.grid[1]
    count = _count(asked)
    if unread and asked.windows is None:  # whole columns are read only as far as the workbook is in use
        empty = blank()
        meets = [all(one.mask(empty).all() for one in combination) for combination in asked.combinations]
        count = count + unread * np.array(meets, dtype=np.float64)[asked.which]
    return numbers(count)


def _extreme(call: Call, ufunc: np.ufunc, nothing: float) -> Value:
    measured, asked = _measured(call)
    nums, counted, marks = parts(measured)
    found = reduced(asked, [(np.where(counted > 0, nums, nothing), ufunc, nothing)])[0]
    return finite(np.where(np.isfinite(found), found, 0.0), _codes(asked, marks))


@lazy("SUMIF", minimum=2, maximum=3)
def sumif(call: Call) -> Operand:
    """The sum of the numbers beside the elements that meet the criterion."""
    return _sum(*_measured_by_one(call))


@lazy("AVERAGEIF", minimum=2, maximum=3)
def averageif(call: Call) -> Operand:
    """Their mean; #DIV/0! when there is no number."""
    return _average(*_measured_by_one(call))


@lazy("COUNTIF", minimum=2, maximum=2)
def countif(call: Call) -> Operand:
    """How many elements meet the criterion."""
    return _counted(call)


@lazy("SUMIFS", minimum=3)
def sumifs(call: Call) -> Operand:
    """The sum of the numbers where all criteria are met."""
    return _sum(*_measured(call))


@lazy("AVERAGEIFS", minimum=3)
def averageifs(call: Call) -> Operand:
    """Their mean; #DIV/0! when there is no number."""
    return _average(*_measured(call))


@lazy("COUNTIFS", minimum=2)
def countifs(call: Call) -> Operand:
    """How often all criteria are met."""
    return _counted(call)


@lazy("MAXIFS", minimum=3)
def maxifs(call: Call) -> Operand:
    """The largest number where all criteria are met; 0 when there is none."""
    return _extreme(call, np.maximum, -np.inf)


@lazy("MINIFS", minimum=3)
def minifs(call: Call) -> Operand:
    """The smallest number where all criteria are met; 0 when there is none."""
    return _extreme(call, np.minimum, np.inf)
