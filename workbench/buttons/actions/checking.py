"""Check: every formula's value here beside the workbench's own."""

from __future__ import annotations

from workbench.buttons.actions.common import kept_rows
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session


@action("Check")
def check(session: Session, settings: dict[str, str]) -> Outcome:
    """Compare every formula's value here with the workbench's own, and list the cells that differ."""
    from workbench.recalc import open_workbook
    from workbench.recalc.verify import compared

    session.progress("Recalculating", 0.2)
    session.book.app.calculate()
    session.progress("Comparing", 0.5)
    copy = session.copy_as_calculated()
    with open_workbook(copy) as here, open_workbook(copy) as own:
        report = own.recalculate()
        found = compared(own, here, session.book.app.engine.name)
    kept = kept_rows(report)
    left = f"; {len(found.skipped)} could not be compared" if found.skipped else ""
    if found.agrees and not kept:
        return Outcome(f"Checked {found.compared} formulas: all values agree{left}")
    rows: list[tuple[object, ...]] = []
    if found.differences:
        rows.append(("cell", "here", "workbench", "formula"))
        rows += [(d.cell, _shown(d.other), _shown(d.value), d.formula) for d in found.differences]
    return Outcome(
        f"Checked {found.compared} formulas: {len(found.differences)} differ, "
        f"{max(len(kept) - 1, 0)} could not be evaluated{left}",
        rows + kept,
        exit_code=1 if found.differences else 3,
    )


def _shown(value: object) -> object:
    return value if isinstance(value, int | float | str) or value is None else str(value)
