"""`workbench prune`: apply a workbook's targets to a model's weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.book.pruning import PrunedAsPlanned

app = typer.Typer(add_completion=False)


@app.command()
def prune(
    model: Annotated[str, typer.Argument(help="An ONNX file, or the name of a sample model (bert_mini).")],
    plan: Annotated[Path, typer.Option("--plan", metavar="BOOK", help="The workbook whose targets to apply.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The pruned model; default: MODEL's name with .pruned, here.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="The workbook's profile, where it has several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write MODEL with its weights pruned in 4x1 blocks to the targets of BOOK's operators sheet.

    In each weight the blocks (4 output channels by 1 input channel) of least norm become zero.
    Nothing is retrained: accuracy has to be won back afterwards.
    """
    from workbench.book.pruning import prune_as_planned
    from workbench.cli.common import print_json

    done = prune_as_planned(model, plan, output or Path(f"{Path(model).stem}.pruned.onnx"), profile=profile)
    if as_json:
        print_json(document(done))
    else:
        _print(done)


def document(done: PrunedAsPlanned) -> dict[str, Any]:
    """`{"model", "book", "profile", "layers": [{"layer_id", "weight", "shape", "target", …}], "notes"}`."""
    return {
        "model": str(done.output),
        "book": str(done.plan.book),
        "profile": done.plan.profile,
        "layers": [
            {
                "layer_id": layer.layer_id,
                "weight": layer.weight_name,
                "shape": "x".join(map(str, layer.shape)),
                "target": layer.target,
                "zero_blocks": layer.zero_block_ratio,
                "zeros": layer.zero_ratio,
                "zero_blocks_before": layer.zero_block_ratio_before,
            }
            for layer in done.layers
        ],
        "notes": list(done.notes),
    }


def _print(done: PrunedAsPlanned) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from workbench.cli.common import one_line

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("layer", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    for header in ("target", "zero 4x1 blocks", "zeros"):
        table.add_column(header, justify="right", no_wrap=True)
    for layer in done.layers:
        name = one_line(layer.layer_id)
        table.add_row(
            escape(name if len(name) <= 48 else f"…{name[-47:]}"),
            "x".join(map(str, layer.shape)),
            f"{layer.target:.0%}",
            f"{layer.zero_block_ratio:.2%}",
            f"{layer.zero_ratio:.2%}",
        )
    console.print(table)
    for note in done.notes:
        typer.echo(one_line(f"note: {note}"))
    typer.echo(f"wrote {done.output}: {len(done.layers)} layers pruned as planned in {done.plan.book}")
