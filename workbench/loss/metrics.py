"""How far the pruned model's outputs are from the dense model's, for one batch.

Every metric is 0 where nothing changed; larger is worse. Losses of batches are averaged, weighted by their
number of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError

Outputs = Mapping[str, NDArray[np.generic]]
Labels = NDArray[np.generic] | None
CustomMetric = Callable[[Outputs, Outputs, Labels], float]
"""Called with the dense model's outputs, the pruned model's, and the labels (None where the data has none)."""


class Metric(StrEnum):
    """The metrics that need no code of one's own."""

    KL = "kl"
    """Kullback-Leibler divergence of the pruned model's distribution from the dense one's, in nats."""
    MSE = "mse"
    """Mean squared difference."""
    CROSS_ENTROPY = "cross-entropy"
    """By how much the cross-entropy with the labels grows, in nats."""


@dataclass(frozen=True)
class Loss:
    """A metric made ready: `name` for the sheet, `of(dense, pruned, labels)` for a batch."""

    name: str
    of: CustomMetric
    needs_labels: bool = False


def loss_of(metric: Metric | str | CustomMetric) -> Loss:
    """The loss that `metric` names, or the caller's own function."""
    if callable(metric) and not isinstance(metric, str):
        return Loss(f"custom: {getattr(metric, '__name__', type(metric).__name__)}", metric)
    known: dict[str, Loss] = {
        Metric.KL: Loss("kl", kl_divergence),
        Metric.MSE: Loss("mse", mean_squared_error),
        Metric.CROSS_ENTROPY: Loss("cross-entropy", cross_entropy_growth, needs_labels=True),
    }
    if metric not in known:
        raise WorkbenchError(
            f"there is no metric {metric!r}", where="--metric", remedy=f"choose one of {', '.join(known)}, or custom"
        )
    return known[metric]


def kl_divergence(dense: Outputs, pruned: Outputs, labels: Labels = None) -> float:
    """Mean over all rows (last axis) of all outputs of sum p·ln(p / q), p dense and q pruned.

    An output whose rows are distributions already is taken as it is; any other goes through softmax. (SparseML
    shifts the raw values to be positive instead; the divergence of softmaxes is what a classifier's loss sees.)
    """
    total, rows = 0.0, 0
    for name, expected in dense.items():
        p_log, q_log = log_distributions(expected, pruned[name])
        p = np.exp(p_log)
        p_log -= q_log
        p *= p_log
        total += float(p.sum(dtype=np.float64))
        rows += p.size // p.shape[-1] if p.size else 0
    return max(total / rows, 0.0) if rows else 0.0


def mean_squared_error(dense: Outputs, pruned: Outputs, labels: Labels = None) -> float:
    """Mean over all elements of all outputs of (dense - pruned)²."""
    total, elements = 0.0, 0
    for name, expected in dense.items():
        difference = np.asarray(expected, np.float64) - np.asarray(pruned[name], np.float64)
        # No BLAS here: its threads would go on spinning beside the runtime's.
        np.square(difference, out=difference)
        total += float(difference.sum())
        elements += difference.size
    return total / elements if elements else 0.0


def cross_entropy_growth(dense: Outputs, pruned: Outputs, labels: Labels) -> float:
    """Mean cross-entropy of the first output with `labels` (class numbers), pruned minus dense.

    Negative labels are left out, as for padded tokens. A negative result means that pruning helped.
    """
    name = next(iter(dense))
    assert labels is not None
    p_log, q_log = log_distributions(dense[name], pruned[name])
    classes = np.asarray(labels, dtype=np.int64).reshape(-1)
    counted = classes >= 0
    picked = (np.flatnonzero(counted), classes[counted])
    size = p_log.shape[-1]
    if not counted.any():
        return 0.0
    return float((p_log.reshape(-1, size)[picked] - q_log.reshape(-1, size)[picked]).mean())


def log_distributions(
    dense: NDArray[np.generic], pruned: NDArray[np.generic]
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Natural logarithms of both outputs' rows as distributions; a scalar or vector counts as one row.

    In single precision unless the outputs are double, sums always in double: the error of a divergence is
    about 1e-8, below what the runtime's own rounding makes of a run.
    """
    kind = np.float64 if np.asarray(dense).dtype.itemsize == 8 else np.float32
    first, second = (np.atleast_2d(np.asarray(a, kind)) for a in (dense, pruned))
    if _are_distributions(first):
        floor = np.finfo(np.float32).tiny
        return np.log(np.maximum(first, floor)), np.log(np.maximum(second, floor))
    return _log_softmax(first), _log_softmax(second)


def _are_distributions(rows: NDArray[np.floating]) -> bool:
    if rows.shape[-1] < 2 or not rows.size or rows.min() < 0:
        return False
    return bool(np.allclose(rows.sum(axis=-1), 1.0, atol=1e-3))


def _log_softmax(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    shifted: NDArray[np.floating] = rows - rows.max(axis=-1, keepdims=True)
    totals: NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=-1, keepdims=True, dtype=np.float64))
    shifted -= totals.astype(shifted.dtype)
    return shifted
