"""Excel's percentiles, ranks and frequencies. A sorted copy of a range serves all cells that read it."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.functions import _samples
from workbench.recalc.functions._decimal import whole
from workbench.recalc.functions._samples import lanes, picked, sample
from workbench.recalc.registry import AREAS, NUMBER, lane, opt, vector
from workbench.recalc.values import CellErrorValue, Floats, Objects, Scalar, Value, codes_where

_NUM = CellErrorValue.NUM
_NA = CellErrorValue.NA
_ZERO = np.zeros((1, 1, 1, 1))


@vector("LARGE", AREAS, NUMBER)
def large(array: Value, k: Floats) -> tuple[Floats, Any]:
    """The k-th largest number; k is rounded up. #NUM! when there is none."""
    rising, n, codes = sample(array)
    k = np.ceil(k)
    return _at(rising, n, lanes(n) - k, codes)


@vector("SMALL", AREAS, NUMBER)
def small(array: Value, k: Floats) -> tuple[Floats, Any]:
    """The k-th smallest number; k is rounded down. #NUM! when there is none."""
    rising, n, codes = sample(array)
    return _at(rising, n, np.floor(k) - 1, codes)


def _at(rising: Floats, n: Any, position: Any, codes: Any) -> tuple[Floats, Any]:
    count = lanes(n)
    position = np.asarray(position + count * 0.0)
    wrong = (position < 0) | (position >= count)
    if codes is not None or wrong.any():
        failed = codes_where((wrong, _NUM))
        codes = failed if codes is None else np.where(codes != 0, codes, failed)
    if rising.shape[2] == 0:
        return np.zeros(position.shape), codes
    return picked(rising, np.where(wrong, 0, position)), codes


def _between(array: Value, place: Any, wrong: Any) -> tuple[Floats, Any]:
    """Interpolation between sorted numbers at 0-based `place` (a function of the count)."""
    rising, n, codes = sample(array)
    count = lanes(n).astype(np.float64)
    position = whole(place(count))
    bad = wrong(count) | (count == 0)
    failed = codes_where((bad, _NUM))
    codes = failed if codes is None else np.where(codes != 0, codes, failed)
    if rising.shape[2] == 0:
        return np.zeros(np.shape(position)), codes
    position = np.where(bad, 0.0, position)
    low = np.clip(np.floor(position), 0, np.maximum(count - 1, 0))
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    below, above = picked(rising, low), picked(rising, high)
    share = position - low
    return np.where(share == 0, below, below + share * (above - below)), codes


@vector("PERCENTILE PERCENTILE.INC", AREAS, NUMBER)
def percentile_inc(array: Value, k: Floats) -> tuple[Floats, Any]:
    """k from 0 to 1."""
    return _between(array, lambda n: k * (n - 1), lambda n: (k < 0) | (k > 1))


@vector("PERCENTILE.EXC", AREAS, NUMBER)
def percentile_exc(array: Value, k: Floats) -> tuple[Floats, Any]:
    """k from 1 / (n + 1) to n / (n + 1)."""
    return _between(
        array,
        lambda n: k * (n + 1) - 1,
        lambda n: (k <= 0) | (k >= 1) | (whole(k * (n + 1)) < 1) | (whole(k * (n + 1)) > n),
    )


@vector("QUARTILE QUARTILE.INC", AREAS, NUMBER)
def quartile_inc(array: Value, quarter: Floats) -> tuple[Floats, Any]:
    """quarter 0 to 4."""
    q = np.floor(quarter)
    return _between(array, lambda n: q / 4 * (n - 1), lambda n: (q < 0) | (q > 4))


@vector("QUARTILE.EXC", AREAS, NUMBER)
def quartile_exc(array: Value, quarter: Floats) -> tuple[Floats, Any]:
    """quarter 1 to 3."""
    q = np.floor(quarter)
    return _between(
        array,
        lambda n: q / 4 * (n + 1) - 1,
        lambda n: (q <= 0) | (q >= 4) | (q / 4 * (n + 1) < 1) | (q / 4 * (n + 1) > n),
    )


# --- ranks


def _below_and_equal(array: Value, x: Floats) -> tuple[Floats, Floats, Floats, Any]:
    """(how many are less, how many are equal, count, errors) for each x."""
    rising, n, codes = sample(array)
    s, f = np.broadcast_shapes(rising.shape[:2], x.shape[:2])
    wide = np.broadcast_to(x, (s, f, *x.shape[2:]))
    if rising.shape[:2] == (1, 1):
        kept = rising[0, 0, : int(n[0, 0])]
        less = np.searchsorted(kept, wide, side="left")
        upto = np.searchsorted(kept, wide, side="right")
    else:
        less, upto = np.empty(wide.shape, dtype=np.int64), np.empty(wide.shape, dtype=np.int64)
        for i in range(s):
            for j in range(f):
                at = (i if rising.shape[0] > 1 else 0, j if rising.shape[1] > 1 else 0)
                kept = rising[at][: int(n[at])]
                less[i, j] = np.searchsorted(kept, wide[i, j], side="left")
                upto[i, j] = np.searchsorted(kept, wide[i, j], side="right")
    return less.astype(np.float64), (upto - less).astype(np.float64), lanes(n).astype(np.float64), codes


