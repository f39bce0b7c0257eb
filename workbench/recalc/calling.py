"""The one wrapper that runs declared functions: arguments evaluated, coerced, broadcast; errors propagated."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.recalc.coerce import Codes, logical_of, number_of, text_of, to_logicals, to_numbers, to_texts
from workbench.recalc.nodes import Binary, CellReference, NameReference
from workbench.recalc.operators import aligned, finite, joined_codes
from workbench.recalc.references import Reference
from workbench.recalc.registry import FUNCTIONS, Function, Lambda, Operand, Parameter, Style, Takes
from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    LARGEST,
    NUMBER,
    TEXT,
    Bools,
    CellErrorValue,
    Failure,
    Floats,
    Objects,
    Scalar,
    TooLarge,
    Unvectorisable,
    Value,
    booleans,
    error,
    error_codes,
    from_objects,
    scalar,
    texts,
    with_errors,
)

if TYPE_CHECKING:
    from workbench.recalc.evaluate import Evaluation

_WHOLE = (Takes.ARRAY, Takes.AREAS, Takes.RANGE, Takes.NUMBERS)


def run(function: Function, call: Evaluation) -> Operand:
    """The result of one call; an Excel error that the body raised becomes the value."""
    try:
        if not function.minimum <= len(call) <= function.maximum:
            return error(CellErrorValue.VALUE)
        match function.style:
            case Style.LAZY:
                return function.body(call)  # type: ignore[no-any-return]
            case Style.AGGREGATE:
                return _run_aggregate(function, call)
            case Style.VECTOR:
                return _run_vector(function, call)
            case Style.SCALAR:
                return _run_scalar(function, call)
            case Style.LANE:
                return _run_lane(function, call)
    except Failure as failure:
        return error(failure.error)


def ignores(name: str, value: Value) -> bool:
    """Whether a function's result is the same with any more elements like those of `value`."""
    kinds = value.kinds
    ignored = kinds == ERROR  # one is there already: more errors change nothing
    function = FUNCTIONS.get(name)
    if function is not None and (function.style is Style.AGGREGATE or name in _SUMS):
        if not function.counts_all and not function.logicals:
            ignored = ignored | (kinds != NUMBER)
        if name in _SUMS:
            ignored = ignored | (value.num == 0)
    return bool(ignored.all())


_SUMS = ("SUM", "SUMPRODUCT", "SUMSQ")


def _argument(call: Evaluation, index: int, parameter: Parameter) -> Value | None:
    """The argument as a Value; None when the parameter's default is to be taken."""
    if index >= len(call) or (parameter.empty_is_default and call.missing(index)):
        if not parameter.optional and index >= len(call):
            raise Failure(CellErrorValue.VALUE)
        return None
    if parameter.takes is Takes.RANGE:
        return call.range(index)
    if parameter.takes is Takes.AREAS:
        return _pooled(call, index)
    if parameter.takes in _WHOLE:
        return call.array(index)
    return call.value(index)


def _pooled(call: Evaluation, index: int) -> Value:
    """A whole array; the cells of a reference to several areas as one column."""
    node = call.nodes[index]
    if not isinstance(node, CellReference | NameReference) and not (isinstance(node, Binary) and node.operator == ","):
        return call.array(index)
    operand = call.operand(index)
    if not isinstance(operand, Reference) or operand.single is not None:
        return call.array(index)
    parts = list(call.parts(index))
    s, f = np.broadcast_shapes(*(part.shape[:2] for part in parts))
    wide = [part.broadcast((s, f, *part.shape[2:])) for part in parts]
    kinds = np.concatenate([part.kinds.reshape(s, f, -1, 1) for part in wide], axis=2)
    num = np.concatenate([part.num.reshape(s, f, -1, 1) for part in wide], axis=2)
    text = np.concatenate([part.texts.reshape(s, f, -1, 1) for part in wide], axis=2)
    return Value(kinds, num, text, referenced=True).normalised()


