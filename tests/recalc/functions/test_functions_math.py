"""Mathematical functions: results by hand, Excel's documented examples, and properties."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, NotEvaluable, Scalar

NUM, VALUE, DIV0, NA = CellErrorValue.NUM, CellErrorValue.VALUE, CellErrorValue.DIV0, CellErrorValue.NA

CELLS: dict[str, Scalar | int] = {
    "A1": 3,
    "A2": "word",
    "A3": True,
    "A4": "7",
    "A6": 5,
    "B1": 2,
    "B2": 4,
    "B3": 6,
    "C1": CellErrorValue.REF,
}
"""A5 is empty."""

BY_HAND: list[tuple[str, Scalar]] = [
    # direct arguments are converted, elements of ranges are not
    ("SUM(A1:A6)", 8.0),
    ('SUM(A1:A6,"7",TRUE)', 16.0),
    ('SUM("word")', VALUE),
    ('SUM({1,TRUE,"2"})', 1.0),
    ("SUM(A1,C1,B1)", CellErrorValue.REF),
    ("PRODUCT(A1:A6)", 15.0),
    ("PRODUCT(A5)", 0.0),
    ("SUMSQ(A1:A6)", 34.0),
    ("SUMPRODUCT(B1:B3,{1;10;100})", 642.0),
    ("SUMPRODUCT(A1:A3,B1:B3)", 6.0),
    ("SUMPRODUCT(B1:B3,B1:B2)", VALUE),
    ("SUMPRODUCT((B1:B3>2)*B1:B3)", 10.0),
    # rounding
    ("ROUND(2.5,0)", 3.0),
    ("ROUND(-2.5,0)", -3.0),
    ("ROUND(0.285,2)", 0.29),
    ("ROUND(1.005,2)", 1.01),
    ("ROUND(0.284999999999999,2)", 0.28),
    ("ROUND(1234.5,-2)", 1200.0),
    ("ROUND(55,-2)", 100.0),
    ("ROUND(5,-400)", 0.0),
    ("ROUND(123.456,400)", 123.456),
    ("ROUND(21.5,1.9)", 21.5),
    ("ROUNDUP(3.2,0)", 4.0),
    ("ROUNDUP(-3.14159,1)", -3.2),
    ("ROUNDUP(4.1*100,0)", 410.0),
    ("ROUNDDOWN(-3.14159,1)", -3.1),
    ("TRUNC(-8.9)", -8.0),
    ("TRUNC(0.29*100)", 29.0),
    ("INT(-8.9)", -9.0),
    ("INT(4.1*100)", 410.0),
    ("EVEN(-1)", -2.0),
    ("EVEN(0)", 0.0),
    ("ODD(0)", 1.0),
    ("ODD(-2)", -3.0),
    ("MROUND(10,3)", 9.0),
    ("MROUND(7.5,5)", 10.0),
    ("MROUND(-10,-3)", -9.0),
    ("MROUND(5,-2)", NUM),
    ("MROUND(TRUE,2)", VALUE),
    ("MROUND(,2)", NA),
    ("CEILING(2.5,1)", 3.0),
    ("CEILING(-2.5,-2)", -4.0),
    ("CEILING(-2.5,2)", -2.0),
    ("CEILING(1.5,-2)", NUM),
    ("CEILING(0.3,0.1)", 0.1 * 3),
    ("FLOOR(-2.5,-2)", -2.0),
    ("FLOOR(-2.5,2)", -4.0),
    ("FLOOR(2.5,0)", DIV0),
    ("CEILING.MATH(-5.5,2)", -4.0),
    ("CEILING.MATH(-5.5,2,1)", -6.0),
    ("FLOOR.MATH(-5.5,2,1)", -4.0),
    ("FLOOR.MATH(6.7)", 6.0),
    ("CEILING.PRECISE(-4.3,-2)", -4.0),
    ("ISO.CEILING(4.3)", 5.0),
    ("FLOOR.PRECISE(-3.2,-1)", -4.0),
    # division
    ("MOD(3,-2)", -1.0),
    ("MOD(-3,2)", 1.0),
    ("MOD(3,0)", DIV0),
    ("QUOTIENT(-10,3)", -3.0),
    ("QUOTIENT(1,0)", DIV0),
    ("GCD(24,36,60)", 12.0),
    ("GCD(5,0)", 5.0),
    ("GCD(-1,2)", NUM),
    ("LCM(24,36)", 72.0),
    ("LCM(0,5)", 0.0),
    ("MULTINOMIAL(2,3,4)", 1260.0),
    # powers and logarithms
    ("SQRT(-1)", NUM),
    ("POWER(-8,1/3)", -2.0),
    ("POWER(0,0)", NUM),
    ("POWER(0,-1)", DIV0),
    ("LOG(8,2)", 3.0),
    ("LOG(100)", 2.0),
    ("LOG(5,1)", DIV0),
    ("LN(0)", NUM),
    ("EXP(1000)", NUM),
    ("SERIESSUM(2,0,1,{1,2,3})", 17.0),
    # factorials
    ("FACT(5.9)", 120.0),
    ("FACT(-1)", NUM),
    ("FACT(171)", NUM),
    ("FACTDOUBLE(7)", 105.0),
    ("FACTDOUBLE(-1)", 1.0),
    ("COMBIN(8,2)", 28.0),
    ("COMBIN(2,3)", NUM),
    ("COMBINA(4,3)", 20.0),
    ("PERMUT(100,3)", 970200.0),
    ("PERMUTATIONA(3,2)", 9.0),
    # angles
    ("ATAN2(-1,-1)", -3 * math.pi / 4),
    ("ATAN2(0,0)", DIV0),
    ("ACOT(-1)", 3 * math.pi / 4),
    ("COT(0)", DIV0),
    ("ASIN(2)", NUM),
    ("SIN(PI())", 1.22514845490862e-16),
    ("COS(PI()/2)", 6.1257422745431e-17),
    ("COS(4*PI())", 1.0),
    ("SIN(-7*PI()/6)", 0.5),
    ("SIN(134217728)", NUM),
    ("DEGREES(PI())", 180.0),
    # numerals
    ("ROMAN(499)", "CDXCIX"),
    ("ROMAN(499,1)", "LDVLIV"),
    ("ROMAN(499,2)", "XDIX"),
    ("ROMAN(499,3)", "VDIV"),
    ("ROMAN(499,4)", "ID"),
    ("ROMAN(499,FALSE)", "ID"),
    ("ROMAN(4000)", VALUE),
    ("ROMAN(0)", ""),
    ('ARABIC(" mcmxii ")', 1912.0),
    ('ARABIC("-LVII")', -57.0),
    ('ARABIC("Z")', VALUE),
    ("BASE(15,2,10)", "0000001111"),
    ("BASE(-1,2)", NUM),
    ('DECIMAL("zap",36)', 45745.0),
    ('DECIMAL("12",2)', NUM),
    # matrices
    ("MDETERM({3,6,1;1,1,0;3,10,2})", 1.0),
    ("MDETERM({1,2;3,4;5,6})", VALUE),
    ("SUM(MMULT({1,2;3,4},{5;6}))", 56.0),
    ("MMULT({1,2},{1,2})", VALUE),
    ("MMULT(A1:A2,{1,2})", VALUE),
    ("MINVERSE({1,2;2,4})", NUM),
    ("SUM(MUNIT(4))", 4.0),
    ("SUMX2MY2({2,3,9},{6,5,11})", -88.0),
    ("SUMX2PY2({2,3,9},{6,5,11})", 276.0),
    ("SUMXMY2({2,3,9},{6,5,11})", 24.0),
    ("SUMXMY2({2,3},{6,5,11})", NA),
    ("PERCENTOF({1,2},{1,2,3,4})", 0.3),
]


@pytest.mark.parametrize(("formula", "wanted"), BY_HAND)
def test_by_hand(formula: str, wanted: Scalar) -> None:
    got = evaluate_formula("=" + formula, CELLS)
    if isinstance(wanted, float):
        assert got == pytest.approx(wanted, rel=1e-14, abs=0)
    else:
        assert got == wanted


def test_unknown_functions_are_reported_and_not_guessed() -> None:
    with pytest.raises(NotEvaluable, match=r"FORECAST\.ETS"):
        evaluate_formula("=FORECAST.ETS(1,A1:A3,B1:B3)", CELLS)


def test_inverse_of_a_matrix() -> None:
    got = evaluate_formula("=MMULT(MINVERSE({2,1;7,4}),{2,1;7,4})")
    assert isinstance(got, list)
    assert [x for row in got for x in row] == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-12)


@given(st.integers(-(10**14), 10**14), st.integers(-12, 12), st.integers(-3, 14))
def test_round_is_decimal_rounding_of_what_is_shown(digits: int, exponent: int, places: int) -> None:
    number = float(Decimal(digits).scaleb(exponent))
    got = evaluate_formula(f"=ROUND(A1,{places})", {"A1": number})
    shown = Decimal(digits).scaleb(exponent)
    wanted = shown.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=Context(prec=60))
    assert got == float(wanted)


@given(st.integers(1, 3999), st.integers(0, 4))
def test_arabic_reads_every_form_of_roman(number: int, form: int) -> None:
    assert evaluate_formula(f"=ARABIC(ROMAN({number},{form}))") == number


@given(st.integers(0, 2**53 - 1), st.integers(2, 36))
def test_decimal_reads_base(number: int, radix: int) -> None:
    assert evaluate_formula(f"=DECIMAL(BASE({number},{radix}),{radix})") == number


@given(st.integers(-(10**6), 10**6), st.integers(-1000, 1000).filter(bool))
def test_mod_of_whole_numbers_is_exact(number: int, divisor: int) -> None:
    assert evaluate_formula(f"=MOD({number},{divisor})") == number % divisor


@given(st.integers(-10_000, 10_000), st.integers(1, 400))
def test_ceiling_and_floor_enclose(number: int, step: int) -> None:
    x, width = Fraction(number, 100), Fraction(step, 100)
    above = evaluate_formula(f"=CEILING.MATH({number}/100,{step}/100)")
    below = evaluate_formula(f"=FLOOR.MATH({number}/100,{step}/100)")
    assert above == pytest.approx(float(math.ceil(x / width) * width), abs=1e-9)
    assert below == pytest.approx(float(math.floor(x / width) * width), abs=1e-9)


def test_random_numbers_stay_in_their_range() -> None:
    drawn = [evaluate_formula("=RANDBETWEEN(-2,2)") for _ in range(300)]
    assert set(drawn) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert evaluate_formula("=RANDBETWEEN(3,2)") == NUM
    assert all(0 <= evaluate_formula("=RAND()") < 1 for _ in range(50))  # type: ignore[operator]
