"""Ranges that grow or shrink from cell to cell, as in `COUNTIF($A$1:A7,A7)`: slices of one block read once.

Without this each cell would read and compare its own range, which for n cells costs O(n²) memory traffic and
as many passes over texts. Here what meets a criterion is found once in the block; a cell's range cuts its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.recalc.references import Region
from workbench.recalc.values import Unvectorisable

SMALL = 64
"""Rows of a moving range of constant size up to which it is read as it is."""


@dataclass(frozen=True)
class Windows:
    """For each family cell the rows of its ranges, counted from the top of the block that holds them all."""

    first: NDArray[np.intp]
    """Shape (F,)."""
    end: NDArray[np.intp]
    """One beyond the last row."""
    up: int
    """Rows from the top of the block to the top of the first cell's range, at most 0."""
    rows: int

    def block(self, region: Region) -> Region:
        """The fixed region that holds a range for all family cells."""
        top = min(region.row1, region.row2) + self.up
        return Region(region.sheet, top, region.column1, top + self.rows - 1, region.column2)


def windows_of(regions: Sequence[Region], lanes: int) -> Windows | None:
    """The windows of ranges that move together; None where none of them needs it.

    Raises Unvectorisable for ranges that change their size differently, or sideways.
    """
    if lanes == 1 or not any(_needed(region, lanes) for region in regions):
        return None
    steps = {(r.step_row1, r.step_row2, r.row1 - r.row2) for r in regions}
    sideways = any(r.step_column1 or r.step_column2 or r.column1 > r.column2 for r in regions)
    if len(steps) > 1 or sideways:
        raise Unvectorisable
    region = regions[0]
    count = np.arange(lanes)
    edges = np.sort([region.row1 + count * region.step_row1, region.row2 + count * region.step_row2], axis=0)
    first, last = edges
    start = min(region.row1, region.row2)
    top, bottom = int(first.min()), int(last.max())
    return Windows(first - top, last - top + 1, top - start, bottom - top + 1)


def _needed(region: Region, lanes: int) -> bool:
    if not region.moves:
        return False
    return not region.rigid or (region.rows > SMALL and not region.step_column1)


def sliced(
    windows: Windows,
    which: NDArray[np.intp],
    columns: int,
    positions: Callable[[int, int, int], NDArray[np.intp]],
    measures: Sequence[tuple[NDArray[np.float64], np.ufunc, float]],
) -> list[NDArray[np.float64]]:
    """For each measure (array of the whole block, ufunc, value of nothing) its reduction in each cell's window.

    `which` (S, F, r, c) says which combination of criteria each element asks for; `positions(combination, from,
    to)` are the flat positions, ascending, of the elements of the block that meet it, at least those between.
    """
    lanes = windows.first.size
    which = np.broadcast_to(which, (which.shape[0], lanes, *which.shape[2:]))
    flats = [array.reshape(array.shape[0], -1) for array, _, _ in measures]
    scenarios = [max(which.shape[0], flat.shape[0]) for flat in flats]
    outs = [np.empty((s, *which.shape[1:])) for s in scenarios]
    for lane in range(lanes):
        start, end = int(windows.first[lane]) * columns, int(windows.end[lane]) * columns
        asked = which[:, lane]
        for combination in np.unique(asked).tolist():
            found = positions(combination, start, end)
            low, high = found.searchsorted((start, end))
            here = asked == combination
            for out, flat, (array, ufunc, nothing) in zip(outs, flats, measures, strict=True):
                if low == high:
                    result = np.full(1, nothing)
                elif ufunc is np.add and not any(array.strides):
                    result = np.full(1, float(high - low))
                else:
                    result = ufunc.reduce(np.take(flat, found[low:high], axis=-1), axis=-1)
                target = out[:, lane]
                np.copyto(target, result.reshape(-1, 1, 1), where=here)
    return outs
