"""A visible LibreOffice on a virtual screen, clicked with a mouse."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from libreoffice import SOFFICE

pytestmark = [pytest.mark.libreoffice, pytest.mark.slow]

NEEDED = ("Xvfb", "xdotool")
PUSH_BUTTON = 44
"""`com.sun.star.accessibility.AccessibleRole`."""


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A virtual screen of 1500 x 900."""
    if SOFFICE is None or not all(map(shutil.which, NEEDED)):
        pytest.skip("needs LibreOffice, Xvfb and xdotool")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1500x900x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as told:
        display = f":{told.readline().strip()}"
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    yield display
    server.terminate()
    server.wait(10)


def find_named(context: Any, name: str, depth: int = 0) -> Any:
    """The accessible object of that name that shows on the screen."""
    if context is None or depth > 12:
        return None
    if context.getAccessibleName() == name and context.getAccessibleRole() == PUSH_BUTTON:
        return context
    for i in range(min(context.getAccessibleChildCount(), 200)):
        child = context.getAccessibleChild(i)
        found = find_named(child.getAccessibleContext(), name, depth + 1) if child is not None else None
        if found is not None:
            return found
    return None


def click(book: Any, title: str) -> None:
    """Move the mouse to a button of the window's toolbars, and press it."""
    window = book.api.CurrentController.Frame.ContainerWindow
    deadline = time.monotonic() + 20
    while (button := find_named(window.getAccessibleContext(), title)) is None:
        assert time.monotonic() < deadline, f"no button {title!r} shows"
        time.sleep(0.5)
    place, size = button.getLocationOnScreen(), button.getSize()
    assert size.Width > 10 and size.Height > 10
    x, y = place.X + size.Width // 2, place.Y + size.Height // 2
    subprocess.run(["xdotool", "mousemove", str(x), str(y), "sleep", "0.3", "click", "1"], check=True, timeout=10)


def photograph(name: str) -> None:
    """Keep a picture where $WORKBENCH_SCREENSHOTS says, for a person to look at."""
    folder = os.environ.get("WORKBENCH_SCREENSHOTS")
    if folder and shutil.which("import"):
        path = Path(folder) / f"{name}.png"
        subprocess.run(["import", "-window", "root", str(path)], check=True, timeout=20)


def wait_for(happened: Any, what: str, patience_s: float = 30) -> None:
    deadline = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_clicked_buttons_work(screen: str, own_copy: Path, tmp_path: Path) -> None:
    from workbench.buttons import libreoffice
    from workbench.buttons.install import install_toolbar

    install_toolbar(profile=tmp_path / "profile")
    with libreoffice.start(visible=True, profile=tmp_path / "profile") as app:
        book = app.books.open(own_copy)
        ratios = book.names["ratios_baseline"].refers_to_range
        speedup = book.names["estimated_speedup_baseline"].refers_to_range
        before = speedup.value
        book.sheets["baseline"].activate()
        app.calculation = "manual"
        ratios[1, 1].value = 40.0
        assert speedup.value == before, "calculation is manual, so nothing follows yet"
        click(book, "Recalculate")
        wait_for(lambda: speedup.value != before, "the click recalculated nothing")
        assert speedup.value > before
        wait_for(lambda: book.api.CurrentController.Frame.Controller is not None, "the window went away")
        time.sleep(1.5)
        photograph("recalculated")
        click(book, "Add profile…")
        wait_for(lambda: "Workbench messages" in book.sheet_names, "the click asked for nothing")
        wait_for(lambda: book.sheets.active.name == "Workbench settings", "the settings are not in front")
        time.sleep(1.5)
        photograph("asked")
        assert [row[1] for row in book.sheets["Workbench settings"]["A2:B6"].value] == [
            "name",
            "model",
            "batch",
            "cores",
            "seconds",
        ]
