"""Cell values by sheet and column, compact: sorted rows with kind, number and text arrays.

Rows and columns count from 0. During scenario evaluation an overlay holds what varies over scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from workbench.recalc.references import LONG, MAX_COLUMNS, MAX_ROWS, Region
from workbench.recalc.values import (
    BLANK,
    BOOL,
    ERROR,
    ERROR_OF_CODE,
    LARGEST,
    NUMBER,
    TEXT,
    CellErrorValue,
    Floats,
    Kinds,
    Objects,
    Scalar,
    TooLarge,
    Unvectorisable,
    Value,
    scalar,
)

SHARED = 9
"""Kind of a cell whose `num` is the index of a shared string; seen only inside a column."""

CACHED = 1 << 23
"""Cells of all remembered blocks together: a range that grows from cell to cell would fill the memory."""


class Column:
    """The cells of one column that exist, in row order."""

    __slots__ = ("kind", "num", "rows", "shared", "text", "version")

    def __init__(
        self,
        rows: NDArray[np.int32],
        kind: Kinds,
        num: Floats,
        text: Objects | None = None,
        shared: Objects | None = None,
    ) -> None:
        self.rows = rows
        self.kind = kind
        self.num = num
        self.text = text
        self.shared = shared
        """The workbook's shared strings, while some cell is of kind SHARED."""
        self.version = 0

    def settled(self) -> Column:
        """This column, its shared strings looked up."""
        if self.shared is not None:
            here = self.kind == SHARED
            if here.any():
                if self.text is None:
                    self.text = np.full(self.rows.size, None, dtype=object)
                self.text[here] = self.shared[self.num[here].astype(np.intp)]
                self.num[here] = 0.0
                self.kind[here] = TEXT
            self.shared = None
        return self

    def span(self, row1: int, row2: int) -> tuple[int, int]:
        """Positions of the cells in rows row1 to row2."""
        rows = self.rows
        if rows.size and rows[-1] - rows[0] == rows.size - 1:
            first = int(rows[0])
            low = min(max(row1 - first, 0), rows.size)
            return low, max(low, min(row2 + 1 - first, rows.size))
        return int(rows.searchsorted(row1)), int(rows.searchsorted(row2, side="right"))

    def ensure(self, rows: NDArray[np.int32]) -> None:
        """Add blank cells in those of `rows` (sorted) that don't exist."""
        missing = np.setdiff1d(rows, self.rows, assume_unique=True)
        if not missing.size:
            return
        self.settled()
        places = self.rows.searchsorted(missing)
        self.rows = np.insert(self.rows, places, missing).astype(np.int32)
        self.kind = np.insert(self.kind, places, BLANK)
        self.num = np.insert(self.num, places, 0.0)
        if self.text is not None:
            fresh: Objects = np.full(places.size, None, dtype=object)
            self.text = np.insert(self.text, places, fresh)


@dataclass
class Sheet:
    """One worksheet's cells."""

    name: str
    columns: dict[int, Column] = field(default_factory=dict)

    def last_row(self) -> int:
        """The last row (from 0) that holds a cell; -1 on an empty sheet."""
        return max((int(column.rows[-1]) for column in self.columns.values() if column.rows.size), default=-1)

    def last_column(self) -> int:
        """The last column that holds a cell; -1 on an empty sheet."""
        return max(self.columns, default=-1)


@dataclass(frozen=True)
class Piece:
    """Values of the cells row1 to row2 of a column that vary over scenarios; shape (S, rows, 1, 1)."""

    row1: int
    row2: int
    value: Value


