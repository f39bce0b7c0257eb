"""Statistics of the numbers of a lane: `x` of shape (S, F, n), 0 where `where` (None: all) says it isn't counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.values import BOOL, ERROR, NUMBER, TEXT, Bools, CellErrorValue, Floats, Value, codes_where

Reduced: TypeAlias = "Floats | tuple[Floats, Any]"
"""Results (S, F), with error codes of the same shape where some lane may fail."""

Reducer: TypeAlias = Callable[[Floats, "Bools | None"], Reduced]

Lengths: TypeAlias = NDArray[np.int64]


def count_of(x: Floats, where: Bools | None) -> Floats:
    """How many numbers count in each lane."""
    if where is None:
        return np.full(x.shape[:2], float(x.shape[2]))
    return np.asarray(where.sum(axis=-1), dtype=np.float64)


def no_fewer(n: Any, least: int, which: CellErrorValue = CellErrorValue.DIV0) -> Any:
    """Error codes where fewer than `least` numbers count."""
    return codes_where((n < least, which))


def total(x: Floats, where: Bools | None) -> Floats:
    """Sum."""
    return np.asarray(x.sum(axis=-1))


def product(x: Floats, where: Bools | None) -> Floats:
    """Product; 0 when there is no number."""
    if where is not None:
        x = np.where(where, x, 1.0)
    return np.where(count_of(x, where) == 0, 0.0, x.prod(axis=-1))


def mean_of(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Arithmetic mean."""
    n = count_of(x, where)
    return x.sum(axis=-1) / np.maximum(n, 1), no_fewer(n, 1)


def largest(x: Floats, where: Bools | None) -> Floats:
    """Maximum; 0 when there is no number."""
    if where is not None:
        x = np.where(where, x, -np.inf)
    found = x.max(axis=-1, initial=-np.inf)
    return np.where(found == -np.inf, 0.0, found)


def smallest(x: Floats, where: Bools | None) -> Floats:
    """Minimum; 0 when there is no number."""
    if where is not None:
        x = np.where(where, x, np.inf)
    found = x.min(axis=-1, initial=np.inf)
    return np.where(found == np.inf, 0.0, found)


def deviations(x: Floats, where: Bools | None) -> tuple[Floats, Floats]:
    """(number − mean, 0 where not counted; how many count)."""
    n = count_of(x, where)
    centre = x.sum(axis=-1) / np.maximum(n, 1)
    away = x - centre[..., None]
    if where is not None:
        away = np.where(where, away, 0.0)
    # a constant column has no spread, whatever the rounding of its mean
    if x.shape[-1]:
        first = x if where is None else np.where(where, x, np.inf)
        last = x if where is None else np.where(where, x, -np.inf)
        constant = first.min(axis=-1) >= last.max(axis=-1)
        if constant.any():
            away = np.where(constant[..., None], 0.0, away)
    return away, n


def sum_of_squares(x: Floats, where: Bools | None) -> Floats:
    """Σ (number − mean)²."""
    away, _ = deviations(x, where)
    return np.asarray((away * away).sum(axis=-1))


