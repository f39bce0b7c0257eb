"""References as operands: where cells are, not what is in them.

Within a family the same reference points to a different place for each cell, but always to one that moves by
a constant step a cell: a `Region` holds the place for the family's first cell and the step of each edge.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384

LONG = 65_536
"""Rows from which a range is cut to the part of the workbook in use."""


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle on a sheet (by its index), rows and columns from 0, both ends included.

    `step_*` is what the edge moves by from one family cell to the next.
    """

    sheet: int
    row1: int
    column1: int
    row2: int
    column2: int
    step_row1: int = 0
    step_column1: int = 0
    step_row2: int = 0
    step_column2: int = 0

    @property
    def rows(self) -> int:
        """Rows at the first family cell."""
        return self.row2 - self.row1 + 1

    @property
    def columns(self) -> int:
        """Columns at the first family cell."""
        return self.column2 - self.column1 + 1

    @property
    def moves(self) -> bool:
        """Whether it differs between family cells."""
        return bool(self.step_row1 or self.step_row2 or self.step_column1 or self.step_column2)

    @property
    def rigid(self) -> bool:
        """Whether it keeps its size while it moves."""
        return self.step_row1 == self.step_row2 and self.step_column1 == self.step_column2

    def at(self, index: int) -> Region:
        """The region for family cell `index`."""
        if not self.moves:
            return self
        return Region(
            self.sheet,
            self.row1 + index * self.step_row1,
            self.column1 + index * self.step_column1,
            self.row2 + index * self.step_row2,
            self.column2 + index * self.step_column2,
        ).ordered()

    def ordered(self) -> Region:
        """The same rectangle with its edges in order (for regions that don't move)."""
        if self.row1 <= self.row2 and self.column1 <= self.column2:
            return self
        return Region(
            self.sheet,
            min(self.row1, self.row2),
            min(self.column1, self.column2),
            max(self.row1, self.row2),
            max(self.column1, self.column2),
        )

    @property
    def inside(self) -> bool:
        """Whether the rectangle of the first family cell lies on the sheet."""
        return self.row1 >= 0 and self.column1 >= 0 and self.row2 < MAX_ROWS and self.column2 < MAX_COLUMNS


@dataclass(frozen=True, slots=True)
class Reference:
    """One region, or several (a union or a 3-D reference)."""

    regions: tuple[Region, ...]

    @property
    def single(self) -> Region | None:
        """The region, when there is exactly one."""
        return self.regions[0] if len(self.regions) == 1 else None
