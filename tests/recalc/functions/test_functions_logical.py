"""Logical and information functions."""

from __future__ import annotations

import pytest

from workbench.recalc.model import Model
from workbench.recalc.single import evaluate_formula
from workbench.recalc.store import Sheet, Store
from workbench.recalc.values import CellErrorValue, NotEvaluable, Scalar

VALUE, NA, DIV0 = CellErrorValue.VALUE, CellErrorValue.NA, CellErrorValue.DIV0

CELLS: dict[str, Scalar | int] = {
    "A1": 1,
    "A2": 2,
    "A3": 3,
    "A4": "x",
    "A5": True,
    "A7": "5",
    "D1": DIV0,
    "D2": NA,
    "D3": "",
}

LOGICAL = [
    ("=IF(A6,1,2)", 2.0),
    ('=IF("TRUE",1,2)', 1.0),
    ('=IF("x",1,2)', VALUE),
    ("=IF(0,1)", False),
    ("=IF(1,,5)", 0.0),
    ("=IF(D1,1,2)", DIV0),
    ("=IF(TRUE,1,D1)", 1.0),
    ("=IF({1,0;0,1},A1,{7,8})", [[1.0, 8.0], [7.0, 1.0]]),
    ("=IF({1,0,1},{1,2},9)", [[1.0, 9.0, NA]]),
    ('=IFS(A1>5,"a",A1>0,"b")', "b"),
    ('=IFS(A1>5,"a")', NA),
    ('=IFS(D1,"a",TRUE,"b")', DIV0),
    ('=IFS(TRUE,"a",D1,"b")', "a"),
    ('=IFS(A1:A3>1,"big",TRUE,A1:A3)', [[1.0], ["big"], ["big"]]),
    ('=SWITCH(2,1,"a",2,"b","c")', "b"),
    ('=SWITCH(9,1,"a",2,"b","c")', "c"),
    ('=SWITCH(9,1,"a",2,"b")', NA),
    ('=SWITCH("A","a",1,2)', 1.0),
    ('=SWITCH(D1,1,"a")', DIV0),
    ('=SWITCH(1,TRUE,"a","b")', "b"),
    ('=IFERROR(D1,"e")', "e"),
    ("=IFERROR({1,2}/{1,0},{7,8})", [[1.0, 8.0]]),
    ('=IFNA(D2,"e")', "e"),
    ('=IFNA(D1,"e")', DIV0),
    ("=AND(A1:A7)", True),  # texts and blanks of ranges don't count
    ('=AND(TRUE,"x")', VALUE),
    ("=AND(A4)", VALUE),
    ("=AND(A6)", VALUE),
    ('=OR("FALSE",0)', False),
    ("=OR(TRUE,D1)", DIV0),
    ("=XOR(TRUE,TRUE,1)", True),
    ("=XOR(A1:A3)", True),
    ('=NOT("x")', VALUE),
    ("=NOT({1,0})", [[False, True]]),
    ("=TRUE()", True),
]

INFORMATION = [
    ("=ISBLANK(A6)", True),
    ("=ISBLANK(D3)", False),
    ("=ISERR(D2)", False),
    ("=ISERROR(D2)", True),
    ("=ISNA(D1)", False),
    ("=ISNUMBER(A7)", False),
    ("=ISTEXT(D3)", True),
    ("=ISNONTEXT(A6)", True),
    ("=ISLOGICAL(A5)", True),
    ("=ISREF(A1)", True),
    ("=ISREF(OFFSET(A1,1,1))", True),
    ('=ISREF("A1")', False),
    ("=ISEVEN(2.9)", True),
    ("=ISEVEN(-3)", False),
    ("=ISODD(-3)", True),
    ("=ISODD(TRUE)", VALUE),
    ("=ISNUMBER(A1:A5)", [[True], [True], [True], [False], [False]]),
    ("=N(TRUE)", 1.0),
    ('=N("5")', 0.0),
    ("=N(D1)", DIV0),
    ("=N(A2:A3)", 2.0),
    ("=TYPE(1)", 1.0),
    ('=TYPE("a")', 2.0),
    ("=TYPE(TRUE)", 4.0),
    ("=TYPE(D1)", 16.0),
    ("=TYPE({1,2})", 64.0),
    ("=TYPE(LAMBDA(x,x))", 128.0),
    ("=TYPE(A6)", 1.0),
    ("=ERROR.TYPE(D1)", 2.0),
    ("=ERROR.TYPE(#NULL!)", 1.0),
    ("=ERROR.TYPE(FILTER({1},{0}))", 14.0),
    ("=ERROR.TYPE(1)", NA),
    ("=NA()", NA),
    ('=CELL("address",B5)', "$B$5"),
    ('=CELL("row",B5)', 5.0),
    ('=CELL("contents",A4)', "x"),
    ('=CELL("type",A6)&CELL("type",A4)&CELL("type",A1)', "blv"),
    ('=CELL("no such",A1)', VALUE),
    ("=SHEET()", 1.0),
    ('=SHEET("Sheet1")', 1.0),
    ('=SHEET("none")', NA),
    ("=SHEETS()", 1.0),
]


@pytest.mark.parametrize(("formula", "expected"), LOGICAL + INFORMATION)
def test_logical_and_information(formula: str, expected: object) -> None:
    got = evaluate_formula(formula, CELLS)
    assert got == expected
    assert isinstance(got, bool) is isinstance(expected, bool)


@pytest.mark.parametrize(
    "formula", ['=CELL("format",A1)', '=CELL("filename",A1)', '=CELL("row")', '=INFO("osversion")']
)
def test_what_values_cannot_tell_is_not_guessed(formula: str) -> None:
    with pytest.raises(NotEvaluable):
        evaluate_formula(formula, CELLS)


def test_formulas_of_cells() -> None:
    from workbench.recalc.evaluate import Place, evaluate_lanes
    from workbench.recalc.parser import parse

    model = Model(Store([Sheet("Sheet1"), Sheet("Other one")]))
    model.text_of_formula = lambda sheet, row, column: "=1+1" if (row, column) == (1, 0) else None

    def result(formula: str) -> object:
        return evaluate_lanes(model, parse(formula, 0, 5), Place(0, 0, 5), arrays=True).grid().tolist()

    assert result("FORMULATEXT(A2)") == [["=1+1"]]
    assert result("FORMULATEXT(A1)") == [[NA]]
    assert result("ISFORMULA(A1:A3)") == [[False], [True], [False]]
    assert result("SHEETS()&SHEET('Other one'!A1)") == [["22"]]
    assert result("CELL(\"address\",'Other one'!B2)") == [["'Other one'!$B$2"]]
