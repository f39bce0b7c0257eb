"""Sheets into workbooks that are none of ours: bare ones, and ones with what only Excel writes."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from insert_helpers import assert_same_sheet, assert_untouched, first_book, parts, problems, profile, rendered_sheets

from workbench.book.insert import add_profile, insert_sheets

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_BARE = {
    "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/book.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
    f'<Override PartName="/Tab.xml" ContentType="{_SHEET}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_LINKS}">'
    f'<Relationship Id="a" Type="{_OFFICE}/officeDocument" Target="/book.xml"/></Relationships>',
    "_rels/book.xml.rels": f'<Relationships xmlns="{_LINKS}">'
    f'<Relationship Id="rId1" Target="Tab.xml" Type="{_OFFICE}/worksheet"/></Relationships>',
    "book.xml": f'<x:workbook xmlns:x="{_MAIN}" xmlns:r="{_OFFICE}"><x:sheets>'
    '<x:sheet name="mine" sheetId="7" r:id="rId1"/></x:sheets></x:workbook>',
    "Tab.xml": f'<x:worksheet xmlns:x="{_MAIN}"><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t>kept'
    "</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>",
}
"""The least a workbook can be: no styles, no shared strings, prefixed names, parts in unusual places."""


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
    assert_untouched(before, parts(path))
    # A book of another default font: cells that nobody formatted must look as they were rendered, too.
    for sheet in ("b8", "b8 ops"):
        assert_same_sheet(sheet, path, rendered)


def test_the_barest_book(tmp_path: Path, rendered: Path) -> None:
    path = tmp_path / "bare.xlsx"
    with zipfile.ZipFile(path, "w") as package:
        for name, text in _BARE.items():
            package.writestr(name, text)
    add_profile(path, profile("b8", 8, 1, 4.0))
    assert problems(path) == []
    assert openpyxl.load_workbook(path)["mine"]["A1"].value == "kept"
    assert parts(path)["Tab.xml"] == _BARE["Tab.xml"].encode()
    assert_same_sheet("b8", path, rendered)


def test_what_only_excel_writes_stays(book: Path, rendered: Path) -> None:
    """Markup for newer versions, custom XML, a calculation chain, parts of kinds unknown here."""
    content = {name: data.decode("latin-1") for name, data in parts(book).items()}
    content["xl/workbook.xml"] = (
        content["xl/workbook.xml"]
        .replace(
            "<workbook ",
            '<workbook xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x15 xr" '
            'xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main" '
            'xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision" ',
        )
        .replace(
            "<bookViews>",
            '<mc:AlternateContent><mc:Choice Requires="x15"><x15ac:absPath url="C:\\a\\" '
            'xmlns:x15ac="http://schemas.microsoft.com/office/spreadsheetml/2010/11/ac"/></mc:Choice></mc:AlternateContent>'
            '<xr:revisionPtr revIDLastSave="0" documentId="x"/><bookViews>',
        )
        .replace(
            "</workbook>", '<extLst><ext uri="{1}"><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst></workbook>'
        )
    )
    content["xl/_rels/workbook.xml.rels"] = content["xl/_rels/workbook.xml.rels"].replace(
        "</Relationships>",
        f'<Relationship Id="rId90" Type="{_OFFICE}/calcChain" Target="calcChain.xml"/>'
        f'<Relationship Id="rId91" Type="{_OFFICE}/customXml" Target="../customXml/item1.xml"/></Relationships>',
    )
    content["[Content_Types].xml"] = content["[Content_Types].xml"].replace(
        "</Types>",
        '<Override PartName="/xl/calcChain.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml"/></Types>',
    )
    content["xl/calcChain.xml"] = '<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
    content["customXml/item1.xml"] = "<mine>kept</mine>"
    content["xl/orphan.xml"] = "<nobody leads='here'/>"
    with zipfile.ZipFile(book, "w") as package:
        for name, text in content.items():
            package.writestr(name, text.encode("latin-1"))
    before = parts(book)
    insert_sheets(book, rendered, ["b8", "b8 ops"], before="Guide")
    assert problems(book) == []
    after = parts(book)
    assert_untouched(before, after)
    assert "xl/calcChain.xml" not in after
    assert b"calcChain" not in after["[Content_Types].xml"] + after["xl/_rels/workbook.xml.rels"]
    for kept in (
        b'mc:Ignorable="x15 xr"',
        b'url="C:\\a\\"',
        b"<xr:revisionPtr ",
        b"<x15:workbookPr ",
        b'Requires="x15"',
    ):
        assert kept in after["xl/workbook.xml"]
