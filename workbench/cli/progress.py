"""A progress bar on stderr that says what is happening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, 0 to 1."""


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """A callback that draws a bar while the block runs; nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda stage, done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(stage: str, done: float) -> None:
            bar.update(task, description=stage, completed=min(max(done, 0.0), 1.0))

        yield show
