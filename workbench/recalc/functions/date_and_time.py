"""Excel's date and time functions."""

from __future__ import annotations

import datetime
import math

from workbench.recalc.coerce import number_of, parse_date_time
from workbench.recalc.functions._dates import (
    LAST_SERIAL,
    add_months,
    date_number,
    days_360,
    days_in_month,
    serial_of,
    weekday,
    year_fraction,
    ymd,
)
from workbench.recalc.registry import ANY, INTEGER, LOGICAL, NUMBER, TEXT, opt, scalar
from workbench.recalc.values import CellErrorValue, Failure, Scalar

_NUM = CellErrorValue.NUM
_VALUE = CellErrorValue.VALUE
_DAY = 86400


# --- dates


@scalar("DATE", INTEGER, INTEGER, INTEGER)
def date(year: float, month: float, day: float) -> Scalar:
    """A serial number; months and days may run over, years below 1900 count from 1900."""
    if year < 0 or year > 9999 or abs(month) > 120_000 or abs(day) > LAST_SERIAL * 2:
        return _NUM
    return float(serial_of(int(year) + (1900 if year < 1900 else 0), int(month), int(day)))


@scalar("YEAR", NUMBER)
def year(serial: float) -> float:
    """1900 to 9999."""
    return float(ymd(serial)[0])


@scalar("MONTH", NUMBER)
def month(serial: float) -> float:
    """1 to 12."""
    return float(ymd(serial)[1])


@scalar("DAY", NUMBER)
def day(serial: float) -> float:
    """1 to 31; 0 for serial number 0."""
    return float(ymd(serial)[2])


@scalar("DATEVALUE", ANY)
def datevalue(text: Scalar) -> Scalar:
    """The date that a text spells; numbers are #VALUE!."""
    serial = parse_date_time(text) if isinstance(text, str) else None
    return _VALUE if serial is None else float(math.floor(serial))


@scalar("TODAY", volatile=True)
def today() -> float:
    """The current date."""
    now = datetime.date.today()
    return float(serial_of(now.year, now.month, now.day))


@scalar("NOW", volatile=True)
def now() -> float:
    """The current date and time."""
    moment = datetime.datetime.now()
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return serial_of(moment.year, moment.month, moment.day) + seconds / _DAY


@scalar("EDATE", ANY, ANY)
def edate(start: Scalar, months: Scalar) -> float:
    """The same day some months away, or that month's last."""
    return float(add_months(date_number(start), int(date_number(months))))


@scalar("EOMONTH", ANY, ANY)
def eomonth(start: Scalar, months: Scalar) -> float:
    """The last day of the month some months away."""
    year, month, _ = ymd(date_number(start))
    month += int(date_number(months))
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if not 1900 <= year <= 9999:
        raise Failure(_NUM)
    return float(serial_of(year, month, days_in_month(year, month)))


# --- times


def _second(serial: float, half: float = 0.0) -> int:
    """The second of the day, cut, or with half a second added rounded."""
    if not 0 <= serial < LAST_SERIAL + 1:
        raise Failure(_NUM)
    return math.floor((serial - math.floor(serial)) * _DAY + half + 1e-6) % _DAY


