"""Excel's tests of hypotheses: probabilities of what was seen, if it were chance."""

from __future__ import annotations

import math

import numpy as np

from workbench.recalc.functions import _special as special
from workbench.recalc.registry import ARRAY, NUMBER, lane, opt
from workbench.recalc.values import CellErrorValue, Failure, Floats, Objects, Scalar

_DIV0 = CellErrorValue.DIV0
_NA = CellErrorValue.NA
_NUM = CellErrorValue.NUM


def _sample(array: Objects) -> Floats:
    """The numbers of an array; its first error."""
    found = []
    for item in array.reshape(-1):
        if isinstance(item, CellErrorValue):
            raise Failure(item)
        if isinstance(item, float):
            found.append(item)
    return np.array(found, dtype=np.float64)


def _pairs(first: Objects, second: Objects) -> tuple[Floats, Floats]:
    """The pairs of which both are numbers; #N/A when the arrays differ in size."""
    if first.size != second.size:
        raise Failure(_NA)
    a, b = [], []
    for x, y in zip(first.reshape(-1), second.reshape(-1), strict=True):
        for item in (x, y):
            if isinstance(item, CellErrorValue):
                raise Failure(item)
        if isinstance(x, float) and isinstance(y, float):
            a.append(x)
            b.append(y)
    return np.array(a), np.array(b)


@lane("T.TEST TTEST", ARRAY, ARRAY, NUMBER, NUMBER)
def t_test(first: Objects, second: Objects, tails: float, kind: float) -> Scalar:
    """Student's t-test: kind 1 paired, 2 equal variances, 3 unequal variances (Welch)."""
    sides, which = math.trunc(tails), math.trunc(kind)
    if sides not in (1, 2) or which not in (1, 2, 3):
        return _NUM
    if which == 1:
        a, b = _pairs(first, second)
        n = a.size
        away = a - b
        if n < 2 or not away.std():
            return _DIV0
        return sides * special.student_tail(abs(away.mean()) / (away.std(ddof=1) / math.sqrt(n)), n - 1)
    a, b = _sample(first), _sample(second)
    n, m = a.size, b.size
    if n < 2 or m < 2:
        return _DIV0
    var_a, var_b = float(a.var(ddof=1)), float(b.var(ddof=1))
    if which == 2:
        freedom: float = n + m - 2
        error = ((n - 1) * var_a + (m - 1) * var_b) / freedom * (1 / n + 1 / m)
    else:
        error = var_a / n + var_b / m
        freedom = error**2 / ((var_a / n) ** 2 / (n - 1) + (var_b / m) ** 2 / (m - 1)) if error else 1.0
    if not error:
        return _DIV0
    return sides * special.student_tail(abs(float(a.mean() - b.mean())) / math.sqrt(error), freedom)


@lane("F.TEST FTEST", ARRAY, ARRAY)
def f_test(first: Objects, second: Objects) -> Scalar:
    """Two-tailed probability that two variances differ so much."""
    a, b = _sample(first), _sample(second)
    if a.size < 2 or b.size < 2 or not a.var() or not b.var():
        return _DIV0
    ratio = float(a.var(ddof=1) / b.var(ddof=1))
    n, m = a.size - 1, b.size - 1
    return 2 * min(special.f_cdf(ratio, n, m), special.f_tail(ratio, n, m))


@lane("Z.TEST ZTEST", ARRAY, NUMBER, opt(NUMBER))
def z_test(array: Objects, mean: float, deviation: float | None) -> Scalar:
    """Probability of a sample mean above the one seen; the deviation is estimated when not given."""
    a = _sample(array)
    if a.size == 0:
        return _NA
    if deviation is None:
        if a.size < 2 or not a.std():
            return _DIV0
        deviation = float(a.std(ddof=1))
    if deviation <= 0:
        return _NUM
    return special.normal_cdf(-(float(a.mean()) - mean) / (deviation / math.sqrt(a.size)))


@lane("CHISQ.TEST CHITEST", ARRAY, ARRAY)
def chisq_test(actual: Objects, expected: Objects) -> Scalar:
    """Test of independence of two arrays of the same shape; #N/A for single cells or other shapes."""
    if actual.shape != expected.shape or actual.size < 2:
        return _NA
    a, b = _pairs(actual, expected)
    if not b.size or (b == 0).any():
        return _DIV0
    if (b < 0).any() or (a < 0).any():
        return _NUM
    rows, columns = actual.shape
    freedom = (rows - 1) * (columns - 1) if rows > 1 and columns > 1 else rows * columns - 1
    return special.gamma_q(freedom / 2, float(((a - b) ** 2 / b).sum()) / 2)
