"""Choosing one option a layer so that the time fits and the loss is least (multiple-choice knapsack)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FRONT_LIMIT = 20_000
"""Pareto points kept a layer; beyond it the front is thinned and the answer is no longer surely the best."""


@dataclass(frozen=True)
class Choice:
    """One option's index for each layer, with the sums it gives."""

    indices: tuple[int, ...]
    time: float
    loss: float
    exact: bool
    """Whether no front had to be thinned, so that no choice with less loss exists."""


def least_loss_choice(
    times: Sequence[NDArray[np.float64]], losses: Sequence[NDArray[np.float64]], budget: float
) -> Choice | None:
    """The choice with least total loss whose total time is at most `budget`; None where there is none.

    `times[i][j]` and `losses[i][j]` belong to option j of layer i. Among choices with equal loss the
    faster one is taken. Exact while the Pareto front of partial sums stays within `FRONT_LIMIT`.
    """
    front_time = np.zeros(1)
    front_loss = np.zeros(1)
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    exact = True
    fastest_rest = np.cumsum([0.0, *(float(t.min()) for t in reversed(times))])[::-1]
    slack = 1e-12 * max(1.0, abs(budget))
    for layer, (time, loss) in enumerate(zip(times, losses, strict=True)):
        all_time = (front_time[:, None] + time[None, :]).ravel()
        all_loss = (front_loss[:, None] + loss[None, :]).ravel()
        feasible = np.flatnonzero(all_time + fastest_rest[layer + 1] <= budget + slack)
        if feasible.size == 0:
            return None
        kept = feasible[_pareto(all_time[feasible], all_loss[feasible])]
        if kept.size > FRONT_LIMIT:
            exact = False
            kept = kept[_thinned(all_time[kept])]
        front_time, front_loss = all_time[kept], all_loss[kept]
        steps.append((kept // time.size, kept % time.size))
    best = int(np.argmin(front_loss))
    indices: list[int] = []
    position = best
    for parent, option in reversed(steps):
        indices.append(int(option[position]))
        position = int(parent[position])
    return Choice(tuple(reversed(indices)), float(front_time[best]), float(front_loss[best]), exact)


def _pareto(time: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.int64]:
    """Indices of the points that no other point beats in both time and loss, by ascending time."""
    order = np.lexsort((loss, time))
    lowest_before = np.concatenate(([np.inf], np.minimum.accumulate(loss[order])[:-1]))
    kept: NDArray[np.int64] = order[loss[order] < lowest_before]
    return kept


def _thinned(time: NDArray[np.float64]) -> NDArray[np.int64]:
    """About `FRONT_LIMIT` of the points: in each slice of time the slowest, which has the least loss."""
    slices = np.floor((time - time[0]) / max(time[-1] - time[0], 1e-300) * (FRONT_LIMIT - 1))
    last_of_slice = np.append(np.diff(slices) > 0, True)
    last_of_slice[0] = True
    found: NDArray[np.int64] = np.flatnonzero(last_of_slice)
    return found
