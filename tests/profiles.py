"""Performance profiles made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from workbench.profile import Machine, ModelInfo, OperatorRecord, PerformanceProfile, Tensor, Weight

MACHINE = Machine(
    cpu_model="Test CPU",
    physical_cores=4,
    logical_cores=8,
    usable_cores=4,
    instruction_sets=("avx2", "avx512f"),
    memory_bytes=8 * 2**30,
    operating_system="Linux",
    python="3.11",
)


def operator(
    index: int,
    shape: tuple[int, int] | None,
    latency_ms: float,
    *,
    kind: str = "MatMul",
    name: str = "",
    supported: bool | None = None,
) -> OperatorRecord:
    """A product with an N x K weight, or something without a weight."""
    weight = None
    if shape is not None:
        weight = Weight(f"weight_{index}", shape, "fp32", 0.0, 0.0, shape[0] * shape[1])
    supports = weight is not None if supported is None else supported
    return OperatorRecord(
        index=index,
        operator_type=kind,
        name=name or f"op_{index}",
        layer_id=name or f"layer_{index}",
        post_ops=(),
        inputs=(Tensor(f"in_{index}", (1, 128, 256), "fp32"),),
        outputs=(Tensor(f"out_{index}", (1, 128, 256), "fp32"),),
        weight=weight,
        sparse_support=supports,
        support_reason="matrix product with a constant weight" if supports else "no matrix product",
        latency_ms=latency_ms,
        latency_spread=0.01,
        latency_min_ms=latency_ms * 0.95,
        flops=1e6,
        bytes_moved=1e5,
        parameters=weight.parameters if weight else 0,
    )


def profile(operators: Sequence[OperatorRecord], *, name: str = "baseline", batch: int = 1) -> PerformanceProfile:
    """A measured profile of these operators whose end-to-end time is 1.1 times the op-sum."""
    total = sum(op.latency_ms for op in operators)
    return PerformanceProfile(
        name=name,
        model=ModelInfo(name="test.onnx", sha256="0" * 64, opset=13, producer="test", parameters=1000, nodes=5),
        machine=MACHINE,
        operators=tuple(replace(op, index=n) for n, op in enumerate(operators)),
        batch=batch,
        dims={"batch": batch},
        assumed_dims=(),
        cores=2,
        threads=2,
        instances=1,
        runtime="onnxruntime",
        end_to_end_ms=1.1 * total,
        end_to_end_spread=0.01,
        profiled_ms=1.2 * total,
        warmup=1,
        iterations=10,
        sessions=1,
        created=datetime(2026, 1, 2, 3, 4),
    )
