"""Where computed values go: into the store, with the values the file had kept beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from workbench.recalc.families import Family
from workbench.recalc.model import Model
from workbench.recalc.place import Place
from workbench.recalc.references import MAX_COLUMNS, MAX_ROWS, Region
from workbench.recalc.store import Column, Piece
from workbench.recalc.values import (
    BLANK,
    ERROR,
    NUMBER,
    CellErrorValue,
    Floats,
    Kinds,
    NotEvaluable,
    Value,
    error,
)


@dataclass
class Results:
    """Writes results; while `varying` they go to the store's scenario overlay where they vary."""

    model: Model
    formula_cells: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    """Sheet → cells of lone formulas and of arrays' first cells; filled when a spill asks."""
    varying: bool = False

    def __post_init__(self) -> None:
        self.original: dict[tuple[int, int], Column] = {}
        """Columns as the file had them, for those that were written."""
        self.spilled: dict[tuple[int, int, int], Region] = {}
        """First cell → range of the arrays whose spill range isn't the file's any more."""

    def keep(self, sheet: int, column: int) -> None:
        """Remember a column before its first change."""
        if (sheet, column) in self.original:
            return
        found = self.model.store.column(sheet, column).settled()
        self.original[sheet, column] = Column(
            found.rows.copy(), found.kind.copy(), found.num.copy(), None if found.text is None else found.text.copy()
        )

    def put(self, place: Place, value: Value) -> None:
        """Store one element for each cell of `place`; a blank result is the number 0."""
        value = _without_blanks(value)
        store = self.model.store
        if self.varying:
            wide = value.broadcast((self.model.scenarios, place.count, 1, 1))
            if place.across:
                for i in range(place.count):
                    piece = Piece(place.row, place.row, wide[:, i : i + 1])
                    store.add_piece(place.sheet, place.column + i, piece)
                return
            store.add_piece(place.sheet, place.column, Piece(place.row, place.row + place.count - 1, wide))
            return
        wide = value.broadcast((1, place.count, 1, 1))
        if place.across:
            for i in range(place.count):
                self.keep(place.sheet, place.column + i)
                store.write_column(place.sheet, place.row, place.column + i, wide[:, i : i + 1])
            return
        self.keep(place.sheet, place.column)
        store.write_column(place.sheet, place.row, place.column, wide)

    def fill(self, area: Region, value: Value) -> None:
        """Store an array over the fixed range of an array formula: repeated from one row or column, else #N/A."""
        self._columns(area, _fitted(_without_blanks(value), area.rows, area.columns))

    def _columns(self, area: Region, value: Value) -> None:
        store = self.model.store
        for i in range(area.columns):
            column = value[:, :, :, i : i + 1]
            lanes = Value(
                column.kind if isinstance(column.kind, int) else column.kind.swapaxes(1, 2),
                column.num.swapaxes(1, 2),
                None if column.text is None else column.text.swapaxes(1, 2),
            )
            if self.varying:
                lanes = lanes.broadcast((self.model.scenarios, *lanes.shape[1:]))
                store.add_piece(area.sheet, area.column1 + i, Piece(area.row1, area.row2, lanes))
            else:
                self.keep(area.sheet, area.column1 + i)
                store.write_column(area.sheet, area.row1, area.column1 + i, lanes)

    def spill(self, family: Family, value: Value) -> list[Region]:
        """Store a dynamic array from its cell down and right. Returns the ranges that gained or lost cells."""
        place = family.place
        anchor = place.sheet, place.row, place.column
        before = self.model.spills.get(anchor) or family.extent
        rows, columns = value.shape[2:]
        if self.varying and (rows, columns) != (before.rows, before.columns):
            raise NotEvaluable("fills another range in other scenarios")
        after = Region(place.sheet, place.row, place.column, place.row + rows - 1, place.column + columns - 1)
        value = _without_blanks(value)
        if not after.inside or self._blocked(family, before, after):
            after = Region(place.sheet, place.row, place.column, place.row, place.column)
            value = error(CellErrorValue.SPILL)
        if after != before:
            self._clear(before, after)
        self._columns(after, value)
        self.model.spills[anchor] = after
        if after == before:
            return []
        self.spilled[anchor] = after
        return [before, after]

    def _blocked(self, family: Family, before: Region, after: Region) -> bool:
        if after.row2 >= MAX_ROWS or after.column2 >= MAX_COLUMNS:
            return True
        cells = self.formula_cells.get(after.sheet, set())
        for column in range(after.column1, after.column2 + 1):
            found = self.model.store.sheets[after.sheet].columns.get(column)
            if found is None:
                continue
            low, high = found.settled().span(after.row1, after.row2)
            for i in range(low, high):
                row = int(found.rows[i])
                if (row, column) == (family.place.row, family.place.column):
                    continue
                own = before.row1 <= row <= before.row2 and before.column1 <= column <= before.column2
                if (row, column) in cells or (not own and found.kind[i] != BLANK):
                    return True
        return False

    def _clear(self, before: Region, after: Region) -> None:
        """Blank the cells that the array no longer fills."""
        for column in range(before.column1, before.column2 + 1):
            for row in range(before.row1, before.row2 + 1):
                if row > after.row2 or column > after.column2:
                    self.keep(before.sheet, column)
                    self.model.store.write(before.sheet, row, column, None)


def _without_blanks(value: Value) -> Value:
    """A formula's result is never blank: 0 instead."""
    if not value.any(BLANK):
        return value
    if isinstance(value.kind, int):
        return Value(NUMBER, value.num)
    return Value(np.where(value.kind == BLANK, np.uint8(NUMBER), value.kind), value.num, value.text).normalised()


def _fitted(value: Value, rows: int, columns: int) -> Value:
    s, f, r, c = value.shape
    if (r, c) == (rows, columns):
        return value
    wide = value.broadcast((s, f, rows if r == 1 else r, columns if c == 1 else c))[:, :, :rows, :columns]
    if wide.shape[2:] == (rows, columns):
        return wide
    kind: Kinds = np.full((s, f, rows, columns), ERROR, dtype=np.uint8)
    num: Floats = np.full((s, f, rows, columns), float(CellErrorValue.NA.code))
    text = None
    here = (slice(None), slice(None), slice(0, wide.shape[2]), slice(0, wide.shape[3]))
    kind[here], num[here] = wide.kinds, wide.num
    if wide.text is not None:
        text = np.full((s, f, rows, columns), None, dtype=object)
        text[here] = wide.texts
    return Value(kind, num, text).normalised()
