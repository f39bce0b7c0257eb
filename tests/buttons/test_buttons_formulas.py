"""Excel's grammar to LibreOffice's and back, as text."""

from __future__ import annotations

import pytest

from workbench.buttons.libreoffice.formulas import shifted, to_calc, to_excel

PAIRS = [
    ("=SUM(A1,B2)", "=SUM(A1;B2)"),
    ("=Sheet1!A1", "=$Sheet1.A1"),
    ("='my sheet'!A1:B2", "=$'my sheet'.A1:B2"),
    ('=IF(A1="a,b;c",1,2)', '=IF(A1="a,b;c";1;2)'),
    ("={1,2;3,4}", "={1;2|3;4}"),
    ("=tbl[[#This Row],[a, b]]", "=tbl[[#This Row];[a, b]]"),
    ("=CEILING(A1,2)", "=CEILING.XCL(A1;2)"),
    ("=MROUND(A1,2)", "=COM.SUN.STAR.SHEET.ADDIN.ANALYSIS.GETMROUND(A1;2)"),
    ("=1.5e3+A1", "=1.5e3+A1"),
]


@pytest.mark.parametrize(("excel", "calc"), PAIRS)
def test_both_ways(excel: str, calc: str) -> None:
    assert to_calc(excel) == calc
    assert to_excel(calc) == excel


@pytest.mark.parametrize(
    ("formula", "rows", "columns", "moved"),
    [
        ("=A1+$B$2+C$3+$D4", 2, 1, "=B3+$B$2+D$3+$D6"),
        ("=SUM(A:A)+SUM(1:1)", 1, 2, "=SUM(C:C)+SUM(2:2)"),
        ('="A1"&A1', 1, 0, '="A1"&A2'),
        ("='A1 b'!A1", 1, 1, "='A1 b'!B2"),
        ("=tbl[[#This Row],[A1]]+A1", 1, 0, "=tbl[[#This Row],[A1]]+A2"),
        ("=LOG10(A1)", 0, 1, "=LOG10(B1)"),
        ("=Sheet1!A1", 1, 0, "=Sheet1!A2"),
    ],
)
def test_copied_down_and_right(formula: str, rows: int, columns: int, moved: str) -> None:
    assert shifted(formula, rows, columns) == moved
