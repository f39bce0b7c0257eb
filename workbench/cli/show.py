"""`workbench show`: a workbook's summary in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def show(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    profile: Annotated[list[str] | None, typer.Option(help="Only this profile (may be repeated).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Print BOOK's totals, estimates and the operators worth most, as the file holds them.

    Cells are shown with the values of the last save or `workbench recompute`.
    """
    from workbench.book import open_book
    from workbench.cli.common import print_json
    from workbench.cli.summary import book_document, print_book

    opened = open_book(book)
    for name in profile or ():
        opened.totals(name)  # names the profiles there are where this one isn't among them
    if as_json:
        print_json(book_document(opened, profile or None))
    else:
        print_book(opened, profile or None)
