"""How cells look: colours, fonts, alignment, number formats, sizes, notes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xlwings import base_classes as base

from workbench.buttons.libreoffice.addresses import Area
from workbench.buttons.libreoffice.bridge import NotSupported, enum_value, guarded, struct
from workbench.buttons.libreoffice.values import DATE_OR_TIME

if TYPE_CHECKING:
    from workbench.buttons.libreoffice.ranges import Range
    from workbench.buttons.libreoffice.sheets import Sheet

VALUES, DATES, STRINGS, NOTES, FORMULAS = 1, 2, 4, 8, 16
"""`com.sun.star.sheet.CellFlags`."""

CONTENTS = VALUES | DATES | STRINGS | FORMULAS
FORMATS = 32 | 64 | 256
ALL = CONTENTS | NOTES | FORMATS

_MM100_PER_POINT = 2540 / 72
_MM100_PER_PIXEL = 2540 / 96
_AMBIGUOUS = "AMBIGUOUS_VALUE"


def points(mm100: float) -> float:
    """Hundredths of a millimetre as points, to a tenth: Calc rounds to twips."""
    return round(mm100 / _MM100_PER_POINT, 1)


def column_width_of(mm100: float) -> float:
    """Hundredths of a millimetre as Excel's column width: digits of the default font (7 px, 5 px margin)."""
    return max(0.0, round((mm100 / _MM100_PER_PIXEL - 5) / 7, 2))


def mm100_of_column_width(width: float) -> int:
    return round((width * 7 + 5) * _MM100_PER_PIXEL)


def mm100_of_points(height: float) -> int:
    return round(height * _MM100_PER_POINT)


def rgb_of(value: Any) -> int:
    """A colour as LibreOffice's 0xRRGGBB, from an (r, g, b), `#RRGGBB` or Excel's integer 0xBBGGRR."""
    if isinstance(value, str):
        return int(value.lstrip("#"), 16)
    if isinstance(value, int):
        red, green, blue = value & 255, value >> 8 & 255, value >> 16 & 255
    else:
        red, green, blue = (int(part) for part in value)
    return red << 16 | green << 8 | blue


def triple(value: int) -> tuple[int, int, int] | None:
    """0xRRGGBB as (r, g, b); None for automatic (-1)."""
    return None if value < 0 else (value >> 16 & 255, value >> 8 & 255, value & 255)


def uniform(rng: Any, name: str) -> Any:
    """The property `name` of all cells of a UNO range; None where the cells differ."""
    if rng.getPropertyState(name).value == _AMBIGUOUS:
        return None
    return rng.getPropertyValue(name)


_DATE_LETTERS = re.compile(r"""("[^"]*"|\[[^\]]*\]|\\.|AM/PM|A/P)|([YMDHS]+)""")


def _lower_dates(code: str) -> str:
    """LibreOffice prints `YYYY-MM-DD`, Excel writes `yyyy-mm-dd`."""
    return _DATE_LETTERS.sub(lambda found: found[1] or found[2].lower(), code)


_HORIZONTAL = {
    "general": "STANDARD",
    "left": "LEFT",
    "center": "CENTER",
    "right": "RIGHT",
    "fill": "REPEAT",
    "justify": "BLOCK",
}
_VERTICAL = {"top": 1, "center": 2, "bottom": 3, "justify": 4}


