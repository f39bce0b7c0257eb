"""Serial numbers of days, as Excel counts them: 1 is 1 January 1900, and 60 the 29 February 1900 that never was.

In the 1904 system 0 is 1 January 1904. Bodies work in the system of the workbook being evaluated, which
`date_system_1904` holds.
"""

from __future__ import annotations

import calendar
import datetime
import math

from workbench.recalc.coerce import date_system_1904, parse_number
from workbench.recalc.values import CellErrorValue, Failure, Scalar

LAST_SERIAL = 2958465
"""31 December 9999."""

_SHIFT_1904 = 1462


def ymd(serial: float) -> tuple[int, int, int]:
    """Year, month, day of a serial number; day 0 of January 1900 for 0; #NUM! outside the calendar."""
    day = math.floor(serial)
    if date_system_1904.get():
        day += _SHIFT_1904
    if not 0 <= day <= LAST_SERIAL:
        raise Failure(CellErrorValue.NUM)
    if day == 60:
        return 1900, 2, 29
    if day == 0:
        return 1900, 1, 0
    date = datetime.date.fromordinal(day + (693594 if day > 60 else 693595))
    return date.year, date.month, date.day


def calendar_day(serial: int, date1904: bool) -> tuple[int, int, int, int]:
    """Year, month, day and weekday (0 Sunday) of a serial number of the given system."""
    if date1904:
        serial += _SHIFT_1904
    week = (serial - 1) % 7
    if serial == 60:
        return 1900, 2, 29, week
    if serial == 0:
        return 1900, 1, 0, week
    date = datetime.date.fromordinal(serial + (693594 if serial > 60 else 693595))
    return date.year, date.month, date.day, week


def serial_of(year: int, month: int, day: int) -> int:
    """Serial number of a date whose month and day may run over, as DATE accepts them; #NUM! outside."""
    year += (month - 1) // 12
    month = (month - 1) % 12 + 1
    if not 1900 <= year <= 9999:
        if (year, month) != (1899, 12):
            raise Failure(CellErrorValue.NUM)
        first = -30
    elif (year, month) == (1900, 2):
        first = 32
    else:
        first = datetime.date(year, month, 1).toordinal() - 693594
        first -= first <= 60
    serial = first + day - 1
    if date_system_1904.get():
        serial -= _SHIFT_1904
    if not 0 <= serial <= LAST_SERIAL:
        raise Failure(CellErrorValue.NUM)
    return serial


def days_in_month(year: int, month: int) -> int:
    """With the 29 days of February 1900."""
    return 29 if (year, month) == (1900, 2) else calendar.monthrange(year, month)[1]


def is_leap(year: int) -> bool:
    """In the calendar (1900 was none)."""
    return calendar.isleap(year)


def add_months(serial: float, months: int) -> int:
    """The same day of the month, or the month's last."""
    year, month, day = ymd(serial)
    month += months
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if not 1900 <= year <= 9999:
        raise Failure(CellErrorValue.NUM)
    return serial_of(year, month, min(day, days_in_month(year, month)))


def weekday(serial: float) -> int:
    """0 for Sunday to 6 for Saturday, as Excel counts: serial 1 is a Sunday."""
    day = math.floor(serial) + (_SHIFT_1904 if date_system_1904.get() else 0)
    return (day - 1) % 7


def date_number(value: Scalar) -> float:
    """A date argument of the functions that came from the Analysis ToolPak: no booleans, no negatives."""
    if isinstance(value, CellErrorValue):
        raise Failure(value)
    if isinstance(value, bool):
        raise Failure(CellErrorValue.VALUE)
    if isinstance(value, str):
        parsed = parse_number(value)
        if parsed is None:
            raise Failure(CellErrorValue.VALUE)
        return parsed
    return 0.0 if value is None else float(value)


def days_360(start: float, end: float, european: bool = False) -> int:
    """Days between two dates in a year of twelve months of 30 days, as DAYS360 counts them."""
    year1, month1, day1 = ymd(start)
    year2, month2, day2 = ymd(end)
    if european:
        day1, day2 = min(day1, 30), min(day2, 30)
    else:
        if day1 == days_in_month(year1, month1):
            day1 = 30
        if day2 == 31 and day1 >= 30:
            day2 = 30
    return (year2 - year1) * 360 + (month2 - month1) * 30 + day2 - day1


def days_30us(start: float, end: float) -> int:
    """Days in the US (NASD) 30/360 convention of securities and YEARFRAC, where February's end counts as the 30th."""
    year1, month1, day1 = ymd(start)
    year2, month2, day2 = ymd(end)
    last1 = month1 == 2 and day1 == days_in_month(year1, 2)
    if last1 and month2 == 2 and day2 == days_in_month(year2, 2):
        day2 = 30
    if last1:
        day1 = 30
    if day2 == 31 and day1 >= 30:
        day2 = 30
    day1 = min(day1, 30)
    return (year2 - year1) * 360 + (month2 - month1) * 30 + day2 - day1


def year_fraction(start: float, end: float, basis: int) -> float:
    """YEARFRAC: 0 US 30/360, 1 actual/actual, 2 actual/360, 3 actual/365, 4 European 30/360."""
    start, end = math.floor(start), math.floor(end)
    if start > end:
        start, end = end, start
    if start == end:
        return 0.0
    if basis == 0:
        return days_30us(start, end) / 360
    if basis == 4:
        return days_360(start, end, european=True) / 360
    if basis == 2:
        return (end - start) / 360
    if basis == 3:
        return (end - start) / 365
    return (end - start) / average_year(start, end)


def average_year(start: float, end: float) -> float:
    """Days of a year in the actual/actual basis between two dates."""
    year1, month1, day1 = ymd(start)
    year2, month2, day2 = ymd(end)
    if year1 == year2:
        return 366.0 if is_leap(year1) else 365.0
    if year2 == year1 + 1 and (month1, day1) >= (month2, day2):
        leap = (is_leap(year1) and (month1, day1) <= (2, 29)) or (is_leap(year2) and (month2, day2) >= (2, 29))
        return 366.0 if leap else 365.0
    years = range(year1, year2 + 1)
    return sum(366 if is_leap(year) else 365 for year in years) / len(years)
