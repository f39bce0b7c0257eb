"""`workbench recompute`: edits in, every formula evaluated, nothing else of the file touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.recalc.report import Report

app = typer.Typer(add_completion=False)

_LISTED = 20


@app.command()
def recompute(
    book: Annotated[Path, typer.Argument(help="An .xlsx or .xlsm workbook, of any origin.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write here instead of over BOOK.")] = None,
    edits: Annotated[
        list[str] | None, typer.Option("--set", metavar="CELL=VALUE", help="Put a value into a cell (may be repeated).")
    ] = None,
    checks: Annotated[
        list[str] | None,
        typer.Option(
            "--check", metavar="CELL>=VALUE", help="Exit with 1 unless this holds afterwards (may be repeated)."
        ),
    ] = None,
    overwrite_formulas: Annotated[
        bool, typer.Option("--overwrite-formulas", help="Let --set replace a formula by its value.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report only; write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Apply edits, recalculate every formula of BOOK and write its values into the file, which loses nothing.

    CELL is an address ('baseline'!B7), a defined name, or a cell by its labels (ratios[256x1024][90%]).
    Exits with 3 when some formula could not be evaluated; such cells keep their old value and are listed.
    """
    from workbench.recalc.recompute import recompute as run

    report = run(book, out, edits or (), checks or (), overwrite_formulas=overwrite_formulas, write=not dry_run)
    _show(report, None if dry_run else (out or book), as_json)
    _exit(report)


def _show(report: Report, written: Path | None, as_json: bool) -> None:
    import sys

    from workbench.cli.common import one_line, print_json

    if as_json:
        print_json(document(report, written))
        return
    for warning in report.warnings:
        print(f"warning: {one_line(warning)}", file=sys.stderr)
    changed = f"{report.changed_count:,} cells changed" if report.changed_count else "no cell changed"
    print(f"{report.formulas:,} formulas evaluated, {changed}" + _where(written))
    for check in report.checks:
        print(f"{'holds' if check.holds else 'FAILS'}: {check.check} (it is {shown(check.value)})")
    for title, cells in (("not evaluated", report.unevaluated), ("stale", report.stale)):
        for kept in cells[:_LISTED]:
            print(f"{title}: {kept.cell} keeps its old value: {one_line(kept.reason)}", file=sys.stderr)
        if len(cells) > _LISTED:
            print(f"{title}: {len(cells) - _LISTED:,} more (--json lists them all)", file=sys.stderr)


def _where(written: Path | None) -> str:
    return "; nothing written" if written is None else f"; {written} written"


def document(report: Report, written: Path | None) -> dict[str, Any]:
    """The report as JSON: values as they are, errors by their text."""
    return {
        "book": None if written is None else str(written),
        "formulas": report.formulas,
        "changed": report.changed_count,
        "changes": [{"cell": c.cell, "before": plain(c.before), "after": plain(c.after)} for c in report.changed],
        "unevaluated": [{"cell": c.cell, "reason": c.reason} for c in report.unevaluated],
        "stale": [{"cell": c.cell, "reason": c.reason} for c in report.stale],
        "checks": [{"check": c.check, "value": plain(c.value), "holds": c.holds} for c in report.checks],
        "warnings": list(report.warnings),
    }


def plain(value: object) -> object:
    """A cell's value as JSON takes it."""
    from workbench.recalc.values import CellErrorValue

    return value.text if isinstance(value, CellErrorValue) else value


def shown(value: object) -> str:
    """A cell's value in a line of text."""
    if isinstance(value, bool) or value is None:
        return {True: "TRUE", False: "FALSE"}.get(value, "blank") if value is not None else "blank"
    return f"{value:.10g}" if isinstance(value, float) else str(plain(value))


def _exit(report: Report) -> None:
    from workbench.cli.common import Exit

    if not report.complete:
        raise typer.Exit(int(Exit.INCOMPLETE))
    if not report.checks_hold:
        raise typer.Exit(int(Exit.NO))
