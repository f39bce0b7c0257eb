"""Data frames in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def print_frame(table: pd.DataFrame, *, limit: int = 0) -> None:
    """`table` with its numbers to the right; the middle is left out beyond `limit` rows."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in table.columns:
        numbers = table[name].map(lambda v: isinstance(v, int | float)).all()
        shown.add_column(escape(str(name)), justify="right" if numbers else "left", overflow="fold")
    rows = [list(row) for row in table.itertuples(index=False)]
    half = limit // 2 if limit and len(rows) > limit else len(rows)
    for row in rows[:half]:
        shown.add_row(*(escape(_text(v)) for v in row))
    if half < len(rows):
        shown.add_row(f"… {len(rows) - 2 * half:,} more")
        for row in rows[-half:]:
            shown.add_row(*(escape(_text(v)) for v in row))
    console.print(shown)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:,.4f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)
