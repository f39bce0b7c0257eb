"""Every button pressed through LibreOffice's dispatcher; results equal the command's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from workbench.book import open_book

pytestmark = pytest.mark.libreoffice


@pytest.fixture(autouse=True)
def _no_books_left(toolbar: Any) -> Iterator[None]:
    yield
    toolbar.close_all()


def command(*arguments: str) -> None:
    """Run the command line in this process."""
    import workbench.cli

    result = CliRunner().invoke(workbench.cli._root, list(arguments))
    assert result.exit_code == 0, result.output


def with_model(path: Path, folder: Path) -> Path:
    """A second copy of a book and the model beside it, for the command line."""
    folder.mkdir()
    shutil.copy(path.with_name("decoder_block.onnx"), folder)
    return Path(shutil.copy(path, folder))


def settings(book: Any, action: str, **values: Any) -> None:
    """Fill in the settings sheet as a person would, after the button has asked."""
    sheet = book.sheets["Workbench settings"]
    for row in range(1, sheet.used_range.last_cell.row + 1):
        owner, name = sheet.range((row, 1), (row, 2)).value
        if owner == action and name in values:
            sheet.range((row, 3)).value = values.pop(name)
    assert not values, "no such settings"


def with_settings(book: Any, action: str, **values: Any) -> None:
    """Settings that the person filled in on an earlier day."""
    front = book.sheets.active
    sheet = book.sheets.add("Workbench settings", after=book.sheets[-1])
    sheet["A1"].value = [["action", "setting", "value"], *([action, name, value] for name, value in values.items())]
    front.activate()


def test_recalculate_gives_the_commands_values(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    other = with_model(own_copy, tmp_path / "command")
    book = toolbar.open(own_copy)
    latency = book.sheets["baseline ops"].tables["ops_baseline"]
    column = latency.header_row_range.value.index("operator latency (ms)")
    cell = latency.data_body_range[0, column]
    cell.value = 100.0
    outcome = toolbar.press(book, "recalculate")
    assert outcome["exit_code"] == 0, outcome
    assert outcome["message"].startswith("Recalculated")
    command("recompute", str(other), "--set", f"'baseline ops'!{cell.get_address(False, False)}=100")
    expected = open_book(other)
    for name, value in (expected.totals() | expected.estimates()).items():
        if value == value:
            assert book.names[f"{name}_baseline"].refers_to_range.value == pytest.approx(value), name


def test_check_finds_all_values_agree(toolbar: Any, own_copy: Path) -> None:
    book = toolbar.open(own_copy)
    outcome = toolbar.press(book, "check")
    assert outcome["exit_code"] == 0, (outcome, toolbar.messages(book))
    assert "all values agree" in outcome["message"]
    assert "Workbench messages" not in book.sheet_names


def test_check_lists_a_cell_that_differs_and_passes_over_volatile_ones(toolbar: Any, tmp_path: Path) -> None:
    book = toolbar.app.books.add()
    # LibreOffice says 0^0 is 1; Excel and the workbench say #NUM!.
    book.sheets[0]["A1"].value = [["=0^0", "=RAND()", "=1+1"]]
    outcome = toolbar.press(book, "check")
    assert outcome["exit_code"] == 1
    assert outcome["message"] == "Checked 2 formulas: 1 differ, 0 could not be evaluated; 1 could not be compared"
    assert toolbar.messages(book)[2][3:7] == ["Sheet1!A1", 1, "#NUM!", "=0^0"]


def test_profile_again_measures_and_keeps_what_was_edited(toolbar: Any, own_copy: Path) -> None:
    book = toolbar.open(own_copy)
    ratios = book.names["ratios_baseline"].refers_to_range
    ratios[1, 1].value = 3.25
    edited = ratios[1, 1].get_address(False, False)
    before = open_book(own_copy)
    operators = before.operators()
    products = [i for i, supported in enumerate(operators["sparse support"]) if supported]
    header = book.sheets["baseline ops"].tables["ops_baseline"].header_row_range.value
    body = book.sheets["baseline ops"].tables["ops_baseline"].data_body_range
    body[products[0], header.index("aim to weight sparse ratio")].value = 0.7
    body[products[1], header.index("sparse support")].value = 0
    book.sheets["baseline ops"].activate()
    with_settings(book, "profile_again", seconds=0.5)
    outcome = toolbar.press(book, "profile_again")
    assert outcome["exit_code"] == 0, outcome
    book = toolbar.app.books[0]
    assert book.sheets["baseline"][edited].value == 3.25
    assert book.sheets.active.name == "baseline ops"
    after = open_book(own_copy)
    assert after.facts()["provenance"] != before.facts()["provenance"] == "estimated from FLOPs"
    named = after.operators().set_index("operator name")
    first, second = operators["operator name"][products[0]], operators["operator name"][products[1]]
    assert named.loc[first, "aim to weight sparse ratio"] == 0.7
    assert named.loc[second, "sparse support"] == 0
    assert after.facts()["batch"] == before.facts()["batch"]


def test_add_profile_asks_then_adds_what_the_command_adds(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    other = with_model(own_copy, tmp_path / "command")
    book = toolbar.open(own_copy)
    asked = toolbar.press(book, "add_profile")
    assert asked["exit_code"] == 2
    assert "needs name and model" in asked["message"]
    assert book.sheets.active.name == "Workbench settings"
    settings(book, "add_profile", name="two", model="decoder_block.onnx", batch=2, seconds=0)
    outcome = toolbar.press(book, "add_profile")
    assert outcome["exit_code"] == 0, outcome
    model = str(other.with_name("decoder_block.onnx"))
    command("profile", model, "-o", str(other), "--name", "two", "--batch", "2", "--no-measure")
    made, expected = open_book(own_copy), open_book(other)
    assert made.profile_names == expected.profile_names == ("baseline", "two")
    kept = ["operator name", "weight shape", "output shape", "sparse support", "FLOPs"]
    assert made.operators("two")[kept].equals(expected.operators("two")[kept])
    assert toolbar.app.books[0].sheets["two"].used_range.shape[0] > 10


def measured_before(path: Path) -> None:
    """Put measurements of the book's shapes into the cache, so that neither button nor command has to measure."""
    from workbench.book.calibration import calibrate_book
    from workbench.calibration.cache import CalibrationCache, MeasuredLevel

    class MadeUp(CalibrationCache):
        def find(self, key: Any, levels: Any) -> Any:
            ratios = {level: key.shape[0] / 100 + level for level in levels}
            self.keep(key, {n: MeasuredLevel(r, r - 0.01, r + 0.01, 1.0, 1.0 / r, 50.0, 40) for n, r in ratios.items()})
            return super().find(key, levels)

    calibrate_book(path, path.with_name("first.xlsx"), cache=MadeUp())


