"""The sheet that holds a workbook's estimate against a real sparse run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_range_abs, xl_rowcol_to_cell

from workbench.book.names import SHEET_NAME_LIMIT, quoted_sheet
from workbench.book.styles import Styles
from workbench.book.template_file import load_template
from workbench.book.text import fitted
from workbench.calibration.validation import TOLERANCE, ValidatedOperator, Validation

LARGE_ERROR = 0.10
"""Errors of a network's time above this share are called large."""
_SUFFIX = " check"
_HEADERS: tuple[tuple[str, str, float], ...] = (
    ("operator", "text", 42),
    ("type", "text", 16),
    ("weight shape", "text", 11),
    ("target", "percent", 9),
    ("run as", "text", 9),
    ("dense in the profile (ms)", "ms_fine", 12),
    ("dense now (ms)", "ms_fine", 12),
    ("predicted (ms)", "ms_fine", 12),
    ("measured (ms)", "ms_fine", 12),
    ("error", "share", 9),
    ("perf ratio predicted", "decimal", 10),
    ("perf ratio measured", "decimal", 10),
    ("note", "text", 60),
)
"""Columns of the operators' table: header, number format, width."""


@dataclass(frozen=True)
class _Figure:
    label: str
    value: float | str
    form: str
    note: str = ""
    name: str = ""
    role: str = "fact"


def sheet_name(profile: str) -> str:
    """The sheet of a profile's check: `baseline check`."""
    return f"{profile[: SHEET_NAME_LIMIT - len(_SUFFIX)].rstrip()}{_SUFFIX}"


def write_sheet(path: Path, validation: Validation, part: str) -> None:
    """A workbook with the one sheet at `path`; `part` is the profile's part of defined names.

    Errors, ratios and shares are formulas over the figures; formula cells hold no values yet.
    """
    template = load_template(None)
    workbook = xlsxwriter.Workbook(str(path))
    styles = Styles(workbook, template)
    name = sheet_name(validation.profile)
    page = workbook.add_worksheet(name)
    page.hide_gridlines(2)
    cells: dict[str, str] = {}
    page.set_column(0, 0, 2)
    for at, (_, _, width) in enumerate(_HEADERS, 1):
        page.set_column(at, at, width)
    page.write(0, 1, "The estimate against a real sparse run", styles.make(bold=True, font_size=16))
    subtitle = (
        f"{validation.model}, profile {validation.profile}, batch {validation.batch}, {validation.threads} threads; "
        f"{date.today().isoformat()}. Errors above 0: the workbook expected too much time."
    )
    _text(page, 1, 1, subtitle, styles.small())
    row = _figures(page, styles, 3, _summary(validation), cells)
    for figure in _summary(validation):
        if figure.name:
            workbook.define_name(f"{figure.name}_{part}", f"={quoted_sheet(name)}!{cells[figure.name]}")
    row = _parts(page, styles, row + 1, validation, cells)
    _chart(workbook, page, name, cells)
    _operators(page, styles, row + 1, validation.operators, f"check_{part}")
    page.set_landscape()
    page.fit_to_pages(1, 0)
    workbook.close()


