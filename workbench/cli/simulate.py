"""`workbench simulate`: how sure is the estimate?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def simulate(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    profile: Annotated[str | None, typer.Option(help="The profile; may be left out where there is one.")] = None,
    spread: Annotated[
        float, typer.Option(min=0.0, max=3.0, help="Standard deviation of a ratio's logarithm: 0.2 is about ±20 %.")
    ] = 0.2,
    samples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Random ratio tables.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    common: Annotated[bool, typer.Option("--common", help="One factor for all ratios, not one for each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Draw random ratio tables around BOOK's, and print how the estimates spread and which ratios matter.

    Every table goes through the workbook's own formulas; BOOK is not changed.
    """
    import pandas as pd

    from workbench.cli.common import print_json
    from workbench.cli.tables import print_frame
    from workbench.whatif.simulate import QUANTILES
    from workbench.whatif.simulate import simulate as run

    result = run(book, profile=profile, spread=spread, samples=samples, seed=seed, common=common)
    if as_json:
        print_json({"book": str(book), "quantile_levels": QUANTILES, **asdict(result)})
        return
    each = "one factor for all ratios" if common else "a factor for each ratio"
    typer.echo(f"{result.profile}: {samples:,} ratio tables, spread {spread:g}, {each}")
    rows = [
        {"result": name, "now": result.now[name]}
        | {f"{level:.0%}": value for level, value in zip(QUANTILES, values, strict=True)}
        for name, values in result.quantiles.items()
    ]
    print_frame(pd.DataFrame(rows))
    if result.influences:
        typer.echo("")
        columns = {
            "cell": "ratio",
            "value": "now",
            "low": "speed-up at 5 %",
            "high": "at 95 %",
            "correlation": "rank correlation",
        }
        table = pd.DataFrame([asdict(influence) for influence in result.influences[:10]])
        print_frame(table.rename(columns=columns)[list(columns.values())])
