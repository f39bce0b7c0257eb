"""New profiles' lines in a Summary that a person has edited, and profiles that replace others."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from insert_helpers import edit_with_openpyxl, first_book, parts, problems, profile
from libreoffice import convert, needs_libreoffice, recalculated_values

from workbench.book.insert import add_profile, add_profiles


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.xlsx"
    path.write_bytes(first_book())
    return path


def _area(path: Path) -> tuple[openpyxl.worksheet.worksheet.Worksheet, int, dict[str, int]]:
    """The sheet of the summary's area, its header row, and header → column."""
    book = openpyxl.load_workbook(path)
    sheet, cells = next(iter(book.defined_names["summary_profiles"].destinations))
    header = book[sheet][cells.split(":")[0].replace("$", "")].row
    return book[sheet], header, {c.value: c.column for c in book[sheet][header] if c.value}


def test_moved_columns_and_a_renamed_sheet(book: Path) -> None:
    loaded = openpyxl.load_workbook(book)
    sheet = loaded["Summary"]
    sheet.title = "Übersicht"
    _, header, at = _area(book)
    one, two = at["batch"], at["estimated speed-up"]
    for row in range(header, header + 2):
        a, b = sheet.cell(row, one), sheet.cell(row, two)
        a.value, b.value = b.value, a.value
    sheet.cell(header, at["model"]).value = "my own header"
    sheet.cell(header + 1, at["model"]).value = "my own text"
    name = loaded.defined_names["summary_profiles"]
    name.attr_text = name.attr_text.replace("Summary", "Übersicht")
    loaded.save(book)
    assert add_profile(book, profile("b8", 8)).notes == ()
    sheet, header, at = _area(book)
    assert sheet.title == "Übersicht"
    assert (at["batch"], at["estimated speed-up"]) == (two, one)
    assert sheet.cell(header + 2, two).value == "=batch_b8"
    assert sheet.cell(header + 2, one).value == "=estimated_speedup_b8"
    assert sheet.cell(header + 1, at["my own header"]).value == "my own text"
    assert sheet.cell(header + 2, at["my own header"]).value is None
    assert problems(book) == []


def test_a_moved_area(book: Path) -> None:
    """The area is where its name says, formulas follow."""
    loaded = openpyxl.load_workbook(book)
    sheet = loaded["Summary"]
    sheet.move_range("A5:R60", rows=3, translate=True)
    name = loaded.defined_names["summary_profiles"]
    name.attr_text = re.sub(r"\$(\d+)", lambda m: f"${int(m[1]) + 3}", name.attr_text)
    loaded.save(book)
    add_profile(book, profile("b8", 8))
    sheet, header, at = _area(book)
    assert header == 8
    assert sheet.cell(header + 2, at["profile"]).value == "b8"
    assert sheet.cell(header + 2, at["measured ms per batch"]).value == "=N(end_to_end_b8)"


def test_a_cleared_line_is_used_again(book: Path) -> None:
    add_profile(book, profile("b8", 8))
    loaded = openpyxl.load_workbook(book)
    _, header, at = _area(book)
    for name, column in at.items():
        if name not in ("saturation", "of best throughput at these cores"):
            loaded["Summary"].cell(header + 1, column).value = None
    loaded.save(book)
    add_profile(book, profile("b64", 64))
    sheet, _, _ = _area(book)
    assert [sheet.cell(header + n, at["profile"]).value for n in (1, 2, 3)] == ["b64", "b8", None]


def test_no_summary_and_a_full_one_are_said(book: Path) -> None:
    loaded = openpyxl.load_workbook(book)
    name = loaded.defined_names["summary_profiles"]
    name.attr_text = re.sub(r"\$\d+$", "$6", name.attr_text)
    loaded.save(book)
    assert "no free line left" in add_profile(book, profile("b8", 8)).notes[0]
    loaded = openpyxl.load_workbook(book)
    del loaded["Summary"]
    del loaded.defined_names["summary_profiles"]
    loaded.save(book)
    done = add_profile(book, profile("b64", 64))
    assert done.added == ("b64",)
    assert "no area 'summary_profiles'" in done.notes[0]
    assert openpyxl.load_workbook(book).sheetnames == [
        "baseline", "baseline ops", "b8", "b8 ops", "b64", "b64 ops", "Guide",
    ]  # fmt: skip
    assert problems(book) == []


