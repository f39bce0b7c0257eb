"""Sheets into workbooks that others wrote or edited: everything that was there stays, what comes is whole."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest
from insert_helpers import (
    assert_same_sheet,
    assert_untouched,
    edit_with_openpyxl,
    first_book,
    parts,
    problems,
    profile,
    rendered_sheets,
)

from workbench.book.insert import add_profile, add_profiles, insert_sheets
from workbench.book.render import render_book
from workbench.book.template_file import load_template
from workbench.book.write import sheet_groups
from workbench.errors import BookError, WorkbenchError


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book of one profile as XlsxWriter wrote it."""
    path = tmp_path / "book.xlsx"
    path.write_bytes(first_book())
    return path


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """Sheets of a profile `b8`, ready to be taken over."""
    path = tmp_path / "rendered.xlsx"
    path.write_bytes(rendered_sheets())
    return path


def test_inserted_sheets_look_as_rendered(book: Path, rendered: Path) -> None:
    edit_with_openpyxl(book)
    before = parts(book)
    assert problems(book) == []
    insert_sheets(book, rendered, ["b8", "b8 ops"], before="Guide")
    assert problems(book) == []
    assert_untouched(before, parts(book))
    names = openpyxl.load_workbook(book).sheetnames
    assert names == ["Summary", "My notes", "baseline", "baseline ops", "b8", "b8 ops", "Guide"]
    for sheet in ("b8", "b8 ops"):
        assert_same_sheet(sheet, book, rendered)


def test_inserting_before_others_moves_what_counts_tabs(book: Path, rendered: Path) -> None:
    edit_with_openpyxl(book)
    insert_sheets(book, rendered, ["b8", "b8 ops"], before="Summary")
    result = openpyxl.load_workbook(book)
    assert result.sheetnames[:3] == ["b8", "b8 ops", "Summary"]
    assert result.active.title == "baseline"
    assert result["My notes"].defined_names["local_one"].attr_text == "'My notes'!$A$5"
    assert result["baseline ops"].print_title_rows == "$1:$1"
    assert result["b8 ops"].print_title_rows == "$1:$1"
    assert problems(book) == []


def test_out_leaves_the_original(book: Path, rendered: Path, tmp_path: Path) -> None:
    before = book.read_bytes()
    insert_sheets(book, rendered, ["b8"], out=tmp_path / "other.xlsx")
    assert book.read_bytes() == before
    assert "b8" in openpyxl.load_workbook(tmp_path / "other.xlsx").sheetnames


def test_replaced_sheet_keeps_its_place_and_its_parts_go(book: Path, tmp_path: Path) -> None:
    edit_with_openpyxl(book)
    before = parts(book)
    fresh = tmp_path / "fresh.xlsx"
    render_book(load_template(None), fresh, sheet_groups([profile("baseline", scale=3.0)]), protect=False)
    insert_sheets(book, fresh, ["baseline", "baseline ops"], replace=True)
    assert problems(book) == []
    result = openpyxl.load_workbook(book)
    assert result.sheetnames == ["Summary", "My notes", "baseline", "baseline ops", "Guide"]
    assert result["My notes"]["A3"].value == "='baseline ops'!M2+'baseline ops'!M3"
    for sheet in ("baseline", "baseline ops"):
        assert_same_sheet(sheet, book, fresh)
    after = parts(book)
    gone = set(before) - set(after)
    assert any("/tables/" in name for name in gone), "the old table's part is left behind"
    assert not any("media" in name or "/charts/chart1" in name for name in gone), "the person's own parts are gone"


def test_inserting_again_adds_no_formats_or_strings(book: Path, tmp_path: Path) -> None:
    """A book that is replaced a hundred times must not grow."""
    fresh = tmp_path / "fresh.xlsx"
    render_book(load_template(None), fresh, sheet_groups([profile("baseline")]), protect=False)
    insert_sheets(book, fresh, ["baseline", "baseline ops"], replace=True)
    first = parts(book)
    insert_sheets(book, fresh, ["baseline", "baseline ops"], replace=True)
    second = parts(book)
    assert first["xl/styles.xml"] == second["xl/styles.xml"]
    assert first["xl/sharedStrings.xml"].count(b"<si>") == second["xl/sharedStrings.xml"].count(b"<si>")
    assert len(first) == len(second)


