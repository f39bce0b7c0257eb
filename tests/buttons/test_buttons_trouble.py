"""What goes wrong around buttons, and what the person is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from buttons_toolbar import Toolbar
from libreoffice import SOFFICE

from workbench.buttons.libreoffice import ALL_MACROS, TRUSTED_MACROS, LibreOfficeError, bridge, find_soffice
from workbench.buttons.libreoffice.bridge import python_of_bridge


@pytest.fixture
def clean(toolbar: Any) -> Iterator[Any]:
    """The toolbar's LibreOffice; no book stays open behind a test."""
    yield toolbar
    toolbar.close_all()


def settings_sheet(book: Any, action: str, **values: Any) -> None:
    """Settings that the person filled in on an earlier day."""
    front = book.sheets.active
    sheet = book.sheets.add("Workbench settings", after=book.sheets[-1])
    sheet["A1"].value = [["action", "setting", "value"], *([action, name, value] for name, value in values.items())]
    front.activate()


def children(toolbar: Any) -> list[psutil.Process]:
    """The processes that the toolbar has started and that still run."""
    office = psutil.Process(toolbar.app.impl.office.process.pid)
    return [p for p in office.children(recursive=True) if "workbench.buttons" in " ".join(p.cmdline())]


def _has_message(book: Any) -> bool:
    return "Workbench messages" in book.sheet_names and book.sheets["Workbench messages"]["D1"].value is not None


def started_measuring(toolbar: Any, book: Any) -> tuple[Any, list[str]]:
    """Press Profile again with a minute of measuring, and wait until it is at it."""
    settings_sheet(book, "profile_again", seconds=60)
    book.save()
    ended, outcomes = toolbar.start(book, "profile_again")
    deadline = time.monotonic() + 30
    while not any(p.cpu_times().user > 1.5 for p in children(toolbar)):
        assert time.monotonic() < deadline and not ended.is_set(), outcomes
        time.sleep(0.1)
    return ended, outcomes


def test_libreoffice_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_SOFFICE", "/nowhere/soffice")
    with pytest.raises(LibreOfficeError, match="WORKBENCH_SOFFICE names no program"):
        find_soffice()
    monkeypatch.delenv("WORKBENCH_SOFFICE")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("workbench.buttons.libreoffice.office._PLACES", ())
    with pytest.raises(LibreOfficeError, match=r"LibreOffice is not installed.*apt install libreoffice-calc"):
        find_soffice()


def test_bridge_missing_or_for_another_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bridge, "_uno", None)
    monkeypatch.setattr(bridge, "_FOLDERS", ())
    monkeypatch.setenv("WORKBENCH_UNO_PATH", str(tmp_path))
    with pytest.raises(LibreOfficeError, match=r"uno\.py\) was not found; install LibreOffice with its Python bridge"):
        bridge.load_uno()
    (tmp_path / "uno.py").write_text("")
    (tmp_path / "libpyuno.so").write_bytes(b"\x7fELF\0libpython3.6.so.1.0\0")
    assert python_of_bridge(tmp_path) == (3, 6)
    with pytest.raises(LibreOfficeError, match=r"made for Python 3\.6, this is Python 3\.\d+ .*python3\.6 -m venv"):
        bridge.load_uno()


@pytest.mark.libreoffice
def test_a_document_never_saved(clean: Any) -> None:
    book = clean.app.books.add()
    book.sheets[0]["A1"].value = [[1, "=A1+1"]]
    assert clean.press(book, "recalculate")["message"] == "Recalculated 1 formulas"
    outcome = clean.press(book, "profile_again")
    assert outcome["exit_code"] == 2
    assert "the book was never saved; save it as .xlsx" in clean.messages(book)[0][3]


@pytest.mark.libreoffice
def test_a_book_without_profiles(clean: Any, tmp_path: Path) -> None:
    book = clean.app.books.add()
    book.save(tmp_path / "plain.xlsx")
    outcome = clean.press(book, "profile_again")
    assert outcome["exit_code"] == 2
    assert "holds no profile" in clean.messages(book)[0][3]


@pytest.mark.libreoffice
def test_a_read_only_document(clean: Any, own_copy: Path) -> None:
    before = own_copy.read_bytes()
    book = clean.open(own_copy, read_only=True)
    assert clean.press(book, "check")["exit_code"] == 0
    outcome = clean.press(book, "profile_again")
    assert outcome["exit_code"] == 2
    assert "read-only" in outcome["message"] and "copy" in outcome["message"]
    assert own_copy.read_bytes() == before


