"""Excel's functions of loans and cash flows: present and future values, payments, rates of return.

Depreciation is in `depreciation.py`, securities are in `securities.py`. Money paid out is negative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.recalc.coerce import to_numbers
from workbench.recalc.functions import _samples
from workbench.recalc.functions._toolpak import strict_number, toolpak
from workbench.recalc.registry import AREAS, ARRAY, NUMBER, RANGE, Call, lane, lazy, opt, scalar, vector
from workbench.recalc.values import (
    CellErrorValue,
    Failure,
    Floats,
    NotEvaluable,
    Objects,
    Scalar,
    Value,
    codes_where,
    with_errors,
)
from workbench.recalc.values import numbers as number_value

_NUM = CellErrorValue.NUM
_DIV0 = CellErrorValue.DIV0
_ZERO = np.zeros((1, 1, 1, 1))


def _demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    if not holds:
        raise Failure(which)


# --- annuities


def _growth(rate: Any, periods: Any) -> tuple[Any, Any]:
    """((1 + rate)^periods, the sum of the powers below it: ((1 + rate)^periods − 1) / rate)."""
    compound = np.power(1 + rate, periods)
    gain = np.where(rate > -1, np.expm1(periods * np.log1p(np.maximum(rate, -1 + 1e-300))), compound - 1)
    return compound, np.where(rate == 0, periods, gain / np.where(rate == 0, 1.0, rate))


def _due(rate: Any, when: Any) -> Any:
    """What payments at the start of a period are worth at its end."""
    return np.where(when != 0, 1 + rate, 1.0)


def future_value(rate: Any, periods: Any, payment: Any, present: Any, when: Any) -> Any:
    """FV for arrays and numbers."""
    compound, annuity = _growth(rate, periods)
    return -(present * compound + payment * _due(rate, when) * annuity)


def payment_of(rate: Any, periods: Any, present: Any, future: Any, when: Any) -> Any:
    """PMT for arrays and numbers."""
    compound, annuity = _growth(rate, periods)
    return -(present * compound + future) / (_due(rate, when) * annuity)


@vector("FV", NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def fv(rate: Floats, periods: Floats, payment: Floats, present: Floats, when: Floats) -> Floats:
    """Future value."""
    return np.asarray(future_value(rate, periods, payment, present, when))


@vector("PV", NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def pv(rate: Floats, periods: Floats, payment: Floats, future: Floats, when: Floats) -> tuple[Floats, Any]:
    """Present value."""
    compound, annuity = _growth(rate, periods)
    return -(future + payment * _due(rate, when) * annuity) / compound, codes_where((rate == -1, _DIV0))


@vector("PMT", NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def pmt(rate: Floats, periods: Floats, present: Floats, future: Floats, when: Floats) -> tuple[Floats, Any]:
    """Payment of each period."""
    codes = codes_where(((periods == 0) | (rate <= -1), _NUM))
    return np.asarray(payment_of(rate, periods, present, future, when)), codes


@vector("NPER", NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def nper(rate: Floats, payment: Floats, present: Floats, future: Floats, when: Floats) -> tuple[Floats, Any]:
    """How many periods."""
    each = payment * _due(rate, when)
    plain = -(present + future) / np.where(payment == 0, 1.0, payment)
    logs = np.log((each - future * rate) / (each + present * rate)) / np.log1p(rate)
    nothing = present + future == 0
    codes = codes_where((((rate == 0) & (payment == 0) & ~nothing) | (rate <= -1), _NUM))
    return np.where(nothing & (payment == 0), 0.0, np.where(rate == 0, plain, logs)), codes


@vector("IPMT", NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def ipmt(
    rate: Floats, period: Floats, periods: Floats, present: Floats, future: Floats, when: Floats
) -> tuple[Floats, Any]:
    """The interest in the payment of a period."""
    return _interest(rate, period, periods, present, future, when), _no_period(period, periods)


@vector("PPMT", NUMBER, NUMBER, NUMBER, NUMBER, opt(NUMBER, _ZERO), opt(NUMBER, _ZERO))
def ppmt(
    rate: Floats, period: Floats, periods: Floats, present: Floats, future: Floats, when: Floats
) -> tuple[Floats, Any]:
    """What the payment of a period pays back."""
    whole = payment_of(rate, periods, present, future, when)
    return whole - _interest(rate, period, periods, present, future, when), _no_period(period, periods)


def _no_period(period: Floats, periods: Floats) -> Any:
    return codes_where(((period < 1) | (period >= periods + 1) | (periods <= 0), _NUM))


def _interest(rate: Any, period: Any, periods: Any, present: Any, future: Any, when: Any) -> Any:
    payment = payment_of(rate, periods, present, future, when)
    found = future_value(rate, period - 1, payment, present, when) * rate / _due(rate, when)
    return np.where((when != 0) & (period == 1), 0.0, found)


@vector("ISPMT", NUMBER, NUMBER, NUMBER, NUMBER)
def ispmt(rate: Floats, period: Floats, periods: Floats, present: Floats) -> tuple[Floats, Any]:
    """Interest of a period when equal parts are paid back."""
    return present * rate * (period / periods - 1), codes_where((periods == 0, _DIV0))


@toolpak("CUMIPMT", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def cumipmt(rate: float, periods: float, present: float, start: float, end: float, when: float) -> Scalar:
    """Interest paid from one period to another."""
    span = _span(rate, periods, present, start, end, when)
    return float(np.sum(_interest(rate, span, periods, present, 0.0, when)))


@toolpak("CUMPRINC", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def cumprinc(rate: float, periods: float, present: float, start: float, end: float, when: float) -> Scalar:
    """What is paid back from one period to another."""
    span = _span(rate, periods, present, start, end, when)
    each = float(payment_of(rate, periods, present, 0.0, when))
    return float(np.sum(each - _interest(rate, span, periods, present, 0.0, when)))


def _span(rate: float, periods: float, present: float, start: float, end: float, when: float) -> Floats:
    """The numbers of the periods asked for."""
    _demand(0 < rate <= 1e100 and 0 < periods <= 1e9 and present > 0 and when in (0, 1))
    _demand(1 <= start <= end <= periods)
    if end - start > 10_000_000:
        raise NotEvaluable("asks for the interest of too many periods")
    return np.arange(math.ceil(start), math.floor(end) + 1, dtype=np.float64)


@scalar("RATE", NUMBER, NUMBER, NUMBER, opt(NUMBER, 0.0), opt(NUMBER, 0.0), opt(NUMBER, 0.1, empty=True))
def rate_(periods: float, payment: float, present: float, future: float, when: float, guess: float) -> Scalar:
    """The rate at which all is even; #NUM! when none is found."""
    _demand(periods > 0 and guess > -1)
    if present == 0 and future == 0 and payment == 0:
        return _NUM

    def worth(rate: float) -> float:
        compound, annuity = _growth(rate, periods)
        return float(present + (payment * _due(rate, when) * annuity + future) / compound)

    return root_near(worth, guess)


