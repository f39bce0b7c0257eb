"""Sums, counts and extremes of the elements that meet criteria: the engine of SUMIFS and its kin.

Equality criteria over ranges that vary with nothing are answered from groups built once (memoised with the
range); other criteria by one mask for each distinct combination of criteria, not for each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.functions._criteria import SIDES, Criterion, criterion, key_ids
from workbench.recalc.functions._windows import Windows, sliced
from workbench.recalc.operators import aligned
from workbench.recalc.values import ERROR, NUMBER, CellErrorValue, Failure, Floats, Unvectorisable, Value


@dataclass(frozen=True)
class Conditions:
    """Ranges with a criterion each, the criteria given by distinct combination."""

    ranges: tuple[Value, ...]
    combinations: list[tuple[Criterion, ...]]
    which: NDArray[np.intp]
    """Index of the combination for each element of the result, shape (S, F, r, c)."""
    windows: Windows | None = None
    """Where each family cell has its own part of the ranges, these are the block that holds all parts."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the ranges."""
        return self.ranges[0].shape[2:]

    @property
    def fixed(self) -> bool:
        """Whether no range varies over lanes."""
        return all(one.shape[:2] == (1, 1) for one in self.ranges)


def conditions(pairs: Sequence[Value], windows: Windows | None = None) -> Conditions:
    """From range, criterion, range, criterion, …; #VALUE! when the ranges differ in size."""
    ranges, wanted = tuple(pairs[0::2]), pairs[1::2]
    if any(one.shape[2:] != ranges[0].shape[2:] for one in ranges):
        raise Failure(CellErrorValue.VALUE)
    wanted, shape = aligned(list(wanted))
    combined = np.zeros(shape, dtype=np.intp)
    listed: list[list[Criterion]] = []
    for value in wanted:
        listed_here, codes = _distinct(value)
        combined = combined * max(len(listed_here), 1) + codes
        listed.append(listed_here)
    distinct, which = np.unique(combined, return_inverse=True)
    combinations = []
    for code in distinct.tolist():
        parts = []
        for known_list in reversed(listed):
            code, at = divmod(code, len(known_list))
            parts.append(known_list[at])
        combinations.append(tuple(reversed(parts)))
    return Conditions(ranges, combinations, which.reshape(shape), windows)


def _distinct(value: Value) -> tuple[list[Criterion], NDArray[np.intp]]:
    """The different criteria of an argument and which of them each element is."""
    if value.uniform == NUMBER:
        numbers, codes = np.unique(value.num, return_inverse=True)
        return [Criterion("=", number) for number in numbers.tolist()], codes.reshape(value.shape)
    known: dict[Criterion, int] = {}
    places = [known.setdefault(criterion(item), len(known)) for item in value.objects().reshape(-1).tolist()]
    return list(known), np.array(places, dtype=np.intp).reshape(value.shape)


@dataclass(frozen=True)
class Groups:
    """The elements of some ranges, brought together by equal keys."""

    order: NDArray[np.intp]
    """Flat positions of the elements, group after group, in their own order within each."""
    starts: NDArray[np.intp]
    numbered: dict[int, int]
    tables: list[dict[tuple[int, float | str], int]]

    def find(self, wanted: Sequence[Criterion]) -> int:
        """The group in which each range equals its key; -1 when there is none."""
        joint = 0
        for one, keys in zip(wanted, self.tables, strict=True):
            found = keys.get(one.key())
            if found is None:
                return -1
            joint = joint * (len(keys) + 1) + found
        return self.numbered.get(joint, -1)

    def members(self, group: int) -> NDArray[np.intp]:
        """Flat positions of the elements of one group, ascending."""
        if group < 0:
            return self.order[:0]
        end = self.starts[group + 1] if group + 1 < self.starts.size else self.order.size
        return self.order[self.starts[group] : end]


def _groups(ranges: Sequence[Value]) -> Groups:
    def build() -> Groups:
        joint = np.zeros(ranges[0].num.size, dtype=np.int64)
        tables = []
        for one in ranges:
            keys, ids = key_ids(one)
            joint = joint * (len(keys) + 1) + ids
            tables.append(keys)
        order = np.argsort(joint, kind="stable")
        distinct, starts = np.unique(joint[order], return_index=True)
        return Groups(order, starts, {code: i for i, code in enumerate(distinct.tolist())}, tables)

    found: Groups = ranges[0].memo(("groups", *(_Same(one) for one in ranges)), build)
    return found