@pytest.mark.libreoffice
def test_a_protected_messages_sheet(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    clean.press(book, "add_profile")
    book.sheets["Workbench messages"].api.protect("secret")
    before = clean.messages(book)
    outcome = clean.press(book, "add_profile")
    assert outcome["exit_code"] == 2
    assert outcome["unreported"], "the toolbar then shows a box instead"
    assert "needs name and model" in outcome["message"]
    assert clean.messages(book) == before


@pytest.mark.libreoffice
def test_a_protected_structure(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    book.api.protect("secret")
    before = own_copy.read_bytes()
    outcome = clean.press(book, "add_profile")
    assert outcome["exit_code"] == 2 and "needs name and model" in outcome["message"]
    assert own_copy.read_bytes() == before


@pytest.mark.libreoffice
def test_a_refused_edit_says_what_the_command_says(clean: Any, own_copy: Path) -> None:
    from workbench import api
    from workbench.buttons.hosts import host_of
    from workbench.buttons.registry import named
    from workbench.buttons.running import run_action
    from workbench.errors import CellError
    from workbench.recalc import recompute

    model = own_copy.with_name("decoder_block.onnx")
    protected = own_copy.with_name("protected.xlsx")
    api.profile(model, protected, measure=False, peak_gflops=50.0, protect=True)
    name, rule, formula = "nowhere=1", "ratios[192x192][90%]=fast", "total_latency_baseline=1"
    locked = "'baseline ops'!A3=Other"
    for path, edits in ((own_copy, (name, rule, formula)), (protected, (locked, formula))):
        book = clean.open(path)
        for edit in edits:
            with pytest.raises(CellError) as refused:
                recompute(path, edits=[edit], write=False)
            outcome = run_action(named("recalculate"), host_of(book), edits=[edit])
            assert outcome.exit_code == 2
            assert outcome.message == str(refused.value)
    allowed = run_action(named("recalculate"), host_of(book), edits=["ratios[192x192][90%]=3.5"])
    assert allowed.exit_code == 0, allowed.message
    assert book.names["ratios_baseline"].refers_to_range[1, 1].value == 3.5, "an unlocked cell of a protected sheet"


@pytest.mark.libreoffice
def test_two_windows_each_press_acts_on_its_own(clean: Any, own_copy: Path, tmp_path: Path) -> None:
    first = clean.open(own_copy)
    second = clean.app.books.add()
    second.save(tmp_path / "second.xlsx")
    second.activate()
    assert clean.press(first, "add_profile")["exit_code"] == 2
    assert "Workbench settings" in first.sheet_names
    assert second.sheet_names == ["Sheet1"]


@pytest.mark.libreoffice
def test_cancel_ends_a_long_job_and_nothing_changes(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    ended, outcomes = started_measuring(clean, book)
    before = own_copy.read_bytes()
    assert clean.press(book, "check") == {}, "one action at a time"
    started = time.monotonic()
    clean.press(book, "cancel")
    assert ended.wait(20)
    assert time.monotonic() - started < 10
    assert "was cancelled; the book is as it was" in outcomes[0]
    assert own_copy.read_bytes() == before
    assert not children(clean)


@pytest.mark.libreoffice
def test_closed_while_running(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    ended, outcomes = started_measuring(clean, book)
    before = own_copy.read_bytes()
    book.close()
    other = clean.app.books.add()
    assert ended.wait(15)
    assert any(said in outcomes[0] for said in ("closed meanwhile", "was closed", "was cancelled"))
    assert own_copy.read_bytes() == before
    assert clean.press(other, "recalculate")["exit_code"] == 0, "LibreOffice and its toolbar live on"


@pytest.mark.libreoffice
def test_a_killed_child_leaves_the_file_whole(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    ended, outcomes = started_measuring(clean, book)
    before = own_copy.read_bytes()
    for child in children(clean):
        child.kill()
    assert ended.wait(20)
    assert outcomes == [""]
    assert own_copy.read_bytes() == before
    assert "ended without a result" in clean.messages(book)[0][3]
    assert clean.press(book, "check")["exit_code"] == 0, "a dead action blocks no later one"


@pytest.mark.libreoffice
def test_edited_while_running_loses_nothing(clean: Any, own_copy: Path) -> None:
    book = clean.open(own_copy)
    settings_sheet(book, "profile_again", seconds=2)
    ended, outcomes = clean.start(book, "profile_again")
    deadline = time.monotonic() + 20
    while not any(p.cpu_times().user > 1.5 for p in children(clean)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    book.sheets["Guide"]["Z99"].value = "typed meanwhile"
    assert ended.wait(60)
    assert "edited while the action ran" in outcomes[0]
    assert book.sheets["Guide"]["Z99"].value == "typed meanwhile"
    assert own_copy.with_name("book (profile again).xlsx").exists()


@pytest.mark.libreoffice
def test_the_python_path_is_gone(tmp_path: Path) -> None:
    from workbench.buttons import libreoffice
    from workbench.buttons.libreoffice import extension

    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    package = extension.build_extension(
        tmp_path / "gone.oxt", (extension.Entry("check", "Check"),), python=Path("/gone/python")
    )
    extension.install_extension(package, profile=tmp_path / "profile")
    with libreoffice.start(profile=tmp_path / "profile") as app:
        toolbar = Toolbar(app)
        book = app.books.add()
        assert toolbar.press(book, "check") == {}
        newest = toolbar.messages(book)[0]
        assert newest[2] == "error"
        assert "/gone/python" in newest[3] and "workbench buttons install --libreoffice" in newest[3]


@pytest.mark.libreoffice
def test_macro_security_on_the_toolbar_still_works(clean: Any, own_copy: Path) -> None:
    from workbench.buttons.install import install_in_book

    made = install_in_book(own_copy)
    book = clean.open(made.book)
    with pytest.raises(LibreOfficeError, match="security settings switch this book's macros off"):
        clean.app.macro("WorkbenchButtons.WbRecalculate")()
    assert clean.press(book, "recalculate")["exit_code"] == 0
    book.close()
    clean.app.impl.macro_mode = ALL_MACROS
    try:
        book = clean.open(made.book)
        clean.app.macro("WorkbenchButtons.WbAddProfile")()
        deadline = time.monotonic() + 20
        while not _has_message(book) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "needs name and model" in clean.messages(book)[0][3]
    finally:
        clean.app.impl.macro_mode = TRUSTED_MACROS
