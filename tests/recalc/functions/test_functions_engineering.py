"""Engineering functions: documented examples, SciPy's Bessel functions, Python's complex functions, round trips."""

from __future__ import annotations

import cmath
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.recalc.functions.complex_numbers import parsed, written
from workbench.recalc.functions.units import _METRIC, _UNITS
from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

NUM, VALUE, DIV0, NA = CellErrorValue.NUM, CellErrorValue.VALUE, CellErrorValue.DIV0, CellErrorValue.NA

BY_HAND: list[tuple[str, Scalar]] = [
    ("BIN2DEC(1100100)", 100.0),
    ('BIN2DEC("1111111111")', -1.0),
    ('BIN2DEC("11111111110")', NUM),
    ('BIN2DEC("12")', NUM),
    ("BIN2OCT(1001,3)", "011"),
    ("BIN2HEX(1110)", "E"),
    ("DEC2BIN(9,4)", "1001"),
    ("DEC2BIN(-100)", "1110011100"),
    ("DEC2BIN(512)", NUM),
    ("DEC2BIN(9,3)", NUM),
    ("DEC2BIN(9.99)", "1001"),
    ("DEC2BIN(TRUE)", VALUE),
    ("DEC2HEX(-54)", "FFFFFFFFCA"),
    ("DEC2OCT(58,3)", "072"),
    ('HEX2BIN("fffffffe00")', "1000000000"),
    ('HEX2BIN("200")', NUM),
    ('HEX2DEC("3DA408B9")', 1034160313.0),
    ('HEX2DEC("FFFFFFFF5B")', -165.0),
    ('OCT2HEX("7777777533")', "FFFFFFFF5B"),
    ("OCT2DEC(54)", 44.0),
    ("BITAND(13,25)", 9.0),
    ("BITOR(23,10)", 31.0),
    ("BITXOR(5,3)", 6.0),
    ("BITAND(-1,2)", NUM),
    ("BITAND(1.5,2)", NUM),
    ("BITAND(2^48,1)", NUM),
    ("BITLSHIFT(4,2)", 16.0),
    ("BITLSHIFT(1,48)", NUM),
    ("BITRSHIFT(13,2)", 3.0),
    ("BITRSHIFT(13,-2)", 52.0),
    ("DELTA(5,4)", 0.0),
    ("DELTA(0)", 1.0),
    ("GESTEP(5,5)", 1.0),
    ("GESTEP(-4,-5)", 1.0),
    ("GESTEP(-1)", 0.0),
    ("COMPLEX(3,4)", "3+4i"),
    ('COMPLEX(0,-1,"j")', "-j"),
    ("COMPLEX(1,0)", "1"),
    ("COMPLEX(0,0)", "0"),
    ('COMPLEX(1,1,"k")', VALUE),
    ('IMREAL("6-9i")', 6.0),
    ('IMAGINARY("-j")', -1.0),
    ("IMAGINARY(4)", 0.0),
    ('IMABS("5+12i")', 13.0),
    ('IMARGUMENT("0")', DIV0),
    ('IMCONJUGATE("3+4i")', "3-4i"),
    ('IMSUM("3+4i","5-3i")', "8+i"),
    ('IMSUB("13+4i","5+3i")', "8+i"),
    ('IMSUB("13+4i","5+3j")', VALUE),
    ('IMPRODUCT("3+4i","5-3i")', "27+11i"),
    ('IMPRODUCT("1+2i",30)', "30+60i"),
    ('IMDIV("-238+240i","10+24i")', "5+12i"),
    ('IMDIV("1+i","0")', NUM),
    ('IMPOWER("2+3i",3)', "-46+9i"),
    ('IMPOWER("0",0)', NUM),
    ('IMLN("0")', NUM),
    ('IMREAL("4+3")', NUM),
    ('IMREAL("i4")', NUM),
    ("IMREAL(TRUE)", VALUE),
    ('CONVERT(1,"lbm","kg")', 0.45359237),
    ('CONVERT(68,"F","C")', 20.0),
    ('CONVERT(0,"K","Reau")', -218.52),
    ('CONVERT(2.5,"ft","sec")', NA),
    ('CONVERT(1,"KM","m")', NA),
    ('CONVERT(1,"ft3","in3")', 1728.0),
    ('CONVERT(1,"km2","m2")', 1e6),
    ('CONVERT(1,"cm3","l")', 1e-3),
    ('CONVERT(1,"Mibyte","kibit")', 8192.0),
    ('CONVERT(1,"kin","m")', NA),
    ('CONVERT(1,"gal","oz")', 128.0),
    ('CONVERT(1,"uk_gal","l")', 4.54609),
    ('CONVERT(1,"mi","Nmi")', 1609.344 / 1852),
    ('CONVERT(1,"Wh","J")', 3600.0),
]


