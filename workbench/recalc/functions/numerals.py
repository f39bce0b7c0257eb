"""Roman numerals and numbers in other bases."""

from __future__ import annotations

import math

from workbench.recalc.coerce import number_of
from workbench.recalc.registry import ANY, NUMBER, TEXT, opt, scalar
from workbench.recalc.values import CellErrorValue, Scalar

_VALUE = CellErrorValue.VALUE
_NUM = CellErrorValue.NUM
_LETTERS = "MDCLXVI"
_WORTH = (1000, 500, 100, 50, 10, 5, 1)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@scalar("ROMAN", NUMBER, opt(ANY, 0.0))
def roman(x: float, form: Scalar) -> Scalar:
    """0 to 3999; `form` 0 (TRUE) is classic, 4 (FALSE) shortest: how much smaller a subtracted letter may be."""
    n = math.trunc(x)
    if isinstance(form, bool):
        freedom = 0 if form else 4
    else:
        wanted = number_of(form)
        if isinstance(wanted, CellErrorValue):
            return wanted
        freedom = math.trunc(wanted)
    if not 0 <= n <= 3999 or not 0 <= freedom <= 4:
        return _VALUE
    out = ""
    for unit in range(0, 7, 2):
        digit = n // _WORTH[unit]
        if digit % 5 != 4:
            out += (_LETTERS[unit - 1] if digit > 4 else "") + _LETTERS[unit] * (digit % 5)
            n %= _WORTH[unit]
            continue
        larger = unit - 1 if digit == 4 else unit - 2
        smaller = unit
        for _ in range(freedom):
            if smaller == 6 or _WORTH[larger] - _WORTH[smaller + 1] > n:
                break
            smaller += 1
        out += _LETTERS[smaller] + _LETTERS[larger]
        n += _WORTH[smaller] - _WORTH[larger]
    return out


@scalar("ARABIC", TEXT)
def arabic(text: str) -> Scalar:
    """The number that a Roman numeral spells, in any form; `-` before it negates; #VALUE! for other texts."""
    numeral = text.strip().upper()
    negative = numeral.startswith("-")
    numeral = numeral.removeprefix("-")
    if len(text) > 255 or any(letter not in _LETTERS for letter in numeral):
        return _VALUE
    total = largest = 0
    for letter in reversed(numeral):
        worth = _WORTH[_LETTERS.index(letter)]
        largest = max(largest, worth)
        total += worth if worth == largest else -worth
    return float(-total if negative else total)


@scalar("BASE", NUMBER, NUMBER, opt(NUMBER, 0.0))
def base(x: float, radix: float, length: float) -> Scalar:
    """A whole number below 2^53 in base 2 to 36, with zeros in front up to `length` digits."""
    n, of, digits = math.trunc(x), math.trunc(radix), math.trunc(length)
    if not 0 <= n < 2**53 or not 2 <= of <= 36 or not 0 <= digits <= 255:
        return _NUM
    return in_base(n, of).rjust(digits, "0")


def in_base(n: int, radix: int) -> str:
    """A number ≥ 0 in upper-case digits."""
    out = ""
    while n:
        n, digit = divmod(n, radix)
        out = _DIGITS[digit] + out
    return out or "0"


@scalar("DECIMAL", TEXT, NUMBER)
def decimal(text: str, radix: float) -> Scalar:
    """The number that `text` spells in base 2 to 36."""
    of = math.trunc(radix)
    numeral = text.strip().upper()
    if not 2 <= of <= 36 or len(text) > 255:
        return _NUM
    if not numeral:
        return 0.0
    if any(digit not in _DIGITS[:of] for digit in numeral):
        return _NUM
    return float(int(numeral, of))