def sample_variance(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Unbiased variance (n − 1)."""
    n = count_of(x, where)
    return sum_of_squares(x, where) / np.maximum(n - 1, 1), no_fewer(n, 2)


def population_variance(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Variance over n."""
    n = count_of(x, where)
    return sum_of_squares(x, where) / np.maximum(n, 1), no_fewer(n, 1)


def sample_deviation(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Standard deviation over n − 1."""
    variance, codes = sample_variance(x, where)
    return np.sqrt(variance), codes


def population_deviation(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """Standard deviation over n."""
    variance, codes = population_variance(x, where)
    return np.sqrt(variance), codes


def ordered(x: Floats, where: Bools | None) -> tuple[Floats, Lengths]:
    """(numbers in ascending order, infinity after the last one; how many)."""
    if where is not None:
        x = np.where(where, x, np.inf)
    return np.sort(x, axis=-1), count_of(x, where).astype(np.int64)


def median_of(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """The middle number, or the mean of the two middle ones."""
    rising, n = ordered(x, where)
    if not rising.shape[-1]:
        return np.zeros(x.shape[:2]), no_fewer(n, 1, CellErrorValue.NUM)
    at = np.maximum(n - 1, 0)
    low = np.take_along_axis(rising, (at // 2)[..., None], axis=-1)[..., 0]
    high = np.take_along_axis(rising, np.minimum(n // 2, at)[..., None], axis=-1)[..., 0]
    return np.where(low == high, low, (low + high) / 2), no_fewer(n, 1, CellErrorValue.NUM)


def mode_of(x: Floats, where: Bools | None) -> tuple[Floats, Any]:
    """The most frequent number, of several the one that comes first; #N/A when none comes twice."""
    out, codes = np.zeros(x.shape[:2]), np.zeros(x.shape[:2])
    for lane in np.ndindex(*x.shape[:2]):
        found = modes(x[lane] if where is None else x[lane][where[lane]])
        if found.size:
            out[lane] = found[0]
        else:
            codes[lane] = CellErrorValue.NA.code
    return out, codes


def modes(x: Floats) -> Floats:
    """All numbers that come most often, at least twice, in the order they first come."""
    if not x.size:
        return x
    distinct, first, counts = np.unique(x, return_index=True, return_counts=True)
    top = counts.max()
    return distinct[counts == top][np.argsort(first[counts == top])] if top > 1 else distinct[:0]


def counted(value: Value, *, everything: bool = False) -> tuple[Floats, Bools | None, Floats | None]:
    """(x, where, each lane's first error (S, F, 1, 1) or None) of an array argument.

    Texts, booleans and blanks don't count; with `everything` texts count as 0 and booleans as 0 or 1.
    """
    s, f, r, c = value.shape
    flat = (s, f, r * c)
    if value.uniform == NUMBER:
        return value.num.reshape(flat), None, None
    kinds = value.kinds
    counts = kinds == NUMBER
    if everything:
        counts = counts | (kinds == BOOL) | (kinds == TEXT)
    elif not value.referenced and r == c == 1:
        counts = counts | (kinds == BOOL)
    codes = np.where(kinds == ERROR, value.num, 0.0).reshape(flat)
    first: Floats | None = None
    if codes.any():
        at = (codes != 0).argmax(axis=-1)
        first = np.asarray(np.take_along_axis(codes, at[..., None], axis=-1)[..., None])
    x = np.where(counts & (kinds != TEXT), value.num, 0.0).reshape(flat)
    where = counts.reshape(flat)
    return x, None if bool(where.all()) else where, first


def paired(x: Value, y: Value) -> tuple[Floats, Floats, Bools | None, Floats | None]:
    """(x, y, where, error codes (S, F)) at the places where both arrays hold a number; x and y are 0 elsewhere.

    #N/A when the arrays differ in size; errors in either win.
    """
    if x.shape[2] * x.shape[3] != y.shape[2] * y.shape[3]:
        nothing = np.zeros((1, 1, 1))
        return nothing, nothing, None, np.full((1, 1), float(CellErrorValue.NA.code))
    a, b = np.broadcast_arrays(*(v.num.reshape(*v.shape[:2], -1) for v in (x, y)))
    if x.uniform == NUMBER and y.uniform == NUMBER:
        return a, b, None, None
    first, second = (v.kinds.reshape(*v.shape[:2], -1) for v in (x, y))
    both = np.asarray((first == NUMBER) & (second == NUMBER))
    failed = np.where(first == ERROR, a, np.where(second == ERROR, b, 0.0))
    codes: Floats | None = None
    if failed.any():
        at = (failed != 0).argmax(axis=-1)[..., None]
        codes = np.take_along_axis(failed, at, axis=-1)[..., 0]
    return np.where(both, a, 0.0), np.where(both, b, 0.0), both, codes


def sample(value: Value) -> tuple[Floats, Lengths, Floats | None]:
    """`ordered` numbers of an array argument and its errors, sorted once for all cells that read the range."""

    def build() -> tuple[Floats, Lengths, Floats | None]:
        x, where, codes = counted(value)
        return (*ordered(x, where), codes)

    found: tuple[Floats, Lengths, Floats | None] = value.memo("sample", build)
    return found


def picked(rising: Floats, at: Any) -> Floats:
    """Elements of (S, F, n) at positions (S', F', r, c), lanes broadcast; positions must be valid."""
    at = np.asarray(at, dtype=np.int64)
    s, f = np.broadcast_shapes(rising.shape[:2], at.shape[:2])
    wide = np.broadcast_to(rising, (s, f, rising.shape[2]))
    flat = np.broadcast_to(at, (s, f, *at.shape[2:])).reshape(s, f, -1)
    return np.take_along_axis(wide, flat, axis=-1).reshape(s, f, *at.shape[2:])


def lanes(array: Any) -> Any:
    """(S, F) → (S, F, 1, 1)."""
    return np.asarray(array)[..., None, None]
