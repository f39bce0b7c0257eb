"""Medians of timings, and how sure they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_T_975 = (np.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t, 97.5 %, by degrees of freedom."""
_MEDIAN_COST = 1.2533
"""Standard error of a median over that of a mean, for normal data: sqrt(pi / 2)."""


def within_spread(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative half-width of the 95 % interval of the median within one session, along the first axis.

    Distribution-free, by order statistics: ranks n/2 ± 0.98 sqrt(n). For n < 6 it is the full range.
    """
    n = samples.shape[0]
    ordered = np.sort(samples, axis=0)
    reach = 0.98 * np.sqrt(n)
    low = max(int(np.floor((n - 1) / 2 - reach)), 0)
    high = min(int(np.ceil((n - 1) / 2 + reach)), n - 1)
    middle = np.median(samples, axis=0)
    half = np.maximum(ordered[high] - middle, middle - ordered[low])
    return _relative(half, middle)


def between_spread(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative half-width of the 95 % interval of the median of session medians, along the first axis.

    Student's t over sessions times the price of a median; sessions differ by 5 to 16 % for single operators,
    far more than iterations within one. NaN for a single session.
    """
    n = medians.shape[0]
    middle = np.median(medians, axis=0)
    if n < 2:
        return np.full(np.shape(middle), np.nan)
    t = _T_975[n - 1] if n - 1 < len(_T_975) else 1.96 + 2.6 / (n - 1)
    half = t * medians.std(axis=0, ddof=1) / np.sqrt(n) * _MEDIAN_COST
    return _relative(half, middle)


def spread_over_sessions(sessions: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The larger of the between-session and the within-session relative half-widths.

    `sessions` are arrays of iterations (x operators).
    """
    within = np.max([within_spread(s) for s in sessions], axis=0) / np.sqrt(len(sessions))
    medians = np.array([np.median(s, axis=0) for s in sessions])
    spread: NDArray[np.float64] = np.fmax(within, between_spread(medians))
    return spread


def _relative(half: NDArray[np.float64], middle: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(middle > 0, half / middle, 0.0)
