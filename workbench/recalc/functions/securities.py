"""Excel's functions of securities: coupons, prices, yields, durations, accrued interest, treasury bills."""

from __future__ import annotations

import math
from collections.abc import Callable

from workbench.recalc.coerce import logical_of
from workbench.recalc.functions._coupons import Coupons, shifted
from workbench.recalc.functions._dates import year_fraction
from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.functions.financial import root_near
from workbench.recalc.registry import ANY, NUMBER, Body, Parameter, opt
from workbench.recalc.values import CellErrorValue, Failure, Scalar

_NUM = CellErrorValue.NUM
_BASIS = opt(NUMBER, 0.0)


def demand(holds: bool, which: CellErrorValue = _NUM) -> None:
    """Raise the error unless the condition holds."""
    if not holds:
        raise Failure(which)


def date_of(number: float) -> int:
    """A date argument, cut to a whole day."""
    demand(number >= 0)
    return math.floor(number)


def basis_of(number: float) -> int:
    """A day-count basis, 0 to 4."""
    demand(0 <= number < 5)
    return math.trunc(number)


def frequency_of(number: float) -> int:
    """Coupons a year: 1, 2 or 4."""
    demand(math.trunc(number) in (1, 2, 4))
    return math.trunc(number)


def _term(settlement: float, maturity: float) -> tuple[int, int]:
    start, end = date_of(settlement), date_of(maturity)
    demand(start < end)
    return start, end


# --- coupons


def _coupon_function(name: str) -> Callable[[Body], Body]:
    parameters: tuple[Parameter, ...] = (NUMBER, NUMBER, NUMBER, _BASIS)
    return toolpak(name, *parameters)


def _schedule(settlement: float, maturity: float, frequency: float, basis: float) -> tuple[int, Coupons]:
    times, which = frequency_of(frequency), basis_of(basis)
    start, end = _term(settlement, maturity)
    return start, Coupons(end, times, which)


