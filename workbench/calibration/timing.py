"""Timing several runs in turn, so that what disturbs the machine disturbs all of them alike.

A *block* times every run for a short while, one after the other; a block's figure for a run is its median
there. Blocks during which other programs took the cores are rejected, and so are those in which some run fell
out of its usual time; what is reported is the median over the blocks kept, with the quartiles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.profiling.machine import usable_cores

REJECT_ABOVE = 1.25
"""A block is bad for a run whose time there is over this many times its lower quartile over all blocks."""
REJECT_BUSY = 0.15
"""A block is bad when other programs took more than this share of the cores that this process may use."""
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


_NO_FIGURE = Spread(float("nan"), float("nan"), float("nan"))


def spread_of(samples: NDArray[np.float64]) -> Spread:
    """Median and quartiles; NaN for an empty sample."""
    if not samples.size:
        return _NO_FIGURE
    low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
    return Spread(float(middle), float(low), float(high))


@dataclass(frozen=True, eq=False)
class BlockTimes:
    """Milliseconds: blocks x runs, in the order given."""

    times_ms: NDArray[np.float64]
    busy: NDArray[np.float64]
    """For each block, the share of the usable cores that other programs took meanwhile."""

    @property
    def quiet(self) -> NDArray[np.bool_]:
        """Blocks that other programs left alone."""
        quiet: NDArray[np.bool_] = self.busy <= REJECT_BUSY
        return quiet

    @property
    def good(self) -> NDArray[np.bool_]:
        """Blocks x runs: whether the block was quiet and the run took its usual time there."""
        calm = self.quiet
        usual = np.quantile(self.times_ms[calm] if calm.any() else self.times_ms, 0.25, axis=0)
        good: NDArray[np.bool_] = (self.times_ms <= REJECT_ABOVE * usual) & calm[:, None]
        return good

    def time_ms(self, run: int) -> Spread:
        """The time of a run over its good blocks; NaN where there are none."""
        return spread_of(self.times_ms[self.good[:, run], run])

    def ratio(self, run: int, over: int) -> tuple[Spread, int]:
        """Time of `run` over time of `over`, block by block where both are good, and how many blocks those are."""
        kept = self.good[:, run] & self.good[:, over]
        return spread_of(self.times_ms[kept, run] / self.times_ms[kept, over]), int(kept.sum())


def others_cpu_seconds() -> float:
    """CPU seconds that other processes took so far on the cores that this process may use; only grows."""
    import psutil

    usable = set(usable_cores())
    total = 0.0
    for number, core in enumerate(psutil.cpu_times(percpu=True)):
        if number in usable:
            parts = ("user", "nice", "system", "irq", "softirq", "steal")
            total += sum(float(getattr(core, part, 0.0)) for part in parts)
    return total - time.process_time()


def time_in_turn(
    runs: Sequence[Callable[[], object]],
    *,
    blocks: int = 11,
    block_s: float = 0.02,
    budget_s: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
    others: Callable[[], float] | None = None,
    cores: int | None = None,
) -> BlockTimes:
    """Time `runs` in turn until `blocks` blocks were quiet, or three times as many were timed.

    Fewer, but not under FEWEST_BLOCKS, when `budget_s` is spent. In a block each run is called once untimed and
    then at least 3 times, and until `block_s` seconds passed. `others` gives the CPU seconds that other programs
    took so far on the `cores` cores that this process may use; both are asked of the system where left out.
    """
    others = others or others_cpu_seconds
    cores = cores or len(usable_cores())
    started = clock()
    times: list[list[float]] = []
    busy: list[float] = []
    while sum(share <= REJECT_BUSY for share in busy) < blocks and len(times) < 3 * blocks:
        now, taken = clock(), others()
        if len(times) >= FEWEST_BLOCKS and now - started > budget_s:
            break
        times.append([_median_ms(run, block_s, clock) for run in runs])
        passed = clock() - now
        busy.append(max(0.0, others() - taken) / (passed * cores) if passed > 0 else 0.0)
    return BlockTimes(np.asarray(times), np.asarray(busy))


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
