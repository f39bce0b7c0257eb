"""MATCH, XMATCH, XLOOKUP, VLOOKUP, HLOOKUP, LOOKUP."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.recalc.coerce import to_numbers
from workbench.recalc.functions._criteria import has_wildcard
from workbench.recalc.functions._lookup import (
    Finder,
    Index,
    NumberFinder,
    Positions,
    equal_in_lanes,
    found,
    picked,
)
from workbench.recalc.functions.logical import chosen_where, failing_where
from workbench.recalc.operators import joined_codes
from workbench.recalc.references import Reference, Region
from workbench.recalc.registry import ANY, ARRAY, INTEGER, LOGICAL, NUMBER, Call, Operand, lazy, opt, vector
from workbench.recalc.values import (
    BLANK,
    TEXT,
    Bools,
    CellErrorValue,
    Failure,
    Floats,
    Value,
    codes_where,
    error,
    error_codes,
)
from workbench.recalc.values import NUMBER as NUMBERS_KIND

_NA = CellErrorValue.NA


def _whole(array: Any) -> Any:
    return array


def _first_column(array: Any) -> Any:
    return array[:, :1]


def _first_row(array: Any) -> Any:
    return array[:1]


def _last_column(array: Any) -> Any:
    return array[:, -1:]


def _last_row(array: Any) -> Any:
    return array[-1:]


def _exact(index: Index, kind: int, num: float, word: str) -> int:
    if kind == TEXT and has_wildcard(word):
        return index.wildcard(word)
    if kind == BLANK:
        return index.exact(NUMBERS_KIND, 0.0, "")
    return index.exact(kind, num, word)


def _exact_numbers(index: Index, nums: Floats) -> Positions:
    return index.exact_numbers(nums)


def _ascending(index: Index, kind: int, num: float, word: str) -> int:
    return index.ascending(NUMBERS_KIND if kind == BLANK else kind, num, word)


def _ascending_numbers(index: Index, nums: Floats) -> Positions:
    return index.ascending_numbers(nums)


def _descending(index: Index, kind: int, num: float, word: str) -> int:
    return index.descending(NUMBERS_KIND if kind == BLANK else kind, num, word)


_MATCH: dict[int, tuple[Finder, NumberFinder | None]] = {
    0: (_exact, _exact_numbers),
    1: (_ascending, _ascending_numbers),
    -1: (_descending, None),
}


@vector("MATCH", ANY, ARRAY, opt(NUMBER, 1.0))
def match(wanted: Value, table: Value, kind: Any) -> tuple[Floats, Any]:
    """Position of a value in a row or column; #N/A when it is not there."""
    if 1 not in table.shape[2:]:
        return np.zeros(wanted.shape), codes_where((np.ones(wanted.shape, dtype=bool), _NA))
    signs = np.unique(np.sign(kind)).astype(int).tolist()
    if len(signs) == 1:
        return _numbered(_matched(wanted, table, signs[0]))
    places = np.full(np.broadcast_shapes(wanted.shape, (*table.shape[:2], 1, 1), np.shape(kind)), -1)
    for sign in signs:
        places = np.where(np.sign(kind) == sign, _matched(wanted, table, sign), places)
    return _numbered(places)


def _matched(wanted: Value, table: Value, sign: int) -> Positions:
    here = equal_in_lanes(wanted, table) if sign == 0 and table.shape[:2] != (1, 1) else None
    return found(wanted, table, "all", _whole, *_MATCH[sign]) if here is None else here


def _numbered(places: Positions) -> tuple[Floats, Any]:
    """Positions from 1, and #N/A for those that are none."""
    missing = places < 0
    return np.asarray(places + 1.0), codes_where((missing, _NA)) if missing.any() else None


@lru_cache(maxsize=256)
def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error:
        raise Failure(CellErrorValue.VALUE) from None


