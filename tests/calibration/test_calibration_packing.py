"""Choosing 4x1 blocks and packing them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.calibration.packing import blocks_to_prune, pack, pruning_mask, unpack

weights = st.tuples(st.integers(1, 6), st.integers(1, 9)).flatmap(
    lambda size: arrays(np.float32, (4 * size[0], size[1]), elements=st.sampled_from([0.0, -1.5, 2.0, 0.25]))
)


@pytest.mark.property
@given(weights)
def test_packing_and_unpacking_changes_nothing(weight: np.typing.NDArray[np.float32]) -> None:
    packed = pack(weight)
    np.testing.assert_array_equal(unpack(packed), weight)
    zero = (weight.reshape(-1, 4, weight.shape[1]) == 0).all(axis=1)
    assert packed.zero_block_ratio == pytest.approx(zero.mean())
    assert len(packed.columns) == (~zero).sum()


@pytest.mark.property
@given(weights, st.floats(0, 1))
def test_pruned_blocks_are_whole_the_smallest_and_as_many_as_asked(
    weight: np.typing.NDArray[np.float32], level: float
) -> None:
    mask = pruning_mask(weight, level)
    by_block = mask.reshape(-1, 4, weight.shape[1])
    assert (by_block.all(axis=1) == by_block.any(axis=1)).all()
    gone = by_block.all(axis=1)
    assert abs(gone.sum() - level * gone.size) <= 0.5 + 1e-9
    norms = np.linalg.norm(weight.reshape(-1, 4, weight.shape[1]), axis=1)
    if gone.any() and not gone.all():
        assert norms[gone].max() <= norms[~gone].min()


@pytest.mark.byhand
def test_packed_form_by_hand() -> None:
    weight = np.zeros((8, 3), np.float32)
    weight[0:4, 2] = [1, 0, 0, 2]
    weight[4:8, 0] = 3
    weight[4:8, 1] = [0, 4, 0, 0]
    packed = pack(weight)
    assert packed.values.tolist() == [[1, 0, 0, 2], [3, 3, 3, 3], [0, 4, 0, 0]]
    assert packed.columns.tolist() == [2, 0, 1]
    assert packed.starts.tolist() == [0, 1, 3]
    assert packed.zero_block_ratio == 0.5
    assert packed.flops(10) == 2 * 4 * 3 * 10


@pytest.mark.byhand
def test_block_norms_decide_by_hand() -> None:
    # Norms of the blocks: 2, 3, 4; the one large element in the third makes it the largest.
    weight = np.array([[1, 3, 4], [1, 0, 0], [1, 0, 0], [1, 0, 0]], np.float32)
    assert pruning_mask(weight, 1 / 3)[0].tolist() == [True, False, False]
    assert pruning_mask(weight, 2 / 3)[0].tolist() == [True, True, False]


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("blocks", "level", "count"), [(10, 0.9, 9), (16, 0.9, 14), (5, 0.5, 3), (7, 0.0, 0), (7, 1.0, 7), (0, 0.9, 0)]
)
def test_number_of_blocks_is_the_nearest(blocks: int, level: float, count: int) -> None:
    assert blocks_to_prune(blocks, level) == count


@pytest.mark.parametrize("shape", [(6, 4), (4,), (4, 4, 1)])
def test_a_weight_without_blocks_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="no 4x1 blocks"):
        pack(np.ones(shape, np.float32))
    with pytest.raises(ValueError, match="no 4x1 blocks"):
        pruning_mask(np.ones(shape, np.float32), 0.5)