@scalar("HOUR", NUMBER)
def hour(serial: float) -> float:
    """0 to 23."""
    return float(_second(serial) // 3600)


@scalar("MINUTE", NUMBER)
def minute(serial: float) -> float:
    """0 to 59."""
    return float(_second(serial) // 60 % 60)


@scalar("SECOND", NUMBER)
def second(serial: float) -> float:
    """0 to 59, rounded."""
    return float(_second(serial, 0.5) % 60)


@scalar("TIME", INTEGER, INTEGER, INTEGER)
def time(hours: float, minutes: float, seconds: float) -> Scalar:
    """A part of a day; whole days are dropped."""
    total = hours * 3600 + minutes * 60 + seconds
    if max(hours, minutes, seconds) > 32767 or total < 0:
        return _NUM
    return (total % _DAY) / _DAY


@scalar("TIMEVALUE", ANY)
def timevalue(text: Scalar) -> Scalar:
    """The part of a day that a text spells; numbers are #VALUE!."""
    serial = parse_date_time(text) if isinstance(text, str) else None
    return _VALUE if serial is None else serial - math.floor(serial)


# --- weeks

_FIRST_DAYS = {1: 0, 2: 1, 11: 1, 12: 2, 13: 3, 14: 4, 15: 5, 16: 6, 17: 0}
"""The first day of the week (0 Sunday) of the types that WEEKDAY and WEEKNUM share."""


def _valid(serial: float) -> float:
    ymd(serial)
    return math.floor(serial)


@scalar("WEEKDAY", NUMBER, opt(INTEGER, 1.0))
def weekday_(serial: float, kind: float) -> Scalar:
    """The day of the week, counted as `kind` says."""
    here = weekday(_valid(serial))
    if kind == 3:
        return float((here - 1) % 7)
    first = _FIRST_DAYS.get(int(kind))
    return _NUM if first is None else float((here - first) % 7 + 1)


@scalar("WEEKNUM", ANY, opt(ANY, 1.0))
def weeknum(date: Scalar, kind: Scalar) -> Scalar:
    """The week of the year that holds 1 January as the first; type 21 is ISO's."""
    serial, which = _valid(date_number(date)), int(date_number(kind))
    if which == 21:
        return isoweeknum(serial)
    first = _FIRST_DAYS.get(which)
    if first is None:
        return _NUM
    january = serial_of(ymd(serial)[0], 1, 1)
    return float((serial - january + (weekday(january) - first) % 7) // 7 + 1)


@scalar("ISOWEEKNUM", NUMBER)
def isoweeknum(serial: float) -> float:
    """The ISO 8601 week: Monday to Sunday, the first holds the year's first Thursday."""
    thursday = _valid(serial) - (weekday(serial) - 1) % 7 + 3
    january = serial_of(ymd(max(thursday, 0))[0], 1, 1)
    return float((thursday - january) // 7 + 1)


# --- differences


@scalar("DAYS", ANY, ANY)
def days(end: Scalar, start: Scalar) -> Scalar:
    """From one date to another."""
    serials = []
    for item in (end, start):
        number = number_of(item)
        if isinstance(number, CellErrorValue):
            return number
        serials.append(_valid(number))
    return float(serials[0] - serials[1])


@scalar("DAYS360", NUMBER, NUMBER, opt(LOGICAL, False))
def days360(start: float, end: float, european: bool) -> float:
    """In a year of twelve months of 30 days. A time within half a second of midnight is the next day's."""
    nearly = 0.5 / _DAY
    return float(days_360(start + nearly, end + nearly, european))


@scalar("YEARFRAC", ANY, ANY, opt(ANY, 0.0))
def yearfrac(start: Scalar, end: Scalar, basis: Scalar) -> Scalar:
    """Years between two dates by a day count convention, 0 to 4."""
    first, last, convention = date_number(start), date_number(end), int(date_number(basis))
    if not 0 <= convention <= 4:
        return _NUM
    return year_fraction(_valid(first), _valid(last), convention)


@scalar("DATEDIF", NUMBER, NUMBER, TEXT)
def datedif(start: float, end: float, unit: str) -> Scalar:
    """Whole years (Y), months (M), days (D), or days beyond months (MD), months (YM) and days (YD) beyond years."""
    first, last = _valid(start), _valid(end)
    if first > last:
        return _NUM
    (year1, month1, day1), (year2, month2, day2) = ymd(first), ymd(last)
    months = (year2 - year1) * 12 + month2 - month1 - (day2 < day1)
    match unit.upper():
        case "Y":
            return float(months // 12)
        case "M":
            return float(months)
        case "D":
            return float(last - first)
        case "YM":
            return float(months % 12)
        case "MD":
            if day2 >= day1:
                return float(day2 - day1)
            return float(last - serial_of(year2, month2 - 1, day1))
        case "YD":
            later = (month2, day2) >= (month1, day1)
            return float(serial_of(year1 if later else year1 + 1, month2, day2) - first)
    return _NUM
