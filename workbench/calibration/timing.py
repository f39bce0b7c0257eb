"""Timing several runs in turn, so that what disturbs the machine disturbs all of them alike.

A *block* times every run for a short while, one after the other; a block's figure for a run is its median
there. Blocks in which some run fell out of its usual time are rejected; what is reported is the median over
the blocks kept, with the quartiles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REJECT_ABOVE = 1.25
"""A block is bad for a run whose time there is over this many times its lower quartile over all blocks."""
FEWEST_BLOCKS = 5
NOISY_ABOVE = 0.10
"""A figure is too noisy when half the distance of its quartiles is more than this share of it."""


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @property
    def relative(self) -> float:
        """Half the distance of the quartiles, as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else float("nan")


def spread_of(samples: NDArray[np.float64]) -> Spread:
    """Median and quartiles of a non-empty sample."""
    low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
    return Spread(float(middle), float(low), float(high))


@dataclass(frozen=True, eq=False)
class BlockTimes:
    """Milliseconds: blocks x runs, in the order given."""

    times_ms: NDArray[np.float64]

    @property
    def good(self) -> NDArray[np.bool_]:
        """Blocks x runs: whether the run took its usual time there."""
        usual = np.quantile(self.times_ms, 0.25, axis=0)
        good: NDArray[np.bool_] = self.times_ms <= REJECT_ABOVE * usual
        return good

    def time_ms(self, run: int) -> Spread:
        """The time of a run over its good blocks."""
        return spread_of(self.times_ms[self.good[:, run], run])

    def ratio(self, run: int, over: int) -> tuple[Spread, int]:
        """Time of `run` over time of `over`, block by block where both are good, and how many blocks those are."""
        kept = self.good[:, run] & self.good[:, over]
        if not kept.any():
            return Spread(float("nan"), float("nan"), float("nan")), 0
        return spread_of(self.times_ms[kept, run] / self.times_ms[kept, over]), int(kept.sum())


def time_in_turn(
    runs: Sequence[Callable[[], object]],
    *,
    blocks: int = 11,
    block_s: float = 0.02,
    budget_s: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
) -> BlockTimes:
    """Time `runs` in turn for `blocks` blocks; fewer, but not under FEWEST_BLOCKS, when `budget_s` is spent.

    In a block each run is called once untimed and then at least 3 times, and until `block_s` seconds passed.
    """
    started = clock()
    times: list[list[float]] = []
    for number in range(blocks):
        if number >= FEWEST_BLOCKS and clock() - started > budget_s:
            break
        times.append([_median_ms(run, block_s, clock) for run in runs])
    return BlockTimes(np.asarray(times))


def _median_ms(run: Callable[[], object], block_s: float, clock: Callable[[], float]) -> float:
    run()
    taken: list[float] = []
    start = clock()
    while True:
        before = clock()
        run()
        after = clock()
        taken.append(after - before)
        if len(taken) >= 3 and after - start >= block_s:
            return float(np.median(taken)) * 1000.0
