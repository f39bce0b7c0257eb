"""A real LibreOffice as an oracle: recalculates a workbook, always, in a profile of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import openpyxl
import pytest

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")

needs_libreoffice = pytest.mark.skipif(SOFFICE is None, reason="LibreOffice is not installed")

_ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="ODFRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


def convert(source: Path, folder: Path, target: str = "xlsx", *, recalculate: bool = True) -> Path:
    """`source` as LibreOffice saves it in `target` format (xlsx, pdf, csv, …), in `folder`."""
    assert SOFFICE is not None
    folder.mkdir(parents=True, exist_ok=True)
    user = folder / "lo-profile"
    if recalculate:
        (user / "user").mkdir(parents=True, exist_ok=True)
        (user / "user" / "registrymodifications.xcu").write_text(_ALWAYS_RECALCULATE)
    command = [
        SOFFICE,
        f"-env:UserInstallation={user.resolve().as_uri()}",
        "--headless",
        "--norestore",
        "--convert-to",
        target,
        "--outdir",
        str(folder),
        str(source),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True
    )
    try:
        output, _ = process.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    result = folder / f"{source.stem}.{target.split(':')[0]}"
    assert result.exists(), output
    return result


def recalculated_values(source: Path, folder: Path) -> dict[tuple[str, str], object]:
    """(sheet, cell) → the value LibreOffice computes for each formula cell of `source`."""
    saved = convert(source, folder)
    formulas = openpyxl.load_workbook(source)
    values = openpyxl.load_workbook(saved, data_only=True)
    found: dict[tuple[str, str], object] = {}
    for sheet in formulas.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    found[sheet.title, cell.coordinate] = values[sheet.title][cell.coordinate].value
    return found