def test_no_sheet_twice(book: Path, rendered: Path) -> None:
    insert_sheets(book, rendered, ["b8", "b8 ops"])
    before = book.read_bytes()
    with pytest.raises(BookError, match=r"there is a sheet 'b8' already.*--replace"):
        insert_sheets(book, rendered, ["b8", "b8 ops"])
    assert book.read_bytes() == before


def test_taken_name_is_refused_and_nothing_written(book: Path, rendered: Path) -> None:
    loaded = openpyxl.load_workbook(book)
    loaded.defined_names["TOTAL_latency_B8"] = openpyxl.workbook.defined_name.DefinedName(
        "TOTAL_latency_B8", attr_text="1"
    )
    loaded.save(book)
    before = book.read_bytes()
    with pytest.raises(BookError, match=r"'total_latency_b8'.*is taken"):
        insert_sheets(book, rendered, ["b8", "b8 ops"])
    assert book.read_bytes() == before


def test_a_profile_whose_names_are_taken_gets_others(book: Path) -> None:
    loaded = openpyxl.load_workbook(book)
    loaded.defined_names["total_latency_b8"] = openpyxl.workbook.defined_name.DefinedName(
        "total_latency_b8", attr_text="1"
    )
    loaded.save(book)
    add_profile(book, profile("b8", 8))
    names = openpyxl.load_workbook(book).defined_names
    assert names["total_latency_b8"].attr_text == "1"
    assert names["total_latency_b8_2"].attr_text.startswith("'b8'!")
    assert problems(book) == []


@pytest.mark.parametrize("part", ["workbook protection", "signature", "strict"])
def test_books_that_must_not_be_changed(book: Path, rendered: Path, tmp_path: Path, part: str) -> None:
    other = tmp_path / "other.xlsx"
    with zipfile.ZipFile(other, "w") as package:
        for name, data in parts(book).items():
            if name == "xl/workbook.xml" and part == "workbook protection":
                data = data.replace(b"<bookViews>", b'<workbookProtection lockStructure="1"/><bookViews>')
            if part == "strict":
                data = data.replace(
                    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                    b"http://purl.oclc.org/ooxml/spreadsheetml/main",
                )
            package.writestr(name, data)
        if part == "signature":
            package.writestr("_xmlsignatures/sig1.xml", b"<Signature/>")
    before = other.read_bytes()
    with pytest.raises(
        BookError, match={"workbook protection": "protected", "signature": "signed", "strict": "Strict"}[part]
    ):
        insert_sheets(other, rendered, ["b8"])
    assert other.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("baseline", "there is a sheet 'baseline' already"),
        ("BaseLine", "already"),
        ("a/b", "can't contain '/'"),
        ("x" * 28, "28 characters"),
        ("", "needs a name"),
        ("'quoted'", "apostrophe"),
        ("guide", "reserved"),
    ],
)
def test_names_no_sheet_can_have(book: Path, name: str, says: str) -> None:
    before = book.read_bytes()
    with pytest.raises(WorkbenchError, match=says):
        add_profile(book, profile(name))
    assert book.read_bytes() == before


def test_the_longest_name(book: Path) -> None:
    name = "x" * 27
    add_profile(book, profile(name))
    assert f"{name} ops" in openpyxl.load_workbook(book).sheetnames
    assert problems(book) == []


def test_a_persons_sheet_is_not_replaced_by_a_profile(book: Path) -> None:
    edit_with_openpyxl(book)
    with pytest.raises(BookError, match="'My notes' is no performance profile's"):
        add_profile(book, profile("My notes"), replace=True)


def test_two_profiles_of_one_name_at_once(book: Path) -> None:
    with pytest.raises(BookError, match="there is a sheet 'b8' already"):
        add_profiles(book, [profile("b8"), profile("b8", 8)], replace=True)


def test_open_elsewhere(book: Path) -> None:
    book.with_name(f".~lock.{book.name}#").write_text("")
    with pytest.raises(WorkbenchError, match="open in a spreadsheet program"):
        add_profile(book, profile("b8"))