def _arguments(function: Function, call: Evaluation) -> list[tuple[Parameter, Value | None]]:
    count = max(len(call), len(function.parameters) - (function.repeat if len(call) else 0))
    count = max(count, len(function.parameters)) if not function.repeat else count
    out = []
    for i in range(count):
        parameter = function.parameter(i)
        if i >= len(call) and not parameter.optional and function.repeat:
            break
        out.append((parameter, _argument(call, i, parameter)))
    return out


def _run_vector(function: Function, call: Evaluation) -> Value:
    given = _arguments(function, call)
    lifted = [v for p, v in given if v is not None and p.takes not in _WHOLE]
    if lifted:
        aligned_values, _ = aligned(lifted)
        fitted = iter(aligned_values)
        given = [(p, next(fitted) if v is not None and p.takes not in _WHOLE else v) for p, v in given]
    codes: Codes = None
    arguments: list[Any] = []
    for parameter, value in given:
        if value is None:
            arguments.append(parameter.default if parameter.takes in _PLAIN else _as_value(parameter.default))
            continue
        converted, failed = _vector_argument(parameter, value)
        codes = joined_codes(codes, failed)
        arguments.append(converted)
    with np.errstate(all="ignore"):
        result = function.body(*arguments)
    if isinstance(result, tuple):
        result, failed = result
        codes = joined_codes(codes, failed)
    if isinstance(result, Value):
        return result if codes is None else with_errors(result, codes)
    if function.result == NUMBER:
        return finite(_four(np.asarray(result, dtype=np.float64)), codes)
    value = booleans(_four(result)) if function.result == BOOL else texts(_four(np.asarray(result, dtype=object)))
    return value if codes is None else with_errors(value, codes)


_PLAIN = (Takes.NUMBER, Takes.INTEGER, Takes.TEXT, Takes.LOGICAL)


def _as_value(default: Any) -> Value | None:
    return default if default is None or isinstance(default, Value) else scalar(default)


def _four(array: Any) -> Any:
    array = np.asarray(array)
    return array if array.ndim == 4 else array.reshape((1,) * (4 - array.ndim) + array.shape)


def _vector_argument(parameter: Parameter, value: Value) -> tuple[Any, Codes]:
    match parameter.takes:
        case Takes.NUMBER:
            return to_numbers(value)
        case Takes.INTEGER:
            num, codes = to_numbers(value)
            return np.trunc(num), codes
        case Takes.TEXT:
            return to_texts(value)
        case Takes.LOGICAL:
            return to_logicals(value)
        case Takes.ANY:
            return value, error_codes(value)
        case Takes.NUMBERS:
            return _numbers(value)
        case _:
            return value, None


def _numbers(value: Value) -> tuple[Floats, Codes]:
    """The whole array as numbers; codes of shape (S, F, 1, 1): the first error of each lane."""
    if isinstance(value.kind, int) and value.kind in (NUMBER, BLANK):
        return value.num, None
    kinds = value.kinds
    codes = np.where(kinds == ERROR, value.num, 0.0)
    codes = np.where((kinds == TEXT) | (kinds == BOOL), float(CellErrorValue.VALUE.code), codes)
    return value.num, first_error(codes) if codes.any() else None


def first_error(codes: Floats) -> Floats:
    """The first code that is not 0 of each lane: (S, F, R, C) → (S, F, 1, 1)."""
    flat = codes.reshape(*codes.shape[:2], -1)
    if flat.shape[2] == 0:
        return np.zeros((*codes.shape[:2], 1, 1))
    where = (flat != 0).argmax(axis=-1)
    return np.asarray(np.take_along_axis(flat, where[..., None], axis=-1)[..., None])


def _run_scalar(function: Function, call: Evaluation) -> Value:
    given = _arguments(function, call)
    present = [v for _, v in given if v is not None]
    fitted, shape = aligned(present) if present else ([], (1, 1, 1, 1))
    columns: list[Any] = []
    values = iter(fitted)
    for parameter, value in given:
        if value is None:
            columns.append(itertools.repeat(_Default(parameter.default)))
        else:
            items = np.broadcast_to(next(values).objects(), shape).reshape(-1).tolist()
            columns.append(items)
    takes = [parameter.takes for parameter, _ in given]
    size = int(np.prod(shape))
    out = np.empty(size, dtype=object)
    known: dict[Any, Scalar] = {}
    rows = zip(*columns, strict=False) if columns else iter([()] * size)
    for i, row in zip(range(size), rows, strict=False):
        key = tuple((type(item), item) for item in row) if size > 1 and not function.volatile else None
        if key is not None and key in known:
            out[i] = known[key]
            continue
        result = _one(function, takes, row)
        out[i] = result
        if key is not None:
            known[key] = result
    return from_objects(out.reshape(shape))


