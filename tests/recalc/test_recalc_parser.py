"""Excel's grammar: precedence by hand, and printing that parses back to the same tree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.recalc.families import Template, shifted
from workbench.recalc.lexer import FormulaError
from workbench.recalc.nodes import (
    Apply,
    Area,
    ArrayConstant,
    Binary,
    CellReference,
    ErrorLiteral,
    FunctionCall,
    Logical,
    Missing,
    NameReference,
    Node,
    Number,
    Sheets,
    SpillReference,
    TableReference,
    Text,
    Unary,
)
from workbench.recalc.parser import parse
from workbench.recalc.printer import unparse
from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1+2*3", 7),
        ("=-2^2", 4),
        ("=0-2^2", -4),
        ("=2^3^2", 64),
        ("=2^-1", 0.5),
        ("=50%*4", 2),
        ("=5%%", 0.0005),
        ("=-50%", -0.5),
        ("=10-3-2", 5),
        ("=100/10/5", 2),
        ('=1&2+3&"x"', "15x"),
        ('="a"&1=1&"a"', False),
        ("=1<2=TRUE", True),
        ("=3>2>1", True),
        ("=--5", 5),
        ("=+5", 5),
        ("=SUM((1,2),3)" if False else "=SUM(1,2,3)", 6),
        ("=SUM({1,2;3,4})", 10),
        ("=IF(,1,2)", 2),
        ('="say ""hi"""', 'say "hi"'),
        ("= 1 + 2 ", 3),
        ("=1E3+.5", 1000.5),
        ("=TRUE+1", 2),
        ("=#N/A", CellErrorValue.NA),
        ("=LAMBDA(x,x+1)(2)", 3),
        ("=SUM(A1:A3 A2:B2)", 2),
        ("=SUM((A1,A3))", 4),
        ("=SUM(A1:INDEX(A1:A3,2))", 3),
        ("=sum(a1:a3)", 6),
        ("=SUM($A$1:A$3)", 6),
        ("=SUM(A:A)", 6),
        ("=SUM(2:2)", 2),
        ("=Sheet1!A1+'Sheet1'!A2", 3),
    ],
)
def test_values(formula: str, value: object) -> None:
    assert evaluate_formula(formula, {"A1": 1, "A2": 2, "A3": 3}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1+",
        "(1",
        "1)",
        "SUM(1",
        "A1:",
        "{1,2;3}",
        "{A1}",
        '"open',
        "1 2",
        "[1",
        "t[[#x]",
        "XFE1:A1+",
        "$",
        "A1 ! 2",
    ],
)
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert "at character" in str(caught.value)


def test_a_message_quotes_only_the_start_of_a_long_formula() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("SUM(" + "1," * 3000)
    assert len(str(caught.value)) < 250


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("t[a]", TableReference("t", (), "a")),
        ("t[]", TableReference("t")),
        ("t[#All]", TableReference("t", ("#all",))),
        ("t[@a]", TableReference("t", ("#this row",), "a")),
        ("t[@[a b]]", TableReference("t", ("#this row",), "a b")),
        ("[@a]", TableReference("", ("#this row",), "a")),
        ("t[[#This Row],[a (ms)]]", TableReference("t", ("#this row",), "a (ms)")),
        ("t[[#Headers],[#Data],[a]:[b]]", TableReference("t", ("#headers", "#data"), "a", "b")),
        ("t['[x'] '#1]", TableReference("t", (), "[x] #1")),
        ("t[[a]:[c]]", TableReference("t", (), "a", "c")),
        ("A1#", SpillReference(CellReference(Area(0, 0, 0, 0, single=True)))),
        ("_xlfn.ANCHORARRAY(A1)", SpillReference(CellReference(Area(0, 0, 0, 0, single=True)))),
        ("_xlfn._xlws.SORT(x)", FunctionCall("SORT", (NameReference("x"),))),
        ("'It''s'!$A$1", CellReference(Area(0, 0, 0, 0, True, True, True, True, True), Sheets("It's"))),
        ("Jan:Mar!A1", CellReference(Area(0, 0, 0, 0, single=True), Sheets("Jan", "Mar"))),
        ("[2]Data!A1", CellReference(Area(0, 0, 0, 0, single=True), Sheets("Data", None, "2"))),
        ("F(1,,2)", FunctionCall("F", (Number(1), Missing(), Number(2)))),
        ("LOG10(1)", FunctionCall("LOG10", (Number(1),))),
        ("A1B", NameReference("A1B")),
        ("#REF!A1", ErrorLiteral(CellErrorValue.REF)),
    ],
)
def test_trees(text: str, node: Node) -> None:
    assert parse(text) == node


