"""A workbook as pandas tables: operators, ratios, totals, the summary.

Objects are found by their defined names and tables, so sheets may be renamed, moved and added to. Values are
those the file holds; `workbench.recalc` brings them up to date.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeGuard

from workbench.book.text import unescaped
from workbench.errors import BookError
from workbench.profile import RatioRow, RatioTable

if TYPE_CHECKING:
    import pandas as pd
    from openpyxl.worksheet.worksheet import Worksheet

Value = str | float | int | bool | None

TOTALS = (
    "total_latency",
    "total_aim_to_sparse_latency",
    "sparse_support_latency",
    "aim_to_sparse_support_latency",
    "sparse_support_latency_ratio",
    "aim_to_sparse_support_latency_ratio",
    "sparse_improve",
)
"""Part 3, by the defined names' first part."""

ESTIMATES = (
    "end_to_end",
    "items_per_second",
    "estimated_ms",
    "estimated_items_per_second",
    "estimated_speedup",
    "ceiling",
    "op_sum",
    "unattributed",
    "profiled",
    "profiling_overhead",
)
FACTS = ("model", "model_hash", "batch", "cores", "threads", "instances", "instruction_sets", "runtime", "provenance")
LOSS_FIGURES = ("average", "recovery", "reduction", "parameters", "zeros", "zero_share")
_OPS = "ops_"
_LOSS = "loss_recovery_"
_AREA = re.compile(r"\$?([A-Z]{1,3})\$?(\d+)(?::\$?([A-Z]{1,3})\$?(\d+))?")


def open_book(path: str | Path) -> Book:
    """The workbook at `path`. Raises `BookError` where it is none, or was not written by the workbench."""
    book = Book(Path(path))
    if not book.profile_names and not book.loss_profile_names:
        raise BookError(
            "the workbook holds no profile of the workbench", where=path, remedy="make one with `workbench profile`"
        )
    return book


