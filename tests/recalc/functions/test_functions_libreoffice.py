"""Hundreds of calls beside LibreOffice's results, in one workbook."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import openpyxl
import pytest
from libreoffice import needs_libreoffice, recalculated_values
from openpyxl.utils import FORMULAE

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue

X, Y = "{3,1,4,1,5,9,2,6,5,3.5}", "{2,7,1,8,2,8,1,8,2,8}"
SIGNED = "-7.5 -2.5 -0.5 0.5 2.5 7.25 123.456"

CALLS = [
    ("MOD", SIGNED, "2 3 0.5 -2"),
    ("ROUND ROUNDUP ROUNDDOWN TRUNC", SIGNED, "0 1 -1"),
    ("INT EVEN ODD SIGN", SIGNED),
    ("CEILING.MATH FLOOR.MATH", SIGNED, "1 2 0.5", "0 1"),
    ("QUOTIENT", SIGNED, "2 -0.5"),
    ("LOG", "1 2 8 0.5", "10 3"),
    ("COMBIN COMBINA PERMUT", "5 49", "0 5"),
    ("FACT FACTDOUBLE GAMMALN", "1 5 20"),
    ("SIN TAN SECH ACOT ASINH GAUSS PHI", SIGNED),
    ("AVEDEV DEVSQ GEOMEAN HARMEAN KURT SKEW SKEW.P MEDIAN MODE.SNGL STDEV.S VAR.P", f"{X} {Y}"),
    ("CORREL COVARIANCE.S RSQ SLOPE INTERCEPT STEYX F.TEST SUMX2MY2", X, Y),
    ("T.TEST", X, Y, "1 2", "1 2 3"),
    ("PERCENTILE.INC PERCENTILE.EXC TRIMMEAN", X, "0.1 0.33 0.9"),
    ("QUARTILE.INC QUARTILE.EXC", X, "1 2 3"),
    ("HYPGEOM.DIST", "0 2", "3 4", "5 8", "20", "0 1"),
    ("BETA.DIST", "0.1 0.9", "0.5 8", "1 10", "0 1"),
    ("FV PV PMT NPER", "0.05 0 -0.02", "10", "-200 100", "1000", "0 1"),
    ("IPMT PPMT", "0.01 0.05", "1 2 5", "5 12", "1000", "100", "0 1"),
    ("DB DDB", "10000", "0 500", "5 6", "1 3 5", "1 2"),
    ("VDB", "2400", "0 300", "10", "0 0.5 2.25", "3 4.5", "1.5 2", "0 1"),
    ("COUPPCD COUPNCD COUPNUM COUPDAYS COUPDAYBS COUPDAYSNC", "38500 39872", "41333 42063", "1 2 4", "0 1 2 3 4"),
    ("PRICE", "38500", "41333", "0.05", "0.03 0.09", "100", "2 4", "0 1 2 3 4"),
    ("YIELD", "39872", "42063", "0.05", "95 110", "100", "1 2", "0 1 2 3 4"),
    ("AMORLINC AMORDEGRC", "2400", "39679", "39813", "300", "0 1 2 5", "0.15 0.3", "0 1 3"),
    ("DEC2BIN DEC2HEX", "5 -100 511", "9 10"),
    ("BITLSHIFT BITRSHIFT", "5 1023", "3 -2"),
    ("BESSELJ BESSELI BESSELY", "0.5 1.9 15", "0 1 5"),
    ("IMSQRT IMEXP IMLN IMSIN IMCOS IMCONJUGATE", '"3+4i" "-2.5i" "1.5-0.5i"'),
    ("IMSUM IMSUB IMPRODUCT IMDIV", '"3+4i" "-2.5i"', '"2-i" "5"'),
]


def formulas() -> list[str]:
    """Every function with every combination of its arguments."""
    found = []
    for names, *arguments in CALLS:
        for name, values in itertools.product(names.split(), itertools.product(*(a.split() for a in arguments))):
            found.append(f"{name}({','.join(values)})")
    return found


def spelled(formula: str) -> str:
    """As a file spells it: functions newer than the format have a prefix."""
    return re.sub(r"([A-Z][A-Z0-9.]*)\(", lambda m: m[0] if m[1] in FORMULAE else "_xlfn." + m[0], formula)


def same(got: object, wanted: object) -> bool:
    if isinstance(got, CellErrorValue):
        return got.text == wanted
    if isinstance(got, str) and isinstance(wanted, str):
        numbers = [re.findall(r"[-+]?[\d.]+(?:E[-+]?\d+)?", text) for text in (got, wanted)]
        return len(numbers[0]) == len(numbers[1]) and all(
            float(a) == pytest.approx(float(b), rel=1e-12) for a, b in zip(*numbers, strict=True)
        )
    return isinstance(wanted, int | float) and got == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.libreoffice
@needs_libreoffice
def test_as_libreoffice(tmp_path: Path) -> None:
    calls = formulas()
    book = openpyxl.Workbook()
    for row, formula in enumerate(calls, 1):
        book.worksheets[0].cell(row, 1).value = "=" + spelled(formula)
    path = tmp_path / "calls.xlsx"
    book.save(path)
    wanted = recalculated_values(path, tmp_path / "saved")
    wrong = []
    for row, formula in enumerate(calls, 1):
        got = evaluate_formula("=" + formula)
        theirs = wanted["Sheet", f"A{row}"]
        if not same(got, theirs):
            wrong.append((formula, got, theirs))
    assert len(calls) > 700
    assert not wrong