@_coupon_function("COUPPCD")
def couppcd(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """The last coupon date before the settlement, or on it."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return float(coupons.before(start))


@_coupon_function("COUPNCD")
def coupncd(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """The first coupon date after the settlement."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return float(coupons.after(start))


@_coupon_function("COUPNUM")
def coupnum(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """Coupons between settlement and maturity."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return float(coupons.count(start))


@_coupon_function("COUPDAYS")
def coupdays(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """Days of the coupon period that holds the settlement."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return coupons.days(start)


@_coupon_function("COUPDAYBS")
def coupdaybs(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """Days from the last coupon to the settlement."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return coupons.days_since(start)


@_coupon_function("COUPDAYSNC")
def coupdaysnc(settlement: float, maturity: float, frequency: float, basis: float) -> Scalar:
    """Days from the settlement to the next coupon."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    return coupons.days_until(start)


# --- regular coupons


def _clean_price(start: int, coupons: Coupons, rate: float, yield_: float, redemption: float) -> float:
    """PRICE: for each 100 of face value, without accrued interest."""
    f = coupons.frequency
    n = coupons.count(start)
    length = coupons.days(start)
    share = coupons.days_until(start) / length
    coupon = 100 * rate / f
    accrued = coupon * coupons.days_since(start) / length
    if n == 1:
        return (redemption + coupon) / (1 + share * yield_ / f) - accrued
    discount = 1 + yield_ / f
    demand(discount > 0)
    paid = sum(coupon / discount ** (k + share) for k in range(n))
    return float(redemption / discount ** (n - 1 + share) + paid - accrued)


@toolpak("PRICE", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def price(
    settlement: float,
    maturity: float,
    rate: float,
    yield_: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """Clean price for each 100 of face value."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    demand(rate >= 0 and yield_ >= 0 and redemption > 0)
    return _clean_price(start, coupons, rate, yield_, redemption)


@toolpak("YIELD", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def yield_of(
    settlement: float,
    maturity: float,
    rate: float,
    price: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """The yield that gives the price."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    demand(rate >= 0 and price > 0 and redemption > 0)
    f = coupons.frequency
    if coupons.count(start) == 1:
        length = coupons.days(start)
        accrued = coupons.days_since(start) / length
        ratio = (redemption / 100 + rate / f) / (price / 100 + accrued * rate / f)
        return (ratio - 1) * f * length / coupons.days_until(start)
    return root_near(lambda y: _clean_price(start, coupons, rate, y, redemption) - price, max(rate, 0.01), -f)


@toolpak("DURATION", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def duration(settlement: float, maturity: float, rate: float, yield_: float, frequency: float, basis: float) -> Scalar:
    """Macaulay's duration in years."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    demand(rate >= 0 and yield_ >= 0)
    return _macaulay(start, coupons, rate, yield_)


@toolpak("MDURATION", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def mduration(settlement: float, maturity: float, rate: float, yield_: float, frequency: float, basis: float) -> Scalar:
    """Duration over 1 + yield / frequency."""
    start, coupons = _schedule(settlement, maturity, frequency, basis)
    demand(rate >= 0 and yield_ >= 0)
    return _macaulay(start, coupons, rate, yield_) / (1 + yield_ / coupons.frequency)


def _macaulay(start: int, coupons: Coupons, rate: float, yield_: float) -> float:
    f, n = coupons.frequency, coupons.count(start)
    share = coupons.days_until(start) / coupons.days(start)
    discount = 1 + yield_ / f
    weighted = worth = 0.0
    for k in range(n):
        payment = 100 * rate / f + (100 if k == n - 1 else 0)
        now = payment / discount ** (k + share)
        weighted += now * (k + share)
        worth += now
    return weighted / worth / f


# --- discounted securities and interest at maturity


def _years(start: int, end: int, basis: int) -> float:
    return year_fraction(start, end, basis)


@toolpak("DISC", NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def disc(settlement: float, maturity: float, price: float, redemption: float, basis: float) -> Scalar:
    """Discount rate."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    demand(price > 0 and redemption > 0)
    return (1 - price / redemption) / _years(start, end, which)


@toolpak("INTRATE", NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def intrate(settlement: float, maturity: float, investment: float, redemption: float, basis: float) -> Scalar:
    """Interest rate of a fully invested security."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    demand(investment > 0 and redemption > 0)
    return (redemption / investment - 1) / _years(start, end, which)


@toolpak("RECEIVED", NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def received(settlement: float, maturity: float, investment: float, discount: float, basis: float) -> Scalar:
    """Amount received at maturity."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    demand(investment > 0 and discount > 0)
    left = 1 - discount * _years(start, end, which)
    demand(left > 0)
    return investment / left


@toolpak("PRICEDISC", NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def pricedisc(settlement: float, maturity: float, discount: float, redemption: float, basis: float) -> Scalar:
    """Price of a discounted security."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    demand(discount > 0 and redemption > 0)
    return redemption * (1 - discount * _years(start, end, which))


@toolpak("YIELDDISC", NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def yielddisc(settlement: float, maturity: float, price: float, redemption: float, basis: float) -> Scalar:
    """Yield of a discounted security."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    demand(price > 0 and redemption > 0)
    return (redemption / price - 1) / _years(start, end, which)


@toolpak("PRICEMAT", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def pricemat(settlement: float, maturity: float, issue: float, rate: float, yield_: float, basis: float) -> Scalar:
    """Price of a security that pays interest at maturity."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    born = date_of(issue)
    demand(rate >= 0 and yield_ >= 0 and born <= start)
    whole, before, left = _years(born, end, which), _years(born, start, which), _years(start, end, which)
    return 100 * ((1 + whole * rate) / (1 + left * yield_) - before * rate)


@toolpak("YIELDMAT", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def yieldmat(settlement: float, maturity: float, issue: float, rate: float, price: float, basis: float) -> Scalar:
    """Yield of a security that pays interest at maturity."""
    which = basis_of(basis)
    start, end = _term(settlement, maturity)
    born = date_of(issue)
    demand(rate >= 0 and price > 0 and born <= start)
    whole, before, left = _years(born, end, which), _years(born, start, which), _years(start, end, which)
    return ((1 + whole * rate) / (price / 100 + before * rate) - 1) / left


@toolpak("ACCRINTM", NUMBER, NUMBER, NUMBER, opt(NUMBER, 1000.0), _BASIS)
def accrintm(issue: float, settlement: float, rate: float, par: float, basis: float) -> Scalar:
    """Interest accrued of a security that pays at maturity."""
    which = basis_of(basis)
    start, end = _term(issue, settlement)
    demand(rate > 0 and par > 0)
    return par * rate * _years(start, end, which)


@toolpak("ACCRINT", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS, opt(ANY, True))
def accrint(
    issue: float,
    first: float,
    settlement: float,
    rate: float,
    par: float,
    frequency: float,
    basis: float,
    from_issue: Scalar,
) -> Scalar:
    """Interest accrued since the issue, or since the first coupon when that is past and not `from_issue`."""
    whole = logical_of(from_issue)
    if isinstance(whole, CellErrorValue):
        return whole
    times, which = frequency_of(frequency), basis_of(basis)
    start, end = _term(issue, settlement)
    coupon = date_of(first)
    demand(rate > 0 and par > 0)
    if not whole and end > coupon:
        start = coupon
    return par * rate / times * Coupons(coupon, times, which).share(start, end)


# --- treasury bills


def _bill(settlement: float, maturity: float) -> int:
    """Days of a treasury bill, at most a year."""
    start, end = _term(settlement, maturity)
    demand(end <= shifted(start, 12, False))
    return end - start


@toolpak("TBILLPRICE", NUMBER, NUMBER, NUMBER)
def tbillprice(settlement: float, maturity: float, discount: float) -> Scalar:
    """Price for each 100 of face value."""
    days = _bill(settlement, maturity)
    demand(discount > 0)
    found = 100 * (1 - discount * days / 360)
    demand(found >= 0)
    return found


@toolpak("TBILLYIELD", NUMBER, NUMBER, NUMBER)
def tbillyield(settlement: float, maturity: float, price: float) -> Scalar:
    """Yield in years of 360 days."""
    days = _bill(settlement, maturity)
    demand(price > 0)
    return (100 - price) / price * 360 / days


@toolpak("TBILLEQ", NUMBER, NUMBER, NUMBER)
def tbilleq(settlement: float, maturity: float, discount: float) -> Scalar:
    """The yield of a bond (paying twice a year, when the bill is longer than that) that is worth the same."""
    days = _bill(settlement, maturity)
    demand(discount > 0)
    if days <= 182:
        rest = 360 - discount * days
        demand(rest > 0)
        return 365 * discount / rest
    worth = 1 - discount * days / 360
    demand(worth > 0)
    term = days / (366 if days == 366 else 365)
    return (-2 * term + 2 * math.sqrt(term**2 - (2 * term - 1) * (1 - 1 / worth))) / (2 * term - 1)
