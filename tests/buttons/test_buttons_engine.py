"""Ordinary xlwings code on a real LibreOffice."""

from __future__ import annotations

import datetime as dt
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from workbench.buttons.libreoffice import LibreOfficeError, NotSupported

pytestmark = pytest.mark.libreoffice


def test_values_of_every_kind_come_back_as_they_were(book: Any) -> None:
    sheet = book.sheets[0]
    row = [1.5, "text", True, False, None, dt.datetime(2024, 2, 29, 13, 30), "=not a formula"[1:]]
    sheet["A1"].value = row
    assert sheet["A1:G1"].value == row


def test_a_leading_apostrophe_keeps_text_literal(book: Any) -> None:
    cell = book.sheets[0]["A1"]
    cell.value = '\'=HYPERLINK("x")'
    assert cell.value == '=HYPERLINK("x")'
    assert cell.api.getCellByPosition(0, 0).Type.value == "TEXT"


def test_formulas_are_excels_and_are_calculated(book: Any) -> None:
    sheet = book.sheets[0]
    sheet["A1"].value = [[1, 2], [3, 4]]
    sheet["C1"].formula = '=SUMIFS(A1:A2,B1:B2,">2")+IF(A1=1,10,0)'
    assert sheet["C1"].formula == '=SUMIFS(A1:A2,B1:B2,">2")+IF(A1=1,10,0)'
    assert sheet["C1"].value == 13
    sheet["D1:D2"].formula = "=A1*$B$2"
    assert sheet["D1:D2"].value == [4, 12]
    assert sheet["D1:D2"].formula == (("=A1*$B$2",), ("=A2*$B$2",))


def test_errors_are_none_or_their_text(book: Any) -> None:
    sheet = book.sheets[0]
    sheet["A1"].value = ["=1/0", "=NA()", "=nowhere", '=VALUE("x")', "=1E+200^2"]
    assert sheet["A1:E1"].value == [None] * 5
    shown = sheet["A1:E1"].options(err_to_str=True).value
    assert shown == ["#DIV/0!", "#N/A", "#NAME?", "#VALUE!", "#NUM!"]


def test_expand_and_a_dataframe_round_trip(book: Any) -> None:
    frame = pd.DataFrame(
        {"n": [1.0, 2.0, 3.0], "s": ["a", "b", "c"], "d": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])},
        index=pd.Index(["x", "y", "z"], name="key"),
    )
    sheet = book.sheets[0]
    sheet["B2"].value = frame
    read = sheet["B2"].expand().options(pd.DataFrame).value
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)
    assert sheet["B2"].expand("down").address == "$B$2:$B$5"
    assert sheet["B2"].expand("right").address == "$B$2:$E$2"
    array = sheet["C3:C5"].options(np.array).value
    assert array.tolist() == [1, 2, 3]


def test_options_transpose_ndim_empty_and_dates(book: Any) -> None:
    sheet = book.sheets[0]
    sheet["A1"].options(transpose=True).value = [1, 2, 3]
    assert sheet["A1:A3"].value == [1, 2, 3]
    assert sheet["A1:A3"].options(ndim=2).value == [[1], [2], [3]]
    assert sheet["A4"].options(empty="nothing").value == "nothing"
    sheet["B1"].value = dt.date(2023, 5, 6)
    assert sheet["B1"].options(dates=dt.date).value == dt.date(2023, 5, 6)
    assert sheet["A1:A3"].options(numbers=int).value == [1, 2, 3]


def test_names_of_book_and_sheet(book: Any) -> None:
    first = book.sheets[0]
    first["B3"].value = 42
    book.names.add("answer", f"={first.name}!$B$3")
    assert book.names["answer"].refers_to_range.value == 42
    assert first["answer"].value == 42
    first["C1:C3"].name = "column"
    assert first.range("column").address == "$C$1:$C$3"
    book.names["answer"].delete()
    assert "answer" not in book.names


def test_tables_and_structured_references(book: Any) -> None:
    sheet = book.sheets[0]
    sheet["A1"].value = [["op", "ms"], ["a", 1.5], ["b", 2.5]]
    table = sheet.tables.add(sheet["A1"].expand(), name="ops")
    assert table.data_body_range.value == [["a", 1.5], ["b", 2.5]]
    assert table.header_row_range.value == ["op", "ms"]
    sheet["D1"].formula = "=SUM(ops[ms])"
    assert sheet["D1"].value == 4
    table.update(pd.DataFrame({"op": ["c", "d", "e"], "ms": [1.0, 2.0, 4.0]}), index=False)
    assert sheet["D1"].value == 7


