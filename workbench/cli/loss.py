"""`workbench loss`: a loss profile into a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.api import LossResult
    from workbench.loss.metrics import CustomMetric
    from workbench.profile import LayerLoss

app = typer.Typer(add_completion=False)

SHOWN = 5


@app.command()
def loss(
    model: Annotated[str, typer.Argument(help="An .onnx file, or a sample model.")],
    book: Annotated[Path, typer.Argument(help="The workbook that gets the sheet; made where it isn't there.")],
    name: Annotated[str, typer.Option(help="The loss profile's name, its sheet's, too.")] = "loss",
    profile: Annotated[
        str, typer.Option(help="The performance profile whose targets it follows; default: the book's first.")
    ] = "",
    data: Annotated[
        Path | None, typer.Option(help="Measure over this .npz file, or folder of them; arrays by input name.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="kl, mse, cross-entropy (needs 'labels' in the data), or FILE.py:FUNCTION.")
    ] = "kl",
    pattern: Annotated[str, typer.Option(help="4x1 or unstructured.")] = "4x1",
    levels: Annotated[
        str, typer.Option(help="Shares of zeros, e.g. 0.7,0.8,0.9; default: 0.2 to 0.99 in nine steps.")
    ] = "",
    layers: Annotated[
        list[str] | None, typer.Option(help="Only these, by node or weight name; with commas, or repeated.")
    ] = None,
    include_first: Annotated[
        bool, typer.Option("--include-first", help="Count the first prunable layer, too.")
    ] = False,
    include_grouped: Annotated[
        bool, typer.Option("--include-grouped", help="Count grouped convolutions, too.")
    ] = False,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="From the architecture alone, without weights or data.")
    ] = False,
    dim: Annotated[
        list[str] | None, typer.Option(metavar="NAME=V", help="With --approximate: a symbolic dimension's size.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Samples in a run at most.")] = 8,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; default: one for each usable core.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on where an interrupted measurement stopped.")
    ] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a loss profile of the same name.")] = False,
    template: Annotated[Path | None, typer.Option(help="A workbook template of your own (TOML).")] = None,
    protect: Annotated[bool, typer.Option("--protect", help="Lock formula cells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Tell how sensitive each layer of MODEL is to pruning, in a sheet of BOOK.

    With --data, each layer is pruned alone at each level and the outputs are compared with the dense model's;
    without, the magnitude of its weights tells. First layers and grouped convolutions are left out by default.
    """
    from workbench import api
    from workbench.cli.common import print_json
    from workbench.cli.profile import named_numbers
    from workbench.cli.progress import progress_bar

    try:
        with progress_bar(quiet=as_json) as progress:
            result = api.loss(
                model,
                book,
                name=name,
                profile=profile,
                data=data,
                metric=_metric(metric),
                pattern=pattern,
                levels=_levels(levels),
                layers=[part.strip() for text in layers or () for part in text.split(",") if part.strip()],
                include_first=include_first,
                include_grouped=include_grouped,
                approximate=approximate,
                dims=named_numbers(dim or ()),
                batch=batch,
                threads=threads,
                resume=resume,
                replace=replace,
                template=template,
                protect=protect,
                progress=progress,
            )
    except KeyboardInterrupt:
        if data is not None and resume:
            typer.echo("what was measured so far is kept: the same command goes on from there", err=True)
        raise
    if as_json:
        print_json(loss_document(result))
    else:
        print_loss(result)


def loss_document(result: LossResult) -> dict[str, Any]:
    """The result as a JSON document."""
    made = result.profile
    return {
        "book": str(result.book),
        "created": result.created,
        "loss_profile": made.name,
        "performance_profile": made.performance_profile,
        "model": made.model.name,
        "method": made.method,
        "metric": made.metric,
        "pattern": made.pattern,
        "samples": made.samples,
        "levels": made.levels,
        "figures": dict(result.figures),
        "most_sensitive": [row.layer_id for row in _ranked(result)],
        "layers": [_row_document(row) for row in made.layers],
        "settings": dict(made.settings),
        "warnings": list(made.warnings),
        "notes": list(result.notes),
    }


