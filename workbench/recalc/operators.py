"""Excel's operators on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.coerce import Codes, to_numbers, to_texts
from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    LARGEST,
    NUMBER,
    TEXT,
    CellErrorValue,
    Floats,
    TooLarge,
    Value,
    error_codes,
    numbers,
    texts,
    with_errors,
)

_DIV0 = float(CellErrorValue.DIV0.code)
_NUM = float(CellErrorValue.NUM.code)


def aligned(values: list[Value]) -> tuple[list[Value], tuple[int, ...]]:
    """Values whose R and C fit each other (1 or equal), short ones filled up with #N/A, and the joint shape.

    Raises TooLarge when the joint array is too large and has lanes to split.
    """
    shapes = [value.shape for value in values]
    if len(set(shapes)) == 1:
        return values, shapes[0]
    rows, columns = max(s[2] for s in shapes), max(s[3] for s in shapes)
    out = values
    if any(s[2] not in (1, rows) or s[3] not in (1, columns) for s in shapes):
        out = [_filled(value, rows, columns) for value in values]
    shape = np.broadcast_shapes(*(value.shape for value in out))
    size = shape[0] * shape[1] * shape[2] * shape[3]
    if size > LARGEST and shape[0] * shape[1] > 1 and shape[2] * shape[3] > 1:
        raise TooLarge
    return out, shape


def _filled(value: Value, rows: int, columns: int) -> Value:
    s, f, r, c = value.shape
    height = rows if r > 1 else 1
    width = columns if c > 1 else 1
    if (r, c) == (height, width):
        return value
    kind = np.full((s, f, height, width), ERROR, dtype=np.uint8)
    num = np.full((s, f, height, width), float(CellErrorValue.NA.code))
    kind[:, :, :r, :c] = value.kinds
    num[:, :, :r, :c] = value.num
    text = None
    if value.text is not None:
        text = np.full((s, f, height, width), None, dtype=object)
        text[:, :, :r, :c] = value.text
    return Value(kind, num, text)


def joined_codes(*codes: Codes) -> Codes:
    """The first error of several, elementwise."""
    out: Codes = None
    for more in codes:
        if more is not None:
            out = more if out is None else np.where(out != 0, out, more)
    return out


def finite(num: Floats, codes: Codes = None) -> Value:
    """A value of numbers: #NUM! for NaN and infinities, errors where `codes` says so."""
    if codes is None and np.isfinite(num.sum()):
        return Value(NUMBER, num)
    bad = ~np.isfinite(num)
    if bad.any():
        codes = joined_codes(codes, np.where(bad, _NUM, 0.0))
    return Value(NUMBER, num) if codes is None else with_errors(Value(NUMBER, num), codes)


