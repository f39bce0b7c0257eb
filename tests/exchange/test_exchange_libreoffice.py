"""A CSV of ours in a real LibreOffice: every formula live, and the totals right."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_profiles import operator, product, profile_of
from libreoffice import convert, needs_libreoffice

from workbench.exchange import read_any
from workbench.exchange.neural_engine import profile_csv
from workbench.profile import RatioRow, RatioTable

pytestmark = [needs_libreoffice, pytest.mark.libreoffice]

SHAPES = {(256, 256): (4.0, 2.5, 2.0), (256, 1024): (4.5, 3.0, 2.5), (1024, 256): (5.0, 3.5, 3.0)}
RATIOS = RatioTable(
    (0.9, 0.8, 0.7),
    tuple(RatioRow(s, dict(zip((0.9, 0.8, 0.7), r, strict=True)), 1.25, "user") for s, r in SHAPES.items()),
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """(the CSV, formulas by cell, values by cell, operators, targets) of a file saved by LibreOffice."""
    import openpyxl

    folder = tmp_path_factory.mktemp("csv")
    ops, targets = [], []
    for i, (shape, target) in enumerate((s, t) for s in SHAPES for t in (0.9, 0.8, 0.7, 0.85, None)):
        ops.append(product(len(ops), "MatMul", f"=m{i}", shape, 0.1 + 0.037 * i))
        targets.append(target)
        ops.append(operator(len(ops), "Softmax", "@softmax", 0.01 * i))
        targets.append(None)
    path = folder / "profiling_2026-11-21_07-26-51_0.csv"
    path.write_text(profile_csv(profile_of(ops), ratios=RATIOS, targets=targets), newline="")
    saved = convert(path, folder / "out", "xlsx")
    formulas = openpyxl.load_workbook(saved).active
    values = openpyxl.load_workbook(saved, data_only=True).active
    return path, formulas, values, ops, targets


def _expected(ops, targets) -> tuple[float, float, float, float]:
    """Total, aim total, supported, aim supported; by the seed's arithmetic in plain Python."""
    total = aim = support = aim_support = 0.0
    for op, target in zip(ops, targets, strict=True):
        ms = round(op.latency_ms, 3)
        total += ms
        pruned = ms
        if op.weight is not None and target is not None:
            levels = dict(zip((0.9, 0.8, 0.7), SHAPES[op.weight.shape], strict=True))
            pruned = ms / levels.get(target, 1.25)
        aim += pruned
        if op.sparse_support:
            support += ms
            aim_support += pruned
    return total, aim, support, aim_support


def test_every_formula_of_the_file_is_live(opened):
    path, formulas, values, _, _ = opened
    written = sum(cell.startswith("=") for row in csv.reader(path.open(newline="")) for cell in row)
    live = [cell for row in formulas.iter_rows() for cell in row if cell.data_type == "f"]
    assert len(live) == written >= 40
    assert all(isinstance(values[cell.coordinate].value, int | float) for cell in live)


def test_the_totals_are_those_of_the_arithmetic(opened):
    _, formulas, values, ops, targets = opened
    last = next(c.row for c in formulas["L"] if c.value == "total latency(ms)")
    total, aim, support, aim_support = _expected(ops, targets)
    shown = {f"{column}{last + n}": values[f"{column}{last + n}"].value for column in "MPR" for n in range(3)}
    assert math.isclose(shown[f"M{last}"], total, abs_tol=0.0005)
    assert math.isclose(shown[f"P{last}"], aim, rel_tol=1e-9)
    assert math.isclose(shown[f"R{last}"], total / aim, rel_tol=1e-6)
    assert math.isclose(shown[f"M{last + 1}"], support, abs_tol=0.0005)
    assert math.isclose(shown[f"P{last + 1}"], aim_support, rel_tol=1e-9)
    assert math.isclose(shown[f"P{last + 2}"], aim_support / aim, rel_tol=1e-9)


def test_names_that_look_like_formulas_stay_text(opened):
    _, formulas, _, _, _ = opened
    names = [c.value for c in formulas["C"] if isinstance(c.value, str) and re.search("m0|softmax", c.value)]
    assert names[:2] == ["'=m0", "'@softmax"]


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_what_a_person_saves_from_libreoffice_comes_back(opened, tmp_path: Path, kind: str):
    path, _, _, ops, targets = opened
    read = read_any(convert(path, tmp_path, kind))
    assert [op.name for op in read.profile.operators] == [op.name for op in ops]
    assert read.targets == tuple(targets)
    assert read.ratios.levels == RATIOS.levels
    assert [(r.shape, dict(r.ratios), r.others) for r in read.ratios.rows] == [
        (r.shape, dict(r.ratios), r.others) for r in RATIOS.rows
    ]
    assert not read.notes


def test_thousands_of_supported_operators_add_up(tmp_path: Path):
    import openpyxl

    ops = [product(i, "MatMul", f"m{i}", (256, 256), 0.001 * (1 + i % 7)) for i in range(1500)]
    ops[3] = replace(ops[3], sparse_support=False)
    path = tmp_path / "long.csv"
    path.write_text(profile_csv(profile_of(ops), ratios=RATIOS), newline="")
    values = openpyxl.load_workbook(convert(path, tmp_path / "out", "xlsx"), data_only=True).active
    row = next(c.row for c in values["O"] if c.value == "aim to sparse support latency(ms)")
    expected = sum(op.latency_ms for op in ops if op.sparse_support) / 4
    assert math.isclose(values[f"P{row}"].value, expected, rel_tol=1e-9)
