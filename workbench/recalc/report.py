"""What a recalculation did: cells that changed, cells that keep an old value, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.recalc.values import Scalar


@dataclass(frozen=True)
class ChangedCell:
    """A cell whose value differs from the one the file held."""

    cell: str
    before: Scalar
    after: Scalar


@dataclass(frozen=True)
class KeptCell:
    """A cell that keeps an old value, and why."""

    cell: str
    reason: str


@dataclass(frozen=True)
class CheckResult:
    """A condition that was asked for, the value found, and whether it holds."""

    check: str
    value: Scalar
    holds: bool


@dataclass(frozen=True)
class Report:
    """The outcome of a recalculation."""

    formulas: int
    """How many formula cells the workbook has."""
    changed: tuple[ChangedCell, ...] = ()
    changed_count: int = 0
    """How many cells changed; `changed` may hold only the first of them."""
    unevaluated: tuple[KeptCell, ...] = ()
    """Formula cells that the engine could not evaluate."""
    stale: tuple[KeptCell, ...] = ()
    """Formula cells whose inputs include an unevaluated one."""
    checks: tuple[CheckResult, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        """Whether every formula cell holds its true value."""
        return not self.unevaluated and not self.stale

    @property
    def checks_hold(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)
