"""The types everyone speaks: what a profile, an operator, a weight and a ratio table are.

Data only. Units stand in the names (`_ms`), shapes are tuples of ints, ratios are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

LEVELS: tuple[float, ...] = (0.9, 0.8, 0.7)
"""The pruning levels of the default ratio table, as shares of zeros."""

BLOCK_ROWS = 4
"""The 4x1 pattern: blocks of 4 consecutive output channels by 1 input channel."""


class Source(StrEnum):
    """Where a perf ratio comes from; each row of the ratio table names it."""

    SEED = "seed example"
    LITERATURE = "literature"
    MEASURED = "measured here"
    USER = "user"


class Provenance(StrEnum):
    """Where a latency comes from; measured and estimated values never look alike."""

    MEASURED = "measured"
    ESTIMATED = "estimated from FLOPs"
    IMPORTED = "imported"


@dataclass(frozen=True)
class Tensor:
    """A named tensor as it was at run time. `shape` is None where unknown, `()` for a scalar.

    `dtype` uses the sheet's short names: fp32, fp16, bf16, fp64, s8, u8, s16, u16, s32, u32, s64, u64,
    bool, string; `?` where unknown.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str


@dataclass(frozen=True)
class Weight:
    """The constant weight of a matrix product or convolution, as in the *original* model.

    `shape` is N x K (output channels by input channels) for a rank-2 product, the ONNX dims otherwise.
    `zero_ratio` is the share of zero elements (relative to the zero point for quantized weights);
    `zero_block_ratio` the share of all-zero 4x1 blocks, None where N is not divisible by 4 or rank is not 2.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    zero_ratio: float
    zero_block_ratio: float | None
    parameters: int
    seen_through: tuple[str, ...] = ()
    """Operator types between the initializer and the product (Transpose, DequantizeLinear, …)."""
    shared_by: int = 1
    """How many products of the graph use this weight."""

    @property
    def label(self) -> str:
        """The weight shape as the sheet writes it: `256x1024`."""
        return "x".join(map(str, self.shape))


@dataclass(frozen=True)
class OperatorRecord:
    """An operator: a node of the graph that ran, after the runtime's fusions. One row of Part 2."""

    index: int
    operator_type: str
    """The runtime's type of the node that ran (FusedMatMul, SkipLayerNormalization, …)."""
    name: str
    layer_id: str
    """ONNX node name in the original model of the node's main member; empty where it can't be matched."""
    post_ops: tuple[str, ...]
    """Types of the original nodes fused into this operator after its main one, in order."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    weight: Weight | None
    sparse_support: bool
    support_reason: str
    """Why sparse support is what it is, in a few words."""
    latency_ms: float
    """Median over iterations and sessions."""
    latency_spread: float
    """Relative half-width of the median's 95 % interval (0.05 means ±5 %); NaN where unknown."""
    latency_min_ms: float
    flops: float | None
    """Floating point (or integer) operations per run, 2 per multiply-add; None where unknown."""
    bytes_moved: float | None
    """Bytes read and written per run, each tensor once; None where unknown."""
    parameters: int
    provenance: Provenance = Provenance.MEASURED
    note: str = ""
    """What a reader must know of this row, e.g. `not found in the original model`."""


@dataclass(frozen=True)
class Machine:
    """The machine a profile was measured on."""

    cpu_model: str
    physical_cores: int
    logical_cores: int
    usable_cores: int
    """Cores that this process may use (scheduler affinity)."""
    instruction_sets: tuple[str, ...]
    memory_bytes: int
    operating_system: str
    python: str


@dataclass(frozen=True)
class ModelInfo:
    """The model a profile is of."""

    name: str
    """The file's name without its folder."""
    sha256: str
    opset: int
    producer: str
    parameters: int
    nodes: int


@dataclass(frozen=True)
class PerformanceProfile:
    """A model's operators with their latencies for one batch size, core count and machine.

    Three times that are not the same: `total_latency_ms` (op-sum), `end_to_end_ms` (a plain run, no
    profiling) and `profiled_ms` (a run with profiling on). Milliseconds per run of one batch.
    """

    name: str
    model: ModelInfo
    machine: Machine | None
    batch: int
    dims: Mapping[str, int]
    """The values given to symbolic dimensions."""
    assumed_dims: tuple[str, ...]
    """Those of `dims` that a default filled."""
    cores: int
    threads: int
    instances: int
    runtime: str
    """e.g. `onnxruntime 1.31.1, CPUExecutionProvider`."""
    operators: tuple[OperatorRecord, ...]
    end_to_end_ms: float | None
    end_to_end_spread: float
    profiled_ms: float | None
    warmup: int
    iterations: int
    sessions: int
    created: datetime
    provenance: Provenance = Provenance.MEASURED
    warnings: tuple[str, ...] = ()
    """What a reader must know: unstable medians, budget spent, operators that couldn't be matched, …"""
    instance: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further facts for the model summary, name → text."""

    @property
    def total_latency_ms(self) -> float:
        """The op-sum: what the sheet's `total latency(ms)` recomputes live."""
        return sum(operator.latency_ms for operator in self.operators)

    @property
    def items_per_second(self) -> float | None:
        """Measured throughput of all instances, items/s; None where nothing was run end to end."""
        if not self.end_to_end_ms:
            return None
        return 1000.0 * self.batch * self.instances / self.end_to_end_ms


@dataclass(frozen=True)
class RatioRow:
    """The perf ratios of one weight shape: level (0.9, …) → dense latency / sparse latency."""

    shape: tuple[int, ...]
    ratios: Mapping[float, float]
    others: float
    source: str
    """A `Source`, or a text that begins with one (`measured here: fp32, M=1024, 2 threads, 2026-11-21`)."""

    @property
    def label(self) -> str:
        """`256x1024`."""
        return "x".join(map(str, self.shape))


@dataclass(frozen=True)
class RatioTable:
    """Part 1: a row for each weight shape, sorted as they should stand in the sheet."""

    levels: tuple[float, ...]
    rows: tuple[RatioRow, ...]


@dataclass(frozen=True)
class LayerLoss:
    """One prunable layer's sensitivity to pruning: one row of a loss profile."""

    layer_id: str
    weight_name: str
    operator_type: str
    shape: tuple[int, ...]
    parameters: int
    sensitivity: Mapping[float, float]
    """Level → sensitivity, for the profile's pattern."""
    other_patterns: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """For comparison: what is compared (another pattern, the magnitude) → level → value."""
    skipped: str = ""
    """Why the layer is left out by default (first layer, grouped convolution, …); empty when it counts."""
    note: str = ""


@dataclass(frozen=True)
class LossProfile:
    """How pruning each layer is likely to affect the loss."""

    name: str
    model: ModelInfo
    method: str
    """`magnitude`, `measured` or `approximated`."""
    pattern: str
    """`4x1` or `unstructured`."""
    metric: str
    levels: tuple[float, ...]
    layers: tuple[LayerLoss, ...]
    created: datetime
    samples: int = 0
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    performance_profile: str = ""
    """The performance profile whose targets it follows in a workbook; empty: the book's first."""

    @property
    def rated_level(self) -> float:
        """The level that its layers are compared at."""
        return rated_level(self.levels)


RATED_LEVEL = 0.95
"""A layer's sensitivity is that at this level, the highest given to a layer, less that at level 0."""


def rated_level(levels: Sequence[float]) -> float:
    """The one of `levels` that layers are compared at: 95 %, else the highest below it, else the lowest above 0."""
    below = [level for level in levels if 0 < level <= RATED_LEVEL + 1e-9]
    return max(below) if below else min((level for level in levels if level > 0), default=0.0)
