"""What Excel's macros start, with a fake of Excel: `Book.caller()` on a book that LibreOffice calculates.

The fake has what the host for Excel uses of Excel's object model (ReadOnly, Saved, SaveCopyAs) and no UNO.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xlwings as xw

from workbench.book import open_book
from workbench.buttons.__main__ import main
from workbench.buttons.calling import chosen_action, run
from workbench.buttons.calling import main as run_main
from workbench.buttons.hosts import ExcelHost, host_of
from workbench.buttons.install import install_in_book
from workbench.buttons.libreoffice.books import Book, Books
from workbench.buttons.libreoffice.engine import App, Engine

pytestmark = pytest.mark.libreoffice


class FakeEngine(Engine):
    name = "excel"

    def __init__(self) -> None: ...


class FakeWorkbook:
    """Excel's Workbook object, as far as the host asks it."""

    def __init__(self, book: FakeBook) -> None:
        self._book = book

    @property
    def ReadOnly(self) -> bool:  # noqa: N802
        return self._book.is_read_only

    @property
    def Saved(self) -> bool:  # noqa: N802
        return not self._book.is_modified

    @Saved.setter
    def Saved(self, value: bool) -> None:  # noqa: N802
        assert value
        self._book.mark_saved()

    def SaveCopyAs(self, path: str) -> None:  # noqa: N802
        self._book.save_copy(Path(path))


class FakeApp(App):
    def __init__(self, app: App) -> None:
        self.__dict__ = app.__dict__

    @property
    def engine(self) -> Engine:
        return FakeEngine()

    @property
    def books(self) -> FakeBooks:
        return FakeBooks(self)


class FakeBooks(Books):
    def open(self, *args: Any, **options: Any) -> FakeBook:
        return FakeBook(self.app, super().open(*args, **options).doc)


class FakeBook(Book):
    @property
    def api(self) -> Any:
        return FakeWorkbook(self)


@pytest.fixture
def caller(office: xw.App, own_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The book whose button was pressed; `sys.argv` is what its macro passes."""
    app = FakeApp(office.impl)
    book = xw.Book(impl=app.books.open(str(own_copy)))
    arguments = ["--wb=book.xlsx", "--from_xl=1", "--hwnd=1234"]
    monkeypatch.setattr(sys, "argv", ["workbench.buttons", *arguments])
    asked: list[tuple[str, str]] = []

    def calling(cls: type[xw.Book]) -> xw.Book:
        values = dict(argument.lstrip("-").split("=", 1) for argument in sys.argv[1:])
        asked.append((values["wb"], values["hwnd"]))
        return book

    monkeypatch.setattr(xw.Book, "caller", classmethod(calling))
    yield SimpleNamespace(book=book, path=own_copy, arguments=arguments, asked=asked, app=app)
    for other in list(office.books):
        other.close()


def test_the_macros_arguments_run_the_action_on_the_caller(caller: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(host_of(caller.book), ExcelHost)
    assert main(["check", *caller.arguments]) == 0
    assert json.loads(capfd.readouterr().out)["message"].startswith("Checked")
    assert caller.asked == [("book.xlsx", "1234")]


def test_profiling_through_the_excel_host_replaces_the_file(caller: Any) -> None:
    model = str(caller.path.with_name("decoder_block.onnx"))
    code = main(["add_profile", *caller.arguments, "--option", "name=two", "--option", f"model={model}",
                 "--option", "seconds=0"])  # fmt: skip
    assert code == 0
    assert open_book(caller.path).profile_names == ("baseline", "two")
    names = [sheet.name for sheet in caller.app.books(1).sheets]
    assert names[1:5] == ["baseline", "baseline ops", "two", "two ops"], "the new file was opened again"


def test_an_error_is_a_message_in_the_book(caller: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["add_profile", *caller.arguments]) == 2
    assert "needs name and model" in caller.book.sheets["Workbench messages"]["D1"].value
    assert not json.loads(capfd.readouterr().out)["unreported"]


def test_run_python_and_run_main(caller: Any, office: Any, tmp_path: Path) -> None:
    assert run("check").exit_code == 0
    assert chosen_action(caller.book) == "recalculate", "without a settings sheet"
    conf = caller.book.sheets.add("xlwings.conf", after=caller.book.sheets[-1])
    conf["A1"].value = [["INTERPRETER_WIN", "python"], ["WORKBENCH_ACTION", "add_profile"]]
    assert chosen_action(caller.book) == "add_profile"
    run_main()
    assert "needs name and model" in caller.book.sheets["Workbench messages"]["D1"].value


def test_the_add_ins_file_is_what_run_main_imports(own_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = own_copy.parent / "beside"
    folder.mkdir()
    book = Path(shutil.copy(own_copy, folder / "pruning_book.xlsx"))
    install_in_book(book, add_in=True)
    monkeypatch.syspath_prepend(str(folder))
    import pruning_book  # what xlwings' add-in does: import BOOK; BOOK.main()

    assert pruning_book.main is run_main


def test_no_caller_is_a_clear_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "no open book was named; give --uno and --book" in capfd.readouterr().err


def test_an_unknown_action_lists_those_there_are(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["paint", "--wb=book.xlsx", "--from_xl=1"]) == 2
    assert "there is no action 'paint'; use one of recalculate" in capfd.readouterr().err