def binary(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` for the operators of values."""
    (left, right), _ = aligned([left, right])
    if operator in "+-*/^":
        return _arithmetic(operator, left, right)
    if operator == "&":
        first, codes1 = to_texts(left)
        second, codes2 = to_texts(right)
        codes = joined_codes(codes1, codes2)
        value = texts(np.asarray(first + second, dtype=object))
        return value if codes is None else with_errors(value, codes)
    return _comparison(operator, left, right)


def _arithmetic(operator: str, left: Value, right: Value) -> Value:
    a, codes1 = to_numbers(left)
    b, codes2 = to_numbers(right)
    codes = None if codes1 is None and codes2 is None else joined_codes(codes1, codes2)
    with np.errstate(all="ignore"):
        if operator == "+":
            return finite(a + b, codes)
        if operator == "-":
            return finite(a - b, codes)
        if operator == "*":
            return finite(a * b, codes)
        if operator == "/":
            zero = b == 0
            if zero.any():
                codes = joined_codes(codes, np.where(zero, _DIV0, 0.0))
                b = np.where(zero, 1.0, b)
            return finite(a / b, codes)
        zero = (a == 0) & (b <= 0)
        if zero.any():
            codes = joined_codes(codes, np.where(zero & (b == 0), _NUM, np.where(zero, _DIV0, 0.0)))
            a = np.where(zero, 1.0, a)
        return finite(np.power(a, b), codes)


_TESTS: dict[str, Any] = {
    "=": lambda sign: sign == 0,
    "<>": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    ">": lambda sign: sign > 0,
    "<=": lambda sign: sign <= 0,
    ">=": lambda sign: sign >= 0,
}


def _comparison(operator: str, left: Value, right: Value) -> Value:
    codes = joined_codes(error_codes(left), error_codes(right))
    truth = _TESTS[operator](compare(left, right))
    value = Value(BOOL, truth.astype(np.float64))
    return value if codes is None else with_errors(value, codes)


def compare(left: Value, right: Value) -> Floats:
    """-1, 0 or 1 by Excel's order: numbers < texts < booleans; blanks as the other side's empty value.

    Numbers are compared to 15 digits, texts without case.
    """
    if left.uniform == right.uniform == NUMBER:
        return compare_numbers(left.num, right.num)
    if left.uniform == right.uniform == TEXT:
        return _compare_texts(left, right)
    (left, right), shape = aligned([left, right])
    kind1, kind2 = np.broadcast_to(left.kinds, shape), np.broadcast_to(right.kinds, shape)
    rank1, rank2 = _RANKS[kind1], _RANKS[kind2]
    rank1 = np.where(kind1 == BLANK, rank2, rank1)
    rank2 = np.where(kind2 == BLANK, rank1, rank2)
    out: Floats = np.sign(rank1 - rank2)
    same_numbers = (rank1 == rank2) & (rank1 != 2)
    if same_numbers.any():
        out = np.where(same_numbers, compare_numbers(left.num, right.num), out)
    same_texts = (rank1 == rank2) & (rank1 == 2)
    if same_texts.any():
        words1, words2 = np.broadcast_to(left.texts, shape), np.broadcast_to(right.texts, shape)
        out = np.array(out)
        for index in zip(*np.nonzero(same_texts), strict=True):
            a, b = (words1[index] or "").lower(), (words2[index] or "").lower()
            out[index] = (a > b) - (a < b)
    return out


_RANKS = np.array([1.0, 1.0, 2.0, 3.0, 4.0])
"""Order of the kinds BLANK (replaced), NUMBER, TEXT, BOOL, ERROR."""


def compare_numbers(a: Floats, b: Floats) -> Floats:
    """-1, 0 or 1; numbers that are the same in 15 significant digits are equal."""
    with np.errstate(all="ignore"):
        out: Floats = np.sign(a - b)
        if b.size == 1 and b.flat[0] == 0.0:
            return out
        near = (out != 0) & (np.abs(a - b) < 1e-14 * np.abs(a))
    if near.any():
        wide_a, wide_b = np.broadcast_to(a, near.shape), np.broadcast_to(b, near.shape)
        for index in zip(*np.nonzero(near), strict=True):
            if f"{wide_a[index]:.14e}" == f"{wide_b[index]:.14e}":
                out[index] = 0.0
    return out


def _compare_texts(left: Value, right: Value) -> Floats:
    words1 = lowered(left)
    words2 = lowered(right)
    equal = np.asarray(words1 == words2, dtype=bool)
    if equal.all():
        return np.zeros(equal.shape)
    return np.where(equal, 0.0, np.where(np.asarray(words1 > words2, dtype=bool), 1.0, -1.0))


def lowered(value: Value) -> Any:
    """The texts of an all-text value in lower case, remembered with it."""

    def build() -> Any:
        words = value.texts
        out = np.empty(words.shape, dtype=object)
        out.reshape(-1)[:] = [word.lower() for word in words.reshape(-1).tolist()]
        return out

    return value.memo("lowered", build)


def negated(value: Value) -> Value:
    """Unary minus."""
    num, codes = to_numbers(value)
    return numbers(0.0 - num) if codes is None else with_errors(numbers(0.0 - num), codes)


def percent(value: Value) -> Value:
    """The percent sign: a hundredth."""
    num, codes = to_numbers(value)
    return numbers(num / 100) if codes is None else with_errors(numbers(num / 100), codes)
