"""Dates and times as number formats show them, in US English."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from workbench.recalc.functions._dates import LAST_SERIAL, calendar_day
from workbench.recalc.functions._format_tokens import Token

DATE_LETTERS = ("y", "m", "d", "h", "s", "e", "b", "g", "AM/PM", "elapsed", ".0")

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def rendered_date(value: float, parts: Sequence[Token], date1904: bool) -> str:
    """A serial number ≥ 0 in a date or time format; ValueError beyond the calendar or for digits in it."""
    decimals = max((len(token.text) - 1 for token in parts if token.kind == ".0"), default=0)
    shows_seconds = any(token.kind == "s" or (token.kind == "elapsed" and "s" in token.text) for token in parts)
    serial, seconds = _split(value, decimals if shows_seconds else None)
    if serial > LAST_SERIAL:
        raise ValueError("beyond the last day")
    whole = int(seconds)
    hours, minutes, second = whole // 3600, whole // 60 % 60, whole % 60
    year, month, day, week = calendar_day(serial, date1904)
    noon = next((token.text for token in parts if token.kind == "AM/PM"), None)
    out = ""
    for at, token in enumerate(parts):
        run = len(token.text)
        match token.kind:
            case "y":
                out += f"{year % 100:02d}" if run <= 2 else f"{year:04d}"
            case "e":
                out += f"{year:04d}"
            case "b":
                out += f"{(year + 543) % 100:02d}" if run <= 2 else f"{year + 543:04d}"
            case "g":
                pass
            case "m" if _is_minute(parts, at):
                out += _padded(minutes, run)
            case "m":
                out += _named(MONTHS, month - 1, run) if run > 2 else _padded(month, run)
            case "d":
                out += (WEEKDAYS[week][:3] if run == 3 else WEEKDAYS[week]) if run > 2 else _padded(day, run)
            case "h":
                out += _padded(hours if noon is None else (hours % 12 or 12), run)
            case "s":
                out += _padded(second, run)
            case ".0":
                fraction = f"{seconds - whole:.{run - 1}f}".partition(".")[2]
                out += "." + fraction
            case "AM/PM":
                out += _half(token.text, hours >= 12)
            case "elapsed":
                out += _elapsed(token.text, serial, whole)
            case "0" | "#" | "?" | "E" | "General":
                raise ValueError("digits in a date format")
            case _:
                out += token.text
    return out


def _split(value: float, decimals: int | None) -> tuple[int, Decimal]:
    """Day and second of the day, rounded to what is shown; without seconds shown they are cut, not rounded."""
    exact = Decimal(repr(value))
    day = math.floor(exact)
    seconds = (exact - day) * 86400
    places = Decimal(1).scaleb(-(decimals if decimals is not None else 3))
    seconds = seconds.quantize(places, rounding=ROUND_HALF_UP)
    if seconds >= 86400:
        day, seconds = day + 1, seconds - 86400
    return day, seconds


def _padded(number: int, run: int) -> str:
    return f"{number:02d}" if run >= 2 else str(number)


def _named(names: Sequence[str], at: int, run: int) -> str:
    return names[at][:3] if run == 3 else names[at][:1] if run == 5 else names[at]


def _half(text: str, afternoon: bool) -> str:
    halves = text.split("/")
    return halves[1] if afternoon else halves[0]


def _elapsed(text: str, serial: int, seconds: int) -> str:
    total = serial * 86400 + seconds
    number = {"h": total // 3600, "m": total // 60, "s": total}[text[0]]
    return str(number).rjust(len(text), "0")


def _is_minute(parts: Sequence[Token], at: int) -> bool:
    """`m` after hours or before seconds means minutes."""
    if len(parts[at].text) > 2:
        return False
    letters = [i for i, token in enumerate(parts) if token.kind in DATE_LETTERS and token.kind not in ("AM/PM", ".0")]
    here = letters.index(at)
    if here and _stands_for(parts[letters[here - 1]], "h"):
        return True
    return here + 1 < len(letters) and _stands_for(parts[letters[here + 1]], "s")


def _stands_for(token: Token, letter: str) -> bool:
    return token.kind == letter or (token.kind == "elapsed" and token.text[0] == letter)
