"""Spreads contain the true median as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.profiling.statistics import between_spread, spread_over_sessions, within_spread


@pytest.mark.property
def test_the_within_session_interval_covers_the_median() -> None:
    rng = np.random.default_rng(0)
    samples = rng.lognormal(0, 0.3, (81, 400))  # true median 1
    half = within_spread(samples) * np.median(samples, axis=0)
    covered = np.abs(np.median(samples, axis=0) - 1) <= half
    assert covered.mean() >= 0.93


@pytest.mark.property
def test_the_between_session_interval_covers_when_sessions_differ() -> None:
    rng = np.random.default_rng(1)
    level = 1 + 0.1 * rng.standard_normal((5, 1, 400))
    sessions = [s * (1 + 0.02 * rng.standard_normal((50, 400))) for s in level]
    spread = spread_over_sessions(sessions)
    found = np.median([np.median(s, axis=0) for s in sessions], axis=0)
    assert (np.abs(found - 1) <= spread * found).mean() >= 0.93


def test_one_session_has_no_between_spread_but_a_spread() -> None:
    sample = np.array([[1.0], [2.0], [3.0]])
    assert np.isnan(between_spread(np.array([[2.0]]))).all()
    assert spread_over_sessions([sample])[0] == pytest.approx(0.5)


def test_equal_times_have_no_spread() -> None:
    assert spread_over_sessions([np.ones((10, 2)), np.ones((10, 2))]).tolist() == [0, 0]
