"""SUMIF, COUNTIFS, MAXIFS and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.functions._conditional import Conditions, conditions, first_errors, parts, reduced
from workbench.recalc.operators import finite, joined_codes
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Reference, Region
from workbench.recalc.registry import Call, Operand, lazy
from workbench.recalc.values import CellErrorValue, Failure, Floats, Value, blank, codes_where, numbers


def _range(call: Call, index: int) -> Value:
    """An argument that has to be a range; #VALUE! for an array, as Excel has it."""
    return call.dereferenced(call.reference(index))


def _asked(call: Call, first: int) -> Conditions:
    if (len(call) - first) % 2:
        raise Failure(CellErrorValue.VALUE)
    pairs: list[Value] = []
    for index in range(first, len(call), 2):
        pairs += (_range(call, index), call.value(index + 1))
    return conditions(pairs)


def _measured(call: Call) -> tuple[Value, Conditions]:
    """What the functions with several criteria measure, and their criteria."""
    measured, asked = _range(call, 0), _asked(call, 1)
    if measured.shape[2:] != asked.grid:
        raise Failure(CellErrorValue.VALUE)
    return measured, asked


def _measured_by_one(call: Call) -> tuple[Value, Conditions]:
    """What SUMIF and AVERAGEIF measure: as large as the range, from the top left cell of the third argument."""
    asked = conditions((_range(call, 0), call.value(1)))
    if call.missing(2):
        return asked.ranges[0], asked
    region = call.reference(2).regions[0]
    rows, columns = asked.grid
    row2, column2 = region.row1 + rows - 1, region.column1 + columns - 1
    kept_rows, kept_columns = (
        min(row2, MAX_ROWS - 1) - region.row1 + 1,
        min(column2, MAX_COLUMNS - 1) - region.column1 + 1,
    )
    down, right = region.step_row1, region.step_column1
    fitted = Region(
        region.sheet,
        region.row1,
        region.column1,
        region.row1 + kept_rows - 1,
        region.column1 + kept_columns - 1,
        down,
        right,
        down,
        right,
    )
    measured = call.dereferenced(Reference((fitted,)))
    if measured.shape[2:] != (rows, columns):
        raise Failure(CellErrorValue.REF)
    return measured, asked


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
    asked = _asked(call, 0)
    region = call.reference(0).regions[0]
    unread = region.rows * region.columns - asked.grid[0] * asked.grid[1]
    count = _count(asked)
    if unread:  # whole columns are read only as far as the workbook is in use
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
