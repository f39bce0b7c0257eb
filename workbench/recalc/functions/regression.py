"""Excel's correlations and regressions: of pairs (CORREL, SLOPE, FORECAST) and of several variables (LINEST, TREND)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.recalc.functions._samples import deviations, lanes, paired
from workbench.recalc.registry import ARRAY, LOGICAL, NUMBER, lane, opt, vector
from workbench.recalc.values import Bools, CellErrorValue, Failure, Floats, Objects, Value, codes_where

_DIV0 = CellErrorValue.DIV0
_NA = CellErrorValue.NA
_NUM = CellErrorValue.NUM


# --- pairs


@dataclass(frozen=True)
class _Moments:
    """Sums over the pairs of each lane, all of shape (S, F, 1, 1)."""

    n: Floats
    mean_x: Floats
    mean_y: Floats
    xx: Floats
    xy: Floats
    yy: Floats
    codes: Any


def _moments(x: Value, y: Value) -> _Moments:
    a, b, where, codes = paired(x, y)
    dx, n = deviations(a, where)
    dy, _ = deviations(b, where)
    some = np.maximum(n, 1)
    parts = (n, a.sum(-1) / some, b.sum(-1) / some, (dx * dx).sum(-1), (dx * dy).sum(-1), (dy * dy).sum(-1))
    n, mean_x, mean_y, xx, xy, yy = (lanes(part) for part in parts)
    return _Moments(n, mean_x, mean_y, xx, xy, yy, None if codes is None else lanes(codes))


def _result(moments: _Moments, found: Any, *wrong: tuple[Any, CellErrorValue]) -> tuple[Floats, Any]:
    failed = codes_where(*wrong)
    codes = moments.codes
    return found, failed if codes is None else np.where(codes != 0, codes, failed)


@vector("CORREL PEARSON", ARRAY, ARRAY)
def correl(x: Value, y: Value) -> tuple[Floats, Any]:
    """Pearson's correlation; #DIV/0! without spread."""
    m = _moments(x, y)
    r = np.clip(m.xy / (np.sqrt(m.xx) * np.sqrt(m.yy)), -1, 1)
    return _result(m, r, ((m.xx == 0) | (m.yy == 0), _DIV0))


@vector("RSQ", ARRAY, ARRAY)
def rsq(y: Value, x: Value) -> tuple[Floats, Any]:
    """The square of the correlation."""
    m = _moments(x, y)
    return _result(m, m.xy**2 / (m.xx * m.yy), ((m.xx == 0) | (m.yy == 0), _DIV0))


@vector("COVAR COVARIANCE.P", ARRAY, ARRAY)
def covariance_p(x: Value, y: Value) -> tuple[Floats, Any]:
    """Over n."""
    m = _moments(x, y)
    return _result(m, m.xy / m.n, (m.n == 0, _DIV0))


@vector("COVARIANCE.S", ARRAY, ARRAY)
def covariance_s(x: Value, y: Value) -> tuple[Floats, Any]:
    """Over n − 1."""
    m = _moments(x, y)
    return _result(m, m.xy / (m.n - 1), (m.n < 2, _DIV0))


@vector("SLOPE", ARRAY, ARRAY)
def slope(y: Value, x: Value) -> tuple[Floats, Any]:
    """Of the least-squares line."""
    m = _moments(x, y)
    return _result(m, m.xy / m.xx, (m.xx == 0, _DIV0))


@vector("INTERCEPT", ARRAY, ARRAY)
def intercept(y: Value, x: Value) -> tuple[Floats, Any]:
    """Of the least-squares line."""
    m = _moments(x, y)
    return _result(m, m.mean_y - m.xy / m.xx * m.mean_x, (m.xx == 0, _DIV0))