def _xmatcher(mode: int, search: int) -> tuple[Finder, NumberFinder | None]:
    """How XMATCH and XLOOKUP search; #VALUE! for modes that there are not."""
    if mode not in (0, -1, 1, 2, 3) or search not in (1, -1, 2, -2):
        raise Failure(CellErrorValue.VALUE)
    if abs(search) == 2:
        if mode in (2, 3):
            raise Failure(CellErrorValue.VALUE)
        return _binary(mode, search), None
    last = search == -1
    if mode == 0:
        return lambda index, kind, num, word: index.exact(kind, num, word, last), (
            lambda index, nums: index.exact_numbers(nums, last)
        )
    if mode == 2:
        return (
            lambda index, kind, num, word: (
                index.wildcard(word, last) if kind == TEXT else index.exact(kind, num, word, last)
            ),
            None,
        )
    if mode == 3:
        return _by_regex(last), None
    return lambda index, kind, num, word: index.nearest(kind, num, word, mode == 1, last), None


def _by_regex(last: bool) -> Finder:
    def find(index: Index, kind: int, num: float, word: str) -> int:
        if kind != TEXT:
            return index.exact(kind, num, word, last)
        search = _regex(word).search
        places = np.flatnonzero(index.kinds == TEXT).tolist()
        return next((at for at in (reversed(places) if last else places) if search(index.words[at])), -1)

    return find


def _binary(mode: int, search: int) -> Finder:
    def find(index: Index, kind: int, num: float, word: str) -> int:
        return index.binary(kind, num, word, mode, search == -2)

    return find


@vector("XMATCH", ANY, ARRAY, opt(INTEGER, 0.0), opt(INTEGER, 1.0))
def xmatch(wanted: Value, table: Value, mode: Any, search: Any) -> tuple[Any, Any]:
    """As MATCH, exact by default, with the modes of XLOOKUP."""
    if 1 not in table.shape[2:]:
        raise Failure(CellErrorValue.VALUE)
    return _numbered(_xfound(wanted, table, mode, search))


def _xfound(wanted: Value, table: Value, mode: Any, search: Any) -> Positions:
    try:
        shape = np.broadcast_shapes(wanted.shape, (*table.shape[:2], 1, 1), np.shape(mode), np.shape(search))
    except ValueError:
        raise Failure(_NA) from None
    places = np.full(shape, -1)
    modes = np.broadcast_to(mode, np.broadcast_shapes(np.shape(mode), np.shape(search)))
    searches = np.broadcast_to(search, modes.shape)
    for pair in sorted(set(zip(modes.reshape(-1).tolist(), searches.reshape(-1).tolist(), strict=True))):
        here = found(wanted, table, "all", _whole, *_xmatcher(int(pair[0]), int(pair[1])))
        places = np.where((modes == pair[0]) & (searches == pair[1]), here, places)
    return places


def _option(call: Call, index: int, default: float) -> tuple[Any, Any]:
    if call.missing(index):
        return default, None
    num, codes = to_numbers(call.value(index))
    return np.trunc(num), codes


@lazy("XLOOKUP", minimum=3, maximum=6, returns_reference=True)
def xlookup(call: Call) -> Operand:
    """What stands beside a value that is looked up; a reference when it can be."""
    wanted, table = call.value(0), call.array(1)
    returned = call.operand(2)
    mode, codes1 = _option(call, 4, 0.0)
    search, codes2 = _option(call, 5, 1.0)
    codes = joined_codes(error_codes(wanted), codes1, codes2)
    rows, columns = table.shape[2:]
    if rows != 1 and columns != 1:
        return error(CellErrorValue.VALUE)
    down = columns == 1 and rows >= 1
    result = call.array(2) if not isinstance(returned, Reference) else call.dereferenced(returned)
    if rows == columns == 1:
        down = result.shape[2] == 1
    if result.shape[2 if down else 3] != (rows if down else columns):
        return error(CellErrorValue.VALUE)
    places = _xfound(wanted, table, mode, search)
    missing = places < 0
    if isinstance(returned, Reference) and places.size == 1 and codes is None and not missing.any():
        region = returned.single
        if region is not None and not region.moves:
            return _part(region, int(places.flat[0]), down)
    out = _beside(result, np.maximum(places, 0), down)
    if missing.any():
        other = error(_NA) if call.missing(3) else call.value(3)
        out = chosen_where(missing, other, out)
    return out if codes is None else failing_where(out, codes)


