"""Excel's information functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.recalc.coerce import to_numbers
from workbench.recalc.printer import column_letters, quoted_sheet
from workbench.recalc.references import Reference, Region
from workbench.recalc.registry import ANY, RAW, Call, Lambda, Operand, lazy, scalar, vector
from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    NUMBER,
    TEXT,
    Bools,
    CellErrorValue,
    Failure,
    Floats,
    NotEvaluable,
    Scalar,
    Unvectorisable,
    Value,
    booleans,
    error,
    from_rows,
    numbers,
)
from workbench.recalc.values import scalar as value_of

_NA = CellErrorValue.NA.code


def _is(value: Value, kind: int) -> Bools:
    """Which elements are of a kind; of a uniform value one lane says it for all."""
    if value.uniform >= 0:
        return np.full((1, 1, *value.shape[2:]), value.uniform == kind)
    return np.asarray(value.kind == kind)


@vector("ISBLANK", RAW, result=BOOL)
def isblank(value: Value) -> Bools:
    """Whether a cell is empty; a formula that returns "" is not."""
    return _is(value, BLANK)


@vector("ISERROR", RAW, result=BOOL)
def iserror(value: Value) -> Bools:
    """Whether it is any error."""
    return _is(value, ERROR)


@vector("ISERR", RAW, result=BOOL)
def iserr(value: Value) -> Bools:
    """Whether it is an error other than #N/A."""
    return np.asarray(_is(value, ERROR) & (value.num != _NA))


@vector("ISNA", RAW, result=BOOL)
def isna(value: Value) -> Bools:
    """Whether it is #N/A."""
    return np.asarray(_is(value, ERROR) & (value.num == _NA))


@vector("ISNUMBER", RAW, result=BOOL)
def isnumber(value: Value) -> Bools:
    """Whether it is a number (dates are)."""
    return _is(value, NUMBER)


@vector("ISTEXT", RAW, result=BOOL)
def istext(value: Value) -> Bools:
    """Whether it is a text."""
    return _is(value, TEXT)


@vector("ISNONTEXT", RAW, result=BOOL)
def isnontext(value: Value) -> Bools:
    """Whether it is no text; blanks and errors are none."""
    return ~_is(value, TEXT)


@vector("ISLOGICAL", RAW, result=BOOL)
def islogical(value: Value) -> Bools:
    """Whether it is TRUE or FALSE."""
    return _is(value, BOOL)


@vector("ISEVEN", ANY, result=BOOL)
def iseven(value: Value) -> tuple[Bools, Any]:
    """Of the integer part; booleans are #VALUE!."""
    num, codes = _parity(value)
    return np.asarray(np.trunc(num) % 2 == 0), codes


@vector("ISODD", ANY, result=BOOL)
def isodd(value: Value) -> tuple[Bools, Any]:
    """Of the integer part; booleans are #VALUE!."""
    num, codes = _parity(value)
    return np.asarray(np.trunc(num) % 2 == 1), codes


def _parity(value: Value) -> tuple[Floats, Any]:
    num, codes = to_numbers(value)
    if value.any(BOOL):
        wrong = np.where(value.kinds == BOOL, float(CellErrorValue.VALUE.code), 0.0)
        codes = wrong if codes is None else np.where(codes != 0, codes, wrong)
    return num, codes


@vector("ERROR.TYPE", RAW)
def error_type(value: Value) -> tuple[Floats, Any]:
    """The number of an error; #N/A when it is none."""
    failing = value.kinds == ERROR
    return np.where(failing, value.num, 0.0), np.where(failing, 0.0, float(_NA))


@scalar("NA")
def na() -> CellErrorValue:
    """#N/A."""
    return CellErrorValue.NA


def first_element(call: Call, index: int) -> Value:
    """An argument's value; of a reference that of its first cell."""
    operand = call.operand(index)
    value = call.dereferenced(operand)
    if not isinstance(operand, Reference) or value.shape[2:] == (1, 1):
        return value
    return value[:, :, :1, :1]


@lazy("N", minimum=1, maximum=1)
def n(call: Call) -> Operand:
    """Numbers and errors as they are, TRUE as 1, anything else as 0; of a reference its first cell."""
    value = first_element(call, 0)
    if value.uniform == NUMBER:
        return value.unreferenced()
    kinds = value.kinds
    num = np.where((kinds == TEXT) | (kinds == BLANK), 0.0, value.num)
    return Value(np.where(kinds == ERROR, np.uint8(ERROR), np.uint8(NUMBER)), num).normalised()


_TYPES = np.array([1.0, 1.0, 2.0, 4.0, 16.0])
"""TYPE of BLANK, NUMBER, TEXT, BOOL, ERROR."""


@lazy("TYPE", minimum=1, maximum=1)
def type_(call: Call) -> Operand:
    """1 number, 2 text, 4 truth value, 16 error, 64 array, 128 LAMBDA."""
    operand = call.operand(0)
    if isinstance(operand, Lambda):
        return value_of(128.0)
    if isinstance(operand, Reference) and operand.single is None:
        return value_of(16.0)
    value = call.dereferenced(operand)
    if value.shape[2:] != (1, 1):
        return value_of(64.0)
    return numbers(_TYPES[value.kinds])