@vector("STEYX", ARRAY, ARRAY)
def steyx(y: Value, x: Value) -> tuple[Floats, Any]:
    """Standard error of y about the line; #DIV/0! for fewer than three pairs."""
    m = _moments(x, y)
    rest = np.maximum(m.yy - m.xy**2 / m.xx, 0.0)
    return _result(m, np.sqrt(rest / (m.n - 2)), ((m.n < 3) | (m.xx == 0), _DIV0))


@vector("FORECAST FORECAST.LINEAR", NUMBER, ARRAY, ARRAY)
def forecast(at: Floats, y: Value, x: Value) -> tuple[Floats, Any]:
    """The least-squares line at a point."""
    m = _moments(x, y)
    found = m.mean_y + m.xy / m.xx * (at - m.mean_x)
    return _result(m, found, (m.n == 0, _NA), (m.xx == 0, _DIV0))


# --- several variables


def _numbers(array: Objects) -> Floats:
    """The array as numbers: its first error, #VALUE! for anything else."""
    items = array.reshape(-1)
    for item in items:
        if isinstance(item, CellErrorValue):
            raise Failure(item)
    if not all(isinstance(item, float) for item in items):
        raise Failure(CellErrorValue.VALUE)
    return array.astype(np.float64)


@dataclass(frozen=True)
class _Fit:
    """y = x·slopes + constant by least squares, x of shape (n, k)."""

    slopes: Floats
    constant: float
    kept: Bools
    """Which variables are not combinations of the ones before them; the others have slope 0."""
    x: Floats
    y: Floats
    with_constant: bool

    def predicted(self, x: Floats) -> Floats:
        return np.asarray(x @ self.slopes + self.constant)


def _design(y: Floats, x: Floats | None) -> tuple[Floats, Floats, bool]:
    """(x of shape (n, k), y of shape (n,), whether variables stand in rows); #REF! when the sizes don't fit."""
    if x is None:
        x = np.arange(1.0, y.size + 1).reshape(y.shape)
    if x.shape == y.shape:
        return x.reshape(-1, 1), y.reshape(-1), y.shape[0] == 1 and y.shape[1] > 1
    if y.shape[1] == 1 and x.shape[0] == y.shape[0]:
        return x, y[:, 0], False
    if y.shape[0] == 1 and x.shape[1] == y.shape[1]:
        return x.T, y[0], True
    raise Failure(CellErrorValue.REF)


def _fit(y: Floats, x: Floats, with_constant: bool) -> _Fit:
    centre_x = x.mean(axis=0) if with_constant else np.zeros(x.shape[1])
    centre_y = y.mean() if with_constant else 0.0
    u, v = x - centre_x, y - centre_y
    kept = np.zeros(x.shape[1], dtype=bool)
    basis: list[Floats] = []
    for i in range(x.shape[1]):
        column = u[:, i].copy()
        size = float(np.linalg.norm(column))
        for _ in range(2):
            for direction in basis:
                column -= direction * (direction @ column)
        rest = float(np.linalg.norm(column))
        if rest > size * 1e-10 and rest > 1e-14 * float(np.linalg.norm(x[:, i])):
            kept[i] = True
            basis.append(column / rest)
    slopes = np.zeros(x.shape[1])
    if kept.any():
        slopes[kept] = np.linalg.lstsq(u[:, kept], v, rcond=None)[0]
    return _Fit(slopes, float(centre_y - centre_x @ slopes), kept, x, y, with_constant)


