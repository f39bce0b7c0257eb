"""SUBTOTAL and AGGREGATE: statistics that skip subtotals within, hidden rows or errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.coerce import number_of, to_numbers
from workbench.recalc.functions import _samples, order_statistics
from workbench.recalc.functions._samples import Reducer
from workbench.recalc.references import Reference
from workbench.recalc.registry import Call, lazy
from workbench.recalc.values import (
    BLANK,
    ERROR,
    Bools,
    CellErrorValue,
    Failure,
    Floats,
    Value,
    with_errors,
)
from workbench.recalc.values import NUMBER as NUMBER_KIND
from workbench.recalc.values import numbers as number_value

_REDUCERS: dict[int, Reducer] = {
    1: _samples.mean_of,
    2: _samples.count_of,
    3: _samples.count_of,
    4: _samples.largest,
    5: _samples.smallest,
    6: _samples.product,
    7: _samples.sample_deviation,
    8: _samples.population_deviation,
    9: _samples.total,
    10: _samples.sample_variance,
    11: _samples.population_variance,
    12: _samples.median_of,
    13: _samples.mode_of,
}
"""By function number; 2 is COUNT and 3 COUNTA, which differ in what counts."""

_COUNTING = (2, 3)

_OF_K = {
    14: order_statistics.large,
    15: order_statistics.small,
    16: order_statistics.percentile_inc,
    17: order_statistics.quartile_inc,
    18: order_statistics.percentile_exc,
    19: order_statistics.quartile_exc,
}


@lazy("SUBTOTAL", minimum=2)
def subtotal(call: Call) -> Value:
    """Skips rows that a filter hides and other subtotals; with a number from 101 on, all hidden rows."""
    which = _whole(call, 0)
    hidden = 101 <= which <= 111
    which -= 100 if hidden else 0
    if not 1 <= which <= 11:
        return _failed(CellErrorValue.VALUE)
    parts = []
    for index in range(1, len(call)):
        for value, skipped in call.shown_parts(index, hidden=hidden, filtered=True, nested=True):
            parts.append(_part(value, skipped, which, errors=which not in _COUNTING))
    return _reduced(parts, which)


@lazy("AGGREGATE", minimum=3)
def aggregate(call: Call) -> Value:
    """Option 0 to 7: skips hidden rows when odd, errors when 2, 3, 6 or 7, other subtotals below 4."""
    which, option = _whole(call, 0), _whole(call, 1)
    if not 1 <= which <= 19 or not 0 <= option <= 7:
        return _failed(CellErrorValue.VALUE)
    hidden, skip_errors, nested = option % 2 == 1, option in (2, 3, 6, 7), option < 4
    if which <= 13:
        parts = []
        for index in range(2, len(call)):
            for value, skipped in call.shown_parts(index, hidden=hidden, filtered=False, nested=nested):
                parts.append(_part(value, skipped, which, errors=not skip_errors and which not in _COUNTING))
        return _reduced(parts, which)
    if len(call) != 4:
        return _failed(CellErrorValue.VALUE)
    operand = call.operand(2)
    values = [
        _without(value, skipped, skip_errors)
        for value, skipped in (
            call.shown_parts(2, hidden=hidden, filtered=False, nested=nested)
            if isinstance(operand, Reference)
            else [(call.array(2), None)]
        )
    ]
    if len(values) != 1:
        return _failed(CellErrorValue.VALUE)
    position, unreadable = to_numbers(call.value(3))
    with np.errstate(all="ignore"):
        found, codes = _OF_K[which](values[0], position)
    result = number_value(found)
    for more in (codes, unreadable):
        if more is not None:
            result = with_errors(result, np.asarray(more))
    return result


def _whole(call: Call, index: int) -> int:
    """An argument that must be the same for all lanes evaluated together, as a whole number."""
    number = number_of(call.scalar(index))
    if isinstance(number, CellErrorValue):
        raise Failure(number)
    return int(number)


def _failed(which: CellErrorValue) -> Value:
    raise Failure(which)


def _without(value: Value, skipped: Bools | None, errors: bool) -> Value:
    """`value` with blanks for what is to be skipped."""
    kinds = value.kinds
    drop = np.zeros(kinds.shape, dtype=bool) if skipped is None else np.broadcast_to(skipped, kinds.shape)
    if errors:
        drop = drop | (kinds == ERROR)
    if not drop.any():
        return value
    return Value(np.where(drop, np.uint8(BLANK), kinds), value.num, value.text, referenced=True)


def _part(value: Value, skipped: Bools | None, which: int, *, errors: bool) -> tuple[Floats, Bools, Any]:
    """Numbers (S, F, n), which of them count, and the first error of each lane."""
    kinds = value.kinds
    shown = np.ones(kinds.shape, dtype=bool) if skipped is None else ~np.broadcast_to(skipped, kinds.shape)
    counted = shown & ((kinds != BLANK) if which == 3 else (kinds == NUMBER_KIND))
    flat = (*value.shape[:2], -1)
    codes: Any = None
    if errors:
        failing = np.where(shown & (kinds == ERROR), value.num, 0.0).reshape(flat)
        if failing.any():
            at = (failing != 0).argmax(axis=-1)[..., None]
            codes = np.take_along_axis(failing, at, axis=-1)[..., 0]
    return np.where(counted, value.num, 0.0).reshape(flat), counted.reshape(flat), codes


def _reduced(parts: list[tuple[Floats, Bools, Any]], which: int) -> Value:
    lanes = np.broadcast_shapes(*(x.shape[:2] for x, _, _ in parts))
    x = np.concatenate([np.broadcast_to(x, (*lanes, x.shape[2])) for x, _, _ in parts], axis=2)
    where = np.concatenate([np.broadcast_to(w, (*lanes, w.shape[2])) for _, w, _ in parts], axis=2)
    with np.errstate(all="ignore"):
        found = _REDUCERS[which](x, where)
    codes: Any = None
    if isinstance(found, tuple):
        found, codes = found
    for _, _, first in reversed(parts):
        if first is not None:
            codes = first if codes is None else np.where(first != 0, first, codes)
    result = number_value(_samples.lanes(found))
    return result if codes is None else with_errors(result, _samples.lanes(codes))
