"""Excel's descriptive statistics: counts, means, extremes, spreads, ranks.

Percentiles and ranks are in `order_statistics.py`, regressions in `regression.py`, distributions in
`continuous_distributions.py` and `discrete_distributions.py`, tests of hypotheses in `hypothesis_tests.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.coerce import to_numbers
from workbench.recalc.functions import _samples
from workbench.recalc.functions._samples import count_of, deviations, no_fewer
from workbench.recalc.registry import Call, aggregate, lazy
from workbench.recalc.values import BLANK, NUMBER, TEXT, Bools, CellErrorValue, Floats, Value, codes_where
from workbench.recalc.values import numbers as number_value

_NUM = CellErrorValue.NUM
_DIV0 = CellErrorValue.DIV0


# --- counts


@lazy("COUNT", minimum=1)
def count(call: Call) -> Value:
    """Numbers in references; direct arguments that can be read as a number, too. Errors don't count."""

    def counts(value: Value, direct: bool) -> Any:
        if not direct:
            return value.kinds == NUMBER
        _, codes = to_numbers(value)
        return np.ones(value.shape, dtype=bool) if codes is None else codes == 0

    return _tally(call, counts)


@lazy("COUNTA", minimum=1)
def counta(call: Call) -> Value:
    """Everything that is no empty cell, errors and empty texts included."""
    return _tally(call, lambda value, direct: np.full(value.shape, True) if direct else value.kinds != BLANK)


def _tally(call: Call, counts: Any) -> Value:
    found: Any = np.zeros((1, 1))
    for index in range(len(call)):
        for value in call.parts(index):
            direct = not value.referenced and value.shape[2:] == (1, 1)
            found = found + counts(value, direct).sum(axis=(2, 3))
    return number_value(_samples.lanes(found))


@lazy("COUNTBLANK", minimum=1, maximum=1)
def countblank(call: Call) -> Value:
    """Empty cells and cells with an empty text."""
    found: Any = np.zeros((1, 1))
    for region, value in zip(call.reference(0).regions, call.parts(0), strict=True):
        found = found + (region.rows * region.columns - value.shape[2] * value.shape[3])  # cut off: blanks
        empty = value.kinds == BLANK
        if value.text is not None:
            empty = empty | ((value.kinds == TEXT) & (value.texts == ""))
        found = found + empty.sum(axis=(2, 3))
    return number_value(_samples.lanes(found))


# --- means


@aggregate("AVERAGE")
def average(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#DIV/0! without numbers."""
    return _samples.mean_of(x, where)


@aggregate("AVERAGEA", counts_all=True)
def averagea(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Texts count as 0."""
    return _samples.mean_of(x, where)


@aggregate("GEOMEAN")
def geomean(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#NUM! when a number is not positive."""
    n = count_of(x, where)
    logs = np.log(x if where is None else np.where(where, x, 1.0))
    return np.exp(logs.sum(axis=-1) / np.maximum(n, 1)), _positive(x, where, n)


@aggregate("HARMEAN")
def harmean(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#NUM! when a number is not positive."""
    n = count_of(x, where)
    inverses = 1 / x if where is None else np.where(where, 1 / x, 0.0)
    return n / inverses.sum(axis=-1), _positive(x, where, n)


def _positive(x: Floats, where: Bools | None, n: Floats) -> Any:
    low = x <= 0 if where is None else (x <= 0) & where
    return codes_where((low.any(axis=-1), _NUM), (n == 0, _NUM))


@aggregate("MEDIAN")
def median(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#NUM! without numbers."""
    return _samples.median_of(x, where)


@aggregate("MODE MODE.SNGL")
def mode(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#N/A when no number comes twice."""
    return _samples.mode_of(x, where)


# --- extremes


@aggregate("MAX")
def max_(x: Floats, where: Bools | None) -> Floats:
    """0 without numbers."""
    return _samples.largest(x, where)


@aggregate("MIN")
def min_(x: Floats, where: Bools | None) -> Floats:
    """0 without numbers."""
    return _samples.smallest(x, where)


@aggregate("MAXA", counts_all=True)
def maxa(x: Floats, where: Bools | None) -> Floats:
    """Texts count as 0."""
    return _samples.largest(x, where)


@aggregate("MINA", counts_all=True)
def mina(x: Floats, where: Bools | None) -> Floats:
    """Texts count as 0."""
    return _samples.smallest(x, where)


# --- spread and shape


@aggregate("VAR VAR.S")
def var_s(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#DIV/0! for fewer than two numbers."""
    return _samples.sample_variance(x, where)


@aggregate("VARP VAR.P")
def var_p(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#DIV/0! without numbers."""
    return _samples.population_variance(x, where)


@aggregate("VARA", counts_all=True)
def vara(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Texts count as 0."""
    return _samples.sample_variance(x, where)


@aggregate("VARPA", counts_all=True)
def varpa(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Texts count as 0."""
    return _samples.population_variance(x, where)


@aggregate("STDEV STDEV.S")
def stdev_s(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#DIV/0! for fewer than two numbers."""
    return _samples.sample_deviation(x, where)


@aggregate("STDEVP STDEV.P")
def stdev_p(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """#DIV/0! without numbers."""
    return _samples.population_deviation(x, where)


@aggregate("STDEVA", counts_all=True)
def stdeva(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Texts count as 0."""
    return _samples.sample_deviation(x, where)


@aggregate("STDEVPA", counts_all=True)
def stdevpa(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Texts count as 0."""
    return _samples.population_deviation(x, where)


@aggregate("DEVSQ")
def devsq(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Σ (number − mean)²; #NUM! without numbers."""
    return _samples.sum_of_squares(x, where), no_fewer(count_of(x, where), 1, _NUM)


@aggregate("AVEDEV")
def avedev(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Mean of |number − mean|; #NUM! without numbers."""
    away, n = deviations(x, where)
    return np.abs(away).sum(axis=-1) / np.maximum(n, 1), no_fewer(n, 1, _NUM)


@aggregate("SKEW")
def skew(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Of a sample; #DIV/0! for fewer than three numbers or no spread."""
    away, n = deviations(x, where)
    spread = np.sqrt((away**2).sum(axis=-1) / (n - 1))
    moment = ((away / spread[..., None]) ** 3).sum(axis=-1)
    return n / ((n - 1) * (n - 2)) * moment, codes_where(((n < 3) | (spread == 0), _DIV0))


@aggregate("SKEW.P")
def skew_p(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Of a population; #DIV/0! for fewer than three numbers or no spread."""
    away, n = deviations(x, where)
    spread = np.sqrt((away**2).sum(axis=-1) / n)
    return ((away / spread[..., None]) ** 3).sum(axis=-1) / n, codes_where(((n < 3) | (spread == 0), _DIV0))


@aggregate("KURT")
def kurt(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Excess kurtosis of a sample; #DIV/0! for fewer than four numbers or no spread."""
    away, n = deviations(x, where)
    spread = np.sqrt((away**2).sum(axis=-1) / (n - 1))
    moment = ((away / spread[..., None]) ** 4).sum(axis=-1)
    factor = n * (n + 1) / ((n - 1) * (n - 2) * (n - 3))
    return factor * moment - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)), codes_where(((n < 4) | (spread == 0), _DIV0))
