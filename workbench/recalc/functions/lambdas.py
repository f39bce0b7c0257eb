"""LET, LAMBDA and the functions that call a LAMBDA for each element, row or column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from workbench.recalc.nodes import NameReference
from workbench.recalc.references import Reference, Region
from workbench.recalc.registry import Call, Lambda, Operand, lazy
from workbench.recalc.values import (
    LARGEST,
    CellErrorValue,
    Failure,
    TooLarge,
    Unvectorisable,
    Value,
    error,
    error_codes,
    scalar,
)


@lazy("LET", minimum=3, returns_reference=True)
def let(call: Call) -> Operand:
    """The last expression, with names for the values before it."""
    if len(call) % 2 == 0:
        return error(CellErrorValue.VALUE)
    bound: dict[str, Operand] = {}
    for index in range(0, len(call) - 1, 2):
        node = call.nodes[index]
        if not isinstance(node, NameReference):
            return error(CellErrorValue.NAME)
        bound[node.name.upper()] = call.evaluated_with(index + 1, bound)
    return call.evaluated_with(len(call) - 1, bound)


@lazy("LAMBDA", minimum=1, returns_reference=True)
def lambda_(call: Call) -> Operand:
    """A function of its own; it sees the names bound where it is written."""
    names: list[str] = []
    for node in call.nodes[:-1]:
        if not isinstance(node, NameReference):
            return error(CellErrorValue.VALUE)
        names.append(node.name.upper())
    return Lambda(tuple(names), call.nodes[-1], dict(call.bound))


class Elements:
    """An array argument cut into elements, rows or columns; of a reference they are references."""

    def __init__(self, call: Call, index: int) -> None:
        operand = call.operand(index)
        region = operand.single if isinstance(operand, Reference) else None
        self._region = region if region is not None and not region.moves else None
        self.value = call.dereferenced(operand) if isinstance(operand, Reference) else call.array(index)
        self.rows, self.columns = self.value.shape[2:]

    def part(self, row1: int, column1: int, row2: int, column2: int) -> Operand:
        """Rows and columns from 0, both ends included."""
        region = self._region
        if region is None:
            return self.value[:, :, row1 : row2 + 1, column1 : column2 + 1]
        top, left = region.row1, region.column1
        return Reference((Region(region.sheet, top + row1, left + column1, top + row2, left + column2),))

    def element(self, row: int, column: int) -> Operand:
        """One element; #N/A beyond the array."""
        if row >= self.rows or column >= self.columns:
            return error(CellErrorValue.NA)
        return self.part(row, column, row, column)


def _one(call: Call, function: Lambda, arguments: tuple[Operand, ...]) -> Value:
    """A call that has to give one value: an array is #CALC!, an omitted reference's blank stays blank."""
    try:
        value = call.dereferenced(call.apply(function, arguments))
    except Failure as failure:
        return error(failure.error)
    return value if value.shape[2:] == (1, 1) else error(CellErrorValue.CALC)


def tiled(rows: Sequence[Sequence[Value]]) -> Value:
    """Single values put together to an array."""
    cells = [value for row in rows for value in row]
    lanes = np.broadcast_shapes(*(value.shape[:2] for value in cells))
    shape = (len(rows), len(rows[0]))
    if lanes[0] * lanes[1] * len(cells) > LARGEST:
        raise TooLarge

    def gathered(arrays: Sequence[np.ndarray]) -> np.ndarray:
        columns = [np.broadcast_to(array, (*lanes, 1, 1))[..., 0, 0] for array in arrays]
        return np.stack(columns, axis=-1).reshape(*lanes, *shape)

    text = gathered([value.texts for value in cells]) if any(value.text is not None for value in cells) else None
    kind = gathered([value.kinds for value in cells])
    return Value(kind, gathered([value.num for value in cells]), text).normalised()


@lazy("MAP", minimum=2)
def map_(call: Call) -> Operand:
    """The LAMBDA of each element of one array or of several together."""
    function = call.function(len(call) - 1)
    arrays = [Elements(call, index) for index in range(len(call) - 1)]
    rows, columns = max(a.rows for a in arrays), max(a.columns for a in arrays)
    return tiled(
        [[_one(call, function, tuple(a.element(r, c) for a in arrays)) for c in range(columns)] for r in range(rows)]
    )


@lazy("BYROW", minimum=2, maximum=2)
def byrow(call: Call) -> Operand:
    """The LAMBDA of each row."""
    array, function = Elements(call, 0), call.function(1)
    last = array.columns - 1
    return tiled([[_one(call, function, (array.part(r, 0, r, last),))] for r in range(array.rows)])


@lazy("BYCOL", minimum=2, maximum=2)
def bycol(call: Call) -> Operand:
    """The LAMBDA of each column."""
    array, function = Elements(call, 0), call.function(1)
    last = array.rows - 1
    return tiled([[_one(call, function, (array.part(0, c, last, c),)) for c in range(array.columns)]])


def _accumulated(call: Call, step: Callable[[Operand], None]) -> Operand:
    """The last accumulated value of REDUCE and SCAN; `step` sees each. Without a start the first element is it."""
    array, function = Elements(call, 1), call.function(2)
    places = [(r, c) for r in range(array.rows) for c in range(array.columns)]
    if call.missing(0):
        total = array.element(*places.pop(0))
        step(total)
    else:
        total = call.operand(0)
    for place in places:
        try:
            total = call.apply(function, (total, array.element(*place)))
        except Failure as failure:
            total = error(failure.error)
        step(total)
    return total


@lazy("REDUCE", minimum=3, maximum=3)
def reduce(call: Call) -> Operand:
    """The LAMBDA of what was accumulated and each element, one after another."""
    return _accumulated(call, lambda total: None)


@lazy("SCAN", minimum=3, maximum=3)
def scan(call: Call) -> Operand:
    """As REDUCE, every step of it."""
    steps: list[Value] = []

    def keep(total: Operand) -> None:
        value = call.dereferenced(total)
        steps.append(value if value.shape[2:] == (1, 1) else error(CellErrorValue.CALC))

    _accumulated(call, keep)
    columns = Elements(call, 1).columns
    return tiled([steps[start : start + columns] for start in range(0, len(steps), columns)])


@lazy("MAKEARRAY", minimum=3, maximum=3)
def makearray(call: Call) -> Operand:
    """An array of the LAMBDA of each row and column number."""
    sizes: list[int] = []
    for index in (0, 1):
        value = call.value(index)
        if value.shape[:2] != (1, 1):
            raise Unvectorisable
        if error_codes(value) is not None:
            return value
        item = value.item()
        if not isinstance(item, int | float) or item < 1:
            return error(CellErrorValue.VALUE)
        sizes.append(int(item))
    function = call.function(2)
    rows, columns = sizes
    if rows * columns > LARGEST:
        return error(CellErrorValue.NUM)
    return tiled(
        [[_one(call, function, (scalar(r + 1.0), scalar(c + 1.0))) for c in range(columns)] for r in range(rows)]
    )
