"""What the evaluator asks of a workbook."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from workbench.recalc.nodes import Node, TableReference
from workbench.recalc.references import Region
from workbench.recalc.values import Bools, Value


class Workspace(Protocol):
    """What the evaluator asks of the workbook."""

    date1904: bool
    scenarios: int
    """How many scenarios are evaluated together."""

    def some_scenarios(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Evaluate only those scenarios for a while."""

    def read(self, region: Region, lanes: int, *, whole: bool = False) -> Value:
        """The values of `region` for so many family cells; whole columns end below the part in use unless `whole`."""

    @property
    def sheet_names(self) -> tuple[str, ...]:
        """The names of all sheets in order."""

    def sheet_index(self, name: str) -> int | None:
        """The index of a sheet by its name, without case."""

    def name_definition(self, name: str, sheet: int) -> Node | None:
        """The tree of a defined name seen from `sheet`; relative to A1."""

    def table_region(self, node: TableReference, sheet: int, row: int, column: int) -> Region | None:
        """The place of a table reference for a formula in that cell; None where it is no cell of it."""

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name."""

    def spill_region(self, sheet: int, row: int, column: int) -> Region | None:
        """The range that the array formula in that cell fills."""

    def left_out(self, region: Region, *, hidden: bool, filtered: bool, nested: bool) -> Bools | None:
        """Which cells (R, C) of a fixed region SUBTOTAL and AGGREGATE skip; None for none."""

    def formula_text(self, sheet: int, row: int, column: int) -> str | None:
        """The formula of a cell as Excel shows it, with `=`."""
