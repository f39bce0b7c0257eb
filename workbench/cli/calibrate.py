"""`workbench calibrate`: perf ratios measured on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.book.calibration import CalibratedProfile, CalibratedRow
    from workbench.calibration.comparison import ComparedShape

app = typer.Typer(add_completion=False)


@app.command()
def calibrate(
    book: Annotated[Path, typer.Argument(help="A workbook made by `workbench profile`.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file; BOOK stays.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only this profile; default: all of them.")] = None,
    levels: Annotated[str, typer.Option(help="Columns to measure, as .9,.8; default: all of the table.")] = "",
    layout: Annotated[
        str, typer.Option(help="Activations of the sparse kernel: row (as ONNX Runtime has them) or feature.")
    ] = "row",
    budget: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds of measuring for a profile; default: 6 a weight shape.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace rows whose source is 'user', too.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Time other sparse libraries, too (shown, not written).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Time dense ONNX Runtime and a 4x1 sparse kernel for BOOK's weight shapes and write the ratios into BOOK.

    Each shape runs at its profile's tokens and threads. What was measured before on this machine is not
    measured again. Exits with 1 when nothing could be written.
    """
    from workbench.book.calibration import calibrate_book
    from workbench.cli.common import Exit, print_json
    from workbench.cli.progress import progress_bar

    with progress_bar(quiet=as_json) as progress:
        done = calibrate_book(
            book,
            output,
            profile=profile,
            levels=_levels(levels),
            layout=_layout(layout),
            budget_s=budget,
            overwrite=overwrite,
            progress=progress,
        )
        compared = {p.profile: _compared(p, progress) for p in done} if compare else {}
    if as_json:
        print_json({"book": str(output or book), "profiles": [document(p, compared.get(p.profile, ())) for p in done]})
    else:
        for p in done:
            _print(p, compared.get(p.profile, ()))
        if any(p.written for p in done):
            typer.echo(f"wrote {output or book}")
    if not any(p.written for p in done):
        raise typer.Exit(int(Exit.NO))


def _levels(text: str) -> tuple[float, ...]:
    from workbench.errors import WorkbenchError

    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        try:
            level = float(part.removesuffix("%")) / (100 if part.endswith("%") else 1)
        except ValueError:
            level = 2.0
        if not 0 < level < 1:
            raise WorkbenchError(
                f"{part!r} is no share of zeros between 0 and 1", where="--levels", remedy="write e.g. .9,.8,.7"
            )
        found.append(round(level, 9))
    return tuple(found)


def _layout(text: str) -> Any:
    from workbench.calibration.product import LAYOUTS
    from workbench.errors import WorkbenchError

    if text not in LAYOUTS:
        raise WorkbenchError(f"{text!r} is no layout", where="--layout", remedy=f"choose {' or '.join(LAYOUTS)}")
    return text


def _compared(done: CalibratedProfile, progress: Any) -> tuple[ComparedShape, ...]:
    from workbench.calibration.comparison import compare_libraries

    shapes = {row.measured.shape: row.measured.tokens for row in done.rows if row.measured}
    return compare_libraries(shapes, done.levels, done.threads, progress=progress)


def document(done: CalibratedProfile, compared: Sequence[ComparedShape] = ()) -> dict[str, Any]:
    """A profile's rows, what was measured, written and kept, as JSON; ratios by level."""
    return {
        "profile": done.profile,
        "threads": done.threads,
        "layout": done.layout,
        "machine": done.machine,
        "kernel": done.kernel,
        "estimated_speedup": {"before": done.speedup_before, "after": done.speedup_after},
        "shapes": [_row_document(row) for row in done.rows],
        "comparison": [
            {
                "shape": "x".join(map(str, c.shape)),
                "library": c.library,
                "ratios": {f"{level:g}": ratio.median for level, ratio in c.ratios.items()},
            }
            for c in compared
        ],
    }


def _figure(value: float, form: str) -> str:
    return form.format(value) if value == value else "–"


def _row_document(row: CalibratedRow) -> dict[str, Any]:
    measured = row.measured
    return {
        "shape": row.label,
        "written": row.written,
        "reason": row.reason,
        "note": row.note,
        "source_before": row.source_before,
        "tokens": measured.tokens if measured else None,
        "from_cache": measured.from_cache if measured else None,
        "measured_on": measured.measured_on if measured else None,
        "levels": {
            f"{level:g}": {
                "before": row.before.get(level),
                "ratio": value.ratio,
                "low": value.low,
                "high": value.high,
                "spread": value.spread,
                "dense_ms": value.dense_ms,
                "sparse_ms": value.sparse_ms,
                "sparse_gflops": value.gflops,
                "blocks": value.blocks,
            }
            for level, value in (measured.levels.items() if measured else ())
        },
    }


def _print(done: CalibratedProfile, compared: Sequence[ComparedShape]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from workbench.cli.common import one_line

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(
        f"[bold]{escape(one_line(done.profile))}[/bold]  {done.kernel}, {done.threads} threads, {done.layout}-major, "
        f"{escape(one_line(done.machine))}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("shape", no_wrap=True)
    table.add_column("M", justify="right")
    for level in done.levels:
        table.add_column(f"{level:.4g}", justify="right", no_wrap=True)
    table.add_column("spread", justify="right")
    table.add_column("dense ms", justify="right")
    table.add_column("sparse GFLOP/s", justify="right", no_wrap=True)
    table.add_column("in the table")
    for row in done.rows:
        found = row.measured
        if found is None:
            table.add_row(row.label, "", *[""] * len(done.levels), "", "", "", f"as before: {row.reason}")
            continue
        values = [found.levels[level] for level in done.levels]
        table.add_row(
            row.label,
            str(found.tokens),
            *[_figure(v.ratio, "{:.2f}x") for v in values],
            _figure(found.spread, "±{:.0%}"),
            _figure(values[0].dense_ms, "{:.3f}"),
            "/".join(_figure(v.gflops, "{:.0f}") for v in values),
            ("written" + (", from the cache" if found.from_cache else ""))
            if row.written
            else f"as before: {row.reason}",
        )
    for c in compared:
        values_of = [f"{c.ratios[level].median:.2f}x" for level in done.levels]
        table.add_row(
            f"  {'x'.join(map(str, c.shape))}", str(c.tokens), *values_of, "", "", "", f"{c.library}, for comparison"
        )
    console.print(table)
    for row in done.rows:
        if row.note:
            typer.echo(one_line(f"note: {row.label}: {row.note}"))
    if done.written:
        typer.echo(f"estimated speed-up {done.speedup_before:.2f}x before, {done.speedup_after:.2f}x now")
