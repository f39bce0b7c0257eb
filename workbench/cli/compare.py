"""`workbench compare`: what two workbooks say differently."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="A workbook.")],
    second: Annotated[Path, typer.Argument(help="Another one, or a later version of it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """List facts, ratios, targets, latencies and results that differ between two workbooks.

    Exits with 1 where anything differs.
    """
    import pandas as pd

    from workbench.cli.common import Exit, print_json
    from workbench.cli.tables import print_frame
    from workbench.whatif.compare import compare as run

    found = run(first, second)
    if as_json:
        print_json({"first": str(first), "second": str(second), "differences": [asdict(d) for d in found]})
    elif found:
        rows = pd.DataFrame([asdict(d) for d in found]).astype(object)
        print_frame(rows.rename(columns={"before": str(first), "after": str(second)}), limit=200)
    else:
        typer.echo("no differences")
    raise typer.Exit(Exit.NO if found else Exit.DONE)