class Formatted(base.Range):
    """The part of a Range that deals with looks; `api` is the UNO range."""

    if TYPE_CHECKING:
        sheet: Sheet
        area: Area

        @property
        def api(self) -> Any: ...
        @property
        def shape(self) -> tuple[int, int]: ...

    @property
    def color(self) -> tuple[int, int, int] | None:
        value = uniform(self.api, "CellBackColor")
        return None if value is None else triple(value)

    @color.setter
    def color(self, color_or_rgb: Any) -> None:
        self.api.CellBackColor = -1 if color_or_rgb is None else rgb_of(color_or_rgb)

    @property
    def number_format(self) -> str | None:
        key = uniform(self.api, "NumberFormat")
        if key is None:
            return None
        code = self.sheet.book.doc.NumberFormats.getByKey(key)
        return _lower_dates(code.FormatString) if code.Type & DATE_OR_TIME else str(code.FormatString)

    @number_format.setter
    def number_format(self, value: str) -> None:
        self.api.NumberFormat = self.number_format_key(value)

    def number_format_key(self, code: str) -> int:
        """The key of Excel's format `code`, taken as Excel stores it: in English, whatever the document's language.

        `0.00` becomes a format of the document's language, so that a saved file holds it without a locale's tag.
        """
        formats = self.sheet.book.doc.NumberFormats
        english, default = (struct("com.sun.star.lang.Locale", *parts, "") for parts in (("en", "US"), ("", "")))
        key = formats.queryKey(code, english, False)
        if key == -1:
            key = formats.addNew(code, english)
        return int(formats.getFormatForLocale(key, default))

    @property
    def font(self) -> Font:
        return Font(self.api)

    @property
    def wrap_text(self) -> bool | None:
        value = uniform(self.api, "IsTextWrapped")
        return None if value is None else bool(value)

    @wrap_text.setter
    def wrap_text(self, value: bool) -> None:
        self.api.IsTextWrapped = bool(value)

    @property
    def horizontal_alignment(self) -> str | None:
        value = uniform(self.api, "HoriJustify")
        return None if value is None else {calc: name for name, calc in _HORIZONTAL.items()}.get(value.value)

    @horizontal_alignment.setter
    def horizontal_alignment(self, value: str) -> None:
        if value not in _HORIZONTAL:
            raise NotSupported(f"the alignment {value!r}")
        self.api.HoriJustify = enum_value("com.sun.star.table.CellHoriJustify", _HORIZONTAL[value])

    @property
    def vertical_alignment(self) -> str | None:
        value = uniform(self.api, "VertJustify")
        names = {calc: name for name, calc in _VERTICAL.items()} | {0: "bottom"}
        return None if value is None else names.get(int(value))

    @vertical_alignment.setter
    def vertical_alignment(self, value: str) -> None:
        if value not in _VERTICAL:
            raise NotSupported(f"the alignment {value!r}")
        self.api.VertJustify = _VERTICAL[value]

    def adjust_indent(self, amount: int) -> None:
        step = round(3 * 7 * _MM100_PER_PIXEL / 2)
        self.api.ParaIndent = max(0, self.api.ParaIndent + amount * step)

    # Sizes. The height of many rows at once is only known as a sum, so rows count as uniform when the
    # first, the last and the mean height agree.

    @property
    def column_width(self) -> float | None:
        columns = self.api.Columns
        widths = {int(columns.getByIndex(i).Width) for i in range(min(self.shape[1], 64))}
        if self.shape[1] > 64:
            widths.add(round(self.api.Size.Width / self.shape[1]))
        return column_width_of(widths.pop()) if len(widths) == 1 else None

    @column_width.setter
    def column_width(self, value: float) -> None:
        self.api.Columns.Width = mm100_of_column_width(value)

    @property
    def row_height(self) -> float | None:
        rows, count = self.api.Rows, self.shape[0]
        heights = {points(rows.getByIndex(0).Height), points(rows.getByIndex(count - 1).Height)}
        if count > 2:
            heights.add(points(self.api.Size.Height / count))
        return heights.pop() if len(heights) == 1 else None

    @row_height.setter
    def row_height(self, value: float) -> None:
        self.api.Rows.Height = mm100_of_points(value)

    @property
    def width(self) -> float:
        return points(self.api.Size.Width)

    @property
    def height(self) -> float:
        return points(self.api.Size.Height)

    @property
    def left(self) -> float:
        before = self.area.column - 1
        return points(self.sheet.range((1, 1, 1, before)).api.Size.Width) if before else 0.0

    @property
    def top(self) -> float:
        before = self.area.row - 1
        return points(self.sheet.range((1, 1, before, 1)).api.Size.Height) if before else 0.0

    @property
    def row_hidden(self) -> bool | None:
        rows = self.api.Rows
        seen = {not rows.getByIndex(i).IsVisible for i in range(min(self.shape[0], 256))}
        return seen.pop() if len(seen) == 1 else None

    @row_hidden.setter
    def row_hidden(self, value: bool) -> None:
        self.api.Rows.IsVisible = not value

    @property
    def column_hidden(self) -> bool | None:
        columns = self.api.Columns
        seen = {not columns.getByIndex(i).IsVisible for i in range(min(self.shape[1], 256))}
        return seen.pop() if len(seen) == 1 else None

    @column_hidden.setter
    def column_hidden(self, value: bool) -> None:
        self.api.Columns.IsVisible = not value

    def autofit(self, axis: str | None = None) -> None:
        """Fit columns (`c`), rows (`r`) or, by default, both."""
        kind = (axis or "")[:1]
        if kind in ("", "c"):
            self.api.Columns.OptimalWidth = True
        if kind in ("", "r"):
            self.api.Rows.OptimalHeight = True

    @property
    def borders(self) -> Any:
        raise NotSupported("Range.borders")

    @property
    def conditional_formats(self) -> Any:
        raise NotSupported("Range.conditional_formats")

    @property
    def data_validation(self) -> Any:
        raise NotSupported("Range.data_validation")


