"""Default perf ratios and where they come from; measuring (`workbench calibrate`) replaces them.

Sources: the seed document's nine figures, and a fit to 52 layers of a ResNet-50 pruned in blocks of 4 and
timed with DeepSparse (published with the SPDY paper, IST-DASLab/spdy). Neither was measured here.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.profile import LEVELS, RatioRow, RatioTable, Source

SEED_RATIOS: dict[tuple[int, int], dict[float, float]] = {
    (256, 256): {0.9: 4.0, 0.8: 2.5, 0.7: 2.0},
    (256, 1024): {0.9: 4.5, 0.8: 3.0, 0.7: 2.5},
    (1024, 256): {0.9: 5.0, 0.8: 3.5, 0.7: 3.0},
}
"""N x K → level → ratio, as in the seed's table."""

_LITERATURE_FIT: tuple[tuple[float, float, float], ...] = (
    (64, 0.583, 0.274),
    (128, 0.361, 0.575),
    (256, 0.361, 0.596),
    (512, 0.142, 0.971),
    (1024, 0.088, 0.821),
    (float("inf"), 0.061, 0.882),
)
"""(K up to, a, b): sparse latency / dense latency = a + b x density."""


def literature_ratio(inputs: int, level: float) -> float:
    """Perf ratio of a shape with `inputs` input channels (K) at `level`, by the literature fit."""
    a, b = next((a, b) for limit, a, b in _LITERATURE_FIT if inputs <= limit)
    return 1.0 / (a + b * (1.0 - level))


def default_ratio_row(shape: tuple[int, ...], levels: tuple[float, ...] = LEVELS) -> RatioRow:
    """The default row of a weight shape N x K; ratios to two decimals."""
    seed = SEED_RATIOS.get((shape[0], shape[1])) if len(shape) == 2 else None
    if seed is not None and set(levels) <= set(seed):
        return RatioRow(shape, {level: seed[level] for level in levels}, 1.0, Source.SEED.value)
    ratios = {level: round(literature_ratio(shape[-1], level), 2) for level in levels}
    return RatioRow(shape, ratios, 1.0, Source.LITERATURE.value)


def default_ratio_table(shapes: Iterable[tuple[int, ...]], levels: tuple[float, ...] = LEVELS) -> RatioTable:
    """A row for each distinct shape, in ascending order (as the original program sorts them)."""
    return RatioTable(levels, tuple(default_ratio_row(shape, levels) for shape in sorted(set(shapes))))
