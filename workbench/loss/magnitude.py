"""Sensitivity read from the weights alone: the magnitude of what each level removes.

After `pruning_loss_sens_magnitude` of SparseML, extended to 4x1 blocks. Relative and without unit: comparable
between the layers of a model, not between models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.loss.patterns import Pattern, group_scores, removed_groups


def magnitude_sensitivity(
    weight: NDArray[np.float32], levels: Sequence[float], pattern: Pattern = Pattern.UNSTRUCTURED
) -> NDArray[np.float64]:
    """Mean |w| of the groups removed between the level before and each of `levels` (ascending); 0 at level 0.

    Where two levels remove the same number of groups, the magnitude of the next group stands. At least one
    group is always counted as left, as in the source. `weight` is N x K.
    """
    scores = np.sort(group_scores(weight, pattern), axis=None)
    if not scores.size:
        return np.zeros(len(levels))
    upto = np.concatenate(([0.0], np.cumsum(scores, dtype=np.float64)))
    ends = np.minimum(removed_groups(levels, scores.size, pattern), scores.size - 1)
    values = np.zeros(len(levels))
    start = 0
    for at, (level, end) in enumerate(zip(levels, ends, strict=True)):
        if level <= 1e-9:
            continue
        if end > start:
            values[at] = (upto[end] - upto[start]) / (end - start)
            start = int(end)
        else:
            values[at] = scores[end]
            start = int(end) + 1
    return values


def removed_magnitude(
    weight: NDArray[np.float32], levels: Sequence[float], pattern: Pattern = Pattern.UNSTRUCTURED
) -> NDArray[np.float64]:
    """Sum of |w| of all weights removed up to each level. Never smaller for 4x1 than for unstructured."""
    scores = np.sort(group_scores(weight, pattern), axis=None)
    upto = np.concatenate(([0.0], np.cumsum(scores, dtype=np.float64))) * pattern.rows
    removed: NDArray[np.float64] = upto[removed_groups(levels, scores.size, pattern)]
    return removed


def removed_share(weight: NDArray[np.float32], levels: Sequence[float], pattern: Pattern) -> dict[float, float]:
    """The share of the layer's magnitude that is gone at each level: what the pattern costs over another."""
    total = float(np.abs(weight).sum(dtype=np.float64))
    removed = removed_magnitude(weight, levels, pattern)
    return {
        level: min(float(value) / total, 1.0) if total else 0.0 for level, value in zip(levels, removed, strict=True)
    }


STEP = 0.01
"""Distance of the levels between which the sources take the mean."""


def sensitivity_at(weight: NDArray[np.float32], levels: Sequence[float], pattern: Pattern) -> dict[float, float]:
    """The sources' sensitivity at each of `levels`: that of the profile of levels 0, 0.01, … 0.99.

    A level between those (0.975) counts from 0.01 below itself.
    """
    steps = [round(n * STEP, 2) for n in range(100)]
    between = [level for level in levels if round(level, 9) not in steps]
    values = dict(zip(steps, magnitude_sensitivity(weight, steps, pattern), strict=True))
    for level in between:
        values[level] = magnitude_sensitivity(weight, [max(level - STEP, 0.0), level], pattern)[-1]
    return {level: float(values[level if level in between else round(level, 9)]) for level in levels}
