"""Excel's logical functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.recalc.coerce import to_logicals
from workbench.recalc.operators import aligned, compare, joined_codes
from workbench.recalc.references import Reference
from workbench.recalc.registry import LOGICAL, Call, Operand, aggregate, lazy, scalar, vector
from workbench.recalc.values import (
    BOOL,
    ERROR,
    NUMBER,
    Bools,
    CellErrorValue,
    Floats,
    Unvectorisable,
    Value,
    codes_where,
    error,
    error_codes,
    select,
    with_errors,
)
from workbench.recalc.values import scalar as value_of


def chosen_where(condition: Bools, first: Value, second: Value) -> Value:
    """`select` with rows and columns fitted as an array formula does: what one side lacks is #N/A."""
    truth = Value(BOOL, condition.astype(np.float64))
    (truth, first, second), _ = aligned([truth, first, second])
    missing = error_codes(truth)
    out = select(truth.num != 0, first, second)
    return out if missing is None else with_errors(out, missing)


def failing_where(value: Value, codes: Floats) -> Value:
    """`with_errors` with rows and columns fitted as an array formula does."""
    (value, failing), _ = aligned([value, Value(NUMBER, codes)])
    return with_errors(value, failing.num)


@lazy("IF", minimum=2, maximum=3, returns_reference=True)
def if_(call: Call) -> Operand:
    """A branch is evaluated only where some lane needs it."""
    condition, codes = to_logicals(call.value(0))
    single = condition.shape[2:] == (1, 1)
    if single and codes is None and condition.all():
        return call.operand(1) if not call.missing(1) else value_of(0.0)
    if single and codes is None and not condition.any():
        return _otherwise(call)
    if codes is not None and (codes != 0).all():
        return Value(ERROR, np.asarray(codes))
    first = branch(call, 1, single) if condition.any() else value_of(0.0)
    second = value_of(0.0)
    if not condition.all():
        second = branch(call, 2, single) if len(call) > 2 else value_of(False)
    chosen = chosen_where(condition, first, second)
    return chosen if codes is None else failing_where(chosen, codes)


def branch(call: Call, index: int, single: bool) -> Value:
    """The value of an argument that only some cells take, 0 where it is empty.

    With a `single` condition for each cell its branch may be a whole range (`SUM(IF(A1,B1:B9,C1:C9))`): such
    cells are evaluated apart.
    """
    if call.missing(index):
        return value_of(0.0)
    if not single or call.lanes == (1, 1):
        return call.value(index)
    operand = call.operand(index)
    if isinstance(operand, Reference):
        region = operand.single
        if region is None or not region.rigid or region.rows * region.columns > 1:
            raise Unvectorisable
    return call.dereferenced(operand)


def _otherwise(call: Call) -> Operand:
    if len(call) < 3:
        return value_of(False)
    return value_of(0.0) if call.missing(2) else call.operand(2)


@lazy("IFS", minimum=2, returns_reference=True)
def ifs(call: Call) -> Operand:
    """The result beside the first condition that holds; #N/A when none does."""
    if len(call) % 2:
        return error(CellErrorValue.VALUE)
    pairs: list[tuple[Bools, Any, Value]] = []
    for index in range(0, len(call), 2):
        condition, codes = to_logicals(call.value(index))
        if codes is None and not condition.any():
            continue
        if not pairs and codes is None and condition.all() and condition.shape[2:] == (1, 1):
            return call.operand(index + 1)
        single = condition.shape[2:] == (1, 1)
        pairs.append((condition, codes, branch(call, index + 1, single)))
        if codes is None and condition.all() and single:
            break
    return _first_of(pairs, error(CellErrorValue.NA))


def _first_of(pairs: Sequence[tuple[Bools, Any, Value]], otherwise: Value) -> Value:
    out = otherwise
    for condition, codes, result in reversed(pairs):
        out = chosen_where(condition, result, out)
        if codes is not None:
            out = failing_where(out, codes)
    return out


@lazy("SWITCH", minimum=3, returns_reference=True)
def switch(call: Call) -> Operand:
    """The result beside the first value that equals the expression; else the default, #N/A without one."""
    wanted = call.value(0)
    pairs: list[tuple[Bools, Any, Value]] = []
    done = False
    for index in range(1, len(call) - 1, 2):
        tried = call.value(index)
        (left, right), _ = aligned([wanted, tried])
        codes = joined_codes(error_codes(left), error_codes(right))
        same = np.asarray(compare(left, right) == 0)
        if not same.any() and codes is None:
            continue
        single = same.shape[2:] == (1, 1)
        if not pairs and single and codes is None and same.all():
            return call.operand(index + 1)
        pairs.append((same, codes, branch(call, index + 1, single)))
        if codes is None and same.all() and single:
            done = True
            break
    codes = error_codes(wanted)
    default = error(CellErrorValue.NA)
    if not done and len(call) % 2 == 0:
        if not pairs and codes is None:
            return call.operand(len(call) - 1)
        default = branch(call, len(call) - 1, wanted.shape[2:] == (1, 1))
    out = _first_of(pairs, default)
    return out if codes is None else failing_where(out, codes)


@lazy("IFERROR", minimum=2, maximum=2)
def iferror(call: Call) -> Operand:
    """The second argument is evaluated only where the first fails."""
    first = call.value(0) if not call.missing(0) else value_of(0.0)
    failing = first.kinds == ERROR
    if not failing.any():
        return first
    return _replaced(call, first, failing)


@lazy("IFNA", minimum=2, maximum=2)
def ifna(call: Call) -> Operand:
    """As IFERROR, for #N/A only."""
    first = call.value(0) if not call.missing(0) else value_of(0.0)
    failing = (first.kinds == ERROR) & (first.num == CellErrorValue.NA.code)
    if not failing.any():
        return first
    return _replaced(call, first, failing)


def _replaced(call: Call, first: Value, failing: Bools) -> Value:
    second = call.value(1) if not call.missing(1) else value_of(0.0)
    return chosen_where(failing, second, first)


@aggregate("AND", logicals=True, result=BOOL)
def and_(x: Floats, where: Bools | None) -> tuple[Bools, Any]:
    """#VALUE! when there is no truth value at all."""
    true = x != 0 if where is None else (x != 0) | ~where
    return true.all(axis=-1), _nothing(x, where)


@aggregate("OR", logicals=True, result=BOOL)
def or_(x: Floats, where: Bools | None) -> tuple[Bools, Any]:
    """#VALUE! when there is no truth value at all."""
    true = x != 0 if where is None else (x != 0) & where
    return true.any(axis=-1), _nothing(x, where)


@aggregate("XOR", logicals=True, result=BOOL)
def xor(x: Floats, where: Bools | None) -> tuple[Bools, Any]:
    """Whether an odd number of them is true."""
    true = x != 0 if where is None else (x != 0) & where
    return true.sum(axis=-1) % 2 == 1, _nothing(x, where)


def _nothing(x: Floats, where: Bools | None) -> Any:
    if where is None and x.shape[2]:
        return None
    counted = np.zeros(x.shape[:2], dtype=bool) if where is None else where.any(axis=-1)
    return codes_where((~counted, CellErrorValue.VALUE))


@vector("NOT", LOGICAL, result=BOOL)
def not_(truth: Bools) -> Bools:
    """The opposite."""
    return np.asarray(~truth)


@scalar("TRUE")
def true() -> bool:
    """TRUE()."""
    return True


@scalar("FALSE")
def false() -> bool:
    """FALSE()."""
    return False
