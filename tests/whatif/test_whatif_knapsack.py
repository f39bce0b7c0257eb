"""The least-loss choice is the best there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.whatif import knapsack
from workbench.whatif.knapsack import least_loss_choice

amounts = st.integers(0, 40).map(float)
layers = st.lists(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.mark.property
@given(layers, st.integers(0, 120))
def test_equals_brute_force(options: list[list[tuple[float, float]]], budget: int) -> None:
    times = [np.array([t for t, _ in layer]) for layer in options]
    losses = [np.array([loss for _, loss in layer]) for layer in options]
    every = [
        (sum(loss for _, loss in pick), sum(t for t, _ in pick))
        for pick in itertools.product(*options)
        if sum(t for t, _ in pick) <= budget
    ]
    found = least_loss_choice(times, losses, float(budget))
    if not every:
        assert found is None
        return
    assert found is not None
    assert found.exact
    assert found.loss == min(every)[0]
    assert found.time <= budget
    assert found.loss == sum(losses[i][j] for i, j in enumerate(found.indices))
    assert found.time == sum(times[i][j] for i, j in enumerate(found.indices))


@pytest.mark.byhand
def test_two_layers_by_hand() -> None:
    # Dense 10 + 6 ms; pruned 4 + 2 ms at losses 5 and 1. For 12 ms it is enough to prune the second.
    times = [np.array([10.0, 4.0]), np.array([6.0, 2.0])]
    losses = [np.array([0.0, 5.0]), np.array([0.0, 1.0])]
    found = least_loss_choice(times, losses, 12.0)
    assert found is not None
    assert (found.indices, found.time, found.loss) == ((0, 1), 12.0, 1.0)
    assert least_loss_choice(times, losses, 5.9) is None


def test_a_thinned_front_says_so_and_still_fits_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "FRONT_LIMIT", 50)
    rng = np.random.default_rng(1)
    times = [np.sort(rng.random(6))[::-1] for _ in range(30)]
    losses = [np.sort(rng.random(6)) for _ in range(30)]
    budget = 0.6 * sum(t[0] for t in times)
    thinned = least_loss_choice(times, losses, budget)
    monkeypatch.setattr(knapsack, "FRONT_LIMIT", 10**6)
    best = least_loss_choice(times, losses, budget)
    assert thinned is not None
    assert best is not None
    assert not thinned.exact
    assert thinned.time <= budget
    assert best.loss <= thinned.loss <= best.loss * 1.1