@pytest.mark.parametrize(("formula", "wanted"), BY_HAND)
def test_by_hand(formula: str, wanted: Scalar) -> None:
    got = evaluate_formula("=" + formula)
    if isinstance(wanted, float):
        assert got == pytest.approx(wanted, rel=1e-13)
    else:
        assert got == wanted


def test_bessel_functions_as_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    for name, oracle in (
        ("BESSELJ", special.jv),
        ("BESSELY", special.yv),
        ("BESSELI", special.iv),
        ("BESSELK", special.kv),
    ):
        for order in (0, 1, 2, 5, 20):
            for x in (1e-3, 0.5, 1.9, 7.7, 15.0, 50.0, 300.0):
                wanted = float(oracle(order, x))
                got = evaluate_formula(f"={name}({x},{order})")
                # near a zero of J only the absolute error is small
                slack = 1e-13 if name == "BESSELJ" and x > order else 0.0
                assert got == pytest.approx(wanted, rel=1e-11, abs=slack), (name, order, x)


def test_error_functions() -> None:
    special = pytest.importorskip("scipy.special")
    for x in (-3.0, -0.2, 0.0, 0.745, 1.0, 5.0):
        assert evaluate_formula(f"=ERF({x})") == pytest.approx(special.erf(x), rel=1e-14)
        assert evaluate_formula(f"=ERFC.PRECISE({x})") == pytest.approx(special.erfc(x), rel=1e-13)
    assert evaluate_formula("=ERF(0.2,1.5)") == pytest.approx(special.erf(1.5) - special.erf(0.2), rel=1e-14)


FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "IMSQRT": cmath.sqrt,
    "IMEXP": cmath.exp,
    "IMLN": cmath.log,
    "IMLOG10": cmath.log10,
    "IMLOG2": lambda z: cmath.log(z, 2),
    "IMSIN": cmath.sin,
    "IMCOS": cmath.cos,
    "IMTAN": cmath.tan,
    "IMCOT": lambda z: 1 / cmath.tan(z),
    "IMSEC": lambda z: 1 / cmath.cos(z),
    "IMCSC": lambda z: 1 / cmath.sin(z),
    "IMSINH": cmath.sinh,
    "IMCOSH": cmath.cosh,
    "IMSECH": lambda z: 1 / cmath.cosh(z),
    "IMCSCH": lambda z: 1 / cmath.sinh(z),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions(name: str) -> None:
    for text, number in (("3+4i", 3 + 4j), ("-2.5j", -2.5j), ("0.3-0.2i", 0.3 - 0.2j), ("7", 7 + 0j)):
        got = evaluate_formula(f'={name}("{text}")')
        assert isinstance(got, str)
        assert parsed(got)[0] == pytest.approx(FUNCTIONS[name](number), rel=1e-13, abs=1e-14)
        assert "i" not in got if text == "-2.5j" else "j" not in got


@given(st.integers(-(10**9), 10**9), st.integers(-12, 3), st.integers(-(10**9), 10**9), st.integers(-12, 3))
def test_complex_texts_read_back(real: int, scale: int, imaginary: int, scale2: int) -> None:
    number = complex(float(f"{real}e{scale}"), float(f"{imaginary}e{scale2}"))
    assert parsed(written(number, "i"))[0] == number


@given(st.integers(-512, 511))
def test_bases_read_back(number: int) -> None:
    for base in ("BIN", "OCT", "HEX"):
        assert evaluate_formula(f"={base}2DEC(DEC2{base}({number}))") == number
    assert evaluate_formula(f"=HEX2DEC(OCT2HEX(BIN2OCT(HEX2BIN(DEC2HEX({number})))))") == number


def test_every_unit_converts_there_and_back() -> None:
    bases = {"temperature": "K", "information": "bit", "volume": "m3", "area": "m2", "speed": "m/s"}
    for name, unit in _UNITS.items():
        base = bases.get(unit.quantity) or next(n for n, u in _UNITS.items() if u.quantity == unit.quantity)
        for spelled in [name] + ([prefix + name for prefix in ("k", "m") if prefix in _METRIC] if unit.power else []):
            got = evaluate_formula(f'=CONVERT(CONVERT(3,"{spelled}","{base}"),"{base}","{spelled}")')
            assert got == pytest.approx(3.0, rel=1e-9), spelled
