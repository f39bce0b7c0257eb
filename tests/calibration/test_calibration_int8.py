"""The int8 4x1 kernel equals integer products in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")

from workbench.calibration.packing import pack_int8, pruning_mask
from workbench.calibration.product import Int8Linear, SparseInt8Product, int8_unavailable

needs_vnni = pytest.mark.skipif(bool(int8_unavailable()), reason="the CPU has no AVX-512 VNNI")
Bytes = np.typing.NDArray[np.int8]


def random_weight(rng: np.random.Generator, rows: int, inputs: int, level: float) -> Bytes:
    weight = rng.integers(-128, 128, (rows, inputs), np.int8)
    weight[pruning_mask(weight.astype(np.float32), level)] = 0
    return weight


@st.composite
def problems(draw: st.DrawFn) -> tuple[Int8Linear, np.typing.NDArray[np.uint8]]:
    rows, inputs, tokens = 4 * draw(st.integers(1, 20)), draw(st.integers(1, 70)), draw(st.integers(1, 140))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weight = random_weight(rng, rows, inputs, draw(st.floats(0, 1)))
    linear = Int8Linear(
        weight,
        rng.uniform(0.001, 0.1, rows).astype(np.float32),
        draw(st.integers(0, 255)),
        rng.standard_normal(rows, dtype=np.float32) if draw(st.booleans()) else None,
        draw(st.sampled_from(["", "relu"])),
    )
    return linear, rng.integers(0, 256, (tokens, inputs), np.uint8)


@needs_vnni
@pytest.mark.property
@settings(max_examples=100, deadline=None)
@given(problems())
def test_equals_integer_numpy_for_any_shape_and_level(
    problem: tuple[Int8Linear, np.typing.NDArray[np.uint8]],
) -> None:
    linear, x = problem
    exact = (x.astype(np.int64) - linear.zero) @ linear.weight.T.astype(np.int64) * linear.scale.astype(np.float64)
    exact += 0 if linear.bias is None else linear.bias
    expected = np.maximum(exact, 0) if linear.activation else exact
    np.testing.assert_allclose(SparseInt8Product(linear)(x), expected, rtol=1e-4, atol=0.5)


@pytest.mark.byhand
def test_groups_of_four_blocks_by_hand() -> None:
    weight = np.zeros((4, 6), np.int8)
    for number, column in enumerate([0, 1, 2, 4, 5], 1):
        weight[:, column] = [number, 10 * number, 0, -number]
    packed = pack_int8(weight)
    assert packed.starts.tolist() == [0, 2]
    assert packed.columns.tolist() == [[0, 1, 2, 4], [5, 0, 0, 0]]
    assert packed.values[0].tolist() == [[1, 2, 3, 4], [10, 20, 30, 40], [0, 0, 0, 0], [-1, -2, -3, -4]]
    assert packed.values[1].tolist() == [[5, 0, 0, 0], [50, 0, 0, 0], [0, 0, 0, 0], [-5, 0, 0, 0]]
    assert packed.blocks == 5
    assert packed.flops(10) == 2 * 4 * 5 * 10


@pytest.mark.property
@given(st.integers(1, 6), st.integers(1, 20), st.floats(0, 1), st.integers(0, 2**32))
def test_groups_hold_the_weight(rows: int, inputs: int, level: float, seed: int) -> None:
    weight = random_weight(np.random.default_rng(seed), 4 * rows, inputs, level)
    packed = pack_int8(weight)
    found = np.zeros_like(weight)
    for row in range(rows):
        for group in range(packed.starts[row], packed.starts[row + 1]):
            for place, column in enumerate(packed.columns[group]):
                found[4 * row : 4 * row + 4, column] += packed.values[group, :, place]
    np.testing.assert_array_equal(found, weight)


@needs_vnni
@pytest.mark.byhand
def test_scale_and_zero_point_by_hand() -> None:
    weight = np.array([[2, 0], [0, -1], [1, 1], [0, 0]], np.int8)
    linear = Int8Linear(weight, np.full(4, 0.5, np.float32), 10, np.array([0, 0, 1, 7], np.float32))
    # (x - 10) = [2, -4]; sums 4, 4, -2, 0; halved, plus bias.
    assert SparseInt8Product(linear)(np.array([[12, 6]], np.uint8)).tolist() == [[2, 2, 0, 7]]


@needs_vnni
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tokens", [1, 37, 130])
def test_inside_onnx_runtime_equals_its_integer_product(tokens: int, threads: int) -> None:
    from workbench.calibration.sessions import dense_int8_session, sparse_int8_session

    rng = np.random.default_rng(tokens)
    weight = random_weight(rng, 64, 50, 0.7)
    linear = Int8Linear(weight, rng.uniform(0.001, 0.01, 64).astype(np.float32), 77)
    x = rng.integers(0, 256, (tokens, 50), np.uint8)
    with dense_int8_session(linear, tokens, threads) as usual, sparse_int8_session(linear, tokens, threads) as own:
        usual.feed({"x": x})
        own.feed({"x": x})
        for expected, found in zip(usual.outputs(), own.outputs(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
