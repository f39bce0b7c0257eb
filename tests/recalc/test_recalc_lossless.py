"""Recomputing changes sheet parts and nothing else, whatever else the package holds."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from libreoffice import convert, needs_libreoffice
from recalc_books import book_of

from workbench.recalc import recompute

NAMESPACE = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def assert_only_sheets_change(path: Path, edits: dict[str, object], changed: set[str]) -> dict[str, bytes]:
    before = contents(path)
    with zipfile.ZipFile(path) as package:
        facts = [(e.filename, e.date_time, e.external_attr, e.create_system) for e in package.infolist()]
    recompute(path, edits=edits)  # type: ignore[arg-type]
    after = contents(path)
    with zipfile.ZipFile(path) as package:
        assert [(e.filename, e.date_time, e.external_attr, e.create_system) for e in package.infolist()] == facts
    assert {name for name in before if before[name] != after[name]} == changed
    return after


def picture() -> io.BytesIO:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">2I5B", 2, 2, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0\xff\0\0\0\xff\0" * 2)
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def rich_book(path: Path) -> Path:
    """Charts, pictures, comments, conditional formats (x14 too), sparklines, validation, macros, buttons, tables."""
    with xlsxwriter.Workbook(path) as book:
        sheet, other = book.add_worksheet("Data"), book.add_worksheet("Other")
        sheet.write_column("A1", [1, 2, 3, 4])
        for row in range(4):
            sheet.write_formula(row, 1, f"=A{row + 1}*2")
        sheet.write_formula("C1", '="sum "&SUM(B1:B4)')
        sheet.write_formula("C2", "=SUM(B1:B4)>10")
        sheet.write_formula("C3", "=1/(A1-1)")
        sheet.write_formula("C4", "=Other!A1")
        other.write("A1", 5)
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Data!$B$1:$B$4"})
        sheet.insert_chart("E2", chart)
        other.insert_image("C3", "picture.png", {"image_data": picture()})
        sheet.write_comment("A1", "a note")
        sheet.conditional_format("B1:B4", {"type": "data_bar", "data_bar_2010": True})
        sheet.conditional_format("A1:A4", {"type": "3_color_scale"})
        sheet.add_sparkline("D1", {"range": "Data!A1:A4"})
        sheet.data_validation("A4", {"validate": "decimal", "criteria": "between", "minimum": 0, "maximum": 100})
        sheet.insert_button("G1", {"macro": "run_it", "caption": "Run"})
        sheet.insert_textbox("H5", "a text box")
        other.add_table("E1:F3", {"columns": [{"header": "a"}, {"header": "b", "formula": "=[@a]*2"}]})
        book.set_custom_property("owner", "somebody")
        book.define_name("total", "=SUM(Data!$B$1:$B$4)")
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("xl/vbaProject.bin", bytes(range(256)) * 4)
        package.writestr("customXml/item1.xml", b"<custom>kept</custom>")
        package.writestr("xl/slicers/slicer1.xml", b"<slicers/>")
        package.writestr("unknown/part.dat", b"\0\1\2")
    return path


@pytest.mark.byhand
def test_everything_else_in_the_package_stays(tmp_path: Path) -> None:
    path = rich_book(tmp_path / "b.xlsx")
    after = assert_only_sheets_change(path, {"Data!A1": 10}, {"xl/worksheets/sheet1.xml"})
    values = openpyxl.load_workbook(path, data_only=True)["Data"]
    assert [values[c].value for c in ("B1", "C1", "C2", "C4")] == [20, "sum 38", True, 5]
    assert values["C3"].value == pytest.approx(1 / 9)
    assert b"x14:conditionalFormatting" in after["xl/worksheets/sheet1.xml"]
    assert b"sparkline" in after["xl/worksheets/sheet1.xml"]


def test_the_sheet_part_differs_only_in_values(tmp_path: Path) -> None:
    import re

    path = rich_book(tmp_path / "b.xlsx")
    recompute(path)
    before = contents(path)["xl/worksheets/sheet1.xml"]
    recompute(path, edits={"Data!A2": 7})
    after = contents(path)["xl/worksheets/sheet1.xml"]

    def without_values(data: bytes) -> bytes:
        return re.sub(rb"<v>[^<]*</v>", b"<v/>", data)

    assert before != after
    assert without_values(before) == without_values(after)


def test_result_types_are_marked_and_styles_stay(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Data")
        bold = book.add_format({"bold": True, "num_format": "0.00"})
        for i, formula in enumerate(('="a<b"', "=1=1", "=1/0", "=1+1", '=""')):
            sheet.write_formula(i, 0, formula, bold)
    recompute(path)
    data = contents(path)["xl/worksheets/sheet1.xml"]
    assert b'<c r="A1" s="1" t="str"><f>"a&lt;b"</f><v>a&lt;b</v></c>' in data
    assert b'<c r="A2" s="1" t="b"><f>1=1</f><v>1</v></c>' in data
    assert b'<c r="A3" s="1" t="e"><f>1/0</f><v>#DIV/0!</v></c>' in data
    assert b'<c r="A4" s="1"><f>1+1</f><v>2</v></c>' in data
    assert b'<c r="A5" s="1" t="str"><f>""</f><v></v></c>' in data


def test_nothing_to_change_writes_nothing(tmp_path: Path) -> None:
    path = rich_book(tmp_path / "b.xlsx")
    recompute(path)
    before = path.stat().st_mtime_ns
    recompute(path)
    assert path.stat().st_mtime_ns == before


def test_namespace_prefixes_and_single_quotes(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=2, B1="=A1*3", C1='=B1&"x"')
    sheet = (
        b"<?xml version='1.0'?><x:worksheet xmlns:x='" + NAMESPACE + b"'><x:sheetData><x:row r='1'>"
        b"<x:c r='A1'><x:v>2</x:v></x:c><x:c r='B1' s='0'><x:f>A1*3</x:f><x:v>0</x:v></x:c>"
        b"<x:c r='C1' t='str'><x:f>B1&amp;\"x\"</x:f></x:c></x:row></x:sheetData></x:worksheet>"
    )
    with zipfile.ZipFile(path) as package:
        parts = {entry.filename: package.read(entry) for entry in package.infolist()}
    parts["xl/worksheets/sheet1.xml"] = sheet
    with zipfile.ZipFile(path, "w") as package:
        for name, data in parts.items():
            package.writestr(name, data)
    recompute(path, edits={"A1": 5, "A3": "new"})
    values = openpyxl.load_workbook(path, data_only=True)["Sheet1"]
    assert [values[c].value for c in ("A1", "B1", "C1", "A3")] == [5, 15, "15x", "new"]


def test_cells_without_references(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=2, B1="=A1*3", B2=1)
    with zipfile.ZipFile(path) as package:
        parts = {entry.filename: package.read(entry) for entry in package.infolist()}
    parts["xl/worksheets/sheet1.xml"] = (
        b'<worksheet xmlns="' + NAMESPACE + b'"><sheetData><row><c><v>2</v></c><c><f>A1*3</f></c></row>'
        b"<row><c/><c><v>4</v></c><c><f>B2+B1</f></c></row></sheetData></worksheet>"
    )
    with zipfile.ZipFile(path, "w") as package:
        for name, data in parts.items():
            package.writestr(name, data)
    recompute(path)
    values = openpyxl.load_workbook(path, data_only=True)["Sheet1"]
    assert [values[c].value for c in ("B1", "C2")] == [6, 10]


def test_a_zip_with_data_descriptors_and_stored_parts(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=2, B1="=A1*3")
    parts = contents(path)

    class Unseekable(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.data += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    stream = Unseekable()
    with zipfile.ZipFile(stream, "w") as package:  # type: ignore[arg-type]
        for i, (name, data) in enumerate(parts.items()):
            package.writestr(name, data, zipfile.ZIP_DEFLATED if i % 2 else zipfile.ZIP_STORED)
    path.write_bytes(bytes(stream.data))
    assert_only_sheets_change(path, {"A1": 3}, {"xl/worksheets/sheet1.xml"})
    assert openpyxl.load_workbook(path, data_only=True)["Sheet1"]["B1"].value == 9


@pytest.mark.libreoffice
@needs_libreoffice
def test_a_workbook_that_libreoffice_saved(tmp_path: Path) -> None:
    saved = convert(rich_book(tmp_path / "b.xlsx"), tmp_path / "lo")
    assert_only_sheets_change(saved, {"Data!A1": 10, "Data!A9": "new"}, {"xl/worksheets/sheet1.xml"})
    values = openpyxl.load_workbook(saved, data_only=True)["Data"]
    assert [values[c].value for c in ("B1", "C1", "C2", "C4", "A9")] == [20, "sum 38", True, 5, "new"]
    again = convert(saved, tmp_path / "again", recalculate=False)
    values = openpyxl.load_workbook(again, data_only=True)["Data"]
    assert [values[c].value for c in ("B1", "C1", "C2", "C4", "A9")] == [20, "sum 38", True, 5, "new"]


@pytest.mark.byhand
def test_saving_several_times_in_place(tmp_path: Path) -> None:
    from workbench.recalc import open_workbook

    path = rich_book(tmp_path / "b.xlsx")
    with open_workbook(path) as book:
        for value in (10, 200000.5, 7):
            book.set("Data!A3", value)
            book.recalculate()
            book.save()
            assert openpyxl.load_workbook(path, data_only=True)["Data"]["B3"].value == 2 * value
            with zipfile.ZipFile(path) as package:
                assert package.testzip() is None
    before = contents(path)
    recompute(path)
    assert contents(path) == before
