"""Timing in turn, on a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from workbench.calibration.timing import BlockTimes, time_in_turn


class Clock:
    """A clock that runs only when something is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: Iterator[float]) -> Callable[[], None]:
        def run() -> None:
            self.now += next(seconds)

        return run


def always(seconds: float) -> Iterator[float]:
    while True:
        yield seconds


@pytest.mark.byhand
def test_ratio_of_two_steady_runs() -> None:
    clock = Clock()
    times = time_in_turn([clock.taking(always(0.008)), clock.taking(always(0.002))], blocks=7, clock=clock)
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 7
    assert (ratio.low, ratio.median, ratio.high) == pytest.approx((4, 4, 4))
    assert times.time_ms(0).median == pytest.approx(8)
    assert times.time_ms(1).median == pytest.approx(2)


def test_first_run_of_a_block_is_not_counted() -> None:
    clock = Clock()
    cold = iter([1.0] + [0.001] * 100)
    times = time_in_turn([clock.taking(cold)], blocks=1, block_s=0.01, clock=clock)
    assert times.times_ms == pytest.approx(np.array([[1.0]]))


@pytest.mark.byhand
def test_disturbed_blocks_are_rejected() -> None:
    milliseconds = np.full((9, 2), [10.0, 5.0])
    milliseconds[2, 0] = 20.0
    milliseconds[5, 1] = 9.0
    times = BlockTimes(milliseconds)
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 7
    assert (ratio.median, ratio.relative) == (2.0, 0.0)


@pytest.mark.byhand
def test_spread_is_half_the_distance_of_the_quartiles() -> None:
    times = BlockTimes(np.array([[8.0, 1.0], [9.0, 1.0], [10.0, 1.0], [9.5, 1.0], [8.5, 1.0]]))
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 5
    assert (ratio.low, ratio.median, ratio.high) == (8.5, 9.0, 9.5)
    assert ratio.relative == pytest.approx(0.5 / 9)


def test_the_budget_ends_measuring_but_not_before_five_blocks() -> None:
    clock = Clock()
    times = time_in_turn([clock.taking(always(1.0))], blocks=50, budget_s=2.0, clock=clock)
    assert len(times.times_ms) == 5
