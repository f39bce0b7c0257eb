"""Excel's implicit conversions between numbers, texts and booleans."""

from __future__ import annotations

import math
import re
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    NUMBER,
    TEXT,
    Bools,
    CellErrorValue,
    Floats,
    Objects,
    Scalar,
    Value,
    error_codes,
)

Codes = NDArray[Any] | None
"""Error codes, 0 where there is none; None where no element fails."""

_NUMBER = re.compile(
    r"(?P<sign>[-+]?)\s*(?P<money>[$€£]?)\s*(?P<sign2>[-+]?)(?P<body>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
    r"(?P<exponent>[eE][-+]?\d+)?\s*(?:(?P<percent>%)|€)?"
)
_FRACTION = re.compile(r"([-+]?)(\d+) (\d+)/(\d+)")
_TIME = re.compile(r"(\d{1,4})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d*)?))?\s*([aApP])?[mM]?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"([A-Za-z]{3,9})"
_ISO = re.compile(r"(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?")
_US = re.compile(r"(\d{1,2})[-/](\d{1,2})(?:[-/](\d{4}|\d{2}))?")
_DAY_MONTH = re.compile(rf"(\d{{1,2}})[- /]?{_MONTH}(?:[- /,]+(\d{{4}}|\d{{2}}))?")
_MONTH_DAY = re.compile(rf"{_MONTH}[- /](\d{{1,2}}),?\s+(\d{{4}})")
_MONTH_YEAR = re.compile(rf"{_MONTH}[- /](\d{{4}}|\d{{2}})")


date_system_1904: ContextVar[bool] = ContextVar("date_system_1904", default=False)
"""Whether the workbook being evaluated counts days from 1904."""


def parse_number(text: str) -> float | None:
    """The number that Excel reads in `text` (number, percent, money, fraction, date, time), else None.

    Dates are in the system of the workbook being evaluated.
    """
    return _parsed_number(text, date_system_1904.get())


@lru_cache(maxsize=65536)
def _parsed_number(text: str, date1904: bool) -> float | None:
    stripped = text.strip(" \xa0")
    if not stripped:
        return None
    try:
        if stripped[-1] in "0123456789." and stripped[0] in "0123456789.-+" and "_" not in stripped:
            value = float(stripped)
            return value if math.isfinite(value) else None
    except ValueError:
        pass
    negative = stripped.startswith("(") and stripped.endswith(")")
    match = _NUMBER.fullmatch(stripped[1:-1].strip() if negative else stripped)
    if match is not None and not (match["sign"] and match["sign2"]):
        value = float(match["body"].replace(",", "") + (match["exponent"] or ""))
        if match["percent"]:
            value /= 100
        if (match["sign"] or match["sign2"]) == "-":
            value = -value
        if not math.isfinite(value):
            return None
        return -value if negative else value
    fraction = _FRACTION.fullmatch(stripped)
    if fraction is not None and int(fraction[4]):
        value = int(fraction[2]) + int(fraction[3]) / int(fraction[4])
        return -value if fraction[1] == "-" else value
    return parse_date_time(text) if stripped == text else None


def parse_date_time(text: str) -> float | None:
    """The serial number (1900 system) of a date, a time or both, as written in US English or ISO."""
    time = parse_time(text)
    if time is not None:
        return time
    day = parse_date(text)
    if day is not None:
        return day
    head, _, tail = text.rpartition(" ")
    if tail.lower() in ("am", "pm"):
        head, _, clock = head.rpartition(" ")
        tail = f"{clock} {tail}"
    if "T" in text and not head:
        head, _, tail = text.partition("T")
    if not head:
        return None
    day, time = parse_date(head.strip()), parse_time(tail)
    return None if day is None or time is None else day + time


def parse_time(text: str) -> float | None:
    """The part of a day that `10:30`, `10:30:15.5` or `3 pm` names."""
    match = _TIME.fullmatch(text.strip())
    if match is None or (match[2] is None and match[4] is None) or (match[4] and text[-1:] not in "mM"):
        return None
    hours, minutes, seconds = int(match[1]), int(match[2] or 0), float(match[3] or 0)
    if minutes > 59 or seconds >= 60:
        return None
    if match[4]:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if match[4] in "pP" else 0)
    return (hours * 3600 + minutes * 60 + seconds) / 86400


def parse_date(text: str) -> float | None:
    """The serial number (1900 system) of a date as written in US English or ISO."""
    import datetime

    text = text.strip()
    this_year = datetime.date.today().year
    if match := _ISO.fullmatch(text):
        return _serial(int(match[1]), int(match[2]), int(match[3] or 1))
    if match := _US.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        if match[3] is None and first <= 12 and second > 31:
            return _serial(_century(second), first, 1)
        return _serial(_century(int(match[3])) if match[3] else this_year, first, second)
    if match := _DAY_MONTH.fullmatch(text):
        month = _month(match[2])
        return month and _serial(_century(int(match[3])) if match[3] else this_year, month, int(match[1]))
    if match := _MONTH_DAY.fullmatch(text):
        month = _month(match[1])
        return month and _serial(int(match[3]), month, int(match[2]))
    if match := _MONTH_YEAR.fullmatch(text):
        month = _month(match[1])
        number = int(match[2])
        if month and len(match[2]) == 2 and number <= 31:
            return _serial(this_year, month, number)
        return month and _serial(_century(number), month, 1)
    return None


