"""One formula over a handful of cells: for tests, and for checks typed on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.recalc import functions as _functions
from workbench.recalc.evaluate import evaluate_lanes
from workbench.recalc.model import Model
from workbench.recalc.parser import column_number, parse
from workbench.recalc.place import Place
from workbench.recalc.store import Sheet, Store
from workbench.recalc.values import Scalar

_ADDRESS = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d+)")


def evaluate_formula(
    formula: str,
    cells: Mapping[str, Scalar | int] | None = None,
    *,
    at: str = "Z100",
    names: Mapping[str, str] | None = None,
    array: bool | None = None,
    date1904: bool = False,
) -> Scalar | list[list[Scalar]]:
    """The result of `formula` in cell `at` of a sheet named Sheet1 that holds `cells`.

    A list of rows when the result is an array larger than 1 x 1. `array` None: as Excel does for a formula
    typed today (dynamic arrays); False: a plain formula with implicit intersection, one value.
    Raises `FormulaError` and `NotEvaluable`.
    """
    store = Store([Sheet("Sheet1")])
    for target, content in (cells or {}).items():
        row, column = cell_position(target)
        store.write(0, row, column, float(content) if type(content) is int else content)
    model = Model(store, date1904=date1904)
    for name, text in (names or {}).items():
        model.define(name, text.removeprefix("="))
    row, column = cell_position(at)
    node = parse(formula.removeprefix("="), row, column)
    value = evaluate_lanes(model, node, Place(0, row, column), arrays=array is not False)
    if value.shape[2:] == (1, 1):
        return value.item()
    rows: list[list[Scalar]] = value.grid().tolist()
    return rows


def cell_position(address: str) -> tuple[int, int]:
    """`B7` → (6, 1)."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"{address} is no cell address")
    return int(match[2]) - 1, column_number(match[1])


__all__ = ["_functions", "cell_position", "evaluate_formula"]
