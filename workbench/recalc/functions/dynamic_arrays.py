"""Excel's functions that select, order and reshape arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Any

import numpy as np

from workbench.recalc.coerce import logical_of, number_of
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Reference, Region
from workbench.recalc.registry import ANY, ARRAY, INTEGER, LOGICAL, NUMBER, RAW, Call, Operand, lane, lazy, opt
from workbench.recalc.values import CellErrorValue, Failure, Objects, Scalar, error

_NA = CellErrorValue.NA


# --- FILTER, SORT, UNIQUE


@lane("FILTER", ARRAY, ARRAY, opt(ARRAY))
def filter_(array: Objects, include: Objects, if_empty: Objects | None) -> Any:
    """The rows (or columns) whose condition holds; #CALC! when there is none and nothing is given for that."""
    if include.shape == (array.shape[0], 1):
        axis = 0
    elif include.shape == (1, array.shape[1]):
        axis = 1
    else:
        return CellErrorValue.VALUE
    chosen = [_truth(item) for item in include.reshape(-1)]
    if any(chosen):
        return np.compress(chosen, array, axis=axis)
    return CellErrorValue.CALC if if_empty is None else if_empty


def _truth(item: Scalar) -> bool:
    truth = logical_of(item)
    if isinstance(truth, CellErrorValue):
        raise Failure(truth)
    return truth


def _rank(item: Scalar) -> tuple[int, Any]:
    """Sort key within ascending order: numbers, texts, FALSE, TRUE, errors."""
    if isinstance(item, bool):
        return 2, item
    if isinstance(item, str):
        return 1, item.lower()
    if isinstance(item, CellErrorValue):
        return 3, 0
    return 0, item


def _order(keys: Sequence[tuple[Sequence[Scalar], int]]) -> list[int]:
    """The stable order of elements by several keys, each ascending (1) or descending (-1); blanks last in both."""
    ranked = [([None if item is None else _rank(item) for item in items], sign) for items, sign in keys]

    def compare(a: int, b: int) -> int:
        for items, sign in ranked:
            one, other = items[a], items[b]
            if one is None or other is None:
                if one is not other:
                    return 1 if one is None else -1
            elif one != other:
                return sign if one > other else -sign
        return 0

    return sorted(range(len(ranked[0][0])), key=cmp_to_key(compare))


def _integers(array: Objects) -> list[int]:
    out = []
    for item in array.reshape(-1):
        number = number_of(item)
        if isinstance(number, CellErrorValue):
            raise Failure(number)
        out.append(int(number))
    return out


def _signs(array: Objects | None) -> list[int]:
    signs = [1] if array is None else _integers(array)
    if any(sign not in (1, -1) for sign in signs):
        raise Failure(CellErrorValue.VALUE)
    return signs


@lane("SORT", ARRAY, opt(ARRAY, empty=True), opt(ARRAY, empty=True), opt(LOGICAL, False, empty=True))
def sort(array: Objects, index: Objects | None, order: Objects | None, by_column: bool) -> Any:
    """Rows (or columns) in the order of one or several of their elements."""
    table = array.T if by_column else array
    at = [1] if index is None else _integers(index)
    signs = _signs(order)
    if len(signs) == 1:
        signs = signs * len(at)
    if len(signs) != len(at) or any(not 1 <= one <= table.shape[1] for one in at):
        return CellErrorValue.VALUE
    ordered = table[_order([(table[:, one - 1].tolist(), sign) for one, sign in zip(at, signs, strict=True)])]
    return ordered.T if by_column else ordered


@lane("SORTBY", ARRAY, ARRAY, opt(ARRAY, empty=True), repeat=2)
def sortby(array: Objects, *keys: Objects | None) -> Any:
    """Rows (or columns) in the order of other rows or columns."""
    pairs = []
    by_column = False
    for key, order in zip(keys[0::2], [*keys[1::2], None], strict=False):
        signs = _signs(order)
        if key is None or len(signs) != 1:
            return CellErrorValue.VALUE
        if key.shape == (array.shape[0], 1):
            by_column = False
        elif key.shape == (1, array.shape[1]):
            by_column = True
        else:
            return CellErrorValue.VALUE
        pairs.append((key.reshape(-1).tolist(), signs[0]))
    if len({len(items) for items, _ in pairs}) != 1:
        return CellErrorValue.VALUE
    places = _order(pairs)
    return array[:, places] if by_column else array[places]


def _same_key(item: Scalar) -> Any:
    if isinstance(item, str):
        return "text", item.lower()
    if isinstance(item, bool):
        return "bool", item
    return item


