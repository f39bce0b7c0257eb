"""The xlwings engine `libreoffice`: Engine, Apps and App."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xlwings as xw
from xlwings import base_classes as base

from workbench.buttons.libreoffice import values
from workbench.buttons.libreoffice.books import TRUSTED_MACROS, Book, Books
from workbench.buttons.libreoffice.bridge import (
    LibreOfficeError,
    NotSupported,
    closed_meanwhile,
    enum_value,
    guarded,
    is_uno_exception,
    properties,
)
from workbench.buttons.libreoffice.office import OfficeProcess, component_context, start_office

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.ranges import Range


class Engine:
    """What `xw.Engine` needs of an engine."""

    name = "libreoffice"
    type = "desktop"
    prepare_xl_data_element = staticmethod(values.prepared)
    clean_value_data = staticmethod(values.cleaned)

    def __init__(self) -> None:
        self.apps = Apps()


@guarded
class Apps(base.Apps):
    """The LibreOffices that this process started or is connected to, the active one first."""

    def __init__(self) -> None:
        self._apps: list[App] = []

    def keys(self) -> list[int]:
        return [app.pid for app in self._living()]

    def add(
        self,
        spec: str | None = None,
        add_book: bool | None = None,
        xl: object = None,
        visible: bool | None = None,
    ) -> App:
        """Start a LibreOffice; `spec` may name a user profile folder. Headless unless `visible`."""
        has_screen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        if visible and not has_screen and visible is True:
            visible = None
        office = start_office(visible=bool(visible), profile=Path(spec) if spec else None)
        try:
            context = component_context(office.connection, office=office)
        except BaseException:
            office.end(patience_s=0)
            raise
        app = App(context, office.connection, office, headless=not visible)
        self.register(app)
        if add_book is not False:
            app.books.add()
        return app

    def register(self, app: App) -> None:
        self._apps.insert(0, app)

    def forget(self, app: App) -> None:
        self._apps = [other for other in self._apps if other is not app]

    def to_front(self, app: App) -> None:
        self.forget(app)
        self.register(app)

    @staticmethod
    def cleanup() -> None:
        engine.apps._living()

    def _living(self) -> list[App]:
        self._apps = [app for app in self._apps if app.is_alive()]
        return self._apps

    def __iter__(self) -> Iterator[App]:
        return iter(list(self._living()))

    def __len__(self) -> int:
        return len(self._living())

    def __getitem__(self, pid: int) -> App:
        for app in self._living():
            if app.pid == pid:
                return app
        raise KeyError(pid)


_CONNECTED_PIDS = iter(range(1, 1 << 30))


@guarded
class App(base.App):
    """One LibreOffice. `api` is its `com.sun.star.frame.Desktop`."""

    screen_updating = True
    display_alerts = True
    enable_events = True
    interactive = True
    cut_copy_mode = False
    hwnd = None
    macro_mode = TRUSTED_MACROS
    """How the macros of books opened from now on are treated; set `ALL_MACROS` for files that you trust."""

    def __init__(self, context: Any, connection: str, office: OfficeProcess | None, *, headless: bool = False) -> None:
        self.context = context
        self.connection = connection
        self.office = office
        self.headless = headless
        self.desktop = self.service("com.sun.star.frame.Desktop")
        self.clipboard: Range | None = None
        self.format_types: dict[tuple[str, int], int] = {}
        self.calling_url = ""
        """The document whose button was pressed: it counts as the active one."""
        self._pid = office.process.pid if office else -next(_CONNECTED_PIDS)
        self._indicators: dict[str, Any] = {}
        self._status: str | bool = False

    def service(self, name: str) -> Any:
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    def is_alive(self) -> bool:
        if self.office is not None:
            return self.office.process.poll() is None
        try:
            return self.desktop.Name is not None or True
        except Exception as error:
            if not is_uno_exception(error):
                raise
            return False

    @property
    def api(self) -> Any:
        return self.desktop

    xl = api

    @property
    def engine(self) -> Engine:
        return engine

    @property
    def pid(self) -> int:
        """The process's id; a negative number for a LibreOffice that was connected to."""
        return self._pid

    @property
    def books(self) -> Books:
        return Books(self)

    @property
    def version(self) -> str:
        provider = self.service("com.sun.star.configuration.ConfigurationProvider")
        node = provider.createInstanceWithArguments(
            "com.sun.star.configuration.ConfigurationAccess",
            properties(nodepath="/org.openoffice.Setup/Product"),
        )
        return str(node.getByName("ooSetupVersionAboutBox"))

    @property
    def path(self) -> str:
        settings = self.service("com.sun.star.util.PathSubstitution")
        return _system_path(settings.substituteVariables("$(prog)", True))

    @property
    def startup_path(self) -> str:
        settings = self.service("com.sun.star.util.PathSubstitution")
        return _system_path(settings.substituteVariables("$(user)", True))

    @property
    def visible(self) -> bool:
        """Whether its windows show. A LibreOffice that was started headless has none, ever."""
        if self.headless:
            return False
        return any(frame.ContainerWindow.isVisible() for frame in self._frames()) or len(self.books) == 0

    @visible.setter
    def visible(self, value: bool) -> None:
        if self.headless:
            return
        for frame in self._frames():
            frame.ContainerWindow.setVisible(bool(value))

    def _frames(self) -> Iterator[Any]:
        for book in self.books:
            controller = book.doc.CurrentController
            if controller is not None:
                yield controller.Frame

    @property
    def calculation(self) -> str:
        return "automatic" if self._active_book().doc.isAutomaticCalculationEnabled() else "manual"

    @calculation.setter
    def calculation(self, value: str) -> None:
        if value not in ("automatic", "manual"):
            raise NotSupported(f"calculation = {value!r}", "Calc knows automatic and manual")
        for book in self.books:
            book.doc.enableAutomaticCalculation(value == "automatic")

    def calculate(self) -> None:
        """Recalculate every formula of every open book."""
        for book in self.books:
            book.doc.calculateAll()

    @property
    def selection(self) -> Range | None:
        return self._active_book().selection

    @property
    def status_bar(self) -> str | bool:
        """The text shown by us in the status bar of the active book; False where there is none."""
        return self._status

    @status_bar.setter
    def status_bar(self, value: str | bool | None) -> None:
        self._status = value if value else False
        book = self._active_book()
        controller = book.doc.CurrentController
        if controller is None:
            return
        if controller.Frame is None:
            raise closed_meanwhile()
        # One indicator a document: a second one would stack on the first and never show.
        key = str(book.doc.RuntimeUID)
        indicator = self._indicators.get(key)
        if not value:
            if indicator is not None:
                indicator.end()
                del self._indicators[key]
            return
        if indicator is None:
            indicator = self._indicators[key] = controller.Frame.createStatusIndicator()
            indicator.start(str(value), 100)
        else:
            indicator.setText(str(value))

    def show_progress(self, fraction: float) -> None:
        """Fill the bar beside the status text (0 to 1)."""
        for indicator in self._indicators.values():
            indicator.setValue(round(100 * min(max(fraction, 0.0), 1.0)))

    def activate(self, steal_focus: bool = False) -> None:
        engine.apps.to_front(self)

    def run(self, macro: str, args: tuple[Any, ...]) -> Any:
        """Run a Basic or VBA macro: `Module.Name`, `'book.xlsm'!Module.Name`, or a script URL."""
        arguments = tuple(getattr(argument, "api", argument) for argument in args)
        found = re.match(r"^(?:'?([^'!]+)'?!)?(.+)$", macro)
        assert found is not None
        book = self.books(found[1]) if found[1] else self._active_book()
        return book.run_macro(found[2], arguments)

    def alert(self, prompt: str, title: str | None, buttons: str, mode: str | None, callback: object) -> str | None:
        """A message box; returns the button pressed. Raises where there is no window to show it in."""
        if self.headless:
            raise LibreOfficeError("this LibreOffice is headless and can't show a message", remedy="start it visible")
        kinds = {"critical": "ERRORBOX", "info": "INFOBOX", None: "MESSAGEBOX"}
        flags = {"ok": 1, "ok_cancel": 2, "yes_no": 3, "yes_no_cancel": 4}
        window = self._active_book().doc.CurrentController.Frame.ContainerWindow
        box = self.service("com.sun.star.awt.Toolkit").createMessageBox(
            window,
            enum_value("com.sun.star.awt.MessageBoxType", kinds.get(mode, "MESSAGEBOX")),
            flags.get(buttons, 1),
            title or "",
            prompt,
        )
        answer = int(box.execute())
        return {0: "cancel", 1: "ok", 2: "yes", 3: "no"}.get(answer)

    def _active_book(self) -> Book:
        book = self.books.active
        if book is None:
            raise LibreOfficeError("no workbook is open in this LibreOffice", remedy="open or add one first")
        return book

    def quit(self) -> None:
        """End a LibreOffice of our own, without saving; leave one that we are only connected to."""
        engine.apps.forget(self)
        if self.office is None:
            return
        for book in list(self.books):
            book.close()
        with contextlib.suppress(Exception):
            self.desktop.terminate()
        self.office.end()

    def kill(self) -> None:
        engine.apps.forget(self)
        if self.office is None:
            raise NotSupported("kill()", "this LibreOffice was started by someone else; close it there")
        self.office.end(patience_s=0)


