"""How a user names cells: by address, by defined name, or by the labels of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.errors import CellError
from workbench.recalc.evaluate import Evaluation
from workbench.recalc.lexer import FormulaError
from workbench.recalc.model import Model, Table
from workbench.recalc.nodes import TableReference
from workbench.recalc.parser import parse
from workbench.recalc.place import Place
from workbench.recalc.reader import range_region
from workbench.recalc.references import Reference, Region
from workbench.recalc.values import NotEvaluable, Scalar

_LABELLED = re.compile(r"(?P<name>[^\[\]]+)\[(?P<row>.*)\]\s*\[(?P<column>.*)\]", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*%?")
_SHOWN = 8


def resolved(model: Model, target: str) -> Region:
    """The cells that `target` names: `'baseline'!B7`, `'baseline'!B7:C9`, a defined name, `table[row][column]`.

    Raises `CellError` saying what there is instead.
    """
    text = target.strip()
    if not text:
        raise CellError("an empty cell name was given", remedy="name a cell, as in 'Sheet1'!B7")
    labelled = _LABELLED.fullmatch(text)
    if labelled is not None and "!" not in labelled["name"]:
        return _by_labels(model, labelled["name"].strip(), labelled["row"].strip(), labelled["column"].strip(), text)
    sheet, rest = _sheet_of(model, text)
    region = range_region(rest, 0 if sheet is None else sheet)
    if region is not None and (sheet is not None or rest.upper() not in {name for name, _ in model.names}):
        if sheet is None and len(model.store.sheets) > 1:
            raise CellError(
                f"{text} doesn't say on which sheet",
                remedy=f"write for example {_quoted(model.store.sheets[0].name)}!{text}",
            )
        return region
    named = _by_name(model, rest, sheet)
    if named is not None:
        return named
    if "[" in rest:
        found = _structured(model, rest)
        if found is not None:
            return found
    if sheet is not None:
        raise CellError(f"'{rest}' is neither a cell address nor a defined name of the sheet", where=text)
    longer = sorted({name for name, _ in model.names if name.startswith(text.upper() + "_")}) if sheet is None else []
    if len(longer) == 1:
        return resolved(model, longer[0])
    if longer:
        listed = _listed([name.lower() for name in longer])
        raise CellError(f"'{text}' could be any of {listed}", remedy="write the whole name")
    raise CellError(f"the workbook has no cell or name '{text}'", remedy=_hint(model, text))


def resolved_cell(model: Model, target: str) -> Region:
    """As `resolved`, of one cell only."""
    region = resolved(model, target)
    if region.rows * region.columns != 1:
        raise CellError(
            f"'{target}' covers {region.rows} x {region.columns} cells where one was expected",
            remedy="name one of them by address or by its labels, as in name[row][column]",
        )
    return region


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _sheet_of(model: Model, text: str) -> tuple[int | None, str]:
    if "!" not in text:
        return None, text
    name, _, rest = text.rpartition("!")
    name = name.strip()
    if name.startswith("'") and name.endswith("'") and len(name) > 1:
        name = name[1:-1].replace("''", "'")
    index = model.sheet_index(name)
    if index is None:
        sheets = [sheet.name for sheet in model.store.sheets]
        raise CellError(f"there is no sheet '{name}'", remedy="the sheets are " + _listed(sheets))
    return index, rest.strip()


def _by_name(model: Model, name: str, sheet: int | None) -> Region | None:
    upper = name.upper()
    scopes = [s for n, s in model.names if n == upper]
    if not scopes:
        table = model.tables.get(name.lower())
        return _data_of(table) if table is not None and sheet is None else None
    if sheet is None and None not in scopes:
        if len(scopes) > 1:
            places = [f"{_quoted(model.store.sheets[s].name)}!{name}" for s in scopes if s is not None]
            raise CellError(f"several sheets have a name '{name}'", remedy="write one of " + _listed(places))
        sheet = scopes[0]
    return _region_of_name(model, name, 0 if sheet is None else sheet)


def _region_of_name(model: Model, name: str, sheet: int) -> Region:
    place = Place(sheet, 0, 0)
    try:
        definition = model.name_definition(name.upper(), sheet)
        if definition is not None:
            operand = Evaluation(model, place, arrays=True).operand(definition)
            if isinstance(operand, Reference) and operand.single is not None:
                return operand.single
    except NotEvaluable as problem:
        raise CellError(f"the name '{name}' {problem}") from None
    raise CellError(f"the name '{name}' stands for no range of cells", remedy="name a cell by its address")


def _structured(model: Model, text: str) -> Region | None:
    try:
        node = parse(text)
    except FormulaError:
        return None
    return model.table_region(node, 0, 0, 0) if isinstance(node, TableReference) else None


def _data_of(table: Table) -> Region:
    top, bottom = table.data_rows()
    r = table.region
    return Region(r.sheet, top, r.column1, bottom, r.column2)


# --- labels


def _by_labels(model: Model, name: str, row: str, column: str, target: str) -> Region:
    whole, first_data, headers = _labelled_area(model, name)
    columns = [c for c, header in headers if _matches(header, column)]
    if not columns:
        columns = [c for c, header in headers if isinstance(header, str) and _starts(header, column)]
    if len(columns) != 1:
        shown = [label_text(header) for c, header in headers if header is not None and (not columns or c in columns)]
        problem = f"no column '{column}'" if not columns else f"several columns '{column}'"
        raise CellError(
            f"{name} has {problem}",
            where=target,
            remedy="write one of " + _listed(shown) if columns else "its columns are " + _listed(shown),
        )
    rows = _rows_labelled(model, whole, first_data, row)
    if len(rows) != 1:
        labels = [
            label_text(value)
            for r in range(first_data, whole.row2 + 1)
            if (value := model.store.cell(whole.sheet, r, whole.column1)) is not None
        ]
        problem = f"no row '{row}'" if not rows else f"{len(rows)} rows '{row}'"
        remedy = "its rows are " + _listed(labels) if not rows else "name the cell by its address"
        raise CellError(f"{name} has {problem}", where=target, remedy=remedy)
    return Region(whole.sheet, rows[0], columns[0], rows[0], columns[0])


def _labelled_area(model: Model, name: str) -> tuple[Region, int, list[tuple[int, Scalar]]]:
    """The range of a table or of a name with headers in its first row, its first data row, its headers."""
    table = model.tables.get(name.lower())
    if table is not None:
        top, bottom = table.data_rows()
        r = table.region
        headers: list[tuple[int, Scalar]] = [(r.column1 + i, column) for i, column in enumerate(table.columns)]
        return Region(r.sheet, top, r.column1, bottom, r.column2), top, headers
    if not any(n == name.upper() for n, _ in model.names):
        longer = sorted(_with_prefix(model, name))
        if len(longer) == 1:
            return _labelled_area(model, longer[0])
        if longer:
            raise CellError(f"'{name}' could be any of {_listed(longer)}", remedy="write the whole name")
        raise CellError(f"the workbook has no table or name '{name}'", remedy=_hint(model, name))
    region = _by_name(model, name, None)
    assert region is not None
    if region.rows < 2 or region.columns < 2:
        raise CellError(f"the name '{name}' covers no table of cells", remedy="leave the labels out")
    headers = [(c, model.store.cell(region.sheet, region.row1, c)) for c in range(region.column1, region.column2 + 1)]
    return region, region.row1 + 1, headers


def _with_prefix(model: Model, name: str) -> Iterator[str]:
    wanted = name.lower() + "_"
    for table in model.tables.values():
        if table.name.lower().startswith(wanted):
            yield table.name
    for other, sheet in model.names:
        if other.lower().startswith(wanted) and other.lower() not in model.tables:
            region = None
            try:
                region = _region_of_name(model, other, sheet or 0)
            except CellError:
                continue
            if region.rows > 1 and region.columns > 1:
                yield other.lower()


def _rows_labelled(model: Model, whole: Region, first: int, label: str) -> list[int]:
    """Rows that carry the label in the first column; where none does, in the first column further right with it."""
    for column in range(whole.column1, whole.column2 + 1):
        found = [
            row
            for row in range(first, whole.row2 + 1)
            if _matches(value := model.store.cell(whole.sheet, row, column), label)
            and (column == whole.column1 or isinstance(value, str))
        ]
        if found:
            return found
    return []


def _matches(value: Scalar, label: str) -> bool:
    if isinstance(value, str):
        return _folded(value) == _folded(label)
    if isinstance(value, bool) or not isinstance(value, float):
        return False
    number = parse_plain_number(label)
    return number is not None and abs(value - number) <= 1e-9 * max(1.0, abs(value))


def _starts(header: str, label: str) -> bool:
    return bool(label) and (_folded(header) + " ").startswith(_folded(label) + " ")


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def parse_plain_number(text: str) -> float | None:
    """`0.9`, `1e3` or `90%` as a number."""
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        return None
    return float(text[:-1].strip()) / 100 if text.endswith("%") else float(text)


def label_text(value: Scalar) -> str:
    """A label as a message shows it."""
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:.15g}"
    return str(value)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _hint(model: Model, text: str) -> str:
    import difflib

    names = {table.name.lower(): table.name for table in model.tables.values()}
    for name, _ in model.names:
        if not name.startswith("_XL"):
            names.setdefault(name.lower(), name.lower())
    close = difflib.get_close_matches(text.lower(), list(names), 3, 0.5)
    if close:
        return "did you mean " + _listed([names[c] for c in close])
    if names:
        return "the names are " + _listed(sorted(names.values()))
    return "write an address, as in 'Sheet1'!B7"
