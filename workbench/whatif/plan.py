"""The least-loss plan for a speed-up: which operators to prune, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.recalc import open_workbook, recompute
from workbench.whatif.knapsack import least_loss_choice
from workbench.whatif.outputs import chosen_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENSITIVITY = "sensitivity at aim"
_AIM = "aim to sparse latency (ms)"
_TARGET = "aim to weight sparse ratio"


@dataclass(frozen=True)
class PlannedOperator:
    """One operator of a plan."""

    operator: str
    cell: str
    """The cell of its target."""
    target: float
    """0 leaves it dense."""
    latency_ms: float
    aim_ms: float
    loss: float


@dataclass(frozen=True)
class Plan:
    """Targets for a profile's supported operators."""

    profile: str
    speedup: float
    """Of the op-sum, by the workbook's formulas with these targets."""
    wanted: float
    loss: float
    loss_is: str
    """What loss means here."""
    exact: bool
    """Whether no plan with less loss exists."""
    operators: tuple[PlannedOperator, ...]


def plan(
    book: str | Path,
    speedup: float,
    *,
    profile: str | None = None,
    levels: Sequence[float] | None = None,
    apply: bool = False,
) -> Plan:
    """Targets that reach `speedup` (total latency / total aim to sparse latency) with the least loss.

    Times and losses of each operator at each level come from the workbook: its one-target cell is set to each
    level in turn. Loss is the sum of the operators sheet's `sensitivity at aim` where a loss profile fills it,
    else the number of weights pruned away. Operators that share a weight share a target. `levels` default to
    the ratio table's. With `apply` the targets are written into the workbook, and it is recalculated.
    Raises `WorkbenchError` where no targets reach the speed-up.
    """
    name, part = chosen_profile(book, profile)
    with open_workbook(book) as opened:
        opened.recalculate()
        rows = opened.values(f"ratios_{part}")
        chosen = sorted(levels or {h for h in rows[0] if isinstance(h, float)})
        if not chosen or not all(0 < level < 1 for level in chosen):
            raise WorkbenchError(
                "levels are shares of zeros between 0 and 1", where="plan", remedy="write e.g. 0.7,0.9"
            )
        table = _Table(opened, part, chosen)
        opened.locate(f"default_target_{part}")
        result = _solve(table, name, speedup)
    if apply:
        edits: dict[str, Any] = {op.cell: op.target or None for op in result.operators}
        edits[f"default_target_{part}"] = None
        recompute(book, edits=edits)
    return result


class _Table:
    """The operators as the workbook has them, with their times and losses at each level."""

    def __init__(self, opened: Any, part: str, levels: Sequence[float]) -> None:
        def column(header: str) -> list[Any]:
            return [row[0] for row in opened.values(f"ops_{part}[{header}]")]

        self.levels = (0.0, *levels)
        self.names = column("operator name")
        self.supported = [value is True for value in column("sparse support")]
        self.weights = column("weight name")
        self.parameters = [float(v or 0) for v in column("parameters")]
        self.latency = np.array(column("operator latency (ms)"), dtype=float)
        self.total = float(self.latency.sum())
        headers = opened.values(f"ops_{part}[#Headers]")[0]
        outputs = [f"ops_{part}[{h}]" for h in (_AIM, _SENSITIVITY) if h in headers]
        found = opened.evaluate({f"default_target_{part}": np.array(levels)}, outputs)
        self.times: NDArray[np.float64] = found[outputs[0]].astype(float)[:, :, 0].T
        self.losses, self.loss_is = self._losses(found[outputs[1]] if len(outputs) > 1 else None)
        first = opened.locate(f"ops_{part}[{_TARGET}]").partition(":")[0]
        sheet, _, cell = first.rpartition("!")
        letters = cell.rstrip("0123456789")
        self.cells = [f"{sheet}!{letters}{int(cell[len(letters) :]) + n}" for n in range(len(self.names))]

    def _losses(self, sensitivity: NDArray[Any] | None) -> tuple[NDArray[np.float64], str]:
        if sensitivity is not None:
            rows = sensitivity[:, :, 0].T
            known = [n for n, ok in enumerate(self.supported) if ok]
            if known and all(isinstance(v, int | float) for n in known for v in rows[n]):
                numbers = [[float(v) if isinstance(v, int | float) else 0.0 for v in row] for row in rows]
                return np.array(numbers), "sensitivity of the loss profile"
        pruned = np.outer(self.parameters, self.levels[1:])
        return pruned, "weights pruned away (the book has no sensitivities for all supported operators)"

    def groups(self) -> list[list[int]]:
        """Supported operators by weight; those that share one are pruned together."""
        found: dict[object, list[int]] = {}
        for n, supported in enumerate(self.supported):
            if supported:
                found.setdefault(self.weights[n] or n, []).append(n)
        return list(found.values())


def _solve(table: _Table, profile: str, speedup: float) -> Plan:
    groups = table.groups()
    fixed = table.total - sum(float(table.latency[group].sum()) for group in groups)
    times = [np.concatenate([[table.latency[g].sum()], table.times[g].sum(axis=0)]) for g in groups]
    losses = [np.concatenate([[0.0], table.losses[g].max(axis=0)]) for g in groups]
    budget = table.total / speedup - fixed
    choice = least_loss_choice(times, losses, budget) if groups else None
    if choice is None:
        best = table.total / (fixed + sum(float(t.min()) for t in times))
        raise WorkbenchError(
            f"no targets reach a speed-up of {speedup:g}; the best is {best:.3f}",
            where=f"profile {profile!r}",
            remedy="ask for less, or add a higher level to the ratio table",
        )
    planned = []
    for group, option in zip(groups, choice.indices, strict=True):
        for n in group:
            aim = float(table.latency[n] if option == 0 else table.times[n][option - 1])
            loss = 0.0 if option == 0 else float(table.losses[n][option - 1])
            planned.append(
                PlannedOperator(
                    str(table.names[n]), table.cells[n], table.levels[option], float(table.latency[n]), aim, loss
                )
            )
    reached = table.total / (fixed + choice.time)
    return Plan(profile, reached, speedup, choice.loss, table.loss_is, choice.exact, tuple(planned))
