"""Excel's matrix functions, and sums over pairs of two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.functions._samples import lanes, paired
from workbench.recalc.registry import ARRAY, INTEGER, lane, vector
from workbench.recalc.values import CellErrorValue, Floats, Objects, Scalar, Value

_VALUE = CellErrorValue.VALUE


def _matrix(array: Objects) -> Floats | CellErrorValue:
    """The array as numbers: its first error, or #VALUE! when an element is no number (blanks are none)."""
    out = np.empty(array.shape)
    for at, item in np.ndenumerate(array):
        if isinstance(item, CellErrorValue):
            return item
        if not isinstance(item, float):
            return _first_error(array) or _VALUE
        out[at] = item
    return out


def _first_error(array: Objects) -> CellErrorValue | None:
    return next((item for item in array.reshape(-1) if isinstance(item, CellErrorValue)), None)


@lane("MMULT", ARRAY, ARRAY)
def mmult(left: Objects, right: Objects) -> Scalar | Floats:
    """Matrix product; #VALUE! when the inner sizes differ."""
    a, b = _matrix(left), _matrix(right)
    if isinstance(a, CellErrorValue):
        return a
    if isinstance(b, CellErrorValue):
        return b
    return np.asarray(a @ b) if a.shape[1] == b.shape[0] else _VALUE


@lane("MDETERM", ARRAY)
def mdeterm(array: Objects) -> Scalar:
    """Determinant of a square matrix, else #VALUE!."""
    a = _matrix(array)
    if isinstance(a, CellErrorValue):
        return a
    if a.shape[0] != a.shape[1]:
        return _VALUE
    found = float(np.linalg.det(a))
    if (a == np.rint(a)).all() and abs(found) < 2.0**52:
        return float(round(found))
    return found


@lane("MINVERSE", ARRAY)
def minverse(array: Objects) -> Scalar | Floats:
    """Inverse of a square matrix; #NUM! when it is singular."""
    a = _matrix(array)
    if isinstance(a, CellErrorValue):
        return a
    if a.shape[0] != a.shape[1]:
        return _VALUE
    try:
        found = np.asarray(np.linalg.inv(a), dtype=np.float64)
    except np.linalg.LinAlgError:
        return CellErrorValue.NUM
    return CellErrorValue.NUM if 1 / np.linalg.cond(a) < 1e-16 else found


@lane("MUNIT", INTEGER)
def munit(size: float) -> Scalar | Floats:
    """Unit matrix; #VALUE! for a size below 1."""
    if size < 1:
        return _VALUE
    if size > 4096:
        return CellErrorValue.NUM
    return np.eye(int(size))


# --- pairs


def _summed(terms: Floats, codes: Any) -> tuple[Floats, Any]:
    return lanes(terms.sum(axis=-1)), None if codes is None else lanes(codes)


@vector("SUMX2MY2", ARRAY, ARRAY)
def sumx2my2(x: Value, y: Value) -> tuple[Floats, Any]:
    """Σ (x² − y²)."""
    a, b, _, codes = paired(x, y)
    return _summed(a * a - b * b, codes)


@vector("SUMX2PY2", ARRAY, ARRAY)
def sumx2py2(x: Value, y: Value) -> tuple[Floats, Any]:
    """Σ (x² + y²)."""
    a, b, _, codes = paired(x, y)
    return _summed(a * a + b * b, codes)


@vector("SUMXMY2", ARRAY, ARRAY)
def sumxmy2(x: Value, y: Value) -> tuple[Floats, Any]:
    """Σ (x − y)²."""
    a, b, _, codes = paired(x, y)
    return _summed((a - b) ** 2, codes)
