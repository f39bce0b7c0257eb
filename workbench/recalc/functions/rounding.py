"""Excel's rounding functions.

They decide on the 15 significant digits that Excel shows: ROUND(0.285, 2) is 0.29 although the double is a bit less.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.recalc.functions import _decimal
from workbench.recalc.functions._toolpak import toolpak
from workbench.recalc.registry import NUMBER, opt, vector
from workbench.recalc.values import Bools, CellErrorValue, Floats, Scalar, codes_where

_ZERO = np.zeros((1, 1, 1, 1))
_ONE = np.ones((1, 1, 1, 1))
_DOUBTFUL = 1e-14
"""Closer than this (relative) to where the rounding changes, the decimal digits decide."""


def _rounded(x: Floats, digits: Floats, how: str) -> Floats:
    """`_decimal.rounded` of whole arrays: in binary where that is safe, digit by digit for the few others."""
    digits = np.trunc(digits)
    scale = 10.0 ** np.abs(digits)
    size = np.abs(x)
    scaled = np.where(digits >= 0, size * scale, size / scale)
    if how == _decimal.NEAREST:
        result = np.floor(scaled + 0.5)
        edge = np.floor(scaled) + 0.5
    else:
        result = np.ceil(scaled) if how == _decimal.UP else np.floor(scaled)
        edge = np.rint(scaled)
    doubtful = (np.abs(scaled - edge) <= scaled * _DOUBTFUL) & (scaled != np.rint(scaled))
    doubtful |= (np.abs(digits) > 22) | (scaled >= 2.0**48)
    out = np.copysign(np.where(digits >= 0, result / scale, result * scale), x)
    if doubtful.any():
        wide = [np.broadcast_to(a, out.shape) for a in (x, digits, doubtful)]
        for at in zip(*np.nonzero(wide[2]), strict=True):
            places = max(min(float(wide[1][at]), 400.0), -400.0)
            out[at] = _decimal.rounded(float(wide[0][at]), int(places), how)
    return np.asarray(out + 0.0)


@vector("ROUND", NUMBER, NUMBER)
def round_(x: Floats, digits: Floats) -> Floats:
    """Half away from zero."""
    return _rounded(x, digits, _decimal.NEAREST)


@vector("ROUNDUP", NUMBER, NUMBER)
def roundup(x: Floats, digits: Floats) -> Floats:
    """Away from zero."""
    return _rounded(x, digits, _decimal.UP)


@vector("ROUNDDOWN", NUMBER, NUMBER)
def rounddown(x: Floats, digits: Floats) -> Floats:
    """Towards zero."""
    return _rounded(x, digits, _decimal.DOWN)


@vector("TRUNC", NUMBER, opt(NUMBER, _ZERO))
def trunc(x: Floats, digits: Floats) -> Floats:
    """Towards zero."""
    return _rounded(x, digits, _decimal.DOWN)


@vector("INT", NUMBER)
def int_(x: Floats) -> Floats:
    """Down to a whole number."""
    return np.asarray(np.floor(_decimal.whole(x)))


@vector("EVEN", NUMBER)
def even(x: Floats) -> Floats:
    """Away from zero to an even number."""
    return np.asarray(np.copysign(2 * np.ceil(np.abs(x) / 2), x) + 0.0)


@vector("ODD", NUMBER)
def odd(x: Floats) -> Floats:
    """Away from zero to an odd number; 1 for 0."""
    return np.asarray(np.copysign(np.maximum(2 * np.ceil((np.abs(x) + 1) / 2) - 1, 1), np.where(x == 0, 1.0, x)))


@toolpak("MROUND", NUMBER, NUMBER)
def mround(x: float, multiple: float) -> Scalar:
    """To the nearest multiple, half away from zero; #NUM! when the signs differ."""
    if x == 0 or multiple == 0:
        return 0.0
    if x * multiple < 0:
        return CellErrorValue.NUM
    ratio = float(_decimal.whole(x / multiple * 2)) / 2
    return math.floor(ratio + 0.5) * multiple


# --- multiples above and below


def _above(x: Floats, step: Floats) -> Floats:
    """The multiple of `step` at or above x / step · step; 0 for step 0."""
    safe = np.where(step == 0, 1.0, step)
    return np.where(step == 0, 0.0, np.ceil(_decimal.whole(x / safe)) * step) + 0.0


def _below(x: Floats, step: Floats) -> Floats:
    safe = np.where(step == 0, 1.0, step)
    return np.where(step == 0, 0.0, np.floor(_decimal.whole(x / safe)) * step) + 0.0


@vector("CEILING", NUMBER, NUMBER)
def ceiling(x: Floats, step: Floats) -> tuple[Floats, Any]:
    """Away from zero when both are negative; #NUM! for a positive number and a negative step."""
    return _above(x, step), codes_where(((x > 0) & (step < 0), CellErrorValue.NUM))


@vector("FLOOR", NUMBER, NUMBER)
def floor(x: Floats, step: Floats) -> tuple[Floats, Any]:
    """Towards zero when both are negative; #NUM! for a positive number and a negative step."""
    codes = codes_where(((x > 0) & (step < 0), CellErrorValue.NUM), ((step == 0) & (x != 0), CellErrorValue.DIV0))
    return _below(x, step), codes


@vector("CEILING.PRECISE ISO.CEILING", NUMBER, opt(NUMBER, _ONE))
def ceiling_precise(x: Floats, step: Floats) -> Floats:
    """Towards +∞, whatever the sign of the step."""
    return _above(x, np.abs(step))


@vector("FLOOR.PRECISE", NUMBER, opt(NUMBER, _ONE))
def floor_precise(x: Floats, step: Floats) -> Floats:
    """Towards −∞, whatever the sign of the step."""
    return _below(x, np.abs(step))


@vector("CEILING.MATH", NUMBER, opt(NUMBER, _ONE, empty=True), opt(NUMBER, _ZERO))
def ceiling_math(x: Floats, step: Floats, mode: Floats) -> Floats:
    """Towards +∞; with a mode, negative numbers away from zero."""
    return np.where(_outwards(x, mode), _below(x, np.abs(step)), _above(x, np.abs(step)))


@vector("FLOOR.MATH", NUMBER, opt(NUMBER, _ONE, empty=True), opt(NUMBER, _ZERO))
def floor_math(x: Floats, step: Floats, mode: Floats) -> Floats:
    """Towards −∞; with a mode, negative numbers towards zero."""
    return np.where(_outwards(x, mode), _above(x, np.abs(step)), _below(x, np.abs(step)))


def _outwards(x: Floats, mode: Floats) -> Bools:
    return np.asarray((x < 0) & (mode != 0))