# --- properties

_names = st.sampled_from(["rate", "total_x", "_n", "größe", "x.y"])
_sheets = st.none() | st.builds(
    Sheets,
    st.sampled_from(["Data", "My sheet", "It's", "2024", "A1", "R1C1"]),
    st.none() | st.sampled_from(["Last", "the end"]),
    st.none() | st.just("3"),
)


@st.composite
def areas(draw: st.DrawFn) -> Area:
    r1, r2 = sorted(draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    c1, c2 = sorted(draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    flags = draw(st.tuples(*[st.booleans()] * 4))
    kind = draw(st.sampled_from(["cell", "range", "columns", "rows"]))
    if kind == "cell":
        return Area(r1, c1, r1, c1, flags[0], flags[1], flags[0], flags[1], True)
    if kind == "range":
        return Area(r1, c1, r2, c2, *flags)
    if kind == "columns":
        return Area(None, c1, None, c2, False, flags[1], False, flags[3])
    return Area(r1, None, r2, None, flags[0], False, flags[2], False)


_literals: st.SearchStrategy[Node] = st.one_of(
    st.builds(Number, st.floats(0, 1e300, allow_nan=False)),
    st.builds(Text, st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)),
    st.builds(Logical, st.booleans()),
    st.builds(ErrorLiteral, st.sampled_from(list(CellErrorValue))),
)
_references: st.SearchStrategy[Node] = st.one_of(
    st.builds(CellReference, areas(), _sheets),
    st.builds(NameReference, _names),
    st.builds(
        TableReference,
        st.sampled_from(["ops", "T_1"]),
        st.sampled_from([(), ("#all",), ("#this row",), ("#headers", "#data")]),
        st.sampled_from(["a", "b (ms)", "x]y", "#n", "it's"]),
    ),
)


def _extended(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    argument = inner | st.just(Missing())
    return st.one_of(
        st.builds(
            Binary, st.sampled_from(["^", "*", "/", "+", "-", "&", "=", "<>", "<", ">", "<=", ">="]), inner, inner
        ),
        st.builds(Unary, st.sampled_from("-+%"), inner),
        st.builds(
            FunctionCall, st.sampled_from(["SUM", "IF", "F.X"]), st.lists(argument, min_size=2, max_size=3).map(tuple)
        ),
        st.builds(Apply, st.builds(FunctionCall, st.just("LAMBDA"), st.tuples(inner, inner)), st.tuples(inner)),
        st.builds(Binary, st.sampled_from([" ", ":"]), _references, _references),
        st.builds(ArrayConstant, st.lists(st.tuples(_literals, _literals), min_size=1, max_size=2).map(tuple)),
    )


_trees = st.recursive(_literals | _references, _extended, max_leaves=12)


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(tree=_trees)
def test_what_is_printed_parses_back(tree: Node) -> None:
    once = parse(unparse(tree))
    assert parse(unparse(once)) == once
    assert unparse(once) == unparse(tree) or once == tree


@pytest.mark.property
@settings(max_examples=300, deadline=None)
@given(tree=_trees, row=st.integers(0, 50), column=st.integers(0, 50), down=st.integers(0, 9), right=st.integers(0, 9))
def test_a_moved_formula_is_the_same_relatively(tree: Node, row: int, column: int, down: int, right: int) -> None:
    text = unparse(tree, row, column)
    moved = shifted(text, down, right)
    assert parse(moved, row + down, column + right) == parse(text, row, column)
    assert Template(text, row).at(row + down) == shifted(text, down, 0)
