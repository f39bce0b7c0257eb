"""Criteria of COUNTIF and its kin, and wildcards."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.recalc.coerce import format_number, parse_number
from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    ERROR_OF_TEXT,
    NUMBER,
    TEXT,
    Bools,
    CellErrorValue,
    Floats,
    Objects,
    Scalar,
    Value,
)

SIDES = ("<", ">", "<=", ">=")
_OPERATOR = re.compile(r"(<>|<=|>=|=|<|>)?(.*)", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def has_wildcard(text: str) -> bool:
    """Whether `text` means something else as a pattern than as a text."""
    return any(c in text for c in "*?~")


@lru_cache(maxsize=4096)
def pattern(text: str) -> re.Pattern[str]:
    """The pattern that Excel's wildcards spell: `*` any text, `?` one character, after `~` any character itself."""
    out = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "~":
            at += 1
            out.append(re.escape(text[at : at + 1]))
        elif char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        else:
            out.append(re.escape(char))
        at += 1
    return re.compile("".join(out), re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Criterion:
    """A comparison of each element with one value.

    `operand` None stands for an empty cell: `=` matches cells without content, `<>` those with content.
    `loose` is the criterion "", which matches empty texts, too.
    """

    comparison: str
    operand: Scalar
    loose: bool = False
    kind: type = field(init=False)
    """Keeps FALSE and 0 apart, which Python holds for equal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.operand))

    @property
    def is_key(self) -> bool:
        """Whether it asks for equality with one key (no wildcard): such can be looked up in an index."""
        if self.comparison != "=" or self.operand is None or isinstance(self.operand, CellErrorValue):
            return False
        return not (isinstance(self.operand, str) and has_wildcard(self.operand))

    def key(self) -> tuple[int, float | str]:
        """The key of `key_ids` that it asks for."""
        if isinstance(self.operand, bool):
            return (BOOL, float(self.operand))
        if isinstance(self.operand, float):
            return (NUMBER, self.operand)
        assert isinstance(self.operand, str)
        return (TEXT, self.operand.lower())

    def mask(self, value: Value) -> Bools:
        """Which elements of `value` satisfy it; same shape."""
        if self.comparison == "<>":
            if isinstance(self.operand, float):  # unlike `=`, it doesn't read texts as numbers
                return np.asarray((value.kinds != NUMBER) | (value.num != self.operand))
            return np.asarray(~Criterion("=", self.operand).mask(value))
        kinds = value.kinds
        if self.operand is None:
            empty = kinds == BLANK
            return np.asarray(empty | self._texts(value, lambda text: text == "") if self.loose else empty)
        if self.comparison == "=":
            return self._equal(value, kinds)
        compare = _COMPARE[self.comparison]
        if self.operand == "":
            return np.zeros(kinds.shape, dtype=bool)
        if isinstance(self.operand, str):
            word = self.operand.lower()
            return self._texts(value, lambda text: bool(compare(text.lower(), word)))
        kind = BOOL if isinstance(self.operand, bool) else NUMBER
        if isinstance(self.operand, CellErrorValue):
            return np.zeros(kinds.shape, dtype=bool)
        met = np.asarray(compare(value.num, float(self.operand)), dtype=bool)
        return met if value.uniform == kind else np.asarray((kinds == kind) & met)

    def _equal(self, value: Value, kinds: Any) -> Bools:
        wanted = self.operand
        if isinstance(wanted, CellErrorValue):
            return np.asarray((kinds == ERROR) & (value.num == wanted.code))
        if isinstance(wanted, bool):
            return np.asarray((kinds == BOOL) & (value.num == float(wanted)))
        if isinstance(wanted, float):
            if value.uniform == NUMBER:
                return np.asarray(value.num == wanted)
            found = np.asarray((kinds == NUMBER) & (value.num == wanted))
            if value.text is None:
                return found
            return np.asarray(found | (_spelled_numbers(value) == wanted))
        assert isinstance(wanted, str)
        if has_wildcard(wanted):
            match = pattern(wanted).fullmatch
            return self._texts(value, lambda text: match(text) is not None)
        if value.text is None:
            return np.zeros(value.shape, dtype=bool)
        return np.asarray(_lowered(value) == wanted.lower(), dtype=bool)

    @staticmethod
    def _texts(value: Value, test: Callable[[str], bool]) -> Bools:
        out = np.zeros(value.shape, dtype=bool)
        if value.text is None:
            return out
        flat, words = out.reshape(-1), value.text.reshape(-1)
        for at in np.flatnonzero((value.kinds == TEXT).reshape(-1)):
            flat[at] = test(words[at])
        return out


def _words(value: Value) -> Objects:
    out = np.full(value.shape, None, dtype=object)
    np.copyto(out, value.texts, where=value.kinds == TEXT)
    return out


def _lowered(value: Value) -> Objects:
    """The texts in lower case, None elsewhere; remembered with the value."""

    def build() -> Objects:
        words = _words(value)
        out = np.empty(words.shape, dtype=object)
        out.reshape(-1)[:] = [None if word is None else word.lower() for word in words.reshape(-1).tolist()]
        return out

    found: Objects = value.memo("lowered texts", build)
    return found


def _spelled_numbers(value: Value) -> Floats:
    """The number that each text spells, NaN elsewhere; remembered with the value."""

    def build() -> Floats:
        words = _words(value).reshape(-1).tolist()
        parsed = [None if word is None else parse_number(word) for word in words]
        return np.array([np.nan if x is None else x for x in parsed], dtype=np.float64).reshape(value.shape)

    found: Floats = value.memo("spelled numbers", build)
    return found


def criterion(value: Scalar) -> Criterion:
    """What a criterion argument means: a number or text to equal, or a text such as `>=5`, `<>`, `a*`."""
    if value is None:
        return Criterion("=", 0.0)
    if isinstance(value, str):
        return _parsed(value)
    return Criterion("=", value if isinstance(value, bool | CellErrorValue) else float(value))


@lru_cache(maxsize=65536)
def _parsed(text: str) -> Criterion:
    match = _OPERATOR.fullmatch(text)
    assert match is not None
    comparison, rest = match[1] or "=", match[2]
    if not rest:
        if comparison in ("=", "<>"):
            return Criterion(comparison, None, loose=match[1] is None)
        return Criterion(comparison, "")
    return Criterion(comparison, _literal(rest))


def _literal(text: str) -> Scalar:
    upper = text.strip().upper()
    if upper in ("TRUE", "FALSE"):
        return upper == "TRUE"
    if upper in ERROR_OF_TEXT:
        return ERROR_OF_TEXT[upper]
    number = parse_number(text)
    return text if number is None else number


def key_ids(value: Value) -> tuple[dict[tuple[int, float | str], int], Any]:
    """Keys of the elements of a single-lane value and, for each element in order, the index of its key.

    A text that spells a number counts as that number, as COUNTIF has it; texts are in lower case.
    """

    def build() -> tuple[dict[tuple[int, float | str], int], Any]:
        keys: dict[tuple[int, float | str], int] = {}
        ids = np.empty(value.num.size, dtype=np.int64)
        kinds, nums, words = value.kinds.reshape(-1), value.num.reshape(-1), value.texts.reshape(-1)
        number = kinds == NUMBER
        if number.all():
            distinct, ids = np.unique(nums, return_inverse=True)
            keys = {(NUMBER, x): i for i, x in enumerate(distinct.tolist())}
            return keys, ids.reshape(-1)
        for at, kind in enumerate(kinds.tolist()):
            key: tuple[int, float | str]
            if kind == TEXT:
                word = words[at]
                parsed = parse_number(word) if word[:1] and not word[:1].isalpha() else None
                key = (TEXT, word.lower()) if parsed is None else (NUMBER, parsed)
                if parsed is None and word.upper() in ("TRUE", "FALSE"):
                    key = (TEXT, word.lower())
            else:
                key = (kind, float(nums[at]))
            ids[at] = keys.setdefault(key, len(keys))
        return keys, ids

    found: tuple[dict[tuple[int, float | str], int], Any] = value.memo("criteria keys", build)
    return found


def spelled(value: Scalar) -> str:
    """A value as a text, for wildcards against numbers."""
    if isinstance(value, str):
        return value
    return "" if value is None else format_number(value) if isinstance(value, float) else str(value).upper()
