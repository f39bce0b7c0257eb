"""Sine and cosine as Excel computes them: angles are reduced by π in 64 bits, not by π itself.

SIN(PI()) is 1.22514845490862E-16 in Excel; with more of π it would be 1.22464679914735E-16.
"""

from __future__ import annotations

import numpy as np

from workbench.recalc.values import Floats

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
