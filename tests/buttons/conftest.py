"""A real LibreOffice for the tests of the buttons: headless, each on a user profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from buttons_toolbar import Toolbar
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


@pytest.fixture(scope="session")
def toolbar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbar]:
    """A LibreOffice with the extension installed by `install_toolbar`."""
    if SOFFICE is None:
        pytest.skip("LibreOffice is not installed")
    from workbench.buttons import libreoffice
    from workbench.buttons.install import install_toolbar

    profile = tmp_path_factory.mktemp("toolbar-profile")
    with pytest.MonkeyPatch.context() as patch:
        # The log and what calibration remembers: none of this user's, and the same for buttons and commands.
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
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