def _summary(v: Validation) -> Sequence[_Figure]:
    worst = v.parts[0]
    verdict = f"within {LARGE_ERROR:.0%}" if abs(v.error) <= LARGE_ERROR else f"large; most of it from {worst.reason}"
    agree = "rounding explains it" if v.outputs_agree else f"OUTPUTS DIFFER: more than {TOLERANCE:g}"
    stays = sum(1 for o in v.operators if o.target > 0 and not o.replaced)
    left_out = f"without the gains of {stays} operators that stay dense here" if stays else "as the workbook has it"
    return (
        _Figure("predicted ms per batch", v.predicted_ms, "ms", left_out, "predicted_ms", "formula"),
        _Figure("measured ms per batch", v.sparse.median, "ms", _quartiles(v.sparse, v.blocks), "measured_sparse_ms"),
        _Figure("error", "={predicted_ms}/{measured_sparse_ms}-1", "share", verdict, "prediction_error", "result"),
        _Figure(
            "dense ms in the profile", v.book_dense_ms, "ms", "end to end, when it was profiled", "dense_before_ms"
        ),
        _Figure("dense ms now", v.dense.median, "ms", _quartiles(v.dense, v.blocks), "dense_now_ms"),
        _Figure("change of the machine", "={dense_now_ms}/{dense_before_ms}-1", "share", "dense now / then", "drift"),
        _Figure(
            "error from dense now",
            "={predicted_ms}*{dense_now_ms}/{dense_before_ms}/{measured_sparse_ms}-1",
            "share",
            "what is left when the prediction starts from the dense time measured beside the sparse one",
            "same_session_error",
            "result",
        ),
        _Figure("speed-up predicted", "={dense_before_ms}/{predicted_ms}", "times", "", "speedup_predicted"),
        _Figure(
            "speed-up measured", "={dense_now_ms}/{measured_sparse_ms}", "times", "both timed in turn", "speedup_real"
        ),
        _Figure(
            "difference of outputs", v.output_difference, "difference", f"{agree}; to ONNX Runtime on the pruned model"
        ),
        _Figure("operators run sparse", sum(o.replaced for o in v.operators), "number", v.kernel),
    )


def _text(page: Any, row: int, at: int, text: str, style: Any) -> None:
    """A text as data: never a formula, a number or a link."""
    page.write_string(row, at, fitted(text), style)


def _quartiles(spread: Any, blocks: int) -> str:
    return f"quartiles {spread.low:.3f} to {spread.high:.3f}, {blocks} undisturbed blocks of runs"


def _figures(page: Any, styles: Styles, row: int, figures: Sequence[_Figure], cells: dict[str, str]) -> int:
    for number, figure in enumerate(figures):
        if figure.name:
            cells[figure.name] = xl_rowcol_to_cell(row + number, 2, row_abs=True, col_abs=True)
    for number, figure in enumerate(figures):
        at = row + number
        page.write(at, 1, figure.label, styles.cell("plain", "text"))
        if figure.form == "difference":
            page.write_number(at, 2, float(figure.value), styles.make(num_format="0.0E+00", align="right"))
        elif isinstance(figure.value, str):
            page.write_formula(at, 2, figure.value.format_map(cells), styles.cell(figure.role, figure.form))
        else:
            page.write_number(at, 2, figure.value, styles.cell(figure.role, figure.form))
        if figure.note:
            _text(page, at, 3, figure.note, styles.small(indent=1))
    return row + len(figures)


def _parts(page: Any, styles: Styles, row: int, v: Validation, cells: Mapping[str, str]) -> int:
    page.write(
        row, 1, "What the error is made of (the parts add up to predicted minus measured)", styles.section_title()
    )
    for at, header in enumerate(("part", "ms", "share of measured"), 1):
        page.write(row + 1, at, header, styles.header("left" if at == 1 else "right"))
    page.set_row(row + 1, 26)
    for number, found in enumerate(v.parts, row + 2):
        _text(page, number, 1, found.title, styles.cell("plain", "text"))
        page.write_number(number, 2, found.ms, styles.cell("fact", "ms"))
        share = f"={xl_rowcol_to_cell(number, 2)}/{cells['measured_sparse_ms']}"
        page.write_formula(number, 3, share, styles.cell("fact", "share"))
        _text(page, number, 4, found.reason, styles.small(indent=1))
    return row + 2 + len(v.parts)


