"""Books and Book: spreadsheet documents."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlwings import base_classes as base

from workbench.buttons.libreoffice.bridge import (
    LibreOfficeError,
    NotSupported,
    closed_meanwhile,
    guarded,
    load_uno,
    properties,
    typed_properties,
)
from workbench.buttons.libreoffice.names import Names
from workbench.buttons.libreoffice.sheets import Sheet, Sheets

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.engine import App
    from workbench.buttons.libreoffice.ranges import Range
    from workbench.buttons.libreoffice.tables import Table

FILTERS = {
    ".xlsx": "Calc MS Excel 2007 XML",
    ".xlsm": "Calc MS Excel 2007 VBA XML",
    ".xls": "MS Excel 97",
    ".xltx": "Calc MS Excel 2007 XML Template",
    ".xlt": "MS Excel 97 Vorlage/Template",
    ".ods": "calc8",
    ".csv": "Text - txt - csv (StarCalc)",
    ".pdf": "calc_pdf_Export",
    ".html": "HTML (StarCalc)",
}
"""File ending → LibreOffice's export filter."""

_EXCEL_ONLY = (".xlsb", ".xltm", ".xla", ".xlam")

TRUSTED_MACROS, ALL_MACROS = 9, 4
"""`com.sun.star.document.MacroExecMode`: signed macros and those of trusted folders, every macro; none of them asks,
as a question would hold up the program that opens the book."""

_SPREADSHEET = "com.sun.star.sheet.SpreadsheetDocument"
_NO_LINK_UPDATE, _FULL_LINK_UPDATE = 0, 3