def _system_path(url: str) -> str:
    from workbench.buttons.libreoffice.bridge import load_uno

    return str(load_uno().fileUrlToSystemPath(url)) if url.startswith("file:") else url


engine = Engine()


def register() -> xw.Engine:
    """Make `xw.engines["libreoffice"]`; it becomes the active engine where there is no other."""
    known = xw.engines.engines_by_name
    if engine.name not in known:
        xw.engines.add(xw.Engine(impl=engine))
    if xw.engines.active is None:
        known[engine.name].activate()
    registered: xw.Engine = known[engine.name]
    return registered


def connect(connection: str, *, patience_s: float = 60.0) -> xw.App:
    """The LibreOffice that listens at `connection` (`pipe,name=NAME` or `socket,host=…,port=…`)."""
    register()
    app = App(component_context(connection, patience_s=patience_s), connection, None)
    engine.apps.register(app)
    return xw.App(impl=app)


def start(*, visible: bool = False, profile: Path | None = None, add_book: bool = False) -> xw.App:
    """Start a private LibreOffice, headless by default; it ends with this process at the latest."""
    register()
    if visible and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        warnings.warn("no display: LibreOffice starts headless", stacklevel=2)
    return xw.App(impl=engine.apps.add(str(profile) if profile else None, add_book, visible=visible))
