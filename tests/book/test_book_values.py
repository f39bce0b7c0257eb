"""The workbook's arithmetic against hand figures, the seed document's example and LibreOffice."""

from __future__ import annotations

import math
import re
from pathlib import Path

import openpyxl
import pytest
from libreoffice import needs_libreoffice, recalculated_values
from profiles import operator, profile

from workbench import recalc
from workbench.book import Book, open_book, write_book
from workbench.profile import RatioRow, RatioTable


def written(path: Path, operators: list, **options: object) -> Book:
    write_book([profile(operators)], path, **options)  # type: ignore[arg-type]
    return open_book(path)


def test_the_seed_example_of_one_operator(tmp_path: Path) -> None:
    """256x256 at 70 %, 0.075 ms → ratio 2.0, 0.0375 ms."""
    book = written(tmp_path / "b.xlsx", [operator(0, (256, 256), 0.075)], targets={"baseline": [0.7]})
    (row,) = book.operators().to_dict("records")
    assert row["perf ratio"] == 2.0
    assert row["aim to sparse latency (ms)"] == pytest.approx(0.0375, abs=1e-12)


def test_the_seed_example_of_the_totals(tmp_path: Path) -> None:
    """total 4.512, supported 3.127, supported at targets 0.801 → 2.186, 0.693, 0.366, 2.064."""
    table = RatioTable((0.9,), (RatioRow((256, 256), {0.9: 3.127 / 0.801}, 1.0, "user"),))
    operators = [operator(0, (256, 256), 3.127), operator(1, None, 4.512 - 3.127, kind="Softmax")]
    totals = written(tmp_path / "b.xlsx", operators, ratios=table, targets={"baseline": [0.9, None]}).totals()
    assert totals["total_latency"] == pytest.approx(4.512)
    assert totals["sparse_support_latency"] == pytest.approx(3.127)
    assert totals["aim_to_sparse_support_latency"] == pytest.approx(0.801)
    assert round(totals["total_aim_to_sparse_latency"], 3) == 2.186
    assert round(totals["sparse_support_latency_ratio"], 3) == 0.693
    assert round(totals["aim_to_sparse_support_latency_ratio"], 3) == 0.366
    assert round(totals["sparse_improve"], 3) == 2.064


def test_estimated_ms_scales_the_measured_end_to_end_time(tmp_path: Path) -> None:
    """End-to-end 1.1 x 3 ms; at 80 % 256x256 has ratio 2.5: (1/2.5 + 2) / 3 of it remain."""
    operators = [operator(0, (256, 256), 1.0), operator(1, None, 2.0, kind="Softmax")]
    estimates = written(tmp_path / "b.xlsx", operators, targets={"baseline": [0.8, None]}).estimates()
    assert estimates["end_to_end"] == pytest.approx(3.3)
    assert estimates["estimated_ms"] == pytest.approx(3.3 * 2.4 / 3)
    assert estimates["estimated_speedup"] == pytest.approx(3 / 2.4)
    assert estimates["ceiling"] == pytest.approx(3 / 2)
    assert estimates["op_sum"] == pytest.approx(3.0)
    assert estimates["unattributed"] == pytest.approx(0.3)
    assert estimates["profiling_overhead"] == pytest.approx(0.3)
    assert estimates["items_per_second"] == pytest.approx(1000 / 3.3)


@pytest.mark.parametrize(
    ("target", "between", "ratio"),
    [
        (0.9, "others", 4.0),
        (0.8, "others", 2.5),
        (0.85, "others", 1.0),
        (0.0, "others", 1.0),
        (0.85, "interpolate", 1 / ((1 / 4.0 + 1 / 2.5) / 2)),
        (0.35, "interpolate", 1 / ((1 + 1 / 2.0) / 2)),
        (0.95, "interpolate", 4.0),
        (0.9, "interpolate", 4.0),
    ],
)
def test_targets_between_the_levels(tmp_path: Path, target: float, between: str, ratio: float) -> None:
    path = tmp_path / "b.xlsx"
    written(path, [operator(0, (256, 256), 1.0)], targets={"baseline": [target]})
    recalc.recompute(path, edits=[f"between_levels_baseline={between}"])
    (row,) = open_book(path).operators().to_dict("records")
    assert row["perf ratio"] == pytest.approx(ratio)


