"""Which weights go first: the order of removal of a pruning pattern, and how many go at a level."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from workbench.profile import BLOCK_ROWS


class Pattern(StrEnum):
    """What is removed at once."""

    UNSTRUCTURED = "unstructured"
    """Single weights."""
    BLOCK_4X1 = "4x1"
    """4 consecutive output channels of 1 input channel (of 1 kernel place, in a convolution)."""

    @property
    def rows(self) -> int:
        """Output channels of a group that is removed at once."""
        return BLOCK_ROWS if self is Pattern.BLOCK_4X1 else 1

    def fits(self, rows: int) -> bool:
        """Whether a weight of `rows` output channels divides into whole groups."""
        return rows % self.rows == 0


def group_scores(weight: NDArray[np.float32], pattern: Pattern) -> NDArray[np.float32]:
    """Mean |w| of each group (for 4x1 the block's L1 norm / 4), N / rows x K for a weight N x K."""
    magnitude = np.abs(weight)
    if pattern.rows == 1:
        return magnitude
    rows, columns = weight.shape
    means: NDArray[np.float32] = magnitude.reshape(rows // pattern.rows, pattern.rows, columns).mean(axis=1)
    return means


def removed_groups(levels: Sequence[float], groups: int, pattern: Pattern) -> NDArray[np.intp]:
    """How many of `groups` groups are removed at each level.

    Single weights: the nearest whole number (half to even), as the sources do. Blocks: the fewest that reach
    the level, so that 4x1 never removes fewer weights than unstructured pruning.
    """
    exact = np.asarray(levels, dtype=np.float64) * groups
    counts = np.rint(exact) if pattern.rows == 1 else np.ceil(exact - 1e-9)
    return np.clip(counts, 0, groups).astype(np.intp)