@lane("UNIQUE", ARRAY, opt(LOGICAL, False, empty=True), opt(LOGICAL, False, empty=True))
def unique(array: Objects, by_column: bool, exactly_once: bool) -> Any:
    """The different rows (or columns), in the order of their first appearance; texts without case."""
    table = array.T if by_column else array
    counts: dict[Any, int] = {}
    first: dict[Any, int] = {}
    for at, row in enumerate(table.tolist()):
        key = tuple(_same_key(item) for item in row)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, at)
    kept = [at for key, at in first.items() if not exactly_once or counts[key] == 1]
    if not kept:
        return CellErrorValue.CALC
    return table[kept].T if by_column else table[kept]


# --- new arrays


def _size(rows: float, columns: float) -> tuple[int, int]:
    if rows < 0 or columns < 0:
        raise Failure(CellErrorValue.VALUE)
    if rows == 0 or columns == 0:
        raise Failure(CellErrorValue.CALC)
    if rows > MAX_ROWS or columns > MAX_COLUMNS or rows * columns > 1 << 24:
        raise Failure(CellErrorValue.VALUE)
    return int(rows), int(columns)


def _one(default: float) -> Any:
    return opt(NUMBER, default, empty=True)


@lane("SEQUENCE", opt(INTEGER, 1.0, empty=True), opt(INTEGER, 1.0, empty=True), _one(1.0), _one(1.0))
def sequence(rows: float, columns: float, start: float, step: float) -> Any:
    """Numbers with a constant step, row by row."""
    height, width = _size(rows, columns)
    return (start + step * np.arange(height * width, dtype=np.float64)).reshape(height, width)


@lane(
    "RANDARRAY",
    opt(INTEGER, 1.0, empty=True),
    opt(INTEGER, 1.0, empty=True),
    _one(0.0),
    _one(1.0),
    opt(LOGICAL, False, empty=True),
    volatile=True,
)
def randarray(rows: float, columns: float, low: float, high: float, whole: bool) -> Any:
    """Random numbers in [low, high), or whole numbers from low to high."""
    height, width = _size(rows, columns)
    if low > high or (whole and (low != int(low) or high != int(high))):
        return CellErrorValue.VALUE
    generator = np.random.default_rng()
    if whole:
        return generator.integers(int(low), int(high) + 1, size=(height, width)).astype(np.float64)
    return generator.uniform(low, high, size=(height, width))


# --- parts of arrays


def _span(size: int, count: float, drop: bool) -> tuple[int, int]:
    """First element kept and the one after the last."""
    whole = int(count)
    if drop:
        first, last = (min(whole, size), size) if whole >= 0 else (0, max(size + whole, 0))
    else:
        first, last = (0, min(whole, size)) if whole >= 0 else (max(size + whole, 0), size)
    if first >= last:
        raise Failure(CellErrorValue.CALC)
    return first, last


def _cut(call: Call, drop: bool) -> Operand:
    operand = call.operand(0)
    region = operand.single if isinstance(operand, Reference) else None
    value = None
    if region is None or region.moves or region.rows > 65_535 or region.columns > 16_000:
        region = None
        value = call.dereferenced(operand) if isinstance(operand, Reference) else call.array(0)
    height, width = (region.rows, region.columns) if region is not None else value.shape[2:]  # type: ignore[union-attr]
    spans = []
    for index, size in ((1, height), (2, width)):
        if call.missing(index):
            spans.append((0, size))
            continue
        count = call.scalar(index)
        number = number_of(count)
        if isinstance(number, CellErrorValue):
            return error(number)
        spans.append(_span(size, number, drop))
    (top, bottom), (left, right) = spans
    if region is not None:
        row, column = region.row1, region.column1
        return Reference((Region(region.sheet, row + top, column + left, row + bottom - 1, column + right - 1),))
    assert value is not None
    return value[:, :, top:bottom, left:right]


@lazy("TAKE", minimum=2, maximum=3, returns_reference=True)
def take(call: Call) -> Operand:
    """The first rows and columns, or with negative counts the last."""
    return _cut(call, drop=False)


@lazy("DROP", minimum=2, maximum=3, returns_reference=True)
def drop(call: Call) -> Operand:
    """Without the first rows and columns, or with negative counts the last."""
    return _cut(call, drop=True)


def _chosen(size: int, wanted: Iterable[Objects]) -> list[int]:
    out = []
    for array in wanted:
        for number in _integers(array):
            if not 1 <= abs(number) <= size:
                raise Failure(CellErrorValue.VALUE)
            out.append(number - 1 if number > 0 else size + number)
    return out


