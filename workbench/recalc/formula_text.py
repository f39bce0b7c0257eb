"""The text of a cell's formula as Excel shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.recalc.families import shifted
from workbench.recalc.lexer import FormulaError
from workbench.recalc.sheetxml import Formula, unescaped

if TYPE_CHECKING:
    from workbench.recalc.workbook import Workbook

_PREFIX = re.compile(r"_xl(?:fn|ws|pm|udf)\.(?:_xlws\.)?", re.IGNORECASE)
_SHARED_INDEX = re.compile(rb"""\ssi=["'](\d+)["']""")


def written_formula(book: Workbook, sheet: int, row: int, column: int) -> str | None:
    """The formula of a cell as the file spells it, without `=`; a shared one is moved to the cell."""
    part = book.source.parts[sheet]
    index = book.formula_at(sheet, row, column)
    if part is None or index is None:
        return None
    formula = part.scan.formulas[index]
    if formula.text:
        return unescaped(formula.text)
    master = shared_master(part.scan.formulas, formula)
    if master is None:
        return None
    text = unescaped(master.text)
    try:
        return shifted(text, row - master.row, column - master.column)
    except FormulaError:
        return None


def shared_master(formulas: list[Formula], formula: Formula) -> Formula | None:
    """The formula that holds the text which `formula` shares."""
    wanted = _SHARED_INDEX.search(formula.attributes)
    if wanted is None:
        return None
    for other in formulas:
        if other.text and b"shared" in other.attributes:
            found = _SHARED_INDEX.search(other.attributes)
            if found is not None and found[1] == wanted[1]:
                return other
    return None


def shown_formula(book: Workbook, sheet: int, row: int, column: int) -> str | None:
    """The formula with `=` as Excel shows it: without the file's prefixes; array formulas in braces."""
    text = written_formula(book, sheet, row, column)
    if text is None:
        return None
    text = "=" + _PREFIX.sub("", text)
    index = book.formula_at(sheet, row, column)
    part = book.source.parts[sheet]
    assert part is not None and index is not None
    formula = part.scan.formulas[index]
    if b't="array"' in formula.attributes and not formula.dynamic:
        return "{" + text + "}"
    return text
