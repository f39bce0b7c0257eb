"""Pressing the toolbar's buttons without a mouse."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
