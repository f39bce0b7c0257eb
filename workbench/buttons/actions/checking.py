"""Check: every formula's value here beside the workbench's own."""

from __future__ import annotations

from workbench.buttons.actions.common import kept_rows
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session

_SAME = 1e-9
"""Two engines' results that differ relatively by less are the same: they add in another order."""


@action("Check")
def check(session: Session, settings: dict[str, str]) -> Outcome:
    """Compare every formula's value here with the workbench's own, and list the cells that differ."""
    from workbench.recalc import recompute

    session.progress("Recalculating", 0.2)
    session.book.app.calculate()
    session.progress("Comparing", 0.5)
    report = recompute(session.copy_as_calculated(), write=False)
    differing = [(c.cell, c.before, c.after) for c in report.changed if not _is_same(c.before, c.after)]
    kept = kept_rows(report)
    if not differing and not kept:
        return Outcome(f"Checked {report.formulas} formulas: all values agree")
    rows: list[tuple[object, ...]] = []
    if differing:
        rows += [("cell", "here", "workbench"), *((cell, _shown(a), _shown(b)) for cell, a, b in differing)]
    return Outcome(
        f"Checked {report.formulas} formulas: {len(differing)} differ, {max(len(kept) - 1, 0)} could not be evaluated",
        rows + kept,
        exit_code=1 if differing else 3,
    )


def _is_same(one: object, other: object) -> bool:
    if one is None or other is None:
        return (one or "") == (other or "")
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers:
        a, b = float(one), float(other)  # type: ignore[arg-type]
        return abs(a - b) <= _SAME * max(abs(a), abs(b), 1e-300)
    return str(one) == str(other)


def _shown(value: object) -> object:
    return value if isinstance(value, int | float | str) or value is None else str(value)
