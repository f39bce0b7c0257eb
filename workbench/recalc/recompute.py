"""Recomputing a workbook file: edits in, every formula evaluated, cached values patched, checks answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.errors import CellError
from workbench.files import refuse_if_open_elsewhere
from workbench.recalc.coerce import parse_date
from workbench.recalc.operators import compare
from workbench.recalc.report import CheckResult, Report
from workbench.recalc.targets import parse_plain_number, resolved_cell
from workbench.recalc.values import ERROR_OF_TEXT, CellErrorValue, Scalar, scalar
from workbench.recalc.workbook import Workbook, open_workbook

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

_HOLDS: dict[str, Callable[[float], bool]] = {
    "=": lambda sign: sign == 0,
    "<>": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    ">": lambda sign: sign > 0,
    "<=": lambda sign: sign <= 0,
    ">=": lambda sign: sign >= 0,
}
_SPELLINGS = {"==": "=", "!=": "<>"}

Edits = Mapping[str, Scalar | int] | Sequence[str]
"""Cell → value, or texts `CELL=VALUE`."""


@dataclass(frozen=True)
class Check:
    """A condition on a cell after recalculation."""

    target: str
    operator: str
    wanted: Scalar
    text: str


def recompute(
    book: str | Path,
    out: str | Path | None = None,
    edits: Edits = (),
    checks: Iterable[str] = (),
    *,
    overwrite_formulas: bool = False,
    write: bool = True,
) -> Report:
    """Apply `edits`, evaluate every formula and write the workbook, in place when `out` is None.

    `edits` map cells (address, defined name or `table[row][column]`) to values, or are texts `CELL=VALUE`;
    `checks` are texts such as `total_latency<=3.5`. Only sheet parts change in the file; a file that nothing
    changes is not written again in place. `write=False` only reports.
    Raises `WorkbenchError` for bad input and refused edits; nothing is written then.
    """
    path = Path(book)
    target = Path(out) if out is not None else path
    wanted = [parse_check(text) for text in checks]
    given = list(edits.items()) if isinstance(edits, Mapping) else [parse_edit(text) for text in edits]
    if write:
        refuse_if_open_elsewhere(target)
    with open_workbook(path) as opened:
        for check in wanted:
            resolved_cell(opened.model, check.target)
        for name, value in given:
            opened.set(name, value, overwrite_formula=overwrite_formulas)
        report = opened.recalculate()
        report = replace(report, checks=tuple(answered(opened, check, report) for check in wanted))
        if write:
            opened.save(target)
    return report


def answered(book: Workbook, check: Check, report: Report) -> CheckResult:
    """Whether a check holds; it never does for a cell that keeps an old value."""
    region = resolved_cell(book.model, check.target)
    cell = book.label(region.sheet, region.row1, region.column1)
    value = book.value(check.target)
    old = any(kept.cell == cell for kept in (*report.unevaluated, *report.stale))
    if old or isinstance(value, CellErrorValue):
        same_error = not old and isinstance(check.wanted, CellErrorValue) and value is check.wanted
        return CheckResult(check.text, value, same_error and check.operator == "=")
    if isinstance(check.wanted, CellErrorValue):
        return CheckResult(check.text, value, check.operator == "<>")
    sign = float(compare(scalar(value), scalar(check.wanted)).flat[0])
    return CheckResult(check.text, value, _HOLDS[check.operator](sign))


def parse_edit(text: str) -> tuple[str, Scalar]:
    """`CELL=VALUE` → the cell's name and the value. Raises `CellError`."""
    target, operator, value = _split(text, ("=",))
    if not operator or not target:
        raise CellError(f"'{text}' is no edit", remedy="write CELL=VALUE, as in ratios[256x1024][90%]=2.5")
    return target, entered_value(value)


def parse_check(text: str) -> Check:
    """`CELL>=VALUE` → the check. Raises `CellError`."""
    target, operator, value = _split(text, ("<=", ">=", "<>", "!=", "==", "=", "<", ">"))
    if not operator or not target or not value.strip():
        raise CellError(f"'{text}' is no check", remedy="write CELL>=VALUE, as in sparse_improve>=1.5")
    return Check(target, _SPELLINGS.get(operator, operator), entered_value(value), text)


def _split(text: str, operators: tuple[str, ...]) -> tuple[str, str, str]:
    """Target, operator and rest at the first operator outside quotes and brackets."""
    depth, quoted = 0, False
    for i, c in enumerate(text):
        if c == "'" and not depth:
            quoted = not quoted
        elif not quoted and c == "[":
            depth += 1
        elif not quoted and c == "]":
            depth = max(0, depth - 1)
        elif not quoted and not depth:
            for operator in operators:
                if text.startswith(operator, i):
                    return text[:i].strip(), operator, text[i + len(operator) :]
    return text.strip(), "", ""


def entered_value(text: str) -> Scalar:
    """A value as typed: number, percentage, TRUE, ISO date, error, else text; `'` in front makes anything a text.

    Raises `CellError` for a formula.
    """
    stripped = text.strip()
    if not stripped:
        return None
    if stripped.startswith("'"):
        return stripped[1:]
    if stripped.startswith("="):
        raise CellError(
            f"'{stripped}' is a formula, and edits put in values", remedy="write ' before it to enter a text"
        )
    number = parse_plain_number(stripped)
    if number is not None:
        if number - number != 0:
            raise CellError(f"{stripped} is too large for a cell")
        return number
    if stripped.upper() in ("TRUE", "FALSE"):
        return stripped.upper() == "TRUE"
    if stripped.upper() in ERROR_OF_TEXT:
        return ERROR_OF_TEXT[stripped.upper()]
    if _ISO_DATE.fullmatch(stripped):
        serial = parse_date(stripped)
        if serial is not None:
            return serial
    return stripped
