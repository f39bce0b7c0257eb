"""A real LibreOffice for the tests of the buttons: headless, each on a user profile of its own."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from libreoffice import SOFFICE

if TYPE_CHECKING:
    import xlwings as xw


class Toolbar:
    """A LibreOffice with our toolbar, whose buttons can be pressed by their URLs."""

    def __init__(self, app: xw.App) -> None:
        self.app = app

    def open(self, path: Path, **options: Any) -> Any:
        return self.app.books.open(path, **options)

    def close_all(self) -> None:
        for book in list(self.app.books):
            book.close()

    def start(self, book: Any, action: str) -> tuple[threading.Event, list[str]]:
        """Press a button through the window's dispatcher; the event is set when its action has ended."""
        from workbench.buttons.libreoffice.bridge import importing_interfaces, struct

        with importing_interfaces():
            import unohelper
            from com.sun.star.frame import XDispatchResultListener

        ended, outcomes = threading.Event(), list[str]()

        class Listener(unohelper.Base, XDispatchResultListener):  # type: ignore[misc]
            def dispatchFinished(self, event: Any) -> None:  # noqa: N802
                outcomes.append(event.Result)
                ended.set()

            def disposing(self, event: Any) -> None: ...

        url = struct("com.sun.star.util.URL")
        url.Complete = f"org.workbench.buttons:{action}"
        _, url = self.app.impl.service("com.sun.star.util.URLTransformer").parseStrict(url)
        dispatch = book.api.CurrentController.Frame.queryDispatch(url, "_self", 0)
        dispatch.dispatchWithNotification(url, (), Listener())
        return ended, outcomes

    def press(self, book: Any, action: str, *, patience_s: float = 60) -> dict[str, Any]:
        """Press a button and wait; returns what the action said, empty where it never ran."""
        ended, outcomes = self.start(book, action)
        assert ended.wait(patience_s), f"{action} did not end"
        return json.loads(outcomes[0]) if outcomes[0] else {}

    def messages(self, book: Any) -> list[list[Any]]:
        """The rows of the messages sheet, the newest first."""
        rows: list[list[Any]] = book.sheets["Workbench messages"].used_range.options(ndim=2).value
        return rows


@pytest.fixture(scope="session")
def office() -> Iterator[xw.App]:
    """LibreOffice through the engine; skips where it, or its bridge for this Python, is not installed."""
    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    from workbench.buttons import libreoffice

    try:
        app = libreoffice.start()
    except libreoffice.LibreOfficeError as error:
        pytest.skip(str(error))
    yield app
    app.quit()


@pytest.fixture
def book(office: xw.App) -> Iterator[Any]:
    """A new book with one sheet."""
    made = office.books.add()
    yield made
    for other in list(office.books):
        other.close()


@pytest.fixture(scope="session")
def toolbar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbar]:
    """A LibreOffice with the extension installed by `install_toolbar`."""
    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    from workbench.buttons import libreoffice
    from workbench.buttons.install import install_toolbar

    profile = tmp_path_factory.mktemp("toolbar-profile")
    try:
        install_toolbar(profile=profile)
    except libreoffice.LibreOfficeError as error:
        pytest.skip(str(error))
    app = libreoffice.start(profile=profile)
    yield Toolbar(app)
    app.quit()


@pytest.fixture(scope="session")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook of the small decoder block, times estimated from FLOPs; the model is beside it. Not to be changed."""
    from workbench import api
    from workbench.resources import sample_models_folder

    folder = tmp_path_factory.mktemp("profiled")
    model = shutil.copy(sample_models_folder() / "decoder_block.onnx", folder)
    api.profile(model, folder / "book.xlsx", measure=False, peak_gflops=50.0)
    return folder / "book.xlsx"


@pytest.fixture
def own_copy(profiled: Path, tmp_path: Path) -> Path:
    """A copy of the profiled workbook, with its model beside it."""
    shutil.copy(profiled.with_name("decoder_block.onnx"), tmp_path)
    return Path(shutil.copy(profiled, tmp_path))
