"""Builds the sample models: seeded weights, the graph structure that exports of real networks have.

    python build.py [NAME ...] [--to FOLDER]

The same bytes come out on every machine; SHA256SUMS beside this file says which. Weights are drawn from
normal distributions whose width depends on the layer, with a few outlier channels, as in trained networks;
the models compute what their architecture computes, but they are not trained.
"""

from __future__ import annotations

import argparse
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """Collects nodes and initializers; `op` adds a node and returns its first output's name."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.seed = seed
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.known: set[str] = set()
        self.scope = ""

    def op(self, kind: str, *inputs: str, name: str = "", outputs: int = 1, **attributes: object) -> str:
        """A node; its name is `scope/kind`, numbered where it repeats, as exporters do."""
        base = f"{self.scope}/{name or kind}"
        label, n = base, 0
        while label in self.known:
            n += 1
            label = f"{base}_{n}"
        self.known.add(label)
        results = [f"{label}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=label, **attributes))
        return results[0]

    def const(self, name: str, value: object, dtype: object = np.int64) -> str:
        """An initializer (shared when the name repeats)."""
        if name not in self.known:
            self.known.add(name)
            self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def normal(self, name: str, shape: tuple[int, ...], std: float, mean: float = 0.0) -> str:
        """A weight: normal, with about 2 % of the output channels three times as wide."""
        rng = np.random.Generator(np.random.PCG64([self.seed, zlib.crc32(name.encode())]))
        values: Array = (rng.standard_normal(shape) * std + mean).astype(np.float32)
        if len(shape) > 1:
            outliers = rng.choice(shape[-1], max(1, shape[-1] // 50), replace=False)
            values[..., outliers] *= 3
        return self.const(name, values, np.float32)

    def model(
        self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto], opset: int
    ) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        model.producer_name = "workbench sample models"
        model.producer_version = "1"
        onnx.checker.check_model(model)
        return model


def layer_norm(g: Graph, x: str, prefix: str, width: int) -> str:
    """LayerNorm in elementary operators, as exporters write it below opset 17."""
    mean = g.op("ReduceMean", x, axes=[-1], keepdims=1)
    centred = g.op("Sub", x, mean)
    square = g.op("Pow", centred, g.const("two", 2.0, np.float32))
    variance = g.op("ReduceMean", square, axes=[-1], keepdims=1)
    deviation = g.op("Sqrt", g.op("Add", variance, g.const("epsilon", 1e-12, np.float32)))
    scaled = g.op("Mul", g.op("Div", centred, deviation), g.normal(f"{prefix}.weight", (width,), 0.1, 1.0))
    return g.op("Add", scaled, g.normal(f"{prefix}.bias", (width,), 0.05))


Linear = Callable[[Graph, str, str, int, int, float], str]


def linear(g: Graph, x: str, prefix: str, inputs: int, outputs: int, std: float) -> str:
    """MatMul with a K x N weight, then Add, as a linear layer over rank-3 activations is exported."""
    product = g.op("MatMul", x, g.normal(f"{prefix}.weight", (inputs, outputs), std))
    return g.op("Add", g.normal(f"{prefix}.bias", (outputs,), 0.02), product)


def linear_qdq(g: Graph, x: str, prefix: str, inputs: int, outputs: int, std: float) -> str:
    """`linear` with int8 weights (one scale an output channel) and uint8 activations, in QDQ form."""
    g.normal(f"{prefix}.weight", (inputs, outputs), std)
    weight: Array = numpy_helper.to_array(g.initializers.pop())
    scale = (np.abs(weight).max(axis=0) / 127).astype(np.float32)
    g.const(f"{prefix}.weight_quantized", np.clip(np.rint(weight / scale), -127, 127), np.int8)
    g.const(f"{prefix}.weight_scale", scale, np.float32)
    g.const(f"{prefix}.weight_zero_point", np.zeros(outputs), np.int8)
    step = g.const(f"{prefix}.input_scale", 10 / 255, np.float32)
    zero = g.const("activation_zero_point", 128, np.uint8)
    quantized = g.op("QuantizeLinear", x, step, zero)
    activations = g.op("DequantizeLinear", quantized, step, zero)
    parts = [f"{prefix}.weight_quantized", f"{prefix}.weight_scale", f"{prefix}.weight_zero_point"]
    dequantized = g.op("DequantizeLinear", *parts, axis=1)
    return g.op("Add", g.normal(f"{prefix}.bias", (outputs,), 0.02), g.op("MatMul", activations, dequantized))


def gelu(g: Graph, x: str) -> str:
    erf = g.op("Erf", g.op("Div", x, g.const("sqrt_two", np.sqrt(2.0), np.float32)))
    product = g.op("Mul", x, g.op("Add", erf, g.const("one", 1.0, np.float32)))
    return g.op("Mul", product, g.const("half", 0.5, np.float32))


def dimension(g: Graph, x: str, axis: int) -> str:
    """A tensor's size along `axis` as a vector of one, the way traced exports compute it."""
    size = g.op("Gather", g.op("Shape", x), g.const(f"axis_{axis}", axis), axis=0)
    return g.op("Unsqueeze", size, g.const("axes_0", [0]))


