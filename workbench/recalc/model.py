"""A workbook's structure beside its cells: sheets, defined names, tables, spill ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from workbench.recalc.lexer import FormulaError
from workbench.recalc.nodes import CellReference, ErrorLiteral, Node, TableReference
from workbench.recalc.parser import parse
from workbench.recalc.references import Region
from workbench.recalc.store import Store
from workbench.recalc.values import Bools, CellErrorValue, NotEvaluable, Value


@dataclass(frozen=True)
class Table:
    """An Excel table: its whole range, how many header and totals rows it has, and its columns."""

    name: str
    region: Region
    header_rows: int
    totals_rows: int
    columns: tuple[str, ...]

    def data_rows(self) -> tuple[int, int]:
        """First and last row of the data, from 0."""
        return self.region.row1 + self.header_rows, self.region.row2 - self.totals_rows

    def column_index(self, name: str) -> int | None:
        """The position of a column by its name, without case."""
        return _positions(self.columns).get(_folded(name))


@lru_cache(maxsize=1024)
def _positions(columns: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, column in enumerate(columns):
        found.setdefault(_folded(column), i)
    return found


@lru_cache(maxsize=4096)
def _folded(name: str) -> str:
    return " ".join(name.replace("\r", "").split("\n")).casefold()


@dataclass
class Model:
    """Implements what the evaluator asks of a workbook (`evaluate.Workspace`)."""

    store: Store
    names: dict[tuple[str, int | None], str] = field(default_factory=dict)
    """(upper-case name, sheet index or None) → formula text without `=`."""
    tables: dict[str, Table] = field(default_factory=dict)
    """Lower-case name → table."""
    date1904: bool = False
    scenarios: int = 1
    spills: dict[tuple[int, int, int], Region] = field(default_factory=dict)
    hidden_rows: dict[int, frozenset[int]] = field(default_factory=dict)
    """Sheet index → rows hidden by hand or by a filter."""
    filtered_rows: dict[int, frozenset[int]] = field(default_factory=dict)
    """Sheet index → the rows of them that a filter hides."""
    subtotals: dict[int, frozenset[tuple[int, int]]] = field(default_factory=dict)
    """Sheet index → (row, column) of the cells whose formula calls SUBTOTAL or AGGREGATE."""
    text_of_formula: Callable[[int, int, int], str | None] | None = None
    watch: Callable[[Region], None] | None = None
    """Called before a region is read while cells with unknown precedents are evaluated."""

    def __post_init__(self) -> None:
        self._sheets = {sheet.name.casefold(): i for i, sheet in enumerate(self.store.sheets)}
        self._definitions: dict[tuple[str, int | None], Node] = {}

    def read(self, region: Region, lanes: int, *, whole: bool = False) -> Value:
        """The values of `region` for so many family cells; see `Store.read`."""
        if self.watch is not None:
            self.watch(region)
        return self.store.read(region, lanes, whole=whole)

    @property
    def sheet_names(self) -> tuple[str, ...]:
        """The names of all sheets in order."""
        return tuple(sheet.name for sheet in self.store.sheets)

    def sheet_index(self, name: str) -> int | None:
        """The index of a sheet by its name, without case."""
        return self._sheets.get(name.casefold())

    def name_definition(self, name: str, sheet: int) -> Node | None:
        """The tree of a defined name seen from `sheet`: that sheet's own before the workbook's."""
        key: tuple[str, int | None] = (name, sheet)
        if key not in self.names:
            key = (name, None)
        text = self.names.get(key)
        if text is None:
            return None
        if key not in self._definitions:
            try:
                self._definitions[key] = parse(text)
            except FormulaError as problem:
                raise NotEvaluable(f"uses the name {name}, whose {problem.problem}") from None
        return self._definitions[key]

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name."""
        return name.lower() in self.tables

    def table_at(self, sheet: int, row: int, column: int) -> Table | None:
        """The table that covers a cell."""
        for table in self.tables.values():
            r = table.region
            if r.sheet == sheet and r.row1 <= row <= r.row2 and r.column1 <= column <= r.column2:
                return table
        return None

    def table_region(self, node: TableReference, sheet: int, row: int, column: int) -> Region | None:
        """The place of a table reference for a formula in that cell; None where there is no such cell."""
        table = self.tables.get(node.table.lower()) if node.table else self.table_at(sheet, row, column)
        if table is None:
            return None
        whole = table.region
        column1, column2 = whole.column1, whole.column2
        if node.first is not None:
            first = table.column_index(node.first)
            last = first if node.last is None else table.column_index(node.last)
            if first is None or last is None:
                return None
            column1, column2 = whole.column1 + min(first, last), whole.column1 + max(first, last)
        rows = self._table_rows(table, node.items, row)
        if rows is None or rows[0] > rows[1]:
            return None
        return Region(whole.sheet, rows[0], column1, rows[1], column2)

    def _table_rows(self, table: Table, items: tuple[str, ...], row: int) -> tuple[int, int] | None:
        top, bottom = table.data_rows()
        whole = table.region
        if not items:
            return top, bottom
        spans: list[tuple[int, int]] = []
        for item in items:
            match item:
                case "#all":
                    spans.append((whole.row1, whole.row2))
                case "#data":
                    spans.append((top, bottom))
                case "#headers":
                    if not table.header_rows:
                        return None
                    spans.append((whole.row1, top - 1))
                case "#totals":
                    if not table.totals_rows:
                        return None
                    spans.append((bottom + 1, whole.row2))
                case "#this row":
                    if not top <= row <= bottom:
                        return None
                    spans.append((row, row))
                case _:
                    return None
        return min(a for a, _ in spans), max(b for _, b in spans)

    def spill_region(self, sheet: int, row: int, column: int) -> Region | None:
        """The range that the array formula in that cell fills."""
        return self.spills.get((sheet, row, column))

    def left_out(self, region: Region, *, hidden: bool, filtered: bool, nested: bool) -> Bools | None:
        """Which cells (R, C) of a fixed region SUBTOTAL and AGGREGATE skip; None for none."""
        rows: set[int] = set()
        for wanted, known in ((hidden, self.hidden_rows), (filtered, self.filtered_rows)):
            if wanted:
                rows |= {row for row in known.get(region.sheet, ()) if region.row1 <= row <= region.row2}
        cells = {
            (row, column)
            for row, column in (self.subtotals.get(region.sheet, ()) if nested else ())
            if region.row1 <= row <= region.row2 and region.column1 <= column <= region.column2
        }
        if not rows and not cells:
            return None
        skipped = np.zeros((region.rows, region.columns), dtype=bool)
        skipped[[row - region.row1 for row in rows]] = True
        for row, column in cells:
            skipped[row - region.row1, column - region.column1] = True
        return skipped

    def formula_text(self, sheet: int, row: int, column: int) -> str | None:
        """The formula of a cell as Excel shows it, with `=`."""
        return None if self.text_of_formula is None else self.text_of_formula(sheet, row, column)

    @contextmanager
    def some_scenarios(self, start: int, stop: int) -> Iterator[None]:
        """Evaluate only those scenarios (counted within the ones evaluated now) for a while."""
        before, count = self.store.scenario, self.scenarios
        offset = before.start or 0
        self.store.scenario = slice(offset + start, offset + stop)
        self.scenarios = stop - start
        try:
            yield
        finally:
            self.store.scenario, self.scenarios = before, count

    def define(self, name: str, text: str, sheet: int | None = None) -> None:
        """Add or replace a defined name."""
        self.names[name.upper(), sheet] = text
        self._definitions.pop((name.upper(), sheet), None)

    def resized(self, table: Table, region: Region) -> None:
        """Change the range of a table."""
        self.tables[table.name.lower()] = replace(table, region=region)


def is_broken(node: Node) -> bool:
    """Whether a name's definition is a deleted reference."""
    return isinstance(node, ErrorLiteral) and node.value is CellErrorValue.REF


__all__ = ["CellReference", "Model", "Table", "is_broken"]
