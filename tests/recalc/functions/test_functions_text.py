"""Text functions: expected values are those of Excel's documentation and of Excel itself, worked out by hand."""

from __future__ import annotations

import pytest

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

VALUE, NA, NUM = CellErrorValue.VALUE, CellErrorValue.NA, CellErrorValue.NUM

CELLS: dict[str, Scalar | int] = {
    "A1": 1,
    "A2": "x",
    "A3": True,
    "A5": "5",
    "B1": 0.1,
    "B2": "a-b",
    "B3": "c-d",
    "D1": CellErrorValue.DIV0,
}


def check(formula: str, expected: object) -> None:
    got = evaluate_formula(formula, CELLS)
    if isinstance(expected, float) and isinstance(got, float):
        assert got == pytest.approx(expected, rel=1e-14, abs=1e-14), formula
        return
    assert got == expected, formula
    assert isinstance(got, bool) is isinstance(expected, bool), formula


PARTS = [
    ('=LEFT("abc")', "a"),
    ('=LEFT("abc",0)', ""),
    ('=LEFT("abc",-1)', VALUE),
    ("=LEFT(TRUE,2)", "TR"),
    ('=RIGHT("abc",10)', "abc"),
    ('=RIGHT("abc",0)', ""),
    ('=MID("abcdef",2.9,1.9)', "b"),
    ('=MID("abcdef",0,3)', VALUE),
    ('=MID("abcdef",10,3)', ""),
    ('=REPLACE("abcdef",2,3,"X")', "aXef"),
    ('=REPLACE("abcdef",10,3,"X")', "abcdefX"),
    ('=SUBSTITUTE("banana","a","o",2)', "banona"),
    ('=SUBSTITUTE("banana","A","o")', "banana"),
    ('=SUBSTITUTE("banana","","o")', "banana"),
    ('=SUBSTITUTE("banana","a","o",0)', VALUE),
    ('=SUBSTITUTE("aaa","aa","b")', "ba"),
    ('=LEN("日本")', 2.0),
    ('=LEN("😀")', 2.0),  # UTF-16 units
    ('=MID("a😀b",4,1)', "b"),
    ('=LEFT("😀",1)', "\ufffd"),
    ("=LEN(A4)", 0.0),
    ('=TRIM("  a   b  ")', "a b"),
    ('=CLEAN("a"&CHAR(9)&"b"&CHAR(10))', "ab"),
    ('=PROPER("2-way street o\'neil 3rd")', "2-Way Street O'Neil 3Rd"),
    ('=UPPER("straße é")', "STRAßE É"),
    ('=REPT("ab",2.9)', "abab"),
    ('=REPT("ab",-1)', VALUE),
    ('=REPT("ab",20000)', VALUE),
    ('=EXACT("a","A")', False),
    ('=EXACT(1,"1")', True),
    ("=T(A1)", ""),
    ("=T(A2)", "x"),
    ("=T(D1)", CellErrorValue.DIV0),
]

SEARCHING = [
    ('=FIND("b","abcb")', 2.0),
    ('=FIND("b","abcb",3)', 4.0),
    ('=FIND("B","abcb")', VALUE),
    ('=FIND("","abc")', 1.0),
    ('=FIND("a","abc",0)', VALUE),
    ('=FIND("","abc",5)', VALUE),
    ('=SEARCH("B","abcb")', 2.0),
    ('=SEARCH("b?","abcb")', 2.0),
    ('=SEARCH("b*b","abcb")', 2.0),
    ('=SEARCH("~*","a*b")', 2.0),
    ('=SEARCH("~~","a~b")', 2.0),
    ('=SEARCH("~d","my dear")', 4.0),
    ('=SEARCH("x","abc")', VALUE),
]

CODES = [
    ("=CHAR(65.9)", "A"),
    ("=CHAR(128)", "€"),
    ("=CHAR(0)", VALUE),
    ("=CHAR(256)", VALUE),
    ('=CODE("€uro")', 128.0),
    ('=CODE("")', VALUE),
    ("=UNICHAR(8364)", "€"),
    ("=UNICHAR(0)", VALUE),
    ("=UNICHAR(55296)", NA),
    ('=UNICODE("😀")', 128512.0),
    ('=ASC("ＡＢＣ　１ガ")', "ABC 1ｶﾞ"),
    ('=DBCS("ABC 1")', "ＡＢＣ　１"),
    ('=ENCODEURL("a b&c/é")', "a%20b%26c%2F%C3%A9"),
]

JOINING = [
    ('=CONCAT(A1:A5,"!")', "1xTRUE5!"),
    ("=CONCAT(A1,D1)", CellErrorValue.DIV0),
    ('=CONCATENATE("a",1,TRUE)', "a1TRUE"),
    ('=TEXTJOIN(",",TRUE,A1:A5)', "1,x,TRUE,5"),
    ('=TEXTJOIN(",",FALSE,A1:A5)', "1,x,TRUE,,5"),
    ('=TEXTJOIN(",",,A1:A5)', "1,x,TRUE,5"),
    ('=TEXTJOIN({",",";"},TRUE,"a","b","c","d")', "a,b;c,d"),
    ('=0.1+0.2&""', "0.3"),
    ('=1E+20&"|"&1E+21&"|"&1/3&"|"&-0.00001', "100000000000000000000|1E+21|0.333333333333333|-0.00001"),
    ('=123456789012345678&""', "123456789012346000"),
]

