"""Weights are found behind what stands between them and their product, turned to N x K, and written back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from models import initializer, model
from numpy.typing import NDArray
from onnx import helper

from workbench.profiling.weights import Product, find_products, zero_ratios

HERE = Path()
K, N = 6, 8


def only(proto: onnx.ModelProto) -> Product:
    (found,) = find_products(proto)
    return found


def weight(shape: tuple[int, ...] = (K, N)) -> NDArray[np.float32]:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def applied(proto: onnx.ModelProto, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """What ONNX Runtime computes, unoptimized: its fusions may round activations to 8 bits."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])


def chained(kind: str) -> onnx.ModelProto:
    """A product whose weight stands behind one or more operators."""
    w = weight()
    matmul = helper.make_node("MatMul", ["x", "w"], ["y"], name="p")
    if kind == "plain":
        return model([matmul], {"x": [3, K]}, ["y"], [initializer("w", w)])
    if kind == "transposed":
        nodes = [helper.make_node("Transpose", ["wt"], ["w"], perm=[1, 0], name="t"), matmul]
        return model(nodes, {"x": [3, K]}, ["y"], [initializer("wt", w.T)])
    if kind == "reshaped":
        shape = initializer("s", [K, N], np.int64)
        nodes = [helper.make_node("Reshape", ["flat", "s"], ["w"], name="r"), matmul]
        return model(nodes, {"x": [3, K]}, ["y"], [initializer("flat", w.reshape(2, -1)), shape])
    if kind == "constant":
        value = helper.make_node("Constant", [], ["w"], value=initializer("v", w), name="c")
        return model([value, matmul], {"x": [3, K]}, ["y"])
    if kind == "half":
        nodes = [helper.make_node("Cast", ["h"], ["w"], to=onnx.TensorProto.FLOAT, name="c"), matmul]
        return model(nodes, {"x": [3, K]}, ["y"], [initializer("h", w, np.float16)])
    if kind == "gemm transB":
        gemm = helper.make_node("Gemm", ["x", "wt"], ["y"], transB=1, name="p")
        return model([gemm], {"x": [3, K]}, ["y"], [initializer("wt", w.T)])
    if kind == "weight first":
        nodes = [helper.make_node("MatMul", ["wt", "xt"], ["yt"], name="p")]
        nodes.insert(0, helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0], name="a"))
        nodes.append(helper.make_node("Transpose", ["yt"], ["y"], perm=[1, 0], name="b"))
        return model(nodes, {"x": [3, K]}, ["y"], [initializer("wt", w.T)])
    scale = np.abs(w).max(axis=0) / 100
    stored = [initializer("q", np.rint(w / scale) + 5, np.int8), initializer("scale", scale)]
    if kind == "dequantized":
        stored.append(initializer("zero", np.full(N, 5), np.int8))
        nodes = [helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], axis=1, name="d"), matmul]
        return model(nodes, {"x": [3, K]}, ["y"], stored)
    assert kind == "dequantized by hand"
    stored.append(initializer("five", 5.0))
    nodes = [
        helper.make_node("Cast", ["q"], ["f"], to=onnx.TensorProto.FLOAT, name="c"),
        helper.make_node("Sub", ["f", "five"], ["centred"], name="s"),
        helper.make_node("Mul", ["centred", "scale"], ["w"], name="m"),
        matmul,
    ]
    return model(nodes, {"x": [3, K]}, ["y"], stored)


