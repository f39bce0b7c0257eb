"""Rounding on the 15 decimal digits that Excel shows of a number."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from typing import Any

import numpy as np

from workbench.recalc.values import Bools, Floats

_TOLERANCE = 5e-15
_FIFTEEN = Context(prec=15)
NEAREST, UP, DOWN = ROUND_HALF_UP, ROUND_UP, ROUND_DOWN
"""Half away from zero; away from zero; towards zero."""


def near_integer(x: Floats) -> Bools:
    """Where x is a whole number but for what 15 digits can't show."""
    return np.asarray(np.abs(x - np.rint(x)) <= np.abs(x) * _TOLERANCE / 10)


def shown(x: float) -> Decimal:
    """x as its 15 significant digits."""
    return _FIFTEEN.create_decimal_from_float(x)


def rounded(x: float, digits: int, how: str) -> float:
    """x to so many decimal places (negative: before the point), decided on its 15 digits."""
    if x == 0 or digits > 307 + 15:
        return x if x else 0.0
    if digits < -308:
        return 0.0
    value = shown(x)
    if -int(value.as_tuple().exponent) <= digits:
        return x
    return float(value.quantize(Decimal(1).scaleb(-digits), rounding=how, context=Context(prec=700)))


def whole(x: Any) -> Any:
    """x, or the whole number it is but for rounding."""
    nearest = np.rint(x)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(x - nearest) <= np.abs(x) * _TOLERANCE, nearest, x)
