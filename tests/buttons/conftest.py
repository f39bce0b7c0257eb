"""A real LibreOffice for the tests of the buttons: one headless process a session, on a profile of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from libreoffice import SOFFICE

if TYPE_CHECKING:
    import xlwings as xw


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