def root_near(curve: Callable[[float], float], guess: float, low: float = -1.0) -> float:
    """A rate above `low` where `curve` is 0: Newton's method from the guess, else between signs around it."""
    with np.errstate(all="ignore"):
        found = _newton(curve, guess, low)
        return _bracketed(curve, guess, low) if found is None else found


def _newton(curve: Callable[[float], float], rate: float, low: float) -> float | None:
    for _ in range(60):
        value = _safe(curve, rate)
        if value is None:
            return None
        if value == 0:
            return rate
        step = 1e-6 * max(abs(rate), 1e-3)
        above, below = _safe(curve, rate + step), _safe(curve, rate - step)
        if above is None or below is None or above == below:
            return None
        new = rate - value * 2 * step / (above - below)
        if new <= low:
            return None
        if abs(new - rate) <= 1e-14 * max(abs(new), 1e-3):
            return new
        rate = new
    return None


def _safe(curve: Callable[[float], float], rate: float) -> float | None:
    try:
        value = curve(rate)
    except (OverflowError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None


def _bracketed(curve: Callable[[float], float], guess: float, low: float) -> float:
    grid = [low + 10.0 ** (k / 8) for k in range(-32, 49)]
    points = [(rate, value) for rate in grid if (value := _safe(curve, rate)) is not None]
    changes = [(a, b) for (a, x), (b, y) in itertools.pairwise(points) if (x < 0) != (y < 0)]
    _demand(bool(changes))
    a, b = min(changes, key=lambda pair: abs(math.log((pair[0] - low) / max(guess - low, 1e-9))))
    rising = (_safe(curve, a) or 0.0) < 0
    for _ in range(200):
        middle = (a + b) / 2
        if middle in (a, b):
            break
        if (curve(middle) < 0) == rising:
            a = middle
        else:
            b = middle
    return float((a + b) / 2)


@scalar("RRI", NUMBER, NUMBER, NUMBER)
def rri(periods: float, present: float, future: float) -> Scalar:
    """The rate that grows one value into another."""
    _demand(periods > 0 and present != 0 and future / present >= 0)
    return math.pow(future / present, 1 / periods) - 1


@scalar("PDURATION", NUMBER, NUMBER, NUMBER)
def pduration(rate: float, present: float, future: float) -> Scalar:
    """How many periods grow one value into another."""
    _demand(rate > 0 and present > 0 and future > 0)
    return (math.log(future) - math.log(present)) / math.log1p(rate)


@toolpak("EFFECT", NUMBER, NUMBER)
def effect(nominal: float, times: float) -> Scalar:
    """Yearly rate with compound interest."""
    n = math.trunc(times)
    _demand(nominal > 0 and n >= 1)
    return math.expm1(n * math.log1p(nominal / n))


@toolpak("NOMINAL", NUMBER, NUMBER)
def nominal_(effective: float, times: float) -> Scalar:
    """The inverse of EFFECT."""
    n = math.trunc(times)
    _demand(effective > 0 and n >= 1)
    return n * math.expm1(math.log1p(effective) / n)


@lane("FVSCHEDULE", NUMBER, RANGE)
def fvschedule(principal: float, schedule: Objects) -> Scalar:
    """Grown by one rate after another; blanks are 0."""
    worth = principal
    for item in schedule.reshape(-1):
        number = strict_number(item)
        if isinstance(number, CellErrorValue):
            return number
        worth *= 1 + number
    return worth


@toolpak("DOLLARDE", NUMBER, NUMBER)
def dollarde(amount: float, fraction: float) -> Scalar:
    """A price in fractions (1.02 is 1 and 2 sixteenths) as a decimal number."""
    parts = _fraction(fraction)
    whole = math.trunc(amount)
    return whole + (amount - whole) * 10.0 ** math.ceil(math.log10(parts)) / parts


@toolpak("DOLLARFR", NUMBER, NUMBER)
def dollarfr(amount: float, fraction: float) -> Scalar:
    """The inverse of DOLLARDE."""
    parts = _fraction(fraction)
    whole = math.trunc(amount)
    return whole + (amount - whole) * parts / 10.0 ** math.ceil(math.log10(parts))


def _fraction(fraction: float) -> int:
    _demand(fraction >= 0)
    _demand(fraction >= 1, _DIV0)
    return math.trunc(fraction)


# --- cash flows


@lazy("NPV", minimum=2)
def npv(call: Call) -> Value:
    """Value now of amounts at the end of each period; texts, booleans and blanks in references are skipped."""
    rate, unreadable = to_numbers(call.value(0))
    parts: list[tuple[Floats, Any]] = []
    codes = unreadable
    for index in range(1, len(call)):
        for value in call.parts(index):
            if not value.referenced and value.shape[2:] == (1, 1):
                x, failed = to_numbers(value)
                x, where = x[..., 0], None
            else:
                x, where, failed = _samples.counted(value)
            if failed is not None:
                codes = failed if codes is None else np.where(codes != 0, codes, failed)
            parts.append((x, np.ones(x.shape, dtype=bool) if where is None else where))
    shape = np.broadcast_shapes(*(x.shape[:2] for x, _ in parts))
    x = np.concatenate([np.broadcast_to(x, (*shape, x.shape[2])) for x, _ in parts], axis=2)
    where = np.concatenate([np.broadcast_to(w, (*shape, w.shape[2])) for _, w in parts], axis=2)
    period = np.cumsum(where, axis=2)
    with np.errstate(all="ignore"):
        growth = 1 + rate[..., None]
        terms = np.where(
            where[:, :, None, None, :], x[:, :, None, None, :] / growth ** period[:, :, None, None, :], 0.0
        )
        found = terms.sum(axis=-1)
    failing = np.where(rate == -1, float(_DIV0.code), np.where(np.isfinite(found), 0.0, float(_NUM.code)))
    codes = failing if codes is None else np.where(codes != 0, codes, failing)
    return with_errors(number_value(found), codes)


def _flows(array: Objects) -> list[float]:
    """The numbers of an array; its first error."""
    found: list[float] = []
    for item in array.reshape(-1):
        if isinstance(item, CellErrorValue):
            raise Failure(item)
        if isinstance(item, float):
            found.append(item)
    return found


@lane("IRR", AREAS, opt(NUMBER, 0.1, empty=True))
def irr(values: Objects, guess: float) -> Scalar:
    """The rate at which the value now is 0; needs both signs."""
    flows = _flows(values)
    _demand(any(f > 0 for f in flows) and any(f < 0 for f in flows) and guess > -1)
    amounts = np.array(flows)
    period = np.arange(amounts.size)
    return root_near(lambda rate: float((amounts * (1 + rate) ** -period.astype(float)).sum()), guess)


@lane("MIRR", AREAS, NUMBER, NUMBER)
def mirr(values: Objects, finance: float, reinvest: float) -> Scalar:
    """Rate of return with separate rates for money borrowed and money earned."""
    flows = _flows(values)
    n = len(flows)
    _demand(finance != -1 and reinvest != -1, _DIV0)
    earned = sum(f / (1 + reinvest) ** i for i, f in enumerate(flows) if f > 0)
    spent = sum(f / (1 + finance) ** i for i, f in enumerate(flows) if f < 0)
    _demand(earned != 0 and spent != 0 and n > 1, _DIV0)
    ratio = -earned * (1 + reinvest) ** (n - 1) / spent
    return float(ratio ** (1 / (n - 1)) - 1)


def _dated(values: Objects, dates: Objects) -> tuple[Floats, Floats]:
    """(amounts, years since the first date)."""
    amounts: list[float] = []
    days: list[float] = []
    if values.size != dates.size:
        raise Failure(_NUM)
    for source, kept in ((values, amounts), (dates, days)):
        for item in source.reshape(-1):
            number = strict_number(item)
            if isinstance(number, CellErrorValue):
                raise Failure(number)
            kept.append(number)
    cut = np.floor(np.array(days))
    _demand(bool((cut >= cut[0]).all()) and cut[0] >= 0)
    return np.array(amounts), (cut - cut[0]) / 365


@lane("XNPV", NUMBER, ARRAY, ARRAY)
def xnpv(rate: float, values: Objects, dates: Objects) -> Scalar:
    """Value at the first date, in years of 365 days; no date may lie before the first."""
    amounts, years = _dated(values, dates)
    _demand(rate > 0)
    return float((amounts * (1 + rate) ** -years).sum())


@lane("XIRR", ARRAY, ARRAY, opt(NUMBER, 0.1, empty=True))
def xirr(values: Objects, dates: Objects, guess: float) -> Scalar:
    """The rate at which XNPV is 0; needs both signs."""
    amounts, years = _dated(values, dates)
    _demand(bool((amounts > 0).any() and (amounts < 0).any()) and guess > -1)
    return root_near(lambda rate: float((amounts * (1 + rate) ** -years).sum()), guess)
