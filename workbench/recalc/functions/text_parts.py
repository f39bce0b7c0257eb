"""Excel's functions that join and split texts: CONCAT, TEXTJOIN, TEXTBEFORE, TEXTAFTER, TEXTSPLIT."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.recalc.calling import first_error
from workbench.recalc.coerce import text_of, to_texts
from workbench.recalc.functions.text import LONGEST
from workbench.recalc.operators import joined_codes
from workbench.recalc.registry import ARRAY, INTEGER, LOGICAL, NUMBER, RANGE, RAW, TEXT, lane, opt, vector
from workbench.recalc.values import CellErrorValue, Failure, Objects, Scalar, Value, codes_where, texts, with_errors

_VALUE = CellErrorValue.VALUE
_NA = CellErrorValue.NA


@vector("CONCAT", RANGE, repeat=1)
def concat(*values: Value) -> Value:
    """All texts one after another, row by row."""
    out: Any = ""
    codes = None
    for one in values:
        words, failed = to_texts(one)
        if one.shape[2:] != (1, 1):
            flat = words.reshape(*one.shape[:2], -1)
            joined = np.empty(one.shape[:2], dtype=object)
            for index in np.ndindex(*joined.shape):
                joined[index] = "".join(flat[index].tolist())
            words = joined[..., None, None]
            failed = None if failed is None else first_error(failed)
        codes = joined_codes(codes, failed)
        out = out + words
    lengths = np.array([len(word) for word in out.reshape(-1).tolist()]).reshape(out.shape)
    codes = joined_codes(codes, codes_where((lengths > LONGEST, _VALUE)))
    return with_errors(texts(out), codes) if codes is not None else texts(out)


@vector("CONCATENATE", TEXT, repeat=1)
def concatenate(*words: Objects) -> Value:
    """The texts one after another; of a range, in a plain formula, its cell in the formula's row or column."""
    out: Any = words[0]
    for more in words[1:]:
        out = out + more
    lengths = np.array([len(word) for word in np.reshape(out, -1).tolist()]).reshape(np.shape(out))
    return with_errors(texts(out), codes_where((lengths > LONGEST, _VALUE)))


def _spelled(array: Objects) -> list[str]:
    out = []
    for item in array.reshape(-1).tolist():
        word = text_of(item)
        if isinstance(word, CellErrorValue):
            raise Failure(word)
        out.append(word)
    return out


@lane("TEXTJOIN", ARRAY, opt(LOGICAL, True, empty=True), RANGE, repeat=1)
def textjoin(delimiters: Objects, ignore_empty: bool, *arrays: Objects) -> Scalar:
    """Texts with delimiters between them, used in turn."""
    between = _spelled(delimiters)
    words = [word for array in arrays for word in _spelled(array)]
    if ignore_empty:
        words = [word for word in words if word]
    out = "".join(word + (between[at % len(between)] if at < len(words) - 1 else "") for at, word in enumerate(words))
    return out if len(out) <= LONGEST else _VALUE


# --- before and after a delimiter


def _delimiter(delimiters: Sequence[str], mode: float) -> re.Pattern[str]:
    """Matches any of them, the longest first where several start at one place."""
    if mode not in (0, 1):
        raise Failure(_VALUE)
    ordered = sorted(delimiters, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE if mode else 0)


def _cuts(
    text: str, delimiters: Sequence[str], given: float | None, mode: float, match_end: float
) -> tuple[int, int] | None:
    """Where the wanted delimiter starts and ends; None when there is none.

    #VALUE! when the text is too short to hold so many delimiters, but only when asked for a number of them.
    """
    instance = 1 if given is None else math.floor(given)
    if match_end not in (0, 1) or instance == 0:
        raise Failure(_VALUE)
    shortest = max(min(len(delimiter) for delimiter in delimiters), 1)
    if given is not None and abs(instance) * shortest > len(text):
        raise Failure(_VALUE)
    if "" in delimiters:
        return (0, 0) if instance > 0 else (len(text), len(text))
    spans = [match.span() for match in _delimiter(delimiters, mode).finditer(text)]
    if match_end:
        spans = [*spans, (len(text), len(text))] if instance > 0 else [(0, 0), *spans]
    at = instance - 1 if instance > 0 else len(spans) + instance
    return spans[at] if 0 <= at < len(spans) else None


_CUT = (
    TEXT,
    ARRAY,
    opt(NUMBER, None, empty=True),
    opt(INTEGER, 0.0, empty=True),
    opt(INTEGER, 0.0, empty=True),
    opt(RAW, _NA, empty=True),
)


def _otherwise(missing: Scalar) -> Scalar:
    return "" if missing is None else missing


@lane("TEXTBEFORE", *_CUT)
def textbefore(
    text: str, delimiters: Objects, instance: float | None, mode: float, end: float, missing: Scalar
) -> Scalar:
    """What stands before a delimiter, counted from the end for a negative instance."""
    span = _cuts(text, _spelled(delimiters), instance, mode, end)
    return _otherwise(missing) if span is None else text[: span[0]]


@lane("TEXTAFTER", *_CUT)
def textafter(
    text: str, delimiters: Objects, instance: float | None, mode: float, end: float, missing: Scalar
) -> Scalar:
    """What stands after a delimiter, counted from the end for a negative instance."""
    span = _cuts(text, _spelled(delimiters), instance, mode, end)
    return _otherwise(missing) if span is None else text[span[1] :]


@lane(
    "TEXTSPLIT",
    TEXT,
    opt(ARRAY, empty=True),
    opt(ARRAY, empty=True),
    opt(LOGICAL, False, empty=True),
    opt(INTEGER, 0.0, empty=True),
    opt(RAW, _NA),
)
def textsplit(
    text: str, columns: Objects | None, rows: Objects | None, ignore_empty: bool, mode: float, pad: Scalar
) -> Any:
    """A text cut at delimiters into columns and rows, short rows filled up."""
    if columns is None and rows is None:
        return _VALUE
    lines = _pieces(text, rows, mode, ignore_empty)
    table = [_pieces(line, columns, mode, ignore_empty) for line in lines]
    if ignore_empty:
        table = [line for line in table if line]
    width = max((len(line) for line in table), default=0)
    if not width:
        return CellErrorValue.CALC
    return [[*line, *[pad] * (width - len(line))] for line in table]


def _pieces(text: str, delimiters: Objects | None, mode: float, ignore_empty: bool) -> list[str]:
    if delimiters is None:
        return [text]
    spelled = _spelled(delimiters)
    if "" in spelled:
        raise Failure(_VALUE)
    pieces = _delimiter(spelled, mode).split(text)
    return [piece for piece in pieces if piece] if ignore_empty else pieces
