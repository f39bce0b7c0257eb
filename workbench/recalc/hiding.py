"""What SUBTOTAL and AGGREGATE skip: hidden and filtered rows, and cells with subtotals of their own."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from workbench.recalc.model import Model
from workbench.recalc.references import Region
from workbench.recalc.sheetxml import Scan

_HIDDEN_ROW = re.compile(rb"""<(?:\w+:)?row\b(?=[^>]*\shidden=["'](?:1|true)["'])[^>]*>""")
_NUMBER = re.compile(rb"""\sr=["'](\d+)["']""")
_FILTER = re.compile(rb"""<(?:\w+:)?autoFilter\b[^>]*\sref=["']([^"']+)["'][^>]*(?<!/)>.*?filterColumn""", re.DOTALL)
_SUBTOTAL = re.compile(rb"\b(?:SUBTOTAL|AGGREGATE)\s*\(", re.IGNORECASE)
_SHARED = re.compile(rb"""\ssi=["'](\d+)["']""")


def sheet_filter(data: bytes) -> str | None:
    """The range of a worksheet's own filter, when some column is filtered."""
    found = _FILTER.search(data) if b"filterColumn" in data else None
    return None if found is None else found[1].decode()


def table_filter(root: ElementTree.Element) -> str | None:
    """The range of a table's filter, when some column is filtered."""
    found = root.find("{*}autoFilter")
    return found.get("ref") if found is not None and found.find("{*}filterColumn") is not None else None


def note_hidden_rows(model: Model, sheet: int, data: bytes, scan: Scan, filters: list[Region]) -> None:
    """Tell the model the sheet's hidden rows; those below the header of one of `filters` count as filtered."""
    if b"hidden=" not in data:
        return
    rows = set()
    for match in _HIDDEN_ROW.finditer(data):
        number = _NUMBER.search(match[0])
        if number is not None:
            rows.add(int(number[1]) - 1)
            continue
        cell = int(np.searchsorted(scan.starts, match.end()))
        if cell < scan.rows.size:
            rows.add(int(scan.rows[cell]))
    if rows:
        model.hidden_rows[sheet] = frozenset(rows)
        model.filtered_rows[sheet] = frozenset(
            row for row in rows if any(region.row1 < row <= region.row2 for region in filters)
        )


def note_subtotals(model: Model, sheet: int, scan: Scan) -> None:
    """Tell the model which cells of the sheet hold a formula with SUBTOTAL or AGGREGATE."""
    texts = b"\n".join([formula.text for formula in scan.formulas]).upper()
    if b"SUBTOTAL" not in texts and b"AGGREGATE" not in texts:
        model.subtotals.pop(sheet, None)
        return
    cells, shared = set(), set()
    for formula in scan.formulas:
        key = _SHARED.search(formula.attributes)
        if formula.text:
            if _SUBTOTAL.search(formula.text) is None:
                continue
            if key is not None:
                shared.add(key[1])
        elif key is None or key[1] not in shared:
            continue
        cells.add((formula.row, formula.column))
    if cells:
        model.subtotals[sheet] = frozenset(cells)
    else:
        model.subtotals.pop(sheet, None)
