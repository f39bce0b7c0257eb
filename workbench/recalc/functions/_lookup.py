"""Finding values in a row or column: the engine of MATCH, XMATCH and the LOOKUP functions.

An `Index` is built once for a looked-up vector and remembered with its table; questions are answered by
hashing and binary search, so that a column of n lookups in a column of n costs O(n log n).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.functions._criteria import has_wildcard, pattern
from workbench.recalc.values import BLANK, BOOL, ERROR, NUMBER, TEXT, Bools, Floats, Kinds, Objects, Value

Positions: TypeAlias = NDArray[np.intp]
"""Positions from 0; -1 where nothing was found."""


@dataclass(frozen=True)
class Sorted:
    """The different values of one kind in ascending order, each with its first and last position."""

    values: Any
    first: Positions
    last: Positions


_RISING = (NUMBER, TEXT, BOOL)


class Index:
    """The elements of one vector, in order."""

    def __init__(self, kinds: Kinds, nums: Floats, words: Objects) -> None:
        self.kinds = kinds
        self.nums = nums
        self.words = words
        self._asked = False

    def sorted(self, kind: int) -> Sorted:
        """The values of NUMBER, TEXT or BOOL."""
        return {NUMBER: self._numbers, TEXT: self._texts, BOOL: self._booleans}[kind]

    @cached_property
    def _numbers(self) -> Sorted:
        return self._distinct(NUMBER)

    @cached_property
    def _booleans(self) -> Sorted:
        return self._distinct(BOOL)

    def _distinct(self, kind: int) -> Sorted:
        places = np.flatnonzero(self.kinds == kind)
        nums = self.nums[places]
        order = np.argsort(nums, kind="stable")
        ordered = nums[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if ordered.size else places
        ends = np.concatenate([starts[1:], [ordered.size]]) - 1 if ordered.size else places
        return Sorted(ordered[starts], places[order[starts]], places[order[ends]])

    @cached_property
    def _texts(self) -> Sorted:
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for place in np.flatnonzero(self.kinds == TEXT).tolist():
            word = self.words[place].lower()
            first.setdefault(word, place)
            last[word] = place
        ordered = sorted(first)
        return Sorted(
            ordered,
            np.array([first[word] for word in ordered], dtype=np.intp),
            np.array([last[word] for word in ordered], dtype=np.intp),
        )

    @cached_property
    def _first_text(self) -> dict[str, int]:
        return dict(zip(self._texts.values, self._texts.first.tolist(), strict=True))

    @cached_property
    def _last_text(self) -> dict[str, int]:
        return dict(zip(self._texts.values, self._texts.last.tolist(), strict=True))

    def exact(self, kind: int, num: float, word: str, last: bool = False) -> int:
        """Where that value is; -1 when nowhere. Blanks match blanks only."""
        if kind in (TEXT, NUMBER) and not self._asked and not last:
            self._asked = True
            return self._scanned(kind, num, word)
        if kind == TEXT:
            return (self._last_text if last else self._first_text).get(word.lower(), -1)
        if kind == BLANK:
            places = np.flatnonzero(self.kinds == BLANK)
            return int(places[-1 if last else 0]) if places.size else -1
        if kind == ERROR:
            return -1
        return int(self.exact_numbers(np.array([num]), last, kind)[0])

    def _scanned(self, kind: int, num: float, word: str) -> int:
        """`exact` without building anything: the first question about a range may be the only one."""
        if kind == NUMBER:
            places = np.flatnonzero((self.kinds == NUMBER) & (self.nums == num))
            return int(places[0]) if places.size else -1
        wanted, length = word.lower(), len(word)
        for place in np.flatnonzero(self.kinds == TEXT).tolist():
            here = self.words[place]
            if (len(here) == length or not here.isascii()) and here.lower() == wanted:
                return int(place)
        return -1

    def exact_numbers(self, nums: Floats, last: bool = False, kind: int = NUMBER) -> Positions:
        """Where those numbers are."""
        known = self.sorted(kind)
        if not known.values.size:
            return np.full(nums.shape, -1, dtype=np.intp)
        where = known.last if last else known.first
        if known.values.size <= 8 < nums.size:
            out = np.full(nums.shape, -1, dtype=np.intp)
            for value, place in zip(known.values.tolist(), where.tolist(), strict=True):
                np.putmask(out, nums == value, place)
            return out
        at = np.minimum(known.values.searchsorted(nums), known.values.size - 1)
        places = where[at]
        return np.where(known.values[at] == nums, places, -1)

    def nearest(self, kind: int, num: float, word: str, larger: bool, last: bool = False) -> int:
        """The largest value not above (or smallest not below) that one, in any order; -1 when none.

        All numbers are below all texts, these below FALSE and TRUE; blanks and errors don't count.
        """
        if kind in (BLANK, ERROR):
            return self.exact(kind, num, word, last)
        known = self.sorted(kind)
        key: Any = word.lower() if kind == TEXT else num
        at = bisect_left(known.values, key) if larger else bisect_right(known.values, key) - 1
        others = _RISING[_RISING.index(kind) + 1 :] if larger else _RISING[: _RISING.index(kind)][::-1]
        for other in others:
            if 0 <= at < len(known.values):
                break
            known = self.sorted(other)
            at = 0 if larger else len(known.values) - 1
        if not 0 <= at < len(known.values):
            return -1
        return int((known.last if last else known.first)[at])

    def wildcard(self, word: str, last: bool = False) -> int:
        """The first text that matches a pattern."""
        if not has_wildcard(word):
            return self.exact(TEXT, 0.0, word, last)
        match = pattern(word).fullmatch
        places = np.flatnonzero(self.kinds == TEXT).tolist()
        for place in reversed(places) if last else places:
            if match(self.words[place]):
                return int(place)
        return -1

    @cached_property
    def _columns(self) -> dict[int, tuple[Positions, Any, bool]]:
        """For each kind: its positions, its values in place, and for numbers whether they ascend."""
        out: dict[int, tuple[Positions, Any, bool]] = {}
        for kind in (NUMBER, TEXT, BOOL):
            places = np.flatnonzero(self.kinds == kind)
            if kind == TEXT:
                out[kind] = places, [word.lower() for word in self.words[places].tolist()], False
            else:
                nums = self.nums[places]
                out[kind] = places, nums, bool((np.diff(nums) >= 0).all())
        return out

    def ascending(self, kind: int, num: float, word: str) -> int:
        """Binary search in ascending order for the last value not above that one; other kinds are passed over."""
        if kind not in (NUMBER, TEXT, BOOL):
            return -1
        places, listed, _ = self._columns[kind]
        key: Any = word.lower() if kind == TEXT else num
        at = bisect_right(listed, key) - 1
        return int(places[at]) if at >= 0 else -1

    def ascending_numbers(self, nums: Floats) -> Positions:
        """`ascending` for numbers."""
        places, listed, rising = self._columns[NUMBER]
        if not places.size:
            return np.full(nums.shape, -1, dtype=np.intp)
        if rising:
            at = np.asarray(listed.searchsorted(nums, side="right")) - 1
        else:
            values = listed.tolist()
            found = [bisect_right(values, key) - 1 for key in nums.reshape(-1).tolist()]
            at = np.array(found, dtype=np.intp).reshape(nums.shape)
        return np.where(at >= 0, places[np.maximum(at, 0)], -1)

    def descending(self, kind: int, num: float, word: str) -> int:
        """Binary search in descending order for the last value not below that one; other kinds are passed over."""
        if kind not in (NUMBER, TEXT, BOOL):
            return -1
        places, listed, _ = self._columns[kind]
        key: Any = word.lower() if kind == TEXT else num
        low, high = 0, len(listed)
        while low < high:
            middle = (low + high) // 2
            if listed[middle] >= key:
                low = middle + 1
            else:
                high = middle
        return int(places[low - 1]) if low else -1

    @cached_property
    def _mixed(self) -> tuple[list[int], list[tuple[int, Any]]]:
        """Positions and keys, in place, of all that is neither blank nor an error; kinds in the order of `nearest`."""
        places = np.flatnonzero((self.kinds != BLANK) & (self.kinds != ERROR)).tolist()
        return places, [
            (_RISING.index(kind), self.words[at].lower() if kind == TEXT else float(self.nums[at]))
            for at, kind in zip(places, self.kinds[places].tolist(), strict=True)
        ]

    @cached_property
    def _mixed_falling(self) -> tuple[list[int], list[tuple[int, Any]]]:
        places, keys = self._mixed
        return places[::-1], keys[::-1]

    def binary(self, kind: int, num: float, word: str, mode: int, falling: bool) -> int:
        """Binary search in ascending or descending order: exact (mode 0), next smaller (-1) or next larger (1)."""
        if kind in (BLANK, ERROR):
            return self.exact(kind, num, word)
        places, keys = self._mixed_falling if falling else self._mixed
        key = (_RISING.index(kind), word.lower() if kind == TEXT else num)
        at = bisect_left(keys, key)
        if not (at < len(keys) and keys[at] == key):
            if mode == 0:
                return -1
            at += -1 if mode == -1 else 0
        return places[at] if 0 <= at < len(places) else -1


def index_of(table: Value, key: Any, vector: Callable[[Any], Any]) -> Index:
    """The index of a vector of a single-lane table, which `vector` cuts out of its (R, C) arrays."""

    def build() -> Index:
        kinds, nums, words = (vector(array[0, 0]).reshape(-1) for array in (table.kinds, table.num, table.texts))
        return Index(kinds, nums, words)

    found: Index = table.memo(("lookup", key), build)
    return found


Finder: TypeAlias = Callable[[Index, int, float, str], int]
NumberFinder: TypeAlias = Callable[[Index, Floats], Positions]


def found(
    wanted: Value,
    table: Value,
    key: Any,
    vector: Callable[[Any], Any],
    finder: Finder,
    numbers: NumberFinder | None = None,
) -> Positions:
    """Position of each element of `wanted` in its lane's vector, shape (S, F, r, c). Errors find nothing."""
    lanes = table.shape[:2]
    if lanes == (1, 1):
        return _answers(index_of(table, key, vector), wanted, finder, numbers)
    s, f = np.broadcast_shapes(wanted.shape[:2], lanes)
    out = np.empty((s, f, *wanted.shape[2:]), dtype=np.intp)
    kinds, nums, words = table.kinds, table.num, table.texts
    for i in range(s):
        for j in range(f):
            at = (i if lanes[0] > 1 else 0, j if lanes[1] > 1 else 0)
            here = Index(*(vector(array[at]).reshape(-1) for array in (kinds, nums, words)))
            out[i, j] = _answers(here, wanted.lane(i, j), finder, numbers)[0, 0]
    return out


