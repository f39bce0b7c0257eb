"""A sweep's table as the sheet `Scenarios` of its workbook."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xlsxwriter

from workbench.book.insert import insert_sheets
from workbench.book.template import Template
from workbench.book.template_file import load_template
from workbench.files import explaining

if TYPE_CHECKING:
    import pandas as pd

SHEET = "Scenarios"
_TABLE = "scenarios"
_HEADER_ROW = 3
_CHARTED = "estimated_speedup"
_MOST_CHARTED = 60
"""Scenarios of a chart that can still be read."""


def save_scenarios(book: str | Path, table: pd.DataFrame, *, inputs: int) -> None:
    """Put `table`, whose first `inputs` columns were varied, into the workbook, over an earlier sheet of scenarios.

    The figures are constants: what the workbook's formulas gave for each line when the sweep was run.
    """
    path = Path(book)
    with explaining(path), tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        rendered = Path(folder) / "scenarios.xlsx"
        _render(rendered, table, inputs)
        insert_sheets(path, rendered, [SHEET], replace=True, before="Guide")


def _render(path: Path, table: pd.DataFrame, inputs: int) -> None:
    template = load_template(None)
    face = {"font_name": template.style.font, "font_size": template.style.size, "font_color": template.palette["ink"]}
    with xlsxwriter.Workbook(str(path), {"default_format_properties": face}) as workbook:
        sheet = workbook.add_worksheet(SHEET)
        sheet.hide_gridlines(2)
        sheet.set_tab_color(template.palette["ink"])
        sheet.write_string(0, 0, SHEET, workbook.add_format(face | {"bold": True, "font_size": 18}))
        muted = workbook.add_format(face | {"font_color": template.palette["muted"]})
        sheet.write_string(
            1, 0, "Values tried in the cells named in the tinted columns, and what the workbook's formulas gave then.",
            muted,
        )  # fmt: skip
        header = {"bold": True, "text_wrap": True, "valign": "top", "bottom": 2}
        plain = workbook.add_format(face | header | {"bg_color": template.palette["header"]})
        varied = workbook.add_format(face | header | {"bg_color": template.palette["input"]})
        number = workbook.add_format(face | {"num_format": "#,##0.0000"})
        share = workbook.add_format(face | {"num_format": "0.0###", "bg_color": template.palette["input"]})
        columns = [str(name) for name in table.columns]
        last = _HEADER_ROW + max(1, len(table))
        sheet.add_table(
            _HEADER_ROW, 0, last, len(columns) - 1,
            {"name": _TABLE, "style": None, "columns": [{"header": name} for name in columns]},
        )  # fmt: skip
        for at, name in enumerate(columns):
            sheet.write_string(_HEADER_ROW, at, name, varied if at < inputs else plain)
            for row, value in enumerate(table.iloc[:, at], _HEADER_ROW + 1):
                _write(sheet, row, at, value, share if at < inputs else number)
        for at, name in enumerate(columns):
            sheet.set_column(at, at, min(44, max(14, len(name) + 3)))
        sheet.set_row(_HEADER_ROW, 20)
        sheet.freeze_panes(_HEADER_ROW + 1, inputs)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        charted = [at for at, name in enumerate(columns) if at >= inputs and name.startswith(_CHARTED)]
        if charted and len(table) <= _MOST_CHARTED:
            chart = _chart(workbook, template, columns, charted, last, inputs)
            sheet.insert_chart(last + 2, 0, chart, {"object_position": 2, "description": "Estimated speed-up"})


def _chart(workbook: Any, template: Template, columns: list[str], charted: list[int], last: int, inputs: int) -> Any:
    """Speed-up by scenario; the varied values are the categories."""
    chart = workbook.add_chart({"type": "column"})
    colors = [template.palette[name] for name in ("accent", "baseline", "rest")]
    for number, at in enumerate(charted):
        chart.add_series(
            {
                "name": columns[at],
                "categories": [SHEET, _HEADER_ROW + 1, 0, last, inputs - 1],
                "values": [SHEET, _HEADER_ROW + 1, at, last, at],
                "fill": {"color": colors[number % len(colors)]},
                "gap": 60,
            }
        )
    chart.set_title({"name": "Estimated speed-up by scenario", "name_font": {"size": 11, "bold": True}})
    chart.set_legend({"position": "bottom"})
    chart.set_y_axis({"min": 0, "num_format": '0.0"x"', "major_gridlines": {"visible": True}})
    chart.set_x_axis({"name": ", ".join(columns[:inputs])[:120]})
    chart.set_size({"width": 760, "height": 300})
    return chart


def _write(sheet: Any, row: int, at: int, value: Any, style: Any) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, at, value, style)
    elif isinstance(value, int | float) and value == value:
        sheet.write_number(row, at, value, style)
    else:
        sheet.write_string(row, at, "" if value is None else str(value), style)
