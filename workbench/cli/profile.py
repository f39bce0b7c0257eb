"""`workbench profile`: measure a model and write or extend a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def profile(
    model: Annotated[str, typer.Argument(help="An ONNX file, or the name of a sample model (bert_mini).")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The workbook; default: MODEL's name with .xlsx, here."),
    ] = None,
    name: Annotated[str, typer.Option(help="The profile's name in the workbook.")] = "baseline",
    batch: Annotated[str, typer.Option(help="Batch size, or several: 1,8,64 (a profile each).")] = "",
    dim: Annotated[list[str] | None, typer.Option(help="A symbolic dimension's value, NAME=V.")] = None,
    cores: Annotated[str, typer.Option(help="CPU cores to use, or several: 1,2 (a profile each).")] = "",
    inputs: Annotated[
        Path | None, typer.Option(help="Model inputs, an .npz with an array for each; default: made up.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Runs a session; default: until medians are steady.")
    ] = None,
    warmup: Annotated[int | None, typer.Option(min=0, help="Runs not counted, first in each session.")] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="Sessions, whose medians give the spread.")] = None,
    budget: Annotated[float, typer.Option(min=0.1, help="Seconds of measuring, at most, for each profile.")] = 20.0,
    instances: Annotated[
        int,
        typer.Option(min=1, help="Copies of the model run at once, on cores of their own.", envvar="INST_NUM"),
    ] = 1,
    trace: Annotated[Path | None, typer.Option(help="Folder for a Chrome trace of the run.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Folder for a Neural Engine CSV with live formulas.")] = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Run the model, or estimate times by FLOPs.")
    ] = True,
    peak: Annotated[
        float | None,
        typer.Option(min=0.001, help="With --no-measure: the machine's GFLOP/s; default: measured."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace profiles of the same name.")] = False,
    template: Annotated[Path | None, typer.Option(help="A workbook template of your own (TOML).")] = None,
    protect: Annotated[
        bool, typer.Option("--protect", help="Lock formula cells (tables then can't grow, sort or filter).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure MODEL's operators and write them, with live estimates, into a workbook.

    An existing workbook gets the profile added; what was edited in it stays.
    """
    import os

    from workbench import api
    from workbench.cli.common import print_json
    from workbench.cli.progress import progress_bar
    from workbench.cli.summary import book_document, print_book, print_notes

    if os.environ.get("ENGINE_PROFILING") == "1" and trace is None and csv is None:
        csv, trace = Path("engine_profiling/profiling_csv"), Path("engine_profiling/profiling_trace")
    with progress_bar(quiet=as_json) as progress:
        result = api.profile(
            model,
            output,
            name=name,
            batches=_whole_numbers(batch, "--batch"),
            dims=named_numbers(dim or ()),
            cores=_whole_numbers(cores, "--cores"),
            inputs=inputs,
            iterations=iterations,
            warmup=warmup,
            sessions=sessions,
            budget_s=budget,
            instances=instances,
            trace=trace,
            csv=csv,
            measure=measure,
            peak_gflops=peak,
            replace=replace,
            template=template,
            protect=protect,
            progress=progress,
        )
    from workbench.book import open_book

    book = open_book(result.book)
    names = [made.name for made in result.profiles]
    if as_json:
        files = [str(file) for file in result.files]
        print_json(book_document(book, names) | {"extended": result.extended, "files": files, "notes": result.notes})
        return
    print_notes(result.profiles)
    for note in result.notes:
        typer.echo(f"note: {note}")
    print_book(book, names)
    for file in (result.book, *result.files):
        typer.echo(f"{'extended' if result.extended and file == result.book else 'wrote'} {file}")


def _whole_numbers(text: str, option: str) -> tuple[int | None, ...]:
    from workbench.errors import WorkbenchError

    if not text:
        return (None,)
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise WorkbenchError(
            f"{text!r} is not a whole number above 0, nor a list of them",
            where=option,
            remedy="write e.g. 8 or 1,8,64",
        )
    return tuple(dict.fromkeys(numbers))


def named_numbers(texts: list[str] | tuple[str, ...]) -> dict[str, int]:
    from workbench.errors import WorkbenchError

    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value.strip().isdecimal():
            raise WorkbenchError(
                f"{text!r} is not NAME=V with a whole number V",
                where="--dim",
                remedy="write e.g. sequence=128",
            )
        found[name.strip()] = int(value)
    return found
