"""What an action needs of a spreadsheet program beyond xlwings' public API, for LibreOffice and for Excel."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BookError

if TYPE_CHECKING:
    import xlwings as xw


class Host(Protocol):
    """The program that has the book open."""

    book: xw.Book
    loses_form_buttons: bool
    """Whether the program drops an .xlsm's form buttons when it saves."""

    @property
    def path(self) -> Path | None:
        """The book's file; None where it was never saved."""
        ...

    @property
    def identity(self) -> str:
        """What this book is told by from every other one that is open: its path, or else where it is open."""
        ...

    @property
    def is_read_only(self) -> bool: ...

    @property
    def is_modified(self) -> bool:
        """Whether the open book differs from its file."""
        ...

    def mark_saved(self) -> None:
        """Say that the open book equals its file, after a calculation that changed nothing."""
        ...

    def status(self, text: str | None, fraction: float = 0.0) -> None:
        """Show `text` in the status bar of the book's window, or give the bar back (None)."""
        ...

    def save_copy(self, path: Path) -> None:
        """Write the book as it stands, unsaved edits included, to `path`; nothing else changes."""
        ...

    def replace_file(self, by: Path) -> None:
        """Put the file `by` in the place of the book's file, in one step, and load it again."""
        ...


class LibreOfficeHost:
    """A book open in LibreOffice, through the engine `libreoffice`."""

    loses_form_buttons = True

    def __init__(self, book: xw.Book) -> None:
        self.book = book

    @property
    def path(self) -> Path | None:
        path: Path | None = self.book.impl.path
        return path

    @property
    def identity(self) -> str:
        impl = self.book.impl
        return str(self.path or f"{impl.app.connection} {impl.doc.RuntimeUID}")

    @property
    def is_read_only(self) -> bool:
        return bool(self.book.impl.is_read_only)

    @property
    def is_modified(self) -> bool:
        return bool(self.book.impl.is_modified)

    def mark_saved(self) -> None:
        self.book.impl.mark_saved()

    def status(self, text: str | None, fraction: float = 0.0) -> None:
        self.book.app.status_bar = text or False
        self.book.app.impl.show_progress(fraction)

    def save_copy(self, path: Path) -> None:
        self.book.impl.save_copy(path)

    def replace_file(self, by: Path) -> None:
        assert self.path is not None
        _put_in_place(by, self.path)
        self.book.impl.reload()


class ExcelHost:
    """A book open in Excel. Written to xlwings' and Excel's documentation; never run in Excel."""

    loses_form_buttons = False

    def __init__(self, book: xw.Book) -> None:
        self.book = book

    @property
    def path(self) -> Path | None:
        path = Path(self.book.fullname)
        return path if path.is_absolute() else None

    @property
    def identity(self) -> str:
        return str(self.path or f"{self.book.app.pid} {self.book.name}")

    @property
    def is_read_only(self) -> bool:
        return bool(getattr(self.book.api, "ReadOnly", False))

    @property
    def is_modified(self) -> bool:
        return not getattr(self.book.api, "Saved", True)

    def mark_saved(self) -> None:
        self.book.api.Saved = True

    def status(self, text: str | None, fraction: float = 0.0) -> None:
        shown = f"{text} ({fraction:.0%})" if text and fraction else text
        self.book.app.status_bar = shown or False

    def save_copy(self, path: Path) -> None:
        native: Any = self.book.api
        if hasattr(native, "SaveCopyAs"):
            native.SaveCopyAs(str(path))
            return
        if self.path is None:
            raise BookError("the book was never saved", where=self.book.name, remedy="save it once, then repeat")
        self.book.save()
        shutil.copyfile(self.path, path)

    def replace_file(self, by: Path) -> None:
        # Excel holds its file open: the book is closed for the moment of the exchange.
        path, app = self.path, self.book.app
        assert path is not None
        self.book.close()
        try:
            _put_in_place(by, path)
        finally:
            self.book = app.books.open(str(path))


def _put_in_place(source: Path, target: Path) -> None:
    from workbench.files import replacing

    with replacing(target) as temporary:
        shutil.copyfile(source, temporary)


def host_of(book: xw.Book) -> Host:
    """The host for `book`, by the xlwings engine that it belongs to."""
    return LibreOfficeHost(book) if book.app.engine.name == "libreoffice" else ExcelHost(book)