def test_the_line_of_models_follows(book: Path) -> None:
    add_profile(book, profile("other", model="another.onnx"))
    sheet = openpyxl.load_workbook(book)["Summary"]
    assert "another.onnx, mini.onnx" in [cell.value for row in sheet["A1:C4"] for cell in row]
    add_profile(book, profile("more", model="third.onnx"))
    add_profile(book, profile("most", model="fourth.onnx"))
    sheet = openpyxl.load_workbook(book)["Summary"]
    assert "4 models" in [cell.value for row in sheet["A1:C4"] for cell in row]


def test_names_from_a_model_stay_texts(book: Path) -> None:
    add_profile(book, profile("b8", model='=HYPERLINK("http://x","<&>")'))
    sheet, header, at = _area(book)
    cell = sheet.cell(header + 2, at["model"])
    assert (cell.value, cell.data_type) == ('=HYPERLINK("http://x","<&>")', "s")


def test_comments_of_all_sheets_have_shapes_of_their_own(book: Path) -> None:
    add_profiles(book, [profile("b8", 8), profile("b64", 64)])
    add_profile(book, profile("b8", 8), replace=True)
    blocks = []
    for name, data in parts(book).items():
        if name.endswith(".vml"):
            (block,) = re.findall(rb'idmap[^>]* data="(\d+)"', data)
            blocks.append(int(block))
            shapes = {int(n) for n in re.findall(rb'id="_x0000_s(\d+)"', data)}
            assert shapes
            assert {n // 1024 for n in shapes} == {int(block)}
    assert len(set(blocks)) == len(blocks) >= 6


def test_replacing_keeps_names_tabs_and_the_line(book: Path) -> None:
    add_profile(book, profile("b8", 8))
    edit_with_openpyxl(book)
    loaded = openpyxl.load_workbook(book)
    _, header, at = _area(book)
    loaded["Summary"].cell(header + 1, at["estimated speed-up"]).value = "=ROUND(estimated_speedup_baseline,1)"
    loaded["Summary"].cell(header + 1, at["model"]).font = openpyxl.styles.Font(name="Courier New")
    loaded.save(book)
    before = openpyxl.load_workbook(book)
    done = add_profile(book, profile("baseline", scale=2.0, model="renamed.onnx"), replace=True)
    assert (done.added, done.replaced) == ((), ("baseline",))
    after = openpyxl.load_workbook(book)
    assert after.sheetnames == before.sheetnames
    assert {n: d.attr_text for n, d in after.defined_names.items()} == {
        n: d.attr_text for n, d in before.defined_names.items()
    }
    sheet = after["Summary"]
    assert sheet.cell(header + 1, at["estimated speed-up"]).value == "=ROUND(estimated_speedup_baseline,1)"
    assert sheet.cell(header + 1, at["model"]).value == "renamed.onnx"
    assert sheet.cell(header + 1, at["model"]).font.name == "Courier New"
    assert sheet.cell(header + 2, at["profile"]).value == "b8"
    assert sheet.cell(header + 3, at["profile"]).value is None
    assert not sheet.row_dimensions[header + 2].hidden
    assert sheet.row_dimensions[header + 3].hidden
    assert problems(book) == []


def test_names_that_a_template_no_longer_has_go(book: Path, tmp_path: Path) -> None:
    template = tmp_path / "short.toml"
    template.write_text(
        '[[sheet]]\nid = "dashboard"\n[[sheet.sections]]\nid = "summary"\ncells = [{ id = "hash", remove = true }]\n'
    )
    assert "model_hash_baseline" in openpyxl.load_workbook(book).defined_names
    add_profile(book, profile("baseline"), replace=True, template=template)
    names = openpyxl.load_workbook(book).defined_names
    assert "model_hash_baseline" not in names
    assert "model_baseline" in names


@needs_libreoffice
@pytest.mark.libreoffice
def test_formulas_over_a_replaced_profile_follow(book: Path, tmp_path: Path) -> None:
    edit_with_openpyxl(book)
    saved = convert(book, tmp_path / "saved")
    add_profile(saved, profile("baseline", scale=10.0), replace=True)
    assert problems(saved) == []
    values = recalculated_values(saved, tmp_path / "lo")
    assert values["My notes", "A1"] == pytest.approx(48.6)
    assert values["My notes", "A2"] == pytest.approx(97.2)
    assert values["My notes", "A3"] == pytest.approx(23.7)
