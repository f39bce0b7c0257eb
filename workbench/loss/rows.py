"""Rows and figures of a loss profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.loss.layers import PrunableLayer
from workbench.profile import LayerLoss, LossProfile, rated_level


def layer_row(
    layer: PrunableLayer,
    sensitivity: Mapping[float, float],
    compared: Mapping[str, Mapping[float, float]],
) -> LayerLoss:
    """The row of `layer`; an empty `sensitivity` is an unknown one."""
    product = layer.product
    return LayerLoss(
        layer_id=layer.name,
        weight_name=product.weight_name,
        operator_type=product.op_type,
        shape=product.shape,
        parameters=product.parameters,
        sensitivity=dict(sensitivity),
        other_patterns={name: dict(values) for name, values in compared.items() if values},
        skipped=layer.skipped,
        note=layer.note,
    )


def layer_sensitivity(row: LayerLoss, levels: Sequence[float]) -> float | None:
    """Value at the rated level less value at level 0; None where unknown."""
    at = row.sensitivity.get(rated_level(levels))
    return None if at is None else at - row.sensitivity.get(0.0, 0.0)


def average_sensitivity(profile: LossProfile) -> float | None:
    """Mean over the layers that count; None where there are none."""
    values = [layer_sensitivity(row, profile.levels) for row in profile.layers if not row.skipped]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def ranked(profile: LossProfile) -> tuple[LayerLoss, ...]:
    """The layers that count, the most sensitive first."""
    rated = [(layer_sensitivity(row, profile.levels), row) for row in profile.layers if not row.skipped]
    known = [(value, row) for value, row in rated if value is not None]
    return tuple(row for _, row in sorted(known, key=lambda pair: -pair[0]))


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than three pairs, or where one side is constant."""
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)
