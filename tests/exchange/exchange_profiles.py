"""Small profiles made by hand, for the exchange's tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from workbench.profile import ModelInfo, OperatorRecord, PerformanceProfile, Tensor, Weight

TOKENS = 1024


def operator(index: int, kind: str, name: str, latency_ms: float) -> OperatorRecord:
    """An operator without a weight, `x<index>` → `y<index>`."""
    return OperatorRecord(
        index, kind, name, name, (), (Tensor(f"x{index}", (TOKENS, 256), "fp32"),),
        (Tensor(f"y{index}", (TOKENS, 256), "fp32"),), None, False, "no matrix product", latency_ms, math.nan,
        latency_ms, None, None, 0,
    )  # fmt: skip


def product(
    index: int, kind: str, name: str, shape: tuple[int, int], latency_ms: float, post_ops: tuple[str, ...] = ()
) -> OperatorRecord:
    """A matrix product with a dense weight `w<index>` of `shape`, N x K."""
    rows, columns = shape
    weight = Weight(f"w{index}", shape, "fp32", 0.0, 0.0, rows * columns)
    return OperatorRecord(
        index, kind, name, name, post_ops,
        (Tensor(f"x{index}", (TOKENS, columns), "fp32"), Tensor(f"w{index}", shape, "fp32")),
        (Tensor(f"y{index}", (TOKENS, rows), "fp32"),), weight, True, "matrix product, N divisible by 4", latency_ms,
        math.nan, latency_ms, 2.0 * TOKENS * rows * columns, None, weight.parameters,
    )  # fmt: skip


def profile_of(operators: Sequence[OperatorRecord], name: str = "baseline") -> PerformanceProfile:
    """A profile of `operators` and nothing else."""
    return PerformanceProfile(
        name, ModelInfo("m.onnx", "", 17, "hand", 0, len(operators)), None, 8, {}, (), 2, 2, 1, "by hand",
        tuple(operators), None, math.nan, None, 0, 0, 0, datetime(2026, 11, 21),
    )  # fmt: skip
