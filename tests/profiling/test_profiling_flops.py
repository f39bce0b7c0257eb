"""Operations by hand arithmetic."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from workbench.profiling.flops import Call, operator_bytes, operator_flops

Shape = tuple[int, ...]


def count(op_type: str, inputs: list[Shape | None], outputs: list[Shape], **attributes: object) -> float | None:
    names = [f"i{i}" if s is not None else "" for i, s in enumerate(inputs)]
    node: onnx.NodeProto = helper.make_node(op_type, names, ["o"], **attributes)
    return operator_flops(Call(node, tuple(inputs), tuple(outputs)))


@pytest.mark.byhand
@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "attributes", "expected"),
    [
        # 2 M N K: 128 rows, 256 deep, 1024 wide.
        ("MatMul", [(1, 128, 256), (256, 1024)], [(1, 128, 1024)], {}, 2 * 128 * 256 * 1024),
        # batched: 8 products of 16x4 by 4x16.
        ("MatMul", [(2, 4, 16, 4), (2, 4, 4, 16)], [(2, 4, 16, 16)], {}, 8 * 2 * 16 * 4 * 16),
        ("MatMul", [(7,), (7, 5)], [(5,)], {}, 2 * 7 * 5),
        ("FusedMatMul", [(4, 16), (4, 16)], [(16, 16)], {"transA": 1}, 2 * 16 * 4 * 16),
        # 3x10 outputs of depth 5, and 30 additions of the bias.
        ("Gemm", [(3, 5), (10, 5), (10,)], [(3, 10)], {"transB": 1}, 2 * 3 * 5 * 10 + 30),
        ("Gemm", [(5, 3), (5, 10)], [(3, 10)], {"transA": 1}, 2 * 3 * 5 * 10),
        # 8x8 positions, 16 channels, each over 3 inputs x 3x3 taps.
        ("Conv", [(1, 3, 8, 8), (16, 3, 3, 3)], [(1, 16, 8, 8)], {}, 2 * 64 * 16 * 27),
        # two groups: each output sees 2 of 4 inputs; bias adds one an output.
        ("Conv", [(1, 4, 8, 8), (6, 2, 3, 3), (6,)], [(1, 6, 6, 6)], {"group": 2}, 36 * 6 * (2 * 18 + 1)),
        # dilation moves the taps, it adds none.
        ("Conv", [(1, 3, 8, 8), (2, 3, 3, 3)], [(1, 2, 4, 4)], {"dilations": [2, 2]}, 2 * 16 * 2 * 27),
        # each of 4x5x5 inputs is spread over 6 outputs x 2x2.
        ("ConvTranspose", [(1, 4, 5, 5), (4, 6, 2, 2)], [(1, 6, 6, 6)], {}, 2 * 100 * 24),
        # projections 2·10·8·24; scores and values 2·2·10·10·8; softmax 5·100·2 heads.
        ("Attention", [(1, 10, 8), (8, 24), (24,)], [(1, 10, 8)], {"num_heads": 2}, 3840 + 3200 + 1000),
        # 4 gates of 5 units, 3 steps, batch 2, input 7: 2(7+5) + 5 each.
        ("LSTM", [(3, 2, 7), (1, 20, 7), (1, 20, 5)], [(3, 1, 2, 5)], {"hidden_size": 5}, 3 * 2 * 20 * 29),
        ("Add", [(2, 3), (2, 3)], [(2, 3)], {}, 6),
        ("Relu", [(4, 5)], [(4, 5)], {}, 20),
        ("ReduceMean", [(4, 5)], [(4, 1)], {}, 20),
        ("GlobalAveragePool", [(1, 8, 7, 7)], [(1, 8, 1, 1)], {}, 8 * 49),
        ("MaxPool", [(1, 8, 8, 8)], [(1, 8, 4, 4)], {"kernel_shape": [2, 2]}, 8 * 16 * 4),
        ("Einsum", [(2, 3), (3, 4)], [(2, 4)], {"equation": "ij,jk->ik"}, 2 * 2 * 3 * 4),
        ("Transpose", [(4, 5)], [(5, 4)], {}, 0),
        ("Gather", [(100, 8), (3,)], [(3, 8)], {}, 0),
    ],
)
def test_by_hand(op_type: str, inputs: list[Shape], outputs: list[Shape], attributes: dict, expected: float) -> None:
    assert count(op_type, list(inputs), outputs, **attributes) == expected


def test_what_is_unknown_is_none_and_not_zero() -> None:
    assert count("Frobnicate", [(2, 2)], [(2, 2)]) is None
    assert count("MatMul", [None, (4, 4)], [(2, 4)]) is None


@pytest.mark.byhand
def test_bytes_by_hand() -> None:
    assert operator_bytes("Add", [((2, 3), "fp32")], [((3,), "s8")]) == 6 * 4 + 3
    assert operator_bytes("Add", [((2, 3), "fp32")], [(None, "s8")]) is None


def test_a_lookup_reads_the_rows_it_picks_and_a_view_nothing() -> None:
    table, indices, out = ((30522, 256), "fp32"), ((1, 128), "s64"), ((1, 128, 256), "fp32")
    assert operator_bytes("Gather", [table, indices], [out]) == 2 * 128 * 256 * 4 + 128 * 8
    assert operator_bytes("Reshape", [((8, 8), "fp32"), ((1,), "s64")], [((64,), "fp32")]) == 0
