"""The value of an expression: a 4-axis array of Excel values.

Axes, in order: scenario S, family cell F, row R, column C. An axis along which a value does not vary has
length 1, so plain NumPy broadcasting joins values. R and C are the rows and columns a spreadsheet user sees
(a scalar is 1 x 1); S and F only say how many of them there are ("lanes").

Most values are uniform (all numbers): then `kind` is a plain int and only `num` matters, without masks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Kinds: TypeAlias = NDArray[np.uint8]
Objects: TypeAlias = NDArray[np.object_]

BLANK, NUMBER, TEXT, BOOL, ERROR = range(5)
"""What an element is. `num` holds numbers, booleans as 0/1 and errors as their code; `text` holds texts."""


class CellErrorValue(enum.Enum):
    """An Excel error. `code` is what ERROR.TYPE returns and what `Value.num` stores."""

    NULL = (1, "#NULL!")
    DIV0 = (2, "#DIV/0!")
    VALUE = (3, "#VALUE!")
    REF = (4, "#REF!")
    NAME = (5, "#NAME?")
    NUM = (6, "#NUM!")
    NA = (7, "#N/A")
    GETTING_DATA = (8, "#GETTING_DATA")
    SPILL = (9, "#SPILL!")
    CONNECT = (10, "#CONNECT!")
    BLOCKED = (11, "#BLOCKED!")
    UNKNOWN = (12, "#UNKNOWN!")
    FIELD = (13, "#FIELD!")
    CALC = (14, "#CALC!")

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text


ERROR_OF_CODE: dict[int, CellErrorValue] = {error.code: error for error in CellErrorValue}
ERROR_OF_TEXT: dict[str, CellErrorValue] = {error.text: error for error in CellErrorValue}

Scalar: TypeAlias = float | str | bool | CellErrorValue | None
"""One Excel value as Python: None is a blank cell."""


class Failure(Exception):
    """Raised inside a function body when the whole result is an Excel error."""

    def __init__(self, error: CellErrorValue) -> None:
        super().__init__(error.text)
        self.error = error


class Unvectorisable(Exception):
    """Lanes can't be evaluated together (their results differ in shape): evaluate them one at a time."""


class TooLarge(Exception):
    """The joined array would not fit in memory: evaluate fewer lanes at a time."""


class NotEvaluable(Exception):
    """The engine can't evaluate this (unknown function, external link): the cell keeps its old value."""


LARGEST = 1 << 23
"""Elements of one intermediate array before the lanes are split."""


