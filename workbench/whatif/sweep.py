"""Sweeps: the workbook's results over a grid of input values, or with one input changed at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.recalc import open_workbook
from workbench.recalc.values import Scalar
from workbench.whatif.outputs import profiles_of, watched_cells

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

MOST_SCENARIOS = 1_000_000


def sweep(
    book: str | Path,
    vary: Mapping[str, Sequence[Scalar | int]],
    *,
    outputs: Sequence[str] = (),
    one_at_a_time: bool = False,
) -> pd.DataFrame:
    """A row a scenario: the varied cells' values, then the outputs'. The workbook itself stays as it is.

    `vary` maps cells (address, defined name, labels) to values; all combinations are tried, or with
    `one_at_a_time` each cell's values with the others as the workbook has them. `outputs` are cells, too; by
    default estimated ms, speed-up, total aim latency and the aim ratio of every profile.
    Raises `WorkbenchError` for cells that aren't there, hold a formula, or can't be evaluated.
    """
    import pandas as pd

    if not vary:
        raise WorkbenchError("there is nothing to vary", where="sweep", remedy="name cells and values with --vary")
    watched = list(outputs) or watched_cells(list(profiles_of(book).values()))
    with open_workbook(book) as opened:
        opened.recalculate()
        now = {cell: opened.value(cell) for cell in vary}
        rows = _rows(vary, now, one_at_a_time)
        inputs = {cell: _column([row[n] for row in rows]) for n, cell in enumerate(vary)}
        found = opened.evaluate(inputs, watched)
    return pd.DataFrame({cell: list(values) for cell, values in inputs.items()} | {c: _flat(found[c]) for c in watched})


def _rows(
    vary: Mapping[str, Sequence[Scalar | int]], now: Mapping[str, Scalar], one_at_a_time: bool
) -> list[tuple[Scalar | int, ...]]:
    cells = list(vary)
    if one_at_a_time:
        return [tuple(value if c == cell else now[c] for c in cells) for cell in cells for value in vary[cell]]
    count = int(np.prod([len(vary[c]) for c in cells]))
    if count > MOST_SCENARIOS:
        raise WorkbenchError(
            f"the grid has {count:,} scenarios", where="sweep", remedy=f"vary less: at most {MOST_SCENARIOS:,}"
        )
    return list(itertools.product(*(vary[c] for c in cells)))


def _column(values: list[Scalar | int]) -> NDArray[Any]:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return np.array(values, dtype=float if numbers else object)


def _flat(values: NDArray[Any]) -> list[Any]:
    return list(values if values.ndim == 1 else values.reshape(len(values), -1)[:, 0])
