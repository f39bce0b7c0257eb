"""Excel's depreciation of assets."""

from __future__ import annotations

import math

import numpy as np

from workbench.recalc.functions._dates import year_fraction
from workbench.recalc.functions._decimal import NEAREST, rounded
from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.registry import LOGICAL, NUMBER, opt, scalar, vector
from workbench.recalc.values import CellErrorValue, Failure, Floats, NotEvaluable, Scalar, codes_where

_NUM = CellErrorValue.NUM


def _demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    if not holds:
        raise Failure(which)


@vector("SLN", NUMBER, NUMBER, NUMBER)
def sln(cost: Floats, salvage: Floats, life: Floats) -> tuple[Floats, Floats]:
    """The same each period."""
    return (cost - salvage) / np.where(life == 0, 1.0, life), codes_where((life == 0, CellErrorValue.DIV0))


@scalar("SYD", NUMBER, NUMBER, NUMBER, NUMBER)
def syd(cost: float, salvage: float, life: float, period: float) -> Scalar:
    """By the sum of the years' digits."""
    _demand(life > 0 and 0 < period <= life)
    return (cost - salvage) * (life - period + 1) * 2 / (life * (life + 1))


@scalar("DB", NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, 12.0))
def db(cost: float, salvage: float, life: float, period: float, months: float) -> Scalar:
    """Fixed declining balance, the rate rounded to three places; `months` of the first year."""
    month, at = math.trunc(months), max(math.trunc(period), 1)
    _demand(cost >= 0 and salvage >= 0 and life > 0 and period > 0 and 1 <= month <= 12)
    _demand(at <= life + (month < 12))
    if cost == 0:
        return 0.0
    rate = rounded(1 - (salvage / cost) ** (1 / life), 3, NEAREST)
    first = cost * rate * month / 12
    if at == 1:
        return first
    whole = min(at, math.floor(life))
    if at > life:
        return (cost - first) * (1 - rate) ** (whole - 1) * rate * (12 - month) / 12
    return (cost - first) * (1 - rate) ** (at - 2) * rate


@scalar("DDB", NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, 2.0))
def ddb(cost: float, salvage: float, life: float, period: float, factor: float) -> Scalar:
    """Declining balance, at `factor` / life of what is left."""
    _demand(cost >= 0 and salvage >= 0 and life > 0 and factor > 0 and 0 < period <= life)
    return _declining(cost, salvage, life, period, factor)


def _declining(cost: float, salvage: float, life: float, period: float, factor: float) -> float:
    rate = factor / life
    period = max(period, 1.0)
    if rate >= 1:
        before = cost if period == 1 else 0.0
        after = 0.0
    else:
        before, after = cost * (1 - rate) ** (period - 1), cost * (1 - rate) ** period
    return max(before - max(after, salvage), 0.0)


@scalar("VDB", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, 2.0, empty=True), opt(LOGICAL, False))
def vdb(cost: float, salvage: float, life: float, start: float, end: float, factor: float, no_switch: bool) -> Scalar:
    """Declining balance over part of the life; straight-line from where that writes off more, unless `no_switch`."""
    _demand(cost >= 0 and salvage >= 0 and life > 0 and 0 <= start <= end <= life and factor > 0)
    first, last = math.floor(start), math.ceil(end)
    if last > 1_000_000:
        raise NotEvaluable("asks for the depreciation of too many periods")
    if no_switch:
        total = 0.0
        for period in range(first + 1, last + 1):
            share = min(end, period) - max(start, period - 1)
            total += share * _declining(cost, salvage, life, period, factor)
        return total

    def between(low: int, high: int) -> float:
        left = cost - _switching(cost, salvage, life, life, low, factor)
        return _switching(left, salvage, life, life - low, high - low, factor)

    outside = 0.0
    if start > first:
        outside += (start - first) * between(first, first + 1)
    if end < last:
        outside += (last - end) * between(last - 1, last)
    return between(first, last) - outside


def _switching(cost: float, salvage: float, life: float, left: float, periods: int, factor: float) -> float:
    """Written off in so many whole periods, with `left` of the life to go."""
    total, straight = 0.0, 0.0
    rest = cost - salvage
    switched = False
    for period in range(1, periods + 1):
        if not switched:
            declining = _declining(cost, salvage, life, period, factor)
            remaining = left - (period - 1)
            straight = rest / remaining if remaining else rest
            if straight > declining:
                switched = True
            else:
                rest -= declining
                total += declining
                continue
        total += straight
    return total


@toolpak("AMORLINC", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, 0.0))
def amorlinc(
    cost: float, bought: float, first: float, salvage: float, period: float, rate: float, basis: float
) -> Scalar:
    """French straight-line depreciation, the first period counted in days."""
    initial, at = _french(cost, bought, first, salvage, period, rate, basis), math.trunc(period)
    each = cost * rate
    opening = rate * initial * cost
    if at == 0:
        return min(opening, cost - salvage)
    full = math.floor((cost - salvage - opening) / each + 1e-12)
    if at <= full:
        return each
    return max(cost - salvage - each * full - opening, 0.0) if at == full + 1 else 0.0


@toolpak("AMORDEGRC", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, 0.0))
def amordegrc(
    cost: float, bought: float, first: float, salvage: float, period: float, rate: float, basis: float
) -> Scalar:
    """French declining depreciation, with a coefficient for the life of the asset; each amount is rounded."""
    initial, at = _french(cost, bought, first, salvage, period, rate, basis), math.trunc(period)
    life = 1 / rate
    if 3 <= life <= 4:
        coefficient = 1.5
    elif 5 <= life <= 6:
        coefficient = 2.0
    elif life > 6:
        coefficient = 2.5
    else:
        return _NUM
    rate *= coefficient
    now = rounded(initial * rate * cost, 0, NEAREST)
    cost -= now
    rest = cost - salvage
    for n in range(at):
        now = rounded(rate * cost, 0, NEAREST)
        if now == 0:
            return 0.0
        rest -= now
        if rest < 0:
            return rounded(cost * 0.5, 0, NEAREST) if at - n <= 1 else 0.0
        cost -= now
    return now


def _french(
    cost: float, bought: float, first: float, salvage: float, period: float, rate: float, basis: float
) -> float:
    """The share of a year in the first period, once the arguments make sense."""
    which = math.trunc(basis)
    _demand(cost > 0 and 0 <= salvage <= cost and period >= 0 and rate > 0 and which in (0, 1, 3, 4))
    _demand(math.floor(bought) <= math.floor(first))
    return year_fraction(bought, first, which)
