"""`workbench verify`: a second recalculation, by LibreOffice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)

_LISTED = 30


@app.command()
def verify(
    book: Annotated[Path, typer.Argument(help="An .xlsx or .xlsm workbook with its values.")],
    timeout: Annotated[float, typer.Option(help="Seconds that LibreOffice may take.", min=1)] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Recalculate a copy of BOOK with LibreOffice and list the formula cells whose value differs from BOOK's.

    Exits with 1 when some differ. Volatile formulas and functions that LibreOffice lacks are not compared.
    """
    from workbench.cli.common import Exit, one_line, print_json
    from workbench.cli.recompute import plain, shown
    from workbench.recalc.verify import verify as run

    found = run(book, timeout_s=timeout)
    if as_json:
        print_json(
            {
                "book": str(book),
                "engine": found.engine,
                "compared": found.compared,
                "differences": [
                    {"cell": d.cell, "formula": d.formula, "value": plain(d.value), "other": plain(d.other)}
                    for d in found.differences
                ],
                "skipped": list(found.skipped),
            }
        )
    else:
        left = f", {len(found.skipped):,} not compared" if found.skipped else ""
        print(f"{found.compared:,} formula cells compared with {found.engine}: {len(found.differences):,} differ{left}")
        for d in found.differences[:_LISTED]:
            print(f"{d.cell}: {shown(d.value)} here, {shown(d.other)} there: {one_line(d.formula)[:100]}")
        if len(found.differences) > _LISTED:
            print(f"{len(found.differences) - _LISTED:,} more (--json lists them all)")
    if not found.agrees:
        raise typer.Exit(int(Exit.NO))