@lazy("ISREF", minimum=1, maximum=1)
def isref(call: Call) -> Operand:
    """Whether the argument is a reference."""
    try:
        return value_of(isinstance(call.operand(0), Reference))
    except Failure:
        return value_of(False)


@lazy("ISFORMULA", minimum=1, maximum=1)
def isformula(call: Call) -> Operand:
    """Whether each cell of a reference holds a formula."""
    found = formulas_of(call, call.reference(0))
    return booleans(found.kinds == TEXT)


def formulas_of(call: Call, reference: Reference) -> Value:
    """The formula of each cell of the first region as a text, #N/A where there is none."""
    region = reference.regions[0]
    if region.rows == 1 and region.columns == 1 and not region.moves:
        return call.formula_text(reference)
    if region.moves:
        if call.lanes[1] > 1:
            raise Unvectorisable
        region = region.at(0)

    def one(row: int, column: int) -> Scalar:
        return call.formula_text(Reference((Region(region.sheet, row, column, row, column),))).item()

    rows = range(region.row1, min(region.row2, region.row1 + 65_535) + 1)
    return from_rows([[one(r, c) for c in range(region.column1, region.column2 + 1)] for r in rows])


@lazy("ISOMITTED", minimum=1, maximum=1)
def isomitted(call: Call) -> Operand:
    """Whether an optional parameter of the LAMBDA was left out."""
    operand = call.operand(0)
    return value_of(isinstance(operand, Value) and operand.uniform == BLANK and not operand.referenced)


@lazy("SHEET", maximum=1)
def sheet(call: Call) -> Operand:
    """The number, from 1, of the formula's own sheet, of a reference's or of the one with that name."""
    if len(call) == 0:
        return value_of(call.sheet + 1.0)
    operand = call.operand(0)
    if isinstance(operand, Reference):
        return value_of(operand.regions[0].sheet + 1.0)
    name = call.scalar(0)
    if isinstance(name, CellErrorValue):
        return error(name)
    names = [known.casefold() for known in call.sheet_names]
    if not isinstance(name, str) or name.casefold() not in names:
        return error(CellErrorValue.NA)
    return value_of(names.index(name.casefold()) + 1.0)


@lazy("SHEETS", maximum=1)
def sheets(call: Call) -> Operand:
    """How many sheets the workbook or a reference has."""
    if len(call) == 0:
        return value_of(float(len(call.sheet_names)))
    return value_of(float(len({region.sheet for region in call.reference(0).regions})))


@lazy("CELL", minimum=1, maximum=2, volatile=True)
def cell(call: Call) -> Operand:
    """What a cell is or where. Formats, widths and the file's place are not known here: then it is not evaluable."""
    what = call.scalar(0)
    if isinstance(what, CellErrorValue):
        return error(what)
    if len(call) == 1:
        raise NotEvaluable("asks CELL about the cell changed last")
    region = call.reference(1).regions[0]
    if region.moves:
        if call.lanes[1] > 1:
            raise Unvectorisable
        region = region.at(0)
    asked = _CELL.get(what.lower()) if isinstance(what, str) else None
    if asked is None:
        if isinstance(what, str) and what.lower() in _CELL_UNKNOWN:
            raise NotEvaluable(f"asks CELL for {what.lower()}, which is not a matter of values")
        return error(CellErrorValue.VALUE)
    return asked(call, region)


def _top_left(call: Call, region: Region) -> Value:
    corner = Region(region.sheet, region.row1, region.column1, region.row1, region.column1)
    return call.dereferenced(Reference((corner,)))


def _address(call: Call, region: Region) -> Value:
    text = f"${column_letters(region.column1)}${region.row1 + 1}"
    if region.sheet != call.sheet:
        text = f"{quoted_sheet(call.sheet_names[region.sheet])}!{text}"
    return value_of(text)


def _contents(call: Call, region: Region) -> Value:
    value = _top_left(call, region)
    return value_of(0.0) if value.uniform == BLANK else value


def _kind(call: Call, region: Region) -> Value:
    kinds = _top_left(call, region).kinds
    letters = np.array(["b", "v", "l", "v", "v"], dtype=object)
    return Value(TEXT, np.zeros(kinds.shape), letters[kinds])


_CELL: dict[str, Callable[[Call, Region], Value]] = {
    "address": _address,
    "row": lambda call, region: value_of(region.row1 + 1.0),
    "col": lambda call, region: value_of(region.column1 + 1.0),
    "contents": _contents,
    "type": _kind,
}
_CELL_UNKNOWN = ("color", "filename", "format", "parentheses", "prefix", "protect", "width")


@lazy("INFO", minimum=1, maximum=1, volatile=True)
def info(call: Call) -> Operand:
    """About the program that runs: not evaluable, except how it recalculates."""
    what = call.scalar(0)
    if isinstance(what, CellErrorValue):
        return error(what)
    if isinstance(what, str) and what.lower() == "recalc":
        return value_of("Automatic")
    if isinstance(what, str) and what.lower() in ("directory", "numfile", "origin", "osversion", "release", "system"):
        raise NotEvaluable(f"asks INFO for {what.lower()}, which is not a matter of values")
    return error(CellErrorValue.VALUE)
