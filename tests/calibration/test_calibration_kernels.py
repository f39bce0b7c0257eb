"""The 4x1 kernel equals a dense product in NumPy, on Numba's threads and inside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")

from workbench.calibration.packing import pack, pruning_mask
from workbench.calibration.product import LAYOUTS, Layout, ScipyCsr, SparseProduct

Floats = np.typing.NDArray[np.float32]


def close(found: Floats, expected: np.typing.NDArray[np.float64], depth: int) -> None:
    """Sums of `depth` products in fp32, in any order, against fp64."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * (depth + 4))


def erf(x: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    from math import erf as of_one

    return np.vectorize(of_one, otypes=[np.float64])(x)


ACTIVATIONS = {
    "": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "gelu": lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))),
}


def dense(weight: Floats, x: Floats, layout: Layout) -> np.typing.NDArray[np.float64]:
    wide, inputs = weight.astype(np.float64), x.astype(np.float64)
    return inputs @ wide.T if layout == "row" else wide @ inputs


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, Floats, str, Layout, int]:
    rows, inputs = 4 * draw(st.integers(1, 24)), draw(st.integers(1, 70))
    tokens, threads = draw(st.integers(1, 140)), draw(st.integers(1, 3))
    layout = draw(st.sampled_from(LAYOUTS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weight = rng.standard_normal((rows, inputs), dtype=np.float32)
    weight[pruning_mask(weight, draw(st.floats(0, 1)))] = 0
    if draw(st.booleans()):
        first = 4 * draw(st.integers(0, rows // 4 - 1))
        weight[first : first + 4] = 0
    x = rng.standard_normal((tokens, inputs) if layout == "row" else (inputs, tokens), dtype=np.float32)
    bias = rng.standard_normal(rows, dtype=np.float32)
    return weight, x, bias, draw(st.sampled_from(sorted(ACTIVATIONS))), layout, threads


@pytest.mark.property
@settings(max_examples=150, deadline=None)
@given(problems())
def test_equals_dense_numpy_for_any_shape_level_tokens_and_post_op(
    problem: tuple[Floats, Floats, Floats, str, Layout, int],
) -> None:
    weight, x, bias, activation, layout, threads = problem
    product = SparseProduct(weight, bias=bias, activation=activation, layout=layout, threads=threads)
    biased = dense(weight, x, layout) + (bias if layout == "row" else bias[:, None])
    close(product(x), ACTIVATIONS[activation](biased), weight.shape[1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("level", [0.0, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize(("rows", "inputs"), [(256, 256), (256, 1024), (1024, 256)])
@pytest.mark.parametrize("tokens", [1, 7, 129])
def test_equals_dense_numpy_at_the_levels_of_the_table(
    rows: int, inputs: int, level: float, tokens: int, layout: Layout
) -> None:
    rng = np.random.default_rng(rows + inputs + tokens)
    weight = rng.standard_normal((rows, inputs), dtype=np.float32)
    weight[pruning_mask(weight, level)] = 0
    x = rng.standard_normal((tokens, inputs) if layout == "row" else (inputs, tokens), dtype=np.float32)
    close(SparseProduct(weight, layout=layout, threads=2)(x), dense(weight, x, layout), inputs)


@pytest.mark.byhand
def test_one_block_by_hand() -> None:
    weight = np.zeros((8, 3), np.float32)
    weight[4:8, 1] = [1, 2, 0, -1]
    bias = np.arange(8, dtype=np.float32)
    result = SparseProduct(weight, bias=bias)(np.array([[5, 10, 7]], np.float32))
    assert result.tolist() == [[0, 1, 2, 3, 14, 25, 6, -3]]


def test_an_all_zero_weight_gives_the_bias() -> None:
    bias = np.array([1, 2, 3, 4], np.float32)
    result = SparseProduct(np.zeros((4, 5), np.float32), bias=bias)(np.ones((3, 5), np.float32))
    assert result.tolist() == [[1, 2, 3, 4]] * 3


def test_activations_of_other_token_counts_run_on_the_same_product() -> None:
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((16, 9), dtype=np.float32)
    product = SparseProduct(weight, threads=2)
    for tokens in (3, 200, 1, 65):
        x = rng.standard_normal((tokens, 9), dtype=np.float32)
        close(product(x), dense(weight, x, "row"), 9)


def test_activations_that_do_not_fit_are_refused() -> None:
    product = SparseProduct(np.ones((4, 5), np.float32))
    with pytest.raises(ValueError, match=r"\(3, 6\).*\(4, 5\)"):
        product(np.ones((3, 6), np.float32))


def test_a_weight_without_4x1_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="no 4x1 blocks"):
        SparseProduct(np.ones((6, 5), np.float32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scipy_rows_agree_with_the_kernel(layout: Layout) -> None:
    pytest.importorskip("scipy")
    rng = np.random.default_rng(8)
    weight = rng.standard_normal((64, 48), dtype=np.float32)
    weight[pruning_mask(weight, 0.8)] = 0
    x = rng.standard_normal((33, 48) if layout == "row" else (48, 33), dtype=np.float32)
    ours = SparseProduct(weight, layout=layout)(x)
    np.testing.assert_allclose(ScipyCsr(weight, layout=layout)(x), ours, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tokens", [1, 37, 130])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inside_onnx_runtime_equals_matmul(tokens: int, threads: int, layout: Layout) -> None:
    from workbench.calibration.sessions import REPEATS, dense_session, sparse_session

    rng = np.random.default_rng(tokens)
    weight = rng.standard_normal((64, 50), dtype=np.float32)
    weight[pruning_mask(weight, 0.7)] = 0
    x = rng.standard_normal((tokens, 50), dtype=np.float32)
    with dense_session(weight, tokens, threads) as usual, sparse_session(pack(weight), tokens, threads, layout) as own:
        usual.feed({"x": x})
        own.feed({"x": x if layout == "row" else x.T})
        expected, found = usual.outputs(), own.outputs()
    assert len(found) == REPEATS
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other if layout == "row" else other.T, one, rtol=1e-4, atol=1e-4)
