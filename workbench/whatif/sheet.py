"""A sweep's table as the sheet `Scenarios` of its workbook."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xlsxwriter

from workbench.book.insert import insert_sheets
from workbench.book.template_file import load_template
from workbench.files import explaining

if TYPE_CHECKING:
    import pandas as pd

SHEET = "Scenarios"
_TABLE = "scenarios"
_HEADER_ROW = 3


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
        sheet.set_column(0, len(columns) - 1, 24)
        sheet.set_row(_HEADER_ROW, 44)
        sheet.freeze_panes(_HEADER_ROW + 1, inputs)


def _write(sheet: Any, row: int, at: int, value: Any, style: Any) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, at, value, style)
    elif isinstance(value, int | float) and value == value:
        sheet.write_number(row, at, value, style)
    else:
        sheet.write_string(row, at, "" if value is None else str(value), style)
