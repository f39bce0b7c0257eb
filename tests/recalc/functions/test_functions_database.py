"""Database functions: the orchard of Excel's documentation."""

from __future__ import annotations

import pytest

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

ROWS: list[list[Scalar]] = [
    ["Tree", "Height", "Age", "Yield", "Profit", "Height"],
    ["=Apple", ">10", None, None, None, "<16"],
    ["=Pear", None, None, None, None, None],
    [None, None, None, None, None, None],
    ["Tree", "Height", "Age", "Yield", "Profit", None],
    ["Apple", 18.0, 20.0, 14.0, 105.0, None],
    ["Pear", 12.0, 12.0, 10.0, 96.0, None],
    ["Cherry", 13.0, 14.0, 9.0, 105.0, None],
    ["Apple", 14.0, "N/A", 10.0, 75.0, None],
    ["Pear", 9.0, 8.0, 8.0, 77.0, None],
    ["Apple", 8.0, 9.0, 6.0, 45.0, None],
    ["Crab apple", 8.0, None, 6.0, 1.0, None],
]
CELLS = {f"{'ABCDEF'[c]}{r + 1}": item for r, row in enumerate(ROWS) for c, item in enumerate(row)}
CELLS |= {"H1": "tree", "H2": "app", "I1": "Tree", "I2": "*apple", "J1": "Yield", "J2": 10.0, "K1": "over", "K2": True}
CELLS |= {"L1": "Tree", "M1": "Age", "M2": "<>", "N1": "Age", "N2": "="}
ORCHARD = "A5:E12"

CASES: list[tuple[str, Scalar]] = [
    (f'DSUM({ORCHARD},"Profit",A1:A2)', 225.0),
    (f'DSUM({ORCHARD},"profit",A1:F3)', 75.0 + 96 + 77),
    (f'DPRODUCT({ORCHARD},"Yield",A1:F3)', 800.0),
    (f'DAVERAGE({ORCHARD},"Yield",A1:B2)', 12.0),
    (f'DSTDEV({ORCHARD},"Yield",A1:A3)', 2.9664793948382653),
    (f'DSTDEVP({ORCHARD},"Yield",A1:A3)', 2.65329983228432),
    (f'DVAR({ORCHARD},"Yield",A1:A3)', 8.8),
    (f'DVARP({ORCHARD},"Yield",A1:A3)', 7.04),
    (f'DMAX({ORCHARD},"Profit",A1:F3)', 96.0),
    (f"DMIN({ORCHARD},5,A1:F3)", 75.0),
    (f'DCOUNT({ORCHARD},"Age",A1:A2)', 2.0),
    (f'DCOUNTA({ORCHARD},"Age",A1:A2)', 3.0),
    (f"DCOUNT({ORCHARD},,A1:A2)", 3.0),
    (f'DGET({ORCHARD},"Yield",A1:F2)', 10.0),
    (f'DGET({ORCHARD},"Yield",A1:A3)', CellErrorValue.NUM),
    (f'DGET({ORCHARD},"Yield",B1:F2)', CellErrorValue.NUM),
    (f'DSUM({ORCHARD},"Profit",H1:H2)', 225.0),
    (f'DSUM({ORCHARD},"Profit",I1:I2)', 226.0),
    (f'DSUM({ORCHARD},"Profit",J1:J2)', 171.0),
    (f'DCOUNT({ORCHARD},"Profit",K1:K2)', 7.0),
    (f'DCOUNT({ORCHARD},"Profit",L1:L2)', 7.0),
    (f'DCOUNT({ORCHARD},"Profit",M1:M2)', 6.0),
    (f'DCOUNT({ORCHARD},"Profit",N1:N2)', 1.0),
    (f'DSUM({ORCHARD},"Weight",A1:A2)', CellErrorValue.VALUE),
    (f"DSUM({ORCHARD},9,A1:A2)", CellErrorValue.VALUE),
    (f"DSUM({ORCHARD},,A1:A2)", CellErrorValue.VALUE),
]


@pytest.mark.parametrize(("formula", "wanted"), CASES)
def test_orchard(formula: str, wanted: Scalar) -> None:
    got = evaluate_formula("=" + formula, CELLS)
    assert got == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)
