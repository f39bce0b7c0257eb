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

from workbench.recalc.functions._criteria import Criterion, criterion, key_ids
from workbench.recalc.values import ERROR, NUMBER, CellErrorValue, Failure, Floats, Value


@dataclass(frozen=True)
class Conditions:
    """Ranges with a criterion each, the criteria given by distinct combination."""

    ranges: tuple[Value, ...]
    combinations: list[tuple[Criterion, ...]]
    which: NDArray[np.intp]
    """Index of the combination for each element of the result, shape (S, F, r, c)."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the ranges."""
        return self.ranges[0].shape[2:]

    @property
    def fixed(self) -> bool:
        """Whether no range varies over lanes."""
        return all(one.shape[:2] == (1, 1) for one in self.ranges)


def conditions(pairs: Sequence[Value]) -> Conditions:
    """From range, criterion, range, criterion, …; #VALUE! when the ranges differ in size."""
    ranges, wanted = tuple(pairs[0::2]), pairs[1::2]
    if any(one.shape[2:] != ranges[0].shape[2:] for one in ranges):
        raise Failure(CellErrorValue.VALUE)
    shape = np.broadcast_shapes(*(value.shape for value in wanted))
    combined = np.zeros(shape, dtype=np.intp)
    listed: list[list[Criterion]] = []
    for value in wanted:
        known: dict[Criterion, int] = {}
        codes = np.array([known.setdefault(criterion(item), len(known)) for item in value.objects().reshape(-1)])
        combined = combined * max(len(known), 1) + codes.reshape(value.shape)
        listed.append(list(known))
    distinct, which = np.unique(combined, return_inverse=True)
    combinations = []
    for code in distinct.tolist():
        parts = []
        for known_list in reversed(listed):
            code, at = divmod(code, len(known_list))
            parts.append(known_list[at])
        combinations.append(tuple(reversed(parts)))
    return Conditions(ranges, combinations, which.reshape(shape))


def _grouped(asked: Conditions) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]] | None:
    """(order of the elements by group, start of each group, group of each combination or -1), or None."""
    if not asked.fixed or not all(one.is_key for parts in asked.combinations for one in parts):
        return None
    first = asked.ranges[0]

    def build() -> tuple[Any, Any, dict[int, int], list[dict[Any, int]]]:
        joint = np.zeros(first.num.size, dtype=np.int64)
        tables = []
        for one in asked.ranges:
            keys, ids = key_ids(one)
            joint = joint * (len(keys) + 1) + ids
            tables.append(keys)
        order = np.argsort(joint, kind="stable")
        distinct, starts = np.unique(joint[order], return_index=True)
        return order, starts, {code: i for i, code in enumerate(distinct.tolist())}, tables

    order, starts, groups, tables = first.memo(("groups", *(_Same(one) for one in asked.ranges)), build)
    of = np.empty(len(asked.combinations), dtype=np.intp)
    for at, parts in enumerate(asked.combinations):
        joint = 0
        for one, keys in zip(parts, tables, strict=True):
            found = keys.get(one.key())
            if found is None:
                joint = -1
                break
            joint = joint * (len(keys) + 1) + found
        of[at] = groups.get(joint, -1)
    return order, starts, of


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
    groups = _grouped(asked)
    if groups is not None:
        return [_by_group(asked, groups, *measure) for measure in measures]
    if asked.fixed:
        return _by_mask(asked, measures)
    return _by_lane(asked, measures)


def _by_group(asked: Conditions, groups: Any, array: Floats, ufunc: np.ufunc, nothing: float) -> Floats:
    order, starts, of = groups
    flat = array.reshape(*array.shape[:2], -1)
    sums = ufunc.reduceat(flat[..., order], starts, axis=-1) if order.size else np.empty((*flat.shape[:2], 0))
    sums = np.concatenate([sums, np.full((*sums.shape[:2], 1), nothing)], axis=-1)
    return _spread(sums, of[asked.which])


def _spread(sums: Floats, which: NDArray[np.intp]) -> Floats:
    """sums (S, F, U) taken at `which` (S', F', r, c), lanes broadcast."""
    s = max(sums.shape[0], which.shape[0])
    f = max(sums.shape[1], which.shape[1])
    lane = (np.arange(s) if sums.shape[0] > 1 else np.zeros(s, dtype=np.intp))[:, None, None, None]
    cell = (np.arange(f) if sums.shape[1] > 1 else np.zeros(f, dtype=np.intp))[None, :, None, None]
    return np.asarray(sums[lane, cell, np.broadcast_to(which, (s, f, *which.shape[2:]))])


def _by_mask(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    masks = _Masks(asked.ranges)
    tables = [np.empty((*array.shape[:2], len(asked.combinations))) for array, _, _ in measures]
    flats = [array.reshape(*array.shape[:2], -1) for array, _, _ in measures]
    for at, parts in enumerate(asked.combinations):
        chosen = np.flatnonzero(masks.joint(parts).reshape(-1))
        for table, flat, (_, ufunc, nothing) in zip(tables, flats, measures, strict=True):
            table[..., at] = ufunc.reduce(flat[..., chosen], axis=-1) if chosen.size else nothing
    return [_spread(table, asked.which) for table in tables]


def _by_lane(asked: Conditions, measures: Sequence[tuple[Floats, np.ufunc, float]]) -> list[Floats]:
    shapes = [one.shape[:2] for one in asked.ranges] + [array.shape[:2] for array, _, _ in measures]
    s, f = np.broadcast_shapes(asked.which.shape[:2], *shapes)
    which = np.broadcast_to(asked.which, (s, f, *asked.which.shape[2:]))
    outs = [np.empty(which.shape) for _ in measures]
    for at, parts in enumerate(asked.combinations):
        lanes = np.nonzero((which == at).any(axis=(2, 3)))
        chosen = np.ones((len(lanes[0]), *asked.grid), dtype=bool)
        for one, wanted in zip(asked.ranges, parts, strict=True):
            mask = wanted.mask(one)
            chosen &= np.broadcast_to(mask, (s, f, *asked.grid))[lanes]
        for out, (array, ufunc, nothing) in zip(outs, measures, strict=True):
            taken = np.broadcast_to(array, (s, f, *asked.grid))[lanes]
            result = ufunc.reduce(np.where(chosen, taken, nothing), axis=(1, 2))
            block = out[lanes]
            out[lanes] = np.where(which[lanes] == at, result[:, None, None], block)
    return outs


class _Masks:
    """Masks of criteria over fixed ranges, each computed once."""

    def __init__(self, ranges: tuple[Value, ...]) -> None:
        self._ranges = ranges
        self._known: dict[tuple[int, Criterion], Any] = {}

    def joint(self, parts: tuple[Criterion, ...]) -> Any:
        out: Any = None
        for at, wanted in enumerate(parts):
            if (at, wanted) not in self._known:
                if len(self._known) > 256:
                    self._known.clear()
                self._known[at, wanted] = wanted.mask(self._ranges[at])
            mask = self._known[at, wanted]
            out = mask if out is None else out & mask
        return out


def parts(value: Value) -> tuple[Floats, Floats, Floats]:
    """(numbers, 1 where a number, error codes) of a range, zeros elsewhere."""

    def build() -> tuple[Floats, Floats, Floats]:
        kinds = value.kinds
        number = kinds == NUMBER
        wrong = kinds == ERROR
        return np.where(number, value.num, 0.0), number.astype(np.float64), np.where(wrong, value.num, 0.0)

    found: tuple[Floats, Floats, Floats] = value.memo("conditional parts", build)
    return found
