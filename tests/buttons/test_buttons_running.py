"""How an action runs, whatever it does: progress, cancelling, errors, settings, messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.buttons.hosts import LibreOfficeHost
from workbench.buttons.messages import Setting, as_text, settings_of
from workbench.buttons.registry import Action, Outcome
from workbench.buttons.running import cancel_flag, run_action
from workbench.buttons.session import Session
from workbench.errors import WorkbenchError

pytestmark = pytest.mark.libreoffice


def action(run: Callable[[Session, dict[str, str]], Outcome], *settings: Setting) -> Action:
    return Action("try_it", "Try it…", "", settings, run)


@pytest.fixture
def host(office: Any, tmp_path: Path) -> Iterator[LibreOfficeHost]:
    book = office.books.add()
    book.save(tmp_path / "book.xlsx")
    yield LibreOfficeHost(book)
    for other in list(office.books):
        other.close()


def newest(host: LibreOfficeHost) -> list[Any]:
    row: list[Any] = host.book.sheets["Workbench messages"]["A1:D1"].value
    return row


def test_a_programming_error_keeps_its_traceback_and_tells_the_person(
    host: LibreOfficeHost, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(session: Session, settings: dict[str, str]) -> Outcome:
        raise ZeroDivisionError("by zero")

    result = run_action(action(run), host)
    assert result.exit_code == 70 and not result.unreported
    assert newest(host)[1:] == ["Try it…", "error", "programming error: ZeroDivisionError: by zero"]
    told = capfd.readouterr().err
    assert "Traceback" in told and 'raise ZeroDivisionError("by zero")' in told


def test_progress_shows_and_the_status_bar_is_given_back(host: LibreOfficeHost) -> None:
    seen = []

    def run(session: Session, settings: dict[str, str]) -> Outcome:
        session.progress("half done", 0.5)
        seen.append(session.book.app.status_bar)
        return Outcome("fine")

    assert run_action(action(run), host).message == "fine"
    assert seen == ["half done"]
    assert host.book.app.status_bar is False
    assert "Workbench messages" not in host.book.sheet_names, "a plain success leaves no trace in the book"


def test_the_flag_cancels_and_a_second_press_is_refused_meanwhile(host: LibreOfficeHost) -> None:
    refused = []

    def run(session: Session, settings: dict[str, str]) -> Outcome:
        refused.append(run_action(action(run), host).message)
        threading.Timer(0.3, cancel_flag(host).touch).start()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            time.sleep(0.05)
        return Outcome("never")

    result = run_action(action(run), host)
    assert result.exit_code == 130 and "cancelled" in result.message
    assert result.seconds < 10
    assert "another action is still running on this book" in refused[0]
    assert not cancel_flag(host).exists()
    assert run_action(action(lambda session, settings: Outcome("again")), host).message == "again"


def test_changes_reach_the_file_only_when_all_went_well(host: LibreOfficeHost, tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    before = path.read_bytes()

    def fail(session: Session, settings: dict[str, str]) -> Outcome:
        with session.changing_file() as copy:
            copy.write_bytes(b"half written")
            raise WorkbenchError("no luck")

    assert run_action(action(fail), host).exit_code == 2
    assert path.read_bytes() == before
    assert host.book.sheet_names[0] == "Sheet1"
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".~lock")) == ["book.xlsx"]


def test_settings_are_asked_once_and_then_read(host: LibreOfficeHost) -> None:
    given = []

    def run(session: Session, settings: dict[str, str]) -> Outcome:
        given.append(settings)
        return Outcome("fine")

    wanted = (Setting("file", "", "a file", required=True), Setting("times", "3", "=how often"))
    asked = run_action(action(run, *wanted), host)
    assert asked.exit_code == 2 and "try it needs file" in asked.message
    sheet = host.book.sheets["Workbench settings"]
    assert sheet["A2:D3"].value == [["try_it", "file", None, "a file"], ["try_it", "times", 3.0, "=how often"]]
    assert host.book.sheets.active.name == "Workbench settings"
    assert host.book.app.selection.address == "$C$2"
    sheet["C2"].value = "x.npz"
    sheet["C3"].value = 2.5
    assert run_action(action(run, *wanted), host).exit_code == 0
    assert run_action(action(run, *wanted), host, options={"file": "given"}).exit_code == 0
    assert given == [{"file": "x.npz", "times": "2.5"}, {"file": "given", "times": "2.5"}]


def test_names_from_a_model_are_never_formulas(host: LibreOfficeHost) -> None:
    nasty = '=HYPERLINK("http://example.org","x")'

    def run(session: Session, settings: dict[str, str]) -> Outcome:
        return Outcome(nasty, [("operator",), (nasty,), ("+1",), ("-1",), ("@x",)])

    run_action(action(run), host)
    cells = host.book.sheets["Workbench messages"]["D1:D6"]
    assert cells.value == [nasty, "operator", nasty, "+1", "-1", "@x"]
    assert all(cell.api.getCellByPosition(0, 0).Type.value == "TEXT" for cell in cells)
    assert as_text("plain") == "plain"


def test_the_newest_message_is_on_top(host: LibreOfficeHost) -> None:
    for text in "first", "second":
        run_action(action(lambda session, settings, text=text: Outcome(text, [("row",), (1.5,)])), host)
    sheet = host.book.sheets["Workbench messages"]
    assert sheet["D1:D6"].value == ["second", "row", 1.5, "first", "row", 1.5]
    assert settings_of(host.book, "other", ()) == {}
