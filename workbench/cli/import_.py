"""`workbench import`: another tool's profile into a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A profile of another tool; its content tells which.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The workbook, made or added to; default: FILE's name, here.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The ONNX model that was profiled: gives the weights most files lack.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The profile's name in the workbook; for ratios, the profile that gets them.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="The batch size, where the file doesn't say it.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="The CPU cores, where the file doesn't say them.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of the same name.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Import FILE into a workbook, with live estimates.

    Reads Neural Engine CSV and trace files, ONNX Runtime profiles, OpenVINO counters, TensorRT profiles,
    DeepSparse analyses and PyTorch traces as profiles; SPDY and SparseML timings as perf ratios.
    """
    from workbench.book.foreign import import_file
    from workbench.cli.common import one_line, print_json

    result = import_file(
        file,
        output or Path(f"{file.stem}{'-profile' * (file.suffix.lower() == '.xlsx')}.xlsx"),
        model=model,
        name=name,
        replace_profile=replace,
        batch=batch,
        cores=cores,
    )
    profile = result.profile
    warnings = profile.warnings if profile else ()
    notes = [*warnings, *(note for note in result.notes if note not in warnings)]
    if as_json:
        print_json(
            {
                "book": str(result.book),
                "format": result.format,
                "profile": profile.name if profile else None,
                "operators": len(profile.operators) if profile else 0,
                "total_latency_ms": profile.total_latency_ms if profile else None,
                "ratio_rows": len(result.ratios.rows) if result.ratios else 0,
                "ratio_rows_set": result.ratios_set,
                "extended": result.extended,
                "notes": notes,
            }
        )
        return
    if profile is None:
        print(f"{result.format}: {result.ratios_set} rows of the ratio table set in {result.book}")
    else:
        supported = sum(1 for op in profile.operators if op.sparse_support)
        print(
            f"{result.format}: {len(profile.operators)} operators, {supported} with sparse support, "
            f"{profile.total_latency_ms:.3f} ms in all"
        )
        print(f"profile {one_line(profile.name)!r} {'added to' if result.extended else 'written to'} {result.book}")
        if result.ratios is not None:
            print(f"{len(result.ratios.rows)} weight shapes with the file's own ratios and targets")
    for note in notes:
        print(f"note: {one_line(note)}")
