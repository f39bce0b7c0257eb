"""`workbench export`: a workbook's tables as files of other formats."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


class Kind(StrEnum):
    """Formats."""

    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    XLSX_TABLE = "xlsx-table"
    NEURAL_ENGINE = "neural-engine"


_ON_STDOUT = (Kind.CSV, Kind.JSON, Kind.MARKDOWN)


@app.command()
def export(
    book: Annotated[Path, typer.Argument(help="A workbook of the workbench.")],
    kind: Annotated[Kind, typer.Option("--format", "-f", help="The format.")] = Kind.CSV,
    table: Annotated[
        str,
        typer.Option(help="operators, ratios, types, totals, estimates, layers, summary; or a table or named range."),
    ] = "operators",
    profile: Annotated[
        str | None, typer.Option(help="The profile, where the workbook has several; for layers, the loss profile.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The file, or for neural-engine the folder; default: standard output, here."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print which files were written as JSON.")] = False,
) -> None:
    """Write a table of BOOK as CSV, JSON, Markdown, Parquet or an Excel table, or all as a Neural Engine CSV.

    Values are those that the workbook holds; `workbench recompute` brings them up to date.
    """
    from workbench.book.foreign import export_neural_engine, export_table, table_of
    from workbench.cli.common import print_json
    from workbench.errors import WorkbenchError

    if kind is Kind.NEURAL_ENGINE:
        written = export_neural_engine(book, output or Path(), profiles=[profile] if profile else None)
    elif output is not None:
        written = (export_table(book, kind, output, table=table, profile=profile),)
    elif kind in _ON_STDOUT:
        from workbench.book import open_book
        from workbench.exchange.tables import table_text

        sys.stdout.write(table_text(table_of(open_book(book), table, profile), kind))
        return
    else:
        raise WorkbenchError(f"{kind} doesn't go to a terminal", where="--format", remedy="name a file with -o")
    if as_json:
        print_json({"book": str(book), "format": str(kind), "files": [str(path) for path in written]})
    else:
        for path in written:
            print(path)
