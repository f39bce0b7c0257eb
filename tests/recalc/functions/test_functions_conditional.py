"""SUMIFS and its kin: criteria as Excel reads them, and sums against plain loops."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

CELLS: dict[str, Scalar | int] = {
    "A1": 1,
    "A2": "a",
    "A3": True,
    "A4": "5",
    "A5": 5,
    "A6": "",
    "A7": "abc",
    "A9": 2.5,
    "A10": CellErrorValue.NA,
    **{f"B{i}": i for i in range(1, 11)},
    "C1": 45000,
    "C2": "2023-03-15",
    "C3": "a*b",
    "D1": 0,
    "D2": False,
    "D3": "false",
}

COUNTS = [
    ("5", 2),  # numbers and texts that spell one
    ('"5"', 2),
    ('"=5"', 2),
    ('"<>5"', 9),  # unlike `=`, texts aren't read as numbers
    ('">1"', 2),
    ('"<=2.5"', 2),
    ('"a"', 1),
    ('"A"', 1),
    ('"a*"', 2),
    ('"?"', 2),
    ('"<>a*"', 8),
    ('">a"', 1),
    ('"*"', 4),
    ('""', 2),
    ('"="', 1),
    ('"<>"', 9),
    ('"<"', 0),
    ("TRUE", 1),
    ('"true"', 1),
    ('"#N/A"', 1),
    ("A10", 1),
    ("A8", 0),  # an empty cell asks for 0
]


@pytest.mark.parametrize(("criterion", "count"), COUNTS)
def test_countif(criterion: str, count: int) -> None:
    assert evaluate_formula(f"=COUNTIF(A1:A10,{criterion})", CELLS) == count


@pytest.mark.parametrize(("criterion", "count"), COUNTS)
def test_countif_of_many_at_once(criterion: str, count: int) -> None:
    """The answers from groups and from one comparison each are the same."""
    cells = dict(CELLS)
    others = ",".join(f'"zz{i}"' for i in range(20))
    if criterion.startswith("A"):
        pytest.skip("no cell in an array constant")
    assert evaluate_formula(f"=SUM(COUNTIF(A1:A10,{{{criterion},{others}}}))", cells) == count


FORMULAS: list[tuple[str, object]] = [
    ('=SUMIF(A1:A10,"a*",B1)', 9.0),
    ('=SUMIF(A:A,"a*",B2)', 11.0),
    ('=SUMIF(B1:B10,">8")', 19.0),
    ('=SUMIFS(B1:B10,A1:A10,"a*",B1:B10,">2")', 7.0),
    ("=SUMIFS(B1:B10,A1:A9,1)", CellErrorValue.VALUE),
    ('=SUMIF(A1:A10,"#N/A",A1:A10)', CellErrorValue.NA),
    ('=SUMIF(A1:A10,">0")', 8.5),
    ('=AVERAGEIF(A1:A10,"zz",B1:B10)', CellErrorValue.DIV0),
    ('=AVERAGEIF(A1:A10,">1",B1:B10)', 7.0),
    ('=AVERAGEIFS(B1:B10,B1:B10,">3",B1:B10,"<6")', 4.5),
    ('=MAXIFS(B1:B10,A1:A10,"?*")', 7.0),
    ('=MINIFS(B1:B10,A1:A10,"zz")', 0.0),
    ('=MINIFS(A1:A9,B1:B9,">1")', 2.5),
    ('=COUNTIF(C1:C2,"3/15/2023")', 2.0),
    ('=COUNTIF(C1:C2,">=2023-03-15")', 1.0),
    ('=COUNTIF(C1:C3,"a~*b")', 1.0),
    ('=COUNTIF(A:A,"")', 1048576.0 - 8),
    ('=COUNTIF(A:A,"<>")', 9.0),
    ('=COUNTIF(B1:B10,">"&B1:B3)', [[9.0], [8.0], [7.0]]),
    ('=COUNTIFS(A1:A10,{"a","abc"})', [[1.0, 1.0]]),
    ("=COUNTIF({1,2},1)", CellErrorValue.VALUE),
    ("=COUNTIFS(A1:A3,1,B1:B4,1)", CellErrorValue.VALUE),
    ("=COUNTIF(D1:D3,{0,FALSE})", [[1.0, 1.0]]),
]


@pytest.mark.parametrize(("formula", "expected"), FORMULAS)
def test_conditional_aggregate(formula: str, expected: object) -> None:
    assert evaluate_formula(formula, CELLS) == expected


ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "Y", "xy", ""]), st.integers(0, 4), st.floats(-100, 100)), min_size=1, max_size=40
)


@settings(deadline=None)
@given(ROWS, st.sampled_from(["x", "y", "XY", "zz"]), st.sampled_from(["<", ">", "<=", ">=", "="]), st.integers(0, 4))
def test_as_a_loop(rows: list[tuple[str, int, float]], word: str, sign: str, bound: int) -> None:
    compare = {"<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__, "=": float.__eq__}[sign]
    chosen = [x for text, number, x in rows if text.lower() == word.lower() and compare(float(number), float(bound))]
    cells: dict[str, Scalar | int] = {}
    for i, (text, number, x) in enumerate(rows, start=1):
        cells |= {f"A{i}": text, f"B{i}": number, f"C{i}": x}
    n = len(rows)
    asked = f'A1:A{n},"{word}",B1:B{n},"{sign}{bound}"'
    assert evaluate_formula(f"=COUNTIFS({asked})", cells) == len(chosen)
    assert evaluate_formula(f"=SUMIFS(C1:C{n},{asked})", cells) == pytest.approx(math.fsum(chosen), abs=1e-9)
    assert evaluate_formula(f"=MAXIFS(C1:C{n},{asked})", cells) == max(chosen, default=0.0)
    # the same from many criteria at once, by groups and by rank
    many = ",".join(f'"{sign}{i % 5}"' for i in range(20))
    counts = evaluate_formula(f"=COUNTIF(B1:B{n},{{{many}}})", cells)
    assert isinstance(counts, list)
    for i, count in enumerate(counts[0]):
        assert count == sum(compare(float(number), float(i % 5)) for _, number, _ in rows)