def _answers(index: Index, wanted: Value, finder: Finder, numbers: NumberFinder | None) -> Positions:
    if wanted.uniform == NUMBER and numbers is not None and wanted.num.size > 1:
        return numbers(index, wanted.num)
    out = np.full(wanted.shape, -1, dtype=np.intp)
    flat = out.reshape(-1)
    kinds, nums, words = wanted.kinds.reshape(-1), wanted.num.reshape(-1), wanted.texts.reshape(-1)
    known: dict[Any, int] = {}
    for at, kind in enumerate(kinds.tolist()):
        if kind == ERROR:
            continue
        key = (kind, float(nums[at]), words[at] if kind == TEXT else "")
        if key not in known:
            known[key] = finder(index, *key)
        flat[at] = known[key]
    return out


def equal_in_lanes(wanted: Value, table: Value) -> Positions | None:
    """Exact positions of numbers in vectors of numbers that vary over lanes, all at once; None where it can't be."""
    if wanted.uniform != NUMBER or table.uniform != NUMBER or wanted.shape[2:] != (1, 1):
        return None
    same: Bools = (table.num == wanted.num).reshape(*np.broadcast_shapes(table.shape[:2], wanted.shape[:2]), -1)
    at = same.argmax(axis=-1)
    hit = np.take_along_axis(same, at[..., None], axis=-1)[..., 0]
    return np.where(hit, at, -1)[..., None, None]