class Book:
    """A workbook's tables, read from the file as it stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _loaded(path)

    @cached_property
    def objects(self) -> Mapping[str, str]:
        """Profile name → its part of defined names and of the table's name."""
        found: dict[str, str] = {}
        for sheet in self._file.worksheets:
            for table in sheet.tables.values():
                part = table.name.removeprefix(_OPS)
                if table.name.startswith(_OPS) and f"total_latency_{part}".casefold() in self._names:
                    found[self._home(part).title] = part
        return found

    @property
    def profile_names(self) -> tuple[str, ...]:
        """The performance profiles, in the order of their sheets; a profile is named like its dashboard."""
        return tuple(self.objects)

    @property
    def loss_profile_names(self) -> tuple[str, ...]:
        """The loss profiles, in the order of their sheets."""
        titles = {self._named(name)[0].title for name in self._names if name.startswith(_LOSS)}
        return tuple(sheet.title for sheet in self._file.worksheets if sheet.title in titles)

    def loss_figures(self, loss_profile: str) -> dict[str, Value]:
        """A loss profile's figures, keys as in `LOSS_FIGURES`. Raises `BookError` where there is none of that name."""
        for name in self._names:
            if name.startswith(_LOSS) and self._named(name)[0].title.casefold() == loss_profile.casefold():
                part = name.removeprefix(_LOSS)
                return {key: self.value(f"loss_{key}_{part}") for key in LOSS_FIGURES}
        raise self._no_loss_profile(loss_profile)

    def _no_loss_profile(self, name: str) -> BookError:
        known = ", ".join(self.loss_profile_names) or "none"
        return BookError(f"no loss profile {name!r}", where=self.path, remedy=f"there are: {known}")

    def layers(self, loss_profile: str) -> pd.DataFrame:
        """A loss profile's layers: the sheet's columns; those of levels are headed by numbers (0.9)."""
        import pandas as pd

        for name in self._names:
            if name.startswith(_LOSS) and self._named(name)[0].title.casefold() == loss_profile.casefold():
                sheet, area = self._named(f"layers_{name.removeprefix(_LOSS)}")
                rows = _rows(sheet, area)
                return pd.DataFrame(rows[1:], columns=pd.Index(rows[0], dtype=object))
        raise self._no_loss_profile(loss_profile)

    def operators(self, profile: str | None = None) -> pd.DataFrame:
        """Part 2: a row an operator, the sheet's columns. `profile` may be left out where there is one."""
        part = self._part(profile)
        sheet, area = self._table(f"{_OPS}{part}")
        return _frame(sheet, area, self.path)

    def ratios(self, profile: str | None = None) -> pd.DataFrame:
        """Part 1: a row a weight shape; free rows and columns are left out."""
        import pandas as pd

        rows = self._ratio_rows(profile)
        header = [_level_header(h) for h in rows[0]]
        keep = [n for n, h in enumerate(header) if h]
        body = [[row[n] for n in keep] for row in rows[1:] if row[0] not in (None, "")]
        return pd.DataFrame(body, columns=pd.Index([header[n] for n in keep], dtype=object))

    def ratio_table(self, profile: str | None = None) -> RatioTable:
        """Part 1 as a typed table."""
        rows = self._ratio_rows(profile)
        header = rows[0]
        levels = {n: float(h) for n, h in enumerate(header) if _is_number(h)}
        others = next((n for n, h in enumerate(header) if h == "others"), None)
        source = next((n for n, h in enumerate(header) if h == "source"), None)
        table: list[RatioRow] = []
        for row in rows[1:]:
            shape = re.fullmatch(r"(\d+)x(\d+)", str(row[0] or "").strip())
            if not shape:
                continue
            ratios = {level: value for n, level in levels.items() if _is_number(value := row[n])}
            other = row[others] if others is not None else None
            table.append(
                RatioRow(
                    (int(shape[1]), int(shape[2])),
                    ratios,
                    others=other if _is_number(other) else 1.0,
                    source=str(row[source] or "user") if source is not None else "user",
                )
            )
        return RatioTable(tuple(levels.values()), tuple(table))

    def totals(self, profile: str | None = None) -> dict[str, float]:
        """Part 3, keys as in `TOTALS`."""
        return {key: self._number(key, profile) for key in TOTALS}

    def estimates(self, profile: str | None = None) -> dict[str, float]:
        """Measured and estimated speed, keys as in `ESTIMATES`; ms, items per second, ratios. NaN where unknown.

        The ceiling is infinite where all operators are supported.
        """
        found = {key: self._number(key, profile) for key in ESTIMATES}
        if self.value(f"ceiling_{self._part(profile)}") == "no limit":
            found["ceiling"] = float("inf")
        return found

    def facts(self, profile: str | None = None) -> dict[str, Value]:
        """What was profiled and where, keys as in `FACTS`."""
        part = self._part(profile)
        return {key: self.value(f"{key}_{part}") for key in FACTS}

    def summary(self) -> pd.DataFrame:
        """A row a performance profile: its facts, totals and estimates."""
        import pandas as pd

        rows: list[dict[str, Value]] = [
            {"profile": name} | self.facts(name) | {**self.totals(name), **self.estimates(name)}
            for name in self.profile_names
        ]
        return pd.DataFrame(rows)

    def table(self, name: str) -> pd.DataFrame:
        """An Excel table of any sheet, by its name."""
        sheet, area = self._table(name)
        return _frame(sheet, area, self.path)

    def value(self, name: str) -> Value:
        """The value of a defined name's first cell; None where it is empty. Raises `BookError` if unknown."""
        sheet, (row, at, _, _) = self._named(name)
        return sheet.cell(row, at).value  # type: ignore[no-any-return]

    # Places

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name.casefold(): defined.attr_text for name, defined in self._file.defined_names.items()}

    def _named(self, name: str) -> tuple[Worksheet, tuple[int, int, int, int]]:
        text = self._names.get(name.casefold())
        if text is None:
            raise BookError(f"the workbook has no name {name!r}", where=self.path, remedy="was it deleted?")
        title, _, area = text.rpartition("!")
        title = title[1:-1].replace("''", "'") if title.startswith("'") else title
        if title not in self._file.sheetnames or not _AREA.fullmatch(area):
            raise BookError(
                f"the name {name!r} refers to {text!r}, which is no cell", where=self.path, remedy="mend the name"
            )
        return self._file[title], _bounds(area)

    def _table(self, name: str) -> tuple[Worksheet, tuple[int, int, int, int]]:
        for sheet in self._file.worksheets:
            for table in sheet.tables.values():
                if table.name.casefold() == name.casefold():
                    return sheet, _bounds(table.ref)
        raise BookError(f"the workbook has no table {name!r}", where=self.path, remedy="was it deleted?")

    def _home(self, part: str) -> Worksheet:
        return self._named(f"total_latency_{part}")[0]

    def _part(self, profile: str | None) -> str:
        names = self.profile_names
        if profile is None:
            if len(names) != 1:
                raise BookError(
                    f"the workbook has {len(names)} profiles: {', '.join(names)}",
                    where=self.path,
                    remedy="say which one",
                )
            return self.objects[names[0]]
        found = next((n for n in names if n.casefold() == profile.casefold()), None)
        if found is None:
            raise BookError(
                f"the workbook has no profile {profile!r}", where=self.path, remedy=f"it has {', '.join(names)}"
            )
        return self.objects[found]

    def _ratio_rows(self, profile: str | None) -> list[list[Value]]:
        sheet, area = self._named(f"ratios_{self._part(profile)}")
        return _rows(sheet, area)

    def _number(self, key: str, profile: str | None) -> float:
        value = self.value(f"{key}_{self._part(profile)}")
        return float(value) if _is_number(value) else float("nan")


