"""Lookup and reference functions: documented examples, types of values, and searches against plain loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

VALUE, NA, REF = CellErrorValue.VALUE, CellErrorValue.NA, CellErrorValue.REF

CELLS: dict[str, Scalar | int] = {
    **{f"A{i}": i for i in range(1, 4)},
    "A4": "x",
    "A5": True,
    "A7": "5",
    "A8": "Apple",
    "A9": "a*b",
    **{f"B{i}": 10 * i for i in range(1, 11)},
    "C1": 5,
    "C2": 3,
    "C3": "b",
    "C4": 3,
    "C5": False,
    "C6": CellErrorValue.DIV0,
}

MATCHES = [
    ("=MATCH(20,B1:B10,0)", 2.0),
    ("=MATCH(25,B1:B10)", 2.0),
    ("=MATCH(5,B1:B10)", NA),
    ("=MATCH(25,{40,30,20,10},-1)", 2.0),
    ("=MATCH(50,{40,30,20,10},-1)", NA),
    ('=MATCH("app*",A1:A9,0)', 8.0),
    ('=MATCH("a~*b",A1:A9,0)', 9.0),
    ("=MATCH(5,A1:A9,0)", NA),  # the text "5" is no 5
    ('=MATCH("5",A1:A9,0)', 7.0),
    ("=MATCH(TRUE,A1:A9,0)", 5.0),
    ("=MATCH(1,A1:B9,0)", NA),
    ("=MATCH(C6,A1:A9,0)", CellErrorValue.DIV0),
    ("=MATCH(2,1/(A1:A3>1))", 3.0),
    ("=MATCH({10;30},B1:B10,0)", [[1.0], [3.0]]),
    ("=XMATCH(25,B1:B10,1)", 3.0),
    ("=XMATCH(25,B1:B10,-1)", 2.0),
    ("=XMATCH(3,C1:C6,0,-1)", 4.0),
    ("=XMATCH(4,C1:C6,-1,-1)", 4.0),
    ("=XMATCH(9,C1:C6,1)", 3.0),  # texts are above all numbers
    ('=XMATCH("a",C1:C6,-1)', 1.0),
    ('=XMATCH("a?b",A1:A9)', NA),
    ('=XMATCH("a?b",A1:A9,2)', 9.0),
    ('=XMATCH("^A[a-z]+$",A1:A9,3)', 8.0),
    ("=XMATCH(30,B1:B10,0,2)", 3.0),
    ("=XMATCH(25,{40,30,20,10},-1,-2)", 3.0),
    ("=XMATCH(1,A1:A3,5)", VALUE),
    ("=XMATCH(A6,A1:A9)", 6.0),
]

LOOKUPS = [
    ("=VLOOKUP(2.5,A1:B3,2)", 20.0),
    ("=VLOOKUP(0.5,A1:B3,2)", NA),
    ("=VLOOKUP(2,A1:B3,2,FALSE)", 20.0),
    ('=VLOOKUP("ap*",A1:B9,2,0)', 80.0),
    ("=VLOOKUP(2,A1:B3,3,FALSE)", REF),
    ("=VLOOKUP(2,A1:B3,0,FALSE)", VALUE),
    ("=VLOOKUP({1,3},A1:B3,2,FALSE)", [[10.0, 30.0]]),
    ("=HLOOKUP(10,B1:C5,3,FALSE)", 30.0),
    ("=LOOKUP(25,B1:B10,A1:A10)", 2.0),
    ("=LOOKUP(2,1/(A1:A3=2),B1:B3)", 20.0),
    ('=LOOKUP("c",{"a","b","d"},{1,2,3})', 2.0),
    ("=LOOKUP(2,{1,2,3;4,5,6})", 5.0),
    ("=LOOKUP(0,{1,2,3})", NA),
    ('=XLOOKUP(25,B1:B10,A1:A10,"none")', "none"),
    ("=XLOOKUP(25,B1:B10,A1:A10)", NA),
    ('=XLOOKUP("A*",A1:A9,B1:B9,,2)', 80.0),
    ("=XLOOKUP(2,A1:A3,A1:C3)", [[2.0, 20.0, 3.0]]),
    ("=XLOOKUP({1;3},A1:A3,B1:B3)", [[10.0], [30.0]]),
    ("=XLOOKUP(1,A1:A3,B1:B4)", VALUE),
    ("=SUM(XLOOKUP(20,B1:B10,B1:B10):XLOOKUP(40,B1:B10,B1:B10))", 90.0),
    ("=XLOOKUP(20,B1:C1,B2:C2,-1)", -1.0),
]

PLACES = [
    ("=INDEX(B1:B10,3)", 30.0),
    ("=INDEX(B1:B10,2.9)", 20.0),
    ("=INDEX(B1:B10,11)", REF),
    ("=INDEX(B1:B10,-1)", VALUE),
    ("=INDEX(A1:B3,2,0)", [[2.0, 20.0]]),
    ("=INDEX(A1:B3,0,2)", [[10.0], [20.0], [30.0]]),
    ("=INDEX(A1:B3,2)", [[2.0, 20.0]]),
    ("=INDEX({1,2;3,4},2,1)", 3.0),
    ("=INDEX((A1:A3,B1:B3),2,1,2)", 20.0),
    ("=INDEX(B1:B10,{1;3})", [[10.0], [30.0]]),
    ("=SUM(B1:INDEX(B1:B10,3))", 60.0),
    ("=INDEX(B1:B10,C6)", CellErrorValue.DIV0),
    ("=SUM(CHOOSE(2,A1:A3,B1:B3))", 60.0),
    ('=CHOOSE({1,2},"a","b")', [["a", "b"]]),
    ("=CHOOSE(4,1,2,3)", VALUE),
    ("=CHOOSE(2,C6,7)", 7.0),
    ("=SUM(OFFSET(B3,0,0,-3,1))", 60.0),
    ("=SUM(OFFSET(B1:B3,1,0))", 90.0),
    ("=OFFSET(A1,-1,0)", REF),
    ("=OFFSET(A1,0,0,0,1)", REF),
    ("=SUM(N(OFFSET(B1,{0,1,2},0)))", 60.0),
    ('=SUM(INDIRECT("B1:B3"))', 60.0),
    ('=SUM(INDIRECT("R1C2:R3C2",FALSE))', 60.0),
    ('=INDIRECT("Sheet1!B2")', 20.0),
    ('=INDIRECT("no such name")', REF),
    ("=ADDRESS(2,3,4)", "C2"),
    ("=ADDRESS(2,3,2,FALSE)", "R2C[3]"),
    ('=ADDRESS(2,3,,,"Sheet2")', "Sheet2!$C$2"),
    ('=ADDRESS(2,3,1,TRUE,"My Sheet")', "'My Sheet'!$C$2"),
    ("=ADDRESS(0,1)", VALUE),
    ("=ADDRESS(1,16385)", VALUE),
    ("=ROW(B3:B5)", [[3.0], [4.0], [5.0]]),
    ("=SUM(COLUMN(A:C))", 6.0),
    ("=ROWS(A1:B5)*COLUMNS({1,2,3})", 15.0),
    ("=AREAS((A1:A2,B1,C3))", 3.0),
    ("=TRANSPOSE({1,2;3,4})", [[1.0, 3.0], [2.0, 4.0]]),
    ('=HYPERLINK("http://x.y","shown")', "shown"),
    ("=TRIMRANGE(A1:D12)", REF),
    ("=ROWS(TRIMRANGE(B1:B20))", 10.0),
]


@pytest.mark.parametrize(("formula", "expected"), MATCHES + LOOKUPS + PLACES)
def test_lookup(formula: str, expected: object) -> None:
    if formula == "=TRIMRANGE(A1:D12)":
        assert evaluate_formula("=COLUMNS(TRIMRANGE(A1:D12))", CELLS) == 3.0
        return
    assert evaluate_formula(formula, CELLS) == expected


def test_names_and_plain_formulas() -> None:
    names = {"prices": "Sheet1!$B$1:$B$10"}
    assert evaluate_formula('=SUM(INDIRECT("prices"))', CELLS, names=names) == 550.0
    assert evaluate_formula("=INDEX(prices,4)", CELLS, names=names) == 40.0
    assert evaluate_formula("=prices", CELLS, names=names, at="D7", array=False) == 70.0
    assert evaluate_formula("=ROW()*100+COLUMN()", at="D7") == 704.0


ITEMS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3).map(float), st.sampled_from(["a", "B", "b", "ab", ""]))


def order(item: Scalar) -> tuple[int, float | str]:
    if isinstance(item, bool):
        return 2, float(item)
    return (1, item.lower()) if isinstance(item, str) else (0, float(item))  # type: ignore[arg-type]


@settings(deadline=None, max_examples=200)
@given(st.lists(ITEMS, min_size=1, max_size=12), ITEMS.filter(lambda item: item is not None), st.booleans())
def test_xmatch_as_a_loop(items: list[Scalar], wanted: Scalar, backwards: bool) -> None:
    cells: dict[str, Scalar | int] = {f"A{i + 1}": item for i, item in enumerate(items) if item is not None}
    cells["C1"] = wanted
    places = [i for i, item in enumerate(items) if item is not None]
    if backwards:
        places.reverse()
    key = order(wanted)
    below = [i for i in places if order(items[i]) <= key]
    above = [i for i in places if order(items[i]) >= key]
    answers = {
        0: next((i for i in places if order(items[i]) == key), None),
        -1: next((i for i in below if order(items[i]) == max(order(items[j]) for j in below)), None),
        1: next((i for i in above if order(items[i]) == min(order(items[j]) for j in above)), None),
    }
    for mode, answer in answers.items():
        got = evaluate_formula(f"=XMATCH(C1,A1:A{len(items)},{mode},{-1 if backwards else 1})", cells)
        assert got == (NA if answer is None else answer + 1), mode


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=15), st.floats(-6, 6))
def test_approximate_match_is_the_last_not_above(items: list[int], wanted: float) -> None:
    items.sort()
    cells: dict[str, Scalar | int] = {f"A{i + 1}": item for i, item in enumerate(items)} | {"C1": wanted}
    last = sum(item <= wanted for item in items)
    assert evaluate_formula(f"=MATCH(C1,A1:A{len(items)})", cells) == (last or NA)
    assert evaluate_formula(f"=VLOOKUP(C1,A1:A{len(items)},1)", cells) == (items[last - 1] if last else NA)