def _part(region: Region, at: int, down: bool) -> Reference:
    if down:
        return Reference((Region(region.sheet, region.row1 + at, region.column1, region.row1 + at, region.column2),))
    return Reference((Region(region.sheet, region.row1, region.column1 + at, region.row2, region.column1 + at),))


def _beside(result: Value, places: Positions, down: bool) -> Value:
    """The row (or column) of `result` at each place; of several places in that direction only the first cell."""
    rows, columns = result.shape[2:]
    if down:
        across = np.arange(columns if places.shape[3] == 1 else 1).reshape(1, 1, 1, -1)
        return picked(result, places, across)
    along = np.arange(rows if places.shape[2] == 1 else 1).reshape(1, 1, -1, 1)
    return picked(result, along, places)


def _looked_up(
    wanted: Value, table: Value, number: Floats, approximate: Bools | bool, axis: int
) -> Value | tuple[Value, Any]:
    """VLOOKUP (axis 2) and HLOOKUP (axis 3)."""
    key, cut = ("column", _first_column) if axis == 2 else ("row", _first_row)
    near = np.asarray(approximate, dtype=bool)
    places = np.full((1, 1, 1, 1), -1)
    if not near.all():
        places = found(wanted, table, key, cut, *_MATCH[0])
    if near.any():
        places = np.where(near, found(wanted, table, key, cut, *_MATCH[1]), places)
    across = table.shape[5 - axis]
    other = np.broadcast_to(number, np.broadcast_shapes(number.shape, places.shape)) - 1
    codes = codes_where((other < 0, CellErrorValue.VALUE), (other >= across, CellErrorValue.REF), (places < 0, _NA))
    at = np.clip(other, 0, across - 1).astype(np.intp)
    where = np.maximum(places, 0)
    return (picked(table, where, at) if axis == 2 else picked(table, at, where)), codes


@vector("VLOOKUP", ANY, ARRAY, INTEGER, opt(LOGICAL, True))
def vlookup(wanted: Value, table: Value, column: Floats, approximate: Any) -> Any:
    """The value in a column of the row whose first value matches."""
    return _looked_up(wanted, table, column, approximate, 2)


@vector("HLOOKUP", ANY, ARRAY, INTEGER, opt(LOGICAL, True))
def hlookup(wanted: Value, table: Value, row: Floats, approximate: Any) -> Any:
    """The value in a row of the column whose first value matches."""
    return _looked_up(wanted, table, row, approximate, 3)


@vector("LOOKUP", ANY, ARRAY, opt(ARRAY))
def lookup(wanted: Value, table: Value, result: Value | None) -> Any:
    """The value beside the last one not above the wanted, in ascending order; without a result vector in its last."""
    rows, columns = table.shape[2:]
    if result is None:
        down = rows >= columns
        key, cut = ("column", _first_column) if down else ("row", _first_row)
        places = found(wanted, table, key, cut, *_MATCH[1])
        where = np.maximum(places, 0)
        out = picked(table, where, np.intp(columns - 1)) if down else picked(table, np.intp(rows - 1), where)
        return out, codes_where((places < 0, _NA))
    if 1 not in table.shape[2:] or 1 not in result.shape[2:]:
        raise Failure(_NA)
    places = found(wanted, table, "all", _whole, *_MATCH[1])
    where = np.maximum(places, 0)
    length = max(result.shape[2:])
    codes = codes_where((places < 0, _NA), (places >= length, CellErrorValue.REF))
    where = np.minimum(where, length - 1)
    zero = np.intp(0)
    return (picked(result, where, zero) if result.shape[3] == 1 else picked(result, zero, where)), codes