def test_a_shape_without_a_row_gains_nothing_and_is_counted(tmp_path: Path) -> None:
    table = RatioTable((0.9,), (RatioRow((512, 512), {0.9: 5.0}, 1.0, "user"),))
    book = written(tmp_path / "b.xlsx", [operator(0, (256, 256), 1.0)], ratios=table, targets={"baseline": [0.9]})
    assert book.operators()["perf ratio"].tolist() == [1.0]
    assert book.value("without_ratio_baseline") == 1


def test_what_is_not_supported_keeps_its_latency(tmp_path: Path) -> None:
    operators = [operator(0, (255, 256), 1.0, supported=False), operator(1, (256, 256), 1.0)]
    book = written(tmp_path / "b.xlsx", operators, targets={"baseline": [0.9, 0.9]})
    assert book.operators()["aim to sparse latency (ms)"].tolist() == [1.0, 0.25]


def mixed() -> list:
    shapes: list[tuple[int, int] | None] = [(256, 256), None, (1024, 256), (256, 1024), None, (768, 768), (2, 256)]
    kinds = ["MatMul", "Softmax", "Gemm", "MatMul", "Add", "MatMul", "Gemm"]
    return [
        operator(n, shape, 0.1 + 0.07 * n, kind=kind, supported=shape is not None and shape[0] % 4 == 0)
        for n, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]


EDITS = {
    "none": [],
    "a ratio": ["ratios_baseline[256x1024][80%]=6.5", "'baseline ops'!N5=80%"],
    "a level": ["{level}=95%", "'baseline ops'!N2=95%"],
    "a target": ["'baseline ops'!N2=0.7"],
    "a target between": ["'baseline ops'!N2=0.75", "between_levels_baseline=interpolate"],
    "a latency": ["'baseline ops'!M4=3.25"],
    "a support cell": ["'baseline ops'!L2=FALSE"],
    "the summary type": ["summary_type_baseline=Pruned 0.8 ms", "shown_as_baseline=% of total"],
    "one target": ["default_target_baseline=80%"],
    "a cleared ratio": ["ratios_baseline[256x256][90%]="],
}


@pytest.mark.libreoffice
@needs_libreoffice
@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_every_formula_has_libreoffices_value(tmp_path: Path, edits: list[str]) -> None:
    path = tmp_path / "b.xlsx"
    write_book([profile(mixed()), profile(mixed(), name="batch 8", batch=8)], path)
    if edits:
        before = {name: open_book(path).totals("baseline")[name] for name in ("total_aim_to_sparse_latency",)}
        report = recalc.recompute(path, edits=[edit.replace("{level}", first_level(path)) for edit in edits])
        assert report.complete
        if not any("summary_type" in edit for edit in edits):
            assert open_book(path).totals("baseline") != before
    assert_same_as_libreoffice(path, tmp_path / "lo")


def first_level(path: Path) -> str:
    """The address of the ratio table's first level."""
    (area,) = openpyxl.load_workbook(path).defined_names["ratios_baseline"].destinations
    sheet, cells = area
    column, row = re.match(r"\$([A-Z]+)\$(\d+)", cells).groups()  # type: ignore[union-attr]
    return f"'{sheet}'!{chr(ord(column) + 1)}{row}"


def assert_same_as_libreoffice(path: Path, folder: Path) -> None:
    theirs = recalculated_values(path, folder)
    ours = openpyxl.load_workbook(path, data_only=True)
    assert len(theirs) > 300
    different = {
        place: (ours[place[0]][place[1]].value, value)
        for place, value in theirs.items()
        if not same(ours[place[0]][place[1]].value, value)
    }
    assert not different


def same(ours: object, theirs: object) -> bool:
    # LibreOffice saves an empty text as an empty cell.
    if ours in (None, "") and theirs in (None, ""):
        return True
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-15)
    return ours == theirs