class _Default:
    """A parameter's default on its way to the body."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _one(function: Function, takes: list[Takes], row: tuple[Any, ...]) -> Scalar:
    arguments: list[Any] = []
    for kind, item in zip(takes, row, strict=True):
        converted = item.value if isinstance(item, _Default) else convert(kind, item)
        if isinstance(converted, CellErrorValue) and kind is not Takes.RAW and not isinstance(item, _Default):
            return converted
        arguments.append(converted)
    result: Scalar = guarded(function, arguments)
    return result


def convert(kind: Takes, item: Scalar) -> Any:
    """One Python value as a parameter takes it, or an error."""
    match kind:
        case Takes.NUMBER:
            return number_of(item)
        case Takes.INTEGER:
            number = number_of(item)
            return number if isinstance(number, CellErrorValue) else float(int(number))
        case Takes.TEXT:
            return text_of(item)
        case Takes.LOGICAL:
            return logical_of(item)
        case _:
            return item


def guarded(function: Function, arguments: list[Any]) -> Any:
    """The body's result; numbers beyond a float's reach are errors."""
    try:
        result = function.body(*arguments)
    except Failure as failure:
        return failure.error
    except OverflowError:
        return CellErrorValue.NUM
    except ZeroDivisionError:
        return CellErrorValue.DIV0
    if isinstance(result, complex):
        return CellErrorValue.NUM
    if isinstance(result, float) and result - result != 0:
        return CellErrorValue.NUM
    return result


def _run_aggregate(function: Function, call: Evaluation) -> Value:
    parts: list[tuple[Floats, Bools | None]] = []
    codes: Codes = None
    for index in range(len(call)):
        for value in call.parts(index):
            x, where, failed = _counted(function, value)
            codes = joined_codes(codes, failed)
            parts.append((x, where))
    lanes = np.broadcast_shapes(*(x.shape[:2] for x, _ in parts))
    if len(parts) == 1:
        x, where = parts[0]
    elif function.logicals and all(x.shape[2] == 1 and w is None for x, w in parts):
        # conditions of many lanes: side by side in memory, a reduction over so few would be slow
        x = np.moveaxis(np.stack([np.broadcast_to(x, (*lanes, 1))[..., 0] for x, _ in parts]), 0, -1)
        where = None
    else:
        x = np.concatenate([np.broadcast_to(x, (*lanes, x.shape[2])) for x, _ in parts], axis=2)
        where = None
        if any(w is not None for _, w in parts):
            where = np.concatenate(
                [np.broadcast_to(True if w is None else w, (*lanes, x.shape[2])) for x, w in parts], axis=2
            )
    with np.errstate(all="ignore"):
        result = function.body(x if function.logicals else np.ascontiguousarray(x), where)
    if isinstance(result, tuple):
        result, failed = result
        if failed is not None:
            codes = joined_codes(codes, np.asarray(failed, dtype=np.float64)[..., None, None])
    array = np.asarray(result, dtype=np.float64).reshape(*np.shape(result), 1, 1)
    if function.result == BOOL:
        value = booleans(array)
        return value if codes is None else with_errors(value, codes)
    return finite(array, codes)


def _counted(function: Function, value: Value) -> tuple[Floats, Bools | None, Codes]:
    """Numbers (S, F, n), which of them count, and the lane's first error."""
    s, f, r, c = value.shape
    flat = (s, f, r * c)
    if value.uniform == NUMBER:
        return value.num.reshape(flat), None, None
    kinds = value.kinds
    failing = kinds == ERROR
    codes = first_error(np.where(failing, value.num, 0.0)) if failing.any() else None
    if not value.referenced and r == c == 1:
        direct = value if codes is None else with_errors(value, codes)
        if function.logicals:
            truth, failed = to_logicals(direct)
            return truth.astype(np.float64).reshape(flat), None, failed
        num, failed = to_numbers(direct)
        return num.reshape(flat), None, failed
    counted = kinds == NUMBER
    if function.logicals or function.counts_all:
        counted = counted | (kinds == BOOL)
    if function.counts_all:
        counted = counted | (kinds == TEXT)
    num = np.where(counted & (kinds != TEXT), value.num, 0.0)
    where = np.broadcast_to(counted, num.shape).reshape(flat)
    return num.reshape(flat), None if bool(where.all()) else where, codes


