"""What-if tools against single recalculations, closed forms and exhaustive search."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from profiles import operator, profile

from workbench.book import open_book, write_book
from workbench.errors import WorkbenchError
from workbench.recalc import recompute
from workbench.whatif.compare import compare
from workbench.whatif.outputs import listed_values
from workbench.whatif.plan import plan
from workbench.whatif.sheet import save_scenarios
from workbench.whatif.simulate import simulate
from workbench.whatif.sweep import sweep

SHAPES = [(256, 256), (1024, 256), (256, 1024), (768, 768)]


@pytest.fixture()
def book(tmp_path: Path) -> Path:
    operators = [operator(n, shape, 0.5 + 0.25 * n) for n, shape in enumerate(SHAPES)]
    write_book([profile([*operators, operator(9, None, 0.8, kind="Softmax")])], tmp_path / "b.xlsx")
    return tmp_path / "b.xlsx"


def test_each_line_of_a_sweep_equals_a_recalculation_of_its_own(book: Path, tmp_path: Path) -> None:
    vary = {"default_target_baseline": (0.7, 0.9), "ratios_baseline[256x1024][90%]": (2.0, 6.5)}
    table = sweep(book, vary)
    assert len(table) == 4
    for _, row in table.iterrows():
        single = tmp_path / "single.xlsx"
        recompute(book, single, edits={cell: row[cell] for cell in vary})
        values = open_book(single)
        assert row["estimated_speedup_baseline"] == pytest.approx(values.estimates()["estimated_speedup"], rel=1e-12)
        total = values.totals()["total_aim_to_sparse_latency"]
        assert row["total_aim_to_sparse_latency_baseline"] == pytest.approx(total, rel=1e-12)


def test_one_at_a_time_leaves_the_others_as_they_are(book: Path) -> None:
    vary = {"ratios_baseline[256x256][90%]": (2.0, 8.0), "ratios_baseline[1024x256][90%]": (3.0,)}
    table = sweep(book, vary, one_at_a_time=True)
    assert table.iloc[:, :2].to_numpy().tolist() == [[2.0, 5.0], [8.0, 5.0], [4.0, 3.0]]


def test_values_may_be_listed_and_ranged() -> None:
    assert listed_values("x=70%, 0.8") == ("x", (0.7, 0.8))
    assert listed_values("ratios[256x1024][90%]=1..2:0.5") == ("ratios[256x1024][90%]", (1.0, 1.5, 2.0))
    assert listed_values("'a, b'!C3=1,2") == ("'a, b'!C3", (1.0, 2.0))
    assert listed_values("x=on],off") == ("x", ("on]", "off"))
    with pytest.raises(WorkbenchError, match=r"FROM\.\.TO:STEP"):
        listed_values("x=1..2")


@pytest.mark.parametrize(
    ("vary", "words"),
    [({}, "nothing to vary"), ({"nope": (1.0,)}, "nope"), ({"estimated_ms_baseline": (1.0,)}, "formula")],
)
def test_what_can_not_be_varied(book: Path, vary: dict, words: str) -> None:
    with pytest.raises(WorkbenchError, match=words):
        sweep(book, vary)


def test_scenarios_are_saved_beside_everything_else(book: Path) -> None:
    before = openpyxl.load_workbook(book).sheetnames
    table = sweep(book, {"default_target_baseline": (0.7, 0.8, 0.9)})
    save_scenarios(book, table, inputs=1)
    save_scenarios(book, table.iloc[:2], inputs=1)
    after = openpyxl.load_workbook(book)
    assert sorted(after.sheetnames) == sorted([*before, "Scenarios"])
    saved = open_book(book).table("scenarios")
    assert saved["default_target_baseline"].tolist() == [0.7, 0.8]
    assert saved["estimated_speedup_baseline"].tolist() == table["estimated_speedup_baseline"].tolist()[:2]


def test_a_common_factor_gives_the_closed_form(book: Path) -> None:
    """With all ratios times f, supported time is divided by f: quantiles follow from those of the normal."""
    result = simulate(book, spread=0.3, samples=20_000, common=True)
    totals = open_book(book).totals()
    dense = totals["total_latency"] - totals["sparse_support_latency"]
    sparse = totals["aim_to_sparse_support_latency"]
    for quantile, z in zip(
        result.quantiles["estimated_speedup_baseline"], (-1.64485, -0.67449, 0, 0.67449, 1.64485), strict=True
    ):
        assert quantile == pytest.approx(totals["total_latency"] / (dense + sparse / np.exp(0.3 * z)), rel=0.01)


def test_influences_name_the_ratios_in_use_and_their_ends(book: Path) -> None:
    result = simulate(book, spread=0.2, samples=2000)
    assert {i.cell for i in result.influences} == {f"ratios_baseline[{a}x{b}][90%]" for a, b in SHAPES}
    most = result.influences[0]
    high = sweep(book, {most.cell: (most.value * np.exp(0.2 * 1.6448536269514722),)})
    assert most.high == pytest.approx(high["estimated_speedup_baseline"][0], rel=1e-12)
    assert most.correlation > 0.2


def test_a_plan_is_the_best_of_all_plans(book: Path) -> None:
    made = plan(book, 1.6)
    levels = (0.0, 0.7, 0.8, 0.9)
    by_level = {0.0: np.array([0.5, 0.75, 1.0, 1.25])}
    for level in levels[1:]:
        with_level = sweep(
            book, {"default_target_baseline": (level,)},
            outputs=[f"ops_baseline[op_{n}][aim to sparse latency (ms)]" for n in range(4)],
        )  # fmt: skip
        by_level[level] = with_level.iloc[0, 1:].to_numpy(dtype=float)
    weights = [a * b for a, b in SHAPES]
    total = 0.5 + 0.75 + 1.0 + 1.25 + 0.8
    best = min(
        sum(w * t for w, t in zip(weights, targets, strict=True))
        for targets in itertools.product(levels, repeat=4)
        if sum(by_level[t][n] for n, t in enumerate(targets)) + 0.8 <= total / 1.6 + 1e-12
    )
    assert made.loss == pytest.approx(best)
    assert made.speedup >= 1.6
    assert made.exact


def test_an_applied_plan_gives_the_speedup_it_says(book: Path) -> None:
    made = plan(book, 1.5, apply=True)
    after = open_book(book)
    assert after.totals()["sparse_improve"] == pytest.approx(made.speedup, rel=1e-12)
    targets = after.operators()["aim to weight sparse ratio"].fillna(0).tolist()[:4]
    assert targets == [op.target for op in made.operators]


def test_a_speedup_out_of_reach_names_the_best(book: Path) -> None:
    with pytest.raises(WorkbenchError, match="the best is"):
        plan(book, 50)


def test_compare_lists_what_differs_by_the_sheets_words(book: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xlsx"
    shutil.copy(book, other)
    assert compare(book, other) == ()
    recompute(other, edits=["ratios_baseline[256x256][90%]=8", "'baseline ops'!N3=70%"])
    found = {(d.what, d.label): (d.before, d.after) for d in compare(book, other)}
    assert found["ratio", "256x256, 90% 4x1 perf ratio"] == (4.0, 8.0)
    assert found["operator", "op_1, aim to weight sparse ratio"] == (0.9, 0.7)
    assert ("total", "sparse_improve") in found
    assert not any(label.startswith("op_2") for _, label in found)
