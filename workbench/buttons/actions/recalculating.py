"""Recalculate."""

from __future__ import annotations

from workbench.buttons.actions.common import kept_rows, speed
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session


@action("Recalculate")
def recalculate(session: Session, settings: dict[str, str]) -> Outcome:
    """Recalculate every formula here, and with the workbench's engine; list formulas that it can't evaluate."""
    from workbench.recalc import recompute

    if session.edits:
        session.progress("Setting cells", 0.2)
        report = session.write(session.edits)
        session.book.app.calculate()
    else:
        session.progress("Recalculating", 0.2)
        as_before = session.snapshot()
        was_modified = session.host.is_modified
        session.book.app.calculate()
        session.progress("Recalculating with the workbench", 0.5)
        report = recompute(as_before, write=False)
        if not was_modified and not report.changed_count:
            session.host.mark_saved()
    rows = kept_rows(report)
    message = f"Recalculated {report.formulas} formulas{speed(session)}"
    if rows:
        return Outcome(f"{message}; {len(rows) - 1} could not be evaluated by the workbench", rows, exit_code=3)
    return Outcome(message)
