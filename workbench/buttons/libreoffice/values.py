"""Cell values: between Python's and xlwings' types and the floats and strings that UNO carries.

Calc holds dates and booleans as numbers that a number format shows as such, and hands errors over as
nothing at all; reading therefore takes the formats into account, in one call per distinct format.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Callable, Sequence
from typing import Any

EPOCH = dt.datetime(1899, 12, 30)
"""Day 0 of the workbooks' 1900 date system as LibreOffice counts it."""

DATE_OR_TIME, LOGICAL = 2 | 4, 1024
"""`com.sun.star.util.NumberFormat` flags."""

_ERRORS = {
    502: "#VALUE!",
    503: "#NUM!",
    504: "#REF!",
    519: "#VALUE!",
    521: "#NULL!",
    523: "#NUM!",
    524: "#REF!",
    525: "#NAME?",
    532: "#DIV/0!",
    32767: "#N/A",
}


class CellErrorText(str):
    """An error as a cell shows it (`#DIV/0!`, or LibreOffice's `Err:522` where Excel has no name)."""

    __slots__ = ()


def error_text(code: int) -> CellErrorText:
    """The text of Calc's error number `code`."""
    return CellErrorText(_ERRORS.get(code, f"Err:{code}"))


def from_serial(days: float) -> dt.datetime:
    """A serial day as a datetime, rounded to the millisecond that a double still resolves."""
    milliseconds = round(days * 86_400_000)
    return EPOCH + dt.timedelta(milliseconds=milliseconds)


def to_serial(value: dt.date | dt.datetime) -> float:
    """Days since `EPOCH`; a time zone is dropped, as Excel has none."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    return (value.replace(tzinfo=None) - EPOCH) / dt.timedelta(days=1)


def prepared(value: Any, options: object) -> Any:
    """xlwings' hook before writing: `value` as None, str, bool, float, date or datetime."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return None if value != value else float(value)
    if isinstance(value, dt.datetime | dt.date):
        return None if value != value else value
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1)
    if isinstance(value, dt.time):
        return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / 86400
    if hasattr(value, "item") and getattr(value, "dtype", None) is not None:
        if getattr(value.dtype, "kind", "") == "M":
            return value.astype("datetime64[us]").item()
        return prepared(value.item(), options)
    if isinstance(value, numbers.Number):
        return float(value)  # type: ignore[arg-type]
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return str(value)


def cleaned(
    data: Sequence[Sequence[Any]],
    datetime_builder: Callable[..., Any],
    empty_as: Any,
    number_builder: Callable[[float], Any] | None,
    err_to_str: bool,
) -> list[list[Any]]:
    """xlwings' hook after reading: what `options(dates=…, empty=…, numbers=…, err_to_str=…)` ask for."""

    def clean(value: Any) -> Any:
        if value is None or (isinstance(value, str) and not value):
            return empty_as
        if isinstance(value, dt.datetime):
            return datetime_builder(
                month=value.month,
                day=value.day,
                year=value.year,
                hour=value.hour,
                minute=value.minute,
                second=value.second,
                microsecond=value.microsecond,
                tzinfo=None,
            )
        if isinstance(value, CellErrorText):
            return str(value) if err_to_str else empty_as
        if number_builder is not None and type(value) is float:
            return number_builder(value)
        return value

    return [[clean(value) for value in row] for row in data]
