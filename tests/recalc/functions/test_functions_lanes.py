"""Cells evaluated together give what each gives alone: relative ranges that move, and absolute ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xlsxwriter

from workbench.recalc import functions as _functions  # noqa: F401
from workbench.recalc import open_workbook
from workbench.recalc.evaluate import Place, evaluate_lanes
from workbench.recalc.model import Model
from workbench.recalc.parser import parse
from workbench.recalc.store import Sheet, Store
from workbench.recalc.values import CellErrorValue

ROWS = 12

FORMULAS = [
    "SUM(A1:B4)",
    "SUM($A$1:A1)",
    "SUMPRODUCT(A1:A4,B1:B4)",
    "SUMPRODUCT((A1:A4>3)*C1:C4)",
    "PRODUCT(A1:B2,C1)",
    "COUNT(A1:D4)",
    "COUNTA(A1:D4,A1)",
    "AVERAGE(D1:D3)",
    "AVERAGEA(A1:D2)",
    "MAX(A1:D3)-MIN(A1:D3)",
    "MEDIAN(A1:D2)",
    "MODE(A1:D4)",
    "STDEV.S(A1:D2)",
    "DEVSQ(A1:B5)",
    "SKEW(A1:B4)",
    "KURT(A1:C3)",
    "GEOMEAN(B1:C3)",
    "LARGE(A1:B4,2)",
    "LARGE($A$1:$B$12,A1)",
    "SMALL(A1:B4,C1)",
    "SUM(LARGE(A1:C4,{1,2,3}))",
    "RANK(A1,$A$1:$A$12)",
    "RANK(A1,A1:A5,1)",
    "RANK.AVG(B1,$A$1:$C$12)",
    "PERCENTILE.INC(A1:C3,0.3)",
    "PERCENTILE.EXC($A$1:$C$12,D1/20)",
    "QUARTILE(A1:C3,3)",
    "PERCENTRANK($A$1:$C$12,A1)",
    "TRIMMEAN(A1:C4,0.4)",
    "CORREL(A1:A6,B1:B6)",
    "SLOPE(A1:A6,$C$1:$C$6)",
    "FORECAST(A1,$B$1:$B$12,C1:C12)",
    "SUMXMY2(A1:A3,B1:B3)",
    "ROUND(A1/7,B1-3)",
    "MOD(A1,B1-4)",
    "CEILING.MATH(A1/3,0.7)",
    "NPV(A1/100,B1:D3)",
    "PMT(A1/100,12,C1)",
    "IRR(B20:B26)",
    "SUM(LINEST(A1:A6,B1:B6))",
    "NORM.DIST(A1,B1,C1+10,TRUE)",
    "GCD(A1,B1,C1)",
    "MDETERM(A1:C3)",
    "SUM(MMULT(A1:B2,B1:C2))",
    "T.TEST(A1:A6,B1:B6,2,3)",
    "DSUM($F$1:$G$5,2,$H$1:$H$2)+A1",
    "SUBTOTAL(9,A1:B3)",
    "AGGREGATE(14,6,A1:B4/(A1:B4>2),1)",
    "COUNTBLANK(A1:D4)",
    'CONVERT(A1,"ft","m")',
    "IMABS(COMPLEX(A1,B1))",
]


@pytest.fixture(scope="module")
def model() -> Model:
    """Numbers with a text, a boolean, a blank and an error among them; a small database beside."""
    random = np.random.default_rng(5)
    store = Store([Sheet("Sheet1")])
    for row in range(40):
        for column in range(3):
            store.write(0, row, column, float(random.integers(1, 9)))
        store.write(0, row, 3, float(row) - 4)
    store.write(0, 2, 3, "word")
    store.write(0, 4, 3, True)
    store.write(0, 6, 3, None)
    store.write(0, 10, 1, CellErrorValue.NA)
    store.write(0, 19, 1, -20.0)
    for row, record in enumerate([("k", "v"), ("a", 1.0), ("b", 2.0), ("a", 4.0), ("c", 8.0)]):
        store.write(0, row, 5, record[0])
        store.write(0, row, 6, record[1])
    store.write(0, 0, 7, "k")
    store.write(0, 1, 7, "a")
    return Model(store)


@pytest.mark.parametrize("formula", FORMULAS)
def test_together_as_alone(formula: str, model: Model) -> None:
    node = parse(formula, 0, 9)
    together = evaluate_lanes(model, node, Place(0, 0, 9, ROWS), arrays=True)
    together = together.broadcast((1, ROWS, *together.shape[2:]))
    for i in range(ROWS):
        alone = evaluate_lanes(model, node, Place(0, i, 9), arrays=True)
        for got, wanted in zip(
            together.grid(0, i).reshape(-1).tolist(), alone.grid().reshape(-1).tolist(), strict=True
        ):
            if isinstance(wanted, float) and isinstance(got, float):
                assert got == pytest.approx(wanted, rel=1e-12, abs=1e-12), f"row {i + 1}"
            else:
                assert got == wanted, f"row {i + 1}"


SCENARIO_FORMULAS = [
    "SUM(A1:A6)*B1",
    "AVERAGE(A1:A6)",
    "LARGE(A1:A6,B1)",
    "RANK(A2,A1:A6)",
    "PERCENTRANK(A1:A6,A2)",
    "PERCENTILE(A1:A6,B1/10)",
    "TRIMMEAN(A1:A6,0.4)",
    "MODE(A1:A6,B1,2)",
    "STDEV.S(A1:A6)",
    "CORREL(A1:A6,C1:C6)",
    "FORECAST(B1,C1:C6,A1:A6)",
    "SUMPRODUCT(A1:A6,C1:C6)",
    "SUMXMY2(A1:A6,C1:C6)",
    "NPV(0.1,A1:A6)",
    "SUM(MMULT(A1:B2,C1:D2))",
    "SUM(LINEST(C1:C6,A1:A6))",
    "SUBTOTAL(4,A1:A6)",
    "AGGREGATE(14,6,A1:A6/(A1:A6>1),B1)",
    "COUNT(A1:A6,1/(B1-2))",
    "ROUND(A1/7,B1)",
    "T.TEST(A1:A6,C1:C6,2,3)",
    "DSUM(E1:F3,2,G1:G2)*B1",
    "GCD(A1,B1,6)",
]


def test_scenarios_together_as_alone(tmp_path: Path) -> None:
    path = tmp_path / "scenarios.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("S")
        for row, numbers in enumerate(
            [(3, 2, 5, 1), (8, 4, 1, 2), (1, 0, 7, 0), (6, 0, 2, 0), (9, 0, 8, 0), (2, 0, 3, 0)]
        ):
            sheet.write_row(row, 0, numbers)
        sheet.write_column(0, 4, ["k", "a", "b"])
        sheet.write_column(0, 5, ["v", 5, 7])
        sheet.write_column(0, 6, ["k", "a"])
        for row, formula in enumerate(SCENARIO_FORMULAS):
            sheet.write_array_formula(row, 8, row, 8, "{=" + formula + "}")
    book = open_workbook(path)
    outputs = [f"S!I{row + 1}" for row in range(len(SCENARIO_FORMULAS))]
    scenarios = {"S!A1": np.array([3.0, 8.0, -1.0, 50.0]), "S!B1": np.array([1.0, 2.0, 3.0, 4.0])}
    together = book.evaluate(scenarios, outputs)
    for i in range(4):
        for target, values in scenarios.items():
            book.set(target, float(values[i]))
        book.recalculate()
        for formula, output in zip(SCENARIO_FORMULAS, outputs, strict=True):
            alone = book.value(output)
            got = together[output][i]
            if isinstance(alone, float):
                assert got == pytest.approx(alone, rel=1e-12), (formula, i)
            else:
                assert got == alone or np.isnan(got), (formula, i)