def _run_lane(function: Function, call: Evaluation) -> Operand:
    given = _arguments(function, call)
    present = [v for _, v in given if v is not None]
    lanes = np.broadcast_shapes(*(v.shape[:2] for v in present)) if present else (1, 1)
    if lanes[0] * lanes[1] == 1:
        return _lane(function, given, 0, 0)
    results = [_lane(function, given, s, f) for s in range(lanes[0]) for f in range(lanes[1])]
    shape = results[0].shape
    if any(r.shape != shape for r in results):
        raise Unvectorisable
    if len(results) * shape[2] * shape[3] > LARGEST:
        raise TooLarge
    objects: Objects = np.concatenate([r.objects() for r in results], axis=0)
    return from_objects(objects.reshape(*lanes, *shape[2:]))


def _lane(function: Function, given: list[tuple[Parameter, Value | None]], s: int, f: int) -> Value:
    lane = [(p, None if v is None else v.lane(s, f)) for p, v in given]
    lifted = [v for p, v in lane if v is not None and p.takes not in _WHOLE]
    if all(v.shape[2:] == (1, 1) for v in lifted):
        return _lane_result(_call_lane(function, [_lane_argument(p, v) for p, v in lane]))
    fitted, shape = aligned(lifted)
    out = np.empty(shape[2:], dtype=object)
    for r in range(shape[2]):
        for c in range(shape[3]):
            here = iter(v.broadcast(shape)[:, :, r : r + 1, c : c + 1] for v in fitted)
            arguments = [_lane_argument(p, v if v is None or p.takes in _WHOLE else next(here)) for p, v in lane]
            out[r, c] = _lane_result(_call_lane(function, arguments)).item()
    return from_objects(out)


def _call_lane(function: Function, arguments: list[Any]) -> Any:
    for argument in arguments:
        if isinstance(argument, _Stop):
            return argument.error
    return guarded(function, arguments)


class _Stop:
    """An error in an argument, which becomes the lane's result."""

    def __init__(self, which: CellErrorValue) -> None:
        self.error = which


def _lane_argument(parameter: Parameter, value: Value | None) -> Any:
    if value is None:
        return parameter.default
    match parameter.takes:
        case Takes.ARRAY | Takes.AREAS | Takes.RANGE:
            return value.grid()
        case Takes.NUMBERS:
            num, codes = _numbers(value)
            return num[0, 0] if codes is None else _Stop(_error_of(codes))
        case _:
            converted = convert(parameter.takes, value.item())
            failed = isinstance(converted, CellErrorValue) and parameter.takes is not Takes.RAW
            return _Stop(converted) if failed else converted


def _error_of(codes: Floats) -> CellErrorValue:
    return next(e for e in CellErrorValue if e.code == int(codes.flat[0]))


def _lane_result(result: Any) -> Value:
    if isinstance(result, Value):
        return result
    if isinstance(result, np.ndarray) and result.dtype != object:
        if result.size == 0:
            return error(CellErrorValue.CALC)
        return finite(np.asarray(result, dtype=np.float64).reshape(1, 1, *_two(result.shape)))
    if isinstance(result, np.ndarray | list | tuple):
        rows = np.array(result, dtype=object) if not isinstance(result, np.ndarray) else result
        if rows.size == 0:
            return error(CellErrorValue.CALC)
        return from_objects(rows.reshape(_two(rows.shape)))
    return scalar(result)


def _two(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if len(shape) == 2 else (1, 1) if not shape else (1, shape[0])


__all__ = ["Lambda", "Reference", "run"]
