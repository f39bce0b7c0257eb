"""Files that are no workbooks, damaged, hostile or in use: one clear sentence, and the old file whole."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from recalc_books import book_of, edited_zip

from workbench.errors import BookError, WorkbenchError
from workbench.recalc import open_workbook, recompute

SHEET = "xl/worksheets/sheet1.xml"


def complaint(path: Path) -> str:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(WorkbenchError) as caught:
        recompute(path)
    assert not path.is_file() or path.read_bytes() == before
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_files_that_are_no_workbook(tmp_path: Path) -> None:
    text = tmp_path / "a.xlsx"
    text.write_text("a,b,c\n1,2,3\n")
    assert "not an .xlsx workbook" in complaint(text)
    text.write_bytes(b"")
    assert "empty" in complaint(text)
    assert "no such file" in complaint(tmp_path / "missing.xlsx")
    folder = tmp_path / "folder.xlsx"
    folder.mkdir()
    assert "folder" in complaint(folder)
    with zipfile.ZipFile(text, "w") as other:
        other.writestr("readme.txt", "hello")
    assert "holds no workbook" in complaint(text)


def test_other_formats_are_named(tmp_path: Path) -> None:
    path = tmp_path / "old.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert ".xls workbook" in complaint(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"))
    assert "password" in complaint(path)
    with zipfile.ZipFile(path, "w") as ods:
        ods.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        ods.writestr("content.xml", "<x/>")
    assert ".ods" in complaint(path)
    with zipfile.ZipFile(path, "w") as binary:
        binary.writestr("xl/workbook.bin", b"")
    assert ".xlsb" in complaint(path)


@pytest.mark.parametrize("part", ["xl/workbook.xml", SHEET, "xl/_rels/workbook.xml.rels"])
def test_missing_parts(tmp_path: Path, part: str) -> None:
    path = edited_zip(book_of(tmp_path / "b.xlsx", A1=1), part, None)
    assert "missing" in (said := complaint(path)) or "no workbook" in said or "no part" in said


@pytest.mark.parametrize("part", ["xl/workbook.xml", SHEET])
def test_broken_xml(tmp_path: Path, part: str) -> None:
    path = edited_zip(book_of(tmp_path / "b.xlsx", A1="=1+1"), part, lambda data: data[: len(data) // 2])
    assert "broken XML" in complaint(path)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+1")
    path.write_bytes(path.read_bytes()[:-200])
    assert "not an .xlsx workbook" in complaint(path)


def test_a_damaged_part(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", {"Sheet1": {f"A{i}": f"text {i * 7919}" for i in range(1, 200)}})
    data = bytearray(path.read_bytes())
    at = data.find(b"xl/worksheets/sheet1.xml") + 60
    data[at : at + 40] = bytes(40)
    path.write_bytes(bytes(data))
    assert "damaged" in complaint(path)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    for part in ("xl/workbook.xml", SHEET):
        path = edited_zip(book_of(tmp_path / "b.xlsx", A1=1), part, lambda data: bomb + data)
        assert "entities" in complaint(path)


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package, package.open("xl/media/big.bin", "w") as part:
        for _ in range(100):
            part.write(bytes(1 << 20))
    assert "zip bomb" in complaint(path)


def test_a_cell_beyond_the_sheet(tmp_path: Path) -> None:
    path = edited_zip(book_of(tmp_path / "b.xlsx", A1=1), SHEET, lambda data: data.replace(b'"A1"', b'"A1048577"'))
    assert "beyond the sheet" in complaint(path)


@pytest.mark.byhand
def test_references_to_every_row_are_cheap(tmp_path: Path) -> None:
    path = book_of(
        tmp_path / "b.xlsx",
        A1=1,
        A2=2,
        C1="=SUM(A1:A1048576)",
        C2="=SUMPRODUCT((A1:A1048576=2)*1)",
        C3="=COUNTBLANK(A1:B1048576)",
        C4="=SUM(A1:XFD1048576)-SUM(C:XFD)" if False else "=COUNT(A1:B1048576)",
        C5='=SUMIF(A:A,">1")',
    )
    with open_workbook(path) as book:
        report = book.recalculate()
        assert report.complete
        assert [book.value(f"C{i}") for i in (1, 2, 4, 5)] == [3, 1, 2, 2]


def test_a_file_open_in_a_spreadsheet_program(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+1")
    for lock in (tmp_path / ".~lock.b.xlsx#", tmp_path / "~$b.xlsx"):
        lock.write_text("somebody")
        assert "is open in a spreadsheet program" in complaint(path)
        lock.unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+1")
    tmp_path.chmod(0o500)
    try:
        assert "no permission" in complaint(path)
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+1")
    with pytest.raises(WorkbenchError, match="does not exist"):
        recompute(path, tmp_path / "nowhere" / "out.xlsx")


def test_a_signature_is_warned_about(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=1+1")
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("_xmlsignatures/origin.sigs", b"")
    report = recompute(path)
    assert any("digital signature" in warning for warning in report.warnings)


def test_deep_nesting_is_listed_not_fatal(tmp_path: Path) -> None:
    path = book_of(tmp_path / "b.xlsx", A1="=" + "(" * 600 + "1" + ")" * 600, A2="=" + "-" * 2000 + "1", A3="=1+1")
    with open_workbook(path) as book:
        report = book.recalculate()
        assert {kept.cell for kept in report.unevaluated} == {"Sheet1!A1", "Sheet1!A2"}
        assert book.value("A3") == 2


def test_a_long_chain_of_cells_does_not_overflow(tmp_path: Path) -> None:
    cells: dict[str, object] = {"A1": 1}
    for i in range(2, 3001):
        column, row = ("A", i // 2 + 1) if i % 2 else ("B", i // 2)
        before = f"B{i // 2}" if i % 2 else f"A{i // 2}"
        cells[f"{column}{row}"] = f"={before}+{i % 7}" if i % 3 else f"={before}-1"
    path = book_of(tmp_path / "b.xlsx", {"Data": cells})
    with open_workbook(path) as book:
        assert book.recalculate().complete


_SLOW_WRITE = """
import sys, time
from pathlib import Path
from workbench.recalc import package
from workbench.recalc.recompute import recompute
real = package._copy_raw
def slow(*arguments):
    real(*arguments)
    arguments[2].flush()
    print("writing", flush=True)
    time.sleep(0.3)