@guarded
class Books(base.Books):
    """The spreadsheet documents that are open in an App, in the order LibreOffice lists them."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def api(self) -> Any:
        return self.app.desktop.Components

    def _documents(self) -> Iterator[Any]:
        components = self.api.createEnumeration()
        while components.hasMoreElements():
            component = components.nextElement()
            if hasattr(component, "supportsService") and component.supportsService(_SPREADSHEET):
                yield component

    @property
    def active(self) -> Book | None:
        if self.app.calling_url:
            for document in self._documents():
                if self.app.calling_url in (document.URL, str(document.RuntimeUID)):
                    return Book(self.app, document)
        current = self.app.desktop.CurrentComponent
        if current is None or not current.supportsService(_SPREADSHEET):
            current = next(self._documents(), None)  # none has the focus: the one opened first
        return None if current is None else Book(self.app, current)

    def calling(self, key: str) -> Book:
        """The document with the URL, path or RuntimeUID `key`; the active one where `key` is empty."""
        url = Path(key).resolve().as_uri() if key.startswith("/") else key
        for document in self._documents():
            if url and url in (document.URL, str(document.RuntimeUID)):
                return Book(self.app, document)
        if url:
            raise LibreOfficeError(f"the document {key!r} is not open in this LibreOffice", remedy="open it again")
        active = self.active
        if active is None:
            raise LibreOfficeError("no spreadsheet is open in this LibreOffice", remedy="open one")
        return active

    def __iter__(self) -> Iterator[Book]:
        documents = list(self._documents())
        documents.sort(key=lambda document: int(document.RuntimeUID))
        return iter([Book(self.app, document) for document in documents])

    def __len__(self) -> int:
        return sum(1 for _ in self._documents())

    def __call__(self, name_or_index: int | str) -> Book:
        books = list(self)
        if isinstance(name_or_index, int):
            return books[name_or_index - 1]
        wanted = name_or_index.lower()
        for book in books:
            if wanted in (book.name.lower(), book.fullname.lower()):
                return book
        raise KeyError(name_or_index)

    def add(self) -> Book:
        return Book(self.app, self.app.desktop.loadComponentFromURL("private:factory/scalc", "_blank", 0, ()))

    def open(
        self,
        fullname: str,
        update_links: bool | None = None,
        read_only: bool | None = None,
        format: object = None,
        password: str | None = None,
        *_: object,
        **__: object,
    ) -> Book:
        """Open a file; its macros run where `app.macro_mode` allows them."""
        arguments: dict[str, Any] = {
            "MacroExecutionMode": self.app.macro_mode,
            "UpdateDocMode": _FULL_LINK_UPDATE if update_links else _NO_LINK_UPDATE,
        }
        if read_only:
            arguments["ReadOnly"] = True
        if password:
            arguments["Password"] = password
        path = Path(fullname).resolve()
        document = self.app.desktop.loadComponentFromURL(path.as_uri(), "_blank", 0, properties(**arguments))
        if document is None:
            raise LibreOfficeError(
                "LibreOffice can't open the file: it is damaged, needs a password, or is open elsewhere",
                where=path,
                remedy="close it in the other program, or open it read-only",
            )
        return Book(self.app, document)


@guarded
class Book(base.Book):
    """A spreadsheet document. `api` is the `com.sun.star.sheet.SpreadsheetDocument`."""

    def __init__(self, app: App, document: Any) -> None:
        self._app, self.doc = app, document

    @property
    def api(self) -> Any:
        return self.doc

    @property
    def app(self) -> App:
        return self._app

    @property
    def fullname(self) -> str:
        """The file's path; the title where the document was never saved."""
        url = self.doc.URL
        return str(load_uno().fileUrlToSystemPath(url)) if url else str(self.doc.Title)

    @property
    def name(self) -> str:
        return os.path.basename(self.fullname)  # noqa: PTH119  a title may hold anything

    def collection(self, name: str) -> Any:
        """A collection of the document (`Sheets`, `NamedRanges`, `DatabaseRanges`); a closed one has none."""
        found = getattr(self.doc, name)
        if found is None:
            raise closed_meanwhile()
        return found

    @property
    def path(self) -> Path | None:
        """The file, None where the document was never saved."""
        return Path(self.fullname) if self.doc.URL else None

    @property
    def is_modified(self) -> bool:
        return bool(self.doc.isModified())

    def mark_saved(self) -> None:
        """Take the document, and the charts in it, for as good as saved."""
        for sheet in self.sheets:
            page = sheet.uno.DrawPage
            for shape in map(page.getByIndex, range(page.Count)):
                if shape.supportsService("com.sun.star.drawing.OLE2Shape") and shape.Model is not None:
                    shape.Model.setModified(False)
        self.doc.setModified(False)

    @property
    def is_read_only(self) -> bool:
        return bool(self.doc.isReadonly())

    @property
    def sheets(self) -> Sheets:
        return Sheets(self)

    @property
    def names(self) -> Names:
        return Names(self, None)

    def tables(self) -> list[Table]:
        """The tables of all sheets."""
        return [table for sheet in self.sheets for table in sheet.tables]

    @property
    def selection(self) -> Range | None:
        chosen = self.doc.CurrentSelection
        if chosen is None:
            return None
        if not hasattr(chosen, "RangeAddress"):
            if not hasattr(chosen, "RangeAddresses") or not chosen.Count:
                return None
            chosen = chosen.getByIndex(0)
        area = chosen.RangeAddress
        sheet = Sheet(self, self.doc.Sheets.getByIndex(area.Sheet))
        return sheet.area(area)

    def close(self) -> None:
        """Close without saving."""
        self.doc.setModified(False)
        self.doc.close(True)

    def activate(self) -> None:
        self._app.activate()
        controller = self.doc.CurrentController
        if controller is not None:
            controller.Frame.activate()
            self._app.desktop.setActiveFrame(controller.Frame)

    def save(self, path: str | None = None, password: str | None = None) -> None:
        """Save in place, or under `path` in the format that its ending names (default .xlsx)."""
        if path is None and self.doc.hasLocation():
            if self.is_read_only:
                raise LibreOfficeError("the document is open read-only", where=self.fullname, remedy="save a copy")
            self.doc.store()
            return
        target = Path(path or self.name)
        if target.suffix.lower() in _EXCEL_ONLY:
            raise NotSupported(f"saving as {target.suffix}", f"use one of {', '.join(FILTERS)}")
        if target.suffix.lower() not in FILTERS:
            target = target.with_name(target.name + ".xlsx")
        arguments = {"Password": password} if password else {}
        self._export("storeAsURL", target.resolve(), **arguments)

    def save_copy(self, path: Path) -> None:
        """Write the document as it is now, unsaved edits included, to `path`; the document stays as it is."""
        self._export("storeToURL", path.resolve())

    def to_pdf(self, path: str, quality: str | None = None) -> None:
        settings = {"Quality": 90 if quality in (None, "standard") else 50}
        self._export("storeToURL", Path(path), FilterData=typed_properties(**settings))

    def _export(self, how: str, path: Path, **arguments: Any) -> None:
        name = FILTERS.get(path.suffix.lower())
        if name is None:
            raise LibreOfficeError(
                f"no format belongs to the ending {path.suffix!r}",
                where=path,
                remedy=f"use one of {', '.join(FILTERS)}",
            )
        getattr(self.doc, how)(path.as_uri(), properties(FilterName=name, Overwrite=True, **arguments))

    def reload(self) -> None:
        """Load the file again into the same window; unsaved changes are lost. Macros that could run still can."""
        controller = self.doc.CurrentController
        if controller is None:
            raise LibreOfficeError("the document has no window to load it into again", where=self.fullname)
        frame, url = controller.Frame, self.doc.URL
        position = self._position(controller)
        macros = ALL_MACROS if self.doc.AllowMacroExecution else TRUSTED_MACROS
        self.doc.setModified(False)
        loaded = frame.loadComponentFromURL(
            url, "_self", 0, properties(MacroExecutionMode=macros, UpdateDocMode=_NO_LINK_UPDATE)
        )
        if loaded is None:
            raise LibreOfficeError("LibreOffice could not load the file again", where=url, remedy="open it again")
        self.doc = loaded
        with contextlib.suppress(Exception):
            sheet, area = position
            loaded.CurrentController.setActiveSheet(loaded.Sheets.getByName(sheet))
            loaded.CurrentController.select(loaded.Sheets.getByName(sheet).getCellRangeByName(area))

    def _position(self, controller: Any) -> tuple[str, str]:
        selection = self.selection
        return str(controller.ActiveSheet.Name), selection.address if selection else "A1"

    def run_macro(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if not self.doc.AllowMacroExecution:
            raise LibreOfficeError(
                "LibreOffice's security settings switch this book's macros off",
                where=self.fullname,
                remedy="trust its folder (Tools > Options > Security > Macro Security), or set app.impl.macro_mode",
            )
        provider = self.doc.getScriptProvider()
        url = name if name.startswith("vnd.sun.star.script:") else self._macro_url(name)
        result = provider.getScript(url).invoke(arguments, (), ())
        return result[0] if isinstance(result, tuple) else result

    def _macro_url(self, name: str) -> str:
        libraries = self.doc.BasicLibraries
        module, _, routine = name.rpartition(".")
        for library in libraries.ElementNames:
            libraries.loadLibrary(library)
            modules = libraries.getByName(library)
            for candidate in modules.ElementNames:
                if module and candidate.lower() != module.lower().split(".")[-1]:
                    continue
                source = modules.getByName(candidate).lower()
                if any(f"{kind} {routine.lower()}" in source for kind in ("sub", "function")):
                    place = "language=Basic&location=document"
                    return f"vnd.sun.star.script:{library}.{candidate}.{routine}?{place}"
        raise LibreOfficeError(f"the book has no macro {name!r}", where=self.fullname, remedy="check its name")

    def json(self) -> Any:
        raise NotSupported("Book.json()", "it belongs to xlwings' remote engine")
