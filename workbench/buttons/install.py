"""Installing the buttons: the toolbar into LibreOffice, form buttons or the add-in's settings into a book."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.buttons.excel.workbook import BookInstalled

_PROBE = "from workbench.buttons.libreoffice.bridge import load_uno; load_uno()"


@dataclass(frozen=True)
class ToolbarInstalled:
    """The toolbar in a LibreOffice user profile."""

    profile: Path
    libreoffice: str
    """LibreOffice's version."""
    python: Path
    """The interpreter that the buttons start."""
    log: Path
    actions: tuple[str, ...]


def install_toolbar(*, profile: Path | None = None, python: Path | None = None) -> ToolbarInstalled:
    """Install (or replace) menu and toolbar in LibreOffice for this user; LibreOffice must be closed.

    The buttons start `python`, by default the interpreter that runs this; it must be able to load the
    workbench and LibreOffice's bridge, which is tried.
    """
    from workbench.buttons.libreoffice import extension
    from workbench.buttons.registry import CANCEL, actions

    interpreter = Path(os.path.abspath(python or sys.executable))  # noqa: PTH100  a venv's python is a symlink
    _try_interpreter(interpreter)
    entries = tuple(extension.Entry(action.name, action.title) for action in actions())
    home = profile or extension.default_profile()
    with tempfile.TemporaryDirectory() as folder:
        package = extension.build_extension(
            Path(folder) / "workbench-buttons.oxt", (*entries, extension.Entry(CANCEL, "Cancel")), python=interpreter
        )
        version = extension.install_extension(package, profile=home)
    return ToolbarInstalled(
        home, version, interpreter, extension.default_log(), tuple(entry.action for entry in entries)
    )


def uninstall_toolbar(*, profile: Path | None = None) -> bool:
    """Remove menu and toolbar from LibreOffice; False where they weren't installed. LibreOffice must be closed."""
    from workbench.buttons.libreoffice import extension

    return extension.uninstall_extension(profile=profile or extension.default_profile())


def install_in_book(
    book: Path, *, out: Path | None = None, sheet: str | None = None, python: str | None = None, add_in: bool = False
) -> BookInstalled:
    """Put buttons into a workbook for Excel: an .xlsm with form buttons, or an .xlsx for the xlwings add-in.

    `python` is the interpreter on the machine that runs Excel. The form buttons work in LibreOffice, too, where
    the toolbar is installed.
    """
    from workbench.buttons.excel.shapes import Button
    from workbench.buttons.excel.workbook import install_add_in_way, install_buttons
    from workbench.buttons.registry import CANCEL, actions, macro_of

    if add_in:
        return install_add_in_way(book, [action.name for action in actions()], out=out, python=python)
    buttons = [Button(action.title, action.macro) for action in actions()] + [Button("Cancel", macro_of(CANCEL))]
    return install_buttons(book, buttons, out=out, sheet=sheet, python=python)


def sheet_of_buttons(book: Path) -> str | None:
    """The sheet of an .xlsm that has our buttons."""
    from workbench.buttons.excel.workbook import sheet_with_buttons

    return sheet_with_buttons(book, _macros()) if book.suffix.lower() == ".xlsm" else None


def _macros() -> list[str]:
    from workbench.buttons.registry import CANCEL, actions, macro_of

    return [action.macro for action in actions()] + [macro_of(CANCEL)]


def uninstall_from_book(book: Path, *, out: Path | None = None) -> tuple[Path, bool]:
    """Take buttons, VBA and settings sheet out of a workbook; returns the .xlsx and whether any was there."""
    from workbench.buttons.excel.workbook import remove_main, uninstall_buttons

    target, found = uninstall_buttons(book, _macros(), out=out)
    return target, remove_main(book) or found


def _try_interpreter(python: Path) -> None:
    """Raise where `python` can't run the buttons in LibreOffice, saying why."""
    if python == Path(sys.executable):
        from workbench.buttons.libreoffice.bridge import load_uno

        load_uno()
        return
    if not os.access(python, os.X_OK):
        raise WorkbenchError("this is no program that can be run", where=python, remedy="give --python an interpreter")
    tried = subprocess.run([python, "-P", "-c", _PROBE], capture_output=True, text=True, timeout=60, check=False)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["it says nothing"])[-1]
        reason = said.rpartition("LibreOfficeError: ")[2].rpartition("ModuleNotFoundError: ")[2]
        raise WorkbenchError(
            f"this interpreter can't run the buttons ({reason})",
            where=python,
            remedy="install the workbench for it, or give --python another one",
        )
