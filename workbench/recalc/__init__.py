"""Recalculation of any workbook: every formula evaluated, cached values patched, nothing else touched."""

from workbench.recalc.recompute import recompute
from workbench.recalc.report import ChangedCell, CheckResult, KeptCell, Report
from workbench.recalc.values import CellErrorValue
from workbench.recalc.workbook import Workbook, fill_cached_values, open_workbook

__all__ = [
    "CellErrorValue",
    "ChangedCell",
    "CheckResult",
    "KeptCell",
    "Report",
    "Workbook",
    "fill_cached_values",
    "open_workbook",
    "recompute",
]
