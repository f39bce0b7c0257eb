"""Prices and yields of securities whose first or last coupon period is longer or shorter than the others."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.recalc.functions._coupons import Coupons
from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.functions.financial import root_near
from workbench.recalc.functions.securities import basis_of, date_of, demand, frequency_of
from workbench.recalc.registry import NUMBER, opt
from workbench.recalc.values import Scalar

_BASIS = opt(NUMBER, 0.0)


@dataclass(frozen=True)
class _OddFirst:
    """A security from issue to maturity whose first coupon falls due at `first`."""

    settlement: int
    maturity: int
    issue: int
    first: int
    coupons: Coupons

    def price(self, rate: float, yield_: float, redemption: float) -> float:
        """Clean price for each 100, as Excel's documentation of ODDFPRICE has it."""
        f = self.coupons.frequency
        coupon = 100 * rate / f
        discount = 1 + yield_ / f
        demand(discount > 0)
        accrued = coupon * self.coupons.share(self.issue, self.settlement)
        odd = coupon * self.coupons.share(self.issue, self.first)
        regular = Coupons(self.maturity, f, self.coupons.basis).count(self.first)
        # whole periods between the next quasi-coupon date and the first coupon
        ahead = self.coupons.count(self.settlement) - 1
        share = self.coupons.days_until(self.settlement) / self.coupons.days(self.settlement)
        to_first = ahead + share
        worth = odd / discount**to_first
        worth += sum(coupon / discount ** (k + to_first) for k in range(1, regular + 1))
        return float(worth + redemption / discount ** (regular + to_first) - accrued)


def _odd_first(
    settlement: float, maturity: float, issue: float, first: float, frequency: float, basis: float
) -> _OddFirst:
    times, which = frequency_of(frequency), basis_of(basis)
    dates = (date_of(settlement), date_of(maturity), date_of(issue), date_of(first))
    demand(dates[1] > dates[3] > dates[0] > dates[2])
    return _OddFirst(*dates, Coupons(dates[3], times, which))


@toolpak("ODDFPRICE", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def oddfprice(
    settlement: float,
    maturity: float,
    issue: float,
    first: float,
    rate: float,
    yield_: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """Price with an odd first period."""
    security = _odd_first(settlement, maturity, issue, first, frequency, basis)
    demand(rate >= 0 and yield_ >= 0 and redemption > 0)
    return security.price(rate, yield_, redemption)


@toolpak("ODDFYIELD", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def oddfyield(
    settlement: float,
    maturity: float,
    issue: float,
    first: float,
    rate: float,
    price: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """Yield with an odd first period."""
    security = _odd_first(settlement, maturity, issue, first, frequency, basis)
    demand(rate >= 0 and price > 0 and redemption > 0)
    low = -security.coupons.frequency
    return root_near(lambda y: security.price(rate, y, redemption) - price, max(rate, 0.01), low)


@dataclass(frozen=True)
class _OddLast:
    """Shares of coupon periods between the last coupon and maturity."""

    whole: float
    accrued: float
    left: float
    frequency: int


def _odd_last(settlement: float, maturity: float, last: float, frequency: float, basis: float) -> _OddLast:
    times, which = frequency_of(frequency), basis_of(basis)
    start, end, coupon = date_of(settlement), date_of(maturity), date_of(last)
    demand(end > start > coupon)
    coupons = Coupons(coupon, times, which)
    return _OddLast(coupons.share(coupon, end), coupons.share(coupon, start), coupons.share(start, end), times)


@toolpak("ODDLPRICE", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def oddlprice(
    settlement: float,
    maturity: float,
    last: float,
    rate: float,
    yield_: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """Price with an odd last period."""
    periods = _odd_last(settlement, maturity, last, frequency, basis)
    demand(rate >= 0 and yield_ >= 0 and redemption > 0)
    coupon = 100 * rate / periods.frequency
    paid = redemption + periods.whole * coupon
    return paid / (1 + periods.left * yield_ / periods.frequency) - periods.accrued * coupon


@toolpak("ODDLYIELD", NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, _BASIS)
def oddlyield(
    settlement: float,
    maturity: float,
    last: float,
    rate: float,
    price: float,
    redemption: float,
    frequency: float,
    basis: float,
) -> Scalar:
    """Yield with an odd last period."""
    periods = _odd_last(settlement, maturity, last, frequency, basis)
    demand(rate >= 0 and price > 0 and redemption > 0)
    coupon = 100 * rate / periods.frequency
    paid, given = redemption + periods.whole * coupon, price + periods.accrued * coupon
    return (paid / given - 1) * periods.frequency / periods.left
