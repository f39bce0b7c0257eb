"""The two sheets that the buttons add to a book when they have something to say or to ask.

`Workbench messages` lists errors and results, the newest on top. `Workbench settings` holds what an action
with dots behind its name asks for: the person fills in the cells and presses the button again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xlwings as xw

MESSAGES = "Workbench messages"
SETTINGS = "Workbench settings"
_HEADER = ("action", "setting", "value", "meaning")
_VALUE_WIDTH = 40
"""Characters: room for a path."""
_INPUT_COLOR, _ERROR_COLOR = (255, 242, 204), (248, 215, 218)


@dataclass(frozen=True)
class Setting:
    """A value that an action asks for; `default` is text as a person would type it."""

    name: str
    default: str
    meaning: str
    required: bool = False


def as_text(value: object) -> object:
    """Text as a cell takes it literally: a leading `=`, `+`, `-`, `@` or `'` is quoted, never a formula."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "'"):
        return "'" + value
    return value


def post(book: xw.Book, action: str, outcome: str, text: str, rows: Sequence[Sequence[object]] = ()) -> None:
    """Put a message on top of the messages sheet, with `rows` (a table) below it; an error shows the sheet."""
    sheet = _sheet(book, MESSAGES)
    lines = 1 + len(rows)
    sheet.range((1, 1), (lines, 1)).api  # noqa: B018  a protected or vanished sheet shows here, before any change
    if _has_content(sheet):
        sheet.range(f"1:{lines}").insert("down")
    stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    sheet["A1"].value = [as_text(stamp), action, outcome, as_text(text)]
    if rows:
        width = max(map(len, rows))
        table = [[as_text(value) for value in row] + [None] * (width - len(row)) for row in rows]
        sheet["D2"].value = table
    if outcome == "error":
        sheet["A1:D1"].color = _ERROR_COLOR
        sheet.activate()
    sheet["A:C"].autofit()


def settings_of(book: xw.Book, action: str, wanted: Sequence[Setting], *, offer: bool = True) -> dict[str, str]:
    """The values of an action's settings; with `offer`, those that the sheet lacks are written, with their defaults."""
    rows = _rows(book)
    missing = [setting for setting in wanted if (action, setting.name) not in rows]
    if missing and offer:
        _append(book, action, missing)
    found = {setting.name: rows.get((action, setting.name), setting.default) for setting in wanted}
    return {name: _typed(value) for name, value in found.items()}


def show_settings(book: xw.Book, action: str) -> None:
    """Bring the settings sheet to the front, with the cursor in the first empty value of the action."""
    sheet = _sheet(book, SETTINGS)
    sheet.activate()
    rows: Any = sheet.used_range.options(ndim=2).value
    for number, (owner, _, value, *_) in enumerate((list(row) + [None] * 3 for row in rows), 1):
        if owner == action and value is None:
            sheet.range((number, 3)).select()
            return


def _rows(book: xw.Book) -> Mapping[tuple[str, str], object]:
    if SETTINGS not in book.sheet_names:
        return {}
    table: Any = book.sheets[SETTINGS].used_range.options(ndim=2).value
    return {(str(row[0]), str(row[1])): row[2] if len(row) > 2 else None for row in table or () if row[0] and row[1]}


def _append(book: xw.Book, action: str, settings: Sequence[Setting]) -> None:
    sheet = _sheet(book, SETTINGS)
    if not _has_content(sheet):
        sheet["A1"].value = list(_HEADER)
        sheet["A1:D1"].font.bold = True
    first = int(sheet.used_range.last_cell.row) + 1
    table = [[action, setting.name, _entered(setting.default), as_text(setting.meaning)] for setting in settings]
    sheet.range((first, 1)).value = table
    sheet.range((first, 3), (first + len(settings) - 1, 3)).color = _INPUT_COLOR
    sheet["A:D"].autofit()
    sheet["C:C"].column_width = _VALUE_WIDTH


def _entered(default: str) -> object:
    """A default as the cell holds it when a person types it."""
    return float(default) if default.isdigit() else as_text(default) or None


def _typed(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _has_content(sheet: xw.Sheet) -> bool:
    return sheet["A1"].value is not None


def _sheet(book: xw.Book, name: str) -> xw.Sheet:
    if name in book.sheet_names:
        return book.sheets[name]
    before = book.sheets.active
    made = book.sheets.add(name, after=book.sheets[-1])
    before.activate()
    return made
