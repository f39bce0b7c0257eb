"""Session: one press of a button, from the open book's side."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from workbench.buttons.hosts import Host
from workbench.buttons.install import install_in_book, sheet_of_buttons
from workbench.buttons.messages import Setting, as_text, settings_of
from workbench.errors import BookError

if TYPE_CHECKING:
    import xlwings as xw

    from workbench.recalc import Report
    from workbench.recalc.recompute import Edits

_OPEN_XML = (".xlsx", ".xlsm")


class SettingsWanted(BookError):
    """An action needs what only the person knows; the settings sheet has a cell for it."""


class Session:
    """The open book, copies of it to work on, and the ways back into it. A context manager."""

    def __init__(self, host: Host, action: str, edits: Sequence[str] = (), options: Mapping[str, str] | None = None):
        self.host, self.action, self.edits = host, action, tuple(edits)
        self.options = dict(options or {})
        """Settings given on the command line; they go before those of the settings sheet."""
        self.front_sheet = str(host.book.sheets.active.name)
        """The sheet that was in front when the button was pressed."""
        self._folder = Path(tempfile.mkdtemp(prefix="workbench-button-"))
        self._copies = 0

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def book(self) -> xw.Book:
        return self.host.book

    def progress(self, text: str, fraction: float = 0.0) -> None:
        """Show what is being done, and the share of it that is done."""
        self.host.status(text, fraction)

    def settings(self, wanted: Sequence[Setting]) -> dict[str, str]:
        """The settings of this action. Raises, after showing them, while a required one is empty."""
        given = {setting.name: value for setting in wanted if (value := self.options.get(setting.name))}
        complete = bool(given) and all(setting.name in given for setting in wanted if setting.required)
        values = settings_of(self.book, self.action, wanted, offer=not complete) | given
        empty = [setting for setting in wanted if setting.required and not values[setting.name]]
        if empty:
            self.ask(
                f"{self.action.replace('_', ' ')} needs {' and '.join(setting.name for setting in empty)}",
                "fill in the coloured cells",
            )
        return values

    def ask(self, problem: str, wanted: str) -> NoReturn:
        """Raise: the settings sheet comes to the front, where the person gives what is wanted."""
        raise SettingsWanted(
            problem,
            where=self.book.name,
            remedy=f"{wanted} in the sheet 'Workbench settings', and press the button again",
        )

    def saved_path(self) -> Path:
        """The book's file. Raises where it was never saved, is open read-only, or is no .xlsx or .xlsm."""
        path = self.host.path
        if path is None:
            raise BookError("the book was never saved", where=self.book.name, remedy="save it as .xlsx, then repeat")
        if self.host.is_read_only:
            raise BookError("the book is open read-only", where=path, remedy="save a copy of it and work there")
        if path.suffix.lower() not in _OPEN_XML:
            raise BookError("this needs an .xlsx or .xlsm file", where=path, remedy="save the book as .xlsx")
        return path

    def snapshot(self) -> Path:
        """A private copy of the book as it stands; the file itself where nothing is unsaved."""
        self._copies += 1
        path = self.host.path
        if path is not None and path.suffix.lower() in _OPEN_XML and path.exists() and not self.host.is_modified:
            copy = self._folder / f"{self._copies}-{path.name}"
            shutil.copyfile(path, copy)
            return copy
        return self.copy_as_calculated()

    def copy_as_calculated(self) -> Path:
        """A private copy that holds the values which the spreadsheet program shows now."""
        self._copies += 1
        path = self.host.path
        copy = self._folder / f"{self._copies}-{(path or Path(self.book.name)).stem}.xlsx"
        self.host.save_copy(copy)
        return copy

    @contextlib.contextmanager
    def changing_file(self) -> Iterator[Path]:
        """Yield a copy of the saved book to change; at the end it replaces the book's file, which is reloaded.

        Unsaved edits are saved first. If the person edits the book meanwhile, nothing of theirs is lost:
        the result is put beside the file and `BookError` says where.
        """
        path = self.saved_path()
        buttons = None
        if self.host.is_modified:
            buttons = sheet_of_buttons(path) if self.host.loses_form_buttons else None
            self.book.save()
        copy = self._folder / path.name
        shutil.copyfile(path, copy)
        if buttons is not None:
            install_in_book(copy, out=copy, sheet=buttons)
        before = path.stat().st_mtime_ns
        yield copy
        if self.host.is_modified or path.stat().st_mtime_ns != before:
            beside = free_name(path.with_name(f"{path.stem} ({self.action.replace('_', ' ')}){path.suffix}"))
            shutil.copyfile(copy, beside)
            raise BookError(
                "the book was edited while the action ran, so the result was not put into it",
                where=path,
                remedy=f"the result is in {beside.name}, beside the book",
            )
        self.host.replace_file(copy)

    def write(self, edits: Edits, *, overwrite_formulas: bool = False) -> Report:
        """Set cells of the open book, by the rules of `recompute --set`; returns what `recompute` reports.

        The edits are first made in a snapshot: a locked cell, a validation rule or a missing name raises there
        what the command line says, before anything is written here. LibreOffice's and Excel's own objects
        enforce none of these rules against a program.
        """
        from workbench.recalc import open_workbook
        from workbench.recalc.recompute import parse_edit

        given = list(edits.items()) if isinstance(edits, Mapping) else [parse_edit(text) for text in edits]
        with open_workbook(self.snapshot()) as workbook:
            for target, value in given:
                workbook.set(target, value, overwrite_formula=overwrite_formulas)
            report = workbook.recalculate()
            placed = [(workbook.locate(target), value) for target, value in given]
        for label, value in placed:
            sheet, _, cell = label.rpartition("!")
            self.book.sheets[sheet.strip("'").replace("''", "'")][cell].value = as_text(value)
        return report


def free_name(path: Path) -> Path:
    """`path`, or with a number behind its name where that is taken."""
    number, candidate = 1, path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem} {number}{path.suffix}")
    return candidate