CUTTING = [
    ('=TEXTBEFORE("a-b-c","-",2)', "a-b"),
    ('=TEXTBEFORE("a-b-c","-",-1)', "a-b"),
    ('=TEXTBEFORE("abc","x")', NA),
    ('=TEXTBEFORE("abc","x",1,0,1)', "abc"),
    ('=TEXTBEFORE("abc","x",1,0,0,"none")', "none"),
    ('=TEXTBEFORE("aXbxc","x",2,1)', "aXb"),
    ('=TEXTBEFORE("abc","-",0)', VALUE),
    ('=TEXTAFTER("a-b-c","-",-1)', "c"),
    ('=TEXTAFTER("a-b;c",{"-",";"},2)', "c"),
    ('=TEXTAFTER("abc","x",-1,0,1)', "abc"),
    ('=TEXTAFTER(B2:B3,"-")', [["b"], ["d"]]),
    ('=TEXTSPLIT("a,b;c",",",";")', [["a", "b"], ["c", NA]]),
    ('=TEXTSPLIT("a,b;c",",",";",,,0)', [["a", "b"], ["c", 0.0]]),
    ('=TEXTSPLIT("a,,b",",",,TRUE)', [["a", "b"]]),
    ('=TEXTSPLIT("aXbxc",,"x",,1)', [["a"], ["b"], ["c"]]),
    ('=TEXTSPLIT("a-b c",{"-"," "})', [["a", "b", "c"]]),
    ('=TEXTSPLIT("abc","")', VALUE),
]

TO_NUMBERS = [
    ('=VALUE("$1,234.5")', 1234.5),
    ('=VALUE("50%")', 0.5),
    ('=VALUE("(5)")', -5.0),
    ('=VALUE("1 1/2")', 1.5),
    ('=VALUE("10:30")', 0.4375),
    ('=VALUE("1/2/2020")', 43832.0),
    ('=VALUE("1E3")', 1000.0),
    ('=VALUE("1.2.3")', VALUE),
    ('=VALUE("")', VALUE),
    ("=VALUE(TRUE)", VALUE),
    ("=VALUE(A4)", 0.0),
    ('=NUMBERVALUE("2.500,27",",",".")', 2500.27),
    ('=NUMBERVALUE("3.5%")', 0.035),
    ('=NUMBERVALUE("9%%")', 0.0009),
    ('=NUMBERVALUE("")', 0.0),
    ('=NUMBERVALUE(" 3 000 ")', 3000.0),
    ('=NUMBERVALUE("1,2.3,4")', VALUE),
]

FROM_NUMBERS = [
    ("=FIXED(1234.567,1)", "1,234.6"),
    ("=FIXED(1234.567,-1)", "1,230"),
    ("=FIXED(-1234.567,-1,TRUE)", "-1230"),
    ("=FIXED(1.005,2)", "1.01"),  # on the decimal value, not on the binary one
    ("=DOLLAR(1234.567)", "$1,234.57"),
    ("=DOLLAR(-1234.567,-2)", "($1,200)"),
    ('=VALUETOTEXT("a""b",1)', '"a""b"'),
    ("=VALUETOTEXT(D1)", "#DIV/0!"),
    ('=ARRAYTOTEXT({1,"a";TRUE,2},1)', '{1,"a";TRUE,2}'),
    ('=ARRAYTOTEXT({1,"a";TRUE,2})', "1, a, TRUE, 2"),
    ("=BAHTTEXT(1234)", "หนึ่งพันสองร้อยสามสิบสี่บาทถ้วน"),  # Microsoft's example
    ("=BAHTTEXT(21.5)", "ยี่สิบเอ็ดบาทห้าสิบสตางค์"),
]

PATTERNS = [
    ('=REGEXTEST("abc123","[0-9]+$")', True),
    ('=REGEXTEST("ABC","b")', False),
    ('=REGEXTEST("ABC","b",1)', True),
    ('=REGEXEXTRACT("DylanWilliams","[A-Z][a-z]+")', "Dylan"),
    ('=REGEXEXTRACT("DylanWilliams","[A-Z][a-z]+",1)', [["Dylan", "Williams"]]),
    ('=REGEXEXTRACT("a1","([a-z])([0-9])",2)', [["a", "1"]]),
    ('=REGEXEXTRACT("a","[0-9]")', NA),
    ('=REGEXEXTRACT("a","(")', VALUE),
    ('=REGEXREPLACE("Sonia Rees","([a-z]+) ([a-z]+)","$2, $1",0,1)', "Rees, Sonia"),
    ('=REGEXREPLACE("a1b2c3","[0-9]","x",-1)', "a1b2cx"),
    ('=REGEXTEST("word","^[[:alpha:]]+$")', True),
]


@pytest.mark.parametrize(
    ("formula", "expected"),
    PARTS + SEARCHING + CODES + JOINING + CUTTING + TO_NUMBERS + FROM_NUMBERS + PATTERNS,
)
def test_text_function(formula: str, expected: object) -> None:
    check(formula, expected)
