"""Monte Carlo over uncertain perf ratios: how sure is the estimate, and which ratio is it most sensitive to?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.recalc import open_workbook
from workbench.whatif.outputs import WATCHED, chosen_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Influence:
    """How far one ratio moves the speed-up."""

    cell: str
    value: float
    """The ratio as the workbook has it."""
    correlation: float
    """Spearman's rank correlation of the ratio with the speed-up."""
    low: float
    """The speed-up with this ratio alone at its 5 % quantile."""
    high: float
    """The speed-up with this ratio alone at its 95 % quantile."""


@dataclass(frozen=True)
class Simulation:
    """Distributions of a profile's results over random ratio tables."""

    profile: str
    samples: int
    spread: float
    now: dict[str, float]
    """Result → its value as the workbook stands."""
    quantiles: dict[str, tuple[float, ...]]
    """Result → its `QUANTILES`."""
    influences: tuple[Influence, ...]
    """The ratios that matter, the most influential first (a tornado)."""


def simulate(
    book: str | Path,
    *,
    profile: str | None = None,
    spread: float = 0.2,
    samples: int = 10_000,
    seed: int = 0,
    common: bool = False,
) -> Simulation:
    """Draw ratio tables around the workbook's and let its formulas compute each.

    Every ratio is multiplied by a log-normal factor exp(spread z), z standard normal: of its own, or, with
    `common`, the same for all (an engine that is faster or slower everywhere). The median table is the
    workbook's. Raises `WorkbenchError` where the profile isn't there or has no ratios.
    """
    name, part = chosen_profile(book, profile)
    results = [f"{key}_{part}" for key in WATCHED[:2]]
    speedup = results[1]
    random = np.random.default_rng(seed)
    with open_workbook(book) as opened:
        opened.recalculate()
        ratios = _ratios(opened.values(f"ratios_{part}"), f"ratios_{part}")
        if not ratios:
            raise WorkbenchError("its ratio table holds no ratio", where=f"profile {name!r}")
        shape = (samples, 1 if common else len(ratios))
        factors = np.broadcast_to(np.exp(spread * random.standard_normal(shape)), (samples, len(ratios)))
        drawn = {cell: value * factors[:, n] for n, (cell, value) in enumerate(ratios.items())}
        found = opened.evaluate(drawn, results)
        now = {result: _number(opened.value(result)) for result in results}
        influences = () if common else _influences(opened, ratios, drawn, found[speedup], speedup, spread)
    quantiles = {r: tuple(float(q) for q in np.quantile(found[r].astype(float), QUANTILES)) for r in results}
    return Simulation(name, samples, spread, now, quantiles, influences)


def _ratios(rows: Sequence[Sequence[Any]], area: str) -> dict[str, float]:
    """Cell by labels → ratio, for the level columns and `others` of the filled rows."""
    found: dict[str, float] = {}
    for row in rows[1:]:
        for header, value in zip(rows[0][1:], row[1:], strict=True):
            label = f"{100 * header:.6g}%" if isinstance(header, float) else header
            if row[0] not in (None, "") and isinstance(value, float) and _is_ratio(header):
                found[f"{area}[{row[0]}][{label}]"] = value
    return found


def _is_ratio(header: object) -> bool:
    return isinstance(header, float) or header == "others"


def _influences(
    opened: Any,
    ratios: dict[str, float],
    drawn: dict[str, NDArray[np.float64]],
    results: NDArray[Any],
    speedup: str,
    spread: float,
) -> tuple[Influence, ...]:
    """Each ratio's own effect; those without any are left out."""
    count = len(ratios)
    step = np.exp(1.6448536269514722 * spread)  # the normal distribution's 95 % quantile
    tried: dict[str, NDArray[np.float64]] = {}
    for n, (cell, value) in enumerate(ratios.items()):
        column = np.full(2 * count, value)
        column[2 * n], column[2 * n + 1] = value / step, value * step
        tried[cell] = column
    ends = opened.evaluate(tried, [speedup])[speedup].astype(float)
    ranks = _ranks(results.astype(float))
    found = []
    for n, (cell, value) in enumerate(ratios.items()):
        low, high = float(ends[2 * n]), float(ends[2 * n + 1])
        if low != high:
            correlation = float(np.corrcoef(_ranks(drawn[cell]), ranks)[0, 1])
            found.append(Influence(cell, value, correlation, low, high))
    return tuple(sorted(found, key=lambda i: -abs(i.high - i.low)))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.argsort(np.argsort(values)).astype(float)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
