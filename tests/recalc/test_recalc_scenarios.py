"""Scenario evaluation: each scenario of a batch equals its own single run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recalc_books import book_of, with_names
from test_recalc_engine import random_book, same

from workbench.errors import CellError
from workbench.recalc import CellErrorValue, open_workbook

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "recalc"))


@pytest.mark.byhand
def test_outputs_follow_each_scenario(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, B1="=A1*A2", B2="=B1+100", B3="=A2*7")
    with open_workbook(path) as book:
        out = book.evaluate({"A1": [1, 2, 3], "A2": 10}, ["B2", "B3", "A1"])
        assert out["B2"].tolist() == [110, 120, 130]
        assert out["B3"].tolist() == [70, 70, 70]
        assert out["A1"].tolist() == [1, 2, 3]
        assert (book.value("A2"), book.value("B2")) == (2, 102)


@pytest.mark.byhand
def test_kinds_of_results(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, B1="=A1>1", B2="=1/A1", B3='=IF(A1>1,"many",A1)', B4="=B1:B1", C1=None)
    with open_workbook(path) as book:
        out = book.evaluate({"A1": [0, 2]}, ["B1", "B2", "B3"])
        assert out["B1"].dtype == bool and out["B1"].tolist() == [False, True]
        assert out["B2"].tolist() == [CellErrorValue.DIV0, 0.5]
        assert out["B3"].tolist() == [0, "many"]


@pytest.mark.byhand
def test_ranges_in_and_out(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, A2=2, B1=3, B2=4, C1="=SUM(A1:B1)", C2="=SUM(A2:B2)")
    path = with_names(path, sums="Sheet1!$C$1:$C$2")
    with open_workbook(path) as book:
        varied = np.arange(12.0).reshape(3, 2, 2)
        out = book.evaluate({"A1:B2": varied}, ["sums"])
        assert out["sums"].shape == (3, 2, 1)
        assert np.array_equal(out["sums"][:, :, 0], varied.sum(axis=2))


def test_texts_vary_too(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="x", A2="y", B1=10, B2=20, C1="x", D1="=INDEX(B1:B2,MATCH(C1,A1:A2,0))")
    with open_workbook(path) as book:
        out = book.evaluate({"C1": np.array(["y", "x", "z"], dtype=object)}, ["D1"])
        assert out["D1"].tolist() == [20, 10, CellErrorValue.NA]


def test_what_cannot_be_varied(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, B1="=A1", C1="=NOSUCH()", D1="=C1+A1")
    with open_workbook(path) as book:
        for inputs, outputs, words in (
            ({"B1": [1, 2]}, ["B1"], "holds a formula"),
            ({"A1": [1, 2], "E1": [1, 2, 3]}, ["B1"], "scenarios"),
            ({"A1": [1.0, float("nan")]}, ["B1"], "NaN"),
            ({"A1": [[1, 2]]}, ["B1"], "shape"),
            ({"A1": [1, 2]}, ["D1"], "can't be evaluated"),
            ({"A1": [1, 2]}, ["nowhere"], "no cell or name"),
        ):
            with pytest.raises(CellError) as caught:
                book.evaluate(inputs, outputs)  # type: ignore[arg-type]
            assert words in str(caught.value)
        assert book.evaluate({"A1": [5, 6]}, ["B1"])["B1"].tolist() == [5, 6]


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), block=st.sampled_from([None, 1, 2, 3]))
def test_each_scenario_equals_its_single_run(
    tmp_path_factory: pytest.TempPathFactory, seed: int, block: int | None
) -> None:
    path = book_of(tmp_path_factory.mktemp("b") / "b.xlsx", {"Sheet1": random_book(seed)})
    rng = np.random.default_rng(seed)
    inputs = {f"{rng.choice(['A', 'B'])}{rng.integers(1, 13)}": np.round(rng.uniform(-3, 9, 5), 1) for _ in range(3)}
    outputs = [f"{c}{r}" for c in "CDEFGH" for r in range(1, 13)]
    with open_workbook(path) as book:
        report = book.recalculate()
        kept = {k.cell.removeprefix("Sheet1!") for k in (*report.unevaluated, *report.stale)}
        wanted = [cell for cell in outputs if cell not in kept]
        try:
            batch = book.evaluate(inputs, wanted, block=block)
        except CellError:
            return  # a scenario has a cycle that the workbook's own values don't
        for s in range(5):
            for cell, values in inputs.items():
                book.set(cell, float(values[s]))
            single = book.recalculate()
            lost = {k.cell.removeprefix("Sheet1!") for k in (*single.unevaluated, *single.stale)}
            for cell in wanted:
                if cell not in lost:
                    assert same(batch[cell][s], book.value(cell)), (cell, s)


@pytest.mark.property
def test_our_own_workbook_in_scenarios(tmp_path: Path) -> None:
    from books import SHAPES, made_up_book

    path = tmp_path / "b.xlsx"
    made_up_book(path, 60)
    rng = np.random.default_rng(1)
    inputs = {
        f"ratios[{rows}x{columns}][{level}%]": rng.uniform(1, 5, 7)
        for rows, columns in SHAPES
        for level in (70, 80, 90)
    }
    outputs = ["sparse_improve_baseline", "estimated_speedup_baseline", "total_aim_to_sparse_latency_baseline"]
    with open_workbook(path) as book:
        batch = book.evaluate(inputs, outputs)
        assert len(set(batch["sparse_improve_baseline"].tolist())) == 7
        for s in range(7):
            for cell, values in inputs.items():
                book.set(cell, float(values[s]))
            assert book.recalculate().complete
            assert [batch[name][s] for name in outputs] == [book.value(name) for name in outputs]