@lane("CHOOSECOLS", ARRAY, ARRAY, repeat=1)
def choosecols(array: Objects, *wanted: Objects) -> Objects:
    """Columns by number; negative ones count from the end."""
    return array[:, _chosen(array.shape[1], wanted)]


@lane("CHOOSEROWS", ARRAY, ARRAY, repeat=1)
def chooserows(array: Objects, *wanted: Objects) -> Objects:
    """Rows by number; negative ones count from the end."""
    return array[_chosen(array.shape[0], wanted)]


# --- joined and reshaped arrays


def _padded(array: Objects, rows: int, columns: int, pad: Scalar) -> Objects:
    out = np.full((rows, columns), pad, dtype=object)
    out[: array.shape[0], : array.shape[1]] = array
    return out


@lane("HSTACK", ARRAY, repeat=1)
def hstack(*arrays: Objects) -> Objects:
    """Arrays side by side, short ones filled up with #N/A."""
    rows = max(array.shape[0] for array in arrays)
    return np.hstack([_padded(array, rows, array.shape[1], _NA) for array in arrays])


@lane("VSTACK", ARRAY, repeat=1)
def vstack(*arrays: Objects) -> Objects:
    """Arrays one below the other, narrow ones filled up with #N/A."""
    columns = max(array.shape[1] for array in arrays)
    return np.vstack([_padded(array, array.shape[0], columns, _NA) for array in arrays])


def _kept(array: Objects, ignore: float, by_column: bool) -> list[Scalar]:
    if ignore not in (0, 1, 2, 3):
        raise Failure(CellErrorValue.VALUE)
    items: list[Scalar] = (array.T if by_column else array).reshape(-1).tolist()
    if ignore in (1, 3):
        items = [item for item in items if item is not None]
    if ignore in (2, 3):
        items = [item for item in items if not isinstance(item, CellErrorValue)]
    if not items:
        raise Failure(CellErrorValue.CALC)
    return items


@lane("TOCOL", ARRAY, opt(INTEGER, 0.0, empty=True), opt(LOGICAL, False, empty=True))
def tocol(array: Objects, ignore: float, by_column: bool) -> Any:
    """All elements in one column; without blanks (1), errors (2) or both (3)."""
    return [[item] for item in _kept(array, ignore, by_column)]


@lane("TOROW", ARRAY, opt(INTEGER, 0.0, empty=True), opt(LOGICAL, False, empty=True))
def torow(array: Objects, ignore: float, by_column: bool) -> Any:
    """All elements in one row; without blanks (1), errors (2) or both (3)."""
    return [_kept(array, ignore, by_column)]


def _wrapped(vector: Objects, count: float, pad: Scalar) -> Objects:
    if 1 not in vector.shape:
        raise Failure(CellErrorValue.VALUE)
    if count < 1:
        raise Failure(CellErrorValue.NUM)
    items = vector.reshape(-1).tolist()
    if count > 1 << 24:
        raise Failure(CellErrorValue.NUM)
    width = int(count)
    rows = -(-len(items) // width)
    out = np.full(rows * width, pad, dtype=object)
    for at, item in enumerate(items):
        out[at] = item
    return out.reshape(rows, width)


@lane("WRAPROWS", ARRAY, INTEGER, opt(RAW, _NA))
def wraprows(vector: Objects, count: float, pad: Scalar) -> Objects:
    """A vector in rows of so many elements."""
    return _wrapped(vector, count, pad)


@lane("WRAPCOLS", ARRAY, INTEGER, opt(RAW, _NA))
def wrapcols(vector: Objects, count: float, pad: Scalar) -> Objects:
    """A vector in columns of so many elements."""
    return _wrapped(vector, count, pad).T


@lane("EXPAND", ARRAY, opt(ANY, empty=True), opt(ANY, empty=True), opt(RAW, _NA))
def expand(array: Objects, rows: Scalar, columns: Scalar, pad: Scalar) -> Any:
    """An array filled up to a size; #VALUE! when it is larger already."""
    sizes = []
    for wanted, size in zip((rows, columns), array.shape, strict=True):
        number = float(size) if wanted is None else number_of(wanted)
        if isinstance(number, CellErrorValue):
            return number
        if int(number) < size:
            return CellErrorValue.VALUE
        sizes.append(int(number))
    _size(*sizes)
    return _padded(array, sizes[0], sizes[1], pad)