class _Same:
    """A key that holds its value alive and equals itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


def reduced(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    """For each (array (S, F, R, C), ufunc, value of nothing): the ufunc over the elements that meet the criteria."""
    if asked.windows is not None:
        return _by_window(asked, asked.windows, measures)
    if not asked.fixed:
        return _by_lane(asked, measures)
    if all(one.is_key for parts in asked.combinations for one in parts) and _worth_grouping(asked):
        groups = _groups(asked.ranges)
        of = np.array([groups.find(parts) for parts in asked.combinations], dtype=np.intp)
        return [_by_group(asked, groups, of, *measure) for measure in measures]
    return _by_mask(asked, measures)


def _by_window(asked: Conditions, windows: Windows, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    if not asked.fixed:
        raise Unvectorisable
    columns = asked.grid[1]
    keyed = all(one.is_key for parts in asked.combinations for one in parts)
    few = len(asked.combinations) <= 32
    known: dict[int, NDArray[np.intp]] = {}
    masks = _Masks(asked.ranges)

    def positions(combination: int, start: int, end: int) -> NDArray[np.intp]:
        parts = asked.combinations[combination]
        if not keyed and not few:
            chosen: Any = None
            for one, wanted in zip(asked.ranges, parts, strict=True):
                mask = wanted.mask(one[:, :, start // columns : end // columns]).reshape(-1)
                chosen = mask if chosen is None else chosen & mask
            return np.flatnonzero(chosen) + start
        if combination not in known:
            if keyed:
                groups = _groups(asked.ranges)
                known[combination] = groups.members(groups.find(parts))
            else:
                known[combination] = np.flatnonzero(masks.joint(parts))
        return known[combination]

    return sliced(windows, asked.which, columns, positions, measures)


def _worth_grouping(asked: Conditions) -> bool:
    """Not for the first single question about a range: groups cost more than one comparison."""
    if len(asked.combinations) > 1:
        return True
    seen = asked.ranges[0].memo(("asked", *(_Same(one) for one in asked.ranges)), lambda: [0])
    seen[0] += 1
    return bool(seen[0] > 1)


def _by_group(
    asked: Conditions, groups: Groups, of: NDArray[np.intp], array: Floats, ufunc: np.ufunc, nothing: float
) -> Floats:
    flat = array.reshape(*array.shape[:2], -1)
    order = groups.order
    sums = np.full((*flat.shape[:2], groups.starts.size + 1), nothing)
    if order.size:
        sums[..., :-1] = ufunc.reduceat(np.take(flat, order, axis=-1), groups.starts, axis=-1)
    return _spread(sums, of[asked.which])


def _spread(sums: Floats, which: NDArray[np.intp]) -> Floats:
    """sums (S, F, U) taken at `which` (S', F', r, c), lanes broadcast."""
    s = max(sums.shape[0], which.shape[0])
    f = max(sums.shape[1], which.shape[1])
    lane = (np.arange(s) if sums.shape[0] > 1 else np.zeros(s, dtype=np.intp))[:, None, None, None]
    cell = (np.arange(f) if sums.shape[1] > 1 else np.zeros(f, dtype=np.intp))[None, :, None, None]
    return np.asarray(sums[lane, cell, np.broadcast_to(which, (s, f, *which.shape[2:]))])


def _by_mask(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    ranked = _by_rank(asked, measures)
    if ranked is not None:
        return ranked
    masks = _Masks(asked.ranges)
    tables = [np.empty((*array.shape[:2], len(asked.combinations))) for array, _, _ in measures]
    flats = [array.reshape(*array.shape[:2], -1) for array, _, _ in measures]
    many = len(asked.combinations) > 8
    for at, parts in enumerate(asked.combinations):
        keyed = [i for i, one in enumerate(parts) if one.is_key] if many else []
        if keyed:
            groups = _groups([asked.ranges[i] for i in keyed])
            chosen = groups.members(groups.find([parts[i] for i in keyed]))
            for i, one in enumerate(parts):
                if i not in keyed and chosen.size:
                    chosen = chosen[masks.one(i, one)[chosen]]
        else:
            chosen = np.flatnonzero(masks.joint(parts))
        for table, flat, (_, ufunc, nothing) in zip(tables, flats, measures, strict=True):
            table[..., at] = ufunc.reduce(np.take(flat, chosen, axis=-1), axis=-1) if chosen.size else nothing
    return [_spread(table, asked.which) for table in tables]


def _by_rank(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats] | None:
    """Many comparisons of one range with numbers, for counts and extremes: by its sorted numbers.

    Not for sums: differences of running sums would lose figures.
    """
    if len(asked.ranges) != 1 or len(asked.combinations) < 16 or not _counts_only(measures):
        return None
    wanted = [parts[0] for parts in asked.combinations]
    if not all(one.comparison in SIDES and isinstance(one.operand, float) for one in wanted):
        return None
    value = asked.ranges[0]

    def build() -> tuple[NDArray[np.intp], Floats]:
        at = np.flatnonzero((value.kinds == NUMBER).reshape(-1))
        nums = value.num.reshape(-1)[at]
        order = np.argsort(nums, kind="stable")
        return at[order], nums[order]

    order, nums = value.memo("sorted numbers", build)
    bounds = np.array([one.operand for one in wanted], dtype=np.float64)
    left = np.array([one.comparison in ("<", ">=") for one in wanted])
    cut = np.where(left, nums.searchsorted(bounds, "left"), nums.searchsorted(bounds, "right"))
    below = np.array([one.comparison[0] == "<" for one in wanted])
    out = []
    for array, ufunc, nothing in measures:
        flat = np.take(array.reshape(*array.shape[:2], -1), order, axis=-1)
        empty = np.full((*flat.shape[:2], 1), nothing)
        up = np.concatenate([empty, ufunc.accumulate(flat, axis=-1)], axis=-1)
        down = np.concatenate([ufunc.accumulate(flat[..., ::-1], axis=-1)[..., ::-1], empty], axis=-1)
        out.append(_spread(np.where(below, up[..., cut], down[..., cut]), asked.which))
    return out


def _counts_only(measures: Sequence[tuple[Floats, np.ufunc, float]]) -> bool:
    return all(ufunc is not np.add or array.strides == (0, 0, 0, 0) for array, ufunc, _ in measures)


def _by_lane(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    shapes = [one.shape[:2] for one in asked.ranges] + [array.shape[:2] for array, _, _ in measures]
    s, f = np.broadcast_shapes(asked.which.shape[:2], *shapes)
    which = np.broadcast_to(asked.which, (s, f, *asked.which.shape[2:]))
    if len(asked.combinations) == 1:
        chosen = _joint(asked, asked.combinations[0])
        return [_spread(_reduced_where(chosen, measure)[..., None], which) for measure in measures]
    outs = [np.empty(which.shape) for _ in measures]
    for at, parts in enumerate(asked.combinations):
        here = (which == at).any(axis=(2, 3))
        lanes = np.nonzero(here)
        chosen = _joint(asked, parts)
        if chosen.shape[:2] != (1, 1):
            chosen = np.broadcast_to(chosen, (s, f, *asked.grid))[lanes][:, None]
        for out, (array, ufunc, nothing) in zip(outs, measures, strict=True):
            taken = array if array.shape[:2] == (1, 1) else np.broadcast_to(array, (s, f, *asked.grid))[lanes][:, None]
            result = np.broadcast_to(_reduced_where(chosen, (taken, ufunc, nothing)), (len(lanes[0]), 1))
            block = out[lanes]
            out[lanes] = np.where(which[lanes] == at, result[:, :, None], block)
    return outs


def _joint(asked: Conditions, parts: tuple[Criterion, ...]) -> Any:
    """Which elements of each lane meet all criteria; an axis along which no range varies has length 1."""
    chosen: Any = None
    for one, wanted in zip(asked.ranges, parts, strict=True):
        mask = wanted.mask(one)
        chosen = mask if chosen is None else chosen & mask
    return chosen


def _reduced_where(chosen: Any, measure: tuple[Floats, np.ufunc, float]) -> Floats:
    """The ufunc over the chosen elements of each lane, (S, F)."""
    array, ufunc, nothing = measure
    if ufunc is np.add and array.strides == (0, 0, 0, 0):
        return np.asarray(np.count_nonzero(chosen, axis=(2, 3)) * float(array.flat[0]))
    kept = np.where(chosen, array, nothing)
    return np.asarray(ufunc.reduce(kept.reshape(*kept.shape[:2], -1), axis=2))


class _Masks:
    """Masks of criteria over fixed ranges, each computed once."""

    def __init__(self, ranges: tuple[Value, ...]) -> None:
        self._ranges = ranges
        self._known: dict[tuple[int, Criterion], Any] = {}

    def one(self, at: int, wanted: Criterion) -> Any:
        """Which elements of range `at` meet a criterion, flat."""
        if (at, wanted) not in self._known:
            if len(self._known) > 256:
                self._known.clear()
            self._known[at, wanted] = wanted.mask(self._ranges[at]).reshape(-1)
        return self._known[at, wanted]

    def joint(self, parts: tuple[Criterion, ...]) -> Any:
        """Which elements meet all criteria, flat."""
        out: Any = None
        for at, wanted in enumerate(parts):
            mask = self.one(at, wanted)
            out = mask if out is None else out & mask
        return out


def parts(value: Value) -> tuple[Floats, Floats, Floats | None]:
    """(numbers, 1 where a number, position * 16 + code of each error or infinity); None without errors."""

    def build() -> tuple[Floats, Floats, Floats | None]:
        if value.uniform == NUMBER:
            return value.num, np.broadcast_to(np.float64(1), value.shape), None
        kinds = value.kinds
        number = kinds == NUMBER
        wrong = kinds == ERROR
        marks = None
        if wrong.any():
            places = np.arange(value.shape[2] * value.shape[3]).reshape(value.shape[2:])
            marks = np.where(wrong, places * 16.0 + value.num, np.inf)
        return np.where(number, value.num, 0.0), number.astype(np.float64), marks

    found: tuple[Floats, Floats, Floats | None] = value.memo("conditional parts", build)
    return found


def first_errors(marks: Floats) -> Floats:
    """The code of the first error from the least mark of `parts`; 0 where there is none."""
    return np.where(np.isfinite(marks), np.where(np.isfinite(marks), marks, 0.0) % 16, 0.0)
