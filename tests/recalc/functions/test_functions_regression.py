"""Regressions of several variables: SciPy and NumPy as oracles."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue, Scalar

random = np.random.default_rng(11)
N = 14
X = random.normal(size=(N, 3)).round(3)
Y = (2 + X @ [1.5, -2.0, 0.25] + random.normal(scale=0.3, size=N)).round(3)
CELLS: dict[str, Scalar | int] = {
    **{f"{'BCD'[j]}{i + 1}": float(X[i, j]) for i in range(N) for j in range(3)},
    **{f"A{i + 1}": float(Y[i]) for i in range(N)},
    **{f"E{i + 1}": float(np.exp(Y[i])) for i in range(N)},
}


def table(formula: str) -> list[list[Scalar]]:
    got = evaluate_formula("=" + formula, CELLS)
    assert isinstance(got, list)
    return got


def test_linest_statistics_of_three_variables() -> None:
    got = table(f"LINEST(A1:A{N},B1:D{N},TRUE,TRUE)")
    design = np.column_stack([X, np.ones(N)])
    coefficients, residual, _, _ = np.linalg.lstsq(design, Y, rcond=None)
    freedom = N - 4
    variance = float(residual[0]) / freedom
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance)
    total = float(((Y - Y.mean()) ** 2).sum())
    explained = total - float(residual[0])
    assert got[0] == pytest.approx([*coefficients[2::-1], coefficients[3]], rel=1e-10)
    assert got[1] == pytest.approx([*errors[2::-1], errors[3]], rel=1e-10)
    assert got[2][:2] == pytest.approx([explained / total, np.sqrt(variance)], rel=1e-10)
    assert got[3][:2] == pytest.approx([explained / 3 / variance, freedom], rel=1e-10)
    assert got[4][:2] == pytest.approx([explained, float(residual[0])], rel=1e-10)
    assert got[2][2:] == [CellErrorValue.NA, CellErrorValue.NA]


def test_linest_without_constant() -> None:
    got = table(f"LINEST(A1:A{N},B1:D{N},FALSE)")
    coefficients = np.linalg.lstsq(X, Y, rcond=None)[0]
    assert got[0] == pytest.approx([*coefficients[::-1], 0.0], rel=1e-10)


def test_a_variable_that_repeats_another_gets_no_slope() -> None:
    cells = {**CELLS, **{f"C{i + 1}": 2 * float(X[i, 0]) + 1 for i in range(N)}}
    got = evaluate_formula(f"=LINEST(A1:A{N},B1:C{N})", cells)
    slope, constant = np.polyfit(X[:, 0], Y, 1)
    assert isinstance(got, list)
    assert got[0] == pytest.approx([0.0, slope, constant], rel=1e-9)


def test_logest_is_linest_of_logarithms() -> None:
    got = table(f"LOGEST(E1:E{N},B1:D{N})")
    line = table(f"LINEST(A1:A{N},B1:D{N})")
    assert got[0] == pytest.approx(np.exp(np.array(line[0], dtype=float)), rel=1e-9)


def test_trend_at_new_places() -> None:
    got = table(f"TREND(A1:A{N},B1:D{N},{{1,2,3;0,0,1}})")
    coefficients = np.linalg.lstsq(np.column_stack([X, np.ones(N)]), Y, rcond=None)[0]
    wanted = np.array([[1, 2, 3, 1], [0, 0, 1, 1]]) @ coefficients
    assert [row[0] for row in got] == pytest.approx(wanted, rel=1e-10)


def test_trend_without_x_counts_from_one() -> None:
    got = table("TREND({3,5,7.5},,{4,5})")
    slope, constant = np.polyfit([1, 2, 3], [3, 5, 7.5], 1)
    assert got[0] == pytest.approx([4 * slope + constant, 5 * slope + constant], rel=1e-12)


def test_growth_example() -> None:
    cells: dict[str, Scalar | int] = {
        f"A{i + 1}": v for i, v in enumerate([33100, 47300, 69000, 102000, 150000, 220000])
    }
    got = evaluate_formula("=GROWTH(A1:A6,{11;12;13;14;15;16},{17;18})", cells)
    assert isinstance(got, list)
    assert [row[0] for row in got] == pytest.approx([320196.718363472, 468536.054184048], rel=1e-9)


def test_errors() -> None:
    assert evaluate_formula("=LINEST({1,2,3},{1,2})") == CellErrorValue.REF
    assert evaluate_formula('=LINEST({1,2,"x"},{1,2,3})') == CellErrorValue.VALUE
    assert evaluate_formula("=LOGEST({1,-2,3},{1,2,3})") == CellErrorValue.NUM