def test_sheets_are_added_renamed_moved_copied_and_deleted(book: Any) -> None:
    first = book.sheets[0]
    first.name = "one"
    two = book.sheets.add("two", after=first)
    two["A1"].value = 2
    copy = two.copy(name="three")
    assert book.sheet_names == ["one", "two", "three"]
    assert copy["A1"].value == 2
    two.delete()
    assert book.sheet_names == ["one", "three"]


def test_saved_files_hold_values_formulas_and_formats(book: Any, tmp_path: Path) -> None:
    sheet = book.sheets[0]
    sheet["A1"].value = [2, "=A1*3"]
    sheet["A1"].number_format = "0.00"
    sheet["A1"].color = (255, 0, 0)
    path = tmp_path / "saved.xlsx"
    book.save(path)
    formulas = openpyxl.load_workbook(path).worksheets[0]
    values = openpyxl.load_workbook(path, data_only=True).worksheets[0]
    assert (formulas["B1"].value, values["B1"].value) == ("=A1*3", 6)
    assert formulas["A1"].number_format == "0.00"
    assert formulas["A1"].fill.fgColor.rgb == "FFFF0000"


def test_pdf(book: Any, tmp_path: Path) -> None:
    book.sheets[0]["A1"].value = "page"
    path = tmp_path / "book.pdf"
    book.to_pdf(str(path))
    assert path.read_bytes()[:5] == b"%PDF-"


def test_manual_calculation_waits_for_calculate(office: Any, book: Any) -> None:
    sheet = book.sheets[0]
    sheet["A1"].value = [1, "=A1+1"]
    office.calculation = "manual"
    try:
        sheet["A1"].value = 5
        office.calculate()
        assert sheet["B1"].value == 6
        assert office.calculation == "manual"
    finally:
        office.calculation = "automatic"


def test_status_bar_reads_back_and_is_given_back(office: Any, book: Any) -> None:
    office.status_bar = "working"
    assert office.status_bar == "working"
    office.status_bar = False
    assert office.status_bar is False


def test_a_note_survives_writing_its_cell(book: Any) -> None:
    cell = book.sheets[0]["A1"]
    cell.add_note("from the seed")
    cell.value = 3
    assert cell.note.text == "from the seed"


def test_a_locked_cell_says_so(book: Any) -> None:
    sheet = book.sheets[0]
    sheet.api.protect("")
    with pytest.raises(LibreOfficeError, match="protected"):
        sheet["A1"].value = 1
    assert sheet["A1"].value is None


def _png(path: Path, width: int, height: int) -> Path:
    """A grey PNG, written by hand."""
    rows = b"".join(b"\0" + b"\x80" * width for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)
    return path


def test_pictures_and_shapes(book: Any, tmp_path: Path) -> None:
    sheet = book.sheets[0]
    picture = sheet.pictures.add(_png(tmp_path / "grey.png", 96, 48), name="grey", anchor=sheet["C3"])
    assert (picture.width, picture.height) == (72, 36), "96 pixels are an inch"
    assert (picture.left, picture.top) == pytest.approx((sheet["C3"].left, sheet["C3"].top), abs=1)
    sheet.shapes["grey"].scale_width(2)
    assert (picture.width, picture.height) == (144, 72)
    picture.update(_png(tmp_path / "other.png", 10, 10))
    assert [shape.type for shape in sheet.shapes] == ["picture"] and picture.width == 144
    book.save(tmp_path / "drawn.xlsx")
    with zipfile.ZipFile(tmp_path / "drawn.xlsx") as package:
        assert [name for name in package.namelist() if name.startswith("xl/media/")]
    picture.delete()
    assert len(sheet.shapes) == len(sheet.pictures) == 0
    with pytest.raises(LibreOfficeError, match="can't read this picture"):
        (tmp_path / "no.png").write_text("no picture")
        sheet.pictures.add(tmp_path / "no.png")


def test_what_calc_lacks_says_so(book: Any) -> None:
    with pytest.raises(NotSupported, match=r"Sheet\.charts is not supported on LibreOffice"):
        _ = book.sheets[0].charts[0]
    with pytest.raises(NotImplementedError):
        book.save("x.xlsb")


def test_a_closed_book_is_a_clear_error(office: Any) -> None:
    book = office.books.add()
    sheet = book.sheets[0]
    book.close()
    with pytest.raises(LibreOfficeError, match="closed meanwhile"):
        sheet["A1"].value = 1