def _statistics(fit: _Fit, transformed: bool) -> Objects:
    """LINEST's five rows; `transformed` for LOGEST."""
    n, k = fit.x.shape
    used = int(fit.kept.sum())
    freedom = n - used - int(fit.with_constant)
    rest = fit.y - fit.predicted(fit.x)
    residual = float(rest @ rest)
    about = fit.y - (fit.y.mean() if fit.with_constant else 0.0)
    total = float(about @ about)
    explained = total - residual
    variance = residual / freedom if freedom > 0 else 0.0
    out = np.full((5, k + 1), _NA, dtype=object)
    coefficients = [*fit.slopes[::-1].tolist(), fit.constant]
    out[0] = [math.exp(c) for c in coefficients] if transformed else coefficients
    columns = fit.x[:, fit.kept]
    if fit.with_constant:
        columns = np.column_stack([columns, np.ones(n)])
    inverse = np.linalg.pinv(columns.T @ columns) if columns.size else np.zeros((0, 0))
    if columns.size:
        _, r = np.linalg.qr(columns)
        if abs(np.diag(r)).min() > 0:
            r_inverse = np.linalg.inv(r)
            inverse = r_inverse @ r_inverse.T
    errors = np.sqrt(np.maximum(np.diag(inverse) * variance, 0.0))
    spread = np.zeros(k)
    spread[fit.kept] = errors[:used]
    out[1, :k] = spread[::-1].tolist()
    if fit.with_constant:
        out[1, k] = float(errors[-1])
    out[2, 0] = explained / total if total else 1.0
    out[2, 1] = math.sqrt(variance)
    out[3, 0] = (explained / used) / variance if used and variance > 0 else _NUM
    out[3, 1] = float(freedom)
    out[4, 0], out[4, 1] = explained, residual
    return out


def _regression(y: Objects, x: Objects | None, constant: bool, logarithmic: bool) -> tuple[_Fit, bool]:
    ys = _numbers(y)
    if logarithmic:
        if (ys <= 0).any():
            raise Failure(_NUM)
        ys = np.log(ys)
    design, flat, in_rows = _design(ys, None if x is None else _numbers(x))
    return _fit(flat, design, constant), in_rows


_KNOWN = (ARRAY, opt(ARRAY, None, empty=True), opt(LOGICAL, True, empty=True), opt(LOGICAL, False))


@lane("LINEST", *_KNOWN)
def linest(y: Objects, x: Objects | None, constant: bool, statistics: bool) -> Objects | Floats:
    """Slopes from the last variable to the first, then the constant; with `statistics` five rows."""
    fit, _ = _regression(y, x, constant, False)
    return _statistics(fit, False) if statistics else np.array([[*fit.slopes[::-1], fit.constant]])


@lane("LOGEST", *_KNOWN)
def logest(y: Objects, x: Objects | None, constant: bool, statistics: bool) -> Objects | Floats:
    """y = b·m1^x1·m2^x2…; #NUM! when a y is not positive."""
    fit, _ = _regression(y, x, constant, True)
    return _statistics(fit, True) if statistics else np.exp(np.array([[*fit.slopes[::-1], fit.constant]]))


_PREDICTED = (ARRAY, opt(ARRAY, None, empty=True), opt(ARRAY, None, empty=True), opt(LOGICAL, True, empty=True))


@lane("TREND", *_PREDICTED)
def trend(y: Objects, x: Objects | None, new: Objects | None, constant: bool) -> Floats:
    """The regression's values at the new (or the known) x."""
    return _predicted(y, x, new, constant, False)


@lane("GROWTH", *_PREDICTED)
def growth(y: Objects, x: Objects | None, new: Objects | None, constant: bool) -> Floats:
    """The exponential regression's values at the new (or the known) x."""
    return np.exp(_predicted(y, x, new, constant, True))


def _predicted(y: Objects, x: Objects | None, new: Objects | None, constant: bool, logarithmic: bool) -> Floats:
    fit, in_rows = _regression(y, x, constant, logarithmic)
    k = fit.x.shape[1]
    if new is None:
        found = fit.predicted(fit.x)
        return found.reshape(y.shape)
    points = _numbers(new)
    if k == 1:
        return fit.predicted(points.reshape(-1, 1)).reshape(points.shape)
    if points.shape[0 if in_rows else 1] != k:
        raise Failure(CellErrorValue.REF)
    found = fit.predicted(points.T if in_rows else points)
    return found[None, :] if in_rows else found[:, None]