@guarded
class Font(base.Font):
    """The font of a range, or of anything with UNO's character properties."""

    def __init__(self, target: Any) -> None:
        self.api_target = target

    @property
    def api(self) -> Any:
        return self.api_target

    @property
    def bold(self) -> bool | None:
        value = uniform(self.api_target, "CharWeight")
        return None if value is None else value > 100

    @bold.setter
    def bold(self, value: bool) -> None:
        self.api_target.CharWeight = 150.0 if value else 100.0

    @property
    def italic(self) -> bool | None:
        value = uniform(self.api_target, "CharPosture")
        return None if value is None else value.value != "NONE"

    @italic.setter
    def italic(self, value: bool) -> None:
        self.api_target.CharPosture = enum_value("com.sun.star.awt.FontSlant", "ITALIC" if value else "NONE")

    @property
    def size(self) -> float | None:
        value = uniform(self.api_target, "CharHeight")
        return None if value is None else float(value)

    @size.setter
    def size(self, value: float) -> None:
        self.api_target.CharHeight = float(value)

    @property
    def color(self) -> tuple[int, int, int] | None:
        """(r, g, b); black where the colour is automatic, as Excel has it."""
        value = uniform(self.api_target, "CharColor")
        return None if value is None else triple(value) or (0, 0, 0)

    @color.setter
    def color(self, color_or_rgb: Any) -> None:
        self.api_target.CharColor = -1 if color_or_rgb is None else rgb_of(color_or_rgb)

    @property
    def name(self) -> str | None:
        value = uniform(self.api_target, "CharFontName")
        return None if value is None else str(value)

    @name.setter
    def name(self, value: str) -> None:
        self.api_target.CharFontName = value


@guarded
class Characters(base.Characters):
    """The characters of a cell, or some of them: `characters[0:3].font.bold = True`."""

    def __init__(self, cell: Any, first: int = 0, last: int | None = None) -> None:
        self.cell, self.first, self.last = cell, first, last

    @property
    def api(self) -> Any:
        """A UNO text cursor over the characters."""
        cursor = self.cell.getText().createTextCursor()
        cursor.gotoStart(False)
        cursor.goRight(self.first, False)
        length = len(self.cell.String)
        cursor.goRight((length if self.last is None else min(self.last, length)) - self.first, True)
        return cursor

    @property
    def text(self) -> str:
        return str(self.cell.String)[self.first : self.last]

    @property
    def font(self) -> Font:
        return Font(self.api)

    def __getitem__(self, item: int | slice) -> Characters:
        length = len(self.text)
        if isinstance(item, slice):
            first, last, step = item.indices(length)
            if step != 1:
                raise ValueError("step must be 1")
        else:
            first = item + length if item < 0 else item
            last = first + 1
        return Characters(self.cell, self.first + first, self.first + last)


@guarded
class Note(base.Note):
    """The note of a cell."""

    def __init__(self, rng: Range) -> None:
        self.rng = rng

    @property
    def api(self) -> Any:
        return self.rng.cell.Annotation

    @property
    def text(self) -> str:
        return str(self.api.String)

    @text.setter
    def text(self, value: str) -> None:
        self.api.String = value

    @property
    def author(self) -> str:
        return str(self.api.Author)

    @property
    def location(self) -> Range:
        return self.rng

    def delete(self) -> None:
        notes = self.rng.sheet.uno.Annotations
        for i in range(notes.Count):
            position = notes.getByIndex(i).Position
            if (position.Row + 1, position.Column + 1) == (self.rng.row, self.rng.column):
                notes.removeByIndex(i)
                return