class Value:
    """An immutable array of Excel values, shape (S, F, R, C).

    `kind` is an int when uniform, else uint8 of the same shape as `num`. `text` is None where no element
    is text, else an object array of that shape (None where the element isn't text).
    `referenced` says that the elements come from cells: aggregates then skip texts and booleans.
    """

    __slots__ = ("_memo", "kind", "num", "referenced", "text")

    def __init__(
        self, kind: int | Kinds, num: Floats, text: Objects | None = None, *, referenced: bool = False
    ) -> None:
        self.kind = kind
        self.num = num
        self.text = text
        self.referenced = referenced
        self._memo: dict[Any, Any] | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(S, F, R, C)."""
        s, f, r, c = self.num.shape
        return s, f, r, c

    @property
    def uniform(self) -> int:
        """The kind of all elements; -1 where they are (or may be) of several. Compare this, not `kind`."""
        return self.kind if isinstance(self.kind, int) else -1

    @property
    def kinds(self) -> Kinds:
        """`kind` as an array of the full shape."""
        if isinstance(self.kind, int):
            return np.broadcast_to(np.uint8(self.kind), self.num.shape)
        return self.kind

    @property
    def texts(self) -> Objects:
        """`text` as an array of the full shape."""
        return np.broadcast_to(_NO_TEXT, self.num.shape) if self.text is None else self.text

    def all(self, kind: int) -> bool:
        """Whether every element is of `kind`."""
        return self.kind == kind if isinstance(self.kind, int) else bool((self.kind == kind).all())

    def any(self, kind: int) -> bool:
        """Whether some element is of `kind`."""
        return self.kind == kind if isinstance(self.kind, int) else bool((self.kind == kind).any())

    def memo(self, key: Any, build: Callable[[], Any]) -> Any:
        """`build()`, remembered as long as this value lives: for indices over a looked-up range.

        The evaluator hands the same Value object to every family that reads an unchanged absolute range.
        """
        if self._memo is None:
            self._memo = {}
        if key not in self._memo:
            self._memo[key] = build()
        return self._memo[key]

    def item(self) -> Scalar:
        """The top left element of the first lane as a Python value."""
        return self._at((0, 0, 0, 0))

    def objects(self) -> Objects:
        """Every element as a Python value (float, str, bool, None, CellErrorValue); same shape."""
        kind = self.kind
        if isinstance(kind, int):
            if kind == TEXT:
                return self.texts
            if kind == NUMBER:
                return self.num.astype(object)
        out = self.num.astype(object)
        kinds = self.kinds
        flat, fkinds = out.reshape(-1), kinds.reshape(-1)
        if self.text is not None:
            np.copyto(out, self.text, where=kinds == TEXT)
            flat = out.reshape(-1)
        for i in np.flatnonzero((fkinds != NUMBER) & (fkinds != TEXT)):
            flat[i] = _scalar(int(fkinds[i]), flat[i])
        whole: Objects = flat.reshape(self.num.shape)
        return whole

    def grid(self, s: int = 0, f: int = 0) -> Objects:
        """One lane as a 2-D object array."""
        rows: Objects = self.lane(s, f).objects()[0, 0]
        return rows

    def lane(self, s: int, f: int) -> Value:
        """Lane (s, f), shape (1, 1, R, C)."""
        if self.num.shape[:2] == (1, 1):
            return self
        s = s if self.num.shape[0] > 1 else 0
        f = f if self.num.shape[1] > 1 else 0
        return self[s : s + 1, f : f + 1]

    def __getitem__(self, key: Any) -> Value:
        """NumPy indexing on all axes at once (the result must keep four axes)."""
        return Value(
            self.kind if isinstance(self.kind, int) else self.kind[key],
            self.num[key],
            None if self.text is None else self.text[key],
            referenced=self.referenced,
        )

    def broadcast(self, shape: tuple[int, ...]) -> Value:
        """This value repeated to `shape` without copying."""
        if self.num.shape == shape:
            return self
        return Value(
            self.kind if isinstance(self.kind, int) else np.broadcast_to(self.kind, shape),
            np.broadcast_to(self.num, shape),
            None if self.text is None else np.broadcast_to(self.text, shape),
            referenced=self.referenced,
        )

    def unreferenced(self) -> Value:
        """The same elements, no longer counted as coming from cells."""
        return Value(self.kind, self.num, self.text) if self.referenced else self

    def normalised(self) -> Value:
        """The same value with a plain int `kind` where it is uniform."""
        if isinstance(self.kind, int) or self.kind.size == 0:
            return self
        first = int(self.kind.flat[0])
        if bool((self.kind == first).all()):
            return Value(first, self.num, self.text if first == TEXT else None, referenced=self.referenced)
        return self

    def _at(self, index: tuple[int, int, int, int]) -> Scalar:
        kind = self.kind if isinstance(self.kind, int) else int(self.kind[index])
        if kind == TEXT:
            return str(self.texts[index])
        return _scalar(kind, float(self.num[index]))

    def __repr__(self) -> str:
        if self.num.size == 1:
            return f"Value({self.item()!r})"
        return f"Value{self.shape}({self.objects().tolist()!r})"


_NO_TEXT: Objects = np.array(None, dtype=object)


def _scalar(kind: int, num: float) -> Scalar:
    if kind == NUMBER:
        return num
    if kind == BOOL:
        return num != 0
    if kind == ERROR:
        return ERROR_OF_CODE[int(num)]
    return None


def _as4(array: Any) -> Any:
    array = np.asarray(array)
    return array if array.ndim == 4 else array.reshape((1,) * (4 - array.ndim) + array.shape)


def numbers(array: Any) -> Value:
    """All numbers; fewer than four axes are taken as the last ones."""
    return Value(NUMBER, _as4(np.asarray(array, dtype=np.float64)))


def booleans(array: Any) -> Value:
    """All booleans."""
    return Value(BOOL, _as4(np.asarray(array, dtype=np.float64)))


def texts(array: Any) -> Value:
    """All texts."""
    array = _as4(np.asarray(array, dtype=object))
    return Value(TEXT, np.broadcast_to(np.float64(0), array.shape), array)


def error(which: CellErrorValue) -> Value:
    """One error."""
    return Value(ERROR, np.full((1, 1, 1, 1), float(which.code)))


def blank() -> Value:
    """One blank."""
    return Value(BLANK, np.zeros((1, 1, 1, 1)))


def scalar(value: Scalar | int) -> Value:
    """One Python value."""
    if isinstance(value, bool | np.bool_):
        return booleans(float(value))
    if isinstance(value, int | float | np.integer | np.floating):
        return numbers(float(value))
    if isinstance(value, str):
        return texts(value)
    if isinstance(value, CellErrorValue):
        return error(value)
    return blank()


def from_objects(array: Any) -> Value:
    """A Value of Python values; fewer than four axes are taken as the last ones (rows, columns)."""
    objects = _as4(np.asarray(array, dtype=object))
    flat = objects.reshape(-1)
    kinds = np.empty(flat.size, dtype=np.uint8)
    nums = np.zeros(flat.size)
    any_text = False
    for i, item in enumerate(flat.tolist()):
        if isinstance(item, bool | np.bool_):
            kinds[i], nums[i] = BOOL, item
        elif isinstance(item, float | int | np.floating | np.integer):
            kinds[i], nums[i] = NUMBER, item
        elif isinstance(item, str):
            kinds[i] = TEXT
            any_text = True
        elif isinstance(item, CellErrorValue):
            kinds[i], nums[i] = ERROR, item.code
        else:
            kinds[i] = BLANK
    shape = objects.shape
    return Value(kinds.reshape(shape), nums.reshape(shape), objects if any_text else None).normalised()


def from_rows(rows: Iterable[Sequence[Scalar | int]]) -> Value:
    """A Value (1, 1, R, C) of rows of equal length."""
    listed = [list(row) for row in rows]
    out = np.empty((len(listed), len(listed[0]) if listed else 0), dtype=object)
    for r, row in enumerate(listed):
        for c, item in enumerate(row):
            out[r, c] = item
    return from_objects(out)


def with_errors(value: Value, codes: NDArray[Any]) -> Value:
    """`value` (broadcast to the shape of `codes` where that is larger) with errors where `codes` is not 0."""
    failing = codes != 0
    if not failing.any():
        return value
    shape = np.broadcast_shapes(value.shape, codes.shape)
    kinds = np.where(failing, np.uint8(ERROR), value.kinds)
    nums = np.where(failing, codes, value.num).astype(np.float64)
    text = None if value.text is None else np.broadcast_to(value.text, shape)
    return Value(np.broadcast_to(kinds, shape), np.broadcast_to(nums, shape), text)


def error_codes(value: Value) -> NDArray[Any] | None:
    """The code of each element that is an error, 0 elsewhere; None where there is none."""
    if isinstance(value.kind, int):
        return value.num if value.kind == ERROR else None
    failing = value.kind == ERROR
    return np.where(failing, value.num, 0.0) if failing.any() else None


def codes_where(*cases: tuple[Any, CellErrorValue]) -> NDArray[Any]:
    """Error codes for masks; the first mask that holds wins. For the second result of a vector body."""
    masks = [np.asarray(mask, dtype=bool) for mask, _ in cases]
    out = np.zeros(np.broadcast_shapes(*(mask.shape for mask in masks)))
    for mask, (_, which) in zip(reversed(masks), reversed(cases), strict=True):
        out = np.where(mask, float(which.code), out)
    return out


def select(condition: Bools, first: Value, second: Value) -> Value:
    """Elements of `first` where `condition` holds, else of `second`; all three are broadcast."""
    text: Objects | None = None
    if first.text is not None or second.text is not None:
        text = np.where(condition, first.texts, second.texts)
    num = np.where(condition, first.num, second.num)
    if first.uniform >= 0 and first.uniform == second.uniform:
        return Value(first.uniform, num, text)
    kind = np.broadcast_to(np.where(condition, first.kinds, second.kinds), num.shape)
    if text is not None:
        text = np.broadcast_to(text, num.shape)
    return Value(kind, num, text).normalised()