def _taken(table: Value, places: Any) -> Value:
    """Elements at places, counted along rows, that are the same in every scenario: (1, F, r, c) → (S, F, r, c)."""
    shape = (table.shape[0], *places.shape[1:])
    flat = places.reshape(-1)

    def taken(array: Any) -> Any:
        return array.reshape(table.shape[0], -1).take(flat, axis=1).reshape(shape)

    kind = table.kind if isinstance(table.kind, int) else taken(table.kind)
    text = None if table.text is None else taken(table.text)
    return Value(kind, taken(table.num), text, referenced=table.referenced).normalised()


def picked(table: Value, rows: Any, columns: Any) -> Value:
    """Elements of `table` at rows and columns (from 0) of shape (S, F, r, c), lane by lane; both within it."""
    shape = np.broadcast_shapes(np.shape(rows), np.shape(columns))
    if table.shape[1] == 1 and shape[0] == 1:
        return _taken(table, np.asarray(rows * table.shape[3] + columns))
    s, f = np.broadcast_shapes(table.shape[:2], shape[:2])
    scenario = (np.arange(s) if table.shape[0] > 1 else np.zeros(1, dtype=np.intp)).reshape(-1, 1, 1, 1)
    cell = (np.arange(f) if table.shape[1] > 1 else np.zeros(1, dtype=np.intp)).reshape(1, -1, 1, 1)
    where = (scenario, cell, rows, columns)
    kind = table.kind if isinstance(table.kind, int) else table.kind[where]
    text = None if table.text is None else table.text[where]
    return Value(kind, table.num[where], text, referenced=table.referenced).normalised()
