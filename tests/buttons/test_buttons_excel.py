"""Workbooks with form buttons and VBA, made without Excel."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from workbench.buttons.excel.compound import compound_file
from workbench.buttons.excel.compression import compress, decompress
from workbench.buttons.excel.shapes import Button, Drawing
from workbench.buttons.excel.vba_project import vba_project
from workbench.buttons.install import install_in_book, sheet_of_buttons, uninstall_from_book
from workbench.buttons.registry import actions
from workbench.errors import BookError

TEXTS = st.one_of(st.binary(max_size=9000), st.text(alphabet="ab \r\n", max_size=12000).map(str.encode))


@pytest.mark.property
@given(TEXTS)
def test_compressed_text_comes_back(data: bytes) -> None:
    # A chunk that can't shrink is stored filled up with zeros, which the format asks for.
    assert decompress(compress(data)).rstrip(b"\0") == data.rstrip(b"\0")


@pytest.mark.byhand
def test_the_examples_of_the_format_description() -> None:
    # [MS-OVBA] 3.2.1, 3.2.2, 3.2.3: text without repetition, normal text, one letter 73 times.
    examples = {
        b"abcdefghijklmnopqrstuv.": "0119B000616263646566676800696A6B6C6D6E6F70007172737475762E",
        b"#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa": "012FB00023616161626364658266007061676869"
        "6A013808616B6C00306D6E6F700671027004107273747576107778797A003C",
        b"a" * 73: "0103B002614500",
    }
    for plain, packed in examples.items():
        assert decompress(bytes.fromhex(packed)) == plain
        assert decompress(compress(plain)) == plain
        assert len(compress(plain)) == len(bytes.fromhex(packed))  # among equal matches we take the nearest


@pytest.mark.peers
@given(TEXTS)
def test_olevba_unpacks_the_same(data: bytes) -> None:
    olevba = pytest.importorskip("oletools.olevba")
    if data:
        assert bytes(olevba.decompress_stream(bytearray(compress(data)))).rstrip(b"\0") == data.rstrip(b"\0")


@pytest.mark.peers
def test_olefile_reads_the_streams_small_and_large() -> None:
    olefile = pytest.importorskip("olefile")
    streams = {"small": b"x" * 10, "large": bytes(range(256)) * 40, "mini": b"m" * 4095}
    data = compound_file({**streams, "inner": {"deep": b"y" * 5000}})
    with olefile.OleFileIO(io.BytesIO(data)) as ole:
        assert not ole.parsing_issues
        for name, content in streams.items():
            assert ole.openstream(name).read() == content
        assert ole.openstream(["inner", "deep"]).read() == b"y" * 5000


@pytest.mark.peers
def test_olevba_reads_every_module() -> None:
    olevba = pytest.importorskip("oletools.olevba")
    source = 'Option Explicit\r\nPublic Sub One()\r\n    MsgBox "é"\r\nEnd Sub\r\n' + "' filler\r\n" * 900
    project = vba_project({"First": source, "Second": "Sub Two()\nEnd Sub\n"}, ["Sheet1"])
    parser = olevba.VBA_Parser("vbaProject.bin", data=project)
    found = {name: code for _, _, name, code in parser.extract_macros()}
    assert set(found) == {"ThisWorkbook.cls", "Sheet1.cls", "First.bas", "Second.bas"}
    assert found["First.bas"].endswith(source)
    assert "Sub Two()" in found["Second.bas"]


def test_the_same_project_twice_is_the_same_bytes() -> None:
    assert vba_project({"A": "Sub X()\nEnd Sub\n"}, ["Sheet1"]) == vba_project({"A": "Sub X()\nEnd Sub\n"}, ["Sheet1"])


def _skeleton(shape: etree._Element) -> list[tuple[str, tuple[str, ...]]]:
    return [(item.tag, tuple(sorted(item.attrib))) for item in shape.iter()]


@pytest.mark.peers
def test_a_button_is_drawn_as_xlsxwriter_draws_it(tmp_path: Path) -> None:
    # XlsxWriter's tests compare its buttons with files that Excel saved.
    path = tmp_path / "theirs.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().insert_button("A1", {"caption": "Go", "macro": "Go"})
    with zipfile.ZipFile(path) as package:
        theirs = etree.fromstring(package.read("xl/drawings/vmlDrawing1.vml"))
    drawing = Drawing(None)
    drawing.add([Button("Go", "Go")], 0, [64] * 4, [20] * 4)
    shape = "{urn:schemas-microsoft-com:vml}shape"
    kind = "{urn:schemas-microsoft-com:vml}shapetype"
    assert _skeleton(next(drawing.root.iter(shape))) == _skeleton(next(theirs.iter(shape)))
    assert _skeleton(next(drawing.root.iter(kind))) == _skeleton(next(theirs.iter(kind)))
    assert next(theirs.iter("{*}FmlaMacro")).text == next(drawing.root.iter("{*}FmlaMacro")).text == "[0]!Go"


def _parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


def test_an_xlsm_has_buttons_macros_and_everything_it_had(own_copy: Path) -> None:
    made = install_in_book(own_copy)
    before, after = _parts(own_copy), _parts(made.book)
    assert made.book.suffix == ".xlsm"
    assert made.buttons == (*(action.title for action in actions()), "Cancel")
    sheets = {name for name in before if name.startswith("xl/worksheets/sheet")}
    touched = {*sheets, "[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"}
    relations = {name for name in before if name.startswith("xl/worksheets/_rels/") or name.endswith(".vml")}
    assert {name for name in before if before[name] != after[name]} <= touched | relations
    values = openpyxl.load_workbook(own_copy)
    kept = openpyxl.load_workbook(made.book, keep_vba=True)
    assert kept.sheetnames == [*values.sheetnames, "xlwings.conf"]
    for sheet in values:
        assert [[c.value for c in row] for row in sheet] == [[c.value for c in row] for row in kept[sheet.title]]
    drawing = next(data for name, data in after.items() if name.endswith(".vml") and b"WbRecalculate" in data)
    assert re.findall(rb"\[0\]!(\w+)", drawing) == [*(a.macro.encode() for a in actions()), b"WbCancel"]


@pytest.mark.peers
def test_every_button_has_its_macro(own_copy: Path) -> None:
    olevba = pytest.importorskip("oletools.olevba")
    made = install_in_book(own_copy)
    parser = olevba.VBA_Parser(str(made.book))
    code = {name: text for _, _, name, text in parser.extract_macros()}["WorkbenchButtons.bas"]
    for action in actions():
        assert f'Public Sub {action.macro}()\r\n    RunWorkbench "{action.name}"\r\n' in code
    assert '-m workbench.buttons "' in code and "--from_xl=1 --hwnd=" in code


def test_installing_twice_is_installing_once(own_copy: Path) -> None:
    once = install_in_book(own_copy).book
    parts = _parts(once)
    again = install_in_book(once).book
    assert again == once
    assert _parts(again).keys() == parts.keys()
    assert _parts(again)["xl/vbaProject.bin"] == parts["xl/vbaProject.bin"]


def test_uninstalling_gives_the_workbook_back(own_copy: Path, tmp_path: Path) -> None:
    made = install_in_book(own_copy)
    back, found = uninstall_from_book(made.book, out=tmp_path / "back.xlsx")
    assert found
    assert _parts(back).keys() == _parts(own_copy).keys()
    assert b"macroEnabled" not in _parts(back)["[Content_Types].xml"]
    assert openpyxl.load_workbook(back).sheetnames == openpyxl.load_workbook(own_copy).sheetnames
    assert uninstall_from_book(back) == (back, False)


def test_notes_on_the_sheet_stay(tmp_path: Path) -> None:
    path = tmp_path / "notes.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("one").write_comment("C5", "kept")
    made = install_in_book(path)
    assert openpyxl.load_workbook(made.book)["one"]["C5"].comment.text == "kept"
    drawings = [data for name, data in _parts(made.book).items() if name.endswith(".vml")]
    assert len(drawings) == 1 and b"WbCheck" in drawings[0] and b'ObjectType="Note"' in drawings[0]
    ids = re.findall(rb'id="(_x0000_s\d+)"', drawings[0])
    assert len(ids) == len(set(ids)) == len(made.buttons) + 1
    back, _ = uninstall_from_book(made.book, out=tmp_path / "back.xlsx")
    assert openpyxl.load_workbook(back)["one"]["C5"].comment.text == "kept"


def test_macros_of_a_persons_own_are_left_alone(tmp_path: Path) -> None:
    binary = tmp_path / "vbaProject.bin"
    binary.write_bytes(vba_project({"Mine": "Sub A()\nEnd Sub\n"}, ["Sheet1"]))
    path = tmp_path / "own.xlsm"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet()
        book.add_vba_project(str(binary))
    before = path.read_bytes()
    with pytest.raises(BookError, match=r"macros of its own \(Mine\)"):
        install_in_book(path)
    with pytest.raises(BookError, match="Mine"):
        uninstall_from_book(path)
    assert path.read_bytes() == before


def test_the_add_in_way_adds_a_sheet_and_a_file(own_copy: Path) -> None:
    before = _parts(own_copy)
    made = install_in_book(own_copy, add_in=True, python=r"C:\Python\python.exe")
    assert made.main == own_copy.with_suffix(".py")
    assert "workbench.buttons.calling" in made.main.read_text()
    sheet = openpyxl.load_workbook(own_copy)["xlwings.conf"]
    rows = {row[0].value: row[1].value for row in sheet.iter_rows()}
    assert rows["INTERPRETER_WIN"] == r"C:\Python\python.exe"
    assert rows["WORKBENCH_ACTION"] == "recalculate"
    (rule,) = sheet.data_validations.dataValidation
    assert rule.formula1 == '"' + ",".join(action.name for action in actions()) + '"'
    _, found = uninstall_from_book(own_copy)
    assert found and not made.main.exists()
    assert _parts(own_copy).keys() == before.keys()


def test_name_and_content_type_agree(own_copy: Path, tmp_path: Path) -> None:
    made = install_in_book(own_copy)
    with pytest.raises(BookError, match=r"has macros, which an \.xlsx can't hold"):
        install_in_book(made.book, add_in=True, out=tmp_path / "addin.xlsx")
    plain = install_in_book(own_copy, add_in=True, out=tmp_path / "addin.xlsm").book
    assert b"macroEnabled" in _parts(plain)["[Content_Types].xml"]
    back, _ = uninstall_from_book(made.book, out=tmp_path / "back.xlsm")
    assert b"macroEnabled" in _parts(back)["[Content_Types].xml"]


def test_a_name_that_is_no_module_is_refused(own_copy: Path) -> None:
    with pytest.raises(BookError, match="can't be"):
        install_in_book(own_copy, add_in=True, out=own_copy.with_name("my-book 1.xlsx"))


def test_somebody_elses_python_file_is_not_overwritten(own_copy: Path) -> None:
    own_copy.with_suffix(".py").write_text("mine = True\n")
    with pytest.raises(BookError, match="its own file"):
        install_in_book(own_copy, add_in=True)
    assert own_copy.with_suffix(".py").read_text() == "mine = True\n"


def test_a_persons_own_settings_sheet_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet()
        book.add_worksheet("xlwings.conf").write_row(0, 0, ["INTERPRETER_WIN", "D:\\mine.exe"])
    made = install_in_book(path)
    assert openpyxl.load_workbook(made.book)["xlwings.conf"]["B1"].value == "D:\\mine.exe"
    back, _ = uninstall_from_book(made.book, out=tmp_path / "back.xlsx")
    assert openpyxl.load_workbook(back)["xlwings.conf"]["B1"].value == "D:\\mine.exe"


def test_an_unknown_sheet_lists_those_there_are(own_copy: Path) -> None:
    with pytest.raises(BookError, match="no sheet 'nowhere'; use one of Summary"):
        install_in_book(own_copy, sheet="nowhere")
    assert not own_copy.with_suffix(".xlsm").exists()


def _controls(book: Any) -> list[str]:
    page = book.sheets["Summary"].api.DrawPage
    shapes = [page.getByIndex(i) for i in range(page.Count)]
    return [shape.Control.Label for shape in shapes if shape.ShapeType.endswith("ControlShape")]


@pytest.mark.libreoffice
def test_libreoffice_shows_the_buttons_and_a_repair_brings_back_what_it_drops(office: Any, own_copy: Path) -> None:
    made = install_in_book(own_copy)
    book = office.books.open(made.book)
    assert _controls(book) == list(made.buttons)
    book.sheets["Guide"]["Z1"].value = 1
    book.save()
    book.close()
    book = office.books.open(made.book)
    assert _controls(book) == [], "LibreOffice 7.4 loses them; newer ones may not"
    book.close()
    assert sheet_of_buttons(made.book) == "Summary"
    install_in_book(made.book)
    book = office.books.open(made.book)
    assert _controls(book) == list(made.buttons)
    book.close()
    back, found = uninstall_from_book(made.book)
    assert found and sheet_of_buttons(back) is None
    assert not [name for name in _parts(back) if "ctrlProp" in name or "vbaProject" in name]


@pytest.mark.libreoffice
def test_an_action_in_libreoffice_keeps_the_form_buttons(toolbar: Any, own_copy: Path) -> None:
    made = install_in_book(own_copy)
    book = toolbar.open(made.book)
    sheet = book.sheets.add("Workbench settings", after=book.sheets[-1])
    sheet["A1"].value = [["action", "setting", "value"], ["plan", "speed-up", 1.3]]
    assert toolbar.press(book, "plan")["exit_code"] == 0
    toolbar.close_all()
    book = toolbar.open(made.book)
    assert _controls(book) == list(made.buttons)
    toolbar.close_all()
