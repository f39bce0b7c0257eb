"""Sheets into workbooks that others wrote or edited: everything that was there stays, what comes is whole."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from insert_helpers import edit_with_openpyxl, parts, problems, profile

from workbench.book.insert import add_profile, add_profiles, insert_sheets
from workbench.book.render import render_book
from workbench.book.template_file import load_template
from workbench.book.write import sheet_groups, write_book
from workbench.errors import BookError, WorkbenchError

_GROWING = {
    "[Content_Types].xml",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/styles.xml",
    "xl/sharedStrings.xml",
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book of one profile as XlsxWriter wrote it."""
    path = tmp_path / "book.xlsx"
    write_book([profile("baseline")], path)
    return path


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    """Sheets of a profile `b8`, ready to be taken over."""
    path = tmp_path / "rendered.xlsx"
    render_book(load_template(None), path, sheet_groups([profile("b8", 8, 1, 4.0)]), protect=False)
    return path


def _looks(sheet: openpyxl.worksheet.worksheet.Worksheet) -> dict[str, object]:
    """The content and format in full of every cell that the file holds."""
    return {
        cell.coordinate: (
            cell.value,
            cell.data_type,
            cell.number_format,
            repr(cell.font),
            repr(cell.fill),
            repr(cell.border),
            repr(cell.alignment),
            repr(cell.protection),
            cell.quotePrefix,
            cell.comment.text if cell.comment else None,
        )
        for cell in sheet._cells.values()
        if not isinstance(cell, openpyxl.cell.MergedCell)
    }


def _assert_same_sheet(name: str, one: Path, other: Path) -> None:
    """The sheet reads the same in both books: cells, formats, tables, conditional formats, validations, widths."""
    left, right = (openpyxl.load_workbook(path)[name] for path in (one, other))
    a, b = _looks(left), _looks(right)
    assert len(a) > 100
    assert a.keys() == b.keys()
    assert {k: (a[k], b[k]) for k in a if a[k] != b[k]} == {}
    for read in (
        lambda s: {t.displayName: (t.ref, [c.name for c in t.tableColumns]) for t in s.tables.values()},
        lambda s: {
            str(area.sqref): [(r.type, r.formula, r.priority, repr(r.dxf)) for r in rules]
            for area, rules in s.conditional_formatting._cf_rules.items()
        },
        lambda s: [(str(v.sqref), v.type, v.formula1, v.formula2) for v in s.data_validations.dataValidation],
        lambda s: {k: (d.width, d.hidden, d.outlineLevel) for k, d in s.column_dimensions.items()},
        lambda s: {k: (d.height, d.hidden) for k, d in s.row_dimensions.items()},
        lambda s: sorted(map(str, s.merged_cells.ranges)),
        lambda s: (s.freeze_panes, s.sheet_view.showGridLines, s.sheet_properties.tabColor, s.print_area),
        lambda s: [(type(c).__name__, c.anchor._from.row, [x.val.numRef.f for x in c.series]) for c in s._charts],
    ):
        assert read(left) == read(right)


def _untouched(before: dict[str, bytes], after: dict[str, bytes], but: set[str] = frozenset()) -> None:
    """All parts that were there are there, in their order, with their bytes."""
    kept = [name for name in after if name in before]
    assert kept == [name for name in before if not name.endswith("calcChain.xml")]
    assert [name for name in kept if before[name] != after[name] and name not in _GROWING | but] == []


def test_inserted_sheets_look_as_rendered(book: Path, rendered: Path) -> None:
    edit_with_openpyxl(book)
    before = parts(book)
    assert problems(book) == []
    insert_sheets(book, rendered, ["b8", "b8 ops"], before="Guide")
    assert problems(book) == []
    _untouched(before, parts(book))
    names = openpyxl.load_workbook(book).sheetnames
    assert names == ["Summary", "My notes", "baseline", "baseline ops", "b8", "b8 ops", "Guide"]
    for sheet in ("b8", "b8 ops"):
        _assert_same_sheet(sheet, book, rendered)


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
        _assert_same_sheet(sheet, book, fresh)
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


def test_foreign_book_gets_everything(tmp_path: Path, rendered: Path) -> None:
    path = tmp_path / "foreign.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Guide")
    sheet.write("A1", 41)
    sheet.write_formula("A2", "=A1+1", None, 42)
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=Guide!$A$1:$A$2"})
    sheet.insert_chart("C1", chart)
    book.close()
    before = parts(path)
    done = add_profile(path, profile("b8", 8, 1, 4.0))
    assert problems(path) == []
    assert done.added == ("b8",)
    assert done.notes == ("the workbook has a sheet 'Guide' of its own, which stays as it is",)
    assert openpyxl.load_workbook(path).sheetnames == ["Summary", "b8", "b8 ops", "Guide"]
    _untouched(before, parts(path))
    # A book of another default font: cells that nobody formatted must look as they were rendered, too.
    for sheet in ("b8", "b8 ops"):
        _assert_same_sheet(sheet, path, rendered)


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