def test_calibrate_writes_what_the_command_writes(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    other = with_model(own_copy, tmp_path / "command")
    measured_before(own_copy)
    book = toolbar.open(own_copy)
    with_settings(book, "calibrate", overwrite="yes")
    outcome = toolbar.press(book, "calibrate", patience_s=120)
    command("calibrate", str(other), "--overwrite")  # finds the measurements in the cache
    made, expected = open_book(own_copy), open_book(other)
    assert made.ratio_table() == expected.ratio_table()
    assert outcome["exit_code"] == 0
    assert "measured here" in str(made.ratios()["source"].tolist())
    assert made.totals() == pytest.approx(expected.totals())


def test_loss_profile_equals_the_command(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    other = with_model(own_copy, tmp_path / "command")
    book = toolbar.open(own_copy)
    for _ in "once", "again":
        outcome = toolbar.press(book, "loss_profile")
        assert outcome["exit_code"] == 0, outcome
        book = toolbar.app.books[0]
    assert "loss" in book.sheet_names
    command("loss", str(other.with_name("decoder_block.onnx")), str(other))
    made, expected = open_book(own_copy), open_book(other)
    assert made.loss_profile_names == expected.loss_profile_names == ("loss",)
    assert made.loss_figures("loss") == expected.loss_figures("loss")


def test_sweep_equals_the_command(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    other = with_model(own_copy, tmp_path / "command")
    first, second = "ratios_baseline[192x192][90%]=2..4:1", "ratios_baseline[512x192][90%]=2,3"
    book = toolbar.open(own_copy)
    asked = toolbar.press(book, "sweep")
    assert asked["exit_code"] == 2 and "sweep needs vary" in asked["message"]
    settings(book, "sweep", vary=f"{first}; {second}")
    outcome = toolbar.press(book, "sweep")
    assert outcome["message"] == "Tried 6 scenarios; they are in the sheet Scenarios"
    command("sweep", str(other), "--vary", first, "--vary", second, "--save")
    shown = toolbar.app.books[0].sheets["Scenarios"].used_range.value
    toolbar.close_all()  # like Excel, xlwings has no two books of one name
    there = toolbar.open(other).sheets["Scenarios"].used_range.value
    assert len(shown) == len(there) > 6
    for mine, theirs in zip(shown, there, strict=True):  # LibreOffice saves 15 digits
        assert mine == [pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for v in theirs]


def test_plan_sets_the_targets_that_the_command_sets(toolbar: Any, own_copy: Path, tmp_path: Path) -> None:
    other = with_model(own_copy, tmp_path / "command")
    book = toolbar.open(own_copy)
    with_settings(book, "plan", **{"speed-up": 1.5, "levels": "70%, 90%"})
    before = own_copy.read_bytes()
    settings_only = toolbar.press(book, "plan")
    assert settings_only["exit_code"] == 0, settings_only
    assert own_copy.read_bytes() != before
    command("plan", str(other), "--speedup", "1.5", "--levels", "70%,90%", "--apply")
    column = "aim to weight sparse ratio"
    made, expected = open_book(own_copy), open_book(other)
    assert made.operators()[column].equals(expected.operators()[column])
    assert made.totals() == pytest.approx(expected.totals())
    assert made.totals()["sparse_improve"] >= 1.5
    assert toolbar.app.books[0].names["sparse_improve_baseline"].refers_to_range.value >= 1.5


def test_plan_can_only_list(toolbar: Any, own_copy: Path) -> None:
    book = toolbar.open(own_copy)
    with_settings(book, "plan", **{"speed-up": 1.5, "apply": "no"})
    before = own_copy.read_bytes()
    assert toolbar.press(book, "plan")["exit_code"] == 0
    assert own_copy.read_bytes() == before
    assert toolbar.messages(book)[1][3:8] == ["operator", "target", "ms", "aim ms", "loss"]


@pytest.mark.parametrize("table", ["operators", "totals"])
def test_export_csv_equals_the_command(toolbar: Any, own_copy: Path, tmp_path: Path, table: str) -> None:
    import pandas as pd

    other = with_model(own_copy, tmp_path / "command")
    book = toolbar.open(own_copy)
    with_settings(book, "export_csv", table=table)
    outcome = toolbar.press(book, "export_csv")
    written = own_copy.with_name(f"book baseline {table}.csv")
    assert outcome["message"] == f"Wrote {written}"
    command("export", str(other), "--table", table, "-o", str(tmp_path / "expected.csv"))
    made, expected = pd.read_csv(written), pd.read_csv(tmp_path / "expected.csv")
    pd.testing.assert_frame_equal(made, expected, check_dtype=False)


def test_export_for_the_neural_engine(toolbar: Any, own_copy: Path) -> None:
    book = toolbar.open(own_copy)
    with_settings(book, "export_csv", table="neural-engine")
    written = Path(toolbar.press(book, "export_csv")["message"].removeprefix("Wrote "))
    assert written.parent == own_copy.parent
    assert written.read_text().startswith("weight shape,90% 4x1 perf ratio")


def test_every_button_of_the_toolbar_has_a_test_here(request: pytest.FixtureRequest) -> None:
    from workbench.buttons.registry import actions

    tests = " ".join(item.name for item in request.session.items if "buttons_toolbar" in str(item.path))
    for action in actions():
        assert f"test_{action.name}" in tests, action.name


def test_a_wrong_setting_is_a_message_in_the_sheet(toolbar: Any, own_copy: Path) -> None:
    book = toolbar.open(own_copy)
    toolbar.press(book, "add_profile")
    settings(book, "add_profile", name="two", model="nowhere.onnx", batch=2.5)
    before = own_copy.read_bytes()
    outcome = toolbar.press(book, "add_profile")
    assert outcome["exit_code"] == 2
    newest = toolbar.messages(book)[0]
    assert newest[1:3] == ["Add profile…", "error"]
    assert "2.5" in newest[3] and "whole number" in newest[3]
    assert book.sheets["Workbench messages"]["A1"].color is not None
    assert own_copy.exists() and len(before) > 0