def _row_document(row: LayerLoss) -> dict[str, Any]:
    return {
        "layer": row.layer_id,
        "weight": row.weight_name,
        "operator_type": row.operator_type,
        "shape": "x".join(map(str, row.shape)),
        "parameters": row.parameters,
        "left_out_because": row.skipped,
        "note": row.note,
        "sensitivity": {f"{level:g}": value for level, value in row.sensitivity.items()},
        "compared": {
            name: {f"{level:g}": value for level, value in values.items()}
            for name, values in row.other_patterns.items()
        },
    }


def print_loss(result: LossResult) -> None:
    """The figures and the most and least sensitive layers, on stdout."""
    from workbench.cli.common import one_line
    from workbench.loss.rows import layer_sensitivity

    made, figures = result.profile, result.figures
    counted = sum(not row.skipped for row in made.layers)
    typer.echo(f"{result.book}: loss profile {made.name!r}, {made.method}, {made.pattern}")
    typer.echo(f"  sensitivity is            {made.metric}")
    typer.echo(f"  layers                    {counted} of {len(made.layers)}")
    typer.echo(f"  average sensitivity       {_shown(figures['average'])}")
    typer.echo(
        f"  estimated recovery        {_shown(figures['recovery'])}, at the targets of {made.performance_profile}"
    )
    typer.echo(f"  parameters reduced        {_shown(figures['reduction'])} times")
    ranked = _ranked(result)
    level = made.rated_level
    few = ranked if len(ranked) <= 2 * SHOWN else (*ranked[:SHOWN], None, *ranked[-SHOWN:])
    typer.echo(f"  most to least sensitive, at {level * 100:g} %:")
    for row in few:
        if row is None:
            typer.echo(f"    … {len(ranked) - 2 * SHOWN} more")
        else:
            typer.echo(f"    {_shown(layer_sensitivity(row, made.levels)):>10}  {one_line(row.layer_id)}")
    for kind, text in made.settings.items():
        typer.echo(f"  {kind}: {one_line(text)}")
    for text in made.warnings:
        typer.echo(one_line(f"warning: {text}"))
    for text in result.notes:
        typer.echo(one_line(f"note: {text}"))


def _ranked(result: LossResult) -> tuple[LayerLoss, ...]:
    from workbench.loss.rows import ranked

    return ranked(result.profile)


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "unknown"


def _levels(text: str) -> tuple[float, ...]:
    from workbench.errors import WorkbenchError

    levels = []
    for part in (p.strip() for p in text.split(",") if p.strip()):
        try:
            levels.append(float(part.removesuffix("%")) / (100 if part.endswith("%") else 1))
        except ValueError:
            raise WorkbenchError(
                f"{part!r} is no level", where="--levels", remedy="write e.g. 0.7,0.8,0.9 or 70%,80%,90%"
            ) from None
    return tuple(levels)


def _metric(text: str) -> str | CustomMetric:
    """The metric's name, or the function of a Python file."""
    from workbench.errors import WorkbenchError

    file, colon, function = text.rpartition(":")
    if text == "custom" or (text.endswith(".py") and not colon):
        raise WorkbenchError(
            "a metric of your own is a Python function",
            where="--metric",
            remedy="write FILE.py:FUNCTION; it is called with dense outputs, pruned outputs and labels",
        )
    if not colon or not file.endswith(".py"):
        return text
    import runpy

    path = Path(file)
    if not path.is_file():
        raise WorkbenchError("no such file", where=path, remedy="write FILE.py:FUNCTION")
    found = runpy.run_path(str(path)).get(function)
    if not callable(found):
        raise WorkbenchError(f"it has no function {function!r}", where=path, remedy="write FILE.py:FUNCTION")
    metric: CustomMetric = found
    return metric
