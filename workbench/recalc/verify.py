"""A second opinion: LibreOffice recalculates a copy of the workbook, and cells that differ are listed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.recalc.formula_text import written_formula
from workbench.recalc.graph import Graph
from workbench.recalc.values import CellErrorValue, Scalar
from workbench.recalc.workbook import Workbook, open_workbook

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Numbers closer than either count as the same."""

_PLACES = (
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
    r"C:\Program Files\LibreOffice\program\soffice.exe",
    "/usr/lib/libreoffice/program/soffice",
    "/opt/libreoffice/program/soffice",
)

ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""

_LACKING = re.compile(
    r"\b(?:XLOOKUP|XMATCH|FILTER|UNIQUE|SORT|SORTBY|SEQUENCE|LET|LAMBDA|RANDARRAY|TEXTSPLIT|TEXTBEFORE|TEXTAFTER|VSTACK"
    r"|HSTACK|TOCOL|TOROW|WRAPROWS|WRAPCOLS|TAKE|DROP|CHOOSECOLS|CHOOSEROWS|EXPAND|MAP|REDUCE|SCAN|BYROW|BYCOL"
    r"|MAKEARRAY|ANCHORARRAY|SINGLE|VALUETOTEXT|ARRAYTOTEXT|REGEXTEST|REGEXEXTRACT|REGEXREPLACE|TRIMRANGE)\s*\(",
    re.IGNORECASE,
)
"""Functions that LibreOffice 7.4 doesn't have."""


@dataclass(frozen=True)
class Difference:
    """A formula cell where the file's value isn't the other engine's."""

    cell: str
    formula: str
    value: Scalar
    other: Scalar


@dataclass(frozen=True)
class Verification:
    """The outcome of a second recalculation."""

    engine: str
    compared: int
    differences: tuple[Difference, ...]
    skipped: tuple[str, ...]
    """Cells not compared: volatile ones, and those with functions that the other engine lacks."""

    @property
    def agrees(self) -> bool:
        """Whether no cell differs."""
        return not self.differences


def verify(book: str | Path, *, timeout_s: float = 600.0) -> Verification:
    """Compare the cached values of every formula cell of `book` with those that LibreOffice computes.

    Volatile cells, functions that LibreOffice lacks, and what depends on either are skipped and listed.
    Raises `WorkbenchError` where LibreOffice is missing or fails.
    """
    soffice = find_soffice()
    if soffice is None:
        raise WorkbenchError("LibreOffice is not installed", remedy="install it, or put soffice on the PATH")
    path = Path(book)
    with open_workbook(path) as ours, tempfile.TemporaryDirectory() as folder:
        converted = recalculated_copy(soffice, path, Path(folder), timeout_s)
        with open_workbook(converted) as theirs:
            return compared(ours, theirs, _version(soffice))


def find_soffice() -> str | None:
    """LibreOffice's executable."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    return found or next((place for place in _PLACES if Path(place).exists()), None)


def recalculated_copy(soffice: str, path: Path, folder: Path, timeout_s: float) -> Path:
    """A copy of the workbook in `folder` that LibreOffice recalculated and saved, in a profile of its own."""
    user = folder / "profile" / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(ALWAYS_RECALCULATE)
    source = folder / f"book{path.suffix.lower() if path.suffix.lower() in ('.xlsx', '.xlsm') else '.xlsx'}"
    shutil.copyfile(path, source)
    command = [
        soffice,
        f"-env:UserInstallation={(folder / 'profile').resolve().as_uri()}",
        "--headless",
        "--norestore",
        "--convert-to",
        "xlsx",
        "--outdir",
        str(folder / "out"),
        str(source),
    ]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True
    )
    try:
        output, _ = child.communicate(timeout=timeout_s)
    except BaseException as problem:
        _end(child)
        if isinstance(problem, subprocess.TimeoutExpired):
            raise WorkbenchError(f"LibreOffice was not done after {timeout_s:.0f} s", where=path) from None
        raise
    result = folder / "out" / "book.xlsx"
    if not result.exists():
        said = " ".join(output.split())[-200:]
        raise WorkbenchError(f"LibreOffice could not convert the workbook ({said})", where=path)
    return result


def _end(child: subprocess.Popen[str]) -> None:
    """End a process and, where the system has process groups, all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()
    child.wait()


def _version(soffice: str) -> str:
    try:
        done = subprocess.run([soffice, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "LibreOffice"
    return " ".join(done.stdout.split()[:2]) or "LibreOffice"


def compared(ours: Workbook, theirs: Workbook, engine: str) -> Verification:
    """The formula cells of `ours` beside the same cells of `theirs`, which `engine` calculated."""
    left_out = _incomparable(ours, ours.graph)
    differences: list[Difference] = []
    skipped: list[str] = []
    count = 0
    for family in ours.families:
        sheet = family.place.sheet
        other_sheet = theirs.model.sheet_index(ours.sheet_names[sheet])
        for row, column in family.cells():
            if family.index in left_out or other_sheet is None:
                skipped.append(ours.label(sheet, row, column))
                continue
            count += 1
            mine = ours.model.store.cell(sheet, row, column)
            other = theirs.model.store.cell(other_sheet, row, column)
            if not same(mine, other):
                text = written_formula(ours, sheet, row, column) or ""
                differences.append(Difference(ours.label(sheet, row, column), "=" + text, mine, other))
    return Verification(engine, count, tuple(differences), tuple(skipped))


def _incomparable(book: Workbook, graph: Graph) -> set[int]:
    start = {i for i, found in enumerate(graph.precedents) if found.volatile and not found.unknown}
    for family in book.families:
        place = family.place
        text = written_formula(book, place.sheet, place.row, place.column) or ""
        if family.node is None or _LACKING.search(text):
            start.add(family.index)
    return graph.dependents(start)


def same(mine: Scalar, other: Scalar) -> bool:
    """Whether two engines' values count as the same; LibreOffice has fewer kinds of errors, so any two are."""
    if isinstance(mine, CellErrorValue) and isinstance(other, CellErrorValue):
        return True
    if isinstance(mine, bool) or isinstance(other, bool):
        return mine == other
    if isinstance(mine, float) and isinstance(other, float):
        return abs(mine - other) <= max(ABSOLUTE, RELATIVE * abs(mine))
    return mine == other or {mine, other} <= {None, ""}
