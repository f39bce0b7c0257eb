"""A workbook open for recalculation: read values, set inputs, recalculate, save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.errors import CellError
from workbench.files import refuse_if_open_elsewhere, replacing
from workbench.recalc.cellrules import Validation
from workbench.recalc.edits import set_cell, unchained
from workbench.recalc.engine import Engine
from workbench.recalc.families import Family, Mode, find_families
from workbench.recalc.graph import Graph
from workbench.recalc.patch import Change, patched
from workbench.recalc.printer import address, quoted_sheet
from workbench.recalc.reader import Source, read_source
from workbench.recalc.recursion import deep_recursion
from workbench.recalc.references import Region
from workbench.recalc.report import ChangedCell, KeptCell, Report
from workbench.recalc.results import Results
from workbench.recalc.scenarios import evaluate_scenarios
from workbench.recalc.store import Column
from workbench.recalc.targets import resolved, resolved_cell
from workbench.recalc.values import ERROR, ERROR_OF_CODE, TEXT, CellErrorValue, Scalar

LONGEST_TEXT = 32767

MOST_LISTED = 10_000
"""Changed cells that a report lists; it counts the rest."""


class Workbook:
    """A workbook file with its formulas ready to run. Make one with `open_workbook`."""

    def __init__(self, source: Source, *, grouped: bool = True) -> None:
        self.source = source
        self.model = source.model
        self.path: Path = source.package.path
        self.results = Results(self.model)
        self.model.text_of_formula = self._formula_text
        self._grouped = grouped
        with deep_recursion():
            self.build_graph()
        self.edited: dict[tuple[int, int, int], Change] = {}
        """Cells that edits changed, as they go to the file (their values are in the store)."""
        self.unchained: set[tuple[int, int, int]] = set()
        """Cells whose formula was overwritten."""
        self.dirty: list[Region] | None = None
        """Cells set since the last recalculation; None before the first."""
        self.validations: dict[int, list[Validation]] = {}
        """The entry rules of the sheets that were edited."""

    def build_graph(self) -> None:
        """Find the families and what they read, from the formulas as they now are."""
        self.families: list[Family] = []
        for index, part in enumerate(self.source.parts):
            if part is not None:
                self.families += find_families(index, part.scan.formulas, grouped=self._grouped)
        self._collect_arrays()
        self.graph = Graph(self.model, self.families)
        self.engine = Engine(self.model, self.graph, self.results)
        self._formulas: dict[tuple[int, int, int], int] | None = None

    def _collect_arrays(self) -> None:
        for family in self.families:
            place = family.place
            if family.mode is Mode.DYNAMIC:
                self.model.spills.setdefault((place.sheet, place.row, place.column), family.extent)
        if self.model.spills:
            for index, part in enumerate(self.source.parts):
                if part is not None:
                    self.results.formula_cells[index] = {(f.row, f.column) for f in part.scan.formulas}

    def __enter__(self) -> Workbook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; the values stay readable."""
        self.source.package.close()

    @property
    def sheet_names(self) -> list[str]:
        """The sheets in order."""
        return [sheet.name for sheet in self.model.store.sheets]

    # --- cells

    def value(self, target: str) -> Scalar:
        """The value of a cell named by address, defined name or labels. Raises `CellError`."""
        r = resolved_cell(self.model, target)
        return self.model.store.cell(r.sheet, r.row1, r.column1)

    def values(self, target: str) -> list[list[Scalar]]:
        """The rows of values of a range, a defined name or a table's data. Raises `CellError`."""
        r = self.model.store.clipped(resolved(self.model, target))
        cell = self.model.store.cell
        return [
            [cell(r.sheet, row, column) for column in range(r.column1, r.column2 + 1)]
            for row in range(r.row1, r.row2 + 1)
        ]

    def formula(self, target: str) -> str | None:
        """The formula of a cell as Excel shows it; None where the cell holds none. Raises `CellError`."""
        r = resolved_cell(self.model, target)
        return self._formula_text(r.sheet, r.row1, r.column1)

    def locate(self, target: str) -> str:
        """The address of a cell or range named in any way, with its sheet. Raises `CellError`."""
        r = resolved(self.model, target)
        first = self.label(r.sheet, r.row1, r.column1)
        return first if r.rows * r.columns == 1 else f"{first}:{address(r.row2, r.column2)}"

    def set(self, target: str, value: Scalar | int, *, overwrite_formula: bool = False) -> None:
        """Put a value into a cell; None clears it. Formulas follow at the next `recalculate`.

        Raises `CellError` where the cell's validation or protection refuses it, and where the cell holds a
        formula, unless `overwrite_formula`.
        """
        r = resolved_cell(self.model, target)
        set_cell(self, r.sheet, r.row1, r.column1, _cell_value(value, target), overwrite_formula=overwrite_formula)

    def evaluate(
        self, inputs: Mapping[str, ArrayLike], outputs: Sequence[str], *, block: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Outputs for many scenarios at once; the workbook itself stays as it is.

        `inputs`: cell → one value a scenario, shape (S,), or range → (S, rows, columns). Returns for each output
        (S,) for a cell and (S, rows, columns) for a range: floats where all are numbers, booleans where all are,
        else objects (None for blanks, `CellErrorValue` for errors). Scenarios run in blocks that fit memory;
        `block` sets how many. Raises `CellError` for unknown cells, inputs with formulas, and outputs that can't
        be evaluated.
        """
        return evaluate_scenarios(self, inputs, outputs, block=block)

    # --- recalculation

    def recalculate(self, full: bool = False) -> Report:
        """Evaluate what the edits since the last call reach, or everything the first time and when `full`."""
        if full or self.dirty is None:
            self.engine.run()
        else:
            volatile = {i for i, p in enumerate(self.graph.precedents) if p.volatile}
            wanted = self.engine.reached_by(self.dirty) | self.graph.dependents(volatile)
            self.engine.run(wanted)
        self.dirty = []
        return self.report()

    def report(self) -> Report:
        """What differs from the file, and what keeps an old value."""
        changed, count = self._changed_cells()
        kept = sorted(self.engine.problems.values(), key=lambda u: (u.sheet, u.row, u.column))
        return Report(
            formulas=sum(len(part.scan.formulas) for part in self.source.parts if part is not None),
            changed=tuple(changed),
            changed_count=count,
            unevaluated=tuple(KeptCell(self.label(u.sheet, u.row, u.column), u.reason) for u in kept if not u.stale),
            stale=tuple(KeptCell(self.label(u.sheet, u.row, u.column), u.reason) for u in kept if u.stale),
            warnings=tuple(self.source.warnings),
        )

    def label(self, sheet: int, row: int, column: int) -> str:
        """`Sheet1!B7`."""
        return f"{quoted_sheet(self.model.store.sheets[sheet].name)}!{address(row, column)}"

    def _changed_cells(self) -> tuple[list[ChangedCell], int]:
        listed: list[ChangedCell] = []
        count = 0
        for (sheet, column), before in sorted(self.results.original.items()):
            rows = self._changed_rows(sheet, column, before)
            count += rows.size
            for row in rows[: max(0, MOST_LISTED - len(listed))].tolist():
                listed.append(
                    ChangedCell(
                        self.label(sheet, row, column),
                        _scalar_of(before, row),
                        self.model.store.cell(sheet, row, column),
                    )
                )
        return listed, count

    def _changed_rows(self, sheet: int, column: int, before: Column) -> NDArray[np.int32]:
        """Rows (from 0) of the column's cells that differ from the file's."""
        now = self.model.store.column(sheet, column).settled()
        if now.rows.size != before.rows.size:
            before = Column(before.rows, before.kind, before.num, before.text)
            before.ensure(now.rows)
        same = (now.kind == before.kind) & ((now.num == before.num) | (now.kind == TEXT))
        if now.text is not None and before.text is not None:
            same &= (now.kind != TEXT) | np.asarray(now.text == before.text, dtype=bool)
        rows: NDArray[np.int32] = now.rows[~same]
        return rows

    # --- saving

    def save(self, out: str | Path | None = None) -> None:
        """Write the workbook, to where it came from when `out` is None; only sheet parts differ from the file read.

        A file that would not change is left alone.
        Raises `WorkbenchError` when the target is open elsewhere or can't be written.
        """
        target = Path(out) if out is not None else self.path
        refuse_if_open_elsewhere(target)
        parts = self._patched_parts()
        if not parts and target.exists() and target.samefile(self.path):
            return
        with replacing(target) as temporary:
            self.source.package.write(temporary, parts)

    def _patched_parts(self) -> dict[str, bytes]:
        changes: dict[int, dict[tuple[int, int], Change]] = {}
        for (sheet, column), before in self.results.original.items():
            now = self.model.store.column(sheet, column)
            mine = changes.setdefault(sheet, {})
            for row, value in _items(now, self._changed_rows(sheet, column, before)):
                mine[row, column] = Change(value)
        for (sheet, row, column), area in self.results.spilled.items():
            span = f"{address(area.row1, area.column1)}:{address(area.row2, area.column2)}"
            ref = span if area.rows * area.columns > 1 else address(row, column)
            changes.setdefault(sheet, {})[row, column] = Change(
                self.model.store.cell(sheet, row, column), array_ref=ref
            )
        for (sheet, row, column), change in self.edited.items():
            changes.setdefault(sheet, {})[row, column] = replace(
                change, value=self.model.store.cell(sheet, row, column)
            )
        parts: dict[str, bytes] = {}
        rich = {error: index for index, error in self.source.rich_errors.items()}
        if self.unchained and self.source.chain is not None:
            parts[self.source.chain] = unchained(self.source, self.unchained)
        for sheet, mine in changes.items():
            part = self.source.parts[sheet]
            if part is None or not mine:
                continue
            parts[part.part] = patched(part.data, part.scan, mine, rich)
        return parts

    # --- formulas

    def formula_at(self, sheet: int, row: int, column: int) -> int | None:
        """The number of the formula in a cell, among its sheet's formulas."""
        if self._formulas is None:
            self._formulas = {}
            for index, part in enumerate(self.source.parts):
                if part is not None:
                    for i, formula in enumerate(part.scan.formulas):
                        self._formulas[index, formula.row, formula.column] = i
        return self._formulas.get((sheet, row, column))

    def _formula_text(self, sheet: int, row: int, column: int) -> str | None:
        from workbench.recalc.formula_text import shown_formula

        return shown_formula(self, sheet, row, column)


def open_workbook(path: str | Path, *, grouped: bool = True) -> Workbook:
    """Open a .xlsx or .xlsm file for reading and recalculation; values are the file's until `recalculate`.

    Raises `BookError` when it is no such file, encrypted or damaged.
    """
    return Workbook(read_source(Path(path)), grouped=grouped)


def fill_cached_values(path: str | Path) -> Report:
    """Give every formula cell of the file at `path` its true value, in place. Raises `BookError`."""
    with open_workbook(path) as book:
        report = book.recalculate()
        parts = book._patched_parts()
        with replacing(Path(path)) as temporary:
            book.source.package.write(temporary, parts)
    return report


def _cell_value(given: object, target: str) -> Scalar:
    """A Python value as a cell takes it. Raises `CellError` for what is none."""
    value: object = given.item() if isinstance(given, np.generic) else given
    if value is None or isinstance(value, bool | CellErrorValue):
        return value
    if isinstance(value, int | float):
        number = float(value)
        if number - number != 0:
            raise CellError(f"a cell can't hold {number}", where=target, remedy="give a finite number")
        return number
    if not isinstance(value, str):
        raise CellError(f"a cell can't hold a {type(value).__name__}", where=target, remedy="give a number or a text")
    if len(value) > LONGEST_TEXT:
        raise CellError(f"the text has {len(value)} characters", where=target, remedy=f"a cell holds {LONGEST_TEXT}")
    return value


def _items(column: Column, rows: NDArray[np.int32]) -> list[tuple[int, Scalar]]:
    """The values of the cells in those rows."""
    if not rows.size:
        return []
    column.settled()
    places = column.rows.searchsorted(rows)
    kinds = column.kind[places].tolist()
    nums = column.num[places].tolist()
    texts = [None] * len(kinds) if column.text is None else column.text[places].tolist()
    return [
        (row, _scalar(kind, num, text)) for row, kind, num, text in zip(rows.tolist(), kinds, nums, texts, strict=True)
    ]


def _scalar(kind: int, num: float, text: str | None) -> Scalar:
    if kind == 1:
        return num
    if kind == TEXT:
        return text or ""
    if kind == ERROR:
        return ERROR_OF_CODE.get(int(num), CellErrorValue.UNKNOWN)
    return bool(num) if kind == 3 else None


def _scalar_of(column: Column, row: int) -> Scalar:
    low, high = column.span(row, row)
    if low == high:
        return None
    text = None if column.text is None else column.text[low]
    return _scalar(int(column.kind[low]), float(column.num[low]), text)
