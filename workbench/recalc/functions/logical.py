"""Excel's logical functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.recalc.coerce import to_logicals
from workbench.recalc.registry import Call, Operand, aggregate, lazy
from workbench.recalc.values import BOOL, ERROR, Bools, CellErrorValue, Floats, codes_where, scalar, select, with_errors


@lazy("IF", minimum=2, maximum=3, returns_reference=True)
def if_(call: Call) -> Operand:
    """A branch is evaluated only where some lane needs it."""
    condition, codes = to_logicals(call.value(0))
    if codes is None and condition.all():
        return call.operand(1) if not call.missing(1) else scalar(0.0)
    if codes is None and not condition.any():
        return _otherwise(call)
    first = call.value(1) if not call.missing(1) else scalar(0.0)
    if codes is not None and not (condition & (codes == 0)).any():
        first = scalar(0.0)
    second = call.dereferenced(_otherwise(call))
    chosen = select(condition, first, second)
    return chosen if codes is None else with_errors(chosen, codes)


def _otherwise(call: Call) -> Operand:
    if len(call) < 3:
        return scalar(False)
    return scalar(0.0) if call.missing(2) else call.operand(2)


@lazy("IFERROR", minimum=2, maximum=2)
def iferror(call: Call) -> Operand:
    """The second argument is evaluated only where the first fails."""
    first = call.value(0)
    failing = first.kinds == ERROR
    if not failing.any():
        return first
    return select(failing, call.value(1), first)


@aggregate("AND", logicals=True, result=BOOL)
def and_(x: Floats, where: Bools | None) -> tuple[Bools, Any]:
    """#VALUE! when there is no truth value at all."""
    true = x != 0 if where is None else (x != 0) | ~where
    return true.all(axis=-1), _nothing(x, where)


def _nothing(x: Floats, where: Bools | None) -> Any:
    counted = np.full(x.shape[:2], x.shape[2] > 0) if where is None else where.any(axis=-1)
    return codes_where((~counted, CellErrorValue.VALUE))
