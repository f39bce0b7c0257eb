"""Export CSV."""

from __future__ import annotations

from workbench.buttons.actions.common import PROFILE, chosen_profile, profiles_in
from workbench.buttons.messages import Setting
from workbench.buttons.registry import Outcome, action
from workbench.buttons.session import Session, free_name
from workbench.errors import BookError

_NEURAL_ENGINE = "neural-engine"


@action(
    "Export CSV",
    [
        PROFILE,
        Setting("table", "operators", "operators, ratios, totals or summary; neural-engine: all, with live formulas"),
    ],
)
def export_csv(session: Session, settings: dict[str, str]) -> Outcome:
    """Write a table of the profile, with the values shown now, to a CSV file beside the book."""
    from workbench.book.foreign import export_neural_engine, export_table

    path = session.host.path
    if path is None:
        raise BookError("the book was never saved", where=session.book.name, remedy="save it as .xlsx, then repeat")
    session.progress("Exporting", 0.3)
    copy = session.copy_as_calculated()
    name = chosen_profile(session, profiles_in(copy), settings["profile"])
    table = settings["table"]
    if table == _NEURAL_ENGINE:
        (written,) = export_neural_engine(copy, path.parent, profiles=[name])
    else:
        target = free_name(path.with_name(f"{path.stem} {name} {table}.csv"))
        written = export_table(copy, "csv", target, table=table, profile=None if table == "summary" else name)
    return Outcome(f"Wrote {written}")