def _century(year: int) -> int:
    return year if year > 99 else year + (2000 if year < 30 else 1900)


def _month(name: str) -> int | None:
    full = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
    name = name.lower()
    if name in _MONTHS:
        return _MONTHS.index(name) + 1
    return full.index(name) + 1 if name in full else None


def _serial(year: int, month: int, day: int) -> float | None:
    import datetime

    if (year, month, day) == (1900, 2, 29):
        return 60.0
    try:
        days = (datetime.date(year, month, day) - datetime.date(1899, 12, 30)).days
    except ValueError:
        return None
    if year < 1900:
        return None
    serial = days if days > 60 else days - 1
    if date_system_1904.get():
        serial -= 1462
        if serial < 0:
            return None
    return float(serial)


def format_number(value: float) -> str:
    """`value` as Excel's General format writes it into a text: 15 significant digits."""
    if value == int(value) if math.isfinite(value) else False:
        if abs(value) < 1e15:
            return str(int(value))
    elif not math.isfinite(value):
        return CellErrorValue.NUM.text
    digits = f"{value:.14e}"
    mantissa, _, exponent = digits.partition("e")
    sign = "-" if mantissa[0] == "-" else ""
    figures = mantissa.lstrip("-").replace(".", "").rstrip("0") or "0"
    power = int(exponent)
    if power >= 0:
        plain = figures.ljust(power + 1, "0")
        plain = plain[: power + 1] + ("." + plain[power + 1 :] if len(plain) > power + 1 else "")
    else:
        plain = "0." + "0" * (-power - 1) + figures
    if len(plain) <= 21:
        return sign + plain
    head = figures[0] + ("." + figures[1:] if len(figures) > 1 else "")
    return f"{sign}{head}E{'+' if power >= 0 else '-'}{abs(power):02d}"


def number_of(value: Scalar) -> float | CellErrorValue:
    """One Python value as a number, or the error that Excel gives."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, float | int):
        return float(value)
    if value is None:
        return 0.0
    if isinstance(value, CellErrorValue):
        return value
    parsed = parse_number(value)
    return CellErrorValue.VALUE if parsed is None else parsed


def text_of(value: Scalar) -> str | CellErrorValue:
    """One Python value as a text, or the error itself."""
    if isinstance(value, str | CellErrorValue):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return format_number(value)


def logical_of(value: Scalar) -> bool | CellErrorValue:
    """One Python value as a truth value, or the error that Excel gives."""
    if isinstance(value, bool):
        return value
    if value is None:
        return False
    if isinstance(value, float | int):
        return value != 0
    if isinstance(value, CellErrorValue):
        return value
    return {"TRUE": True, "FALSE": False}.get(value.strip().upper(), CellErrorValue.VALUE)


def to_numbers(value: Value) -> tuple[Floats, Codes]:
    """Every element as a number (blank 0, booleans 0/1, texts parsed); codes where one fails."""
    kind = value.kind
    if isinstance(kind, int):
        if kind in (NUMBER, BOOL, BLANK):
            return value.num, None
        if kind == ERROR:
            return value.num, value.num
    codes = error_codes(value)
    if not value.any(TEXT):
        return value.num, codes
    num = np.array(value.num, dtype=np.float64)
    failed = np.zeros(num.shape) if codes is None else np.array(codes)
    words = value.texts
    for index in zip(*np.nonzero(value.kinds == TEXT), strict=True):
        parsed = parse_number(words[index])
        if parsed is None:
            failed[index] = CellErrorValue.VALUE.code
        else:
            num[index] = parsed
    return num, failed if failed.any() else None


def to_texts(value: Value) -> tuple[Objects, Codes]:
    """Every element as a text."""
    if value.uniform == TEXT:
        return value.texts, None
    kinds = value.kinds
    out = np.empty(value.shape, dtype=object)
    if value.text is not None:
        np.copyto(out, value.texts)
    nums = value.num
    for index in zip(*np.nonzero(kinds != TEXT), strict=True):
        kind = kinds[index]
        if kind == NUMBER:
            out[index] = format_number(float(nums[index]))
        elif kind == BOOL:
            out[index] = "TRUE" if nums[index] else "FALSE"
        else:
            out[index] = ""
    return out, error_codes(value)


def to_logicals(value: Value) -> tuple[Bools, Codes]:
    """Every element as a truth value; texts other than TRUE and FALSE are #VALUE!."""
    codes = error_codes(value)
    out = value.num != 0
    if value.any(TEXT):
        out = np.array(out)
        failed = np.zeros(out.shape) if codes is None else np.array(codes)
        words = value.texts
        for index in zip(*np.nonzero(value.kinds == TEXT), strict=True):
            found = logical_of(words[index])
            if isinstance(found, bool):
                out[index] = found
            else:
                failed[index] = found.code
        codes = failed if failed.any() else None
    return out, codes