def _joined(codes: Any, failed: Any) -> Any:
    return failed if codes is None else np.where(codes != 0, codes, failed)


@vector("RANK RANK.EQ", NUMBER, AREAS, opt(NUMBER, _ZERO))
def rank_eq(x: Floats, array: Value, order: Floats) -> tuple[Floats, Any]:
    """Descending unless `order` is given; equal numbers share the best rank; #N/A when x isn't among them."""
    less, equal, n, codes = _below_and_equal(array, x)
    return np.where(order == 0, n - less - equal, less) + 1, _joined(codes, codes_where((equal == 0, _NA)))


@vector("RANK.AVG", NUMBER, AREAS, opt(NUMBER, _ZERO))
def rank_avg(x: Floats, array: Value, order: Floats) -> tuple[Floats, Any]:
    """As RANK.EQ, but equal numbers share the mean rank."""
    less, equal, n, codes = _below_and_equal(array, x)
    first = np.where(order == 0, n - less - equal, less) + 1
    return first + (equal - 1) / 2, _joined(codes, codes_where((equal == 0, _NA)))


_THREE = np.full((1, 1, 1, 1), 3.0)


@vector("PERCENTRANK PERCENTRANK.INC", AREAS, NUMBER, opt(NUMBER, _THREE, empty=True))
def percentrank_inc(array: Value, x: Floats, significance: Floats) -> tuple[Floats, Any]:
    """Place of x between the least (0) and the greatest (1), cut to so many digits; #N/A outside."""
    return _percentrank(array, x, significance, inclusive=True)


@vector("PERCENTRANK.EXC", AREAS, NUMBER, opt(NUMBER, _THREE, empty=True))
def percentrank_exc(array: Value, x: Floats, significance: Floats) -> tuple[Floats, Any]:
    """Place of x among n numbers that sit at 1 / (n + 1) … n / (n + 1)."""
    return _percentrank(array, x, significance, inclusive=False)


def _percentrank(array: Value, x: Floats, significance: Floats, *, inclusive: bool) -> tuple[Floats, Any]:
    less, equal, n, codes = _below_and_equal(array, x)
    rising, _, _ = sample(array)
    digits = np.trunc(significance)
    outside = (n == 0) | ((equal == 0) & ((less == 0) | (less == n)))
    failed = codes_where(((digits < 1) | (n == 0), _NUM), (outside, _NA))
    if rising.shape[2] == 0:
        return np.zeros(x.shape), _joined(codes, failed)
    last = np.maximum(n - 1, 0)
    low = picked(rising, np.clip(less - 1, 0, last))
    high = picked(rising, np.clip(less, 0, last))
    gap = np.where(high == low, 1.0, high - low)
    place = np.where(equal > 0, less, less - 1 + (x - low) / gap)
    share = np.where(n == 1, 1.0, place / np.maximum(n - 1, 1)) if inclusive else (place + 1) / (n + 1)
    scale = 10.0**digits
    return np.floor(whole(share * scale)) / scale, _joined(codes, failed)


# --- frequencies


@lane("MODE.MULT", AREAS, repeat=1)
def mode_mult(*arrays: Objects) -> Scalar | Floats:
    """All most frequent numbers as a column; #N/A when none comes twice."""
    found: list[float] = []
    for array in arrays:
        for item in array.reshape(-1):
            if isinstance(item, CellErrorValue):
                return item
            if isinstance(item, float):
                found.append(item)
    column = _samples.modes(np.array(found, dtype=np.float64))
    return column[:, None] if column.size else _NA


@lane("FREQUENCY", AREAS, AREAS)
def frequency(data: Objects, bins: Objects) -> Scalar | Floats:
    """A column: how many numbers are at most each bin (and above the next lower one), then those above all."""
    values: list[float] = []
    edges: list[float] = []
    for array, kept in ((data, values), (bins, edges)):
        for item in array.reshape(-1):
            if isinstance(item, CellErrorValue):
                return item
            if isinstance(item, float):
                kept.append(item)
    rising = np.sort(np.array(values, dtype=np.float64))
    if not edges:
        return np.array([[0.0], [float(rising.size)]])
    order = np.argsort(np.array(edges), kind="stable")
    upto = np.searchsorted(rising, np.array(edges)[order], side="right")
    out = np.zeros(len(edges) + 1)
    out[order] = np.diff(upto, prepend=0)
    out[-1] = rising.size - upto[-1]
    return out[:, None]


@vector("TRIMMEAN", AREAS, NUMBER)
def trimmean(array: Value, share: Floats) -> tuple[Floats, Any]:
    """Mean without the lowest and highest numbers: `share` of them, the count rounded down to an even one."""
    rising, n, codes = sample(array)
    count = lanes(n).astype(np.float64)
    drop = np.floor(whole(count * share) / 2)
    wrong = (share < 0) | (share >= 1) | (count == 0)
    sums = np.concatenate(
        [np.zeros((*rising.shape[:2], 1)), np.cumsum(np.where(np.isinf(rising), 0.0, rising), -1)], -1
    )
    drop = np.where(wrong, 0, drop)
    kept = np.maximum(count - 2 * drop, 1)
    found = (picked(sums, count - drop) - picked(sums, drop)) / kept
    return found, _joined(codes, codes_where((wrong, _NUM)))
