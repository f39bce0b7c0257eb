"""SUBTOTAL and AGGREGATE: what they skip, in a workbook with a filter, hidden rows, errors and subtotals within."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter

from workbench.recalc import open_workbook
from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

CASES: list[tuple[str, Scalar]] = [
    # filtered: rows 3, 5, 7, 9 are hidden by the filter on column B; A10 is a subtotal
    ("SUBTOTAL(9,A2:A9)", 16.0),
    ("SUBTOTAL(9,A2:A10)", 16.0),
    ("SUBTOTAL(109,A2:A10)", 16.0),
    ("SUBTOTAL(1,A2:A10)", 4.0),
    ("SUBTOTAL(2,A1:A10)", 4.0),
    ("SUBTOTAL(3,A1:A10)", 5.0),
    ("SUBTOTAL(4,A2:A10)", 7.0),
    ("SUBTOTAL(5,A2:A10)", 1.0),
    ("SUBTOTAL(6,A2:A10)", 105.0),
    ("SUM(A2:A10)", 52.0),
    ("AGGREGATE(9,5,A2:A9)", 16.0),
    ("AGGREGATE(9,4,A2:A9)", 36.0),
    ("AGGREGATE(9,0,A2:A10)", 36.0),
    ("AGGREGATE(9,4,A2:A10)", 52.0),
    ("AGGREGATE(12,5,A2:A9)", 4.0),
    # hidden by hand: row 2 of the second sheet; its A6 is an error
    ("SUBTOTAL(9,Hand!A1:A5)", 15.0),
    ("SUBTOTAL(109,Hand!A1:A5)", 13.0),
    ("SUBTOTAL(103,Hand!A:A)", 5.0),
    ("SUBTOTAL(9,Hand!A1:A6)", CellErrorValue.DIV0),
    ("AGGREGATE(9,6,Hand!A1:A6)", 15.0),
    ("AGGREGATE(9,7,Hand!A1:A6)", 13.0),
    ("AGGREGATE(4,4,Hand!A1:A6)", CellErrorValue.DIV0),
    ("AGGREGATE(14,6,Hand!A1:A6,2)", 4.0),
    ("AGGREGATE(15,7,Hand!A1:A6,2)", 3.0),
    ("AGGREGATE(16,6,Hand!A1:A6,0.5)", 3.0),
    ("AGGREGATE(17,6,Hand!A1:A6,4)", 5.0),
    ("AGGREGATE(15,6,Hand!A1:A6/(Hand!A1:A6>2),1)", 3.0),
    ("AGGREGATE(20,6,Hand!A1:A6)", CellErrorValue.VALUE),
    ("SUBTOTAL(12,Hand!A1:A6)", CellErrorValue.VALUE),
]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subtotals") / "hidden.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet("Filter")
        sheet.write_row(0, 0, ["number", "kind"])
        for i in range(1, 9):
            sheet.write_row(i, 0, [i, "odd" if i % 2 else "even"])
        sheet.write_formula("A10", "=SUBTOTAL(9,A2:A9)")
        sheet.autofilter("A1:B9")
        sheet.filter_column("B", "x == odd")
        for i in range(2, 9, 2):
            sheet.set_row(i, options={"hidden": True})
        for row, (formula, _) in enumerate(CASES):
            sheet.write_formula(20 + row, 3, "=" + formula)
        hand = workbook.add_worksheet("Hand")
        for i in range(5):
            hand.write(i, 0, i + 1)
        hand.write_formula("A6", "=1/0")
        hand.set_row(1, options={"hidden": True})
    return path


def test_what_is_skipped(book: Path) -> None:
    workbook = open_workbook(book)
    workbook.recalculate(full=True)
    wrong = []
    for row, (formula, wanted) in enumerate(CASES):
        got = workbook.value(f"Filter!D{21 + row}")
        if got != (pytest.approx(wanted) if isinstance(wanted, float) else wanted):
            wrong.append((formula, got, wanted))
    assert not wrong


def test_arrays_are_no_references() -> None:
    assert evaluate_formula("=SUBTOTAL(9,{1,2})") == CellErrorValue.VALUE
    assert evaluate_formula("=AGGREGATE(9,6,{1,2})") == CellErrorValue.VALUE
    assert evaluate_formula("=AGGREGATE(14,6,{1,5,2},1)") == 5.0


def test_a_subtotal_replaced_by_a_number_counts(book: Path) -> None:
    workbook = open_workbook(book)
    workbook.set("Filter!A10", 1000, overwrite_formula=True)
    workbook.recalculate()
    row = next(i for i, (formula, _) in enumerate(CASES) if formula == "SUBTOTAL(9,A2:A10)")
    assert workbook.value(f"Filter!D{21 + row}") == 1016.0
