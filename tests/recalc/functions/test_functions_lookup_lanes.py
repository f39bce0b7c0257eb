"""Lookups, criteria, texts and dates: cells and scenarios evaluated together give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.recalc import functions as _functions  # noqa: F401
from workbench.recalc.evaluate import Place, evaluate_lanes
from workbench.recalc.model import Model
from workbench.recalc.parser import parse
from workbench.recalc.store import Piece, Sheet, Store
from workbench.recalc.values import CellErrorValue, Objects, Scalar, Value, from_objects

ROWS, SCENARIOS, LAST = 9, 4, 20

FORMULAS = [
    "IF(A1>4,B1,C1)",
    'IF(A1>4,IF(B1>4,"both","one"),"none")',
    'IFS(A1>6,"big",B1>6,"other",TRUE,C1)',
    'SWITCH(A1,1,"a",2,B1,"z")',
    "SUM(IF(A1>5,B1:B3,C$1:C$9))",
    "SUM(IFS(A1>6,B1:B3,B1>6,C1:C2,TRUE,1))",
    "SUM(CHOOSE(MOD(A1,2)+1,B1:B3,C1:C4))",
    "SUM(SWITCH(A1,4,B1:B3,5,C1:C3,A1:A9))",
    "COUNTIF(IF(A1>5,B1:B3,C1:C9),A1)",
    "IFERROR(D1*2,A1)",
    "IFNA(D1,-1)",
    "AND(A1>2,B1>2)+OR(A1:B3>8)+XOR(A1>4,B1>4)",
    "N(D1)&T(D1)",
    "MATCH(A1,$B$1:$B$20,0)",
    "MATCH(A1,B1:B5,0)",
    "MATCH(E1,$E$1:$E$20,0)",
    'MATCH(E1&"*",E2:E9,0)',
    "MATCH(A1,$G$1:$G$20,1)",
    "MATCH(A1,$G$1:$G$20)",
    "XMATCH(A1,$B$1:$B$20,-1,-1)",
    "XMATCH(A1+0.5,$G$1:$G$20,1,2)",
    "INDEX($C$1:$C$20,MATCH(A1,$B$1:$B$20,0))",
    "INDEX(A1:C5,B1-3,2)",
    "INDEX($A$1:$E$20,A1,IF(B1>4,1,2))",
    "SUM(INDEX($A$1:$C$20,A1,0))",
    "SUM(A1:INDEX(A1:A12,B1))",
    "VLOOKUP(A1,$G$1:$H$20,2)",
    "VLOOKUP(A1,$B$1:$C$20,2,FALSE)",
    "HLOOKUP(A1,A1:C6,B1,FALSE)",
    "LOOKUP(A1,$G$1:$G$20,$H$1:$H$20)",
    "XLOOKUP(E1,$E$2:$E$20,$A$2:$A$20,-1,0,-1)",
    "SUM(XLOOKUP(A1,$B$1:$B$20,$A$1:$C$20,0))",
    "XLOOKUP(A1,B1:B6,C1:C6,A1)",
    "CHOOSE(MOD(A1,3)+1,B1,C1,D1)",
    "OFFSET(A1,1,1)",
    "OFFSET($A$1,A1,1)",
    "SUM(OFFSET($A$1,B1,0,3,2))",
    'INDIRECT("B"&A1)',
    "ROW()+COLUMN()+ROW(A2)+ROWS($A$1:A3)+COLUMNS(A1:C1)",
    'ADDRESS(A1,B1,1,TRUE,"S"&C1)',
    "COUNTIF($A$1:$C$20,A1)",
    'COUNTIF(A1:C5,">"&B1)',
    'COUNTIF($A$1:$A$20,"<="&B1)',
    "SUMIF($E$1:$E$20,E1,$A$1:$A$20)",
    "SUMIF(A1:A6,B1,B1)",
    'SUMIFS($A$1:$A$20,$E$1:$E$20,E1,$B$1:$B$20,">"&C1)',
    "SUMIFS(A1:A6,E1:E6,E1)",
    "COUNTIFS($E$1:$E$20,E1,$A$1:$A$20,A1)",
    "AVERAGEIF($B$1:$B$20,A1,$C$1:$C$20)",
    "SUMIF($A$1:$A$20,A1,$D$1:$D$20)",
    "MAXIFS($C$1:$C$20,$E$1:$E$20,E1)-MINIFS(C1:C5,E1:E5,E1)",
    "COUNTIF($E$1:E1,E1)",
    'COUNTIF($A$1:C1,">"&B1)',
    "SUMIF($E$1:E1,E1,$B$1:B1)",
    "SUMIF($E$1:E1,E1,$B$1)",
    'SUMIF(A1:A$20,">5")',
    'SUMIFS(B1:B$9,E1:E$9,E1,A1:A$9,">4")',
    "SUMIFS(B1:B$5,E1:E$5,E1)",
    'AVERAGEIFS($B$1:B3,$E$1:E3,"*a*",$A$1:A3,A1)',
    "MAXIFS($C$1:C1,$A$1:A1,A1)+COUNTIFS($A$1:A1,A1,$E$1:E1,E1)",
    "SUMIF($A$1:A1,A1,$D$1:D1)",
    "COUNTIF(A1:C1,A1)+COUNTIF($A1:B1,4)",
    "MATCH(A1,$B$1:B2,0)",
    "VLOOKUP(A1,$A$1:C1,3,FALSE)",
    'LEFT(E1,A1-3)&MID(E1,2,B1)&RIGHT("abcdef",C1)',
    'SUBSTITUTE(E1,"a",A1)&REPT("x",B1)&LEN(E1)',
    'FIND("a",E1)',
    'SEARCH("?"&RIGHT(E1,1),E1)',
    'TEXT(A1/B1,"0.0#")&TEXT(A1*1000+40000,"yyyy-mm-dd")',
    'TEXTJOIN("-",TRUE,A1:C2,E1)',
    "CONCAT(A1:B2,E1)",
    'TEXTBEFORE(E1&"-x","-")',
    'VALUE(A1&"."&B1)',
    "DATE(2020,A1,B1*10)+WEEKDAY(40000+A1,2)+WEEKNUM(40000+B1*40)",
    "EOMONTH(40000+A1*100,B1)+EDATE(40000,A1)",
    "WORKDAY(40000+A1,B1,G1:G3+40000)",
    "NETWORKDAYS(40000+A1,40100+B1)",
    "YEARFRAC(40000+A1*50,41000+B1,1)",
    'DATEDIF(40000+A1*50,41000+B1*31,"md")',
    "SUM(UNIQUE(A1:A6))",
    "SUM(SORT(A1:A6,1,-1)*{6;5;4;3;2;1})",
    "INDEX(SORTBY(E1:E5,A1:A5,-1,B1:B5,1),2)",
    "SUM(TAKE(A1:C5,2,-1))+SUM(DROP(A1:C5,3))",
    "SUM(CHOOSECOLS(A1:C2,B1-3))",
    "SUM(HSTACK(A1:B2,C1:C2)*VSTACK(A1:C1,A2:C2))",
    "SUM(FILTER(A1:A6,B1:B6>3,0))",
    "SUM(SEQUENCE(A1,2,B1,C1))",
    "LET(x,A1,y,x+B1,x*y)",
    "SUM(MAP(A1:A3,B1:B3,LAMBDA(p,q,p*q+C1)))",
    "REDUCE(A1,B1:C3,LAMBDA(t,v,t*2+v))",
    "SUM(BYROW(A1:C3,LAMBDA(r,MAX(r))))",
    "SUM(MAKEARRAY(A1,2,LAMBDA(r,c,r*c+B1)))",
    "LET(f,LAMBDA(g,n,IF(n<2,1,n*g(g,n-1))),f(f,A1))",
]


def cell(random: np.random.Generator, row: int, column: int) -> Scalar:
    """Columns A to C numbers from 4 to 8, D of many kinds, E texts, G ascending, H numbers."""
    if column == 3:
        kinds: tuple[Scalar, ...] = (1.5, "word", True, None, CellErrorValue.NA, "7")
        return kinds[row % 6]
    if column == 4:
        return str(random.choice(["ab", "Ba", "AB", "b-a", ""]))
    return float(row * 1.5) if column == 6 else float(random.integers(4, 9))


def column_values(random: np.random.Generator, column: int, count: int = 40) -> Objects:
    values = np.empty((1, count, 1, 1), dtype=object)
    for row in range(count):
        values[0, row, 0, 0] = cell(random, row, column)
    return values


BASE = [column_values(np.random.default_rng(7 + column), column) for column in range(8)]


def model_of(changed: dict[int, Objects] | None = None) -> Model:
    """The base columns, the first rows of some of them replaced."""
    store = Store([Sheet("Sheet1")])
    for column, values in enumerate(BASE):
        store.write_column(0, 0, column, from_objects(values))
    for column, values in (changed or {}).items():
        store.write_column(0, 0, column, from_objects(values))
    return Model(store)


def assert_same(got: Value, wanted: Value, where: str) -> None:
    assert got.shape == wanted.shape, where
    for one, other in zip(got.objects().reshape(-1).tolist(), wanted.objects().reshape(-1).tolist(), strict=True):
        if isinstance(one, float) and isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-12, abs=1e-12), where
        else:
            assert (one, type(one)) == (other, type(other)), where


@pytest.mark.parametrize("formula", FORMULAS)
def test_cells_together_as_alone(formula: str) -> None:
    model = model_of()
    node = parse(formula, 0, 9)
    together = evaluate_lanes(model, node, Place(0, 0, 9, ROWS))
    together = together.broadcast((1, ROWS, 1, 1))
    for i in range(ROWS):
        assert_same(together.lane(0, i), evaluate_lanes(model, node, Place(0, i, 9)), f"row {i + 1}")


def scenarios_of(letters: str) -> tuple[Model, list[Model]]:
    """A model in which some columns vary over scenarios, and one for each scenario."""
    random = np.random.default_rng(11)
    together = model_of()
    together.scenarios = SCENARIOS
    cases: dict[int, Objects] = {}
    for column in ("ABCDEFGH".index(letter) for letter in letters):
        drawn = [column_values(random, column, LAST) for _ in range(SCENARIOS)]
        if column == 6:  # ascending in each scenario
            drawn = [BASE[6][:, :LAST] + float(s) for s in range(SCENARIOS)]
        cases[column] = np.concatenate(drawn)
        together.store.add_piece(0, column, Piece(0, LAST - 1, from_objects(cases[column])))
    return together, [model_of({c: array[s : s + 1] for c, array in cases.items()}) for s in range(SCENARIOS)]


VARYING = {letters: scenarios_of(letters) for letters in ("A", "B", "ABCE", "G")}


@pytest.mark.parametrize("letters", VARYING)
@pytest.mark.parametrize("formula", FORMULAS)
def test_scenarios_together_as_alone(formula: str, letters: str) -> None:
    together, singly = VARYING[letters]
    node = parse(formula, 0, 9)
    got = evaluate_lanes(together, node, Place(0, 0, 9, ROWS)).broadcast((SCENARIOS, ROWS, 1, 1))
    for s, model in enumerate(singly):
        wanted = evaluate_lanes(model, node, Place(0, 0, 9, ROWS)).broadcast((1, ROWS, 1, 1))
        for i in range(ROWS):
            assert_same(got.lane(s, i), wanted.lane(0, i), f"scenario {s}, row {i + 1}")
