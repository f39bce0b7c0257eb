"""A workbook's summary in the terminal, and as a JSON document.

Figures are read from the workbook's cells; nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.book import Book
    from workbench.profile import PerformanceProfile

WORTH_MOST = 5
_WIDTH = 100
"""Characters on a line where the output is no terminal."""
_NAME = 46
"""Characters of an operator's name; the end of a longer one tells more than its beginning."""


def book_document(book: Book, profiles: Sequence[str] | None = None) -> dict[str, Any]:
    """`{"book", "profiles": [{"profile", "facts", "totals", "estimates", "worth_most"}], "loss_profiles"}`."""
    return {
        "book": str(book.path),
        "profiles": [
            {
                "profile": name,
                "facts": book.facts(name),
                "totals": book.totals(name),
                "estimates": book.estimates(name),
                "worth_most": worth_most(book, name),
            }
            for name in (book.profile_names if profiles is None else profiles)
        ],
        "loss_profiles": list(book.loss_profile_names),
    }


def worth_most(book: Book, profile: str, count: int = WORTH_MOST) -> list[dict[str, Any]]:
    """The operators that pruning to their targets saves most time on, the best first."""
    rows = book.operators(profile)
    best = rows[rows["saving (ms)"] > 0].sort_values("saving (ms)", ascending=False, kind="stable").head(count)
    columns = {
        "operator": "operator name",
        "weight_shape": "weight shape",
        "latency_ms": "operator latency (ms)",
        "target": "target in force",
        "perf_ratio": "perf ratio",
        "aim_ms": "aim to sparse latency (ms)",
        "saving_ms": "saving (ms)",
    }
    return [{key: row[column] for key, column in columns.items()} for _, row in best.iterrows()]


def print_notes(profiles: Sequence[PerformanceProfile]) -> None:
    """What was assumed, and what to beware of."""
    import typer

    from workbench.cli.common import one_line

    for profile in profiles:
        assumed = [f"{name} = {profile.dims[name]}" for name in profile.assumed_dims]
        if assumed:
            typer.echo(one_line(f"note: {profile.name}: assumed {', '.join(assumed)} (set with --batch, --dim NAME=V)"))
        for warning in profile.warnings:
            typer.echo(one_line(f"warning: {profile.name}: {warning}"))


def print_book(book: Book, profiles: Sequence[str] | None = None) -> None:
    """Totals, estimates and the operators worth most of each profile, on stdout."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    names = book.profile_names if profiles is None else profiles
    if len(names) > 1:
        _print_all(console, book, names)
    for name in names if len(names) <= 3 else ():
        _print_profile(console, book, name)
    if any(math.isnan(value) for name in names for value in book.totals(name).values()):
        console.print("some totals hold no value; compute them with `workbench recompute`")
    if book.loss_profile_names:
        console.print(f"loss profiles: {', '.join(book.loss_profile_names)}", markup=False)


def _print_all(console: Console, book: Book, names: Sequence[str]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("profile")
    for header in ("batch", "cores", "ms per batch", "estimated ms", "speed-up", "ceiling"):
        table.add_column(header, justify="right")
    for name in names:
        facts, estimates = book.facts(name), book.estimates(name)
        table.add_row(
            _plain(name),
            str(facts["batch"]),
            str(facts["cores"]),
            _ms(estimates["end_to_end"]),
            _ms(estimates["estimated_ms"]),
            _times(estimates["estimated_speedup"]),
            _times(estimates["ceiling"]),
        )
    console.print(table)
    console.print()


def _print_profile(console: Console, book: Book, name: str) -> None:
    from rich.table import Table

    facts, totals, estimates = book.facts(name), book.totals(name), book.estimates(name)
    cores = f"{facts['cores']} core{'s' * (facts['cores'] != 1)}"
    how = f"batch {facts['batch']}, {cores}, latencies {facts['provenance']}"
    console.print(f"[bold]{_plain(name)}[/bold]  {_plain(str(facts['model']))}, {how}")
    figures = Table.grid(padding=(0, 2))
    figures.add_column()
    figures.add_column(justify="right")
    figures.add_column(style="dim")
    figures.add_row("total latency", f"{_ms(totals['total_latency'])} ms", "all operators added up (op-sum)")
    aim, supported = totals["total_aim_to_sparse_latency"], totals["sparse_support_latency_ratio"]
    figures.add_row("total aim to sparse latency", f"{_ms(aim)} ms", "estimated, at the targets")
    figures.add_row("sparse support latency ratio", _share(supported), "of total latency")
    if not math.isnan(estimates["end_to_end"]):
        figures.add_row("measured ms per batch", _ms(estimates["end_to_end"]), "plain end-to-end run")
    figures.add_row("estimated ms per batch", _ms(estimates["estimated_ms"]), "measured x total aim / total")
    figures.add_row(
        "estimated speed-up",
        f"[bold]{_times(estimates['estimated_speedup'])}[/bold]",
        f"ceiling {_times(estimates['ceiling'])}: if supported operators took no time",
    )
    console.print(figures)
    best = worth_most(book, name)
    if not best:
        console.print("no operator gains from its target\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operators worth most", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    for header in ("ms", "target", "ratio", "aim ms", "saving"):
        table.add_column(header, justify="right", no_wrap=True)
    for row in best:
        table.add_row(
            _plain(_tail(str(row["operator"]))),
            str(row["weight_shape"] or ""),
            _ms(row["latency_ms"]),
            _share(row["target"]),
            f"{row['perf_ratio']:.2f}",
            _ms(row["aim_ms"]),
            _ms(row["saving_ms"]),
        )
    console.print(table)
    console.print()


def _plain(text: str) -> str:
    """A name as data: no markup, no control characters."""
    from rich.markup import escape

    from workbench.cli.common import one_line

    return escape(one_line(text))


def _tail(name: str) -> str:
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"


def _ms(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:,.3f}"


def _times(value: float) -> str:
    if math.isinf(value):
        return "no limit"
    return "unknown" if math.isnan(value) else f"{value:.2f}x"


def _share(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.1%}".replace(".0%", "%")
