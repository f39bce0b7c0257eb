"""What is in the cells: values and formulas, read and written in bulk."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from workbench.buttons.libreoffice.addresses import Area
from workbench.buttons.libreoffice.bridge import guarded, struct
from workbench.buttons.libreoffice.formats import Formatted
from workbench.buttons.libreoffice.formulas import shifted, to_calc, to_excel
from workbench.buttons.libreoffice.values import DATE_OR_TIME, LOGICAL, error_text, from_serial, to_serial

_FORMULA_ERRORS = 4
"""`com.sun.star.sheet.FormulaResult.ERROR`."""


@guarded
class Contents(Formatted):
    """The part of a Range that reads and writes values and formulas."""

    if TYPE_CHECKING:
        options: dict[str, Any]

        @property
        def row(self) -> int: ...
        @property
        def column(self) -> int: ...
        def __len__(self) -> int: ...

    @property
    def raw_value(self) -> list[list[Any]]:
        """Rows of None, float, bool, str, datetime and, with `err_to_str`, error texts."""
        rows = [list(row) for row in self.api.getDataArray()]
        numbers = errors = False
        for row in rows:
            for j, value in enumerate(row):
                if value == "":
                    row[j] = None
                elif value is None:
                    errors = True
                elif not numbers and type(value) is not str:
                    numbers = True
        if numbers:
            self._apply_formats(rows)
        if errors and self.options.get("err_to_str"):
            self._put_errors(rows)
        return rows

    @raw_value.setter
    def raw_value(self, data: Any) -> None:
        """Write a scalar into every cell, or rows of values; `=…` is a formula, `'…` a literal text."""
        if not isinstance(data, list | tuple):
            if isinstance(data, str) and data.startswith("="):
                self.formula = data
                return
            data = [[data] * self.area.columns] * self.area.rows
        elif data and not isinstance(data[0], list | tuple):
            data = [data]
        self._check_shape(data)
        notes = self._notes_inside()
        plain, formulas, dates, truths = [], [], [], []
        for i, row in enumerate(data):
            cells: list[Any] = []
            for j, value in enumerate(row):
                kind = type(value)
                if value is None:
                    value = ""
                elif kind is str:
                    if value[:1] == "=" and len(value) > 1:
                        formulas.append((i, j, value))
                        value = ""
                    elif value[:1] == "'":
                        value = value[1:]
                elif kind is bool:
                    truths.append((i, j))
                    value = float(value)
                elif isinstance(value, dt.date):
                    dates.append((i, j, value))
                    value = to_serial(value)
                else:
                    value = float(value)
                cells.append(value)
            plain.append(tuple(cells))
        self.api.setDataArray(tuple(plain))
        self._write_formulas(formulas)
        self._show_as_dates(dates)
        self._show_as_truths(truths)
        for position, text in notes:
            self.sheet.uno.Annotations.insertNew(position, text)

    def _apply_formats(self, rows: list[list[Any]]) -> None:
        """Turn the numbers of cells with a date or logical format into datetimes and bools."""
        key = self.api.NumberFormat if self._one_format() else None
        groups = [(key, (self.api.RangeAddress,))] if key is not None else self._format_groups()
        for key, addresses in groups:
            kind = self._kind_of_format(key)
            if not kind & (DATE_OR_TIME | LOGICAL):
                continue
            for address in addresses:
                for row in rows[address.StartRow - self.row + 1 : address.EndRow - self.row + 2]:
                    for j in range(address.StartColumn - self.column + 1, address.EndColumn - self.column + 2):
                        if type(row[j]) is float:
                            row[j] = bool(row[j]) if kind & LOGICAL else from_serial(row[j])

    def _one_format(self) -> bool:
        return len(self) == 1 or self.api.getPropertyState("NumberFormat").value != "AMBIGUOUS_VALUE"

    def _format_groups(self) -> list[tuple[int, Any]]:
        groups = self.api.UniqueCellFormatRanges
        parts = (groups.getByIndex(i) for i in range(groups.Count))
        return [(part.NumberFormat, part.RangeAddresses) for part in parts]

    def _kind_of_format(self, key: int) -> int:
        document = self.sheet.book.doc
        known, identity = self.sheet.book.app.format_types, (document.RuntimeUID, key)
        if identity not in known:
            known[identity] = int(document.NumberFormats.getByKey(key).Type)
        return known[identity]

    def _put_errors(self, rows: list[list[Any]]) -> None:
        for a in self.api.queryFormulaCells(_FORMULA_ERRORS).RangeAddresses:
            for i in range(a.StartRow, a.EndRow + 1):
                for j in range(a.StartColumn, a.EndColumn + 1):
                    code = self.sheet.uno.getCellByPosition(j, i).getError()
                    rows[i - self.row + 1][j - self.column + 1] = error_text(code)

    def _check_shape(self, data: Any) -> None:
        if len(data) != self.area.rows or any(len(row) != self.area.columns for row in data):
            raise ValueError(
                f"the values have to be {self.area.rows} rows of {self.area.columns}, as the range {self.address} is"
            )

    def _notes_inside(self) -> list[tuple[Any, str]]:
        """Notes of these cells: `setDataArray` deletes them, so they are put back afterwards."""
        notes = self.sheet.uno.Annotations
        inside = []
        for i in range(notes.Count):
            note = notes.getByIndex(i)
            position = note.Position
            if self.area.holds(Area(position.Row + 1, position.Column + 1, 1, 1)):
                inside.append((position, str(note.String)))
        return inside

    def _write_formulas(self, formulas: list[tuple[int, int, str]]) -> None:
        """Write formulas, one call for each run of neighbours in a column."""
        formulas.sort(key=lambda item: (item[1], item[0]))
        start = 0
        while start < len(formulas):
            end = start + 1
            row, column, _ = formulas[start]
            while end < len(formulas) and formulas[end][:2] == (row + end - start, column):
                end += 1
            texts = tuple((to_calc(text),) for _, _, text in formulas[start:end])
            first = self.row + row - 1, self.column + column - 1
            self.sheet.uno.getCellRangeByPosition(
                first[1], first[0], first[1], first[0] + len(texts) - 1
            ).setFormulaArray(texts)
            start = end

    def _show_as_dates(self, dates: list[tuple[int, int, dt.date]]) -> None:
        for i, j, value in dates:
            cell = self.sheet.uno.getCellByPosition(self.column + j - 1, self.row + i - 1)
            if self._kind_of_format(cell.NumberFormat) & DATE_OR_TIME:
                continue
            with_time = isinstance(value, dt.datetime) and value.time() != dt.time()
            cell.NumberFormat = self.number_format_key("yyyy-mm-dd hh:mm:ss" if with_time else "yyyy-mm-dd")

    def _show_as_truths(self, truths: list[tuple[int, int]]) -> None:
        if not truths:
            return
        locale = struct("com.sun.star.lang.Locale", "en", "US", "")
        key = self.sheet.book.doc.NumberFormats.getStandardFormat(LOGICAL, locale)
        for i, j in truths:
            self.sheet.uno.getCellByPosition(self.column + j - 1, self.row + i - 1).NumberFormat = key

    @property
    def formula(self) -> Any:
        """The formulas (or constants, as text) in Excel's grammar; a string for one cell, else rows."""
        rows = tuple(
            tuple(to_excel(text) if text[:1] == "=" or text[:2] == "{=" else text for text in row)
            for row in self.api.getFormulaArray()
        )
        return rows[0][0] if len(self) == 1 else rows

    @formula.setter
    def formula(self, value: Any) -> None:
        if not isinstance(value, list | tuple):
            texts = [[self._moved(value, i, j) for j in range(self.area.columns)] for i in range(self.area.rows)]
        else:
            rows = value if value and isinstance(value[0], list | tuple) else [value]
            self._check_shape(rows)
            texts = [[_as_typed(text) for text in row] for row in rows]
        self.api.setFormulaArray(tuple(map(tuple, texts)))

    @staticmethod
    def _moved(value: Any, rows: int, columns: int) -> str:
        if isinstance(value, str) and value.startswith("="):
            return to_calc(shifted(value, rows, columns) if rows or columns else value)
        return _as_typed(value)

    formula2 = formula

    @property
    def formula_array(self) -> str | None:
        text = self.api.getArrayFormula()
        return to_excel(text) if text else None

    @formula_array.setter
    def formula_array(self, value: str) -> None:
        self.api.setArrayFormula(to_calc(value))

    @property
    def has_array(self) -> bool:
        return bool(self.api.getArrayFormula())


def _as_typed(value: Any) -> str:
    """A constant or formula as the API's `setFormula` takes it: `'` marks a text that looks otherwise."""
    if value is None:
        return ""
    if isinstance(value, str):
        return to_calc(value) if value.startswith("=") and len(value) > 1 else value
    if isinstance(value, bool):
        return "=TRUE()" if value else "=FALSE()"
    if isinstance(value, dt.date):
        return repr(to_serial(value))
    return repr(float(value))