class Store:
    """All sheets' values."""

    def __init__(self, sheets: Iterable[Sheet]) -> None:
        self.sheets = list(sheets)
        self.overlay: dict[tuple[int, int], list[Piece]] = {}
        self.scenario: slice = slice(None)
        """Which scenarios of the overlay are read."""
        self._cache: dict[tuple[int, int, int, int, int], tuple[int, Value]] = {}
        self._cached = 0
        self._overlay_cache: dict[tuple[int, int, int, int, int], Value] = {}
        self._last_row: int | None = None

    def last_row(self) -> int:
        """The last row in use anywhere: where whole columns are cut off."""
        if self._last_row is None:
            self._last_row = max((sheet.last_row() for sheet in self.sheets), default=-1)
        return self._last_row

    def last_column(self) -> int:
        """The last column in use anywhere."""
        return max((sheet.last_column() for sheet in self.sheets), default=-1)

    def extents_changed(self) -> None:
        """Forget the last row; to be called after cells were added."""
        self._last_row = None

    def clipped(self, region: Region) -> Region:
        """Whole columns and rows cut to the part of the workbook in use and one row and column of blanks after it."""
        if region.rows < LONG and region.columns < MAX_COLUMNS:
            return region
        row2, column2 = region.row2, region.column2
        if region.rows >= LONG and not region.step_row1:
            row2 = max(region.row1, min(row2, self.last_row() + 1))
        if region.columns == MAX_COLUMNS:
            column2 = max(region.column1, min(column2, self.last_column() + 1))
        return Region(
            region.sheet,
            region.row1,
            region.column1,
            row2,
            column2,
            region.step_row1,
            region.step_column1,
            region.step_row2 if row2 == region.row2 else 0,
            region.step_column2 if column2 == region.column2 else 0,
        )

    def read(self, region: Region, lanes: int, *, whole: bool = False) -> Value:
        """The cells of `region` for `lanes` family cells: (S, F, R, C), F being 1 where it doesn't move.

        Whole columns and rows are cut to the part in use, unless `whole`.
        The same object is returned while no cell in it changes, for a region that doesn't move.
        """
        if not region.moves or lanes == 1:
            region = region.ordered() if not region.moves else region.at(0)
            region = region if whole else self.clipped(region)
            return self.block(region.sheet, region.row1, region.column1, region.row2, region.column2)
        if not region.rigid or region.row1 > region.row2 or region.column1 > region.column2:
            raise Unvectorisable
        region = region if whole else self.clipped(region)
        if lanes * region.rows * region.columns > LARGEST:
            raise TooLarge
        more = lanes - 1
        down, right = region.step_row1, region.step_column1
        block = self.block(
            region.sheet, region.row1, region.column1, region.row2 + more * down, region.column2 + more * right
        )
        if down and right:
            raise Unvectorisable

        def windows(array: NDArray[Any]) -> NDArray[Any]:
            if down:
                if region.rows == 1:
                    return array[:, 0, :, None, :]
                return sliding_window_view(array[:, 0], region.rows, axis=1).swapaxes(2, 3)
            if region.columns == 1:
                return array[:, 0].swapaxes(1, 2)[..., None]
            return sliding_window_view(array[:, 0], region.columns, axis=2).transpose(0, 2, 1, 3)

        return Value(
            block.kind if isinstance(block.kind, int) else windows(block.kind),
            windows(block.num),
            None if block.text is None else windows(block.text),
            referenced=True,
        )

    def block(self, sheet: int, row1: int, column1: int, row2: int, column2: int) -> Value:
        """The cells of a fixed rectangle, (S, 1, R, C)."""
        columns = self.sheets[sheet].columns
        if row1 == row2 and column1 == column2 and not self.overlay:
            return self._one(columns.get(column1), row1)
        present = (
            [c for c in range(column1, column2 + 1) if c in columns]
            if column2 - column1 < len(columns)
            else [c for c in sorted(columns) if column1 <= c <= column2]
        )
        key = (sheet, row1, column1, row2, column2)
        version = sum(columns[c].version for c in present) * 1000 + len(present)
        cached = self._cache.get(key)
        if cached is not None and cached[0] == version:
            value = cached[1]
        else:
            value = self._base(columns, present, row1, column1, row2, column2)
            self._cached += value.num.size
            if self._cached > CACHED:
                self._cache.clear()
                self._cached = value.num.size
            self._cache[key] = version, value
        if self.overlay:
            return self._overlaid(key, value)
        return value

    def _one(self, column: Column | None, row: int) -> Value:
        """A single cell, (1, 1, 1, 1)."""
        num: Floats = np.zeros((1, 1, 1, 1))
        if column is None:
            return Value(BLANK, num, referenced=True)
        column.settled()
        low, high = column.span(row, row)
        if low == high:
            return Value(BLANK, num, referenced=True)
        kind = int(column.kind[low])
        num[0, 0, 0, 0] = column.num[low]
        text: Objects | None = None
        if kind == TEXT and column.text is not None:
            text = np.full((1, 1, 1, 1), column.text[low], dtype=object)
        return Value(kind, num, text, referenced=True)

    def _base(
        self, columns: dict[int, Column], present: list[int], row1: int, column1: int, row2: int, column2: int
    ) -> Value:
        height, width = row2 - row1 + 1, column2 - column1 + 1
        if height * width > 8 * LARGEST:
            raise TooLarge
        if width == 1 and present:
            column = columns[column1].settled()
            low, high = column.span(row1, row2)
            if high - low == height:
                return _value(
                    column.kind[low:high].copy(),
                    column.num[low:high].copy(),
                    None if column.text is None else column.text[low:high].copy(),
                    (1, 1, height, 1),
                )
        kind = np.zeros((height, width), dtype=np.uint8)
        num = np.zeros((height, width))
        text: Objects | None = None
        for c in present:
            column = columns[c].settled()
            low, high = column.span(row1, row2)
            if low == high:
                continue
            if high - low == height:
                where: Any = slice(None)
            else:
                where = column.rows[low:high] - row1
            kind[where, c - column1] = column.kind[low:high]
            num[where, c - column1] = column.num[low:high]
            if column.text is not None:
                if text is None:
                    text = np.full((height, width), None, dtype=object)
                text[where, c - column1] = column.text[low:high]
        return _value(kind, num, text, (1, 1, height, width))

    def _overlaid(self, key: tuple[int, int, int, int, int], base: Value) -> Value:
        sheet, row1, column1, row2, column2 = key
        found = [
            (c, piece)
            for (s, c), pieces in self.overlay.items()
            if s == sheet and column1 <= c <= column2
            for piece in pieces
            if piece.row1 <= row2 and piece.row2 >= row1
        ]
        if not found:
            return base
        cached = self._overlay_cache.get(key)
        if cached is not None:
            return cached[self.scenario]
        if len(found) == 1 and column1 == column2:
            piece = found[0][1]
            if piece.row1 <= row1 and piece.row2 >= row2:
                whole = piece.value[:, row1 - piece.row1 : row2 + 1 - piece.row1]
                axes = (0, 2, 1, 3)
                value = Value(
                    whole.kind if isinstance(whole.kind, int) else whole.kind.transpose(axes),
                    whole.num.transpose(axes),
                    None if whole.text is None else whole.text.transpose(axes),
                    referenced=True,
                )
                self._overlay_cache[key] = value
                return value[self.scenario]
        count = max(piece.value.shape[0] for _, piece in found)
        shape = (count, *base.shape[1:])
        num = np.array(np.broadcast_to(base.num, shape))
        kind = np.array(np.broadcast_to(base.kinds, shape))
        text: Objects | None = None
        if base.text is not None or any(piece.value.text is not None for _, piece in found):
            text = np.array(np.broadcast_to(base.texts, shape))
        for c, piece in found:
            top, bottom = max(row1, piece.row1), min(row2, piece.row2)
            part = piece.value[:, top - piece.row1 : bottom + 1 - piece.row1]
            here = (slice(None), 0, slice(top - row1, bottom + 1 - row1), c - column1)
            num[here] = part.num[:, :, 0, 0]
            kind[here] = part.kinds[:, :, 0, 0]
            if text is not None:
                text[here] = part.texts[:, :, 0, 0]
        value = Value(kind, num, text, referenced=True).normalised()
        self._overlay_cache[key] = value
        return value[self.scenario]

    def add_piece(self, sheet: int, column: int, piece: Piece) -> None:
        """Let the cells of `piece` vary over scenarios."""
        self.overlay.setdefault((sheet, column), []).append(piece)
        for key in [k for k in self._overlay_cache if k[0] == sheet and k[2] <= column <= k[4]]:
            del self._overlay_cache[key]

    def forget_scenarios(self) -> None:
        """Drop the overlay."""
        self.overlay.clear()
        self._overlay_cache.clear()
        self.scenario = slice(None)

    def write_column(self, sheet: int, row: int, column: int, value: Value) -> None:
        """Store the lanes of `value` (1, F, 1, 1) in rows `row` to `row + F - 1`."""
        count = value.shape[1]
        target = self.column(sheet, column)
        low, high = target.span(row, row + count - 1)
        if high - low != count:
            target.ensure(np.arange(row, row + count, dtype=np.int32))
            self.extents_changed()
            low, high = target.span(row, row + count - 1)
        self._put(target, slice(low, high), value.kinds[0, :, 0, 0], value.num[0, :, 0, 0], value.text, value)

    def _put(self, target: Column, where: slice, kind: Kinds, num: Floats, text: Objects | None, value: Value) -> None:
        target.settled()
        target.kind[where] = kind
        target.num[where] = num
        if text is not None:
            if target.text is None:
                target.text = np.full(target.rows.size, None, dtype=object)
            target.text[where] = value.texts[0, :, 0, 0]
        elif target.text is not None:
            target.text[where] = None
        target.version += 1

    def write(self, sheet: int, row: int, column: int, value: Scalar) -> None:
        """Store one value; the cell is created where it doesn't exist."""
        self.write_column(sheet, row, column, scalar(value))

    def column(self, sheet: int, column: int) -> Column:
        """A column, created empty where it doesn't exist."""
        columns = self.sheets[sheet].columns
        if column not in columns:
            columns[column] = Column(
                np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.float64)
            )
        return columns[column]

    def cell(self, sheet: int, row: int, column: int) -> Scalar:
        """One cell's value."""
        found = self.sheets[sheet].columns.get(column)
        if found is None:
            return None
        found.settled()
        low, high = found.span(row, row)
        if low == high:
            return None
        kind = int(found.kind[low])
        if kind == TEXT:
            assert found.text is not None
            return str(found.text[low])
        num = float(found.num[low])
        if kind == NUMBER:
            return num
        if kind == BOOL:
            return num != 0
        return ERROR_OF_CODE.get(int(num), CellErrorValue.UNKNOWN) if kind == ERROR else None


def _value(kind: Kinds, num: Floats, text: Objects | None, shape: tuple[int, int, int, int]) -> Value:
    first = int(kind.flat[0]) if kind.size else BLANK
    num = num.reshape(shape)
    if bool((kind == first).all()):
        return Value(first, num, text.reshape(shape) if first == TEXT and text is not None else None, referenced=True)
    if text is not None and not (kind == TEXT).any():
        text = None
    return Value(kind.reshape(shape), num, None if text is None else text.reshape(shape), referenced=True)


__all__ = ["MAX_ROWS", "SHARED", "Column", "Piece", "Sheet", "Store"]
