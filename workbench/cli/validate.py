"""`workbench validate`: the workbook's estimate against a real sparse run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.book.validation import ValidatedBook

app = typer.Typer(add_completion=False)


@app.command()
def validate(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    model: Annotated[str, typer.Argument(help="The model that was profiled: a file, or a sample's name.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file; BOOK stays.")] = None,
    profile: Annotated[str | None, typer.Option(help="The workbook's profile, where it has several.")] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Model inputs, an .npz with an array for each; default: made up.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prune MODEL as BOOK plans, run it with sparse kernels inside, and compare with BOOK's estimate.

    Outputs are compared with ONNX Runtime on the pruned model. A sheet `<profile> check` with predicted and
    measured times, per network and per operator, is added to BOOK. Exits with 1 when outputs differ.
    """
    from workbench.book.validation import validate_book
    from workbench.cli.common import Exit, print_json
    from workbench.cli.progress import progress_bar

    with progress_bar(quiet=as_json) as progress:
        done = validate_book(book, model, output, profile=profile, inputs=inputs, progress=progress)
    if as_json:
        print_json(document(done))
    else:
        _print(done)
    if not done.validation.outputs_agree:
        raise typer.Exit(int(Exit.NO))


def document(done: ValidatedBook) -> dict[str, Any]:
    """The validation as JSON: times in ms, errors as shares (above 0: predicted too slow)."""
    v = done.validation
    return {
        "book": str(done.book),
        "sheet": done.sheet,
        "profile": v.profile,
        "model": v.model,
        "batch": v.batch,
        "threads": v.threads,
        "kernel": v.kernel,
        "predicted_ms": v.predicted_ms,
        "measured_ms": v.sparse.median,
        "measured_quartiles_ms": [v.sparse.low, v.sparse.high],
        "error": v.error,
        "dense_before_ms": v.book_dense_ms,
        "dense_now_ms": v.dense.median,
        "drift": v.drift,
        "same_session_error": v.same_session_error,
        "speedup_measured": v.speedup,
        "output_difference": v.output_difference,
        "outputs_agree": v.outputs_agree,
        "error_parts": [{"part": p.title, "ms": p.ms, "reason": p.reason} for p in v.parts],
        "operators": [
            {
                "operator": o.name,
                "operator_type": o.operator_type,
                "weight_shape": o.shape,
                "target": o.target,
                "sparse": o.replaced,
                "dense_before_ms": o.book_dense_ms,
                "dense_now_ms": o.dense_ms,
                "predicted_ms": o.predicted_ms,
                "measured_ms": o.sparse_ms,
                "error": o.error,
                "ratio_predicted": o.ratio,
                "ratio_measured": o.real_ratio,
                "note": o.note,
            }
            for o in v.operators
        ],
    }


def _print(done: ValidatedBook) -> None:
    from rich.console import Console
    from rich.table import Table

    from workbench.cli.common import one_line

    v = done.validation
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("predicted ms per batch", f"{v.predicted_ms:.3f}", "the workbook's estimate")
    quartiles = f"quartiles {v.sparse.low:.3f} to {v.sparse.high:.3f}, {v.blocks} undisturbed blocks"
    table.add_row("measured ms per batch", f"{v.sparse.median:.3f}", quartiles)
    table.add_row("error", f"[bold]{v.error:+.1%}[/bold]", "predicted over measured, minus 1")
    table.add_row("dense ms now", f"{v.dense.median:.3f}", f"{v.book_dense_ms:.3f} in the profile: {v.drift:+.1%}")
    table.add_row("error from dense now", f"{v.same_session_error:+.1%}", "what the change of the machine leaves")
    table.add_row("speed-up measured", f"{v.speedup:.2f}x", "dense and sparse timed in turn")
    agree = "rounding explains it" if v.outputs_agree else "OUTPUTS DIFFER"
    table.add_row("difference of outputs", f"{v.output_difference:.1e}", agree)
    swapped = sum(o.replaced for o in v.operators)
    table.add_row("operators run sparse", str(swapped), f"of {sum(o.target > 0 for o in v.operators)} with a target")
    console.print(table)
    for part in v.parts:
        share = part.ms / v.sparse.median
        typer.echo(one_line(f"  {share:+6.1%}  {part.title}: {part.reason}"))
    for o in v.operators:
        if o.target > 0 and not o.replaced:
            typer.echo(one_line(f"note: {o.name} stays dense: {o.note}"))
    typer.echo(f"wrote the sheet {done.sheet!r} of {done.book}")
