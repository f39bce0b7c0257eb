"""Coupon dates of a security, and days between dates in the five day-count bases of Excel.

Basis 0 US (NASD) 30/360, 1 actual/actual, 2 actual/360, 3 actual/365, 4 European 30/360.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.recalc.functions._dates import days_30us, days_360, days_in_month, serial_of, ymd


def days_between(start: int, end: int, basis: int) -> int:
    """Days from one date to another as the basis counts them."""
    if basis == 0:
        return days_30us(start, end)
    if basis == 4:
        return days_360(start, end, european=True)
    return end - start


def shifted(date: int, months: int, month_end: bool) -> int:
    """A date some months on, on the same day or the month's last; always the last when `month_end`."""
    year, month, day = ymd(date)
    month += months
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    last = days_in_month(year, month)
    return serial_of(year, month, last if month_end else min(day, last))


def is_month_end(date: int) -> bool:
    """Whether the date is the last of its month."""
    year, month, day = ymd(date)
    return day == days_in_month(year, month)


@dataclass(frozen=True)
class Coupons:
    """Coupon dates that end at (or run through) `anchor`, so many a year."""

    anchor: int
    frequency: int
    basis: int

    @property
    def months(self) -> int:
        """Months between coupons."""
        return 12 // self.frequency

    def at(self, index: int) -> int:
        """The coupon date `index` periods after the anchor (before it when negative)."""
        return shifted(self.anchor, index * self.months, is_month_end(self.anchor))

    def index_before(self, date: int) -> int:
        """The index of the last coupon date on or before `date`."""
        year, month, _ = ymd(date)
        to_year, to_month, _ = ymd(self.anchor)
        index = ((year - to_year) * 12 + month - to_month) // self.months + 1
        while self.at(index) > date:
            index -= 1
        return index

    def before(self, date: int) -> int:
        """The last coupon date on or before `date`."""
        return self.at(self.index_before(date))

    def after(self, date: int) -> int:
        """The first coupon date after `date`."""
        return self.at(self.index_before(date) + 1)

    def count(self, date: int) -> int:
        """How many coupons are paid after `date`, up to the anchor."""
        return -self.index_before(date)

    def days(self, date: int) -> float:
        """Days of the coupon period that holds `date`."""
        if self.basis == 1:
            return float(self.after(date) - self.before(date))
        return self.normal_days

    @property
    def normal_days(self) -> float:
        """Days of a coupon period where the basis fixes them."""
        return (365 if self.basis == 3 else 360) / self.frequency

    def days_since(self, date: int) -> float:
        """Days from the last coupon to `date`."""
        return float(days_between(self.before(date), date, self.basis))

    def days_until(self, date: int) -> float:
        """Days from `date` to the next coupon."""
        if self.basis in (0, 4):
            return self.days(date) - self.days_since(date)
        return float(self.after(date) - date)

    def periods(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The coupon periods that overlap start to end."""
        index = self.index_before(start)
        while self.at(index) < end:
            yield self.at(index), self.at(index + 1)
            index += 1

    def share(self, start: int, end: int) -> float:
        """start to end in coupon periods: for each period the days in it over its length."""
        total = 0.0
        for low, high in self.periods(start, end):
            length = float(high - low) if self.basis == 1 else self.normal_days
            inside_low, inside_high = max(start, low), min(end, high)
            whole = (inside_low, inside_high) == (low, high)
            total += 1.0 if whole and self.basis != 3 else days_between(inside_low, inside_high, self.basis) / length
        return total