package._copy_raw = slow
recompute(sys.argv[1], edits={"A1": 7})
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_while_writing_the_old_file_is_whole(tmp_path: Path, kill: signal.Signals) -> None:
    path = book_of(tmp_path / "b.xlsx", A1=1, B1="=A1+1")
    before = path.read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-c", _SLOW_WRITE, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(kill)
    child.wait(timeout=20)
    child.stdout.close()
    assert path.read_bytes() == before
    time.sleep(0.05)
    if kill is signal.SIGINT:
        assert [p.name for p in tmp_path.iterdir()] == ["b.xlsx"]


def test_the_error_names_the_part(tmp_path: Path) -> None:
    path = edited_zip(book_of(tmp_path / "b.xlsx", A1=1), SHEET, None)
    with pytest.raises(BookError, match=r"sheet1\.xml is missing"):
        open_workbook(path)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(6))
def test_random_damage_is_an_error_or_harmless_never_a_traceback(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    source = book_of(tmp_path / "b.xlsx", A1=1, A2="text", B1="=A1*2", B2='=A2&"x"', C1="=SUM(A:A)")
    whole = source.read_bytes()
    with zipfile.ZipFile(source) as package:
        parts = {entry.filename: package.read(entry) for entry in package.infolist()}
    damaged = tmp_path / "damaged.xlsx"
    for _ in range(25):
        if rng.random() < 0.5:
            damaged.write_bytes(damage(rng, whole))
        else:
            name = rng.choice(["xl/workbook.xml", SHEET, "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels"])
            with zipfile.ZipFile(damaged, "w") as package:
                for other, data in parts.items():
                    package.writestr(other, damage(rng, data) if other == name else data)
        with contextlib.suppress(WorkbenchError):
            recompute(damaged, tmp_path / "out.xlsx", edits={"Sheet1!A1": 3})


def damage(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed))
        kind = rng.random()
        if kind < 0.5:
            changed[at] = rng.choice(b"<>/\"'0129ACz=!()#&; \0\xff")
        elif kind < 0.8:
            del changed[at : at + rng.randint(1, 20)]
        else:
            changed[at:at] = rng.choice([b"-1", b"99999999999", b"A0", b"&bad;", b"XFE9", b"</c>"])
    return bytes(changed)