def split_heads(g: Graph, x: str, heads: int, width: int, *, last: tuple[int, ...]) -> str:
    shape = g.op(
        "Concat", dimension(g, x, 0), dimension(g, x, 1),
        g.const(f"heads_{heads}", [heads]), g.const(f"width_{width}", [width]), axis=0,
    )  # fmt: skip
    return g.op("Transpose", g.op("Reshape", x, shape), perm=list(last))


def merge_heads(g: Graph, x: str, hidden: int) -> str:
    turned = g.op("Transpose", x, perm=[0, 2, 1, 3])
    shape = g.op(
        "Concat", dimension(g, turned, 0), dimension(g, turned, 1), g.const(f"hidden_{hidden}", [hidden]),
        axis=0,
    )  # fmt: skip
    return g.op("Reshape", turned, shape)


def bert(name: str, dense: Linear, *, vocabulary: int = 30522) -> onnx.ModelProto:
    """BERT-mini for classification: 4 layers, hidden 256, intermediate 1024, 4 heads."""
    layers, hidden, wide, heads, positions = 4, 256, 1024, 4, 512
    g = Graph(name, seed=256)
    g.scope = "/bert/embeddings"
    tables = "bert.embeddings"
    words = g.op("Gather", g.normal(f"{tables}.word_embeddings.weight", (vocabulary, hidden), 0.05), "input_ids")
    types = g.op("Gather", g.normal(f"{tables}.token_type_embeddings.weight", (2, hidden), 0.02), "token_type_ids")
    ids = g.const(f"{tables}.position_ids", np.arange(positions)[None])
    sliced = g.op(
        "Slice", ids, g.const("axes_0", [0]), dimension(g, "input_ids", 1), g.const("axes_1", [1]),
        g.const("axes_1", [1]),
    )  # fmt: skip
    places = g.op("Gather", g.normal(f"{tables}.position_embeddings.weight", (positions, hidden), 0.02), sliced)
    x = layer_norm(g, g.op("Add", g.op("Add", words, types), places), f"{tables}.LayerNorm", hidden)
    g.scope = "/bert"
    mask = g.op("Unsqueeze", g.op("Unsqueeze", "attention_mask", g.const("axes_1", [1])), g.const("axes_2", [2]))
    inverted = g.op("Sub", g.const("one", 1.0, np.float32), g.op("Cast", mask, to=FLOAT))
    mask = g.op("Mul", inverted, g.const("mask_value", -10000.0, np.float32))
    for i in range(layers):
        std = 0.04 + 0.004 * i
        here, path = f"bert.encoder.layer.{i}", f"/bert/encoder/layer.{i}"
        g.scope = f"{path}/attention/self"
        q, k, v = (
            dense(g, x, f"{here}.attention.self.{part}", hidden, hidden, std) for part in ("query", "key", "value")
        )
        query = split_heads(g, q, heads, hidden // heads, last=(0, 2, 1, 3))
        key = split_heads(g, k, heads, hidden // heads, last=(0, 2, 3, 1))
        value = split_heads(g, v, heads, hidden // heads, last=(0, 2, 1, 3))
        scores = g.op("Div", g.op("MatMul", query, key), g.const("sqrt_width", np.sqrt(hidden / heads), np.float32))
        weights = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
        context = merge_heads(g, g.op("MatMul", weights, value), hidden)
        g.scope = f"{path}/attention/output"
        projected = dense(g, context, f"{here}.attention.output.dense", hidden, hidden, std)
        x = layer_norm(g, g.op("Add", projected, x), f"{here}.attention.output.LayerNorm", hidden)
        g.scope = f"{path}/intermediate"
        inner = gelu(g, dense(g, x, f"{here}.intermediate.dense", hidden, wide, std))
        g.scope = f"{path}/output"
        outer = dense(g, inner, f"{here}.output.dense", wide, hidden, std * 0.8)
        x = layer_norm(g, g.op("Add", outer, x), f"{here}.output.LayerNorm", hidden)
    g.scope = "/bert/pooler"
    first = g.op("Gather", x, g.const("axis_0", 0), axis=1)
    pooled = g.op(
        "Tanh",
        g.op(
            "Gemm", first, g.normal("bert.pooler.dense.weight", (hidden, hidden), 0.05),
            g.normal("bert.pooler.dense.bias", (hidden,), 0.02), transB=1,
        ),
    )  # fmt: skip
    g.scope = "/classifier"
    g.nodes.append(
        helper.make_node(
            "Gemm",
            [
                pooled,
                g.normal("classifier.weight", (2, hidden), 0.05),
                g.normal("classifier.bias", (2,), 0.02),
            ],
            ["logits"],
            name="/classifier/Gemm",
            transB=1,
        )
    )
    shape = ["batch", "sequence"]
    inputs = [helper.make_tensor_value_info(n, INT64, shape) for n in ("input_ids", "attention_mask", "token_type_ids")]
    return g.model(inputs, [helper.make_tensor_value_info("logits", FLOAT, ["batch", 2])], 13)


def resnet_small() -> onnx.ModelProto:
    """A small ResNet: stem, three stages of one residual block each, global pool, classifier."""
    g = Graph("resnet_small", seed=50)

    def convolution(x: str, prefix: str, shape: tuple[int, int, int], stride: int, *, relu: bool) -> str:
        outputs, inputs, kernel = shape
        std = float(np.sqrt(2.0 / (inputs * kernel * kernel)))
        weight = g.normal(f"{prefix}.conv.weight", (outputs, inputs, kernel, kernel), std)
        pad = kernel // 2
        y = g.op(
            "Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, dilations=[1, 1],
            group=1,
        )  # fmt: skip
        parts = [g.normal(f"{prefix}.bn.{part}", (outputs,), 0.1, mean) for part, mean in (
            ("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0))]  # fmt: skip
        parts.append(g.const(f"{prefix}.bn.running_var", np.full(outputs, 0.9), np.float32))
        y = g.op("BatchNormalization", y, *parts, epsilon=1e-5)
        return g.op("Relu", y) if relu else y

    g.scope = "/stem"
    x = convolution("image", "stem", (32, 3, 3), 2, relu=True)
    channels = 32
    for stage, wide in enumerate((32, 64, 128), 1):
        stride = 1 if wide == channels else 2
        g.scope = f"/layer{stage}"
        y = convolution(x, f"layer{stage}.0", (wide, channels, 3), stride, relu=True)
        y = convolution(y, f"layer{stage}.1", (wide, wide, 3), 1, relu=False)
        if wide != channels:
            x = convolution(x, f"layer{stage}.downsample", (wide, channels, 1), stride, relu=False)
        x = g.op("Relu", g.op("Add", y, x))
        channels = wide
    g.scope = "/head"
    flat = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    weights = [g.normal("fc.weight", (10, channels), 0.05), g.normal("fc.bias", (10,), 0.02)]
    g.nodes.append(helper.make_node("Gemm", [flat, *weights], ["logits"], name="/head/Gemm", transB=1))
    return g.model(
        [helper.make_tensor_value_info("image", FLOAT, ["batch", 3, 64, 64])],
        [helper.make_tensor_value_info("logits", FLOAT, ["batch", 10])],
        13,
    )


def decoder_block() -> onnx.ModelProto:
    """One block of a decoder with past keys and values: RMSNorm, attention, gated feed-forward (SwiGLU)."""
    hidden, heads, width, wide = 192, 3, 64, 512
    g = Graph("decoder_block", seed=7)

    def rms_norm(x: str, name: str) -> str:
        square = g.op("Pow", x, g.const("two", 2.0, np.float32))
        mean = g.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = g.op("Sqrt", g.op("Add", mean, g.const("epsilon", 1e-6, np.float32)))
        return g.op("Mul", g.op("Div", x, root), g.normal(name, (hidden,), 0.1, 1.0))

    def project(x: str, name: str, inputs: int, outputs: int) -> str:
        return g.op("MatMul", x, g.normal(name, (inputs, outputs), 0.05))

    g.scope = "/self_attn"
    normed = rms_norm("hidden_states", "input_layernorm.weight")
    q, k, v = (project(normed, f"self_attn.{n}_proj.weight", hidden, hidden) for n in "qkv")
    query, key, value = (split_heads(g, t, heads, width, last=(0, 2, 1, 3)) for t in (q, k, v))
    for past, new, present in (("past_key", key, "present_key"), ("past_value", value, "present_value")):
        g.nodes.append(helper.make_node("Concat", [past, new], [present], name=f"/self_attn/{present}", axis=2))
    turned = g.op("Transpose", "present_key", perm=[0, 1, 3, 2])
    scores = g.op("Div", g.op("MatMul", query, turned), g.const("sqrt_width", np.sqrt(width), np.float32))
    total, new = dimension(g, "present_key", 2), dimension(g, query, 2)
    square = g.op("Concat", new, total, axis=0)
    past_length = g.op("Squeeze", g.op("Sub", total, new), g.const("axes_0", [0]))
    ones = g.op("Expand", g.const("one", 1.0, np.float32), square)
    first_hidden = g.op("Add", past_length, g.const("one_more", 1))
    future = g.op("Trilu", ones, first_hidden, upper=1)
    masked = g.op("Add", scores, g.op("Mul", future, g.const("mask_value", -10000.0, np.float32)))
    weights = g.op("Softmax", masked, axis=-1)
    context = merge_heads(g, g.op("MatMul", weights, "present_value"), hidden)
    x = g.op("Add", "hidden_states", project(context, "self_attn.o_proj.weight", hidden, hidden))
    g.scope = "/mlp"
    normed = rms_norm(x, "post_attention_layernorm.weight")
    gate = project(normed, "mlp.gate_proj.weight", hidden, wide)
    swish = g.op("Mul", gate, g.op("Sigmoid", gate))
    product = g.op("Mul", swish, project(normed, "mlp.up_proj.weight", hidden, wide))
    down = project(product, "mlp.down_proj.weight", wide, hidden)
    g.nodes.append(helper.make_node("Add", [x, down], ["output"], name="/mlp/residual/Add"))
    past = ["batch", heads, "past_sequence", width]
    present = ["batch", heads, "total_sequence", width]
    return g.model(
        [
            helper.make_tensor_value_info("hidden_states", FLOAT, ["batch", "sequence", hidden]),
            helper.make_tensor_value_info("past_key", FLOAT, past),
            helper.make_tensor_value_info("past_value", FLOAT, past),
        ],
        [
            helper.make_tensor_value_info("output", FLOAT, ["batch", "sequence", hidden]),
            helper.make_tensor_value_info("present_key", FLOAT, present),
            helper.make_tensor_value_info("present_value", FLOAT, present),
        ],
        14,
    )


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "bert_mini": lambda: bert("bert_mini", linear),
    "bert_mini_int8": lambda: bert("bert_mini_int8", linear_qdq),
    "resnet_small": resnet_small,
    "decoder_block": decoder_block,
}


def build(name: str) -> bytes:
    """The model's file, the same bytes every time."""
    return MODELS[name]().SerializeToString(deterministic=True)


def expected_sums() -> dict[str, str]:
    """Model name → SHA-256 of its file, from SHA256SUMS."""
    lines = (Path(__file__).parent / "SHA256SUMS").read_text().splitlines()
    return {file.removesuffix(".onnx"): digest for digest, file in (line.split("  ", 1) for line in lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent, help="folder to write to")
    arguments = parser.parse_args()
    for name in arguments.names or MODELS:
        data = build(name)
        (arguments.to / f"{name}.onnx").write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {name}.onnx")


if __name__ == "__main__":
    main()