def _loaded(path: Path) -> Any:
    import warnings

    from openpyxl.reader.excel import ExcelReader
    from openpyxl.utils.exceptions import InvalidFileException
    from openpyxl.xml.constants import SHARED_STRINGS

    class Reader(ExcelReader):  # type: ignore[misc]
        """openpyxl's, with exact texts: its own drops `x005F_` and leaves other escapes as they are."""

        def read_strings(self) -> None:
            part = self.package.find(SHARED_STRINGS)
            if part is not None:
                with self.archive.open(part.PartName[1:]) as file:
                    self.shared_strings = _shared_strings(file)

    if not path.exists():
        raise BookError("there is no such file", where=path, remedy="check the path")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl names each extension it doesn't read
            reader = Reader(path, data_only=True)
            reader.read()
            return reader.wb
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as error:
        raise BookError(
            "this is not an XLSX workbook", where=path, remedy="give one that the workbench or Excel saved as .xlsx"
        ) from error


def _shared_strings(file: IO[bytes]) -> list[str]:
    """The texts of a shared-strings part, phonetic hints left out."""
    from openpyxl.xml.constants import SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    found: list[str] = []
    for _, item in iterparse(file):
        if item.tag == f"{{{SHEET_MAIN_NS}}}si":
            texts = [
                *item.findall(f"{{{SHEET_MAIN_NS}}}t"),
                *item.findall(f"{{{SHEET_MAIN_NS}}}r/{{{SHEET_MAIN_NS}}}t"),
            ]
            found.append(unescaped("".join(text.text or "" for text in texts)))
            item.clear()
    return found


def _bounds(area: str) -> tuple[int, int, int, int]:
    """1-based (first row, first column, last row, last column) of `$B$2:$D$9`."""
    from openpyxl.utils import column_index_from_string as index

    match = _AREA.fullmatch(area)
    assert match is not None
    left, top = index(match[1]), int(match[2])
    return top, left, int(match[4] or top), index(match[3]) if match[3] else left


def _rows(sheet: Worksheet, area: tuple[int, int, int, int]) -> list[list[Value]]:
    top, left, bottom, right = area
    cells = sheet.iter_rows(min_row=top, max_row=bottom, min_col=left, max_col=right, values_only=True)
    return [list(row) for row in cells]


def _frame(sheet: Worksheet, area: tuple[int, int, int, int], path: Path) -> pd.DataFrame:
    import pandas as pd

    rows = _rows(sheet, area)
    header = [str(h or "") for h in rows[0]]
    return pd.DataFrame(rows[1:], columns=pd.Index(header, dtype=object))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _level_header(header: Value) -> str:
    """`90% 4x1 perf ratio` for the number 0.9, as the sheet shows it."""
    if _is_number(header):
        percent = f"{100 * float(header):.6f}".rstrip("0").rstrip(".")
        return f"{percent}% 4x1 perf ratio"
    return str(header or "")
