"""Dynamic arrays, LET and LAMBDA."""

from __future__ import annotations

import pytest

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

VALUE, NA, CALC = CellErrorValue.VALUE, CellErrorValue.NA, CellErrorValue.CALC

CELLS: dict[str, Scalar | int] = {
    "A1": 3,
    "A2": "b",
    "A3": True,
    "A5": "a",
    "A6": 1,
    "A7": False,
    "B1": 10,
    "B2": 20,
    "B3": 30,
}

ARRAYS = [
    ("=FILTER({1,2,3},{1,0,1})", [[1.0, 3.0]]),
    ("=FILTER(B1:B3,B1:B3>10)", [[20.0], [30.0]]),
    ("=FILTER({1,2;3,4},{TRUE;FALSE})", [[1.0, 2.0]]),
    ('=FILTER({1,2},{0,0},"none")', "none"),
    ("=FILTER({1,2},{0,0})", CALC),
    ("=FILTER({1,2},{1,0,1})", VALUE),
    ('=FILTER({1,2},{"x",1})', VALUE),
    ("=FILTER({1,2},{#N/A,1})", NA),
    ("=SORT(A1:A7)", [[1.0], [3.0], ["a"], ["b"], [False], [True], [None]]),
    ("=SORT(A1:A7,1,-1)", [[True], [False], ["b"], ["a"], [3.0], [1.0], [None]]),
    ("=SORT({3,1,2},1,1,TRUE)", [[1.0, 2.0, 3.0]]),
    ("=SORT({1,9;1,8;0,7},{1,2},{-1,1})", [[1.0, 8.0], [1.0, 9.0], [0.0, 7.0]]),
    ("=SORT({1,2},3)", VALUE),
    ("=SORT({1,2},1,2)", VALUE),
    ('=SORTBY({"a";"b";"c"},{3;1;2})', [["b"], ["c"], ["a"]]),
    ('=SORTBY({"a","b","c"},{1,1,2},-1,{5,4,6},1)', [["c", "b", "a"]]),
    ("=SORTBY({1;2},{1;2;3})", VALUE),
    ('=UNIQUE({"a";"B";"A";"b";1})', [["a"], ["B"], [1.0]]),
    ("=UNIQUE({1,1,2},TRUE)", [[1.0, 2.0]]),
    ("=UNIQUE({1,1,2},TRUE,TRUE)", 2.0),
    ("=UNIQUE({1;1},,TRUE)", CALC),
    ("=UNIQUE({1,2;1,2;1,3})", [[1.0, 2.0], [1.0, 3.0]]),
    ("=SEQUENCE(2,2,10,-2)", [[10.0, 8.0], [6.0, 4.0]]),
    ("=SEQUENCE(,3)", [[1.0, 2.0, 3.0]]),
    ("=SEQUENCE(0)", CALC),
    ("=SEQUENCE(-1)", VALUE),
    ("=TAKE({1,2;3,4},1,-1)", 2.0),
    ("=TAKE({1,2;3,4},,1)", [[1.0], [3.0]]),
    ("=TAKE({1,2},0)", CALC),
    ("=TAKE({1,2},5)", [[1.0, 2.0]]),
    ("=DROP({1,2;3,4},1)", [[3.0, 4.0]]),
    ("=DROP({1,2;3,4},,-1)", [[1.0], [3.0]]),
    ("=DROP({1,2},1)", CALC),
    ("=SUM(B1:TAKE(B1:B3,-2))", 60.0),  # TAKE of a range is a range
    ("=CHOOSECOLS({1,2,3},3,-3)", [[3.0, 1.0]]),
    ("=CHOOSEROWS({1;2;3},{1,3})", [[1.0], [3.0]]),
    ("=CHOOSECOLS({1,2},3)", VALUE),
    ("=HSTACK({1;2},3)", [[1.0, 3.0], [2.0, NA]]),
    ("=VSTACK({1,2},3)", [[1.0, 2.0], [3.0, NA]]),
    ("=TOCOL({1,2;3,4},,TRUE)", [[1.0], [3.0], [2.0], [4.0]]),
    ("=TOROW(A3:B4,1)", [[True, 30.0]]),
    ("=TOROW({1,#N/A,2},2)", [[1.0, 2.0]]),
    ("=TOCOL(A4:A4,1)", CALC),
    ("=WRAPROWS({1,2,3},2)", [[1.0, 2.0], [3.0, NA]]),
    ('=WRAPCOLS({1,2,3},2,"-")', [[1.0, 3.0], [2.0, "-"]]),
    ("=WRAPROWS({1,2;3,4},2)", VALUE),
    ("=WRAPROWS({1,2},0)", CellErrorValue.NUM),
    ("=EXPAND({1,2},2,3,0)", [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
    ("=EXPAND({1,2},1,1)", VALUE),
]

LAMBDAS = [
    ("=LET(x,5,y,x+1,x*y)", 30.0),
    ("=LET(a,1)", VALUE),
    ("=LAMBDA(a,b,a+b)(1,2)", 3.0),
    ("=LAMBDA(a,a)(1,2)", VALUE),
    ("=LAMBDA(x,x)", CALC),
    ("=LAMBDA(x,y,IF(ISOMITTED(y),x,x+y))(1)", 1.0),
    ("=LET(add,LAMBDA(n,LAMBDA(x,x+n)),add(2)(3))", 5.0),
    ("=LET(n,10,f,LAMBDA(x,x+n),LET(n,99,f(1)))", 11.0),  # names where it was written
    ("=MAP({1,2;3,4},LAMBDA(x,x*x))", [[1.0, 4.0], [9.0, 16.0]]),
    ("=MAP({1,2},{10,20},LAMBDA(x,y,x+y))", [[11.0, 22.0]]),
    ("=MAP({1,2},{10},LAMBDA(x,y,x+y))", [[11.0, NA]]),
    ("=MAP({1,2},LAMBDA(x,{1,2}))", [[CALC, CALC]]),
    ("=MAP(B1:B3,LAMBDA(c,ROW(c)))", [[1.0], [2.0], [3.0]]),
    ("=REDUCE(0,{1,2;3,4},LAMBDA(t,v,t*10+v))", 1234.0),
    ("=REDUCE(,{1,2,3},LAMBDA(t,v,t*10+v))", 123.0),
    ("=REDUCE({0},{1,2},LAMBDA(t,v,HSTACK(t,v)))", [[0.0, 1.0, 2.0]]),
    ("=SCAN(0,{1,2;3,4},LAMBDA(t,v,t+v))", [[1.0, 3.0], [6.0, 10.0]]),
    ("=BYROW({1,2;3,4},LAMBDA(r,SUM(r)))", [[3.0], [7.0]]),
    ("=BYCOL({1,2;3,4},MAX)", [[3.0, 4.0]]),
    ('=BYROW(B1:B3,LAMBDA(r,COUNTIF(r,">15")))', [[0.0], [1.0], [1.0]]),
    ("=MAKEARRAY(2,3,LAMBDA(r,c,r*10+c))", [[11.0, 12.0, 13.0], [21.0, 22.0, 23.0]]),
    ("=MAKEARRAY(0,1,LAMBDA(r,c,r))", VALUE),
    ("=LET(f,LAMBDA(g,n,IF(n<2,1,n*g(g,n-1))),f(f,10))", 3628800.0),
]


@pytest.mark.parametrize(("formula", "expected"), ARRAYS + LAMBDAS)
def test_array_function(formula: str, expected: object) -> None:
    assert evaluate_formula(formula, CELLS) == expected


def test_a_name_may_be_a_lambda_that_calls_itself() -> None:
    names = {"fact": "LAMBDA(n,IF(n<2,1,n*fact(n-1)))"}
    assert evaluate_formula("=fact(6)", names=names) == 720.0
    assert evaluate_formula("=MAP({1,2,3},fact)", names=names) == [[1.0, 2.0, 6.0]]


def test_random_arrays_keep_their_bounds() -> None:
    rows = evaluate_formula("=RANDARRAY(20,3,5,9,TRUE)")
    assert isinstance(rows, list)
    assert {item for row in rows for item in row} <= {5.0, 6.0, 7.0, 8.0, 9.0}
    assert len(rows) == 20 and len(rows[0]) == 3
    assert evaluate_formula("=RANDARRAY(1,1,5,4)") is VALUE
