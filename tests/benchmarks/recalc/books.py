"""Workbooks of any size for benchmarks and tests, written by the project's own writer from made-up profiles."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np

from workbench.book.write import write_book
from workbench.profile import (
    ModelInfo,
    OperatorRecord,
    PerformanceProfile,
    Tensor,
    Weight,
)

SHAPES = ((256, 256), (256, 1024), (1024, 256), (768, 768), (768, 3072), (3072, 768), (512, 512), (2048, 512))
"""Weight shapes of the made-up operators."""

TARGETS = (None, 0.7, 0.8, 0.9)


def made_up_profile(operators: int, *, seed: int = 0, name: str = "baseline") -> PerformanceProfile:
    """A profile of so many operators: six in ten are products with a weight, the rest elementwise."""
    rng = np.random.default_rng(seed)
    latencies = rng.lognormal(-3.0, 1.0, operators)
    records = tuple(_operator(i, float(latencies[i]), bool(i % 10 < 6)) for i in range(operators))
    total = float(latencies.sum())
    return PerformanceProfile(
        name=name,
        model=ModelInfo("made_up.onnx", "0" * 64, 17, "benchmark", 1_000_000, operators),
        machine=None,
        batch=1,
        dims={},
        assumed_dims=(),
        cores=2,
        threads=2,
        instances=1,
        runtime="made up",
        operators=records,
        end_to_end_ms=total * 1.05,
        end_to_end_spread=0.01,
        profiled_ms=total * 1.1,
        warmup=1,
        iterations=10,
        sessions=1,
        created=datetime.datetime(2026, 1, 1),
    )


def _operator(index: int, latency: float, product: bool) -> OperatorRecord:
    shape = SHAPES[index % len(SHAPES)]
    rows = 128
    weight = Weight(f"layer.{index}.weight", shape, "fp32", 0.0, 0.0, shape[0] * shape[1]) if product else None
    return OperatorRecord(
        index=index,
        operator_type="MatMul" if product else ("Add", "Softmax", "LayerNormalization", "Gelu")[index % 4],
        name=f"/encoder/layer.{index}/op",
        layer_id=f"/encoder/layer.{index}/op",
        post_ops=("Add",) if product and index % 3 == 0 else (),
        inputs=(Tensor(f"t{index}", (1, rows, shape[1]), "fp32"),),
        outputs=(Tensor(f"t{index + 1}", (1, rows, shape[0]), "fp32"),),
        weight=weight,
        sparse_support=product,
        support_reason="constant weight" if product else "no weight",
        latency_ms=latency,
        latency_spread=0.02,
        latency_min_ms=latency * 0.97,
        flops=2.0 * rows * shape[0] * shape[1] if product else None,
        bytes_moved=4.0 * rows * (shape[0] + shape[1]),
        parameters=shape[0] * shape[1] if product else 0,
    )


def made_up_book(path: Path, operators: int, *, seed: int = 0, name: str = "baseline") -> None:
    """Write the workbook of a made-up profile, with targets set for every product."""
    profile = made_up_profile(operators, seed=seed, name=name)
    targets = [TARGETS[i % len(TARGETS)] if r.sparse_support else None for i, r in enumerate(profile.operators)]
    write_book([profile], path, targets={name: targets})
