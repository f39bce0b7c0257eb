"""Excel's trigonometric and hyperbolic functions.

Angles are reduced by π in 64 bits, as Excel does it, not by π itself: SIN(PI()) is 1.22514845490862E-16; with more
of π it would be 1.22464679914735E-16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.registry import NUMBER, vector
from workbench.recalc.values import CellErrorValue, Floats, codes_where

_NUM = CellErrorValue.NUM
_DIV0 = CellErrorValue.DIV0
_LARGEST_ANGLE = 2.0**27
"""Excel's trigonometric functions give #NUM! from here on."""

_RIGHT_ANGLE = (0x1921FB5 * 2.0**-24, 0x8885A3 * 2.0**-49, 0x235 * 2.0**-63)
"""π / 2, of 64 significant bits, in parts so short that whole multiples up to 2^28 of each are exact."""


def sine_and_cosine(x: Floats) -> tuple[Floats, Floats]:
    """Of angles below 2^27."""
    quarter = np.rint(x * (2 / np.pi))
    rest = x
    for part in _RIGHT_ANGLE:
        rest = rest - quarter * part
    sine, cosine = np.sin(rest), np.cos(rest)
    turn = np.mod(quarter, 4)
    odd = np.mod(turn, 2) == 1
    first, second = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(turn >= 2, -first, first), np.where((turn == 1) | (turn == 2), -second, second)


@vector("PI")
def pi() -> Floats:
    """π."""
    return np.full((1, 1, 1, 1), np.pi)


@vector("SIN", NUMBER)
def sin(x: Floats) -> tuple[Floats, Any]:
    """Of an angle in radians."""
    return sine_and_cosine(x)[0], _angle(x)


@vector("COS", NUMBER)
def cos(x: Floats) -> tuple[Floats, Any]:
    """Of an angle in radians."""
    return sine_and_cosine(x)[1], _angle(x)


@vector("TAN", NUMBER)
def tan(x: Floats) -> tuple[Floats, Any]:
    """Of an angle in radians."""
    sine, cosine = sine_and_cosine(x)
    return sine / cosine, _angle(x)


@vector("COT", NUMBER)
def cot(x: Floats) -> tuple[Floats, Any]:
    """Cotangent."""
    sine, cosine = sine_and_cosine(x)
    return cosine / sine, codes_where((np.abs(x) >= _LARGEST_ANGLE, _NUM), (x == 0, _DIV0))


@vector("SEC", NUMBER)
def sec(x: Floats) -> tuple[Floats, Any]:
    """Secant."""
    return 1 / sine_and_cosine(x)[1], _angle(x)


@vector("CSC", NUMBER)
def csc(x: Floats) -> tuple[Floats, Any]:
    """Cosecant."""
    return 1 / sine_and_cosine(x)[0], codes_where((np.abs(x) >= _LARGEST_ANGLE, _NUM), (x == 0, _DIV0))


def _angle(x: Floats) -> Any:
    return codes_where((np.abs(x) >= _LARGEST_ANGLE, _NUM))


@vector("ASIN", NUMBER)
def asin(x: Floats) -> Floats:
    """In radians; #NUM! outside −1 to 1."""
    return np.arcsin(x)


@vector("ACOS", NUMBER)
def acos(x: Floats) -> Floats:
    """In radians; #NUM! outside −1 to 1."""
    return np.arccos(x)


@vector("ATAN", NUMBER)
def atan(x: Floats) -> Floats:
    """In radians."""
    return np.arctan(x)


@vector("ATAN2", NUMBER, NUMBER)
def atan2(x: Floats, y: Floats) -> tuple[Floats, Any]:
    """Excel takes x first."""
    return np.arctan2(y, x), codes_where(((x == 0) & (y == 0), _DIV0))


@vector("ACOT", NUMBER)
def acot(x: Floats) -> Floats:
    """Between 0 and π."""
    return np.arctan2(1.0, x)


@vector("SINH", NUMBER)
def sinh(x: Floats) -> Floats:
    """Hyperbolic sine."""
    return np.sinh(x)


@vector("COSH", NUMBER)
def cosh(x: Floats) -> Floats:
    """Hyperbolic cosine."""
    return np.cosh(x)


@vector("TANH", NUMBER)
def tanh(x: Floats) -> Floats:
    """Hyperbolic tangent."""
    return np.tanh(x)


@vector("COTH", NUMBER)
def coth(x: Floats) -> tuple[Floats, Any]:
    """Hyperbolic cotangent."""
    return 1 / np.tanh(x), codes_where((x == 0, _DIV0))


@vector("SECH", NUMBER)
def sech(x: Floats) -> Floats:
    """Hyperbolic secant."""
    return np.asarray(1 / np.cosh(x))


@vector("CSCH", NUMBER)
def csch(x: Floats) -> tuple[Floats, Any]:
    """Hyperbolic cosecant."""
    return 1 / np.sinh(x), codes_where((x == 0, _DIV0))


@vector("ASINH", NUMBER)
def asinh(x: Floats) -> Floats:
    """Inverse hyperbolic sine."""
    return np.arcsinh(x)


@vector("ACOSH", NUMBER)
def acosh(x: Floats) -> Floats:
    """#NUM! below 1."""
    return np.arccosh(x)


@vector("ATANH", NUMBER)
def atanh(x: Floats) -> Floats:
    """#NUM! outside −1 to 1."""
    return np.arctanh(x)


@vector("ACOTH", NUMBER)
def acoth(x: Floats) -> tuple[Floats, Any]:
    """#NUM! from −1 to 1."""
    return np.arctanh(1 / np.where(x == 0, 1.0, x)), codes_where((np.abs(x) <= 1, _NUM))


@vector("DEGREES", NUMBER)
def degrees(x: Floats) -> Floats:
    """Of radians."""
    return x / np.pi * 180


@vector("RADIANS", NUMBER)
def radians(x: Floats) -> Floats:
    """Of degrees."""
    return x / 180 * np.pi