KINDS = [
    "plain", "transposed", "reshaped", "constant", "half", "gemm transB", "weight first", "dequantized",
    "dequantized by hand",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_weight_read_gives_the_models_output(kind: str) -> None:
    # The runtime is the oracle: y = x Wᵀ with W as N x K.
    proto = chained(kind)
    found = only(proto)
    assert found.shape == (N, K)
    assert found.supported, found.reason
    x = np.random.default_rng(1).standard_normal((3, K)).astype(np.float32)
    np.testing.assert_allclose(x @ found.read(proto, HERE).T, applied(proto, x), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_written_back_are_zeros_in_the_models_output(kind: str) -> None:
    proto = chained(kind)
    found = only(proto)
    mask = np.zeros((N, K), bool)
    mask[2, :] = True
    mask[:, 4] = True
    pruned = onnx.ModelProto()
    pruned.CopyFrom(proto)
    found.zero_out(pruned, HERE, mask)
    assert found.zero_mask(pruned, HERE)[mask].all()
    expected = np.where(mask, 0, found.read(proto, HERE))
    np.testing.assert_array_equal(found.read(pruned, HERE), expected)
    x = np.random.default_rng(1).standard_normal((3, K)).astype(np.float32)
    np.testing.assert_allclose(applied(pruned, x), x @ expected.T, rtol=2e-3, atol=2e-3)
    assert not applied(pruned, x)[:, 2].any()


@pytest.mark.byhand
def test_zero_ratios_by_hand() -> None:
    # 8 x 3: the first block of 4 rows is zero in column 0 only; column 2 has zeros that fill no block.
    mask = np.zeros((8, 3), bool)
    mask[0:4, 0] = True
    mask[3:6, 2] = True
    assert zero_ratios(mask) == (7 / 24, 1 / 6)
    assert zero_ratios(mask[:6]) == (7 / 18, None)


@pytest.mark.property
@given(arrays(bool, st.tuples(st.integers(1, 6).map(lambda n: 4 * n), st.integers(1, 9))))
def test_block_share_never_exceeds_element_share(mask: NDArray[np.bool_]) -> None:
    elements, blocks = zero_ratios(mask)
    assert blocks is not None
    assert blocks <= elements + 1e-12
    assert elements == np.count_nonzero(mask) / mask.size


def test_products_of_activations_have_no_weight() -> None:
    node = helper.make_node("MatMul", ["x", "x"], ["y"], name="p")
    assert find_products(model([node], {"x": [4, 4]}, ["y"])) == ()


def test_shared_weights_are_counted() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="p"),
        helper.make_node("MatMul", ["a", "w"], ["y"], name="q"),
    ]
    found = find_products(model(nodes, {"x": [3, K]}, ["y"], [initializer("w", weight((K, K)))]))
    assert [p.shared_by for p in found] == [2, 2]


@pytest.mark.parametrize(("shape", "reason"), [((K, 6), "not divisible by 4"), ((2, K, N), "rank 3"), ((K,), "rank 1")])
def test_what_is_not_supported_says_why(shape: tuple[int, ...], reason: str) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="p")
    found = only(model([node], {"x": [2, 3, K]}, ["y"], [initializer("w", weight(shape))]))
    assert not found.supported
    assert reason in found.reason


def test_convolutions_carry_their_onnx_dims() -> None:
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=2, name="c")
    found = only(model([node], {"x": [1, 4, 5, 5]}, ["y"], [initializer("w", weight((6, 2, 3, 3)))]))
    assert found.shape == (6, 2, 3, 3)
    assert found.groups == 2
    assert not found.supported
    turned = helper.make_node("ConvTranspose", ["x", "w"], ["y"], name="c")
    proto = model([turned], {"x": [1, 4, 5, 5]}, ["y"], [initializer("w", weight((4, 6, 3, 3)))])
    assert only(proto).shape == (6, 4, 3, 3)
    assert only(proto).read(proto, HERE).shape == (6, 4 * 9)


def test_weights_inside_branches_are_found() -> None:
    branch = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["b"], name="inner")],
        "then",
        [],
        [onnx.ValueInfoProto(name="b")],
        [initializer("w", weight())],
    )
    other = helper.make_graph(
        [helper.make_node("MatMul", ["x", "outer"], ["c"], name="inner2")], "else", [], [onnx.ValueInfoProto(name="c")]
    )
    node = helper.make_node("If", ["cond"], ["y"], then_branch=branch, else_branch=other, name="if")
    stored = [initializer("cond", True, np.bool_), initializer("outer", weight())]
    found = find_products(model([node], {"x": [3, K]}, ["y"], stored))
    assert {p.weight_name for p in found} == {"w", "outer"}