def _chart(workbook: Any, page: Any, name: str, cells: Mapping[str, str]) -> None:
    chart = workbook.add_chart({"type": "bar"})
    shown = (("dense now", "dense_now_ms", "#8A99AE"), ("predicted", "predicted_ms", "#99D5CD"), ("measured", "measured_sparse_ms", "#0F766E"))  # fmt: skip  # noqa: E501
    for label, key, color in shown:
        chart.add_series(
            {
                "name": label,
                "values": f"={quoted_sheet(name)}!{cells[key]}",
                "fill": {"color": color},
                "data_labels": {"value": True, "num_format": "#,##0.00"},
                "gap": 40,
            }
        )
    chart.set_title({"name": "ms per batch", "name_font": {"size": 11}})
    chart.set_y_axis({"visible": False, "reverse": True, "major_gridlines": {"visible": False}})
    chart.set_x_axis({"min": 0, "major_gridlines": {"visible": False}, "num_format": "#,##0.0"})
    chart.set_legend({"position": "bottom"})
    chart.set_size({"width": 470, "height": 300})
    page.insert_chart(2, 11, chart)


def _operators(page: Any, styles: Styles, row: int, operators: Sequence[ValidatedOperator], table: str) -> None:
    page.write(row, 1, "Operators: predicted and measured", styles.section_title())
    first, last = row + 2, row + 1 + max(1, len(operators))
    columns: list[dict[str, Any]] = []
    for header, form, _ in _HEADERS:
        column: dict[str, Any] = {"header": header, "format": styles.row_cell("fact", form)}
        columns.append(column)
    page.add_table(
        row + 1, 1, last, len(_HEADERS),
        {"name": table, "columns": columns, "style": None, "header_row": True},
    )  # fmt: skip
    page.set_row(row + 1, 36)
    for at, (header, form, _) in enumerate(_HEADERS, 1):
        page.write(row + 1, at, header, styles.header("left" if form == "text" else "right"))
    for number, o in enumerate(operators, first):
        values: tuple[float | str | None, ...] = (
            o.name, o.operator_type, o.shape, o.target or None, "sparse" if o.replaced else "dense",
            o.book_dense_ms, o.dense_ms, o.predicted_ms, o.sparse_ms,
            _quotient(number, 8, 9, " - 1"), o.ratio, _quotient(number, 7, 9, ""), note_of(o),
        )  # fmt: skip
        for at, ((_, form, _), value) in enumerate(zip(_HEADERS, values, strict=True), 1):
            style = styles.row_cell("fact", form, indent=1 if form == "text" and at > 2 else None)
            if isinstance(value, str) and value.startswith("=IF("):
                page.write_formula(number, at, value, style)
            elif isinstance(value, str):
                _text(page, number, at, value, style)
            elif value is None:
                page.write_blank(number, at, None, style)
            else:
                page.write_number(number, at, value, style)
    errors = xl_range_abs(first, 10, last, 10)
    far = {"type": "cell", "criteria": "not between", "minimum": -2 * LARGE_ERROR, "maximum": 2 * LARGE_ERROR}
    page.conditional_format(errors, far | {"format": styles.make(font_color=styles.color("warn_text"))})


def _quotient(row: int, over: int, under: int, rest: str) -> str:
    """A formula: the cell in column `over` over the one in `under`; empty where that is 0."""
    divisor = xl_rowcol_to_cell(row, under)
    return f'=IF({divisor}>0,{xl_rowcol_to_cell(row, over)}/{divisor}{rest},"")'


def note_of(operator: ValidatedOperator) -> str:
    """Why the operator's prediction is off, where it is off by much; why it stayed dense, where it did."""
    if operator.target > 0 and not operator.replaced:
        return f"stays dense: {operator.note}"
    if not operator.sparse_ms or not operator.dense_ms or abs(operator.error) <= 2 * LARGE_ERROR:
        return ""
    drift = operator.dense_ms / operator.book_dense_ms - 1 if operator.book_dense_ms else 0.0
    if not operator.replaced:
        return (
            f"its dense time changed by {drift:+.0%} since the profile"
            if abs(drift) > LARGE_ERROR
            else ("takes other time beside sparse operators")
        )
    ratio = operator.ratio / operator.real_ratio - 1
    if abs(drift) >= abs(ratio):
        return f"its dense time changed by {drift:+.0%} since the profile"
    return (
        f"its ratio here is {operator.real_ratio:.2f}, not {operator.ratio:.2f}: the table's ratio is {ratio:+.0%} off"
    )
