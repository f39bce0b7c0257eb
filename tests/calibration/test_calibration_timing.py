"""Timing in turn, on a clock that the test turns."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from workbench.calibration.timing import BlockTimes, others_cpu_seconds, time_in_turn


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


def nobody() -> float:
    return 0.0


def always(seconds: float) -> Iterator[float]:
    while True:
        yield seconds


@pytest.mark.byhand
def test_ratio_of_two_steady_runs() -> None:
    clock = Clock()
    times = time_in_turn(
        [clock.taking(always(0.008)), clock.taking(always(0.002))], blocks=7, clock=clock, others=nobody
    )
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 7
    assert (ratio.low, ratio.median, ratio.high) == pytest.approx((4, 4, 4))
    assert times.time_ms(0).median == pytest.approx(8)
    assert times.time_ms(1).median == pytest.approx(2)


def test_first_run_of_a_block_is_not_counted() -> None:
    clock = Clock()
    cold = iter([1.0] + [0.001] * 100)
    times = time_in_turn([clock.taking(cold)], blocks=1, block_s=0.01, clock=clock, others=nobody)
    assert times.times_ms == pytest.approx(np.array([[1.0]]))


@pytest.mark.byhand
def test_disturbed_blocks_are_rejected() -> None:
    milliseconds = np.full((9, 2), [10.0, 5.0])
    milliseconds[2, 0] = 20.0
    milliseconds[5, 1] = 9.0
    times = BlockTimes(milliseconds, np.zeros(9))
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 7
    assert (ratio.median, ratio.relative) == (2.0, 0.0)


@pytest.mark.byhand
def test_spread_is_half_the_distance_of_the_quartiles() -> None:
    times = BlockTimes(np.array([[8.0, 1.0], [9.0, 1.0], [10.0, 1.0], [9.5, 1.0], [8.5, 1.0]]), np.zeros(5))
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 5
    assert (ratio.low, ratio.median, ratio.high) == (8.5, 9.0, 9.5)
    assert ratio.relative == pytest.approx(0.5 / 9)


def test_the_budget_ends_measuring_but_not_before_five_blocks() -> None:
    clock = Clock()
    times = time_in_turn([clock.taking(always(1.0))], blocks=50, budget_s=2.0, clock=clock, others=nobody)
    assert len(times.times_ms) == 5


@pytest.mark.byhand
def test_blocks_that_others_took_part_of_are_rejected_and_made_again() -> None:
    clock = Clock()
    # Twice as slow for the first 4 blocks of 4 runs, while another program takes one of the 2 cores.
    run = clock.taking(iter([0.2] * 16 + [0.1] * 1000))

    def others() -> float:
        return min(clock.now, 16 * 0.2)

    times = time_in_turn([run], blocks=6, clock=clock, others=others, cores=2)
    assert len(times.times_ms) == 10
    assert times.busy == pytest.approx([0.5] * 4 + [0.0] * 6)
    assert times.time_ms(0).median == pytest.approx(100)


def test_a_machine_that_is_never_quiet_gives_no_figure() -> None:
    clock = Clock()
    runs = [clock.taking(always(0.1)), clock.taking(always(0.1))]
    times = time_in_turn(runs, blocks=6, clock=clock, others=clock, cores=1)
    assert len(times.times_ms) == 18
    ratio, blocks = times.ratio(0, 1)
    assert blocks == 0
    assert np.isnan(ratio.median)
    assert np.isnan(times.time_ms(0).median)


@pytest.mark.byhand
def test_own_work_is_not_the_work_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    Core = namedtuple("Core", "user nice system idle steal")
    cores = [Core(5.0, 1.0, 2.0, 90.0, 0.5), Core(3.0, 0.0, 1.0, 90.0, 0.0), Core(50.0, 0.0, 0.0, 0.0, 0.0)]
    monkeypatch.setattr("psutil.cpu_times", lambda percpu: cores)
    monkeypatch.setattr("workbench.calibration.timing.usable_cores", lambda: (0, 1))
    monkeypatch.setattr("time.process_time", lambda: 4.5)
    assert others_cpu_seconds() == pytest.approx(8.5 + 4.0 - 4.5)
