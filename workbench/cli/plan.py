"""`workbench plan`: the targets of least loss for a speed-up."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def plan(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    speedup: Annotated[float, typer.Option(min=1.0, help="The speed-up to reach (total / total aim).")],
    profile: Annotated[str | None, typer.Option(help="The profile; may be left out where there is one.")] = None,
    levels: Annotated[str, typer.Option(help="Levels to choose from, .7,.8,.9; default: the ratio table's.")] = "",
    apply: Annotated[bool, typer.Option("--apply", help="Write the targets into BOOK, and recalculate it.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Find the targets that reach a speed-up with the least loss.

    Loss is what a loss profile in BOOK says (`workbench loss`); without one, the weights pruned away.
    """
    import pandas as pd

    from workbench.cli.common import print_json
    from workbench.cli.tables import print_frame
    from workbench.whatif.plan import plan as run

    made = run(book, speedup, profile=profile, levels=_levels(levels), apply=apply)
    if as_json:
        print_json({"book": str(book), **asdict(made)})
        return
    rows = [
        {
            "operator": op.operator,
            "target": f"{op.target:.0%}" if op.target else "dense",
            "ms": op.latency_ms,
            "aim ms": op.aim_ms,
            "loss": op.loss,
        }
        for op in made.operators
    ]
    print_frame(pd.DataFrame(rows))
    pruned = sum(op.target > 0 for op in made.operators)
    proof = "no plan has less loss" if made.exact else "close to the least loss"
    typer.echo(f"{made.profile}: speed-up {made.speedup:.3f} with {pruned} of {len(rows)} operators pruned; {proof}")
    typer.echo(f"loss {made.loss:g}: {made.loss_is}")
    if apply:
        typer.echo(f"wrote {book}")


def _levels(text: str) -> tuple[float, ...] | None:
    from workbench.errors import WorkbenchError
    from workbench.recalc.recompute import entered_value

    if not text:
        return None
    values = [entered_value(part) for part in text.split(",")]
    if not all(isinstance(v, float) and 0 < v < 1 for v in values):
        raise WorkbenchError(f"{text!r} is no list of levels", where="--levels", remedy="write e.g. 0.7,0.9 or 70%,90%")
    return tuple(float(v) for v in values if isinstance(v, float))
