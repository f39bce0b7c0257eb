"""Financial functions: the examples of Excel's documentation, and identities between functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

NUM, VALUE, DIV0, NA = CellErrorValue.NUM, CellErrorValue.VALUE, CellErrorValue.DIV0, CellErrorValue.NA

FLOWS = "{-70000,12000,15000,18000,21000,26000}"
DATED = "{-10000,2750,4250,3250,2750},{39448,39508,39751,39859,39904}"

DOCUMENTED: list[tuple[str, str]] = [
    ("PMT(0.08/12,10,10000)", "-1037.03"),
    ("PMT(0.06/12,18*12,0,50000)", "-129.08"),
    ("FV(0.06/12,10,-200,-500,1)", "2581.40"),
    ("FV(0,10,-200,-500,1)", "2500"),
    ("PV(0.08/12,12*20,500)", "-59777.15"),
    ("NPER(12%/12,-100,-1000,10000,1)", "59.6738657"),
    ("NPER(1%,-100,-1000,10000)", "60.0821229"),
    ("RATE(48,-200,8000)", "0.0077014725"),
    ("RATE(12,-200,800,100,1)", "0.314971037"),
    ("IPMT(0.1/12,1,36,8000)", "-66.67"),
    ("IPMT(0.1,3,3,8000)", "-292.45"),
    ("PPMT(0.1/12,1,24,2000)", "-75.62"),
    ("PPMT(0.08,10,10,200000)", "-27598.05"),
    ("ISPMT(0.1/12,1,36,8000000)", "-64814.8148"),
    ("CUMIPMT(0.09/12,360,125000,13,24,0)", "-11135.23"),
    ("CUMPRINC(0.09/12,360,125000,13,24,0)", "-934.1071"),
    ("NPV(0.1,-10000,3000,4200,6800)", "1188.44"),
    (f"IRR({FLOWS})", "0.0866309"),
    ("IRR({-70000,12000,15000},-0.1)", "-0.4435069"),
    ("MIRR({-120000,39000,30000,21000,37000,46000},0.1,0.12)", "0.1260941"),
    (f"XNPV(0.09,{DATED})", "2086.647602"),
    (f"XIRR({DATED},0.1)", "0.37336253"),
    ("DB(1000000,100000,6,1,7)", "186083.33"),
    ("DB(1000000,100000,6,2,7)", "259639.42"),
    ("DB(1000000,100000,6,7,7)", "15845.10"),
    ("DDB(2400,300,3650,1)", "1.32"),
    ("DDB(2400,300,10,2,1.5)", "306.00"),
    ("DDB(2400,300,10,10)", "22.12"),
    ("SLN(30000,7500,10)", "2250"),
    ("SYD(30000,7500,10,1)", "4090.91"),
    ("VDB(2400,300,10*12,6,18)", "396.31"),
    ("VDB(2400,300,10,0,0.875,1.5)", "315.00"),
    ("VDB(2400,300,10*12,6,18,1.5)", "311.81"),
    ("AMORLINC(2400,39679,39813,300,1,0.15,1)", "360"),
    ("AMORDEGRC(2400,39679,39813,300,1,0.15,1)", "776"),
    ("COUPNUM(39107,39767,2,1)", "4"),
    ("COUPDAYBS(40568,40862,2,1)", "71"),
    ("COUPDAYS(40568,40862,2,1)", "181"),
    ("COUPDAYSNC(40568,40862,2,1)", "110"),
    ("COUPPCD(40568,40862,2,1)", "40497"),
    ("COUPNCD(40568,40862,2,1)", "40678"),
    ("PRICE(39493,43054,0.0575,0.065,100,2,0)", "94.63436"),
    ("YIELD(39493,42689,0.0575,95.04287,100,2,0)", "0.065000"),
    ("DURATION(43282,54058,0.08,0.09,2,1)", "10.9191453"),
    ("MDURATION(39448,42370,0.08,0.09,2,1)", "5.73567"),
    ("DISC(43282,54058,97.975,100,1)", "0.000686384"),
    ("INTRATE(39493,39583,1000000,1014420,2)", "0.05768"),
    ("RECEIVED(39493,39583,1000000,0.0575,2)", "1014584.65"),
    ("PRICEDISC(39494,39508,0.0525,100,2)", "99.79583"),
    ("YIELDDISC(39494,39508,99.795,100,2)", "0.052823"),
    ("PRICEMAT(39493,39551,39397,0.061,0.061,0)", "99.98449888"),
    ("YIELDMAT(39522,39755,39394,0.0625,100.0123,0)", "0.060954333"),
    ("ACCRINTM(39539,39614,0.1,1000,3)", "20.54794521"),
    ("ACCRINT(39508,39691,39569,0.1,1000,2,0)", "16.666667"),
    ("ACCRINT(39512,39691,39569,0.1,1000,2,0,FALSE)", "15.555556"),
    ("ACCRINT(39543,39691,39569,0.1,1000,2,0,TRUE)", "7.2222222"),
    ("TBILLEQ(39538,39600,0.0914)", "0.09415149"),
    ("TBILLPRICE(39538,39600,0.09)", "98.45"),
    ("TBILLYIELD(39538,39600,98.45)", "0.09141696"),
    ("ODDFPRICE(39763,44256,39736,39873,0.0785,0.0625,100,2,1)", "113.597717"),
    ("ODDFYIELD(39763,44256,39736,39873,0.0575,84.5,100,2,0)", "0.07724554"),
    ("ODDLPRICE(39485,39614,39370,0.0375,0.0405,100,2,0)", "99.87828601"),
    ("ODDLYIELD(39558,39614,39440,0.0375,99.875,100,2,0)", "0.0451922"),
    ("EFFECT(0.0525,4)", "0.0535427"),
    ("NOMINAL(0.053543,4)", "0.05250032"),
    ("RRI(96,10000,11000)", "0.0009933"),
    ("PDURATION(2.5%,2000,2200)", "3.8598661"),
    ("FVSCHEDULE(1,{0.09,0.11,0.1})", "1.33089"),
    ("DOLLARDE(1.02,16)", "1.125"),
    ("DOLLARDE(1.1,32)", "1.3125"),
    ("DOLLARFR(1.125,16)", "1.02"),
]


@pytest.mark.parametrize(("formula", "printed"), DOCUMENTED)
def test_documented_example(formula: str, printed: str) -> None:
    """Equal to as many places as the documentation prints (it cuts as often as it rounds)."""
    got = evaluate_formula("=" + formula)
    places = len(printed.partition(".")[2])
    assert got == pytest.approx(float(printed), abs=1.001 * 10.0**-places)


ERRORS: list[tuple[str, Scalar]] = [
    ("PMT(0.1,0,100)", NUM),
    ("IPMT(0.1,4,3,8000)", NUM),
    ("RATE(1,-100,1000)", -0.9),
    ("RATE(10,100,1000)", NUM),
    ("IRR({1,2,3})", NUM),
    ("MIRR({1,2,3},0.1,0.1)", DIV0),
    ("XIRR({1,2},{40000,40100})", NUM),
    ("XNPV(0.1,{1,2},{40000,39000})", NUM),
    ("XNPV(0.1,{1,2,3},{40000,41000})", NUM),
    ("CUMIPMT(0.1,10,1000,5,2,0)", NUM),
    ("EFFECT(0,4)", NUM),
    ("EFFECT(TRUE,4)", VALUE),
    ("EFFECT(,4)", NA),
    ("DOLLARDE(1.02,0.5)", DIV0),
    ("DOLLARDE(1.02,-1)", NUM),
    ("SLN(1,2,0)", DIV0),
    ("SYD(1,2,3,4)", NUM),
    ("VDB(2400,300,10,5,3)", NUM),
    ("COUPNUM(40000,40000,2)", NUM),
    ("COUPNUM(40000,41000,3)", NUM),
    ("PRICE(40000,41000,0.05,0.06,100,2,5)", NUM),
    ("TBILLPRICE(40000,40366,0.1)", NUM),
    ("ODDFPRICE(39763,39873,39736,44256,0.0785,0.0625,100,2,1)", NUM),
    ("AMORDEGRC(2400,39679,39813,300,1,0.22,1)", NUM),
    ("NPV(-1,5)", DIV0),
]


@pytest.mark.parametrize(("formula", "wanted"), ERRORS)
def test_errors(formula: str, wanted: Scalar) -> None:
    got = evaluate_formula("=" + formula)
    assert got == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)


def test_npv_and_irr_skip_what_is_no_number() -> None:
    cells: dict[str, Scalar | int] = {"A1": -100, "A2": "word", "A3": 60, "A5": True, "A6": 70}
    plain = evaluate_formula("=NPV(0.1,-100,60,70)")
    assert evaluate_formula("=NPV(0.1,A1:A6)", cells) == pytest.approx(plain)
    assert evaluate_formula("=IRR(A1:A6)", cells) == pytest.approx(evaluate_formula("=IRR({-100,60,70})"))


rates = st.floats(0.001, 0.5)


@given(rates, st.integers(1, 60), st.floats(-1000, 1000), st.floats(-1000, 1000), st.integers(0, 1))
def test_pv_undoes_fv(rate: float, periods: int, payment: float, present: float, when: int) -> None:
    cells: dict[str, Scalar | int] = {"A1": rate, "A2": periods, "A3": payment, "A4": present, "A5": when}
    got = evaluate_formula("=PV(A1,A2,A3,FV(A1,A2,A3,A4,A5),A5)", cells)
    assert got == pytest.approx(present, rel=1e-9, abs=1e-9 * (abs(payment) + 1) / rate)


@given(rates, st.integers(2, 40), st.integers(0, 1))
def test_interest_and_repayment_make_the_loan(rate: float, periods: int, when: int) -> None:
    cells: dict[str, Scalar | int] = {"A1": rate, "A2": periods, "A3": when}
    got = evaluate_formula("=CUMPRINC(A1,A2,1000,1,A2,A3)", cells)
    assert got == pytest.approx(-1000, rel=1e-8)
    both = evaluate_formula("=CUMIPMT(A1,A2,1000,1,A2,A3)+CUMPRINC(A1,A2,1000,1,A2,A3)-A2*PMT(A1,A2,1000,0,A3)", cells)
    assert both == pytest.approx(0, abs=1e-6)


@given(st.integers(36600, 42000), st.integers(30, 9000), st.sampled_from([1, 2, 4]), st.integers(0, 4))
def test_yield_undoes_price(settlement: int, days: int, frequency: int, basis: int) -> None:
    term = f"{settlement},{settlement + days},0.06"
    got = evaluate_formula(f"=YIELD({term},PRICE({term},0.045,100,{frequency},{basis}),100,{frequency},{basis})")
    assert got == pytest.approx(0.045, rel=1e-7)


@given(st.integers(36600, 42000), st.integers(20, 700), st.integers(0, 4))
def test_odd_yields_undo_odd_prices(issue: int, before: int, basis: int) -> None:
    first = issue + before + 40
    odd = f"{issue + before},EDATE({first},24),{issue},{first},0.06"
    got = evaluate_formula(f"=ODDFYIELD({odd},ODDFPRICE({odd},0.045,100,2,{basis}),100,2,{basis})")
    assert got == pytest.approx(0.045, rel=1e-7)
    last = f"{issue + before},{first},{issue},0.06"
    got = evaluate_formula(f"=ODDLYIELD({last},ODDLPRICE({last},0.045,100,2,{basis}),100,2,{basis})")
    assert got == pytest.approx(0.045, rel=1e-7)


def test_a_regular_first_period_has_the_regular_price() -> None:
    """Issued on a coupon date, ODDFPRICE is PRICE."""
    odd = evaluate_formula("=ODDFPRICE(DATE(2010,2,1),DATE(2015,1,1),DATE(2010,1,1),DATE(2010,7,1),0.06,0.05,100,2,0)")
    plain = evaluate_formula("=PRICE(DATE(2010,2,1),DATE(2015,1,1),0.06,0.05,100,2,0)")
    assert odd == pytest.approx(plain, rel=1e-12)


def test_depreciation_without_switch_or_salvage_sums_to_ddb() -> None:
    total = evaluate_formula("=VDB(1000,10,8,0,5,2,TRUE)")
    each = [evaluate_formula(f"=DDB(1000,10,8,{period},2)") for period in range(1, 6)]
    assert total == pytest.approx(sum(e for e in each if isinstance(e, float)))
