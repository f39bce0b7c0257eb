"""Excel's functions between numbers and texts: TEXT, VALUE, FIXED, DOLLAR and their kin."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from workbench.recalc.coerce import date_system_1904, parse_number, text_of
from workbench.recalc.functions._number_format import WIDE, rendered, rendered_text
from workbench.recalc.registry import ANY, ARRAY, INTEGER, LOGICAL, NUMBER, RAW, TEXT, lane, opt, scalar
from workbench.recalc.values import CellErrorValue, Objects, Scalar

_VALUE = CellErrorValue.VALUE


@scalar("VALUE", ANY)
def value(item: Scalar) -> Scalar:
    """The number, date or time that a text spells."""
    if isinstance(item, bool):
        return _VALUE
    if isinstance(item, str):
        number = parse_number(item)
        return _VALUE if number is None else number
    return 0.0 if item is None else item


@scalar("TEXT", ANY, ANY)
def text(item: Scalar, form: Scalar) -> Scalar:
    """A value in a number format; #VALUE! when the format can't show it."""
    pattern = text_of(form)
    assert isinstance(pattern, str)
    if isinstance(item, bool):
        item = "TRUE" if item else "FALSE"
    elif isinstance(item, str):
        number = parse_number(item)
        item = item if number is None else number
    try:
        if isinstance(item, str):
            return rendered_text(item, pattern)
        return rendered(0.0 if item is None else float(item), pattern, date_system_1904.get())  # type: ignore[arg-type]
    except ValueError:
        return _VALUE


def _rounded(number: float, decimals: int) -> Decimal:
    exact = Decimal(repr(float(f"{number:.15g}")))
    return (
        exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP, context=WIDE)
        if exact.is_finite()
        else exact
    )


def _fixed(number: float, decimals: float, commas: bool) -> str:
    places = int(decimals)
    rounded = abs(_rounded(number, places))
    shown = max(places, 0)
    return f"{rounded:,.{shown}f}" if commas else f"{rounded:.{shown}f}"


@scalar("FIXED", NUMBER, opt(INTEGER, 2.0), opt(LOGICAL, False))
def fixed(number: float, decimals: float, no_commas: bool) -> Scalar:
    """Rounded, as a text with thousands separators."""
    if abs(decimals) > 127:
        return _VALUE
    return ("-" if _rounded(number, int(decimals)) < 0 else "") + _fixed(number, decimals, not no_commas)


@scalar("DOLLAR USDOLLAR", NUMBER, opt(INTEGER, 2.0))
def dollar(number: float, decimals: float) -> Scalar:
    """Rounded, as an amount of dollars; negative ones in parentheses."""
    if abs(decimals) > 127:
        return _VALUE
    amount = "$" + _fixed(number, decimals, commas=True)
    return f"({amount})" if _rounded(number, int(decimals)) < 0 else amount


_SPACE = re.compile(r"\s+")
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@scalar("NUMBERVALUE", TEXT, opt(TEXT, ".", empty=True), opt(TEXT, ",", empty=True))
def numbervalue(spelled: str, point: str, group: str) -> Scalar:
    """The number that a text spells with given decimal and group separators."""
    if not point or not group or (point := point[0]) == (group := group[0]):
        return _VALUE
    compact = _SPACE.sub("", spelled)
    if not compact:
        return 0.0
    head, dot, tail = compact.partition(point)
    if group in tail:
        return _VALUE
    number = head.replace(group, "") + ("." if dot else "") + tail
    percents = len(number) - len(number.rstrip("%"))
    plain = number.rstrip("%")
    if _PLAIN.fullmatch(plain):
        return float(plain) / 100.0**percents
    parsed = parse_number(plain) if point == "." and "," not in plain else None
    return _VALUE if parsed is None else parsed / 100.0**percents


def _shown(item: Scalar, strict: bool) -> str:
    if isinstance(item, CellErrorValue):
        return item.text
    if isinstance(item, str):
        return '"' + item.replace('"', '""') + '"' if strict else item
    shown = text_of(item)
    assert isinstance(shown, str)
    return shown


@scalar("VALUETOTEXT", RAW, opt(INTEGER, 0.0, empty=True))
def valuetotext(item: Scalar, form: float) -> Scalar:
    """A value as a text; with 1 as it would be typed, texts in quotation marks."""
    return _shown(item, form == 1) if form in (0, 1) else _VALUE


@lane("ARRAYTOTEXT", ARRAY, opt(INTEGER, 0.0, empty=True))
def arraytotext(array: Objects, form: float) -> Scalar:
    """All elements as a text: separated by commas, or with 1 as an array constant."""
    if form not in (0, 1):
        return _VALUE
    rows = [[_shown(item, form == 1) for item in row] for row in array.tolist()]
    if form == 0:
        return ", ".join(item for row in rows for item in row)
    return "{" + ";".join(",".join(row) for row in rows) + "}"


_THAI_DIGITS = ("ศูนย์", "หนึ่ง", "สอง", "สาม", "สี่", "ห้า", "หก", "เจ็ด", "แปด", "เก้า")
_THAI_PLACES = ("", "สิบ", "ร้อย", "พัน", "หมื่น", "แสน")


def _thai(number: int) -> str:
    if number >= 1_000_000:
        rest = number % 1_000_000
        return _thai(number // 1_000_000) + "ล้าน" + (_thai(rest) if rest else "")
    digits = str(number)
    out = ""
    for at, char in enumerate(digits):
        place, digit = len(digits) - 1 - at, int(char)
        if not digit:
            continue
        if place == 1 and digit <= 2:
            out += ("" if digit == 1 else "ยี่") + _THAI_PLACES[1]
        elif place == 0 and digit == 1 and len(digits) > 1 and int(digits[-2]):
            out += "เอ็ด"
        else:
            out += _THAI_DIGITS[digit] + _THAI_PLACES[place]
    return out


@scalar("BAHTTEXT", NUMBER)
def bahttext(number: float) -> str:
    """An amount of baht and satang in Thai words."""
    satang_in_all = int(abs(_rounded(number, 2)) * 100)
    baht, satang = divmod(satang_in_all, 100)
    words = _thai(baht) + "บาท" if baht else "" if satang else "ศูนย์บาท"
    words += _thai(satang) + "สตางค์" if satang else "ถ้วน"
    return ("ลบ" if number < 0 and satang_in_all else "") + words
