"""Excel's database functions: statistics of one field of the records that meet criteria.

The database's first row holds the fields' names. Rows of criteria are alternatives; within a row all hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.recalc.coerce import text_of
from workbench.recalc.functions import _samples
from workbench.recalc.functions._criteria import Criterion, criterion, has_wildcard
from workbench.recalc.registry import ANY, RANGE, lane, opt
from workbench.recalc.values import Bools, CellErrorValue, Failure, Floats, Objects, Scalar, from_objects

_VALUE = CellErrorValue.VALUE


def _column(names: list[str], field: Scalar) -> int | None:
    """The index of a field by its name or its number from 1; None when not given."""
    if field is None:
        return None
    if isinstance(field, CellErrorValue):
        raise Failure(field)
    if isinstance(field, float) and not isinstance(field, bool):
        at = int(field) - 1
        if 0 <= at < len(names):
            return at
    elif _folded(field) in names:
        return names.index(_folded(field))
    raise Failure(_VALUE)


def _folded(name: Scalar) -> str:
    text = text_of(name)
    return "" if isinstance(text, CellErrorValue) else text.strip().casefold()


def _wanted(cell: Scalar) -> Criterion:
    """As COUNTIF has it, but a plain text asks for texts that begin with it, and `=text` for that text."""
    if isinstance(cell, str) and cell and cell[0] not in "=<>":
        found = criterion(cell)
        if isinstance(found.operand, str):
            return criterion(cell if has_wildcard(cell) and cell.endswith("*") else cell + "*")
        return found
    return criterion(cell)


def _selected(database: Objects, criteria: Objects, names: list[str]) -> Bools:
    """Which records meet the criteria."""
    records = from_objects(database[1:])
    columns = [names.index(name) if name in names else None for name in map(_folded, criteria[0])]
    chosen = np.zeros(database.shape[0] - 1, dtype=bool)
    for row in criteria[1:]:
        holds = np.ones(chosen.shape, dtype=bool)
        for at, cell in zip(columns, row, strict=True):
            if cell is None or (isinstance(cell, str) and not cell):
                continue
            if at is None:
                # a heading that names no field: a computed criterion, which the cell itself has evaluated
                if isinstance(cell, CellErrorValue):
                    raise Failure(cell)
                holds &= bool(cell) if not isinstance(cell, str) else False
                continue
            holds &= _wanted(cell).mask(records[:, :, :, at : at + 1])[0, 0, :, 0]
        chosen |= holds
    return chosen


def _values(database: Objects, field: Scalar, criteria: Objects) -> list[Scalar]:
    """The field of the records that meet the criteria; of a count without a field, TRUE for each record."""
    names = [_folded(name) for name in database[0]]
    at = _column(names, field)
    if criteria.shape[0] < 2:
        raise Failure(_VALUE)
    chosen = _selected(database, criteria, names)
    if at is None:
        return [True] * int(chosen.sum())
    return list(database[1:, at][chosen])


def _numbers(values: list[Scalar]) -> Floats:
    for value in values:
        if isinstance(value, CellErrorValue):
            raise Failure(value)
    found = [value for value in values if isinstance(value, float) and not isinstance(value, bool)]
    return np.array(found, dtype=np.float64).reshape(1, 1, -1)


def _declare(name: str, reduce: Callable[[Floats, None], Any]) -> None:
    @lane(name, RANGE, ANY, RANGE)
    def body(database: Objects, field: Scalar, criteria: Objects) -> Scalar:
        """A statistic of the numbers of the field."""
        if field is None:
            return _VALUE
        found = reduce(_numbers(_values(database, field, criteria)), None)
        if isinstance(found, tuple):
            found, codes = found
            if codes[0, 0]:
                return next(e for e in CellErrorValue if e.code == int(codes[0, 0]))
        return float(found[0, 0])


for _name, _reduce in {
    "DSUM": _samples.total,
    "DPRODUCT": _samples.product,
    "DAVERAGE": _samples.mean_of,
    "DMAX": _samples.largest,
    "DMIN": _samples.smallest,
    "DSTDEV": _samples.sample_deviation,
    "DSTDEVP": _samples.population_deviation,
    "DVAR": _samples.sample_variance,
    "DVARP": _samples.population_variance,
}.items():
    _declare(_name, _reduce)


@lane("DCOUNT", RANGE, opt(ANY, None, empty=True), RANGE)
def dcount(database: Objects, field: Scalar, criteria: Objects) -> Scalar:
    """How many numbers the field holds; without a field, how many records."""
    values = _values(database, field, criteria)
    if field is None:
        return float(len(values))
    return float(sum(isinstance(value, float) and not isinstance(value, bool) for value in values))


@lane("DCOUNTA", RANGE, opt(ANY, None, empty=True), RANGE)
def dcounta(database: Objects, field: Scalar, criteria: Objects) -> Scalar:
    """How many cells of the field are not empty; without a field, how many records."""
    return float(sum(value is not None for value in _values(database, field, criteria)))


@lane("DGET", RANGE, ANY, RANGE)
def dget(database: Objects, field: Scalar, criteria: Objects) -> Scalar:
    """The one value: #VALUE! when no record meets the criteria, #NUM! when several do."""
    if field is None:
        return _VALUE
    values = _values(database, field, criteria)
    if not values:
        return _VALUE
    return values[0] if len(values) == 1 else CellErrorValue.NUM
