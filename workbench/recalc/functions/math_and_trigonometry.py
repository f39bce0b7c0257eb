"""Excel's mathematical and trigonometric functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.registry import NUMBER, aggregate, vector
from workbench.recalc.values import Bools, CellErrorValue, Floats, codes_where


@aggregate("SUM")
def sum_(x: Floats, where: Bools | None) -> Floats:
    """Numbers not counted are 0."""
    return np.asarray(x.sum(axis=-1))


@vector("ROUND", NUMBER, NUMBER)
def round_(x: Floats, digits: Floats) -> Floats:
    """Half away from zero, on the 15-digit decimal value as Excel shows it."""
    scale = 10.0 ** np.trunc(digits)
    scaled = np.abs(x) * scale
    return np.asarray(np.copysign(np.floor(scaled * (1 + 2e-15) + 0.5) / scale, x))


@vector("MOD", NUMBER, NUMBER)
def mod(x: Floats, divisor: Floats) -> tuple[Floats, Any]:
    """The sign is the divisor's."""
    codes = codes_where((divisor == 0, CellErrorValue.DIV0))
    return x - divisor * np.floor(x / np.where(divisor == 0, 1.0, divisor)), codes
