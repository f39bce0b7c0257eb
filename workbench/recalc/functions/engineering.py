"""Excel's engineering functions: number bases, bits, steps, error and Bessel functions.

Complex numbers are in `complex_numbers.py`, units in `units.py`.
"""

from __future__ import annotations

import math

from workbench.recalc.functions import _special as special
from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.functions.numerals import in_base
from workbench.recalc.registry import NUMBER, TEXT, opt, scalar
from workbench.recalc.values import CellErrorValue, Failure, Scalar

_NUM = CellErrorValue.NUM
_LARGEST_BITS = 2**48


def _demand(holds: bool) -> None:
    if not holds:
        raise Failure(_NUM)


# --- bases: ten digits, two's complement

_DIGITS = 10
_BITS = {2: 10, 8: 30, 16: 40}
"""Bits that ten digits hold."""


def _read(text: str, base: int) -> int:
    numeral = text.upper()
    _demand(len(numeral) <= _DIGITS and all(digit in "0123456789ABCDEF"[:base] for digit in numeral))
    number = int(numeral or "0", base)
    bits = _BITS[base]
    return number - (1 << bits) if number >= 1 << (bits - 1) else number


def _written(number: int, base: int, places: float | None) -> str:
    bits = _BITS[base]
    _demand(-(1 << (bits - 1)) <= number < 1 << (bits - 1))
    if number < 0:
        return in_base(number + (1 << bits), base).rjust(_DIGITS, "0")
    digits = in_base(number, base)
    if places is None:
        return digits
    wide = math.trunc(places)
    _demand(1 <= wide <= _DIGITS and wide >= len(digits))
    return digits.rjust(wide, "0")


def _declare_base(name: str, source: int, target: int) -> None:
    if target == 10:

        @toolpak(name, TEXT)
        def to_decimal(text: str) -> Scalar:
            """The number that ten digits or fewer spell."""
            return float(_read(text, source))

    elif source == 10:

        @toolpak(name, NUMBER, opt(NUMBER))
        def from_decimal(number: float, places: float | None) -> Scalar:
            """Digits, with zeros in front up to `places`."""
            return _written(math.trunc(number), target, places)

    else:

        @toolpak(name, TEXT, opt(NUMBER))
        def between(text: str, places: float | None) -> Scalar:
            """Digits of one base in another."""
            return _written(_read(text, source), target, places)


_NAMES = {2: "BIN", 8: "OCT", 10: "DEC", 16: "HEX"}
for _source in _NAMES:
    for _target in _NAMES:
        if _source != _target:
            _declare_base(f"{_NAMES[_source]}2{_NAMES[_target]}", _source, _target)


# --- bits


def _bits(*numbers: float) -> list[int]:
    for number in numbers:
        _demand(0 <= number < _LARGEST_BITS and number == math.floor(number))
    return [int(number) for number in numbers]


@scalar("BITAND", NUMBER, NUMBER)
def bitand(x: float, y: float) -> Scalar:
    """Of whole numbers below 2^48."""
    a, b = _bits(x, y)
    return float(a & b)


@scalar("BITOR", NUMBER, NUMBER)
def bitor(x: float, y: float) -> Scalar:
    """Of whole numbers below 2^48."""
    a, b = _bits(x, y)
    return float(a | b)


@scalar("BITXOR", NUMBER, NUMBER)
def bitxor(x: float, y: float) -> Scalar:
    """Of whole numbers below 2^48."""
    a, b = _bits(x, y)
    return float(a ^ b)


@scalar("BITLSHIFT", NUMBER, NUMBER)
def bitlshift(x: float, by: float) -> Scalar:
    """To the right when negative."""
    return _shifted(x, math.trunc(by))


@scalar("BITRSHIFT", NUMBER, NUMBER)
def bitrshift(x: float, by: float) -> Scalar:
    """To the left when negative."""
    return _shifted(x, -math.trunc(by))


def _shifted(x: float, by: int) -> float:
    (number,) = _bits(x)
    _demand(abs(by) <= 53)
    found = number << by if by >= 0 else number >> -by
    _demand(found < _LARGEST_BITS)
    return float(found)


# --- steps


@toolpak("DELTA", NUMBER, opt(NUMBER, 0.0))
def delta(x: float, y: float) -> Scalar:
    """1 when both are equal, else 0."""
    return float(x == y)


@toolpak("GESTEP", NUMBER, opt(NUMBER, 0.0))
def gestep(x: float, step: float) -> Scalar:
    """1 from the step on, else 0."""
    return float(x >= step)


# --- error and Bessel functions


@toolpak("ERF", NUMBER, opt(NUMBER))
def erf(low: float, high: float | None) -> Scalar:
    """From 0 to `low`, or from `low` to `high`."""
    return math.erf(low) if high is None else math.erf(high) - math.erf(low)


@scalar("ERF.PRECISE", NUMBER)
def erf_precise(x: float) -> Scalar:
    """From 0 to x."""
    return math.erf(x)


@toolpak("ERFC", NUMBER)
def erfc(x: float) -> Scalar:
    """1 − ERF."""
    return math.erfc(x)


@scalar("ERFC.PRECISE", NUMBER)
def erfc_precise(x: float) -> Scalar:
    """1 − ERF."""
    return math.erfc(x)


def _order(number: float) -> int:
    order = math.trunc(number)
    _demand(order >= 0)
    return order


@toolpak("BESSELJ", NUMBER, NUMBER)
def besselj(x: float, order: float) -> Scalar:
    """J of a whole order; #NUM! from 2^27 on, where no digit would be right."""
    n = _order(order)
    _demand(abs(x) < 2.0**27)
    return special.bessel_j(n, x)


@toolpak("BESSELY", NUMBER, NUMBER)
def bessely(x: float, order: float) -> Scalar:
    """Y of a whole order, x > 0."""
    n = _order(order)
    _demand(0 < x < 2.0**27)
    return special.bessel_y(n, x)


@toolpak("BESSELI", NUMBER, NUMBER)
def besseli(x: float, order: float) -> Scalar:
    """Modified I of a whole order."""
    return special.bessel_i(_order(order), x)


@toolpak("BESSELK", NUMBER, NUMBER)
def besselk(x: float, order: float) -> Scalar:
    """Modified K of a whole order, x > 0."""
    n = _order(order)
    _demand(x > 0)
    return special.bessel_k(n, x)
