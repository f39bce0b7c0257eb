"""WORKDAY, NETWORKDAYS and their .INTL forms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.recalc.functions._dates import LAST_SERIAL, date_number, weekday, ymd
from workbench.recalc.registry import ANY, ARRAY, lane, opt
from workbench.recalc.values import CellErrorValue, Failure, Objects, Scalar

_WEEKENDS = {1: (6, 0), 2: (0, 1), 3: (1, 2), 4: (2, 3), 5: (3, 4), 6: (4, 5), 7: (5, 6)} | {
    11 + day: (day,) for day in range(7)
}
"""Days off (0 Sunday) by Excel's numbers."""


@dataclass(frozen=True)
class Calendar:
    """Which days of the week are off, and which other days."""

    off: frozenset[int]
    holidays: tuple[int, ...]

    def count(self, first: int, last: int) -> int:
        """Working days from `first` to `last`, both included; 0 when `last` is before `first`."""
        if last < first:
            return 0
        weeks, rest = divmod(last - first + 1, 7)
        start = weekday(first)
        working = weeks * (7 - len(self.off)) + sum((start + i) % 7 not in self.off for i in range(rest))
        return working - sum(first <= day <= last for day in self.holidays)


def _calendar(weekend: Scalar, holidays: Objects | None) -> Calendar:
    off = _days_off(weekend)
    listed: set[int] = set()
    for item in [] if holidays is None else holidays.reshape(-1).tolist():
        if item is not None:
            serial = math.floor(date_number(item))
            ymd(serial)
            listed.add(serial)
    return Calendar(off, tuple(sorted(day for day in listed if weekday(day) not in off)))


def _days_off(weekend: Scalar) -> frozenset[int]:
    if isinstance(weekend, str):
        if len(weekend) != 7 or set(weekend) - {"0", "1"}:
            raise Failure(CellErrorValue.VALUE)
        return frozenset((at + 1) % 7 for at, char in enumerate(weekend) if char == "1")
    number = 1 if weekend is None else int(date_number(weekend))
    if number not in _WEEKENDS:
        raise Failure(CellErrorValue.NUM)
    return frozenset(_WEEKENDS[number])


def _day(item: Scalar) -> int:
    serial = math.floor(date_number(item))
    ymd(serial)
    return serial


def _network(start: Scalar, end: Scalar, weekend: Scalar, holidays: Objects | None) -> float:
    first, last = _day(start), _day(end)
    calendar = _calendar(weekend, holidays)
    if first > last:
        return -float(calendar.count(last, first))
    return float(calendar.count(first, last))


def _workday(start: Scalar, count: Scalar, weekend: Scalar, holidays: Objects | None) -> Scalar:
    first, wanted = _day(start), int(date_number(count))
    calendar = _calendar(weekend, holidays)
    if len(calendar.off) == 7:
        return CellErrorValue.VALUE
    if wanted == 0:
        return float(first)
    sign = 1 if wanted > 0 else -1

    def reached(distance: int) -> bool:
        if sign > 0:
            return calendar.count(first + 1, first + distance) >= wanted
        return calendar.count(first - distance, first - 1) >= -wanted

    low, high = 0, LAST_SERIAL - first if sign > 0 else first
    if not reached(high):
        return CellErrorValue.NUM
    while high - low > 1:
        middle = (low + high) // 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return float(first + sign * high)


@lane("NETWORKDAYS", ANY, ANY, opt(ARRAY, empty=True))
def networkdays(start: Scalar, end: Scalar, holidays: Objects | None) -> float:
    """Working days from one date to another, both included; negative backwards."""
    return _network(start, end, 1.0, holidays)


@lane("NETWORKDAYS.INTL", ANY, ANY, opt(ANY, 1.0, empty=True), opt(ARRAY, empty=True))
def networkdays_intl(start: Scalar, end: Scalar, weekend: Scalar, holidays: Objects | None) -> float:
    """As NETWORKDAYS, with other weekends: a number, or a text such as `0000011` from Monday on."""
    return _network(start, end, weekend, holidays)


@lane("WORKDAY", ANY, ANY, opt(ARRAY, empty=True))
def workday(start: Scalar, count: Scalar, holidays: Objects | None) -> Scalar:
    """The date so many working days after (or before) another."""
    return _workday(start, count, 1.0, holidays)


@lane("WORKDAY.INTL", ANY, ANY, opt(ANY, 1.0, empty=True), opt(ARRAY, empty=True))
def workday_intl(start: Scalar, count: Scalar, weekend: Scalar, holidays: Objects | None) -> Scalar:
    """As WORKDAY, with other weekends: a number, or a text such as `0000011` from Monday on."""
    return _workday(start, count, weekend, holidays)
