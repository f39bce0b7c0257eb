"""`workbench sweep`: the workbook's results over a grid of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def sweep(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    vary: Annotated[
        list[str],
        typer.Option(help="CELL=V1,V2,… or CELL=FROM..TO:STEP; may be repeated: all combinations are tried."),
    ],
    show: Annotated[
        list[str] | None, typer.Option(help="A cell to watch (may be repeated); default: each profile's estimates.")
    ] = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Vary one cell at a time; the others stay as they are.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this CSV file.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Write the table into BOOK as the sheet Scenarios.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Try values in BOOK's cells and print what its formulas make of each; BOOK keeps its own values.

    For example: --vary 'default_target_baseline=70%,80%,90%' --vary 'ratios_baseline[256x1024][90%]=2..6:1'
    """
    from workbench.cli.common import print_json
    from workbench.cli.tables import print_frame
    from workbench.whatif.outputs import listed_values
    from workbench.whatif.sweep import sweep as run

    table = run(book, dict(listed_values(text) for text in vary), outputs=show or (), one_at_a_time=one_at_a_time)
    if csv is not None:
        from workbench.files import replacing

        with replacing(csv) as temporary:
            table.to_csv(temporary, index=False)
    if save:
        from workbench.whatif.sheet import save_scenarios

        save_scenarios(book, table, inputs=len(vary))
    if as_json:
        print_json({"book": str(book), "scenarios": table.to_dict("records")})
        return
    print_frame(table, limit=40)
    for file in [f for f in (csv, book if save else None) if f is not None]:
        typer.echo(f"wrote {file}")
