"""The sheet of a loss profile: figures by hand, live, in new and existing workbooks, alike in LibreOffice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import loss_models
import openpyxl
import pandas as pd
import pytest
from libreoffice import needs_libreoffice, recalculated_values

from workbench.book import open_book, write_book
from workbench.book.insert import add_loss_profile, add_profile
from workbench.book.loss import short_labels
from workbench.errors import WorkbenchError
from workbench.profile import LayerLoss, LossProfile, ModelInfo, PerformanceProfile
from workbench.profiling import profile_model
from workbench.recalc import open_workbook

LEVELS = (0.0, 0.5, 0.9)
NAMES = ("A", "B", "C")


@pytest.fixture(scope="module")
def performance(tmp_path_factory: pytest.TempPathFactory) -> PerformanceProfile:
    """A performance profile, approximated, of a model with a stem and the weights A, B and C."""
    path = loss_models.saved(loss_models.branches(dict.fromkeys(NAMES, 1.0)), tmp_path_factory.mktemp("model"))
    return profile_model(path, measure=False, peak_gflops=1.0)


def loss(
    sensitivities: Mapping[str, Sequence[float]], parameters: Sequence[int] = (100, 100, 200), name: str = "base"
) -> LossProfile:
    layers = tuple(
        LayerLoss(f"/net/{weight}/MatMul", weight, "MatMul", (4, n // 4), n, dict(zip(LEVELS, values, strict=True)))
        for (weight, values), n in zip(sensitivities.items(), parameters, strict=True)
    )
    info = ModelInfo("test.onnx", "0" * 64, 17, "", 500, 4)
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    return LossProfile(name, info, "magnitude", "4x1", "by hand", LEVELS, layers, when)


BY_HAND = {"A": (0.0, 1.0, 2.0), "B": (0.0, 3.0, 6.0), "C": (0.0, 2.0, 4.0)}


def targets(performance: PerformanceProfile, wanted: Mapping[str, float]) -> list[float | None]:
    return [wanted.get(op.weight.name) if op.weight else None for op in performance.operators]


def made(path: Path, performance: PerformanceProfile, profile: LossProfile, wanted: Mapping[str, float]) -> Path:
    write_book([performance], path, loss_profiles=[profile], targets={"baseline": targets(performance, wanted)})
    return path


def layer_rows(path: Path, sheet: str = "base") -> dict[str, dict[object, object]]:
    """Layer → header → value, from the cached values."""
    cells = openpyxl.load_workbook(path, data_only=True)[sheet]
    rows = list(cells.iter_rows(values_only=True))
    at = next(n for n, row in enumerate(rows) if "loss-optimal sparsity" in row)
    found = {}
    for row in rows[at + 1 :]:
        record = dict(zip(rows[at], row, strict=True))
        if not record["layer"]:
            break
        found[str(record["weight name"])] = record
    return found


@pytest.mark.byhand
def test_recovery_and_reduction_by_hand(tmp_path: Path, performance: PerformanceProfile) -> None:
    """280 zeros are wanted. By least sensitivity go A and C at 1 and 2, B's half at 3: 240. C's rest at 4 makes
    320, so half of that step is taken: A 90 %, B 50 %, C 70 %, of sensitivities 2, 3 and 2 + 2 x 0.2 / 0.4 = 3.
    """
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {"A": 0.5, "B": 0.5, "C": 0.9})
    rows = layer_rows(path)
    assert [rows[n]["loss-optimal sparsity"] for n in NAMES] == pytest.approx([0.9, 0.5, 0.7])
    assert [rows[n]["sensitivity there"] for n in NAMES] == pytest.approx([2, 3, 3])
    assert [rows[n]["sensitivity at target"] for n in NAMES] == pytest.approx([1, 3, 4])
    assert [rows[n]["estimated recovery"] for n in NAMES] == pytest.approx([1.5, 1.0, 1 + (3 - 4) / 3])
    figures = open_book(path).loss_figures("base")
    assert figures["recovery"] == pytest.approx((1.5 + 1 + 2 / 3) / 3)
    assert figures["zeros"] == pytest.approx(280)
    assert figures["parameters"] == 400
    assert figures["reduction"] == pytest.approx(500 / (500 - 280))
    assert figures["average"] == pytest.approx((2 + 6 + 4) / 3)


@pytest.mark.byhand
def test_ranks_and_normalised_levels(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {})
    rows = layer_rows(path)
    assert [rows[n]["rank"] for n in NAMES] == [3, 1, 2]
    assert [rows[n]["of the highest"] for n in NAMES] == pytest.approx([2 / 6, 1, 4 / 6])
    assert [rows[n]["50 %, normalised"] for n in NAMES] == pytest.approx([1 / 3, 1, 2 / 3])
    book = open_workbook(path)
    book.set("loss_view_base", "of all levels")
    book.recalculate()
    book.save(path)
    assert [layer_rows(path)[n]["50 %, normalised"] for n in NAMES] == pytest.approx([1 / 6, 3 / 6, 2 / 6])


@pytest.mark.byhand
def test_a_layer_that_the_plan_leaves_alone_has_recovery_0_and_a_dense_one_1(
    tmp_path: Path, performance: PerformanceProfile
) -> None:
    """90 zeros are wanted, all from B; the plan takes them from A and C, which are less sensitive."""
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND, (100, 100, 200)), {"B": 0.9})
    rows = layer_rows(path)
    assert rows["B"]["loss-optimal sparsity"] == 0
    assert rows["B"]["estimated recovery"] == 0
    assert rows["A"]["estimated recovery"] == 1
    assert rows["C"]["estimated recovery"] == 1


@pytest.mark.byhand
def test_targets_that_are_the_plan_of_least_loss_recover_fully(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {"A": 0.9, "B": 0.5, "C": 0.5})
    assert [row["estimated recovery"] for row in layer_rows(path).values()] == pytest.approx([1, 1, 1])
    alike = dict.fromkeys(NAMES, (0.0, 1.0, 2.0))
    path = made(tmp_path / "c.xlsx", performance, loss(alike), dict.fromkeys(NAMES, 0.7))
    assert [row["estimated recovery"] for row in layer_rows(path).values()] == pytest.approx([1, 1, 1])


@pytest.mark.byhand
def test_figures_follow_the_targets_and_what_counts(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {"A": 0.9, "B": 0.5, "C": 0.5})
    book = open_workbook(path)
    names = [op.name for op in performance.operators]
    column = [cell.value for cell in openpyxl.load_workbook(path)["baseline ops"][1]].index(
        "aim to weight sparse ratio"
    )
    letter = openpyxl.utils.get_column_letter(column + 1)
    for weight, target in {"A": 0.5, "B": 0.5, "C": 0.9}.items():
        row = next(n for n, op in enumerate(performance.operators) if op.weight and op.weight.name == weight)
        assert names[row]
        book.set(f"'baseline ops'!{letter}{row + 2}", target)
    book.recalculate()
    assert book.value("loss_recovery_base") == pytest.approx((1.5 + 1 + 2 / 3) / 3)
    assert book.value("loss_zeros_base") == pytest.approx(280)
    sheet = openpyxl.load_workbook(path)["base"]
    counts = next(c for row in sheet.iter_rows() for c in row if c.value == "counts")
    book.set(f"'base'!{counts.column_letter}{counts.row + 2}", False)  # B
    book.recalculate()
    # Without B, 230 zeros of A and C: at 2, A 90 and C 100; C's rest at 4: half of 80.
    assert book.value("loss_average_base") == pytest.approx((2 + 4) / 2)
    assert book.value("loss_recovery_base") == pytest.approx((1.5 + 2 / 3) / 2)
    assert book.value("loss_zeros_base") == pytest.approx(280)


@pytest.mark.byhand
def test_operators_show_sensitivity_and_loss_per_ms(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {"A": 0.7, "B": 0.9})
    rows = open_book(path).operators().set_index("weight name")
    assert rows.loc["A", "sensitivity at aim"] == pytest.approx(1.5)
    assert rows.loc["B", "sensitivity at aim"] == pytest.approx(6)
    assert rows.loc["B", "loss per ms gained"] == pytest.approx(6 / rows.loc["B", "saving (ms)"])
    assert pd.isna(rows.loc["C", "sensitivity at aim"])  # stays dense
    assert pd.isna(rows.loc["stem", "sensitivity at aim"])  # not in the loss profile


def test_without_a_loss_profile_the_columns_are_blank(tmp_path: Path, performance: PerformanceProfile) -> None:
    write_book([performance], tmp_path / "b.xlsx")
    rows = open_book(tmp_path / "b.xlsx").operators()
    for column in ("sensitivity at aim", "loss per ms gained"):
        assert rows[column].isna().all()


def test_a_loss_profile_inserted_later_gives_what_a_new_book_has(
    tmp_path: Path, performance: PerformanceProfile
) -> None:
    wanted = {"A": 0.5, "B": 0.5, "C": 0.9}
    fresh = made(tmp_path / "fresh.xlsx", performance, loss(BY_HAND), wanted)
    path = tmp_path / "later.xlsx"
    write_book([performance], path, targets={"baseline": targets(performance, wanted)})
    done = add_loss_profile(path, loss(BY_HAND))
    assert done.added == ("base",)
    assert openpyxl.load_workbook(path).sheetnames == ["Summary", "baseline", "baseline ops", "base", "Guide"]
    assert layer_rows(path) == layer_rows(fresh)
    assert open_book(path).loss_figures("base") == open_book(fresh).loss_figures("base")
    for column in ("sensitivity at aim", "loss per ms gained"):
        assert open_book(path).operators()[column].equals(open_book(fresh).operators()[column])


def test_the_loss_profile_added_last_speaks_among_the_operators(
    tmp_path: Path, performance: PerformanceProfile
) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), dict.fromkeys(NAMES, 0.9))
    tenfold = {name: tuple(10 * v for v in values) for name, values in BY_HAND.items()}
    add_loss_profile(path, loss(tenfold, name="tenfold"))

    def sensitivities() -> list[float]:
        rows = open_book(path).operators().set_index("weight name")
        return [rows.loc[name, "sensitivity at aim"] for name in NAMES]

    assert sensitivities() == pytest.approx([20, 60, 40])
    assert open_book(path).loss_profile_names == ("base", "tenfold")
    add_loss_profile(path, loss(dict.fromkeys(NAMES, (0.0, 0.1, 0.2))), replace=True)
    assert sensitivities() == pytest.approx([0.2] * 3)
    assert open_book(path).loss_figures("tenfold")["average"] == pytest.approx(40)


def test_several_loss_profiles_in_a_new_book(tmp_path: Path, performance: PerformanceProfile) -> None:
    other = dataclasses.replace(performance, name="other")
    losses = [
        loss(BY_HAND),
        dataclasses.replace(loss(BY_HAND, name="second"), performance_profile="other"),
        loss(BY_HAND, name="third"),
    ]
    path = tmp_path / "b.xlsx"
    write_book([performance, other], path, loss_profiles=losses)
    book = open_book(path)
    assert book.loss_profile_names == ("base", "second", "third")
    for name in ("baseline", "other"):
        assert book.operators(name)["sensitivity at aim"].notna().sum() == 3


def test_layers_of_unknown_sensitivity_stay_blank(tmp_path: Path, performance: PerformanceProfile) -> None:
    whole = loss(BY_HAND)
    unknown = dataclasses.replace(whole.layers[1], sensitivity={}, skipped="first prunable layer")
    profile = dataclasses.replace(whole, layers=(whole.layers[0], unknown, whole.layers[2]))
    path = made(tmp_path / "b.xlsx", performance, profile, dict.fromkeys(NAMES, 0.9))
    row = layer_rows(path)["B"]
    assert row["counts"] is False
    assert row["left out because"] == "first prunable layer"
    for header in ("sensitivity", "rank", "sensitivity at target", "estimated recovery", "90 %, normalised"):
        assert row[header] in (None, "")
    assert open_book(path).loss_figures("base")["average"] == pytest.approx((2 + 4) / 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"performance_profile": "missing"}, "there is no performance profile 'missing'; there are: baseline"),
        ({"name": "baseline"}, "there is a sheet 'baseline' already"),
        ({"name": "Summary"}, "reserved"),
        ({"name": "a/b"}, "can't contain '/'"),
    ],
)
def test_names_that_will_not_do(
    tmp_path: Path, performance: PerformanceProfile, change: dict[str, str], said: str
) -> None:
    profile = dataclasses.replace(loss(BY_HAND), **change)  # type: ignore[arg-type]
    path = tmp_path / "b.xlsx"
    with pytest.raises(WorkbenchError, match=said):
        write_book([performance], path, loss_profiles=[profile])
    assert not path.exists()
    write_book([performance], path)
    before = path.read_bytes()
    with pytest.raises(WorkbenchError, match=said):
        add_loss_profile(path, profile)
    assert path.read_bytes() == before


def test_a_workbook_without_operators_gets_no_loss_profile(tmp_path: Path) -> None:
    path = tmp_path / "plain.xlsx"
    openpyxl.Workbook().save(path)
    with pytest.raises(WorkbenchError, match="follows the targets of a performance profile, and there is none"):
        add_loss_profile(path, loss(BY_HAND))


def test_a_performance_profiles_sheet_is_not_replaced(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = tmp_path / "b.xlsx"
    write_book([performance], path)
    with pytest.raises(WorkbenchError, match="is no loss profile's"):
        add_loss_profile(path, loss(BY_HAND, name="baseline"), replace=True)


def test_short_labels_leave_out_what_all_share() -> None:
    names = ["/m/encoder/layer.0/query/MatMul", "/m/encoder/layer.0/key/MatMul", "/m/encoder/layer.1/key/MatMul"]
    assert short_labels(names) == ["layer.0/query", "layer.0/key", "layer.1/key"]
    assert short_labels(["conv1", "fc"]) == ["conv1", "fc"]
    assert short_labels(["/only/one"]) == ["/only/one"]
    assert short_labels(["/a/x/Conv", "/a/Conv"]) == ["x/Conv", "Conv"]


@needs_libreoffice
@pytest.mark.libreoffice
def test_libreoffice_computes_the_same(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), {"A": 0.5, "B": 0.62, "C": 0.9})
    add_loss_profile(path, loss({"A": (0.0, 1e-9, 3e-9), "B": (0.0, 0.5, 0.2), "C": (0.0, 0.5, 0.5)}, name="odd"))
    ours = openpyxl.load_workbook(path, data_only=True)
    theirs = recalculated_values(path, tmp_path / "lo")
    compared = 0
    for (sheet, cell), value in theirs.items():
        own = ours[sheet][cell].value
        if value in (None, "") and own in (None, ""):
            continue
        compared += sheet in ("base", "odd")
        if isinstance(value, float | int) and not isinstance(value, bool):
            assert own == pytest.approx(value, rel=1e-9, abs=1e-12), (sheet, cell)
        else:
            assert own == value, (sheet, cell)
    assert compared > 200


def test_the_summary_has_a_line_for_each_loss_profile(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), dict.fromkeys(NAMES, 0.5))
    done = add_loss_profile(path, loss(BY_HAND, name="later"))
    assert not done.notes
    rows = list(openpyxl.load_workbook(path, data_only=True)["Summary"].iter_rows(values_only=True))
    at = next(n for n, row in enumerate(rows) if "loss profile" in row)
    records = [dict(zip(rows[at], row, strict=True)) for row in rows[at + 1 : at + 4]]
    assert [r["loss profile"] for r in records] == ["base", "later", None]
    for record in records[:2]:
        assert record["average sensitivity"] == pytest.approx(4)
        assert record["estimated recovery"] == pytest.approx(open_book(path).loss_figures("later")["recovery"])
        assert record["follows the targets of"] == "baseline"


def test_layers_are_read_as_a_data_frame(tmp_path: Path, performance: PerformanceProfile) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), dict.fromkeys(NAMES, 0.5))
    rows = open_book(path).layers("base").set_index("weight name")
    assert list(rows[0.9]) == [2, 6, 4]
    assert list(rows["rank"]) == [3, 1, 2]
    with pytest.raises(WorkbenchError, match="no loss profile 'bass'; there are: base"):
        open_book(path).layers("bass")


def test_a_performance_profile_written_anew_keeps_its_loss_profile(
    tmp_path: Path, performance: PerformanceProfile
) -> None:
    path = made(tmp_path / "b.xlsx", performance, loss(BY_HAND), dict.fromkeys(NAMES, 0.5))
    again = targets(performance, dict.fromkeys(NAMES, 0.9))
    add_profile(path, performance, replace=True, targets=again)
    rows = open_book(path).operators().set_index("weight name")
    assert [rows.loc[name, "sensitivity at aim"] for name in NAMES] == pytest.approx([2, 6, 4])
    assert open_book(path).loss_figures("base")["zeros"] == pytest.approx(0.9 * 400)


@pytest.mark.byhand
def test_sensitivities_of_zero_and_below(tmp_path: Path, performance: PerformanceProfile) -> None:
    """Without any sensitivity every plan is as good; where pruning helps (cross-entropy), nothing breaks."""
    wanted = {"A": 0.5, "B": 0.9}
    path = made(tmp_path / "zero.xlsx", performance, loss(dict.fromkeys(NAMES, (0.0, 0.0, 0.0))), wanted)
    assert open_book(path).loss_figures("base")["recovery"] == 1
    helped = {"A": (0.0, -0.1, -0.2), "B": (0.0, 1.0, 2.0), "C": (0.0, -0.3, 0.4)}
    path = made(tmp_path / "helped.xlsx", performance, loss(helped), wanted)
    rows = layer_rows(path)
    assert [rows[n]["rank"] for n in NAMES] == [3, 1, 2]
    assert all(isinstance(row["estimated recovery"], int | float) for row in rows.values())
